// Editing servers in a real browser: what a person types is what stands in the file, byte for byte, and the servers beside it
// go on running.

import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch, makeHome, open, real, serve } from "./app.js";
import { button, declareAndTick, entry, openEditor } from "./states.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

async function page(declared, look) {
  const home = makeHome(declared);
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url);
  try {
    await look(tab, home, problems);
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
}

/** Processes of this test's app that run this program. */
function processes(home, program) {
  const told = (pid, file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && told(pid, "cmdline").includes(program) && told(pid, "environ").includes(home.path));
}

test("B43: a reload asks before it takes unsaved changes of an entry away", async () => {
  await page({ time: real.time }, async (tab, home, problems) => {
    await tab.keyboard.press("Control+,");
    await openEditor(tab, "time: Not tested");
    const mine = '{ "command": "mine", "env": { "TOKEN": "typed" } }';
    await entry(tab).fill(mine);
    const asked = tab.waitForEvent("dialog");
    const reload = tab.evaluate(() => location.reload());
    const dialog = await asked;
    assert.equal(dialog.type(), "beforeunload");
    await dialog.dismiss();
    await reload;
    assert.equal(await entry(tab).inputValue(), mine);
    assert.equal(await tab.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]).includes("typed")), false);
    await entry(tab).press("Escape");
    await button(tab, "Discard the changes?").press("Space", { delay: 300 });
    await entry(tab).waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
  });
});

test("B43: closing the tab asks before it takes a server that is being added away", async () => {
  await page({ time: real.time }, async (tab, home, problems) => {
    await tab.keyboard.press("Control+,");
    await button(tab, "Add a server").click();
    const pasted = tab.getByRole("textbox", { name: "Paste a server" });
    await pasted.fill("npx -y typed");
    const asked = tab.waitForEvent("dialog");
    await tab.close({ runBeforeUnload: true });
    const dialog = await asked;
    assert.equal(dialog.type(), "beforeunload");
    await dialog.dismiss();
    assert.equal(await pasted.inputValue(), "npx -y typed");
    // Thrown away on purpose, nothing is lost any more.
    await pasted.press("Escape");
    await button(tab, "Discard the text?").press("Space", { delay: 300 });
    await pasted.waitFor({ state: "detached" });
    const closed = tab.waitForEvent("close");
    await tab.close({ runBeforeUnload: true });
    await closed;
    assert.deepEqual(problems, []);
  });
});

async function paste(tab, text) {
  const pasted = tab.getByRole("textbox", { name: "Paste a server" });
  if (!(await pasted.isVisible())) await button(tab, "Add a server").click();
  await pasted.fill(text);
}
const proposed = (tab) => tab.getByRole("textbox", { name: "What is written to the file" });
const inJson = (servers) => JSON.stringify({ mcpServers: servers });

test("a text pasted over another one of the same name is what is written, also in the place of an entry", async () => {
  await page({ files: { command: "/bin/old" } }, async (tab, home, problems) => {
    await tab.keyboard.press("Control+,");
    await paste(tab, inJson({ files: { command: "/bin/first" } }));
    await button(tab, "Replace").waitFor();
    await paste(tab, inJson({ files: { command: "/bin/second" } }));
    await tab.waitForFunction(() => [...document.querySelectorAll("section.add li textarea")].some((area) => area.value.includes("/bin/second")));
    await button(tab, "Replace").click();
    await tab.getByText("files was saved.").waitFor();
    assert.deepEqual(JSON.parse(readFileSync(home.file, "utf8")), { mcpServers: { files: { command: "/bin/second" } } });
    assert.deepEqual(problems, []);
  });
});

test("B3: a name that stands twice in pasted JSON is said, and nothing of the text before is left to add", async () => {
  await page({}, async (tab, home, problems) => {
    await tab.keyboard.press("Control+,");
    await paste(tab, inJson({ a: { command: "/bin/first" } }));
    await button(tab, "Add").waitFor();
    await paste(tab, '{"mcpServers": {"a": {"command": "/bin/first"}, "a": {"command": "/bin/second"}}}');
    await tab.getByText("`a` is declared twice in this text").waitFor();
    assert.equal(await button(tab, "Add").count(), 0);
    await paste(tab, inJson({ a: { command: "/bin/first" }, b: { command: "/bin/second" } }));
    await button(tab, "Add").nth(1).waitFor();
    assert.deepEqual(problems, []);
  });
});

test("B43: what is typed into a proposal outlives a look at another page, and one that was added is not proposed again", async () => {
  await page({}, async (tab, home, problems) => {
    await tab.keyboard.press("Control+,");
    await paste(tab, inJson({ a: { command: "/bin/first" }, b: { command: "/bin/second" } }));
    const mine = '{ "command": "/bin/second", "env": { "TOKEN": "typed" } }';
    await proposed(tab).nth(1).fill(mine);
    await button(tab, "Add").first().click();
    await tab.getByText("a was added.").waitFor();
    await tab.keyboard.press("Control+,");
    await proposed(tab).waitFor({ state: "detached" });
    await tab.keyboard.press("Control+,");
    await proposed(tab).waitFor();
    assert.equal(await proposed(tab).inputValue(), mine);
    assert.equal(await tab.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]).includes("typed")), false);
    await button(tab, "Add").click();
    await tab.getByText("b was added.").waitFor();
    assert.deepEqual(JSON.parse(readFileSync(home.file, "utf8")).mcpServers.b, JSON.parse(mine));
    assert.deepEqual(problems, []);
  });
});

