// What the composer needs from a tool's input schema: a first text to edit, and lines that describe its properties.
// The schema is a server's: references are followed inside it only, with a bound on depth and steps (security row 33).

import { words } from "../../words";

export type Schema = Record<string, unknown>;
export type Property = {
  name: string;
  type: string;
  required: boolean;
  description: string | undefined;
  default: unknown;
  choices: unknown[] | undefined;
  limits: string[];
  properties: Property[];
  schema: Schema;
};

const maxDepth = 5;
/** Of one object, and of a whole schema: one that refers to itself from many places would multiply them. */
const maxProperties = 400;
const maxInAll = 2000;
const maxPointer = 64;
const maxAnchors = 200;
/** What is left of that for each of some parts. */
const share = (budget: number, parts: number): number => Math.max(0, Math.floor((budget - parts) / Math.max(1, parts)));

export const isObject = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);

/** Follows local references and unwraps the first usable choice; never more than a few steps. */
export function resolve(schema: unknown, root: unknown): Schema {
  let now: unknown = schema;
  for (let step = 0; step < 16; step++) {
    if (!isObject(now)) return {};
    const ref = now["$ref"];
    if (typeof ref === "string" && ref.startsWith("#")) {
      now = follow(ref, root);
      continue;
    }
    const variants = [now["anyOf"], now["oneOf"]].find((v): v is unknown[] => Array.isArray(v) && v.length > 0);
    if (variants && now["type"] === undefined && now["properties"] === undefined) {
      const { anyOf: _a, oneOf: _o, ...rest } = now;
      const chosen = variants.find((v) => isObject(v) && v["type"] !== "null") ?? variants[0];
      now = isObject(chosen) ? { ...chosen, ...rest } : rest;
      continue;
    }
    if (Array.isArray(now["allOf"])) {
      const { allOf, ...rest } = now as { allOf: unknown[] };
      let merged: Schema = rest;
      for (const part of allOf.slice(0, 32)) {
        const one = isObject(part) && typeof part["$ref"] === "string" ? follow(part["$ref"], root) : part;
        if (!isObject(one)) continue;
        merged = {
          ...one,
          ...merged,
          ...(isObject(one["properties"]) || isObject(merged["properties"])
            ? { properties: { ...(one["properties"] as Schema), ...(merged["properties"] as Schema) } }
            : {}),
          ...(Array.isArray(one["required"]) ? { required: [...one["required"], ...strings(merged["required"])] } : {}),
        };
      }
      const { allOf: _all, ...flat } = merged;
      return flat;
    }
    return now;
  }
  return {};
}

/** What a reference within the schema points to: by a JSON pointer, or by an anchor of its definitions. */
export function follow(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#")) return undefined;
  const fragment = decoded(ref.slice(1));
  if (fragment !== "" && !fragment.startsWith("/")) {
    const defs = isObject(root) ? [own(root, "$defs"), own(root, "definitions")].filter(isObject) : [];
    return defs.flatMap((d) => Object.values(d).slice(0, maxAnchors)).find((one) => isObject(one) && own(one, "$anchor") === fragment);
  }
  const steps = pointerParts(fragment);
  if (steps.length > maxPointer) return undefined;
  let target: unknown = root;
  for (const step of steps) {
    if (Array.isArray(target)) target = /^(0|[1-9]\d{0,5})$/.test(step) ? target[Number(step)] : undefined;
    else target = isObject(target) ? own(target, step) : undefined;
  }
  return target;
}

/** The name that a reference ends with. */
export const refName = (ref: string): string => pointerParts(decoded(ref)).at(-1) ?? "";

