// Which variant of a schema a value was written for, and what of it another variant keeps. A look at the top level only: the
// engine's check says what really fits.

import type { Node } from "../json/json";
import type { Kind, Schemas, Shape } from "./shape";

/** The kind of field that draws such a value. */
export function draws(kind: Kind, node: Node): boolean {
  switch (kind) {
    case "string":
    case "number":
    case "object":
    case "array":
      return node.kind === kind;
    case "boolean":
      return node.kind === "literal" && node.raw !== "null";
    case "null":
      return node.kind === "literal" && node.raw === "null";
    default:
      return true;
  }
}

/** A value's JSON, without what writing it one way or another makes of it. */
export function same(node: Node, raw: string): boolean {
  if (node.kind === "string") return raw.startsWith('"') && JSON.parse(raw) === node.value;
  if (node.kind === "literal") return raw === node.raw;
  if (node.kind === "number") return /^[-\d]/.test(raw) && Number(raw) === Number(node.raw) && (raw === node.raw || Math.abs(Number(raw)) <= Number.MAX_SAFE_INTEGER);
  return raw === plain(node);
}

/** Compact JSON of a node; numbers keep their digits. */
export function plain(node: Node): string {
  if (node.kind === "object") return `{${node.members.map((m) => `${JSON.stringify(m.key)}:${plain(m.value)}`).join(",")}}`;
  if (node.kind === "array") return `[${node.items.map(plain).join(",")}]`;
  return node.kind === "string" ? JSON.stringify(node.value) : node.raw;
}

/** How well a value fits a shape; 0 when it does not. */
export function score(schemas: Schemas, node: Node, shape: Shape): number {
  if (shape.nullable && node.kind === "literal" && node.raw === "null") return 1;
  switch (shape.kind) {
    case "any":
      return shape.why === "never" ? 0 : 0.5;
    case "choice":
      return shape.choices.some((c) => same(node, c.raw)) ? 3 : 0;
    case "variants":
      return Math.max(0, ...shape.variants.slice(0, 16).map((v) => (schemas.shape(v.schema).kind === "variants" ? 0.5 : score(schemas, node, schemas.shape(v.schema)))));
    case "number":
      if (node.kind !== "number") return 0;
      return shape.type === "integer" ? (/^-?\d+$/.test(node.raw) ? 2 : 0.5) : 1;
    case "object": {
      if (node.kind !== "object") return 0;
      const properties = new Map(shape.properties);
      let points = 1;
      for (const member of node.members.slice(0, 100)) {
        if (!properties.has(member.key)) {
          points -= shape.additional === false ? 0.4 : 0.1;
          continue;
        }
        points += 0.5;
        const inner = schemas.shape(properties.get(member.key));
        if (inner.kind === "choice") {
          if (!inner.choices.some((c) => same(member.value, c.raw))) return 0.01;
          points += inner.choices.length === 1 ? 4 : 0.5;
        } else if (!draws(inner.kind, member.value)) points -= 0.4;
      }
      for (const name of shape.required) if (!node.members.some((m) => m.key === name)) points -= 0.3;
      return Math.max(points, 0.02);
    }
    default:
      return draws(shape.kind, node) ? 1 : 0;
  }
}

/** The variant that fits best; none when nothing fits. */
export function guess(schemas: Schemas, node: Node, shape: Shape): number | null {
  let best: number | null = null;
  let points = 0;
  for (const [i, variant] of shape.variants.entries()) {
    const now = score(schemas, node, schemas.shape(variant.schema));
    if (now > points) [best, points] = [i, now];
  }
  return best;
}
