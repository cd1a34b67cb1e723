// @vitest-environment happy-dom
// Calls that wait for a person, and their arguments edited on the card, in the whole window on a played engine.
import { beforeEach, expect, test } from "vitest";
import { all, asked, asJson, button, find, fresh, host, key, nameOf, open, pass, reload, said, sampled, startCall, waiting, write } from "../dev/window";

beforeEach(fresh);

const cardEditor = () => find("textarea", "Arguments of echo on the card, as JSON") as HTMLTextAreaElement;
/** A card waits, and its arguments are being edited as JSON. */
async function editing(options = sampled) {
  asJson();
  await open(options);
  await waiting('{"message":"asked"}');
  button("Edit arguments").click();
  await pass(10);
}

test("B34: Escape leads from a card back to where the keyboard was, and to the composer when it was nowhere else", async () => {
  await open(sampled);
  await waiting();
  const card = find("section.ask", /./);
  button("Settings").focus();
  key("j", { ctrlKey: true });
  await pass(20);
  expect(document.activeElement).toBe(card);
  key("Escape");
  expect(nameOf(document.activeElement!)).toBe("Settings");
  button("Deny").focus();
  key("Escape");
  expect(nameOf(document.activeElement!)).toMatch(/^Choose a tool to call/);
});

test("B34: a card steals no focus, is announced, counted in the title, and rests for 400 ms", async () => {
  await open(sampled);
  const composer = button(/Choose a tool to call/);
  composer.focus();
  void startCall("echo", '{"message":"hi"}');
  await pass(60);
  expect(document.activeElement).toBe(composer);
  expect(document.title).toBe("(1) Mework");
  expect(said()).toBe("sample wants to run echo. 1 call waiting.");
  expect(nameOf(button(/^1 call waits for you/))).toContain("Ctrl J");

  const allow = button("Allow once");
  expect(allow.getAttribute("aria-disabled")).toBe("true");
  allow.click();
  await pass(200);
  expect(asked("card.answer")).toEqual([]);
  await pass(400);
  expect(allow.getAttribute("aria-disabled")).toBe("false");
  allow.click();
  await pass(100);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: true }]);
  await pass(600);
  expect(document.title).toBe("Mework");
  expect(said()).toBe("echo on sample: Done");
});

test("B34: one key goes to the card and Esc back; Enter there allows nothing; there is no Always allow", async () => {
  await open(sampled);
  const composer = button(/Choose a tool to call/);
  composer.focus();
  await waiting();
  key("j", { ctrlKey: true });
  await pass(50);
  const card = document.activeElement as HTMLElement;
  expect(card.id).toBe("card-card-2");
  key("Enter");
  key(" ");
  await pass(50);
  expect(asked("card.answer")).toEqual([]);
  expect(card.textContent).not.toMatch(/always allow/i);
  key("Escape");
  expect(document.activeElement).toBe(composer);
});

test("B34: when a card goes, here or elsewhere, the keyboard comes to a card as a whole, never to a button that answers it", async () => {
  await open(sampled);
  for (const message of ["one", "two", "three"]) void startCall("echo", `{"message":"${message}"}`);
  await pass(900);
  const cards = () => all("section.ask");
  const inCard = (card: HTMLElement, name: string) => [...card.querySelectorAll("button")].find((b) => nameOf(b) === name)!;
  const [first, second, third] = cards();
  inCard(third!, "Deny").focus();
  inCard(third!, "Deny").click();
  await pass(900);
  expect(cards().length).toBe(2);
  expect(document.activeElement).toBe(first);

  // The last one is answered by someone else while the keyboard is on its button.
  inCard(second!, "Allow once").focus();
  void host.request("card.answer", { card: second!.id.slice("card-".length), allow: false });
  await pass(900);
  expect(cards()).toEqual([first]);
  expect(document.activeElement).toBe(first);
  key("Enter");
  key(" ");
  await pass(900);
  expect(asked("card.answer").filter((a) => (a as { allow: boolean }).allow)).toEqual([]);

  // And the only one: what is left is the composer.
  inCard(first!, "Allow once").focus();
  void host.request("card.answer", { card: first!.id.slice("card-".length), allow: false });
  await pass(900);
  expect(cards()).toEqual([]);
  expect(document.activeElement?.closest(".composer")).not.toBeNull();
});

