// What a form draws for one place of a schema. The schema is a server's (security row 33): it is read one level at a time,
// when a person opens that level; references are followed inside it only; every step is counted; no pattern is run. A part
// that cannot be drawn is "any": its JSON is written by hand.

import { type Schema, follow, isObject, limits, refName, strings } from "../json/schema";
import { words } from "../../words";

/** Why a place is drawn as JSON. */
export type Why = "elsewhere" | "missing" | "loop" | "large" | "never" | "contradiction" | "inexact";
export type Kind = "string" | "number" | "boolean" | "null" | "choice" | "object" | "array" | "variants" | "any";
/** A value to choose, as JSON. */
export type Choice = { raw: string; label: string; hint: string | undefined };
export type Variant = { label: string; schema: Schema };
export type Shape = {
  kind: Kind;
  why: Why | undefined;
  schema: Schema;
  /** The type, in JSON Schema's words. */
  type: string;
  title: string | undefined;
  description: string | undefined;
  deprecated: boolean;
  readOnly: boolean;
  nullable: boolean;
  /** The default, as JSON; only one that is written exactly as the server wrote it. */
  fallback: string | undefined;
  example: string | undefined;
  choices: Choice[];
  variants: Variant[];
  properties: [name: string, schema: unknown][];
  required: ReadonlySet<string>;
  /** The schema of members that are not named; false when there may be none. */
  additional: unknown;
  /** The schema invites members of any name. */
  open: boolean;
  prefix: unknown[];
  items: unknown;
  least: number;
  most: number;
  format: string | undefined;
  long: boolean;
  limits: string[];
};

const maxSteps = 200;
const maxHops = 16;
const maxDepth = 12;
export const maxVariants = 64;
export const maxProperties = 5000;
const maxChoices = 10_000;
const maxText = 10_000;

const text = (value: unknown): string | undefined => (typeof value === "string" && value.trim() !== "" ? value.slice(0, maxText) : undefined);

/** A value of a schema as JSON, or undefined when JavaScript did not keep its digits. */
export function exact(value: unknown): string | undefined {
  let steps = 0;
  const fine = (v: unknown): boolean => {
    if (++steps > 2000) return false;
    if (typeof v === "number") return Number.isFinite(v) && (!Number.isInteger(v) || Number.isSafeInteger(v));
    if (Array.isArray(v)) return v.every(fine);
    return isObject(v) ? Object.values(v).every(fine) : v !== undefined;
  };
  return fine(value) ? JSON.stringify(value) : undefined;
}

class Stop extends Error {
  constructor(readonly why: Why) {
    super(why);
  }
}

const known = ["string", "number", "integer", "boolean", "null", "object", "array"];

/** Reads one schema, level by level. */
export class Schemas {
  #known = new WeakMap<object, Shape>();
  #steps = 0;

  constructor(readonly root: unknown) {}

  shape(schema: unknown): Shape {
    if (!isObject(schema)) return schema === false ? any("never") : any(undefined);
    const before = this.#known.get(schema);
    if (before) return before;
    let made: Shape;
    this.#steps = 0;
    try {
      made = this.#draw(this.#flat(schema, []), 0);
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      made = any(error.why, schema);
    }
    this.#known.set(schema, made);
    return made;
  }

