import { expect, test } from "vitest";
import { hasMarks, pieces, visible, visibleLine } from "./visible";

// The same table as the engine's `row28_deceptive_characters_become_visible`.
test.each([
  ["plain äö 漢字 🦀", "plain äö 漢字 🦀"],
  ["two\nlines\tand a tab", "two\nlines\tand a tab"],
  ["\u{1b}[31mred", "⟨U+001B⟩[31mred"],
  ["\u{1b}]52;c;aGk=\u{7}", "⟨U+001B⟩]52;c;aGk=⟨U+0007⟩"],
  ["a\u{202e}b", "a⟨U+202E⟩b"],
  ["a\u{2066}b\u{2069}", "a⟨U+2066⟩b⟨U+2069⟩"],
  ["zero\u{200b}width\u{feff}", "zero⟨U+200B⟩width⟨U+FEFF⟩"],
  ["tag\u{e0041}", "tag⟨U+E0041⟩"],
  ["line\u{2028}sep\u{2029}", "line⟨U+2028⟩sep⟨U+2029⟩"],
  ["c1\u{9b}31m", "c1⟨U+009B⟩31m"],
  ["cr\rlf", "cr⟨U+000D⟩lf"],
  ["half \ud800 pair", "half ⟨U+D800⟩ pair"],
  ["hidden\u{3164}filler", "hidden⟨U+3164⟩filler"],
])("row 28: %j becomes visible", (raw, shown) => {
  expect(visible(raw)).toBe(shown);
  expect(hasMarks(raw)).toBe(raw !== shown);
});

test("row 28: eight combining marks stay, the ninth is shown", () => {
  expect(visible("a" + "\u0301".repeat(8))).toBe("a" + "\u0301".repeat(8));
  expect(visible("a" + "\u0301".repeat(10))).toBe("a" + "\u0301".repeat(8) + "⟨U+0301⟩⟨U+0301⟩");
});

test("row 28: marks are pieces of their own", () => {
  expect(pieces("a\u{202e}\u{200b}b")).toEqual([
    { text: "a", mark: false },
    { text: "⟨U+202E⟩", mark: true },
    { text: "⟨U+200B⟩", mark: true },
    { text: "b", mark: false },
  ]);
  expect(pieces("")).toEqual([]);
});

test("row 28: every code point of the set is caught, wherever it stands", () => {
  const set = [0, 8, 11, 13, 31, 127, 0x9f, 0xad, 0x61c, 0x200b, 0x200f, 0x2028, 0x202e, 0x2066, 0x2069, 0xfe0f, 0xfeff, 0xe0001, 0xe007f, 0xe01ef];
  for (const code of set) expect(visible(`x${String.fromCodePoint(code)}y`)).not.toContain(String.fromCodePoint(code));
});

test("one line: line feeds and tabs are marks", () => {
  expect(visibleLine("a\nb\tc")).toBe("a⟨U+000A⟩b⟨U+0009⟩c");
});
