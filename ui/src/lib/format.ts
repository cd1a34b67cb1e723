// Numbers and times as people read them.

import { words } from "../words";

/** Lengths of time: `340 ms`, `4.2 s`, `1 min 05 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(count < 10 * 1024 ? 1 : 0)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

/** What a model would read of so many bytes of JSON: about four make a token. Rounded, as it is a guess. */
export function tokens(bytes: number): string {
  const about = bytes / 4;
  const step = about < 100 ? 1 : about < 10_000 ? 10 : 100;
  return `≈ ${number(Math.max(1, Math.round(about / step) * step))} tokens`;
}

export const number = (value: number): string => value.toLocaleString("en-US");

export const clock = (at: number): string => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

export const moment = (at: number): string => new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });

/** How long ago, in one short word. */
export function ago(at: number, now: number): string {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return words.time.now;
  if (minutes < 60) return words.time.minutes(minutes);
  if (minutes < 60 * 24) return words.time.hours(Math.floor(minutes / 60));
  if (minutes < 60 * 24 * 7) return words.time.days(Math.floor(minutes / 60 / 24));
  return new Date(at).toLocaleDateString([], { month: "short", day: "numeric" });
}

/** A folder as people write it; the tail says most. */
export const baseName = (path: string): string => path.replace(/[\\/]+$/, "").split(/[\\/]/).pop() || path;

const mac = typeof navigator !== "undefined" && /mac/i.test(navigator.platform);
/** The key that commands use here. */
export const mod = mac ? "⌘" : "Ctrl";
export const isMod = (event: KeyboardEvent): boolean => (mac ? event.metaKey : event.ctrlKey) && !event.altKey;
