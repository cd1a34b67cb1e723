// What the unit tests' page cannot see: how a real browser treats boxes, buttons, the keyboard and the room there is.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, makeHome, open, real, serve } from "./app.js";
import { allow, asJson, button, call, chooseTool, declareAndTick } from "./states.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** A page of its own on a home of its own. */
async function page(declared, look, prepare = () => {}) {
  const home = makeHome(declared);
  prepare(home);
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url, { permissions: ["clipboard-read", "clipboard-write"] });
  try {
    await look(tab, home, problems);
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
}
const box = (tab, name) => tab.getByRole("checkbox", { name: `Use ${name} in this conversation`, exact: true });
/** What the box says to a screen reader, and what is drawn. */
const shown = (tab, name) => box(tab, name).evaluate((input) => [input.checked, input.parentElement.querySelector(".box svg") !== null]);
async function shows(tab, name, ticked) {
  await tab.waitForFunction(
    ([label, ticked]) => {
      const input = document.querySelector(`input[aria-label="${label}"]`);
      return input?.checked === ticked && (input.parentElement.querySelector(".box svg") !== null) === ticked;
    },
    [`Use ${name} in this conversation`, ticked],
  );
}

test("B15, B10: a box is ticked when its server is, and only then: pressed, by key, asked about, refused, agreed, read again", async () => {
  const inFolder = (home) => {
    mkdirSync(join(home.path, "folder/.mework"), { recursive: true });
    writeFileSync(join(home.path, "folder/.mework/mcp.json"), JSON.stringify({ mcpServers: { theirs: real.time } }));
  };
  await page({ time: real.time }, async (tab, home, problems) => {
    await button(tab, "Add a workspace").last().click();
    await tab.getByRole("textbox", { name: "Path of the folder" }).fill(join(home.path, "folder"));
    await tab.keyboard.press("Enter");
    await tab.getByText("2 servers").or(tab.getByRole("button", { name: "Choose among 2 servers" })).first().waitFor();
    await tab.keyboard.press("Control+,");

    await box(tab, "time").click();
    assert.deepEqual(await shown(tab, "time"), [true, true], "at once");
    await button(tab, "time: 2 tools. Details").waitFor();
    await shows(tab, "time", true);
    await box(tab, "time").press("Space");
    await shows(tab, "time", false);
    await tab.getByText("0 / 2 selected").waitFor();
    await box(tab, "time").press("Space");
    await tab.getByText("1 / 2 selected").waitFor();
    await shows(tab, "time", true);

    // What came with a folder is shown first, and is not ticked while it is.
    await box(tab, "theirs").click();
    await tab.getByRole("heading", { name: "Start theirs?" }).waitFor();
    await shows(tab, "theirs", false);
    await button(tab, "Cancel").click();
    await shows(tab, "theirs", false);
    await box(tab, "theirs").click();
    await tab.locator('button[aria-disabled="false"]', { hasText: "Agree and use" }).click();
    await button(tab, "theirs: 2 tools. Details").waitFor();
    await shows(tab, "theirs", true);

    // Gone from its file: the row dangles, can be unticked, and goes away by that.
    home.declare({});
    await button(tab, "Rescan").click();
    await button(tab, "time: Dangling. Details").waitFor();
    await shows(tab, "time", true);
    await box(tab, "time").click();
    await box(tab, "time").waitFor({ state: "detached" });

    await tab.reload();
    await tab.getByRole("button", { name: /^Choose a tool to call/ }).last().waitFor();
    await tab.keyboard.press("Control+,");
    await shows(tab, "theirs", true);
    assert.deepEqual(problems, []);
  }, inFolder);
});

