// Every flow by keyboard alone: each step says where the keyboard must be after it. It is never on nothing, and it is never
// where it cannot be seen.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, makeHome, open, real, serve } from "./app.js";
import { asJson, call, chooseTool, use } from "./states.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

async function page(declared, look) {
  const home = makeHome(declared);
  for (const name of ["alpha", "beta"]) mkdirSync(join(home.path, name, ".mework"), { recursive: true });
  writeFileSync(join(home.path, "alpha/.mework/mcp.json"), JSON.stringify({ mcpServers: { theirs: real.time } }));
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url);
  try {
    await look(person(tab), tab, home);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
}

/** Somebody without a mouse. */
function person(tab) {
  /** What has the keyboard, as it is called; nothing at all, or out of sight, is said too. */
  const place = () =>
    tab.evaluate(() => {
      const e = document.activeElement;
      const box = e.getBoundingClientRect();
      const name = (e.getAttribute("aria-label") ?? e.labels?.[0]?.innerText ?? (e.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.innerText ?? "").join(" ")).trim() || e.innerText?.trim() || "";
      const hidden = e !== document.body && (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth);
      return `${e.id === "page" ? "page" : e === document.body ? "nothing" : (e.getAttribute("role") || e.type || e.tagName.toLowerCase())} ${e.id === "page" ? "" : e === document.body ? "" : name.replace(/\s+/g, " ").slice(0, 80)}${hidden ? " (out of sight)" : ""}`.trim();
    });
  const at = async (expected) => {
    const deadline = Date.now() + 15_000;
    let now = await place();
    while (!(expected instanceof RegExp ? expected.test(now) : now === expected)) {
      if (Date.now() > deadline) assert.fail(`the keyboard is at ${JSON.stringify(now)}, not at ${expected}`);
      await tab.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
      now = await place();
    }
  };
  const press = (...keys) => keys.reduce((done, key) => done.then(() => tab.keyboard.press(key)), Promise.resolve());
  return {
    at,
    press,
    type: (text) => tab.keyboard.type(text),
    /** Goes to a control, as Tab would in the end, and presses a key there. */
    async use(role, name, key = "Enter") {
      const control = tab.getByRole(role, { name, exact: typeof name === "string" }).first();
      await control.focus();
      await control.press(key);
    },
    /** Answers a question that is asked in place: Space presses when it is let go, and a press that comes at once is no answer. */
    confirm: (name) => tab.getByRole("button", { name, exact: true }).press("Space", { delay: 300 }),
  };
}

test("servers: looked at, edited, added, removed, agreed to; the keyboard comes back to where each began", async () => {
  await page({ everything: real.everything, first: { command: "/bin/cat" }, second: { command: "/bin/cat" }, slow: { command: "/bin/sh", args: ["-c", "sleep 600"] } }, async (me, tab, home) => {
    await me.press("Tab");
    await me.at("a Skip to the page");
    await me.press("Control+,");
    await me.at("page");
    await me.press("Tab");
    await me.at("button Back to the conversation");

    await me.use("checkbox", "Use first in this conversation", "ArrowDown");
    await me.at("checkbox Use second in this conversation");
    // A box is no text to write in: keys that work everywhere work here.
    await me.press("?");
    await me.at("dialog Keyboard");
    // The key for a new window is the browser's own.
    const keys = await tab.getByRole("dialog").locator("dt").allInnerTexts();
    assert.deepEqual([keys.some((key) => /\bB$/.test(key)), keys.some((key) => /\bN$/.test(key))], [true, false]);
    await me.press("Escape");
    await me.at("checkbox Use second in this conversation");

    // What cannot be pressed while it is at work keeps the keyboard all the same.
    await me.use("button", "Test connection to slow");
    await tab.getByRole("button", { name: "slow: Testing…. Details" }).waitFor();
    await tab.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
    await me.at("button Test connection to slow");

    await me.use("button", /^second: Not tested/);
    await me.press("Tab", "Tab", "Tab");
    await me.at("button Edit");
    await me.press("Enter");
    await me.at("text Name");
    await me.press("Escape");
    await me.at("button Edit");
    await me.press("Enter");
    await me.at("text Name");
    await me.type("-x");
    await me.press("Escape");
    await tab.getByRole("button", { name: "Discard the changes?" }).waitFor();
    await me.at("text Name");
    await me.confirm("Discard the changes?");
    await me.at("button Edit");

    await me.use("button", "What it starts");
    await me.use("button", "Close");
    await me.at("button What it starts");
    await me.use("button", "Server log");
    await me.at("log Log lines");
    await me.press("Escape");
    await me.at("button Server log");

    await me.use("button", "Add a server");
    await me.at("textarea Paste a server");
    await me.press("Escape");
    await me.at("button Add a server");
    await me.press("Enter");
    await me.at("textarea Paste a server");
    await me.type("/bin/cat --third");
    await tab.getByText("Nothing starts or stops by saving.").waitFor();
    await me.use("button", "Add");
    await me.at("button Add a server");

    await me.use("button", "Remove first from mcp.json");
    await me.confirm("Confirm: Remove first from mcp.json");
    await me.at("checkbox Use second in this conversation");
    await me.use("button", "How servers are declared");
    await me.at("dialog How servers are declared");
    await me.press("Escape");
    await me.at("button How servers are declared");

    await me.use("tab", "MCP", "ArrowRight");
    await me.at("tab Workspaces");
    for (const name of ["alpha", "beta"]) {
      await tab.locator("main").getByRole("button", { name: "Add a workspace" }).press("Enter");
      await me.at("text Path of the folder");
      await me.type(join(home.path, name));
      await me.press("Enter");
      await me.at("button Add a workspace");
    }
    await me.use("button", "Move beta up");
    await me.at("button Move beta down");
    await me.press("Enter");
    await me.at("button Move beta up");
    await me.use("button", "Leave beta out of this conversation");
    await me.at(/^button (Move alpha|Leave alpha|Add a workspace)/);

    await me.use("tab", "Workspaces", "ArrowLeft");
    await me.use("checkbox", "Use theirs in this conversation", "Space");
    await tab.getByRole("heading", { name: "Start theirs?" }).waitFor();
    await tab.getByRole("status").filter({ hasText: "Start theirs? This is what would start." }).first().waitFor({ state: "attached" });
    await me.use("button", "Cancel");
    await me.at("checkbox Use theirs in this conversation");
    await me.press("Space");
    await tab.locator('button[aria-disabled="false"]', { hasText: "Agree and use" }).press("Enter");
    await tab.getByRole("button", { name: "theirs: 2 tools. Details" }).waitFor();
    await me.at("checkbox Use theirs in this conversation");
    await me.press("/");
    await me.at("combobox Search tools");
  });
});

