// Where a conversation's calls lie in time. Pure: from entries and a moment to a picture's numbers.
//
// A stretch in which something is under way is drawn to one scale, and stretches differ: a longer one is wider, but a minute
// is not sixty times a second. A long time in which nothing ran is folded into a gap of one width. Order and overlap are
// kept: what began earlier begins further left.

import type { CallEntry, Entry } from "../host/api";

export type PhaseKind = "connecting" | "waiting" | "running";
export type Phase = { kind: PhaseKind; from: number; to: number };
export type End = "done" | "failed" | "denied" | "stopped" | "not_run";
/** A call in time. `end` is absent while it is under way. */
export type Span = { id: string; call: CallEntry; from: number; to: number; phases: Phase[]; end?: End };
export type Bar = Span & { x: number; width: number; lane: number; parts: { kind: PhaseKind; x: number; width: number }[] };
/** A folded stretch without calls; `ms` is how long it was. */
export type Gap = { x: number; width: number; ms: number };
export type Picture = { bars: Bar[]; gaps: Gap[]; lanes: number; width: number };

/** Nothing ran for so long: folded. */
export const FOLD_MS = 5 * 60_000;
export const GAP_WIDTH = 76;
/** Room for the sign at its end. */
export const BAR_WIDTH = 16;
export const LANES = 4;

const ends: Partial<Record<CallEntry["state"]["kind"], End>> = { done: "done", failed: "failed", denied: "denied", stopped: "stopped", not_run: "not_run" };

function endOf(state: CallEntry["state"]): End | undefined {
  return state.kind === "done" && state.is_error ? "failed" : ends[state.kind];
}

/** One call in time. Clocks that were set back make no negative times. */
export function span(id: string, at: number, call: CallEntry, now: number): Span {
  const end = endOf(call.state);
  const to = Math.max(at, end === undefined ? now : (call.ended_at ?? at));
  const phases: Phase[] = [];
  let from = at;
  const until = (kind: PhaseKind, moment: number | undefined) => {
    const next = Math.min(to, Math.max(from, moment ?? to));
    if (next > from || (kind === "running" && moment === undefined)) phases.push({ kind, from, to: next });
    from = next;
  };
  if (call.asked_at !== undefined) {
    until("connecting", call.asked_at);
    until("waiting", call.answered_at);
  }
  if (call.started_at !== undefined) {
    until("connecting", call.started_at);
    until("running", undefined);
  } else if (call.asked_at === undefined || call.answered_at !== undefined) until("connecting", undefined);
  return { id, call, from: at, to, phases, ...(end ? { end } : {}) };
}

export function spans(entries: readonly Entry[], now: number): Span[] {
  const found: Span[] = [];
  for (const { id, at, body } of entries) if (body.kind === "call") found.push(span(id, at, body, now));
  return found.sort((a, b) => a.from - b.from);
}

/** How wide a stretch is in which something is under way. */
const busy = (ms: number) => 30 * Math.log2(1 + ms / 400);
/** And one in which nothing is. */
const idle = (ms: number) => (ms >= FOLD_MS ? GAP_WIDTH : Math.min(28, 4 + 4 * Math.log2(1 + ms / 1000)));

export function picture(calls: readonly Span[]): Picture {
  const moments = [...new Set(calls.flatMap((c) => [c.from, c.to, ...c.phases.map((p) => p.to)]))].sort((a, b) => a - b);
  const starting = new Map<number, number>();
  const ending = new Map<number, Span[]>();
  for (const call of calls) {
    starting.set(call.from, (starting.get(call.from) ?? 0) + 1);
    ending.set(call.to, [...(ending.get(call.to) ?? []), call]);
  }
  // Pixels for a millisecond, from each moment to the next.
  const scale = new Map<number, number>();
  let began = 0;
  let under = 0;
  moments.forEach((moment, i) => {
    if (under === 0) began = i;
    under += (starting.get(moment) ?? 0) - (ending.get(moment)?.length ?? 0);
    const ms = moment - moments[began]!;
    if (under === 0 && ms > 0) for (const m of moments.slice(began, i)) scale.set(m, busy(ms) / ms);
  });
  const place = new Map<number, number>();
  const gaps: Gap[] = [];
  let x = 0;
  under = 0;
  let before: number | undefined;
  for (const moment of moments) {
    if (before !== undefined) {
      const ms = moment - before;
      const width = under > 0 ? ms * (scale.get(before) ?? 0) : idle(ms);
      if (under === 0 && ms >= FOLD_MS) gaps.push({ x, width, ms });
      x += width;
    }
    for (const call of ending.get(moment) ?? []) if (call.from < moment) x = Math.max(x, (place.get(call.from) ?? 0) + BAR_WIDTH);
    place.set(moment, x);
    under += (starting.get(moment) ?? 0) - (ending.get(moment)?.length ?? 0);
    // A call that took no time at all has its width all the same.
    if (ending.get(moment)?.some((c) => c.from === moment)) x += BAR_WIDTH;
    before = moment;
  }
  const at = (moment: number) => place.get(moment) ?? 0;
  const free: number[] = [];
  const bars = calls.map((call): Bar => {
    const from = at(call.from);
    const width = Math.max(BAR_WIDTH, at(call.to) - from);
    let lane = free.findIndex((until) => until <= from);
    if (lane === -1) lane = free.length < LANES ? free.length : free.indexOf(Math.min(...free));
    free[lane] = from + width;
    return { ...call, x: from, width, lane, parts: call.phases.map((p) => ({ kind: p.kind, x: at(p.from) - from, width: at(p.to) - at(p.from) })) };
  });
  const width = bars.reduce((widest, bar) => Math.max(widest, bar.x + bar.width), x);
  return { bars, gaps, lanes: Math.max(1, free.length), width };
}

/** How long a call was in each phase, all its stretches together. */
export function times(call: Span): { kind: PhaseKind; ms: number }[] {
  return (["connecting", "waiting", "running"] as const)
    .map((kind) => ({ kind, ms: call.phases.filter((p) => p.kind === kind).reduce((sum, p) => sum + p.to - p.from, 0), there: call.phases.some((p) => p.kind === kind) }))
    .filter((t) => t.there)
    .map(({ kind, ms }) => ({ kind, ms }));
}