test("B34: a key that is held down presses nothing on a card", async () => {
  await open(sampled);
  await waiting();
  const allow = button("Allow once");
  allow.focus();
  const held = new KeyboardEvent("keydown", { key: "Enter", repeat: true, bubbles: true, cancelable: true });
  allow.dispatchEvent(held);
  expect(held.defaultPrevented).toBe(true);
});

test("B34: a card that moves under the pointer rests again", async () => {
  await open(sampled);
  void startCall("echo");
  void startCall("add");
  await pass(900);
  const [first, second] = all("section.ask");
  expect(all("section.ask").length).toBe(2);
  [...first!.querySelectorAll("button")].find((b) => nameOf(b) === "Deny")!.click();
  await pass(100);
  const allow = [...second!.querySelectorAll("button")].find((b) => nameOf(b) === "Allow once")!;
  expect(allow.getAttribute("aria-disabled")).toBe("true");
  allow.click();
  await pass(50);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: false }]);
});

test("B34: denying takes a reason along", async () => {
  await open(sampled);
  await waiting();
  const reason = find("input", "Reason for denying (optional)") as HTMLInputElement;
  reason.value = " not now ";
  reason.dispatchEvent(new Event("input", { bubbles: true }));
  button("Deny").click();
  await pass(300);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: false, reason: "not now" }]);
  expect(find("article", "Call of echo on sample").textContent).toContain("not now");
});

test("row 7: a card shows the exact arguments with hidden characters visible, to the last byte", async () => {
  await open(sampled);
  const long = "x".repeat(200 * 1024) + "END";
  await waiting(`{"message":"a\u202eb\u200b","n":12345678901234567890,"n":1,"long":"${long}"}`);
  const card = all("section.ask")[0]!;
  expect(card.textContent).toContain("⟨U+202E⟩");
  expect(card.textContent).not.toContain("\u202e");
  expect(card.textContent).toContain("12345678901234567890");
  expect(card.textContent).toContain("key twice");
  expect(card.textContent).not.toContain("END");
  [...card.querySelectorAll("button")].find((b) => /^Show all 204,803 characters$/.test(nameOf(b)))!.click();
  await pass(10);
  expect(card.textContent).toContain("END");
});

test("B33: the level can be changed while a card waits", async () => {
  await open(sampled);
  void startCall("echo");
  await pass(600);
  button(/^Full access/).click();
  await pass(800);
  expect(asked("conversation.set_level")).toEqual([{ id: "c1", level: "full_access" }]);
  expect(all("section.ask")).toEqual([]);
});

test("B34, B35: arguments are edited on the card; what was written is what is sent, and its buttons rest after every change", async () => {
  asJson();
  await open(sampled);
  const composer = button(/Choose a tool to call/);
  composer.focus();
  await waiting('{"message":"asked"}');
  expect(document.activeElement).toBe(composer);
  button("Edit arguments").click();
  await pass(10);
  expect(document.activeElement).toBe(cardEditor());
  expect(cardEditor().value).toBe('{\n  "message": "asked"\n}');
  await pass(900);
  // As the editor laid it out, it is still what was asked for.
  expect(all("section.ask .chip.accent")).toEqual([]);
  write(cardEditor(), '{ "message": "edited" }');
  expect(button("Allow once").getAttribute("aria-disabled")).toBe("true");
  button("Allow once").click();
  await pass(300);
  expect(asked("card.answer")).toEqual([]);
  await pass(300);
  expect(find("section.ask .diff", /.*/).textContent).toMatch(/asked.*edited/);
  button("Allow once").click();
  await pass(400);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: true, arguments: '{ "message": "edited" }' }]);
  const item = find("article", "Call of echo on sample");
  expect(item.textContent).toContain("Edited");
  item.querySelector<HTMLElement>(".arguments")!.click();
  await pass(10);
  expect([...item.querySelectorAll("td.gone, td.fresh")].map((e) => e.textContent)).toEqual(['Removed:   "message": "asked"', 'Added:   "message": "edited"']);
  expect(all("section.lost, section.ask")).toEqual([]);
});