test("a choice that was refused is not shown as made; one that was taken is there again", async () => {
  await page({ time: real.time }, async (tab) => {
    const refuse = async (route) =>
      /"(settings\.set|conversation\.set_level)"/.test(route.request().postData() ?? "") ? route.abort() : route.continue();
    await tab.route("**/rpc", refuse);
    const radio = (name) => tab.getByRole("radio", { name });
    const chosen = () => tab.getByRole("radio").evaluateAll((all) => all.filter((one) => one.checked).map((one) => one.value));
    const settle = (value) => tab.waitForFunction((v) => [...document.querySelectorAll("input[type=radio]")].filter((r) => r.checked).map((r) => r.value).join() === v, value);

    await tab.keyboard.press("Control+,");
    await radio(/^Full access/).click();
    await tab.getByRole("region", { name: "Messages" }).or(tab.locator("[role=alert]")).first().waitFor();
    await settle("manual");
    await button(tab, "Settings").click();
    await radio(/^Never/).click();
    await settle("always");

    await tab.unroute("**/rpc", refuse);
    await radio(/^Only workspaces/).click();
    await settle("workspaces");
    await tab.keyboard.press("Escape");
    await tab.keyboard.press("Control+,");
    await radio(/^Accept edits/).click();
    await tab.getByRole("switch", { name: "Tool discovery" }).click();
    await tab.getByText("All declared: every ticked server").waitFor();
    await tab.reload();
    await tab.getByRole("button", { name: /^Choose a tool to call/ }).last().waitFor();
    await tab.keyboard.press("Control+,");
    assert.deepEqual(await chosen(), ["accept_edits"]);
    assert.equal(await tab.getByRole("switch", { name: "Tool discovery" }).getAttribute("aria-checked"), "false");
    await button(tab, "Settings").click();
    assert.deepEqual(await chosen(), ["workspaces"]);
  });
});

test("cards that wait can be read and answered in every window: the composer makes room, and nothing moves while one writes", async () => {
  await page(real, async (tab, home, problems) => {
    const editor = tab.getByRole("textbox", { name: "Arguments as JSON" });
    const folded = tab.getByRole("button", { name: /^Go on with the arguments/ });
    const card = (n) => tab.getByRole("heading", { name: /wants to run/ }).nth(n);
    /** The buttons of a card that can be pressed where they are. */
    const pressable = (n) =>
      tab.evaluate((n) => {
        const card = document.querySelectorAll("[id^=card-]")[n];
        return [...card.querySelectorAll("footer .button:not(.tiny)")].map((b) => {
          const r = b.getBoundingClientRect();
          return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)?.closest("button") === b ? b.textContent : `hidden: ${b.textContent}`;
        });
      }, n);

    await declareAndTick(tab, ["everything", "time"]);
    await chooseTool(tab, "convert", "convert_time");
    await call(tab, { source_timezone: "Asia/Tokyo", time: "12:00", target_timezone: "Asia/Kolkata" });
    await card(0).waitFor();
    await folded.waitFor();
    // Typing goes on: the composer opens again, with every key.
    await tab.keyboard.type("xyz");
    assert.match(await editor.inputValue(), /\}xyz$/);

    await chooseTool(tab, "echo", "echo");
    await call(tab, { message: "hello" });
    await card(1).waitFor();
    await folded.waitFor();
    assert.deepEqual([await pressable(0), await pressable(1)], [["Deny", "Allow once"], ["Deny", "Allow once"]]);

    for (const [width, height] of [[1180, 780], [900, 600], [590, 390], [420, 780]]) {
      await tab.setViewportSize({ width, height });
      assert.deepEqual(await pressable(0), ["Deny", "Allow once"], `folded, ${width} by ${height}`);
      await folded.click();
      await editor.waitFor();
      assert.deepEqual(await pressable(0), ["Deny", "Allow once"], `open, ${width} by ${height}`);
      await button(tab, "Form").click();
      await tab.getByRole("textbox", { name: "message" }).waitFor();
      assert.deepEqual(await pressable(0), ["Deny", "Allow once"], `the form, ${width} by ${height}`);
      await asJson(tab);
      assert.equal(await button(tab, "Call Ctrl").or(tab.locator(".composer .foot .primary")).evaluate((b) => b.getBoundingClientRect().bottom <= innerHeight), true, `${width} by ${height}`);
      await tab.keyboard.press("Control+j");
      await folded.waitFor();
    }
    await tab.setViewportSize({ width: 1180, height: 780 });

    // A call that something else makes while one writes: its card comes, and the editor stays where it is.
    await folded.click();
    const before = await editor.boundingBox();
    const other = await tab.context().newPage();
    await other.goto(new URL("/", tab.url()).href);
    await chooseTool(other, "echo", "echo");
    await call(other, { message: "from the other page" });
    await card(2).waitFor();
    await tab.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
    assert.deepEqual(await editor.boundingBox(), before);
    assert.equal(await editor.evaluate((e) => e === document.activeElement), true);
    await other.close();

    // A slow press on a button lands, although the composer folds by it; the keyboard goes on to the next card.
    await tab.locator('button[aria-disabled="false"]', { hasText: "Allow once" }).first().waitFor();
    const at = await button(tab, "Allow once").first().boundingBox();
    await tab.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
    await tab.mouse.down();
    await tab.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
    await tab.mouse.up();
    await tab.getByText("-3.5h").first().waitFor();
    await tab.getByText("Allowed by a person in the browser").first().waitFor();
    assert.equal(await tab.evaluate(() => document.activeElement?.id.startsWith("card-")), true);
    await tab.locator('button[aria-disabled="false"]', { hasText: "Allow once" }).first().click();
    await card(1).waitFor({ state: "detached" });
    await allow(tab, "echo");
    await card(0).waitFor({ state: "detached" });
    await editor.waitFor();
    assert.deepEqual(problems, []);
  });
});

