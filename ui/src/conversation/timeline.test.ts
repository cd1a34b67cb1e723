import { expect, test } from "vitest";
import type { CallEntry, CallState, Entry } from "../host/api";
import { BAR_WIDTH, GAP_WIDTH, LANES, picture, span, spans, times } from "./timeline";

const done: CallState = { kind: "done", is_error: false, content: [], bytes: 2, elapsed_ms: 5 };
const call = (state: CallState, more: Partial<CallEntry> = {}): CallEntry => ({ server: "s", server_name: "s", machine: "m", tool: "t", arguments: "{}", state, ...more });
const entry = (id: string, at: number, body: CallEntry): Entry => ({ id, at, body: { kind: "call", ...body } });

test("a call's time is what it waited for the server, for a person, and ran", () => {
  const asked = span("a", 1000, call(done, { asked_at: 1200, answered_at: 4200, started_at: 4300, ended_at: 4800 }), 9000);
  expect(asked.end).toBe("done");
  expect(times(asked)).toEqual([
    { kind: "connecting", ms: 300 },
    { kind: "waiting", ms: 3000 },
    { kind: "running", ms: 500 },
  ]);
  // Nobody was asked.
  expect(times(span("a", 1000, call(done, { started_at: 1100, ended_at: 1600 }), 9000))).toEqual([
    { kind: "connecting", ms: 100 },
    { kind: "running", ms: 500 },
  ]);
  expect(times(span("a", 1000, call({ kind: "denied" }, { asked_at: 1200, answered_at: 2200, ended_at: 2200 }), 9000))).toEqual([
    { kind: "connecting", ms: 200 },
    { kind: "waiting", ms: 1000 },
  ]);
  expect(times(span("a", 1000, call({ kind: "stopped" }, { asked_at: 1200, ended_at: 2000 }), 9000))).toEqual([
    { kind: "connecting", ms: 200 },
    { kind: "waiting", ms: 800 },
  ]);
});

test("what is under way lasts until now; a tool's own error is a failure", () => {
  expect(times(span("a", 1000, call({ kind: "connecting" }), 1500))).toEqual([{ kind: "connecting", ms: 500 }]);
  expect(times(span("a", 1000, call({ kind: "waiting", card: "k" }, { asked_at: 1200 }), 5000))[1]).toEqual({ kind: "waiting", ms: 3800 });
  const running = span("a", 1000, call({ kind: "running" }, { started_at: 1000 }), 1000);
  expect([running.end, times(running)]).toEqual([undefined, [{ kind: "running", ms: 0 }]]);
  expect(span("a", 0, call({ ...done, is_error: true }, { started_at: 0, ended_at: 1 }), 9).end).toBe("failed");
});

test("clocks that were set back make no negative times", () => {
  const odd = span("a", 5000, call(done, { asked_at: 4000, answered_at: 4500, started_at: 4600, ended_at: 4700 }), 9000);
  expect([odd.from, odd.to]).toEqual([5000, 5000]);
  expect(picture([odd]).bars[0]!.width).toBe(BAR_WIDTH);
});

test("order and overlap are kept, long idle times are folded, and longer is wider", () => {
  const hour = 3_600_000;
  const drawn = picture(
    spans(
      [
        entry("late", 2 * hour, call(done, { started_at: 2 * hour, ended_at: 2 * hour + 60_000 })),
        entry("long", 0, call(done, { started_at: 0, ended_at: 10_000 })),
        entry("short", 1000, call(done, { started_at: 1000, ended_at: 1200 })),
        entry("words", 1, call({ kind: "stopped" }, { ended_at: 1 })),
      ],
      3 * hour,
    ),
  );
  const of = (id: string) => drawn.bars.find((b) => b.id === id)!;
  expect(drawn.bars.map((b) => b.id)).toEqual(["long", "words", "short", "late"]);
  expect(of("short").x).toBeGreaterThan(of("long").x);
  expect(of("short").x + of("short").width).toBeLessThanOrEqual(of("long").x + of("long").width);
  expect(of("short").lane).not.toBe(of("long").lane);
  expect(drawn.gaps).toEqual([{ x: of("long").x + of("long").width, width: GAP_WIDTH, ms: 2 * hour - 10_000 }]);
  expect(of("late").x).toBe(drawn.gaps[0]!.x + GAP_WIDTH);
  expect(of("late").lane).toBe(0);
  expect(of("late").width).toBeGreaterThan(of("long").width);
  expect(drawn.width).toBe(of("late").x + of("late").width);
});

test("no bar of a lane lies on another, and lanes are bounded", () => {
  const many = spans(Array.from({ length: 1000 }, (_, i) => entry(`e${i}`, i * 37, call(done, { started_at: i * 37, ended_at: i * 37 + ((i * 7919) % 90) }))), 0);
  const drawn = picture(many);
  expect([drawn.bars.length, drawn.lanes <= LANES]).toEqual([1000, true]);
  const ends = new Map<number, number>();
  for (const bar of drawn.bars) {
    expect(bar.width).toBeGreaterThanOrEqual(BAR_WIDTH);
    expect(bar.x).toBeGreaterThanOrEqual(ends.get(bar.lane) ?? 0);
    ends.set(bar.lane, bar.x + bar.width);
  }
});

test("notices are no calls; nothing is an empty picture", () => {
  expect(picture(spans([{ id: "n", at: 1, body: { kind: "notice", text: "x", diff: [] } }], 5))).toEqual({ bars: [], gaps: [], lanes: 1, width: 0 });
});
