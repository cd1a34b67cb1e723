// @vitest-environment happy-dom
// Editing a server's entry, and its tools' switches, in the whole window on a played engine.
import { beforeEach, expect, test } from "vitest";
import { all, asked, button, find, fresh, host, key, nameOf, open, pass } from "../dev/window";
import type { FakeOptions } from "./host/fake";
import { sampleTools } from "./host/fake-servers";

beforeEach(fresh);

const connected = { kind: "connected" as const, tools: 6, asking: 1, definition_bytes: 900, heaviest: [], set_aside: [], notices: [], server_name: "sample", server_version: "1", protocol: "2025-11-25", elapsed_ms: 5 };
const one = (more: object = {}): FakeOptions => ({
  conversations: [{ id: "c1", title: "First" }],
  servers: [{ name: "sample", consent: "given", tools: sampleTools, status: connected, entry: '{\n  "command": "npx"\n}', ...more }],
  ticked: ["sample"],
});
async function details(options: FakeOptions) {
  await open(options);
  key(",", { ctrlKey: true });
  await pass(50);
  all("button.badge")[0]!.click();
  await pass(300);
  // Of a changed entry the badge shows the change first.
  if (options.servers?.[0]?.consent === "changed") all("button.badge")[0]!.click();
  await pass(300);
}
async function editor(options: FakeOptions = one()) {
  await details(options);
  button("Edit").click();
  await pass(400);
  button("JSON").click();
  await pass(50);
}
const text = () => find("textarea", "Entry as JSON") as HTMLTextAreaElement;
const name = () => find("section.edit .name input", /.*/) as HTMLInputElement;
async function type(field: HTMLInputElement | HTMLTextAreaElement, value: string) {
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await pass(400);
}
const plan = () => nameOf(find("section.edit .says .plan", /.*/));

/** Whether leaving the page asks; who closes its window was told the same. */
function leave() {
  const event = new Event("beforeunload", { cancelable: true });
  window.dispatchEvent(event);
  expect(host.held).toBe(event.defaultPrevented);
  return event.defaultPrevented;
}

test("B43: leaving the page asks while an entry has unsaved changes, and keeps nothing of them in the browser", async () => {
  await editor();
  expect(leave()).toBe(false);
  await type(text(), '{\n  "command": "npx",\n  "env": { "TOKEN": "typed-s3cret" }\n}');
  expect(leave()).toBe(true);
  expect(JSON.stringify([{ ...localStorage }, { ...sessionStorage }])).not.toContain("typed-s3cret");
  await type(text(), '{\n  "command": "npx"\n}');
  expect(leave()).toBe(false);
});

test("B43: text for a new server is kept until it is added or thrown away, and each way of leaving it asks", async () => {
  await open(one());
  key(",", { ctrlKey: true });
  await pass(50);
  button("Add a server").click();
  await pass(50);
  const pasted = () => find("textarea", "Paste a server") as HTMLTextAreaElement;
  expect(leave()).toBe(false);
  await type(pasted(), "npx -y typed-s3cret");
  expect(leave()).toBe(true);
  expect(JSON.stringify([{ ...localStorage }, { ...sessionStorage }])).not.toContain("typed-s3cret");
  // Another page and back: it is still there.
  key(",", { ctrlKey: true });
  await pass(50);
  expect(leave()).toBe(true);
  key(",", { ctrlKey: true });
  await pass(400);
  expect(pasted().value).toBe("npx -y typed-s3cret");
  key("Escape", {}, pasted());
  await pass(300);
  expect(pasted().value).toBe("npx -y typed-s3cret");
  button("Discard the text?").click();
  await pass(50);
  expect(all("section.add")).toEqual([]);
  expect(leave()).toBe(false);

  button("Add a server").click();
  await pass(50);
  expect(pasted().value).toBe("");
  await type(pasted(), "npx -y other");
  button("Add").click();
  await pass(400);
  expect(leave()).toBe(false);
});