test("ui.md, rule 5: a card that shows again with its editor open takes no focus; a deleted conversation's edits are gone", async () => {
  asJson();
  await open({ ...sampled, conversations: [{ id: "c1", title: "First" }, { id: "c2", title: "Second" }] });
  await waiting('{"message":"asked"}');
  button("Edit arguments").click();
  await pass(10);
  write(cardEditor(), '{"message":"typed"}');
  await pass(400);
  button(/^Second/).click();
  await pass(400);
  expect(all("section.ask")).toEqual([]);
  const first = button(/^First/);
  first.focus();
  first.click();
  await pass(400);
  expect(cardEditor().value).toBe('{"message":"typed"}');
  expect(document.activeElement).not.toBe(cardEditor());
  expect(sessionStorage.length).toBe(1);
  void host.request("conversation.delete", { id: "c1" });
  await pass(600);
  expect(sessionStorage.length).toBe(0);
});

test("B35: what cannot be sent is not sent, what does not fit may be; leaving the editor keeps both", async () => {
  await editing();
  for (const broken of ['{"message": ', "[1]", '{"message": "a"} {}']) {
    write(cardEditor(), broken);
    await pass(900);
    expect(button(/^Allow/).getAttribute("aria-disabled")).toBe("true");
    button(/^Allow/).click();
    await pass(50);
  }
  key("Escape", {}, cardEditor());
  await pass(10);
  expect(document.activeElement).toBe(button("Edit arguments"));
  expect(find("section.ask", /.*/).textContent).toContain("cannot be sent");
  button("Edit arguments").click();
  await pass(10);
  expect(cardEditor().value).toBe('{"message": "a"} {}');
  write(cardEditor(), '{"massage": 1}');
  await pass(900);
  expect(find("section.ask .state", /.*/).textContent).toContain("“message” is missing.");
  expect(asked("card.answer")).toEqual([]);
  button("Allow anyway").click();
  await pass(300);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: true, arguments: '{"massage": 1}' }]);
});

test("B28, B35: the card shows the folder that the edited arguments name, and one that is none of the conversation's is no yes", async () => {
  const folders = ["/home/ada/one", "/home/ada/two"];
  await editing({ ...sampled, servers: [{ ...sampled.servers![0]!, folders }] });
  const place = () => find("section.ask .where .cut", /.*/).textContent;
  expect(place()).toBe("/home/ada/one");
  for (const [text, folder] of [['{"message":"","workspace": 2}', folders[1]], ['{"workspace": 2.0}', folders[1]], ['{"workspace": 1}', folders[0]], ["{}", folders[0]], ['{"x": {"workspace": 2}}', folders[0]]] as const) {
    write(cardEditor(), text);
    await pass(900);
    expect(place(), text).toBe(folder);
  }
  for (const wrong of ["3", "0", "1.5", '"2"', "null"]) {
    write(cardEditor(), `{"message": "", "workspace": ${wrong}}`);
    await pass(900);
    expect(place(), wrong).toBe("No such workspace");
    expect(button("Allow once").getAttribute("aria-disabled"), wrong).toBe("true");
    button("Allow once").click();
  }
  button("Done editing").click();
  await pass(900);
  expect(find("section.ask .more", /./).textContent).toBe("`workspace` names none of this conversation's workspaces: it is a number from 1 to 2. Edit it, or reset it.");
  expect(asked("card.answer")).toEqual([]);
  button("Edit arguments").click();
  await pass(10);
  write(cardEditor(), '{"message": "", "workspace": 2}');
  await pass(900);
  button("Allow once").click();
  await pass(100);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: true, arguments: '{"message": "", "workspace": 2}' }]);
});