  /** The schema without `$ref` and `allOf`. */
  #flat(schema: unknown, way: readonly unknown[]): Schema {
    if (schema === false) throw new Stop("never");
    if (!isObject(schema)) return {};
    if (way.includes(schema)) throw new Stop("loop");
    if (++this.#steps > maxSteps || way.length > maxHops) throw new Stop("large");
    const deeper = [...way, schema];
    const { $ref: ref, allOf, ...rest } = schema;
    let now: Schema = rest;
    if (typeof ref === "string") now = merge(now, this.#flat(this.#find(ref), deeper));
    if (Array.isArray(allOf)) for (const part of allOf.slice(0, maxSteps)) now = merge(now, this.#flat(part, deeper));
    return now;
  }

  #find(ref: string): unknown {
    if (!ref.startsWith("#")) throw new Stop("elsewhere");
    const target = follow(ref, this.root);
    if (target === undefined) throw new Stop("missing");
    return target;
  }

  #draw(schema: Schema, depth: number): Shape {
    if (depth > maxDepth) throw new Stop("large");
    const shape = blank(schema);
    const types = (typeof schema["type"] === "string" ? [schema["type"]] : strings(schema["type"])).filter((t) => known.includes(t));
    const values = Object.hasOwn(schema, "const") ? [schema["const"]] : Array.isArray(schema["enum"]) ? schema["enum"].slice(0, maxChoices) : undefined;
    if (values) {
      const nullable = values.length > 1 && values.includes(null);
      const choices = values.filter((v) => !nullable || v !== null).map((v) => choice(v, undefined, undefined));
      if (choices.some((c) => c === null)) return any("inexact", schema);
      return { ...shape, kind: "choice", nullable, choices: choices.filter((c) => c !== null), type: types.filter((t) => t !== "null").join(" or ") || "choice" };
    }

    const split = this.#variants(schema, depth);
    if (split) return split;

    const real = types.filter((t) => t !== "null" && !(t === "integer" && types.includes("number")));
    const nullable = types.includes("null") && real.length > 0;
    if (real.length > 1) {
      const variants = real.map((t) => ({ label: t, schema: { ...schema, type: t } }));
      return { ...shape, kind: "variants", variants, nullable, type: real.join(" or ") };
    }
    return this.#plain({ ...shape, nullable }, real[0] ?? (types.includes("null") ? "null" : implied(schema)));
  }

