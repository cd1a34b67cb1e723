import { expect, test } from "vitest";
import { difference } from "./diff";

const rows = (before: string, after: string) => difference(before, after).rows.map((r) => ("skipped" in r ? `… ${r.skipped}` : `${r.changed ? "!" : " "}${r.old ?? "∅"}|${r.new ?? "∅"}`));

test("only content counts, and every token keeps its characters", () => {
  expect(difference('{"a":1}', '{"a":1}')).toEqual({ kind: "same", rows: [], whole: false });
  expect(difference('{"a":1}', '{ "a" : 1 }')).toEqual({ kind: "layout", rows: [], whole: false });
  expect(rows('{"a":1.0,"b":2}', '{"a": 1.00, "b": 2}')).toEqual([' {|{', '!  "a": 1.0,|  "a": 1.00,', '   "b": 2|  "b": 2', " }|}"]);
});

test("what was added, removed and changed stands beside what was there; the rest is counted", () => {
  const before = JSON.stringify({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 });
  expect(rows(before, JSON.stringify({ a: 1, b: 2, c: 3, d: 4, e: 50, f: 6, g: 7 }))).toEqual([
    "… 3",
    '   "c": 3,|  "c": 3,',
    '   "d": 4,|  "d": 4,',
    '!  "e": 5,|  "e": 50,',
    '!  "f": 6|  "f": 6,',
    '!∅|  "g": 7',
    " }|}",
  ]);
  expect(rows('{"a":1,"b":2}', "{}")).toEqual(["!{|{}", '!  "a": 1,|∅', '!  "b": 2|∅', "!}|∅"]);
});

test("it is known whether all of both is shown", () => {
  expect(difference('{"a":1}', '{"a":2}').whole).toBe(true);
  expect(difference("[1,2,3,4,5,6,7]", "[1,2,3,4,5,6,8]").whole).toBe(false);
  expect(difference('{"a":1}', `{"a":"${"x".repeat(2000)}"}`).whole).toBe(false);
});

test("text that is not JSON is compared as it stands", () => {
  expect(rows('{"a": 1', '{"a": 2')).toEqual(['!{"a": 1|{"a": 2']);
});

test("a long line is cut to where it differs, and long texts stay quick", () => {
  const long = "x".repeat(200_000);
  const [, row] = difference(JSON.stringify({ a: `${long}1${long}` }), JSON.stringify({ a: `${long}2${long}` })).rows;
  if (!row || "skipped" in row) throw new Error("a row");
  expect(row.old).toMatch(/^…x{120}1x{120}…$/);
  expect(row.new).toMatch(/^…x{120}2x{120}…$/);
  const list = (from: number) => JSON.stringify(Array.from({ length: 20_000 }, (_, i) => i + from));
  const far = difference(list(0), list(1_000_000)).rows;
  expect(far.length).toBe(1001);
});
