// @vitest-environment happy-dom
// The whole window on a played engine: what a person sees and does, found by accessible names.
import { flushSync } from "svelte";
import { beforeEach, expect, test } from "vitest";
import { all, asked, button, find, fresh, host, key, nameOf, open, pass, reload, said } from "../dev/window";
import type { Entry } from "./host/api";
import { sampleTools, type FakeOptions } from "./host/fake";

beforeEach(fresh);

const one: FakeOptions = {
  conversations: [{ id: "c1", title: "First" }],
  servers: [{ name: "sample", consent: "given", tools: sampleTools, status: { kind: "connected", tools: 6, asking: 0, definition_bytes: 4820, heaviest: [{ name: "read_file", bytes: 1480 }, { name: "echo", bytes: 220 }], set_aside: [], notices: [], server_name: "sample", server_version: "1", protocol: "2025-11-25", elapsed_ms: 5 } }],
  ticked: ["sample"],
};
const startCall = (tool: string, args = "{}") => host.request("call.start", { conversation: "c1", server: "sample", tool, arguments: args });

test("B34: a card steals no focus, is announced, counted in the title, and rests for 400 ms", async () => {
  await open(one);
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
  await open(one);
  const composer = button(/Choose a tool to call/);
  composer.focus();
  void startCall("echo");
  await pass(900);
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

test("B34: a key that is held down presses nothing on a card", async () => {
  await open(one);
  void startCall("echo");
  await pass(900);
  const allow = button("Allow once");
  allow.focus();
  const held = new KeyboardEvent("keydown", { key: "Enter", repeat: true, bubbles: true, cancelable: true });
  allow.dispatchEvent(held);
  expect(held.defaultPrevented).toBe(true);
});

test("B34: a card that moves under the pointer rests again", async () => {
  await open(one);
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
  await open(one);
  void startCall("echo");
  await pass(900);
  const reason = find("input", "Reason for denying (optional)") as HTMLInputElement;
  reason.value = " not now ";
  reason.dispatchEvent(new Event("input", { bubbles: true }));
  button("Deny").click();
  await pass(300);
  expect(asked("card.answer")).toEqual([{ card: "card-2", allow: false, reason: "not now" }]);
  expect(find("article", "Call of echo on sample").textContent).toContain("not now");
});

test("row 7: a card shows the exact arguments with hidden characters visible, to the last byte", async () => {
  await open(one);
  const long = "x".repeat(200 * 1024) + "END";
  void startCall("echo", `{"message":"a\u202eb\u200b","n":12345678901234567890,"n":1,"long":"${long}"}`);
  await pass(900);
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

test("rows 8 and 28: hostile names, descriptions and results are text", async () => {
  const evil = '<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e';
  const entry: Entry = {
    id: "e1",
    at: 1,
    body: { kind: "call", server: evil, server_name: evil, machine: evil, tool: evil, title: evil, arguments: JSON.stringify({ [evil]: evil }), state: { kind: "done", is_error: false, bytes: 1, elapsed_ms: 1, content: [{ type: "text", text: evil }, { type: "resource_link", uri: `javascript:${evil}`, name: evil }, { type: "other", what: evil }], structured: { [evil]: evil } } },
  };
  await open({ conversations: [{ id: "c1", title: evil, entries: [entry, { id: "n", at: 2, body: { kind: "notice", text: evil, diff: [] } }] }], notices: [evil] });
  expect(all("article, li").some((e) => e.textContent?.includes("onerror"))).toBe(true);
  expect(all("script, [onerror], img[src='x'], iframe, a[href^='javascript']")).toEqual([]);
  expect(document.body.textContent).not.toContain("\u202e");
});

test("B14, B15: sections, counts, a word for every state, names for every button", async () => {
  await open({
    workspaces: [{ id: "w1", path: "/home/ada/api", name: "api", machine: "This computer", exists: true }],
    conversations: [{ id: "c1", title: "First", workspaces: ["w1"] }],
    ticked: ["up", "gone"],
    servers: [
      { name: "up", consent: "given", status: { kind: "connected", tools: 1, asking: 0, definition_bytes: 4820, heaviest: [{ name: "read_file", bytes: 1480 }, { name: "echo", bytes: 220 }], set_aside: [], notices: [], server_name: "u", server_version: "1", protocol: "p", elapsed_ms: 1 } },
      { name: "down", consent: "given", status: { kind: "failed", stage: "start", message: "It is missing.", stderr: ["a", "b"], stdout_noise: 0, stdout_sample: [] } },
      { name: "bad", available: false, reasons: ["cwd is not absolute."] },
      { name: "idle", level: "w1", consent: "given" },
      { name: "testing", level: "w1", consent: "given", status: { kind: "testing" } },
      { name: "gone", status: { kind: "dangling" } },
    ],
    sections: [{ level: "w1", message: "This file is ignored: line 2, column 3." }],
  });
  key(",", { ctrlKey: true });
  await pass(50);
  expect(find(".count[role=status]", /selected/).textContent).toBe("2 / 5 selected");
  expect(all("section[aria-labelledby] h2").map(nameOf)).toEqual(["Global", "api /home/ada/api", "Dangling"]);
  expect(all(".badge").map(nameOf)).toEqual(["up: 1 tool. Details", "down: Connection failed. Details", "bad: Unavailable. Details", "idle: Not tested. Details", "testing: Testing…. Details", "gone: Dangling. Details"]);
  expect(find(".message.bad", /ignored/).textContent).toContain("line 2, column 3");
  button("Open the global config folder");
  button("Open the config folder of /home/ada/api").click();
  button("Rescan").click();
  await pass(50);
  expect(asked("level.reveal")).toEqual([{ conversation: "c1", level: "w1" }]);
  expect(asked("level.rescan")).toEqual([{ id: "c1" }]);
  expect((find("input", "Use bad in this conversation") as HTMLInputElement).disabled).toBe(true);
  expect((find("input", "Use gone in this conversation") as HTMLInputElement).disabled).toBe(false);
  expect((button("Test connection to testing") as HTMLButtonElement).disabled).toBe(true);
  button(/^down: /).click();
  await pass(10);
  expect(find(".details", /It is missing/).textContent).toContain("It is missing.");
});

test("B15: a failed row's tooltip has the reason and the last five lines, for the keyboard too", async () => {
  await open({ ...one, servers: [{ name: "down", consent: "given", status: { kind: "failed", stage: "start", message: "It is missing.", stderr: ["1", "2", "3", "4", "5", "6"], stdout_noise: 0, stdout_sample: [] } }], ticked: ["down"] });
  key(",", { ctrlKey: true });
  await pass(50);
  const badge = button(/^down: /);
  badge.dispatchEvent(new PointerEvent("pointerenter"));
  await pass(500);
  const tip = find('[role="tooltip"]', /.*/);
  expect(tip.textContent).toContain("It is missing.");
  expect(tip.querySelector("pre")!.textContent).toBe("2\n3\n4\n5\n6");
  expect(badge.getAttribute("aria-describedby")).toBe(tip.id);
  key("Escape", {}, window);
  await pass(10);
  expect(badge.hasAttribute("aria-describedby")).toBe(false);
  // It closed the tooltip only.
  expect(all('[role="tabpanel"]').length).toBe(1);
});

test("B17: the trash asks in place, for four seconds, and then removes by the file's hash", async () => {
  await open(one);
  key(",", { ctrlKey: true });
  await pass(50);
  button("Remove sample from mcp.json").click();
  await pass(10);
  expect(button("Confirm: Remove sample from mcp.json").textContent).toBe("Confirm");
  await pass(4000);
  button("Remove sample from mcp.json").click();
  await pass(10);
  // The second half of a double click is no answer.
  button("Confirm: Remove sample from mcp.json").click();
  await pass(300);
  expect(asked("server.remove")).toEqual([]);
  button("Confirm: Remove sample from mcp.json").click();
  await pass(100);
  expect(asked("server.remove")).toEqual([{ server: "sample", file_hash: "hash-0" }]);
});

test("rows 1 and 3: a first tick shows everything that would start, and agreeing binds to what was shown", async () => {
  await open({ ...one, servers: [{ name: "deploy" }], ticked: [] });
  key(",", { ctrlKey: true });
  await pass(50);
  find("input", "Use deploy in this conversation").click();
  await pass(60);
  const panel = find("section.consent", /Start deploy\?/);
  expect([...panel.querySelectorAll(".args li")].map((e) => e.textContent)).toEqual(["-y", "@example/deploy@latest", "--root", "/home/ada/work/api", "--allow-write"]);
  expect(panel.textContent).toContain("ANTHROPIC_API_KEY");
  expect([...panel.querySelectorAll("li.bad code")].map((e) => e.textContent)).toEqual(["ANTHROPIC_API_KEY", "NODE_OPTIONS"]);
  button("Agree and use").click();
  await pass(30);
  expect(asked("server.tick").length).toBe(1);
  await pass(400);
  button("Agree and use").click();
  await pass(60);
  expect(asked("server.tick")).toEqual([
    { conversation: "c1", server: "deploy", ticked: true },
    { conversation: "c1", server: "deploy", ticked: true, digest: "digest-deploy" },
  ]);
  expect(all("section.consent")).toEqual([]);
  expect((find("input", "Use deploy in this conversation") as HTMLInputElement).checked).toBe(true);
});

test("row 1: a changed server is not called before old and new were seen", async () => {
  await open({ ...one, servers: [{ ...one.servers![0]!, consent: "changed" }] });
  await pass(200);
  button(/^echo/).click();
  await pass(400);
  button(/^Call/).click();
  await pass(100);
  const panel = find("section.consent", /changed since you agreed/);
  expect([...panel.querySelectorAll("td.gone")].map((e) => e.textContent)).toEqual(['Removed:     "@example/sample@1.2.0",', 'Removed:     "/home/ada/work/api"']);
  expect(asked("call.start").length).toBe(1);
  await pass(400);
  button("Agree and call").click();
  await pass(200);
  expect(asked("server.tick")).toEqual([{ conversation: "c1", server: "sample", ticked: true, digest: "digest-sample" }]);
  expect(asked("call.start").length).toBe(2);
});

test("B33: the level can be changed while a card waits", async () => {
  await open(one);
  void startCall("echo");
  await pass(600);
  button(/^Full access/).click();
  await pass(800);
  expect(asked("conversation.set_level")).toEqual([{ id: "c1", level: "full_access" }]);
  expect(all("section.ask")).toEqual([]);
});

test("a tool is picked by letters, its arguments start from the schema, and what does not fit is named at its line", async () => {
  await open(one);
  key("/", {}, document.body);
  await pass(200);
  expect(asked("conversation.warm")).toEqual([{ id: "c1" }]);
  const search = find("input", "Search tools") as HTMLInputElement;
  expect(document.activeElement).toBe(search);
  search.value = "ad";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  await pass(100);
  key("Enter", {}, search);
  await pass(400);
  button("JSON").click();
  await pass(50);
  button("Start again from the schema").click();
  await pass(400);
  const editor = find("textarea", "Arguments as JSON") as HTMLTextAreaElement;
  expect(JSON.parse(editor.value)).toEqual({ a: 0, b: 0 });
  expect(document.activeElement).toBe(editor);
  editor.value = '{\n  "a": 1,\n  "b": "two"\n}';
  editor.dispatchEvent(new Event("input", { bubbles: true }));
  await pass(400);
  expect(find(".composer .foot .state", /.*/).textContent).toContain("Line 3");
  expect(find(".composer .foot .state", /.*/).textContent).toContain("“b” must be of type integer.");
  editor.value = '{"a": 1,';
  editor.dispatchEvent(new Event("input", { bubbles: true }));
  await pass(400);
  key("Enter", { ctrlKey: true }, editor);
  await pass(50);
  expect(asked("call.start")).toEqual([]);
  editor.value = '{"a": 1, "b": 2}';
  editor.dispatchEvent(new Event("input", { bubbles: true }));
  await pass(400);
  expect(find(".composer .foot .state", /.*/).textContent).toContain("The arguments fit the schema");
  key("Enter", { ctrlKey: true }, editor);
  await pass(50);
  // Exactly the text that was written.
  expect(asked("call.start")).toEqual([{ conversation: "c1", server: "sample", tool: "add", arguments: '{"a": 1, "b": 2}' }]);
  await pass(1000);
  expect(asked("conversation.set_draft").at(-1)).toEqual({ id: "c1", draft: JSON.stringify({ server: "sample", tool: "add", arguments: '{"a": 1, "b": 2}' }) });
});

test("arrow keys go from row to row and stay in their column", async () => {
  await open({ ...one, servers: ["a", "b", "c"].map((name) => ({ name, consent: "given" as const, ...(name === "b" ? { available: false } : {}) })), ticked: [] });
  key(",", { ctrlKey: true });
  await pass(50);
  find("input", "Use a in this conversation").focus();
  key("ArrowDown");
  // b cannot be ticked, so there is nothing to stop at.
  expect(nameOf(document.activeElement!)).toBe("Use c in this conversation");
  key("ArrowUp");
  expect(nameOf(document.activeElement!)).toBe("Use a in this conversation");
  button(/^a: /).focus();
  key("ArrowDown");
  expect(nameOf(document.activeElement!)).toBe("b: Unavailable. Details");
  key("End");
  expect(nameOf(document.activeElement!)).toBe("c: Not tested. Details");
});

test("B20b: looking at a conversation starts nothing", async () => {
  await open({ ...one, conversations: [{ id: "c1", title: "First" }, { id: "c2", title: "Second", updated_at: 1 }] });
  button(/^Second/).click();
  await pass(500);
  key(",", { ctrlKey: true });
  await pass(500);
  expect([...new Set(host.asked.map((a) => a.method))].sort()).toEqual(["conversation.open", "snapshot", "tools.list"]);
});

test("B41: a conversation that another process owns can only be read", async () => {
  await open({ ...one, conversations: [{ id: "c1", title: "First", held_by: "mework on the command line" }] });
  expect(all("section.composer")).toEqual([]);
  expect(find("p.message", /Read-only/).textContent).toContain("mework on the command line");
  key(",", { ctrlKey: true });
  await pass(50);
  expect((find("input", "Use sample in this conversation") as HTMLInputElement).disabled).toBe(true);
});

test("B26: a running call shows its progress and can be stopped; a refused result says why", async () => {
  await open({ ...one, conversations: [{ id: "c1", title: "First", level: "full_access" }] });
  void startCall("slow");
  await pass(1500);
  const slow = () => find("article", "Call of slow on sample");
  expect(slow().textContent).toContain("Running");
  expect(slow().textContent).toMatch(/Step \d/);
  expect(Number(slow().querySelector("progress")!.getAttribute("value"))).toBeGreaterThan(0);
  button("Stop").click();
  await pass(400);
  expect(slow().textContent).toContain("Stopped");
  void startCall("big");
  await pass(600);
  expect(find("article", "Call of big on sample").textContent).toContain("131,072 bytes; the limit is 65,536 bytes");
});

test("row 6: a notice of tools that changed shows old and new", async () => {
  const diff = [{ old: "echo", new: "echo", changed: false }, { old: "Says it back", new: "Says \u202eit", changed: true }, { new: "added", changed: true }];
  const entry = { id: "n1", at: 0, body: { kind: "notice" as const, text: "sample describes these tools otherwise than before: `echo`.", diff } };
  await open({ ...one, conversations: [{ id: "c1", title: "First", entries: [entry] }] });
  await pass(50);
  const region = find('[role="region"]', "Old and new");
  expect([...region.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))).toEqual([
    ["echo", "echo"],
    ["Removed: Says it back", "Added: Says ⟨U+202E⟩it"],
    ["", "Added: added"],
  ]);
});

test("first start: what was found, and the sample in one press", async () => {
  await open({ app: { first_start: true } });
  await pass(200);
  expect(asked("conversation.create")).toEqual([{ workspaces: [], temporary: false }]);
  expect(document.body.textContent).toContain("Welcome to Mework");
  expect(document.body.textContent).toContain("No mcp.json yet");
  button("Try the sample server").click();
  await pass(3000);
  expect(asked("server.add_sample")).toEqual([{ id: "conversation-1" }]);
  expect(button(/^echo/)).toBeTruthy();
});

test("the palette finds commands and tools; the sheet of keys opens with ?", async () => {
  await open(one);
  key("k", { ctrlKey: true });
  await pass(100);
  const input = find("input", "Command palette") as HTMLInputElement;
  input.value = "careful";
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await pass(100);
  key("Enter", {}, input);
  await pass(500);
  expect(asked("tools.get")).toEqual([{ conversation: "c1", server: "sample", tool: "careful" }]);
  expect(document.body.textContent).toContain("Always asks");
  key("?", {}, document.body);
  await pass(50);
  expect(find("dialog", "Keyboard").textContent).toContain("Command palette");
});

test("a failure of the engine is shown and stays; a lost connection says so", async () => {
  await open(one);
  host.request = ((method: string) => (method === "conversation.create" ? Promise.reject({ message: "The disk is full." }) : new Promise(() => {}))) as never;
  key("n", { ctrlKey: true });
  await pass(20_000);
  expect(find('[role="alert"]', /.*/).textContent).toContain("The disk is full.");
  host.link("lost");
  await pass(10);
  expect(document.body.textContent).toContain("The connection was lost. Trying again…");
});

/** Writes in place of all that a field holds. */
function write(field: HTMLElement, value: string) {
  if (!(field instanceof HTMLTextAreaElement)) throw new Error("a text area");
  field.value = value;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  flushSync();
}
/** JSON is what was used last. */
const asJson = () => localStorage.setItem("mework.view", JSON.stringify({ form: false }));
const cardEditor = () => find("textarea", "Arguments of echo on the card, as JSON") as HTMLTextAreaElement;

test("B34, B35: arguments are edited on the card; what was written is what is sent, and its buttons rest after every change", async () => {
  asJson();
  await open(one);
  const composer = button(/Choose a tool to call/);
  composer.focus();
  void startCall("echo", '{"message":"asked"}');
  await pass(900);
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
  await open({ ...one, conversations: [{ id: "c1", title: "First" }, { id: "c2", title: "Second" }] });
  void startCall("echo", '{"message":"asked"}');
  await pass(900);
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
  asJson();
  await open(one);
  void startCall("echo", '{"message":"asked"}');
  await pass(900);
  button("Edit arguments").click();
  await pass(10);
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

test("B35: Reset goes back to what was asked for, and that is sent", async () => {
  asJson();
  await open(one);
  void startCall("echo", '{"message":"asked"}');
  await pass(900);
  button("Edit arguments").click();
  await pass(10);
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
  asJson();
  await open(one);
  void startCall("echo", '{"message":"asked"}');
  await pass(900);
  button("Edit arguments").click();
  await pass(10);
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
  asJson();
  await open(one);
  void startCall("echo", '{"message":"asked"}');
  await pass(900);
  button("Edit arguments").click();
  await pass(10);
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

test("what was sent to a tool can be picked again, each once, the newest first", async () => {
  await open({ ...one, conversations: [{ id: "c1", title: "First", level: "full_access" }] });
  await pass(200);
  button(/^echo/).click();
  await pass(400);
  expect((button("Recent arguments: none were sent yet") as HTMLButtonElement).disabled).toBe(true);
  for (const message of ["a", "b", "a"]) {
    void startCall("echo", `{"message":"${message}"}`);
    await pass(600);
  }
  button("Recent arguments").click();
  const items = all('[role="menu"][aria-label="Recent arguments"] [role="menuitem"]');
  expect(items.map((i) => i.querySelector(".label")!.firstChild!.textContent)).toEqual(['{"message":"a"}', '{"message":"b"}']);
  items[1]!.click();
  await pass(10);
  button("JSON").click();
  await pass(50);
  expect((find("textarea", "Arguments as JSON") as HTMLTextAreaElement).value).toBe('{"message":"b"}');
});

test("rule 10: the timeline shows each call's phases and end in words, and a click goes to the call", async () => {
  await open(one);
  void startCall("echo", '{"message":"hi"}');
  await pass(300);
  expect(all(".strip .bar").map(nameOf)).toEqual([expect.stringMatching(/^echo on sample: Waiting for you\. (Connecting \d+ ms, )?Waiting for a person \d+ ms$/)]);
  await pass(1000);
  button("Allow once").click();
  await pass(600);
  void startCall("echo", "{}");
  await pass(900);
  button("Deny").click();
  await pass(100);
  const [done, denied] = all(".strip .bar");
  expect(nameOf(done!)).toMatch(/^echo on sample: Done\. .*Waiting for a person 1\.\d s, Running \d+ ms$/);
  expect(nameOf(denied!)).toMatch(/^echo on sample: Denied\. .*Waiting for a person \d+ ms$/);
  // Told apart without colour: another sign each, and patterns.
  const signs = all(".strip .bar").map((bar) => bar.querySelector(".end b")!.className.split(" ")[0]);
  expect(signs).toEqual(["done", "denied"]);
  expect([...done!.querySelectorAll(".phase")].map((p) => p.classList[1])).toContain("waiting");

  done!.click();
  await pass(50);
  expect(document.activeElement?.id).toMatch(/^entry-/);
  expect(nameOf(document.activeElement!)).toBe("Call of echo on sample");
  // The arrows go from call to call, through one stop of the keyboard.
  expect(all(".strip .bar").map((bar) => bar.tabIndex)).toEqual([0, -1]);
  done!.focus();
  key("ArrowRight");
  await pass(20);
  expect(document.activeElement).toBe(denied);

  button("As a table").click();
  flushSync();
  const rows = all("tbody tr").map((row) => [...row.children].slice(1, 3).map((cell) => (cell.textContent ?? "").trim()));
  expect(rows).toEqual([
    ["sample › echo", "Denied"],
    ["sample › echo", "Done"],
  ]);
});

test("B44: what the desktop showed leads to the card, or to the call that ended", async () => {
  await open({ ...one, conversations: [...one.conversations!, { id: "c2", title: "Second" }] });
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

test("complaint 34: what a server's tools cost in tokens shows for the server and each tool, before it is ticked", async () => {
  await open({ ...one, ticked: [] });
  key(",", { ctrlKey: true });
  await pass(50);
  button(/^sample: 6 tools/).click();
  await pass(50);
  expect(find("input, [role=checkbox], [role=switch]", "Use sample in this conversation").matches(":checked, [aria-checked=true]")).toBe(false);
  const details = find(".details", /./).textContent!.replace(/\s+/g, " ");
  expect(details).toContain("6 tools, definitions 4.7 KiB, ≈ 1,210 tokens");
  expect(all(".weights li").map((li) => li.textContent!.replace(/\s+/g, " ").trim())).toEqual([expect.stringMatching(/^read_file ?≈ 370 tokens$/), expect.stringMatching(/^echo ?≈ 55 tokens$/), "and 4 more"]);
});