  #plain(shape: Shape, type: string | undefined): Shape {
    const { schema } = shape;
    switch (type) {
      case "string": {
        const format = text(schema["format"])?.slice(0, 40);
        const long = schema["contentMediaType"] !== undefined || ["textarea", "multiline", "markdown", "html"].includes(format ?? "") || (typeof schema["maxLength"] === "number" && schema["maxLength"] >= 1000);
        return { ...shape, kind: "string", type, format, long };
      }
      case "number":
      case "integer":
        return { ...shape, kind: "number", type };
      case "boolean":
      case "null":
        return { ...shape, kind: type, type };
      case "array": {
        const old = Array.isArray(schema["items"]);
        const prefix = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : old ? (schema["items"] as unknown[]) : [];
        const items = old ? schema["additionalItems"] : schema["items"];
        const closed = items === false ? prefix.length : Number.POSITIVE_INFINITY;
        return { ...shape, kind: "array", type, prefix: prefix.slice(0, 200), items, least: size(schema["minItems"], 0), most: Math.min(closed, size(schema["maxItems"], Number.POSITIVE_INFINITY)) };
      }
      case "object": {
        const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]).slice(0, maxProperties) : [];
        const additional = schema["additionalProperties"];
        const patterns = isObject(schema["patternProperties"]) && Object.keys(schema["patternProperties"]).length > 0;
        return {
          ...shape,
          kind: "object",
          type,
          properties,
          required: new Set(strings(schema["required"])),
          // Which members a pattern means is not asked here: patterns are not run.
          additional: patterns ? true : additional,
          open: patterns || additional === true || isObject(additional) || (schema["properties"] === undefined && additional !== false),
        };
      }
      default:
        return { ...shape, kind: "any", type: "any" };
    }
  }

  /** `oneOf` and `anyOf`, where they say more than their surroundings. */
  #variants(schema: Schema, depth: number): Shape | null {
    const key = ["oneOf", "anyOf"].find((k) => Array.isArray(schema[k]) && (schema[k] as unknown[]).length > 0);
    if (key === undefined) return null;
    const { [key]: list, ...base } = schema;
    const all = list as unknown[];
    if (all.length > maxVariants && !all.every((v) => isObject(v) && Object.hasOwn(v, "const"))) throw new Stop("large");

    const isNull = (v: unknown) => isObject(v) && (v["type"] === "null" || (Object.hasOwn(v, "const") && v["const"] === null));
    const rest = all.slice(0, maxChoices).filter((v) => !isNull(v));
    const nullable = rest.length < Math.min(all.length, maxChoices);
    const shape = { ...blank(schema), nullable };

    // A list of constants, each perhaps with a title, is a choice.
    if (rest.length > 0 && rest.every((v) => isObject(v) && (Object.hasOwn(v, "const") || (Array.isArray(v["enum"]) && v["enum"].length === 1)))) {
      const choices = rest.map((v) => {
        const one = v as Schema;
        return choice(Object.hasOwn(one, "const") ? one["const"] : (one["enum"] as unknown[])[0], text(one["title"]), text(one["description"]));
      });
      if (choices.some((c) => c === null)) throw new Stop("inexact");
      return { ...shape, kind: "choice", choices: choices.filter((c) => c !== null), type: typeof base["type"] === "string" ? base["type"] : "choice" };
    }
    // Conditions on what stands beside them ("one of these is required") are the check's, not the form's.
    const says = (v: unknown) => isObject(v) && ["type", "properties", "$ref", "items", "enum", "const", "oneOf", "anyOf", "allOf", "additionalProperties"].some((k) => Object.hasOwn(v, k));
    if (!rest.some(says)) return rest.length > 0 || nullable ? this.#again(base, depth, nullable && rest.length === 0) : null;

    const variants = rest.map((v, i): Variant => ({ label: this.#label(v, i), schema: { ...over(base, v), allOf: [...(isObject(v) ? [v] : []), ...(v === false ? [false] : [])] } }));
    if (variants.length === 1 && variants[0]) {
      const only = this.#draw(this.#flat(variants[0].schema, []), depth + 1);
      return { ...only, nullable: nullable || only.nullable, title: shape.title ?? only.title, description: shape.description ?? only.description, fallback: shape.fallback ?? only.fallback };
    }
    const counts = new Map<string, number>();
    for (const v of variants) counts.set(v.label, (counts.get(v.label) ?? 0) + 1);
    for (const [i, v] of variants.entries()) if ((counts.get(v.label) ?? 0) > 1) v.label = `${v.label} ${i + 1}`;
    return { ...shape, kind: "variants", variants, type: key };
  }

  #again(base: Schema, depth: number, onlyNull: boolean): Shape {
    return this.#draw(onlyNull ? { ...base, type: "null" } : base, depth + 1);
  }

  #label(variant: unknown, index: number): string {
    if (!isObject(variant)) return String(index + 1);
    const named = text(variant["title"]);
    if (named) return named.slice(0, 80);
    let flat: Schema = variant;
    try {
      flat = this.#flat(variant, []);
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
    }
    const title = text(flat["title"]);
    if (title) return title.slice(0, 80);
    const properties = isObject(flat["properties"]) ? Object.entries(flat["properties"]).slice(0, 20) : [];
    for (const [name, property] of properties) {
      const value = isObject(property) ? (property["const"] ?? (Array.isArray(property["enum"]) && property["enum"].length === 1 ? property["enum"][0] : undefined)) : undefined;
      if (value !== undefined) return `${name}: ${String(value)}`.slice(0, 80);
    }
    if (typeof variant["$ref"] === "string") return refName(variant["$ref"]).slice(0, 80) || String(index + 1);
    const type = typeof flat["type"] === "string" ? flat["type"] : implied(flat);
    const required = strings(flat["required"]).slice(0, 3);
    return type === "object" && required.length > 0 ? words.schema.objectWith(required.join(", ")).slice(0, 80) : (type ?? String(index + 1));
  }
}

/** What a variant says of itself stands before what stands around it. */
function over(base: Schema, variant: unknown): Schema {
  if (!isObject(variant)) return base;
  const { title: _t, description: _d, default: _f, ...rest } = base;
  return rest;
}

