// @vitest-environment happy-dom
// The whole window on a played engine: what a person sees and does, found by accessible names.
import { flushSync } from "svelte";
import { beforeEach, expect, test } from "vitest";
import { all, asked, button, find, fresh, host, key, nameOf, open, pass, said, sampled, startCall, write } from "../dev/window";
import type { CallState, Entry } from "./host/api";

beforeEach(fresh);

test("rows 8 and 28: hostile names, descriptions and results are text", async () => {
  const evil = '<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e';
  const entry: Entry = {
    id: "e1",
    at: 1,
    body: { kind: "call", server: evil, server_name: evil, machine: evil, tool: evil, title: evil, arguments: JSON.stringify({ [evil]: evil }), state: { kind: "done", is_error: false, bytes: 1, elapsed_ms: 1, content: [{ type: "text", text: evil }, { type: "resource_link", uri: `javascript:${evil}`, name: evil }, { type: "other", what: evil }], structured: JSON.stringify({ [evil]: evil }) } },
  };
  await open({ conversations: [{ id: "c1", title: evil, entries: [entry, { id: "n", at: 2, body: { kind: "notice", text: evil, diff: [] } }] }], notices: [evil] });
  expect(all("article, li").some((e) => e.textContent?.includes("onerror"))).toBe(true);
  expect(all("script, [onerror], img[src='x'], iframe, a[href^='javascript']")).toEqual([]);
  expect(document.body.textContent).not.toContain("\u202e");
});

test("a result's structure keeps every digit of its numbers, and hides no text that differs in one", async () => {
  const structured = '{"id":1234567890123456789,"ratio":1.10,"all":1e999}';
  const answer = (id: string, text: string, what = structured): Entry => ({
    id,
    at: 1,
    body: { kind: "call", server: "s", server_name: "s", machine: "m", tool: "t", arguments: "{}", state: { kind: "done", is_error: false, bytes: 1, elapsed_ms: 1, content: [{ type: "text", text }], structured: what } },
  });
  const same = '{ "id": 1234567890123456789, "ratio": 1.1, "all": 1e999 }';
  const other = same.replace("6789", "6788");
  await open({ conversations: [{ id: "c1", title: "First", entries: [answer("e1", "here it is"), answer("e2", same), answer("e3", other), answer("e4", "of an earlier version", "no JSON")] }] });
  const trees = all("[role=group]").filter((e) => nameOf(e) === "Structured content").map((e) => e.textContent);
  expect(trees.length).toBe(4);
  for (const tree of trees.slice(0, 3)) for (const digits of ["1234567890123456789", "1.10", "1e999"]) expect(tree).toContain(digits);
  expect(trees[3]).toContain("no JSON");
  expect(document.body.textContent).toContain("here it is");
  expect(document.body.textContent).toContain(other);
  expect(document.body.textContent).not.toContain(same);
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
  button("Test connection to testing").click();
  await pass(50);
  expect(asked("server.test")).toEqual([]);
  button(/^down: /).click();
  await pass(10);
  expect(find(".details", /It is missing/).textContent).toContain("It is missing.");
});