test("B45: what a server says of its secrets is in no log, no tooltip, no diagnostics", async () => {
  const secret = "s3cr3t-of-the-server-4711";
  const leaky = { command: "/bin/sh", args: ["-c", 'echo "my token is $MY_TOKEN" >&2; echo "also $MY_TOKEN"; exit 3'], env: { MY_TOKEN: secret } };
  await page({ leaky }, async (tab) => {
    await tab.keyboard.press("Control+,");
    await button(tab, "Test connection to leaky").click();
    await button(tab, "leaky: Connection failed. Details").click();
    await button(tab, "Server log").click();
    await tab.getByRole("log").getByText("my token is •••").first().waitFor();
    assert.equal((await tab.content()).includes(secret), false);
    for (const copy of ["Copy the log", "Copy diagnostics"]) {
      await button(tab, copy).first().click();
      await tab.getByText(copy === "Copy the log" ? "Copied" : "Diagnostics copied").first().waitFor();
      const copied = await tab.evaluate(() => navigator.clipboard.readText());
      assert.match(copied, /my token is •••/, copy);
      assert.equal(copied.includes(secret), false, copy);
    }
  });
});

test("the frame never scrolls, and the keyboard goes with the page", async () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`server-${i}`, real.time]));
  await page(many, async (tab, home, problems) => {
    const within = () => tab.evaluate(() => document.querySelector("main").contains(document.activeElement));
    await button(tab, "Settings").focus();
    await tab.keyboard.press("Control+,");
    await box(tab, "server-59").waitFor();
    assert.equal(await within(), true, "on the page that opened");
    await box(tab, "server-59").focus();
    await button(tab, "Remove server-58 from mcp.json").click();
    await tab.locator('button[aria-label="Confirm: Remove server-58 from mcp.json"]').press("Enter", { delay: 300 });
    await box(tab, "server-59").scrollIntoViewIfNeeded();
    const scrolled = await tab.evaluate(() => [document.documentElement, document.body, document.getElementById("app"), document.querySelector("main")].map((e) => [e.scrollTop, e.scrollHeight - e.clientHeight]));
    assert.deepEqual(scrolled, [[0, 0], [0, 0], [0, 0], [0, 0]]);
    assert.equal((await tab.locator("main header").first().boundingBox()).y, 0);
    await tab.setViewportSize({ width: 420, height: 500 });
    await tab.locator("main").focus();
    await tab.keyboard.press("?");
    await tab.getByText("Press the button that has the focus").scrollIntoViewIfNeeded();
    assert.equal(await tab.getByText("Press the button that has the focus").evaluate((e) => e.getBoundingClientRect().right <= innerWidth), true, "below, not beside");
    await tab.keyboard.press("Escape");
    await tab.setViewportSize({ width: 1180, height: 780 });
    await tab.keyboard.press("Escape");
    await tab.getByRole("button", { name: /^Choose a tool to call/ }).last().waitFor();
    assert.equal(await within(), true, "on the conversation");
    assert.deepEqual(problems, []);
  });
});