/** The fragment is a part of a URI: it is decoded before it is read as a pointer, so that `%2F` parts like `/`. */
const decoded = (fragment: string): string =>
  fragment.replace(/(?:%[0-9A-Fa-f]{2})+/g, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
const pointerParts = (pointer: string): string[] => pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
/** Never what every object inherits. */
const own = (schema: Schema, key: string): unknown => (Object.hasOwn(schema, key) ? schema[key] : undefined);

export const strings = (value: unknown): string[] => (Array.isArray(value) ? value.filter((v): v is string => typeof v === "string") : []);

function typeOf(schema: Schema): string {
  const type = schema["type"];
  const named = typeof type === "string" ? [type] : strings(type);
  if (named.length > 0) return named.join(" | ");
  if (isObject(schema["properties"])) return "object";
  if (schema["items"] !== undefined) return "array";
  if ("const" in schema) return "constant";
  if (Array.isArray(schema["enum"])) return "choice";
  return "any";
}

function label(schema: Schema, root: unknown): string {
  const type = typeOf(schema);
  if (type !== "array") return type;
  const items = isObject(schema["items"]) ? typeOf(resolve(schema["items"], root)) : "any";
  return items === "any" ? "array" : words.schema.arrayOf(items);
}

/** The value an argument starts with. */
export function example(schema: unknown, root: unknown = schema, depth = 0, budget = maxInAll): unknown {
  const now = resolve(schema, root);
  if ("default" in now) return now["default"];
  if ("const" in now) return now["const"];
  if (Array.isArray(now["enum"]) && now["enum"].length > 0) return now["enum"][0];
  const type = typeOf(now).split(" | ").find((t) => t !== "null") ?? "null";
  switch (type) {
    case "string":
      return "";
    case "number":
    case "integer":
      return typeof now["minimum"] === "number" ? now["minimum"] : 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "null":
      return null;
    case "object": {
      const out: Schema = {};
      if (depth >= maxDepth) return out;
      const required = new Set(strings(now["required"]));
      const properties = isObject(now["properties"]) ? now["properties"] : {};
      const wanted = Object.entries(properties)
        .filter(([name, property]) => required.has(name) || (isObject(property) && "default" in property))
        .slice(0, Math.min(maxProperties, budget));
      for (const [name, property] of wanted)
        // __proto__ as an own key, not as the prototype.
        Object.defineProperty(out, name, { value: example(property, root, depth + 1, share(budget, wanted.length)), enumerable: true, configurable: true, writable: true });
      return out;
    }
    default:
      return "";
  }
}

/** The text the editor starts with: required properties and those with a default. */
export function firstText(schema: unknown): string {
  const value = example(schema);
  return JSON.stringify(isObject(value) ? value : {}, null, 2);
}

/** The first value in such a text, as a range to select: typing replaces it, and quotes stay. */
export function firstValue(text: string): [start: number, end: number] {
  const key = /"(?:[^"\\]|\\.)*":\s*/.exec(text);
  if (!key) return [1, 1];
  const start = key.index + key[0].length;
  const value = /^(?:"(?:[^"\\]|\\.)*"|[^\s,{}[\]]+)/.exec(text.slice(start))?.[0] ?? "";
  return value.startsWith('"') ? [start + 1, start + value.length - 1] : [start, start + value.length];
}

/** The properties of an object schema, required ones first, each kind in the order written. */
export function properties(schema: unknown, root: unknown = schema, depth = 0, budget = maxInAll): Property[] {
  const now = resolve(schema, root);
  if (!isObject(now["properties"]) || depth >= maxDepth) return [];
  const required = new Set(strings(now["required"]));
  const here = Object.entries(now["properties"]).slice(0, Math.min(maxProperties, budget));
  const all = here.map(([name, written]): Property => {
    const one = resolve(written, root);
    const inner = typeOf(one) === "array" && isObject(one["items"]) ? one["items"] : one;
    return {
      name,
      type: label(one, root),
      required: required.has(name),
      description: typeof one["description"] === "string" ? one["description"] : typeof one["title"] === "string" ? one["title"] : undefined,
      default: one["default"],
      choices: "const" in one ? [one["const"]] : Array.isArray(one["enum"]) ? one["enum"].slice(0, 100) : undefined,
      limits: limits(one),
      properties: properties(inner, root, depth + 1, share(budget, here.length)),
      schema: one,
    };
  });
  return [...all.filter((p) => p.required), ...all.filter((p) => !p.required)];
}

export function limits(schema: Schema): string[] {
  const out: string[] = [];
  const number = (key: string, word: string) => typeof schema[key] === "number" && out.push(`${word} ${schema[key]}`);
  number("minimum", "≥");
  number("exclusiveMinimum", ">");
  number("maximum", "≤");
  number("exclusiveMaximum", "<");
  number("minLength", "length ≥");
  number("maxLength", "length ≤");
  number("minItems", "items ≥");
  number("maxItems", "items ≤");
  for (const key of ["format", "pattern"]) if (typeof schema[key] === "string") out.push(`${key} ${schema[key]}`);
  return out;
}