test("row 6, B35: a card of a tool that its server changed says that a yes is void, and its form follows", async () => {
  const tools = sampled.servers![0]!.tools!;
  await open({ ...sampled, servers: [{ ...sampled.servers![0]!, tools }] });
  await waiting('{"message":"hi"}');
  button("Edit arguments").click();
  await pass(100);
  const fields = () => all("section.ask .form input, section.ask .form textarea").length;
  expect([all(".outdated").length, fields()]).toEqual([0, 1]);
  host.relist("sample", tools.map((t) => (t.name === "echo" ? { ...t, input_schema: { type: "object", required: ["message", "fresh"], properties: { message: { type: "string" }, fresh: { type: "string" } } } } : t)));
  await pass(50);
  // The list comes a little behind, and the buttons rest when the card moved.
  await pass(200);
  expect(find(".outdated", /./).textContent).toMatch(/^The server changed this tool since the call was asked for\./);
  expect(said()).toMatch(/^The server changed this tool/);
  expect(button("Allow once").getAttribute("aria-disabled")).toBe("true");
  await pass(900);
  expect(fields()).toBe(2);
  button("Done editing").click();
  await pass(900);
  button("Allow once").click();
  await pass(300);
  expect(find("article", /^Call of echo/).textContent).toContain("The approval was for another call");
});

test("a card of a tool that is not offered any more says so", async () => {
  const tools = sampled.servers![0]!.tools!;
  await open({ ...sampled, servers: [{ ...sampled.servers![0]!, tools }] });
  await waiting('{"message":"hi"}');
  host.relist("sample", tools.filter((t) => t.name !== "echo"));
  await pass(300);
  expect(find(".outdated", /./).textContent).toBe("The server does not offer this tool any more, so allowing would not run it.");
});

test("B35: Reset goes back to what was asked for, and that is sent", async () => {
  await editing();
  write(cardEditor(), '{"message":"edited"}');
  key("Escape", {}, cardEditor());
  await pass(10);
  expect(find("section.ask .chip.accent", /.*/).textContent).toBe("Edited");
  button("Reset").click();
  await pass(900);
  expect(find("section.ask", /.*/).textContent).not.toContain("edited");
  button("Allow once").click();
  await pass(300);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: true }]);
});

test("B33: a level raised while a card is edited sends what was asked for; the window says so and gives back the edit", async () => {
  await editing();
  write(cardEditor(), '{"message":"typed"}');
  void host.request("conversation.set_level", { id: "c1", level: "full_access" });
  await pass(900);
  expect(all("section.ask")).toEqual([]);
  expect(find("article", "Call of echo on sample").textContent).toContain("You said: {\"message\":\"asked\"}");
  const lost = find("section.lost", /.*/);
  expect(lost.textContent).toContain("Your edit of echo on sample was not sent.");
  expect(lost.textContent).toContain("The call ran as it was asked for, allowed by the level Full access.");
  expect(lost.textContent).toContain('{"message":"typed"}');
  button("Use it for a new call").click();
  await pass(400);
  button("JSON").click();
  await pass(50);
  expect(all("section.lost")).toEqual([]);
  expect((find("textarea", "Arguments as JSON") as HTMLTextAreaElement).value).toBe('{"message":"typed"}');
});

test("B35: an answer that came too late keeps what was typed, over a reload too", async () => {
  await editing();
  write(cardEditor(), '{"message":"typed"}');
  await pass(900);
  // Another window answers first.
  void host.request("card.answer", { card: "card-2", allow: false });
  button("Allow once").click();
  await pass(900);
  expect(find("section.lost", /.*/).textContent).toContain("Denied");
  await reload();
  expect(find("section.lost", /.*/).textContent).toContain('{"message":"typed"}');
  button("Discard what you had written").click();
  await pass(300);
  button("Confirm: Discard what you had written").click();
  await pass(300);
  expect(all("section.lost")).toEqual([]);
  expect(sessionStorage.length).toBe(0);
});

test("B44: what the desktop showed leads to the card, or to the call that ended", async () => {
  await open({ ...sampled, conversations: [...sampled.conversations!, { id: "c2", title: "Second" }] });
  void host.request("call.start", { conversation: "c2", server: "sample", tool: "echo", arguments: "{}" });
  await pass(300);
  const entry = "entry-1";
  host.emit({ type: "show", conversation: "c2", entry });
  await pass(200);
  expect(document.activeElement?.id).toMatch(/^card-/);
  await pass(600);
  button("Allow once").click();
  await pass(600);
  host.emit({ type: "show", conversation: "c2", entry });
  await pass(200);
  expect(document.activeElement?.id).toBe(`entry-${entry}`);
});
