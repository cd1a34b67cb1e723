// How a place is drawn now: as its schema says, or as JSON where what stands there is something else. Nothing is hidden
// because a field could not show it.

import { draws } from "./guess";
import type { FormState, Place } from "./form.svelte";
import type { Kind, Shape } from "./shape";

export type Drawn = Exclude<Kind, "any"> | "raw";
/** Each level is opened by a person; this is where it ends all the same. */
export const deepest = 24;

export function drawnAs(form: FormState, place: Place, shape: Shape): Drawn {
  const { node } = place;
  if (shape.kind === "any" || place.depth > deepest) return "raw";
  if (!node) return shape.kind;
  if (form.isPending(node)) return "raw";
  if (shape.nullable && node.kind === "literal" && node.raw === "null") return "null";
  // What is typed into a number's field and is none yet stands there as text.
  if (shape.kind === "number" && node.kind === "string") return /[\r\n]/.test(node.value) ? "raw" : "number";
  if (!draws(shape.kind, node)) return "raw";
  // A text area would make line feeds of these.
  if (node.kind === "string" && shape.kind === "string" && node.value.includes("\r")) return "raw";
  return shape.kind;
}

/** What every control is given. */
export type ControlProps = {
  place: Place;
  shape: Shape;
  id: string;
  name: string;
  required: boolean;
  describedby: string | undefined;
  invalid: boolean;
};

/** A short piece of JSON, for a hint. */
export const brief = (raw: string): string => (raw.length > 60 ? `${raw.slice(0, 60)}…` : raw);