test("what a ticked server weighs moves no row", async () => {
  await page(real, async (tab) => {
    await tab.keyboard.press("Control+,");
    await box(tab, "time").waitFor();
    const place = async () => (await box(tab, "time").boundingBox()).y;
    const before = await place();
    await box(tab, "everything").click();
    await button(tab, "everything: 13 tools. Details").waitFor();
    await tab.getByText("13 tools ·").first().waitFor();
    assert.equal(await place(), before);
  });
});

test("B43: open panes come back after a restart: the sidebar, the schema, JSON instead of a form, the conversation", async () => {
  const home = makeHome({ everything: real.everything });
  let app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url);
  try {
    const shows = async (chosen) => {
      await button(tab, "Show the sidebar").waitFor();
      assert.equal(await tab.getByRole("navigation", { name: "Conversations" }).count(), 0);
      await tab.getByRole("heading", { name: "The one", exact: true }).waitFor();
      assert.equal(await tab.getByRole("button", { name: "JSON", exact: true }).getAttribute("aria-pressed"), "true");
      await tab.getByRole("textbox", { name: "Arguments as JSON" }).waitFor();
      assert.equal(await tab.locator(".work .schema").count(), 0, chosen);
    };
    await declareAndTick(tab, ["everything"]);
    await chooseTool(tab, "echo", "echo");
    await asJson(tab);
    await button(tab, "Schema beside the arguments").click();
    await button(tab, "More options").click();
    await tab.getByRole("menuitem", { name: "Rename" }).click();
    await tab.getByRole("textbox", { name: "Title" }).fill("The one");
    await tab.keyboard.press("Enter");
    await tab.getByRole("heading", { name: "The one", exact: true }).waitFor();
    // Another one is newer, but not the one that was open.
    await button(tab, "New conversation").first().click();
    await tab.getByRole("heading", { name: "New conversation", exact: true }).first().waitFor();
    await tab.getByRole("navigation").getByRole("button", { name: "The one", exact: true }).click();
    await tab.getByRole("textbox", { name: "Arguments as JSON" }).waitFor();
    await button(tab, "Hide the sidebar").click();
    await shows("before");
    assert.deepEqual(problems, []);

    // What the page hears while nobody serves it is no fault of it.
    const { port } = new URL(app.url);
    await tab.goto("about:blank");
    await app.stop();
    app = await serve(home, port);
    await tab.goto(app.url);
    await shows("after");
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
});

test("a chosen tool can be typed into at once", async () => {
  await page({ everything: real.everything }, async (tab) => {
    await declareAndTick(tab, ["everything"]);
    await tab.getByRole("button", { name: /^echo/ }).first().click();
    await tab.waitForFunction(() => document.activeElement?.labels?.[0]?.textContent.trim() === "message");
    await tab.keyboard.type("hello");
    const editor = await asJson(tab);
    assert.equal(await editor.inputValue(), '{\n  "message": "hello"\n}');

    // JSON is what was used last, so the next tool begins with it.
    await chooseTool(tab, "get-sum", "get-sum");
    await tab.waitForFunction(() => document.activeElement?.value?.includes('"a"'));
    await tab.keyboard.type("7");
    assert.equal(await editor.inputValue(), '{\n  "a": 7,\n  "b": 0\n}');
  });
});

test("a tip keeps away from the window's edges, names what is cut off, and makes room for what a press opens", async () => {
  const long = `a-name-that-goes-on-${"and-on-".repeat(9)}until-nobody-reads-it`;
  await page({ [long]: { command: "/bin/cat", description: "It is described in so many words that a line cannot hold them all. ".repeat(3) } }, async (tab) => {
    await tab.keyboard.press("Control+,");
    const badge = tab.getByRole("button", { name: `${long}: Not tested. Details`, exact: true });
    const tip = tab.getByRole("tooltip");
    for (const width of [1180, 640, 480]) {
      await tab.setViewportSize({ width, height: 700 });
      await badge.focus();
      await tip.getByText(long).waitFor();
      const { x, width: wide } = await tip.boundingBox();
      assert.ok(x >= 8 && x + wide <= width - 8, `from ${x} to ${x + wide} of ${width}`);
      await badge.blur();
      await tip.waitFor({ state: "hidden" });
    }
    await badge.focus();
    await tip.waitFor();
    await badge.press("Enter");
    await tab.getByText("Declared in").waitFor();
    await tip.waitFor({ state: "hidden" });
  });
});
