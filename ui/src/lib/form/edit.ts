// Small edits of a JSON text. A value is written in its place and everything else keeps its bytes: the digits of a
// number, the spaces a person made, a key that stands there twice.
// Our own, because libraries for this write values through `JSON.stringify` (a long number loses digits) and take the
// first of two equal keys where readers of JSON take the last.

import { parse, pretty, type Member, type Node } from "../json/json";

export type Edit = { start: number; end: number; text: string };
/** Edits, and where in the new text the value that they wrote stands. */
export type Change = { edits: Edit[]; start: number; end: number };
/** Writes a value for a place with this indentation (`null`: on one line); `from` and `to` mark what was asked for in it. */
export type Make = (indent: string | null, unit: string) => { text: string; from: number; to: number };

type ObjectNode = Extract<Node, { kind: "object" }>;
type ArrayNode = Extract<Node, { kind: "array" }>;

export function apply(text: string, edits: readonly Edit[]): string {
  let out = "";
  let from = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    out += text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return out + text.slice(from);
}

/** A value made by a program: laid out like what is around it. */
export const made =
  (raw: string): Make =>
  (indent, unit) => {
    const parsed = indent === null ? null : parse(raw);
    const text = parsed && "node" in parsed ? pretty(raw, parsed.node, indent ?? "", unit) : raw;
    return { text, from: 0, to: text.length };
  };

/** A value as a person typed it. */
export const typed =
  (raw: string): Make =>
  () => ({ text: raw, from: 0, to: raw.length });

/** An object or a list around a value. */
export const around =
  (key: string | null, inner: Make): Make =>
  (indent, unit) => {
    const value = inner(indent === null ? null : indent + unit, unit);
    const [open, close] = key === null ? ["[", "]"] : ["{", "}"];
    const before = `${open}${indent === null ? "" : `\n${indent}${unit}`}${key === null ? "" : `${JSON.stringify(key)}: `}`;
    return {
      text: `${before}${value.text}${indent === null ? "" : `\n${indent}`}${close}`,
      from: before.length + value.from,
      to: before.length + value.to,
    };
  };

function lineIndent(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/** Texts on one line stay on one line; the empty object that arguments begin with is opened up. */
const onOneLine = (text: string): boolean => !text.includes("\n") && !/^\s*\{\s*\}\s*$/.test(text);

/** How deep one level goes in this text. */
function indentUnit(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
}

const change = (start: number, end: number, before: string, made: ReturnType<Make>, after = ""): Change => ({
  edits: [{ start, end, text: before + made.text + after }],
  start: start + before.length + made.from,
  end: start + before.length + made.to,
});

export function replace(text: string, node: Node, make: Make): Change {
  return change(node.start, node.end, "", make(onOneLine(text) ? null : lineIndent(text, node.start), indentUnit(text)));
}

/** The key as it is written, quotes included. */
export function keyEnd(text: string, member: Member): number {
  const shape = /"(?:[^"\\]|\\.)*"/y;
  shape.lastIndex = member.keyStart;
  return member.keyStart + (shape.exec(text)?.[0].length ?? 0);
}

/** What stands between the values of a list or an object: as its last two do it. */
function separator(text: string, starts: readonly number[], ends: readonly number[], open: number): { between: string; indent: string | null } {
  const last = starts.at(-1) ?? open;
  const gap = text.slice(starts.length > 1 ? ends.at(-2) : open + 1, last);
  const after = gap.slice(gap.indexOf(",") + 1);
  if (after.includes("\n")) {
    const indent = after.slice(after.lastIndexOf("\n") + 1);
    return { between: `,\n${indent}`, indent };
  }
  if (starts.length > 1) return { between: `,${after}`, indent: null };
  return { between: /[:,][ \t]/.test(text) || !/[:,]/.test(text.slice(open + 1)) ? ", " : ",", indent: null };
}

/** Adds a member at the end. */
export function insertMember(text: string, object: ObjectNode, key: string, make: Make): Change {
  const last = object.members.at(-1);
  const unit = indentUnit(text);
  if (!last) {
    const made = around(key, make)(onOneLine(text) ? null : lineIndent(text, object.start), unit);
    return change(object.start, object.end, "", made);
  }
  const { between, indent } = separator(text, object.members.map((m) => m.keyStart), object.members.map((m) => m.value.end), object.start);
  const colon = text.slice(keyEnd(text, last), last.value.start);
  const before = `${between}${JSON.stringify(key)}${/^[ \t]*:[ \t]*$/.test(colon) ? colon : ": "}`;
  return change(last.value.end, last.value.end, before, make(indent, unit));
}

/** Adds an item at the end. */
export function insertItem(text: string, array: ArrayNode, make: Make): Change {
  const last = array.items.at(-1);
  const unit = indentUnit(text);
  if (!last) return change(array.start, array.end, "", around(null, make)(onOneLine(text) ? null : lineIndent(text, array.start), unit));
  const { between, indent } = separator(text, array.items.map((n) => n.start), array.items.map((n) => n.end), array.start);
  return change(last.end, last.end, between, make(indent, unit));
}

/** Takes stretches out of a list, each with the comma that belongs to it. */
function without(container: Node, starts: readonly number[], ends: readonly number[], gone: ReadonlySet<number>): Edit[] {
  if (gone.size === starts.length) return [{ start: container.start + 1, end: container.end - 1, text: "" }];
  const edits: Edit[] = [];
  const first = starts.findIndex((_, i) => !gone.has(i));
  // Before the first that stays, up to it; after it, from the end of the one before.
  if (first > 0) edits.push({ start: starts[0] ?? 0, end: starts[first] ?? 0, text: "" });
  for (let i = first + 1; i < starts.length; i++) if (gone.has(i)) edits.push({ start: ends[i - 1] ?? 0, end: ends[i] ?? 0, text: "" });
  return edits;
}

/** Removes every member that is meant: a key that stands there twice goes twice, or the other one would take its place. */
export function removeMembers(object: ObjectNode, gone: (member: Member) => boolean): Edit[] {
  const which = new Set(object.members.flatMap((m, i) => (gone(m) ? [i] : [])));
  if (which.size === 0) return [];
  return without(object, object.members.map((m) => m.keyStart), object.members.map((m) => m.value.end), which);
}

/** Gives members another key; their values and everything around them keep their bytes. */
export function renameMembers(text: string, object: ObjectNode, from: string, to: string): Edit[] {
  return object.members.filter((m) => m.key === from).map((m) => ({ start: m.keyStart, end: keyEnd(text, m), text: JSON.stringify(to) }));
}

export function removeItem(array: ArrayNode, index: number): Edit[] {
  return array.items[index] ? without(array, array.items.map((n) => n.start), array.items.map((n) => n.end), new Set([index])) : [];
}

/** Two items change places, each with the characters it was written with. */
export function swapItems(text: string, array: ArrayNode, a: number, b: number): Edit[] {
  const [one, other] = [array.items[a], array.items[b]];
  if (!one || !other || a === b) return [];
  return [
    { start: one.start, end: one.end, text: text.slice(other.start, other.end) },
    { start: other.start, end: other.end, text: text.slice(one.start, one.end) },
  ];
}
