// A status as a word and a colour (ui.md, rule 1).

import type { CallState, ServerRow } from "../host/api";
import { words } from "../words";

export type Tone = "ok" | "bad" | "warm" | "accent" | "soft";
export type Status = { word: string; tone: Tone; busy: boolean };

/** The badge of a server's row (B15). A changed entry waits for review before anything else matters. */
export function serverStatus(row: ServerRow): Status {
  const status = row.status;
  if (row.available && row.ticked && row.consent === "changed" && status.kind !== "testing") return { word: words.status.changed, tone: "warm", busy: false };
  switch (status.kind) {
    case "idle":
      return { word: words.status.idle, tone: "soft", busy: false };
    case "testing":
      return { word: words.status.testing, tone: "soft", busy: true };
    case "connecting":
      return { word: words.status.connecting, tone: "soft", busy: true };
    case "connected":
      return { word: words.status.tools(status.tools), tone: "ok", busy: false };
    case "failed":
      return { word: words.status.failed, tone: "bad", busy: false };
    case "unavailable":
      return { word: words.status.unavailable, tone: "bad", busy: false };
    case "dangling":
      return { word: words.status.dangling, tone: "warm", busy: false };
    default:
      return status satisfies never;
  }
}

export function callStatus(state: CallState): Status {
  switch (state.kind) {
    case "connecting":
      return { word: words.call.connecting, tone: "soft", busy: true };
    case "waiting":
      return { word: words.call.waiting, tone: "warm", busy: false };
    case "running":
      return { word: words.call.running, tone: "accent", busy: true };
    case "done":
      return state.is_error ? { word: words.call.toolError, tone: "bad", busy: false } : { word: words.call.done, tone: "ok", busy: false };
    case "failed":
      return { word: words.call.failed, tone: "bad", busy: false };
    case "denied":
      return { word: words.call.denied, tone: "soft", busy: false };
    case "stopped":
      return { word: words.call.stopped, tone: "soft", busy: false };
    case "not_run":
      return { word: words.call.notRun, tone: "soft", busy: false };
    default:
      return state satisfies never;
  }
}