function implied(schema: Schema): string | undefined {
  const has = (...keys: string[]) => keys.some((k) => Object.hasOwn(schema, k));
  if (has("properties", "additionalProperties", "patternProperties", "required")) return "object";
  if (has("items", "prefixItems", "minItems", "maxItems")) return "array";
  if (has("pattern", "minLength", "maxLength", "format")) return "string";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return "number";
  return undefined;
}

function merge(a: Schema, b: Schema): Schema {
  const out: Schema = { ...b, ...a };
  if (isObject(a["properties"]) && isObject(b["properties"])) {
    const [mine, theirs] = [a["properties"], b["properties"]];
    // Spread and fromEntries make own members of every name, `__proto__` too.
    out["properties"] = {
      ...theirs,
      ...Object.fromEntries(Object.entries(mine).map(([name, one]) => [name, Object.hasOwn(theirs, name) && theirs[name] !== one ? { allOf: [one, theirs[name]] } : one])),
    };
  }
  if (Array.isArray(a["required"]) && Array.isArray(b["required"])) out["required"] = [...strings(b["required"]), ...strings(a["required"])];
  if (a["type"] !== undefined && b["type"] !== undefined) {
    const types = (t: unknown) => (typeof t === "string" ? [t] : strings(t));
    const [mine, theirs] = [types(a["type"]), types(b["type"])];
    const both = [...mine.filter((t) => theirs.includes(t) || (t === "integer" && theirs.includes("number"))), ...theirs.filter((t) => t === "integer" && mine.includes("number") && !mine.includes(t))];
    if (both.length === 0) throw new Stop("contradiction");
    out["type"] = both.length === 1 ? both[0] : both;
  }
  if (Array.isArray(a["enum"]) && Array.isArray(b["enum"])) {
    const theirs = new Set(b["enum"].slice(0, maxChoices).map((v) => JSON.stringify(v)));
    const both = a["enum"].slice(0, maxChoices).filter((v) => theirs.has(JSON.stringify(v)));
    if (both.length === 0) throw new Stop("contradiction");
    out["enum"] = both;
  }
  if (a["additionalProperties"] === false || b["additionalProperties"] === false) out["additionalProperties"] = false;
  for (const key of ["oneOf", "anyOf"]) if (Array.isArray(a[key]) && Array.isArray(b[key])) out[key] = a[key];
  return out;
}

const size = (value: unknown, otherwise: number): number => (typeof value === "number" && value >= 0 ? value : otherwise);

function choice(value: unknown, title: string | undefined, hint: string | undefined): Choice | null {
  const raw = exact(value);
  if (raw === undefined) return null;
  const plain = typeof value === "string" ? value : raw;
  const label = (title ?? plain).slice(0, 200);
  return { raw, label: label.trim() === "" ? raw.slice(0, 200) : label, hint: title !== undefined && title !== plain ? plain.slice(0, 200) : hint?.slice(0, 200) };
}

function blank(schema: Schema): Shape {
  const examples = schema["examples"];
  const example: unknown = Array.isArray(examples) ? examples[0] : undefined;
  return {
    kind: "any",
    why: undefined,
    schema,
    type: "any",
    title: text(schema["title"])?.slice(0, 200),
    description: text(schema["description"]),
    deprecated: schema["deprecated"] === true,
    readOnly: schema["readOnly"] === true,
    nullable: false,
    fallback: Object.hasOwn(schema, "default") ? exact(schema["default"]) : undefined,
    example: example === undefined ? undefined : exact(example),
    choices: [],
    variants: [],
    properties: [],
    required: new Set(),
    additional: undefined,
    open: false,
    prefix: [],
    items: undefined,
    least: 0,
    most: Number.POSITIVE_INFINITY,
    format: undefined,
    long: false,
    limits: limits(schema).filter((l) => !l.startsWith("format ")),
  };
}

function any(why: Why | undefined, schema: Schema = {}): Shape {
  return { ...blank(schema), why };
}