test("calls and conversations: chosen, called, edited, allowed, renamed, made and deleted; the keyboard is never on nothing", async () => {
  await page({ time: real.time }, async (me, tab) => {
    await me.press("Control+,");
    await me.use("checkbox", "Use time in this conversation", "Space");
    await tab.getByRole("button", { name: "time: 2 tools. Details" }).waitFor();
    await me.press("/");
    await me.at("combobox Search tools");
    await me.press("Escape");
    await me.at(/^button Choose a tool to call/);
    await me.press("/");
    await me.type("convert");
    await tab.getByRole("option", { name: /^convert_time/ }).waitFor();
    await me.press("Enter");
    await me.at(/Source Timezone/);
    await me.type("Asia/Tokyo");
    await me.press("Tab");
    await me.at(/Time/);
    await me.type("12:00");
    await me.press("Tab");
    await me.at(/Target Timezone/);
    await me.type("Asia/Kolkata");
    await me.press("Control+Enter");
    await tab.getByRole("heading", { name: /wants to run/ }).waitFor();
    await me.at(/^button Go on with the arguments/);
    await me.press("Control+j");
    await me.at(/wants to run convert_time/);
    await me.use("button", "Edit arguments");
    await me.at(/Source Timezone/);
    await me.press("Escape");
    await me.at("button Edit arguments");
    await me.press("Escape");
    await me.at(/^button Go on with the arguments/);
    await me.press("Control+j");
    await tab.locator('button[aria-disabled="false"]', { hasText: "Allow once" }).press("Enter");
    await tab.getByText("-3.5h").first().waitFor();
    await me.at(/^(button Tool: time › convert_time|.*Source Timezone|.*Target Timezone)/);

    await me.use("button", "More options");
    await me.at(/^menuitem Conversation settings/);
    await tab.getByRole("menuitem", { name: "Rename" }).press("Enter");
    await me.at("text Title");
    await me.type("By keyboard");
    await me.press("Enter");
    await me.at("button More options");
    await tab.getByRole("heading", { name: "By keyboard" }).waitFor();
    await tab.getByRole("navigation").getByRole("button", { name: "By keyboard", exact: true }).press("F2");
    await me.at("text Title");
    await me.press("Escape");
    await me.at("button By keyboard");

    await me.use("button", /^Security level/);
    await me.at(/^menuitemradio Manual/);
    await me.press("ArrowDown", "Enter");
    await me.at("button Security level: Accept edits");
    await tab.locator(".timeline .bar").last().press("Enter");
    await me.at("article Call of convert_time on time");

    // A conversation that is made or deleted: the page that shows then has the keyboard, or what is next in the list.
    await me.press("Control+k");
    await me.at("combobox Command palette");
    await me.type("new conv");
    await me.press("Enter");
    await tab.getByRole("heading", { name: "New conversation" }).first().waitFor();
    await me.at("page");
    await me.use("button", "Delete New conversation");
    await me.confirm("Confirm: Delete New conversation");
    await tab.getByRole("heading", { name: "By keyboard" }).waitFor();
    await me.at(/^(page|button By keyboard)/);

    // In a narrow window the sidebar lies over the page.
    await tab.setViewportSize({ width: 480, height: 800 });
    await me.use("button", "Show the sidebar");
    await me.at("button Open the command palette");
    await me.press("Shift+Tab");
    await me.at("a Skip to the page");
    await tab.getByRole("navigation").getByRole("button", { name: "Hide the sidebar" }).press("Enter");
    await me.at("button Show the sidebar");
    await me.press("Control+b");
    await me.at("button Open the command palette");
    await tab.getByRole("navigation").getByRole("button", { name: "Settings" }).press("Enter");
    await me.at("page");
  });
});