test("B15: a failed row's tooltip has the reason and the last five lines, for the keyboard too", async () => {
  await open({ ...sampled, servers: [{ name: "down", consent: "given", status: { kind: "failed", stage: "start", message: "It is missing.", stderr: ["1", "2", "3", "4", "5", "6"], stdout_noise: 0, stdout_sample: [] } }], ticked: ["down"] });
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
  await open(sampled);
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
  await open({ ...sampled, servers: [{ name: "deploy" }], ticked: [] });
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

test("B15: a box shows what was pressed until the list that follows from it is here", async () => {
  await open(sampled);
  key(",", { ctrlKey: true });
  await pass(50);
  const box = () => find("input", "Use sample in this conversation") as HTMLInputElement;
  const shown = () => [box().checked, box().parentElement!.querySelector(".box svg") !== null];
  // Events come later than replies.
  const emit = host.emit.bind(host);
  host.emit = (event) => void setTimeout(() => emit(event), 200);
  box().click();
  await pass(100);
  expect(asked("server.tick").length).toBe(1);
  expect(shown()).toEqual([false, false]);
  await pass(300);
  expect(shown()).toEqual([false, false]);
  const { request } = host;
  host.request = ((method: string, params: never) => (method === "server.tick" ? Promise.reject({ message: "No." }) : request.call(host, method as never, params))) as never;
  box().click();
  await pass(100);
  expect(shown()).toEqual([false, false]);
});

test("row 1: a changed server is not called before old and new were seen", async () => {
  await open({ ...sampled, servers: [{ ...sampled.servers![0]!, consent: "changed" }] });
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

test("a tool is picked by letters, its arguments start from the schema, and what does not fit is named at its line", async () => {
  await open(sampled);
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

test("when a server changes a tool, the composer's form follows its schema, and what was written stays", async () => {
  const tools = sampled.servers![0]!.tools!;
  await open({ ...sampled, servers: [{ ...sampled.servers![0]!, tools }] });
  key("/");
  await pass(50);
  find("[role=option]", /^echo/).click();
  await pass(100);
  const fields = () => all(".composer .form :is(input, textarea)").map((e) => [document.querySelector(`label[for="${e.id}"]`)?.textContent?.trim() ?? nameOf(e), (e as HTMLInputElement).value]);
  expect(fields()).toEqual([["message", ""]]);
  write(all(".composer .form :is(input, textarea)")[0]!, "kept");
  host.relist("sample", tools.map((t) => (t.name === "echo" ? { ...t, input_schema: { type: "object", required: ["fresh"], properties: { fresh: { type: "string" } } } } : t)));
  await pass(500);
  expect(fields().some(([name]) => name === "fresh")).toBe(true);
  expect(said()).toBe("The server changed echo: its arguments are shown as it describes them now.");
  // What the schema does not know any more stays in the text, and is checked against what it knows now.
  button("JSON").click();
  await pass(300);
  expect((find("textarea", "Arguments as JSON") as HTMLTextAreaElement).value).toContain('"message": "kept"');
  expect(find(".composer .foot", /./).textContent).toContain("“fresh” is missing.");
});

test("arrow keys go from row to row and stay in their column", async () => {
  await open({ ...sampled, servers: ["a", "b", "c"].map((name) => ({ name, consent: "given" as const, ...(name === "b" ? { available: false } : {}) })), ticked: [] });
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
  await open({ ...sampled, conversations: [{ id: "c1", title: "First" }, { id: "c2", title: "Second", updated_at: 1 }] });
  button(/^Second/).click();
  await pass(500);
  key(",", { ctrlKey: true });
  await pass(500);
  expect([...new Set(host.asked.map((a) => a.method))].sort()).toEqual(["conversation.open", "snapshot", "tools.list"]);
});

test("B41: a conversation that another process owns can only be read", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First", held_by: "mework on the command line" }] });
  expect(all("section.composer")).toEqual([]);
  expect(find("p.message", /Read-only/).textContent).toContain("mework on the command line");
  key(",", { ctrlKey: true });
  await pass(50);
  expect((find("input", "Use sample in this conversation") as HTMLInputElement).disabled).toBe(true);
});

test("B41: what needs the owner is not offered from elsewhere, and nothing of it waits for the next conversation", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First", held_by: "mework on the command line" }, { id: "c2", title: "Second", updated_at: 1 }] });
  key("/", {}, document.body);
  key("k", { ctrlKey: true });
  await pass(100);
  const offered = all("[role=option]").map(nameOf).join("\n");
  for (const other of ["Choose a tool", "Security level", "sample", "Add a server"]) expect(offered).not.toContain(other);
  expect(offered).toContain("Rescan");
  key("Escape");
  find("dialog", "Command palette").dispatchEvent(new Event("close"));
  await pass(50);
  button(/^Second/).click();
  await pass(200);
  expect(all("[role=dialog]")).toEqual([]);
});

test("B45: Escape closes the log from every part of it", async () => {
  await open(sampled);
  key(",", { ctrlKey: true });
  await pass(50);
  button(/^sample: /).click();
  await pass(50);
  button("Server log").click();
  await pass(100);
  button("Copy the log").focus();
  await pass(20);
  // The first takes the button's tip away.
  key("Escape");
  await pass(20);
  key("Escape");
  await pass(50);
  expect(all("section.log")).toEqual([]);
  expect(all('[role="tabpanel"]').length).toBe(1);
});

test("a folder that is named twice at once is added once, with one conversation", async () => {
  await open(sampled);
  find("nav button", "Add a workspace").click();
  await pass(20);
  write(find("input", "Path of the folder"), "/srv/api");
  const form = find("input", "Path of the folder").closest("form")!;
  for (let i = 0; i < 2; i++) form.dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true }));
  await pass(300);
  expect(asked("workspace.add")).toEqual([{ path: "/srv/api" }]);
  expect(asked("conversation.create").length).toBe(1);
});

test("B26: a running call shows its progress and can be stopped; a refused result says why", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First", level: "full_access" }] });
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
  await open({ ...sampled, conversations: [{ id: "c1", title: "First", entries: [entry] }] });
  await pass(50);
  const region = find('[role="region"]', "Old and new");
  expect([...region.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))).toEqual([
    ["echo", "echo"],
    ["Removed: Says it back", "Added: Says ⟨U+202E⟩it"],
    ["", "Added: added"],
  ]);
});

