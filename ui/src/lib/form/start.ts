// What a form writes before anyone typed: as little as possible. A required member is written when the server says which
// value (its default, its only value); everything else waits for a person.

import { parse, pretty } from "../json/json";
import type { Schemas, Shape } from "./shape";

const maxDepth = 8;
const maxMembers = 500;

function required(schemas: Schemas, shape: Shape, depth: number, budget: { left: number }): string {
  const members: string[] = [];
  if (depth < maxDepth)
    for (const [name, schema] of shape.properties) {
      if (!shape.required.has(name) || --budget.left < 0) continue;
      const value = given(schemas, schemas.shape(schema), depth + 1, budget);
      if (value !== undefined) members.push(`${JSON.stringify(name)}:${value}`);
    }
  return `{${members.join(",")}}`;
}

function given(schemas: Schemas, shape: Shape, depth: number, budget: { left: number }): string | undefined {
  if (shape.fallback !== undefined) return shape.fallback;
  if (shape.kind === "choice" && shape.choices.length === 1 && !shape.nullable) return shape.choices[0]?.raw;
  if (shape.kind !== "object") return undefined;
  const value = required(schemas, shape, depth, budget);
  return value === "{}" ? undefined : value;
}

/** The value of a part that a person adds, as JSON; undefined when there is nothing to say without them. */
export function initial(schemas: Schemas, shape: Shape): string | undefined {
  if (shape.fallback !== undefined) return shape.fallback;
  switch (shape.kind) {
    case "string":
      return '""';
    case "array":
      return "[]";
    case "object":
      return required(schemas, shape, 0, { left: maxMembers });
    case "null":
      return "null";
    case "choice":
      return shape.choices.length === 1 ? shape.choices[0]?.raw : undefined;
    default:
      return undefined;
  }
}

/** A value for a new item of a list: there must be one, or there would be no item. */
export function item(schemas: Schemas, shape: Shape): string {
  const value = initial(schemas, shape);
  if (value !== undefined) return value;
  if (shape.kind === "boolean") return "false";
  if (shape.kind === "choice") return shape.choices[0]?.raw ?? "null";
  if (shape.kind === "number") return typeof shape.schema["minimum"] === "number" && shape.schema["minimum"] > 0 ? String(shape.schema["minimum"]) : "0";
  const first = shape.variants[0];
  return first && shape.kind === "variants" ? (initial(schemas, schemas.shape(first.schema)) ?? "null") : "null";
}

/** The text that a form starts with. */
export function startText(schemas: Schemas): string {
  const shape = schemas.shape(schemas.root);
  const value = shape.kind === "object" ? required(schemas, shape, 0, { left: maxMembers }) : "{}";
  const parsed = parse(value);
  return "node" in parsed ? pretty(value, parsed.node) : "{}";
}
