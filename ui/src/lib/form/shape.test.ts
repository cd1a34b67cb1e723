import { describe, expect, test } from "vitest";
import { parse, type Node } from "../json/json";
import { firstText, properties } from "../json/schema";
import { guess } from "./guess";
import { exact, Schemas, type Kind, type Shape } from "./shape";
import { initial, item, startText } from "./start";

const shape = (schema: unknown): Shape => new Schemas(schema).shape(schema);
/** Of the property `p`. */
function property(p: unknown, more: object = {}): Shape {
  const root = { type: "object", properties: { p }, ...more };
  const schemas = new Schemas(root);
  return schemas.shape(schemas.shape(root).properties[0]?.[1]);
}
const node = (text: string): Node => {
  const parsed = parse(text);
  if (!("node" in parsed)) throw new Error(text);
  return parsed.node;
};

describe("each schema has its field, or says why it has none", () => {
  const multiplying = Object.fromEntries([...Array.from({ length: 30 }, (_, i) => [`d${i}`, { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] }]), ["d30", { type: "string" }]]);
  const chain = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]));
  const table: [string, unknown, Kind, Partial<Shape>, object?][] = [
    ["string", { type: "string" }, "string", {}],
    ["string with a format", { type: "string", format: "date-time" }, "string", { format: "date-time" }],
    ["long string", { type: "string", maxLength: 5000 }, "string", { long: true }],
    ["string without a type", { minLength: 1 }, "string", {}],
    ["integer", { type: "integer", minimum: 1 }, "number", { type: "integer", limits: ["≥ 1"] }],
    ["number without a type", { maximum: 3 }, "number", { type: "number" }],
    ["boolean", { type: "boolean" }, "boolean", {}],
    ["null", { type: "null" }, "null", {}],
    ["nullable", { type: ["string", "null"] }, "string", { nullable: true }],
    ["nullable by anyOf", { anyOf: [{ type: "integer" }, { type: "null" }], default: null }, "number", { nullable: true, fallback: "null" }],
    ["optional of pydantic", { anyOf: [{ $ref: "#/$defs/x" }, { type: "null" }], title: "P" }, "object", { nullable: true, title: "P" }, { $defs: { x: { type: "object", title: "X", properties: { a: {} } } } }],
    ["enum", { enum: ["a", "b"] }, "choice", { choices: [{ raw: '"a"', label: "a", hint: undefined }, { raw: '"b"', label: "b", hint: undefined }] }],
    ["enum with null", { enum: ["a", null] }, "choice", { nullable: true }],
    ["const", { const: 5 }, "choice", { choices: [{ raw: "5", label: "5", hint: undefined }] }],
    ["titled constants", { oneOf: [{ const: 1, title: "One" }, { const: 2, title: "Two" }] }, "choice", { choices: [{ raw: "1", label: "One", hint: "1" }, { raw: "2", label: "Two", hint: "2" }] }],
    ["an empty text among choices", { enum: ["", "a"] }, "choice", { choices: [{ raw: '""', label: '""', hint: undefined }, { raw: '"a"', label: "a", hint: undefined }] }],
    ["object", { type: "object", properties: { a: {} }, required: ["a"] }, "object", { required: new Set(["a"]), open: false }],
    ["map", { type: "object", additionalProperties: { type: "string" } }, "object", { open: true }],
    ["closed object", { type: "object", properties: {}, additionalProperties: false }, "object", { open: false }],
    ["object of patterns", { patternProperties: { "^(a+)+$": {} } }, "object", { open: true, additional: true }],
    ["array", { type: "array", items: { type: "string" }, maxItems: 3 }, "array", { most: 3 }],
    ["tuple", { type: "array", prefixItems: [{ type: "string" }, {}], items: false }, "array", { most: 2 }],
    ["tuple of older drafts", { items: [{ type: "string" }], additionalItems: false }, "array", { most: 1 }],
    ["oneOf", { oneOf: [{ type: "string" }, { type: "object" }] }, "variants", {}],
    ["types", { type: ["string", "number"] }, "variants", { type: "string or number" }],
    ["integer or number", { type: ["integer", "number"] }, "number", { type: "number" }],
    ["conditions only", { type: "object", properties: { a: {}, b: {} }, anyOf: [{ required: ["a"] }, { required: ["b"] }] }, "object", {}],
    ["allOf", { allOf: [{ type: "object", properties: { a: {} }, required: ["a"] }, { properties: { b: {} }, required: ["b"] }] }, "object", { required: new Set(["a", "b"]) }],
    ["allOf of types", { allOf: [{ type: "number" }, { type: "integer" }] }, "number", { type: "integer" }],
    ["$ref with words beside it", { $ref: "#/$defs/x", description: "mine" }, "string", { description: "mine" }, { $defs: { x: { type: "string", description: "its" } } }],
    ["$ref by anchor", { $ref: "#here" }, "boolean", {}, { $defs: { x: { $anchor: "here", type: "boolean" } } }],
    ["$ref with escapes", { $ref: "#/$defs/a~1b%20c" }, "boolean", {}, { $defs: { "a/b c": { type: "boolean" } } }],
    ["$ref with an encoded dollar", { $ref: "#/%24defs/x" }, "boolean", {}, { $defs: { x: { type: "boolean" } } }],
    ["$ref with ~0, and ~01 that is no slash", { $ref: "#/$defs/a~01%7E0" }, "boolean", {}, { $defs: { "a~1~": { type: "boolean" } } }],
    ["$ref with an encoded slash, which parts", { $ref: "#/$defs/a%2Fproperties%2fb" }, "boolean", {}, { $defs: { a: { properties: { b: { type: "boolean" } } } } }],
    ["$ref with letters of more than a byte", { $ref: "#/$defs/%E4%BA%AC" }, "boolean", {}, { $defs: { 京: { type: "boolean" } } }],
    ["$ref with a percent sign that encodes nothing", { $ref: "#/$defs/100%25%20of%zz" }, "boolean", {}, { $defs: { "100% of%zz": { type: "boolean" } } }],
    ["$ref that goes on too long", { $ref: `#/$defs/x${"/not".repeat(80)}` }, "any", { why: "missing" }, { $defs: { x: Array.from({ length: 80 }).reduce((not) => ({ not }), {}) } }],
    ["$ref to the whole", { $ref: "#" }, "object", {}],
    ["deprecated and read-only", { type: "string", deprecated: true, readOnly: true }, "string", { deprecated: true, readOnly: true }],
    ["true", true, "any", { why: undefined }],
    ["nothing said", {}, "any", { why: undefined }],
    ["unknown type", { type: "file" }, "any", { why: undefined }],
    ["type of the wrong type", { type: 5, properties: 7 }, "object", { properties: [] }],
    // Row 33.
    ["false", false, "any", { why: "never" }],
    ["no schema at all", 5, "any", {}],
    ["$ref over the network", { $ref: "http://127.0.0.1:9/x.json" }, "any", { why: "elsewhere" }],
    ["$ref to a file", { $ref: "file:///etc/passwd" }, "any", { why: "elsewhere" }],
    ["$ref to nothing", { $ref: "#/$defs/x" }, "any", { why: "missing" }],
    ["$ref to what every object inherits", { $ref: "#/constructor" }, "any", { why: "missing" }],
    ["$ref through __proto__", { $ref: "#/__proto__/x" }, "any", { why: "missing" }],
    ["references in a circle", { $ref: "#/$defs/x" }, "any", { why: "loop" }, { $defs: { x: { $ref: "#/$defs/y" }, y: { $ref: "#/$defs/x" } } }],
    ["allOf of itself", { $ref: "#/$defs/x" }, "any", { why: "loop" }, { $defs: { x: { allOf: [{ $ref: "#/$defs/x" }] } } }],
    ["references that multiply", { $ref: "#/$defs/d0" }, "any", { why: "large" }, { $defs: multiplying }],
    ["a chain of references", { $ref: "#/$defs/d0" }, "any", { why: "large" }, { $defs: chain }],
    ["contradiction", { allOf: [{ type: "string" }, { type: "number" }] }, "any", { why: "contradiction" }],
    ["contradicting values", { allOf: [{ enum: ["a"] }, { enum: ["b"] }] }, "any", { why: "contradiction" }],
    ["values that JavaScript cannot hold", JSON.parse('{"enum":[12345678901234567890,1]}'), "any", { why: "inexact" }],
    ["too many variants", { oneOf: Array.from({ length: 100 }, (_, i) => ({ type: "object", properties: { [`a${i}`]: {} } })) }, "any", { why: "large" }],
    ["oneOf within oneOf without end", { $ref: "#/$defs/x" }, "variants", {}, { $defs: { x: { oneOf: [{ $ref: "#/$defs/x" }, { $ref: "#/$defs/x" }] } } }],
    ["a pattern that never ends", { type: "string", pattern: "^(a+)+$" }, "string", { limits: ["pattern ^(a+)+$"] }],
  ];
  test("there are enough of them", () => expect(table.length).toBeGreaterThan(50));
  test.each(table)("%s", (_name, schema, kind, part, more) => {
    const found = property(schema, more);
    expect(found.kind).toBe(kind);
    expect(found).toMatchObject(part);
  });
});

