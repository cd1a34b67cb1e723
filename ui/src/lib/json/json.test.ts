import { describe, expect, test } from "vitest";
import { locate, parse, position, pretty, same, tokens, withMember, type Node } from "./json";

function node(text: string): Node {
  const parsed = parse(text);
  if (!("node" in parsed)) throw new Error(`${parsed.problem} at ${parsed.offset}`);
  return parsed.node;
}

describe("row 7: what is shown is what is sent", () => {
  test("numbers keep every digit", () => {
    expect(pretty('{"n":12345678901234567890.10e+2}', node('{"n":12345678901234567890.10e+2}'))).toBe('{\n  "n": 12345678901234567890.10e+2\n}');
  });
  test("duplicate keys both stay, and the later ones are marked", () => {
    const root = node('{"a":1,"a":2}');
    expect(root.kind === "object" && root.members.map((m) => [m.key, m.duplicate])).toEqual([["a", false], ["a", true]]);
  });
  test("escapes stay as written when formatted", () => {
    const text = '{"k\\u0065y":"\\u202e\\n"}';
    expect(pretty(text, node(text))).toBe('{\n  "k\\u0065y": "\\u202e\\n"\n}');
  });
});

test("strings are read as JSON reads them", () => {
  const text = '"\\u0041\\ud83e\\udd80\\"\\\\\\/\\b\\f\\n\\r\\t"';
  expect(node(text)).toEqual({ kind: "string", value: JSON.parse(text), start: 0, end: text.length });
});

test.each([
  ["", "empty", 0],
  ["  ", "empty", 2],
  ["{", "end", 1],
  ['{"a" 1}', "colon", 5],
  ['{"a":}', "value", 5],
  ['{"a":1 "b"}', "comma", 7],
  ["{a:1}", "key", 1],
  ['{"a":1,}', "key", 7],
  ["[1,]", "value", 3],
  ["01", "extra", 1],
  ["1 2", "extra", 2],
  ['"a', "end", 2],
  ['"a\nb"', "string", 2],
  ['"\\x"', "string", 1],
  ["nul", "value", 0],
  ["[".repeat(300), "deep", 257],
])("%j is refused: %s at %d", (text, problem, offset) => {
  expect(parse(text)).toEqual({ problem, offset });
});

test("agrees with JSON.parse on what is JSON", () => {
  for (const text of ["1", "-0", "1.5e-3", "1.", ".5", "+1", "1e", '"\\ud800"', "[]", "{}", " [ ] ", '{"":0}', "tru", "[1 2]", "\u00a01", "1\u2028"]) {
    let valid = true;
    try {
      JSON.parse(text);
    } catch {
      valid = false;
    }
    expect([text, "node" in parse(text)]).toEqual([text, valid]);
  }
});

test("a pointer finds its place, a missing one its surroundings", () => {
  const text = '{\n  "a": {"b/c": [10, 20]},\n  "a~b": 1\n}';
  const root = node(text);
  expect(position(text, locate(root, "/a/b~1c/1"))).toEqual({ line: 2, column: 21 });
  expect(position(text, locate(root, "/a~0b"))).toEqual({ line: 3, column: 3 });
  expect(position(text, locate(root, "/a/missing"))).toEqual({ line: 2, column: 3 });
  expect(locate(root, "")).toBe(0);
});

test("a member is added at the end, once", () => {
  expect(withMember('{"a":1}', "b", "")?.text).toBe('{\n  "a": 1,\n  "b": ""\n}');
  expect(withMember("", "b", { c: [] })?.text).toBe('{\n  "b": {\n    "c": []\n  }\n}');
  expect(withMember('{"a":1}', "a", 2)).toBeNull();
  expect(withMember("[1]", "a", 2)).toBeNull();
  expect(withMember("{", "a", 2)).toBeNull();
});

test("tokens join to the text again", () => {
  const text = '{ "a": "b\\"c", "n": -1.5e3, "t": true, oops "x\n';
  const found = tokens(text);
  expect(found.map((t) => t.text).join("")).toBe(text);
  expect(found.filter((t) => t.kind !== "plain").map((t) => [t.kind, t.text])).toEqual([
    ["key", '"a"'],
    ["string", '"b\\"c"'],
    ["key", '"n"'],
    ["number", "-1.5e3"],
    ["key", '"t"'],
    ["literal", "true"],
  ]);
});

test.each([
  ['{ "a": [1, null, "x", true] }', '{"\\u0061":[1,null,"\\u0078",true]}', true],
  ["1234567890123456789", "1234567890123456788", false],
  ["[150, 0.5, -0.0, 1e999]", "[1.50e2, 5E-1, 0, 10.0e+998]", true],
  ["-1", "1", false],
  ["1e400", "1e401", false],
  ["0e5", "-0", true],
  ['{"a":1,"b":2}', '{"b":2,"a":1}', false],
  ['{"a":1,"a":2}', '{"a":2}', false],
  ["[1]", "[1,2]", false],
  ['"1"', "1", false],
  ["null", "false", false],
])("%s and %s say the same: %s", (a, b, expected) => {
  expect(same(node(a), node(b))).toBe(expected);
});
