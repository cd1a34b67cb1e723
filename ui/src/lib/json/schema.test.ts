import { expect, test } from "vitest";
import { firstText, firstValue, properties } from "./schema";

const schema = {
  type: "object",
  required: ["path", "mode", "deep", "count"],
  properties: {
    note: { type: "string" },
    limit: { type: "integer", default: 20, maximum: 100 },
    path: { type: "string", description: "Where" },
    mode: { enum: ["read", "write"] },
    count: { type: "integer", minimum: 1 },
    tags: { type: "array", items: { type: "string" } },
    deep: { $ref: "#/$defs/deep" },
  },
  $defs: { deep: { type: "object", required: ["on"], properties: { on: { type: "boolean" }, off: { type: "boolean" } } } },
};

test("the first text holds required properties and defaults, in the schema's order", () => {
  expect(JSON.parse(firstText(schema))).toEqual({ limit: 20, path: "", mode: "read", count: 1, deep: { on: false } });
  expect(Object.keys(JSON.parse(firstText(schema)))).toEqual(["limit", "path", "mode", "count", "deep"]);
});

test.each([[undefined], [null], [true], [{}], [{ type: "string" }], [{ type: "object" }], [[]]])("%j starts as an empty object", (odd) => {
  expect(firstText(odd)).toBe("{}");
});

test("row 33: a reference to itself, outside, or nowhere ends", () => {
  const loop = { type: "object", required: ["a"], properties: { a: { $ref: "#" } } };
  expect(firstText(loop)).toContain('"a"');
  expect(firstText({ $ref: "#/$defs/x", $defs: { x: { $ref: "#/$defs/x" } } })).toBe("{}");
  expect(firstText({ type: "object", required: ["a"], properties: { a: { $ref: "http://example.com/s.json" } } })).toBe('{\n  "a": ""\n}');
  expect(properties(loop)[0]?.name).toBe("a");
});

test("what is referred to by an encoded pointer starts as it should", () => {
  const referred = (ref: string) => firstText({ type: "object", required: ["a"], properties: { a: { $ref: ref } }, $defs: { "x y/z": { const: 1 }, list: { prefixItems: [{ const: 1 }] } } });
  for (const ref of ["#/$defs/x%20y~1z", "#/%24defs/x%20y%7E1z", "#/$defs/list/prefixItems/0"]) expect(JSON.parse(referred(ref)), ref).toEqual({ a: 1 });
  for (const ref of ["#/$defs/x%2520y~1z", "#/$defs/x%20y%2Fz", "#/$defs/list/prefixItems/00", "#/constructor"]) expect(JSON.parse(referred(ref)), ref).toEqual({ a: "" });
});

test("a property named __proto__ is a property", () => {
  const text = firstText(JSON.parse('{"type":"object","required":["__proto__"],"properties":{"__proto__":{"type":"string"}}}'));
  expect(text).toBe('{\n  "__proto__": ""\n}');
});

test("properties are described, required ones first", () => {
  expect(properties(schema).map((p) => [p.name, p.type, p.required, p.limits])).toEqual([
    ["path", "string", true, []],
    ["mode", "choice", true, []],
    ["count", "integer", true, ["≥ 1"]],
    ["deep", "object", true, []],
    ["note", "string", false, []],
    ["limit", "integer", false, ["≤ 100"]],
    ["tags", "array of string", false, []],
  ]);
  expect(properties(schema)[3]?.properties.map((p) => p.name)).toEqual(["on", "off"]);
});

test("anyOf with null takes the other, allOf is joined", () => {
  const found = properties({
    allOf: [{ type: "object", properties: { a: { anyOf: [{ type: "null" }, { type: "number" }] } }, required: ["a"] }, { properties: { b: { type: "string" } } }],
  });
  expect(found.map((p) => [p.name, p.type, p.required])).toEqual([
    ["a", "number", true],
    ["b", "string", false],
  ]);
});

test("the first value to fill in is what typing replaces", () => {
  const selected = (text: string) => text.slice(...firstValue(text));
  expect(firstValue('{\n  "message": ""\n}')).toEqual([16, 16]);
  expect(selected('{\n  "path": "/tmp/a\\"b",\n  "n": 1\n}')).toBe('/tmp/a\\"b');
  expect(selected('{\n  "limit": 20\n}')).toBe("20");
  expect(selected('{\n  "items": [\n    1\n  ]\n}')).toBe("");
  expect(firstValue("{}")).toEqual([1, 1]);
});
