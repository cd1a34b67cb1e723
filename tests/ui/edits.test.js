// Arguments edited on the card, and arguments picked again, in a real browser on a real server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, makeHome, open, real, serve } from "./app.js";
import { allow, button, call, chooseTool, declareAndTick, edit } from "./states.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** A page on which `echo` was called and waits. */
async function waiting(look) {
  const home = makeHome({ everything: real.everything });
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url);
  try {
    await declareAndTick(tab, ["everything"]);
    await chooseTool(tab, "echo", "echo");
    await call(tab, { message: "asked" });
    await button(tab, "Edit arguments").waitFor();
    await look(tab);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
}
const editor = (tab) => tab.getByRole("textbox", { name: "Arguments of echo on the card, as JSON" });
const composer = (tab) => tab.getByRole("textbox", { name: "Arguments as JSON", exact: true });
const lost = (tab) => tab.locator("section", { hasText: "Your edit of echo on everything was not sent." }).last();

test("B34, B35: by keyboard alone: edited, left, come back to, allowed; both are in the transcript", async () => {
  await waiting(async (tab) => {
    // Where the keyboard was, it still is.
    await tab.waitForFunction(() => document.activeElement?.closest(".composer") !== null);
    await tab.keyboard.press("Control+j");
    await tab.waitForFunction(() => document.activeElement?.id.startsWith("card-"));
    while (!(await button(tab, "Edit arguments").evaluate((e) => e === document.activeElement))) await tab.keyboard.press("Tab");
    await tab.keyboard.press("Enter");
    await tab.waitForFunction(() => document.activeElement?.value === '{\n  "message": "asked"\n}');
    // The first value is chosen: typing replaces it.
    await tab.keyboard.type("typed \u202e");
    await tab.getByText("Hidden characters in line 2:").waitFor();
    await tab.keyboard.press("Escape");
    assert.equal(await button(tab, "Edit arguments").evaluate((e) => e === document.activeElement), true);
    await tab.getByText("Edited", { exact: true }).first().waitFor();
    const card = tab.locator("section.ask");
    assert.match(await card.innerText(), /typed ⟨U\+202E⟩/);
    assert.equal((await card.innerText()).includes("\u202e"), false);

    // Another conversation and back, and a reload: what was typed is there.
    await tab.getByRole("button", { name: "New conversation", exact: true }).first().click();
    await card.waitFor({ state: "detached" });
    await tab.keyboard.press("Control+j");
    await card.getByText("typed ").first().waitFor();
    await tab.reload();
    await card.getByText("typed ").first().waitFor();
    await button(tab, "Edit arguments").click();
    assert.equal(await editor(tab).inputValue(), '{\n  "message": "typed \u202e"\n}');
    await editor(tab).fill('{ "message": "sent" }');
    while (!(await card.getByRole("button", { name: "Allow once" }).evaluate((e) => e === document.activeElement))) await tab.keyboard.press("Tab");
    await tab.locator('section.ask button[aria-disabled="false"]', { hasText: "Allow once" }).press("Enter");
    await tab.getByText("Echo: sent").first().waitFor();
    const item = tab.getByRole("article", { name: "Call of echo on everything" });
    await item.getByRole("button", { name: /^Arguments.*Edited$/ }).click();
    const table = item.getByRole("region", { name: "What was edited before it was allowed" });
    assert.deepEqual(await table.locator("th").allInnerTexts(), ["Asked for", "Sent"]);
    assert.match(await table.locator("td.gone").innerText(), /"message": "asked"/);
    assert.match(await table.locator("td.fresh").innerText(), /"message": "sent"/);
  });
});

test("B35: what is no JSON object cannot be allowed; what does not fit the schema can, in other words", async () => {
  await waiting(async (tab) => {
    await edit(tab, "echo", '{ "message": ');
    await tab.getByText("The text ends too early").waitFor();
    const allowed = tab.locator("section.ask footer button.primary");
    await tab.waitForFunction(() => document.querySelector("section.ask footer button.primary").getAttribute("aria-disabled") === "true");
    await editor(tab).fill('{ "message": 5 }');
    await tab.getByText("Line 1").first().waitFor();
    await tab.locator('button[aria-disabled="false"]', { hasText: "Allow anyway" }).click();
    await tab.getByText("Tool error").or(tab.getByText("Failed")).first().waitFor();
    assert.equal(await allowed.count(), 0);
  });
});