const pasted = () => find("textarea", "Paste a server") as HTMLTextAreaElement;
const written = () => all("section.add li textarea").map((area) => (area as HTMLTextAreaElement).value);
const names = () => all("section.add li input").map((input) => (input as HTMLInputElement).value);
const line = (...args: string[]) => JSON.stringify({ command: "npx", args }, null, 2);
const json = (servers: object) => JSON.stringify({ mcpServers: servers });
/** Another page of the window and back. */
async function elsewhere() {
  key(",", { ctrlKey: true });
  await pass(50);
  expect(all("section.add")).toEqual([]);
  key(",", { ctrlKey: true });
  await pass(400);
}
async function paste(text: string) {
  await open(one());
  key(",", { ctrlKey: true });
  await pass(50);
  button("Add a server").click();
  await pass(50);
  await type(pasted(), text);
}

test("what is added is what stands in the field, also when it was pasted over another text of the same name", async () => {
  await paste("npx -y first");
  expect(written()).toEqual([line("-y", "first")]);
  pasted().value = "npx -y second";
  pasted().dispatchEvent(new Event("input", { bubbles: true }));
  await pass(10);
  // Until the new text is read, the old one is not added.
  button("Add").click();
  await pass(100);
  expect(asked("server.add")).toEqual([]);
  await pass(400);
  expect(written()).toEqual([line("-y", "second")]);
  button("Add").click();
  await pass(400);
  expect(asked("server.add")).toMatchObject([{ name: "filesystem", entry: line("-y", "second") }]);
});

test("a proposal that a person changed is kept when the text changes, and is not added before they chose", async () => {
  await paste("npx -y first");
  await type(find("section.add li textarea", /./) as HTMLTextAreaElement, '{ "command": "mine" }');
  await type(pasted(), "npx -y second");
  expect(written()).toEqual(['{ "command": "mine" }']);
  expect(nameOf(find("section.add li .message.warm", /edited/))).toContain("The text above changed since you edited this.");
  button("Add").click();
  await pass(100);
  expect(asked("server.add")).toEqual([]);
  // The text as it was is no question any more, and neither is an answered one.
  await type(pasted(), "npx -y first");
  expect(all("section.add li .choose")).toEqual([]);
  await type(pasted(), "npx -y third");
  button("Keep this text").click();
  await pass(50);
  expect(all("section.add li .choose")).toEqual([]);
  expect(written()).toEqual(['{ "command": "mine" }']);
  await type(pasted(), "npx -y fourth");
  button("Take what it says now").click();
  await pass(400);
  expect(written()).toEqual([line("-y", "fourth")]);
  // A name of one's own goes with whatever the text says.
  await type(find("section.add li input", /./) as HTMLInputElement, "mine");
  await type(pasted(), "npx -y fifth");
  expect([names(), written()]).toEqual([["mine"], [line("-y", "fifth")]]);
  button("Add").click();
  await pass(400);
  expect(asked("server.add")).toMatchObject([{ name: "mine", entry: line("-y", "fifth") }]);
});

test("a text that proposes nothing leaves nothing to add, and what was typed waits for it to be mended", async () => {
  await paste(json({ a: { command: "x" } }));
  await type(find("section.add li input", /./) as HTMLInputElement, "mine");
  await type(pasted(), '{"mcpServers": ');
  expect(all("section.add li")).toEqual([]);
  expect(nameOf(find("section.add .message.bad", /./))).toBe("The text is not valid JSON.");
  await type(pasted(), json({ a: { command: "y" } }));
  expect([names(), written()]).toEqual([["mine"], ['{\n  "command": "y"\n}']]);
});