test("row 33: a schema that multiplies is read in no time, whatever reads it", () => {
  const wide = { type: "object", required: Array.from({ length: 400 }, (_, i) => `p${i}`), properties: Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`p${i}`, { $ref: "#" }])) };
  expect(Object.keys(JSON.parse(firstText(wide))).length).toBe(400);
  expect(properties(wide).length).toBe(400);
  expect(startText(new Schemas(wide))).toBe("{}");
  expect(initial(new Schemas(wide), shape(wide))).toBe("{}");
  const many = { type: "object", properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, {}])) };
  expect(shape(many).properties.length).toBe(5000);
});

test("members are members whatever their names are", () => {
  const hostile = JSON.parse('{"type":"object","required":["__proto__"],"allOf":[{"properties":{"__proto__":{"type":"string","default":"x"},"toString":{}}},{"properties":{"__proto__":{"minLength":1}}}]}');
  const found = shape(hostile);
  expect(found.properties.map(([name]) => name)).toEqual(["__proto__", "toString"]);
  expect(startText(new Schemas(hostile))).toBe('{\n  "__proto__": "x"\n}');
});

test("nothing is written that nobody chose", () => {
  const schema = {
    type: "object",
    required: ["name", "kind", "count", "deep", "pick"],
    properties: { name: { type: "string" }, kind: { const: "x" }, count: { type: "integer", default: 3 }, limit: { type: "integer", default: 5 }, deep: { type: "object", required: ["on"], properties: { on: { type: "boolean", default: true } } }, pick: { enum: ["a", "b"] } },
  };
  expect(JSON.parse(startText(new Schemas(schema)))).toEqual({ kind: "x", count: 3, deep: { on: true } });
  expect(startText(new Schemas({ type: "string" }))).toBe("{}");
});

