// Makes raw text safe to look at (security rows 7 and 28): every character that acts on the text around it, or hides,
// becomes a mark such as ⟨U+202E⟩. The set is the engine's (`text::display`), which does the same for names and
// descriptions; here it is done for the arguments and results of calls, which arrive raw.

/** A stretch of plain text, or one character drawn as a mark. */
export type Piece = { text: string; mark: boolean };

// Built from numbers so that this file holds none of the characters itself.
const deceptive: ReadonlyArray<readonly [number, number]> = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff], // a surrogate without its other half
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xe0000, 0xe0fff],
];
const combining: ReadonlyArray<readonly [number, number]> = [
  [0x300, 0x36f],
  [0x483, 0x489],
  [0x1ab0, 0x1aff],
  [0x1dc0, 0x1dff],
  [0x20d0, 0x20ff],
  [0xfe20, 0xfe2f],
];
const hex = (n: number) => `\\u{${n.toString(16)}}`;
const set = (ranges: ReadonlyArray<readonly [number, number]>) => ranges.map(([a, b]) => `${hex(a)}-${hex(b)}`).join("");

/** Combining marks after this many in a row are shown as marks: stacked ones can cover other lines. */
const combiningRun = 8;
const any = new RegExp(`[${set(deceptive)}]|[${set(combining)}]{${combiningRun + 1},}`, "u");
const each = new RegExp(`[${set(deceptive)}]|(?<=[${set(combining)}]{${combiningRun}})[${set(combining)}]`, "gu");

const name = (c: string) => `⟨U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Whether the text holds anything that would be drawn as a mark. */
export const hasMarks = (text: string): boolean => any.test(text);

/** Splits text into plain stretches and marks. Line feeds and tabs are plain. */
export function pieces(text: string): Piece[] {
  if (!any.test(text)) return text === "" ? [] : [{ text, mark: false }];
  const out: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(each)) {
    if (found.index > from) out.push({ text: text.slice(from, found.index), mark: false });
    out.push({ text: name(found[0]), mark: true });
    from = found.index + found[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), mark: false });
  return out;
}

/** The same as one string, for places that take no elements (attributes, the clipboard's preview, announcements). */
export const visible = (text: string): string => pieces(text).map((p) => p.text).join("");

/** For a place of one line: line feeds and tabs become marks too. */
export const visibleLine = (text: string): string => visible(text).replaceAll("\n", "⟨U+000A⟩").replaceAll("\t", "⟨U+0009⟩");