test("what cannot be looked into says why, and cannot be added", async () => {
  await open(one());
  const request = host.request.bind(host);
  let reachable = false;
  host.request = ((method: string, params: never) => (method === "server.plan" && !reachable ? Promise.reject({ message: "Mework cannot be reached." }) : request(method as never, params))) as typeof host.request;
  key(",", { ctrlKey: true });
  await pass(50);
  button("Add a server").click();
  await pass(50);
  await type(pasted(), "npx -y first");
  expect(nameOf(find("section.add .message.bad", /./))).toBe("Mework cannot be reached.");
  expect(button("Add").getAttribute("aria-disabled")).toBe("true");
  reachable = true;
  await type(pasted(), "npx -y second");
  expect(all("section.add .message.bad")).toEqual([]);
  expect(button("Add").getAttribute("aria-disabled")).toBe("false");
});

test("a badge that changes takes no button from under a press", async () => {
  await paste("npx -y first");
  const looked = asked("server.plan").length;
  host.emit({ type: "server_status", conversation: "c1", server: "sample", status: { kind: "testing" } });
  await pass(20);
  button("Add").click();
  await pass(400);
  expect(asked("server.add").length).toBe(1);
  expect(asked("server.plan").length).toBe(looked);
});

test("two proposals of one name are two", async () => {
  await open(one());
  const request = host.request.bind(host);
  const proposal = { name: "a", reasons: [], notes: [], exists: false };
  host.request = ((method: string, params: never) =>
    method === "server.parse_paste" ? Promise.resolve({ proposals: [{ ...proposal, entry: "1" }, { ...proposal, entry: "2" }] }) : request(method as never, params)) as typeof host.request;
  key(",", { ctrlKey: true });
  await pass(50);
  button("Add a server").click();
  await pass(50);
  await type(pasted(), "both");
  expect(written()).toEqual(["1", "2"]);
  await type(pasted(), "both again");
  expect(written()).toEqual(["1", "2"]);
});

test("B43: what is typed into a proposal outlives a look at another page, and what was added is not proposed again", async () => {
  await paste(json({ a: { command: "x" }, b: { command: "x" } }));
  const mine = '{ "command": "x", "env": { "TOKEN": "typed-s3cret" } }';
  await type(all("section.add li textarea")[1] as HTMLTextAreaElement, mine);
  await type(all("section.add li input")[1] as HTMLInputElement, "mine");
  find("section.add label.use", /./).querySelector("input")!.click();
  await elsewhere();
  expect([names(), written()[1]]).toEqual([["a", "mine"], mine]);
  expect(JSON.stringify([{ ...localStorage }, { ...sessionStorage }])).not.toContain("typed-s3cret");
  all("section.add li button.primary")[0]!.click();
  await pass(400);
  expect(names()).toEqual(["mine"]);
  await elsewhere();
  expect([names(), written()]).toEqual([["mine"], [mine]]);
  // Another text of the same name is another server.
  await type(pasted(), json({ a: { command: "z" }, b: { command: "x" } }));
  expect(names()).toEqual(["a", "mine"]);
  all("section.add li button.primary")[1]!.click();
  await pass(400);
  expect(asked("server.add")).toMatchObject([{ name: "a" }, { name: "mine", entry: mine }]);
  expect(asked("server.tick")).toEqual([]);
  expect(names()).toEqual(["a"]);
});

test("complaint 34: every tool in the list has what its definition costs in tokens", async () => {
  await details(one({ tools: [...sampleTools, { name: "heavy", schema_bytes: 48_000 }] }));
  const costs = new Map(all("section.tools li").map((li) => [li.querySelector(".tool")!.textContent, li.querySelector(".size")!.textContent]));
  expect(costs.size).toBe(sampleTools.length + 1);
  for (const cost of costs.values()) expect(cost).toMatch(/^≈ [\d,]+ tokens$/);
  expect(costs.get("heavy")).toBe("≈ 12,000 tokens");
});

test("a long list of tools comes as far as it is looked at, by the wheel or by the keyboard", async () => {
  await details(one({ tools: Array.from({ length: 2000 }, (_, n) => ({ name: `tool${n}` })) }));
  const rows = () => all("section.tools li").length;
  expect(nameOf(find("section.tools", /./))).toBe("Tools (2,000)");
  expect(rows()).toBe(60);
  find("section.tools ul", /./).dispatchEvent(new Event("scroll"));
  await pass(50);
  expect(rows()).toBe(120);
  find('button[role="switch"]', "Leave tool100 out").focus();
  await pass(50);
  expect(rows()).toBe(120);
  find('button[role="switch"]', "Leave tool119 out").focus();
  await pass(50);
  expect(rows()).toBe(180);
  expect(nameOf(document.activeElement!)).toBe("Leave tool119 out");
});