test("B35: in two windows the first answer counts, and the other window keeps what was typed in it", async () => {
  await waiting(async (tab) => {
    const other = await tab.context().newPage();
    await other.goto(new URL("/", tab.url()).href);
    await button(other, "Edit arguments").click();
    await editor(other).fill('{ "message": "typed elsewhere" }');
    await tab.locator('button[aria-disabled="false"]', { hasText: "Allow once" }).click();
    await tab.getByText("Echo: asked").first().waitFor();
    await lost(other).getByText("The call ran as it was asked for, allowed by a person in").waitFor();
    await lost(other).getByText("typed elsewhere").waitFor();
    assert.equal(await lost(tab).count(), 0, "nothing was typed here");
    await button(other, "Use it for a new call").click();
    await other.waitForFunction(() => document.activeElement?.value === '{ "message": "typed elsewhere" }');
    await lost(other).waitFor({ state: "detached" });
    await other.close();
  });
});

test("B33: a level raised while a card is edited runs what was asked for, and the window says so", async () => {
  await waiting(async (tab) => {
    await edit(tab, "echo", '{ "message": "typed" }');
    await tab.getByRole("button", { name: /^Security level:/ }).click();
    await tab.getByRole("menuitemradio", { name: /^Full access/ }).click();
    await tab.getByText("Echo: asked").first().waitFor();
    await lost(tab).getByText("The call ran as it was asked for, allowed by the level Full access.").waitFor();
    await lost(tab).getByText('"typed"').waitFor();
    await tab.reload();
    await lost(tab).getByText('"typed"').waitFor();
    await button(tab, "Discard what you had written").click();
    // What is asked lies in its own place, and covers neither the text nor another card.
    const [asks, header] = await Promise.all([button(tab, "Confirm: Discard what you had written"), lost(tab).locator("header")].map((e) => e.boundingBox()));
    assert.ok(asks.y >= header.y && asks.y + asks.height <= header.y + header.height, JSON.stringify({ asks, header }));
    await button(tab, "Confirm: Discard what you had written").press("Space", { delay: 300 });
    await lost(tab).waitFor({ state: "detached" });
  });
});

test("what was sent is picked again into the editor, and undo brings back what was there", async () => {
  await waiting(async (tab) => {
    await edit(tab, "echo", '{ "message": "sent" }');
    await allow(tab, "echo");
    await tab.getByText("Echo: sent").first().waitFor();
    await composer(tab).fill('{ "message": "half a thou');
    await button(tab, "Recent arguments").click();
    await tab.getByRole("menuitem", { name: /"message": "sent"/ }).click();
    assert.equal(await composer(tab).inputValue(), '{ "message": "sent" }');
    await tab.keyboard.press("Control+z");
    assert.equal(await composer(tab).inputValue(), '{ "message": "half a thou');
    // In another conversation too.
    await tab.getByRole("button", { name: "New conversation", exact: true }).first().click();
    await tab.getByText("Which servers should this conversation use?").waitFor();
    await declareAndTick(tab, ["everything"]);
    await chooseTool(tab, "echo", "echo");
    await button(tab, "Recent arguments").waitFor();
  });
});

test("row 6, B35: after a server changed its tool the composer's form is the new one, and a waiting card's yes is void, as it says", async () => {
  const home = makeHome({ changing: { command: process.execPath, args: [fileURLToPath(new URL("changing-server.js", import.meta.url))] } });
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url);
  try {
    await tab.keyboard.press("Control+,");
    await tab.getByRole("checkbox", { name: "Use changing in this conversation", exact: true }).click();
    await button(tab, "changing: 1 tool. Details").waitFor();
    await button(tab, "Back to the conversation").click();
    await chooseTool(tab, "note", "note");
    await call(tab, { old: "one" });
    const cards = tab.locator("section.ask");
    await cards.first().waitFor();
    await tab.getByRole("button", { name: /^Go on with the arguments/ }).click();
    await call(tab, { old: "two" });
    await cards.nth(1).waitFor();
    await cards.first().locator('footer button[aria-disabled="false"]', { hasText: "Allow once" }).click();
    await tab.getByText('noted {"old":"one"}').first().waitFor();

    const left = cards.first();
    await left.getByText("The server changed this tool since the call was asked for.").waitFor();
    await left.locator('footer button[aria-disabled="false"]', { hasText: "Allow once" }).click();
    await tab.getByText("The approval was for another call").first().waitFor();
    await cards.first().waitFor({ state: "detached" });
    assert.equal(await tab.getByText('noted {"old":"two"}').count(), 0);

    // The form asks for what the tool takes now; what was written for it before is still there to be sent or taken out.
    await button(tab, "Form").click();
    await tab.getByRole("textbox", { name: /^fresh/ }).fill("three");
    assert.equal(await tab.getByRole("textbox", { name: /^old/ }).inputValue(), '"two"', "as it stands: no schema says what it is");
    await tab.getByText("The arguments fit the schema").waitFor();
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
});
