// @vitest-environment happy-dom
// The frame around conversations: the first start, the list of conversations, the palette, keys and sheets, and what just happened.
import { beforeEach, expect, test } from "vitest";
import { all, asked, button, find, fresh, host, key, nameOf, open, pass, sampled, startCall, waiting, write } from "../dev/window";

beforeEach(fresh);

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

test("a conversation that is deleted makes way for its neighbour, and comes back when it could not be deleted", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First", updated_at: 2 }, { id: "c2", title: "Second", updated_at: 1 }] });
  const shown = () => nameOf(find("main h1", /.*/));
  const remove = async (title: string) => {
    button(`Delete ${title}`).click();
    await pass(300);
    button(`Confirm: Delete ${title}`).click();
    await pass(200);
  };
  const { request } = host;
  host.request = ((method: string, params: never) => (method === "conversation.delete" ? Promise.reject({ message: "The disk is full." }) : request.call(host, method as never, params))) as never;
  await remove("First");
  expect(find('[role="alert"]', /.*/).textContent).toContain("The disk is full.");
  expect(shown()).toBe("First");
  host.request = request;
  await remove("First");
  expect(shown()).toBe("Second");
  // It was there before the other one went: nothing empty is shown in between.
  expect(host.asked.map((a) => a.method).filter((m) => m === "conversation.open" || m === "conversation.delete").slice(-2)).toEqual(["conversation.open", "conversation.delete"]);
  await remove("Second");
  expect(shown()).toBe("No conversation is open");
});

test("a title is taken by Enter and by leaving it, and leaving it leaves the keyboard where it went", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First" }] });
  const field = () => find("input", "Title");
  button("Rename First").click();
  await pass(20);
  expect(document.activeElement).toBe(field());
  write(field(), "By leaving");
  button("Settings").focus();
  await pass(50);
  expect(nameOf(document.activeElement!)).toBe("Settings");
  button("Rename By leaving").click();
  await pass(20);
  write(field(), "Not this");
  key("Escape");
  await pass(50);
  expect(nameOf(document.activeElement!)).toBe("By leaving");
  key("F2");
  await pass(20);
  key("Enter");
  await pass(20);
  key("F2");
  await pass(20);
  // Emptied, it is called again as it was by itself.
  write(field(), " ");
  key("Enter");
  await pass(50);
  expect(asked("conversation.rename")).toEqual([{ id: "c1", title: "By leaving" }, { id: "c1", title: "" }]);
});

test("the list of conversations moves nothing that the pointer or the keyboard is at", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First", updated_at: 3 }, { id: "c2", title: "Second", updated_at: 2 }, { id: "c3", title: "Third", updated_at: 1 }] });
  const rows = () => all("nav .open").map(nameOf);
  const happens = async (times: Record<string, number>) => {
    const conversations = Object.entries(times).map(([id, updated_at]) => ({ id, title: { c1: "First", c2: "Second", c3: "Third" }[id] ?? id, workspaces: [], temporary: false, updated_at, waiting_cards: 0, running_calls: 0 }));
    host.emit({ type: "conversations", conversations });
    await pass(20);
  };
  await happens({ c1: 3, c2: 4, c3: 1 });
  expect(rows()).toEqual(["Second", "First", "Third"]);

  // A question is asked in a row, with the keyboard in it: an answer meets the row that was asked about.
  const trash = button("Delete Second");
  trash.focus();
  trash.click();
  await pass(10);
  await happens({ c1: 3, c2: 4, c3: 5 });
  expect(rows()).toEqual(["Second", "First", "Third"]);
  expect(nameOf(document.activeElement!)).toBe("Confirm: Delete Second");
  // What is new comes first all the same.
  await happens({ c1: 3, c2: 4, c3: 5, c4: 6 });
  expect(rows()).toEqual(["c4", "Second", "First", "Third"]);
  button("Settings").focus();
  await pass(10);
  expect(rows()).toEqual(["c4", "Third", "Second", "First"]);

  const list = find("nav .list", /./);
  list.dispatchEvent(new PointerEvent("pointerenter"));
  await happens({ c1: 7, c2: 4, c3: 5, c4: 6 });
  expect(rows()).toEqual(["c4", "Third", "Second", "First"]);
  list.dispatchEvent(new PointerEvent("pointerleave"));
  await pass(10);
  expect(rows()).toEqual(["First", "c4", "Third", "Second"]);
});

test.each([false, true])("only keys that reach the page are shown; in a browser: %s", async (browser) => {
  await open({ conversations: [{ id: "c1", title: "First" }], browser });
  key("k", { ctrlKey: true });
  await pass(100);
  expect(nameOf(find("[role=option]", /^New conversation/))).toBe(browser ? "New conversation" : "New conversation Ctrl N");
  key("k", { ctrlKey: true });
  key("?", {}, document.body);
  await pass(50);
  const keys = all("dialog dt").map((dt) => [...dt.children].map((one) => one.textContent).join(" "));
  expect(keys).toContain("Ctrl B");
  expect(keys.includes("Ctrl N")).toBe(!browser);
});

test("what happens meanwhile does not move the palette's cursor", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First" }, { id: "c2", title: "Second", updated_at: 1 }] });
  key("k", { ctrlKey: true });
  await pass(100);
  const chosen = () => nameOf(find("[role=option][aria-selected=true]", /.*/));
  for (let i = 0; i < 3; i++) key("ArrowDown");
  const before = chosen();
  void startCall("echo");
  await pass(900);
  expect(find("[role=option]", /^Go to the first waiting call/)).toBeTruthy();
  expect(chosen()).toBe(before);
  write(find("input", "Command palette"), "second");
  await pass(100);
  expect(chosen()).toMatch(/^Second/);
});

test("keys that work everywhere work from a sheet too, and put it away", async () => {
  await open(sampled);
  await waiting();
  key("?", {}, document.body);
  await pass(50);
  key("j", { ctrlKey: true });
  await pass(50);
  expect(all("dialog")).toEqual([]);
  expect(nameOf(document.activeElement!.querySelector("h3")!)).toBe("sample wants to run echo");
});

test("the palette finds commands and tools; the sheet of keys opens with ?", async () => {
  await open(sampled);
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
  await open(sampled);
  host.request = ((method: string) => (method === "conversation.create" ? Promise.reject({ message: "The disk is full." }) : new Promise(() => {}))) as never;
  key("n", { ctrlKey: true });
  await pass(20_000);
  expect(find('[role="alert"]', /.*/).textContent).toContain("The disk is full.");
  host.link("lost");
  await pass(10);
  expect(document.body.textContent).toContain("The connection was lost. Trying again…");
});

test("what just happened stays to be read for as long as the pointer is on it", async () => {
  await open({ ...sampled, app: { can_reveal: false } });
  key(",", { ctrlKey: true });
  await pass(50);
  button("Open the global config folder").click();
  await pass(50);
  const told = () => all(".toast").map((e) => e.textContent);
  expect(told()).toEqual([expect.stringContaining("The file is /home/ada/.mework/mcp.json")]);
  all(".toast")[0]!.dispatchEvent(new PointerEvent("pointerenter"));
  await pass(20_000);
  expect(told().length).toBe(1);
  all(".toast")[0]!.dispatchEvent(new PointerEvent("pointerleave"));
  await pass(6000);
  expect(told()).toEqual([]);
});