const flip = (tab, name) => tab.getByRole("switch", { name, exact: true });

test("B17, complaint 25: one server is edited and restarts, the other keeps its process; a conflict keeps the text", async () => {
  await page(real, async (tab, home, problems) => {
    await declareAndTick(tab, ["everything", "time"]);
    await tab.keyboard.press("Control+,");
    const other = processes(home, "mcp-server-everything");
    assert.notEqual(other.length, 0);
    await openEditor(tab, "time: 2 tools");
    const before = readFileSync(home.file, "utf8");
    const text = await entry(tab).inputValue();
    assert.ok(text.startsWith('{\n  "command"'), text);
    await entry(tab).fill(text.replace("Europe/Berlin", "Asia/Tokyo"));
    await tab.getByText(/^Restarts it at once in/).waitFor();
    assert.equal(readFileSync(home.file, "utf8"), before, "nothing is written yet");
    await entry(tab).press("Control+s");
    await button(tab, "Confirm and save").click({ delay: 400 });
    await tab.getByText("time was saved.").waitFor();
    assert.equal(readFileSync(home.file, "utf8"), before.replace("Europe/Berlin", "Asia/Tokyo"));
    await button(tab, "time: 2 tools. Details").waitFor();
    assert.deepEqual(processes(home, "mcp-server-everything"), other, "the other one was left alone");

    await button(tab, "Edit").click();
    await entry(tab).fill('{ "command": "mine" }');
    home.declare({ ...real, time: { command: "theirs" } });
    await tab.getByText("The file changed since you opened this.").waitFor();
    assert.equal(await entry(tab).inputValue(), '{ "command": "mine" }');
    await tab.getByRole("region", { name: "The file changed since you opened this." }).getByText("theirs").waitFor();
    // Gone altogether, the text is still there.
    home.declare({ everything: real.everything });
    await tab.getByText("Its entry is not in the file any more.").waitFor();
    assert.equal(await entry(tab).inputValue(), '{ "command": "mine" }');
    assert.deepEqual(problems, []);
  });
});

test("a tool is left out and made to ask with the keyboard; the file has two names more, and the server goes on", async () => {
  await page({ time: real.time }, async (tab, home, problems) => {
    const before = JSON.stringify({ mcpServers: { time: real.time } }, null, 2) + "\n";
    writeFileSync(home.file, before);
    await declareAndTick(tab, ["time"]);
    await tab.keyboard.press("Control+,");
    await button(tab, "time: 2 tools. Details").click();
    const running = processes(home, "mcp-server-time");
    await flip(tab, "Leave convert_time out").focus();
    await tab.keyboard.press("Space");
    await button(tab, "time: 1 tool. Details").waitFor();
    await flip(tab, "Always ask before get_current_time").press("Enter");
    await tab.waitForFunction(() => document.querySelector('[aria-label="Always ask before get_current_time"]')?.ariaChecked === "true");
    const lists = ',\n      "disabledTools": ["convert_time"],\n      "disabledAutoApproveTools": ["get_current_time"]';
    await written(home, before.replace(/\]\n {4}\}/, `]${lists}\n    }`));
    assert.deepEqual(processes(home, "mcp-server-time"), running);
    // In the composer's list it says so at once.
    await button(tab, "Back to the conversation").click();
    await tab.getByRole("button", { name: /^Choose a tool to call/ }).last().click();
    await tab.getByRole("option", { name: /^get_current_time.*Always asks/ }).waitFor();
    await tab.keyboard.press("Escape");
    await tab.keyboard.press("Control+,");
    await flip(tab, "Leave convert_time out").click();
    await button(tab, "time: 2 tools. Details").waitFor();
    await flip(tab, "Always ask before get_current_time").click();
    await written(home, before);
    assert.deepEqual(problems, []);
  });
});

test("a misspelt key is said in the server's details and in the editor, and another program's is not", async () => {
  await page({ odd: { Command: "npx", autoApprove: ["*"] } }, async (tab, home, problems) => {
    await tab.keyboard.press("Control+,");
    await openEditor(tab, "odd: Unavailable");
    const note = "Unknown key `Command` is ignored; did you mean `command`?";
    await tab.locator(".details").getByText(note).waitFor();
    const plan = tab.getByRole("status", { name: "What saving does" });
    await plan.getByText(note).waitFor();
    await entry(tab).fill('{ "command": "npx", "autoApprove": ["*"], "enviroment": {} }');
    await plan.getByText("Unknown key `enviroment` is ignored; did you mean `env`?").waitFor();
    await entry(tab).fill('{ "command": "npx", "autoApprove": ["*"] }');
    await plan.getByText("Unknown key").waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
  });
});

/** Waits for the file to be these bytes. */
async function written(home, bytes) {
  const until = Date.now() + 20_000;
  while (readFileSync(home.file, "utf8") !== bytes) {
    if (Date.now() > until) assert.equal(readFileSync(home.file, "utf8"), bytes);
    await new Promise((next) => setTimeout(next, 20));
  }
}