test("an empty list of tools says why", async () => {
  const none = () => find("section.tools p", /./).textContent;
  await details(one({ tools: [], status: { kind: "failed", stage: "list", message: "It lists too many.", stderr: [], stdout_noise: 0, stdout_sample: [] } }));
  expect(none()).toBe("They are listed once its connection works.");
});

test("the entry is edited in place, and what saving does stands below it", async () => {
  await editor();
  expect(text().value).toBe('{\n  "command": "npx"\n}');
  expect(plan()).toBe("Nothing is changed.");
  expect(button("Save").getAttribute("aria-disabled")).toBe("true");
  await type(text(), '{\n  "command": "uvx"\n}');
  expect(plan()).toBe("Restarts it at once in First.");
  // What runs is stopped: one question, in place.
  button("Save").click();
  await pass(50);
  expect(asked("server.edit")).toEqual([]);
  const confirm = button("Confirm and save");
  confirm.click();
  await pass(50);
  expect(asked("server.edit"), "the second click of a double click is not an answer").toEqual([]);
  await pass(300);
  confirm.click();
  await pass(100);
  expect(asked("server.edit")).toEqual([{ server: "sample", name: "sample", entry: '{\n  "command": "uvx"\n}', file_hash: "hash-0", keep_ticks: false }]);
  expect(all("section.edit")).toEqual([]);
});

test("what happens elsewhere takes no button and no question back, unless it changes what saving does", async () => {
  await editor();
  await type(text(), '{\n  "command": "uvx"\n}');
  const badge = (tools: number) => host.emit({ type: "server_status", conversation: "c1", server: "sample", status: { ...connected, tools } });
  badge(7);
  await pass(20);
  button("Save").click();
  await pass(20);
  badge(8);
  await pass(400);
  button("Confirm and save").click();
  await pass(100);
  expect(asked("server.edit").length).toBe(1);
});

test("saving says whose calls it would break off", async () => {
  await editor(one({ busy: true }));
  await type(text(), '{\n  "command": "uvx"\n}');
  expect(plan()).toContain("What runs on it now breaks off in First.");
});

test("B13: a new name says whose ticks it leaves dangling, unless they follow", async () => {
  await editor();
  await type(name(), "renamed");
  expect(plan()).toContain("Renames it: to conversations, renamed is another server.");
  expect(plan()).toContain("Leaves it Dangling in First.");
  find("section.edit footer label", /Tick it there/).querySelector("input")!.click();
  await pass(400);
  expect(plan()).toContain("Ticked under its new name in First.");
  expect(plan()).not.toContain("Dangling");
  await type(name(), "not a name");
  expect(plan()).toContain("The name may hold only letters");
  expect(button("Save").getAttribute("aria-disabled")).toBe("true");
});

test("a text that is no JSON is marked, and what cannot start says every reason", async () => {
  await editor();
  await type(text(), '{\n  "command": \n}');
  expect(all("section.edit .gutter .mark").map(nameOf)).toEqual(["3"]);
  expect(plan()).toContain("not valid JSON");
  await type(text(), '{ "command": "npx", "cwd": "nowhere" }');
  expect(plan()).toContain("It will be Unavailable:");
  expect(all("section.edit .says li").map(nameOf)).toContain("`cwd` is not an existing folder.");
});

