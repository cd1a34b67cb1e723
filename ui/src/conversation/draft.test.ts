import { expect, test } from "vitest";
import { readDraft, writeDraft } from "./draft";

test("B43: a draft comes back as it was written", () => {
  const draft = { server: "a:b", tool: "t", arguments: '{"x": "\u202e' };
  expect(readDraft(writeDraft(draft))).toEqual(draft);
});
test.each(["", "text of a person", "null", "[]", '{"server":1,"tool":"t","arguments":""}', "{"])("%j is no draft", (text) => {
  expect(readDraft(text)).toBeNull();
});
