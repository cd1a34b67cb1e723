import { expect, test } from "vitest";
import { arrange } from "./order";

const all = (times: Record<string, number>) => Object.entries(times).map(([id, updated_at]) => ({ id, title: id, workspaces: [], temporary: false, updated_at, waiting_cards: 0, running_calls: 0 }));
const ids = (times: Record<string, number>, kept?: string[]) => arrange(all(times), kept).map((c) => c.id);

test("newest first, and in the order they had for as long as they are kept in it", () => {
  expect(ids({ a: 1, b: 3, c: 2 })).toEqual(["b", "c", "a"]);
  expect(ids({ a: 9, b: 3, c: 2 }, ["b", "c", "a"])).toEqual(["b", "c", "a"]);
  expect(ids({ a: 9, c: 2 }, ["b", "c", "a"])).toEqual(["c", "a"]);
  // What is new comes first, the newest of it before the others.
  expect(ids({ a: 1, b: 3, d: 4, e: 5 }, ["b", "a"])).toEqual(["e", "d", "b", "a"]);
});
