// What differs between two pieces of JSON, line by line. Both are laid out the same way first, so that only content counts;
// every string and number keeps the characters it was written with.

import { diffArrays } from "diff";
import { parse, pretty } from "./json";

export type DiffRow = { old?: string; new?: string; changed: boolean } | { skipped: number };
/** `layout`: the same content, written with other white space. `whole`: the rows hold all of both. */
export type Difference = { kind: "same" | "layout" | "content"; rows: DiffRow[]; whole: boolean };

/** Unchanged lines that are shown around changed ones. */
const context = 2;
/** Texts that have less than this in common are not compared further: all of one, then all of the other. */
const maxEdits = 400;
const maxRows = 1000;
/** A longer line is cut to where it differs. */
const maxLine = 1200;
const around = 120;

function laidOut(text: string): string[] {
  const parsed = parse(text);
  return ("node" in parsed ? pretty(text, parsed.node) : text).split("\n");
}

export function difference(before: string, after: string): Difference {
  if (before === after) return { kind: "same", rows: [], whole: false };
  const [old, now] = [laidOut(before), laidOut(after)];
  const changes = diffArrays(old, now, { maxEditLength: maxEdits }) ?? [
    { value: old, removed: true, added: false },
    { value: now, removed: false, added: true },
  ];
  if (changes.every((c) => !c.added && !c.removed)) return { kind: "layout", rows: [], whole: false };
  const rows: DiffRow[] = [];
  for (let at = 0; at < changes.length; at++) {
    const one = changes[at]!;
    if (one.removed || one.added) {
      const other = changes[at + 1];
      const pair = other && other.added !== one.added && (other.added || other.removed);
      if (pair) at++;
      const gone = one.removed ? one.value : pair ? other.value : [];
      const fresh = one.added ? one.value : pair ? other.value : [];
      for (let i = 0; i < Math.max(gone.length, fresh.length); i++) rows.push({ ...cut(gone[i], fresh[i]), changed: true });
    } else rows.push(...unchanged(one.value, at === 0, at === changes.length - 1));
  }
  const shown = rows.length > maxRows ? [...rows.slice(0, maxRows), { skipped: rows.length - maxRows }] : rows;
  const whole = shown.every((row) => !("skipped" in row)) && [...old, ...now].every((line) => line.length <= maxLine);
  return { kind: "content", rows: shown, whole };
}

/** Only what is near a change; the rest is counted. */
function unchanged(lines: string[], first: boolean, last: boolean): DiffRow[] {
  const same = (line: string): DiffRow => ({ ...cut(line, line), changed: false });
  const head = first ? 0 : context;
  const tail = last ? 0 : context;
  const skipped = lines.length - head - tail;
  if (skipped <= 1) return lines.map(same);
  return [...lines.slice(0, head).map(same), { skipped }, ...lines.slice(lines.length - tail).map(same)];
}

/** Long lines, cut to where they differ. */
function cut(old: string | undefined, now: string | undefined): { old?: string; new?: string } {
  let start = 0;
  let end = 0;
  if (old !== undefined && now !== undefined && old !== now) {
    const most = Math.min(old.length, now.length);
    while (start < most && old[start] === now[start]) start++;
    while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  }
  const short = (line: string) => {
    if (line.length <= maxLine) return line;
    const from = Math.max(0, start - around);
    const to = Math.min(line.length, line.length - end + around, from + maxLine);
    return `${from > 0 ? "…" : ""}${line.slice(from, to)}${to < line.length ? "…" : ""}`;
  };
  return { ...(old === undefined ? {} : { old: short(old) }), ...(now === undefined ? {} : { new: short(now) }) };
}