test("what was sent to a tool can be picked again, each once, the newest first", async () => {
  await open({ ...sampled, conversations: [{ id: "c1", title: "First", level: "full_access" }] });
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
  await open(sampled);
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

test("rule 10: a bar of a call that runs, failed or was stopped, each with a word and a sign of its own", async () => {
  const outcome = { content: [], bytes: 2, elapsed_ms: 400 };
  const call = (id: string, at: number, state: CallState, more: object = {}): Entry => ({
    id,
    at,
    body: { kind: "call", server: "sample", server_name: "sample", machine: "m", tool: id, arguments: "{}", started_at: at + 100, state, ...more },
  });
  const at = Date.now();
  await open({
    ...sampled,
    conversations: [
      {
        id: "c1",
        title: "First",
        entries: [
          call("fine", at - 9000, { kind: "done", is_error: false, ...outcome }, { ended_at: at - 8500 }),
          call("wrong", at - 8000, { kind: "done", is_error: true, ...outcome }, { ended_at: at - 7500 }),
          call("broken", at - 7000, { kind: "failed", message: "It ended.", stderr: [] }, { ended_at: at - 6500 }),
          call("halted", at - 6000, { kind: "stopped" }, { ended_at: at - 5500 }),
          call("refused", at - 5000, { kind: "not_run", reason: "No." }, { started_at: undefined, ended_at: at - 4500 }),
          call("going", at - 4000, { kind: "running" }),
        ],
      },
    ],
  });
  const bars = all(".strip .bar");
  expect(bars.map((bar) => [/^(\w+) on sample: ([^.]+)\./.exec(nameOf(bar))?.slice(1).join(" "), bar.querySelector(".end b")?.className.split(" ")[0]])).toEqual([
    ["fine Done", "done"],
    ["wrong Tool error", "failed"],
    ["broken Failed", "failed"],
    ["halted Stopped", "stopped"],
    ["refused Not run", "not_run"],
    ["going Running", undefined],
  ]);
  const phases = (bar: Element) => [...bar.querySelectorAll(".phase")].map((phase) => [phase.classList[1], phase.classList[2]]);
  expect(phases(bars[2]!).at(-1)).toEqual(["running", "failed"]);
  expect(phases(bars[3]!).at(-1)).toEqual(["running", "stopped"]);
  expect(phases(bars[5]!).at(-1)?.[0]).toBe("running");
  // Each sign has a shape of its own, so that colour is not needed.
  const shapes = [0, 2, 3, 4].map((i) => bars[i]!.querySelector(".end b")!.innerHTML);
  expect(new Set(shapes).size).toBe(4);
  // What runs grows, and what ended does not.
  const width = (i: number) => /Running ([\d.]+) s/.exec(nameOf(all(".strip .bar")[i]!))?.[1];
  const before = width(5);
  await pass(3000);
  expect(Number(width(5))).toBeGreaterThan(Number(before));
});

test("complaint 34: what a server's tools cost in tokens shows for the server and each tool, before it is ticked", async () => {
  await open({ ...sampled, ticked: [] });
  key(",", { ctrlKey: true });
  await pass(50);
  button(/^sample: 6 tools/).click();
  await pass(50);
  expect(find("input, [role=checkbox], [role=switch]", "Use sample in this conversation").matches(":checked, [aria-checked=true]")).toBe(false);
  const details = find(".details", /./).textContent!.replace(/\s+/g, " ");
  expect(details).toContain("6 tools, definitions 4.7 KiB, ≈ 1,210 tokens");
  expect(all(".weights li").map((li) => li.textContent!.replace(/\s+/g, " ").trim())).toEqual([expect.stringMatching(/^read_file ?≈ 370 tokens$/), expect.stringMatching(/^echo ?≈ 55 tokens$/), "and 4 more"]);
});