test("B17: a change on disk keeps the text and shows both", async () => {
  await editor();
  await type(text(), '{ "command": "mine" }');
  void host.request("server.edit", { server: "sample", name: "sample", entry: '{ "command": "theirs" }', file_hash: "hash-0", keep_ticks: false });
  await pass(500);
  expect(text().value).toBe('{ "command": "mine" }');
  expect(nameOf(find("section.edit .conflict", /.*/))).toContain("theirs");
  expect(button("Save").getAttribute("aria-disabled")).toBe("true");
  button("Keep this text").click();
  await pass(400);
  expect(all("section.edit .conflict")).toEqual([]);
  button("Save").click();
  await pass(400);
  button("Confirm and save").click();
  await pass(100);
  expect(asked("server.edit").at(-1)).toMatchObject({ entry: '{ "command": "mine" }', file_hash: "hash-1" });
});

test("B17: an edit elsewhere in the file is no conflict", async () => {
  await editor();
  await type(text(), '{ "command": "mine" }');
  void host.request("server.set_tool", { server: "sample", tool: "echo", disabled: true, file_hash: "hash-0" });
  await pass(800);
  expect(all("section.edit .conflict")).toEqual([]);
  expect(text().value).toBe('{ "command": "mine" }');
  expect(plan()).toBe("Restarts it at once in First.");
});

test("leaving with changes asks once; without, it closes", async () => {
  await editor();
  key("Escape", {}, text());
  await pass(50);
  expect(all("section.edit")).toEqual([]);
  button("Edit").click();
  await pass(400);
  await type(text(), "{}");
  key("Escape", {}, text());
  await pass(300);
  expect(nameOf(button("Discard the changes?"))).toBeTruthy();
  key("Escape", {}, text());
  await pass(50);
  expect(all("section.edit")).toEqual([]);
  expect(asked("server.edit")).toEqual([]);
});

test("row 1: saving sends along what of another hand's change was shown", async () => {
  await editor(one({ consent: "changed" }));
  await type(text(), '{ "command": "mine" }');
  expect(plan()).toContain("Saving agrees to all of this.");
  button("Save").click();
  await pass(400);
  button("Confirm and save").click();
  await pass(100);
  expect(asked("server.edit")).toMatchObject([{ digest: "digest-sample" }]);
});

test("a tool is left out and made to ask with one switch each", async () => {
  await details(one({ disabled_tools: ["vanished"] }));
  const flip = (label: string) => find('button[role="switch"]', label);
  expect(flip("Leave echo out").getAttribute("aria-checked")).toBe("false");
  flip("Leave echo out").click();
  flip("Always ask before echo").click();
  await pass(300);
  expect(asked("server.set_tool")).toEqual([
    { server: "sample", tool: "echo", disabled: true, file_hash: "hash-0" },
    { server: "sample", tool: "echo", always_asks: true, file_hash: "hash-1" },
  ]);
  expect(flip("Leave echo out").getAttribute("aria-checked")).toBe("true");
  expect(flip("Always ask before echo").getAttribute("aria-checked")).toBe("true");
  // What the server itself says cannot be taken back here; a name without a tool can.
  flip("Always ask before careful").click();
  flip("Leave vanished out").click();
  await pass(200);
  expect(asked("server.set_tool").slice(2)).toEqual([{ server: "sample", tool: "vanished", disabled: false, file_hash: "hash-2" }]);
});

test("a field changes its member alone, and values of env are covered until they are asked for", async () => {
  await details(one({ entry: '{ "command":"npx",\n   "mine": 1e2,  "env": {"TOKEN":"s3cret"} }' }));
  button("Edit").click();
  await pass(400);
  const field = (key: string) => document.getElementById((find("section.edit label", key) as HTMLLabelElement).htmlFor) as HTMLTextAreaElement;
  await type(field("command"), "uvx");
  expect(plan()).toBe("Restarts it at once in First.");
  expect(field("TOKEN").classList.contains("covered")).toBe(true);
  button("Show the value of TOKEN").click();
  await pass(50);
  expect(field("TOKEN").classList.contains("covered")).toBe(false);
  button("JSON").click();
  await pass(50);
  expect(text().value).toBe('{ "command":"uvx",\n   "mine": 1e2,  "env": {"TOKEN":"s3cret"} }');
});