test("B34: a card that was answered, here or in another window, leaves the keyboard on a card as a whole", async () => {
  await page({ everything: real.everything }, async (me, tab) => {
    await use(tab, ["everything"]);
    await chooseTool(tab, "echo", "echo");
    for (const message of ["one", "two", "three"]) {
      if (message !== "one") await tab.getByRole("button", { name: /^Go on with the arguments/ }).click();
      await call(tab, { message });
      await tab.locator("section.ask", { hasText: message }).waitFor();
    }
    const cards = tab.locator("section.ask");
    const ready = (at, name) => cards.nth(at).locator('footer button[aria-disabled="false"]', { hasText: name });
    await ready(2, "Deny").press("Enter");
    await me.at(/wants to run echo$/);
    assert.equal(await cards.first().evaluate((card) => card === document.activeElement), true);
    await cards.nth(2).waitFor({ state: "detached" });

    const other = await tab.context().newPage();
    await other.goto(new URL("/", tab.url()).href);
    await other.locator("section.ask").nth(1).locator('footer button[aria-disabled="false"]', { hasText: "Deny" }).waitFor();
    await tab.bringToFront();
    await ready(1, "Allow once").focus();
    await other.locator("section.ask").nth(1).getByRole("button", { name: "Deny" }).click();
    await cards.nth(1).waitFor({ state: "detached" });
    await me.at(/wants to run echo$/);
    await ready(0, "Allow once").waitFor();
    await me.press("Enter", "Space");

    // What is left can still be answered: nothing allowed it.
    await ready(0, "Allow once").focus();
    await other.locator('section.ask footer button[aria-disabled="false"]', { hasText: "Deny" }).click();
    await cards.first().waitFor({ state: "detached" });
    await me.at(/^(button Tool: everything › echo|.*message)/);
    assert.equal(await tab.getByText("Echo:").count(), 0);
    await other.close();
  });
});

test("a key that is down on a conversation meets it, whatever happens in other ones meanwhile", async () => {
  await page({ time: real.time }, async (me, tab) => {
    await tab.keyboard.press("Control+,");
    await me.use("checkbox", "Use time in this conversation", "Space");
    await tab.getByRole("button", { name: "time: 2 tools. Details" }).waitFor();
    await me.use("button", "Back to the conversation");
    const rename = async (title) => {
      await me.use("button", "More options");
      await me.at(/^menuitem Conversation settings/);
      await tab.getByRole("menuitem", { name: "Rename" }).press("Enter");
      await me.at("text Title");
      await me.type(title);
      await me.press("Enter");
      await tab.getByRole("heading", { name: title, exact: true }).waitFor();
    };
    await rename("old");
    for (const title of ["newer", "newest"]) {
      await me.use("button", "New conversation");
      await tab.getByRole("heading", { name: "New conversation", exact: true }).waitFor();
      await rename(title);
    }
    const rows = () => tab.getByRole("navigation").locator(".open .title").allInnerTexts();
    assert.deepEqual(await rows(), ["newest", "newer", "old"]);

    // Another page is about to call a tool in the oldest one, which will be the newest by that.
    const other = await tab.context().newPage();
    await other.goto(new URL("/", tab.url()).href);
    await other.getByRole("navigation").getByRole("button", { name: "old", exact: true }).click();
    await chooseTool(other, "current", "get_current_time");
    await (await asJson(other)).fill('{"timezone": "Asia/Tokyo"}');
    await tab.bringToFront();

    await tab.getByRole("button", { name: "Rename newer" }).focus();
    await tab.keyboard.down("Space");
    await other.keyboard.press("Control+Enter");
    await tab.getByRole("navigation").getByRole("button", { name: /^1 call waits for you/ }).waitFor();
    assert.deepEqual(await rows(), ["newest", "newer", "old"]);
    await tab.keyboard.up("Space");
    await me.at("text Title");
    assert.equal(await tab.getByRole("textbox", { name: "Title" }).inputValue(), "newer");
    await me.press("Escape");
    await me.at("button newer");
    await me.use("button", "Settings");
    await tab.waitForFunction(() => [...document.querySelectorAll("nav .open .title")].map((e) => e.innerText).join() === "old,newest,newer");
    await other.close();
  });
});
