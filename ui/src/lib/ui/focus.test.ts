// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepKeyboard } from "./focus";

let leave = () => {};
beforeEach(() => {
  HTMLElement.prototype.checkVisibility ??= () => true;
  document.body.replaceChildren();
  const page = document.createElement("main");
  page.id = "page";
  page.tabIndex = -1;
  page.append(...["one", "two", "three"].map((name) => Object.assign(document.createElement("button"), { textContent: name })));
  document.body.append(page);
  leave = keepKeyboard(document.body);
});
afterEach(() => leave());

const button = (name: string) => [...document.querySelectorAll("button")].find((b) => b.textContent === name)!;
const at = () => document.activeElement?.textContent;
/** The watch hears of a change after it, and gives others a turn first. */
const settles = (name: string) => expect.poll(at).toBe(name);

test("what goes away hands the keyboard to the next control, the last one to the one before it", async () => {
  button("two").focus();
  button("two").remove();
  await settles("three");
  button("three").remove();
  await settles("one");
});

test("what can be used no more hands the keyboard on too", async () => {
  button("two").focus();
  button("two").disabled = true;
  await settles("three");
});

test("a row that is put in another place keeps the keyboard", async () => {
  button("three").focus();
  const moved = button("three");
  document.querySelector("main")!.prepend(moved);
  moved.blur();
  await settles("three");
});