test("what a new part starts with", () => {
  const of = (schema: unknown) => initial(new Schemas(schema), shape(schema));
  expect([of({ type: "string" }), of({ type: "array" }), of({ type: "boolean" }), of({ enum: ["a", "b"] }), of({ const: "a" }), of({ type: "integer", default: 1 })]).toEqual(['""', "[]", undefined, undefined, '"a"', "1"]);
  const thing = (schema: unknown) => item(new Schemas(schema), shape(schema));
  expect([thing({ type: "integer", minimum: 4 }), thing({ type: "boolean" }), thing({ enum: ["a"] }), thing(false), thing({ oneOf: [{ type: "object" }, { type: "string" }] })]).toEqual(["4", "false", '"a"', "null", "{}"]);
});

test("a value of a schema is written exactly or not at all", () => {
  expect(exact({ a: [1, "x", null, 0.5] })).toBe('{"a":[1,"x",null,0.5]}');
  expect(exact(JSON.parse("12345678901234567890"))).toBeUndefined();
  expect(exact(undefined)).toBeUndefined();
  expect(exact(Array.from({ length: 5000 }, () => 1))).toBeUndefined();
});

test.each([
  ['"x"', 0],
  ["5", 1],
  ["[1]", 4],
  ['{"kind":"b","v":1}', 3],
  ['{"kind":"a"}', 2],
  ['{"v":true}', 2],
  ["null", null],
] as const)("the variant of %s is %j", (text, index) => {
  const schema = {
    oneOf: [
      { type: "string" },
      { type: "integer" },
      { type: "object", properties: { kind: { const: "a" }, v: { type: "boolean" } } },
      { type: "object", properties: { kind: { const: "b" }, v: { type: "integer" } } },
      { type: "array" },
    ],
  };
  const schemas = new Schemas(schema);
  expect(guess(schemas, node(text), schemas.shape(schema))).toBe(index);
});

test("variants have names", () => {
  const names = (oneOf: unknown[], $defs = {}) => shape({ oneOf, $defs }).variants.map((v) => v.label);
  expect(names([{ title: "One", type: "string" }, { $ref: "#/$defs/Circle" }, { type: "number" }, { type: "object", properties: { kind: { const: "z" } } }], { Circle: { type: "object" } })).toEqual(["One", "Circle", "number", "kind: z"]);
  expect(names([{ type: "object", properties: { a: {} } }, { type: "object", properties: { b: {} } }])).toEqual(["object 1", "object 2"]);
});
