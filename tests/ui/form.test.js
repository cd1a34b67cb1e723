// Arguments as a form, in a real browser over real servers: what is filled in is what is sent, to the character.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, makeHome, open, real, serve } from "./app.js";
import { allow, asJson, button, chooseTool, forms, use } from "./states.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

async function page(look, options = {}) {
  const home = makeHome({ forms, everything: real.everything });
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url, options);
  try {
    await use(tab, ["forms", "everything"]);
    await look(tab, problems);
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
}
const json = async (tab) => {
  const text = await (await asJson(tab)).inputValue();
  await button(tab, "Form").click();
  return text;
};
const focused = (tab) => tab.evaluate(() => (document.activeElement.labels?.[0] ?? document.activeElement).innerText.trim());

test("what is wrong with a field is said where there is room for it: nothing below moves", async () => {
  await page(async (tab) => {
    await chooseTool(tab, "book", "book_trip");
    const form = tab.getByRole("group", { name: "Arguments as a form" });
    /** From the first field to the one below those that are written in. */
    const distance = async () => (await tab.getByLabel("seat").boundingBox()).y - (await tab.getByLabel("Destination").boundingBox()).y;
    await tab.getByLabel("Destination").fill("Kyōto");
    await tab.getByLabel("travellers").fill("2");
    const before = await distance();
    await tab.getByLabel("travellers").fill("12");
    await form.getByText(/maximum of 9/).waitFor();
    assert.equal(await form.getByText("≥ 1 · ≤ 9").count(), 0, "it stands in the place of the limits");
    assert.equal(await distance(), before);
    // Required, come to, and left empty.
    await tab.getByLabel("when").focus();
    await tab.getByLabel("travellers").focus();
    await form.locator('[aria-invalid="true"]').nth(1).waitFor();
    assert.equal(await tab.getByLabel("when").getAttribute("aria-invalid"), "true");
    assert.equal(await distance(), before);
    await tab.getByLabel("travellers").fill("3");
    await form.getByText("≥ 1 · ≤ 9").waitFor();
    assert.equal(await distance(), before);
  });
});

test("a member's key is given another name: its value and everything around it keep their characters", async () => {
  await page(async (tab) => {
    await chooseTool(tab, "book", "book_trip");
    const editor = await asJson(tab);
    await editor.fill('{"city":"Kyōto",  "labels": { "team" : "blue", "n": "1" } , "unknown": 1.0}');
    await button(tab, "Form").click();
    await button(tab, "Rename team").click();
    const name = tab.getByRole("textbox", { name: "New name of team" });
    await tab.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "New name of team");
    await name.fill("n");
    await tab.getByText("There is a member of this name.").waitFor();
    await name.press("Enter");
    await name.fill('the "team"');
    await name.press("Enter");
    await tab.waitForFunction(() => document.activeElement?.value === "blue");
    await button(tab, "Rename unknown").click();
    await tab.getByRole("textbox", { name: "New name of unknown" }).fill("other");
    await tab.keyboard.press("Escape");
    assert.equal(await json(tab), '{"city":"Kyōto",  "labels": { "the \\"team\\"" : "blue", "n": "1" } , "unknown": 1.0}');
    await tab.keyboard.press("Control+z");
    assert.equal(await json(tab), '{"city":"Kyōto",  "labels": { "team" : "blue", "n": "1" } , "unknown": 1.0}');
  });
});

test("a call filled in by form sends exactly what its JSON shows", async () => {
  await page(async (tab, problems) => {
    await chooseTool(tab, "book", "book_trip");
    await tab.getByText("4 required arguments still to fill in").waitFor();
    assert.match(await focused(tab), /^Destination/);
    assert.equal(await json(tab), '{\n  "travellers": 2\n}');

    await tab.getByLabel("Destination").fill("Kyōto \"west\"\\");
    await tab.getByLabel("when").fill("2026-12-31");
    await tab.getByLabel("travellers").fill("12345678901234567890");
    await tab.getByLabel("seat").selectOption("aisle");
    await tab.getByRole("group", { name: "notify" }).getByLabel("name", { exact: true }).fill("Ada");
    // The check is the engine's; what it says stands at the field, by which it is described.
    const wrong = tab.getByRole("group", { name: "Arguments as a form" }).getByText(/maximum of 9/);
    await wrong.waitFor();
    assert.equal(await tab.getByLabel("travellers").evaluate((e) => e.getAttribute("aria-describedby").split(" ").some((id) => document.getElementById(id).innerText.includes("maximum of 9"))), true);
    await tab.getByRole("button", { name: /^travellers .*maximum/ }).click();
    assert.match(await focused(tab), /^travellers/);
    await tab.keyboard.press("Control+a");
    await tab.keyboard.type("3");
    await tab.getByText("The arguments fit the schema").waitFor();

    // A list, by keyboard.
    await button(tab, "Set via").click();
    await button(tab, "Add an item: via").click();
    await tab.keyboard.type("Osaka");
    await button(tab, "Add an item: via").press("Enter");
    await tab.keyboard.type("Nara");
    await button(tab, "Move item 2 up").press("Enter");
    assert.equal(await tab.evaluate(() => document.activeElement.getAttribute("aria-label")), "Move item 1 up");

    await tab.getByRole("combobox", { name: "payment" }).selectOption("Invoice");
    await tab.getByLabel("address").fill("1 Road");
    await tab.getByRole("textbox", { name: "extra" }).fill('{"n": 12345678901234567890.10, "a": [1');
    await tab.getByRole("button", { name: /^extra The text ends too early/ }).or(tab.getByRole("button", { name: /^extra/ })).first().waitFor();
    // Half a value is not sent.
    await tab.keyboard.press("Control+Enter");
    assert.match(await focused(tab), /^extra/);
    await tab.getByRole("textbox", { name: "extra" }).fill('{"n": 12345678901234567890.10, "a": [1]}');
    await tab.getByText("The arguments fit the schema").waitFor();

    const written = await json(tab);
    assert.equal(
      written,
      '{\n  "travellers": 3,\n  "city": "Kyōto \\"west\\"\\\\",\n  "when": "2026-12-31",\n  "seat": "aisle",\n  "notify": {\n    "name": "Ada"\n  },\n  "via": [\n    "Nara",\n    "Osaka"\n  ],\n  "payment": {\n    "kind": "invoice",\n    "address": "1 Road"\n  },\n  "extra": {"n": 12345678901234567890.10, "a": [1]}\n}',
    );
    await tab.getByLabel("Destination").press("Control+Enter");
    await allow(tab, "book_trip");
    const got = tab.getByText(/^got \{/).first();
    await got.waitFor();
    const sent = (await got.innerText()).slice("got ".length);
    // Over stdio a message is one line; no other character differs.
    assert.equal(sent.replace(/\s+/g, ""), written.replace(/\s+/g, ""));
    assert.deepEqual(problems, []);
  });
});

test("a result's structure keeps every digit on its way to the page, and is kept with them", async () => {
  await page(async (tab, problems) => {
    await chooseTool(tab, "mirror", "mirror");
    await (await asJson(tab)).fill('{"id": 12345678901234567890123, "snowflake": 1234567890123456789, "rate": 1.10}');
    await tab.keyboard.press("Control+Enter");
    await allow(tab, "mirror");
    const tree = tab.getByRole("group", { name: "Structured content" });
    const drawn = async () => {
      await tree.waitFor();
      return (await tree.innerText()).split(/\s+/).filter(Boolean).join(" ");
    };
    const digits = "{3} id: 12345678901234567890123 snowflake: 1234567890123456789 rate: 1.10";
    assert.equal(await drawn(), digits);
    await tab.reload();
    assert.equal(await drawn(), digits);
    assert.deepEqual(problems, []);
  });
});

test("what was written comes back, in the form or as JSON, whichever was used last", async () => {
  await page(async (tab) => {
    await chooseTool(tab, "book", "book_trip");
    await (await asJson(tab)).fill('{"city":  "\\u0041", "budget": null, "unknown": 1.0, "city" : "B"}');
    await button(tab, "Form").click();
    await tab.getByText("key twice").waitFor();
    await tab.getByText("not in the schema").waitFor();
    assert.equal(await button(tab, "budget is null").getAttribute("aria-pressed"), "true");
    await tab.getByLabel("seat").selectOption("any");
    assert.equal(await json(tab), '{"city":  "\\u0041", "budget": null, "unknown": 1.0, "city" : "B", "seat" : "any"}');
    await tab.getByLabel("seat").focus();
    await tab.keyboard.press("Control+z");
    await tab.getByLabel("seat").and(tab.locator(".unset")).waitFor();

    const kept = tab.waitForResponse((r) => (r.request().postData() ?? "").includes("conversation.set_draft"));
    await tab.getByLabel("seat").selectOption("window");
    await kept;
    await tab.reload();
    await tab.getByLabel("seat").waitFor();
    assert.equal(await tab.getByLabel("seat").evaluate((e) => e.selectedOptions[0].text), "window");
    await asJson(tab);
    await tab.reload();
    assert.equal(await tab.getByRole("textbox", { name: "Arguments as JSON" }).inputValue(), '{"city":  "\\u0041", "budget": null, "unknown": 1.0, "city" : "B", "seat" : "window"}');
  });
});

test("B35: arguments are edited on the card in a form too, and what it shows is what is sent", async () => {
  await page(async (tab, problems) => {
    await chooseTool(tab, "search", "search");
    await (await asJson(tab)).fill('{"where":  {"from": 1.0, "to": 12345678901234567890}, "own": [1 , 2]}');
    await button(tab, "Form").click();
    await tab.keyboard.press("Control+Enter");
    await button(tab, "Edit arguments").click();
    const card = tab.getByRole("group", { name: "Arguments of search on the card, as a form" });
    await card.getByLabel("from").waitFor();
    // Reachable by keyboard at once, and left by Escape.
    await tab.waitForFunction(() => document.activeElement?.closest(".ask .form") !== null);
    assert.equal(await card.getByLabel("to", { exact: true }).inputValue(), "12345678901234567890");
    await card.getByLabel("from").fill("2.50");
    await card.getByLabel("limit", { exact: true }).fill("x");
    await card.getByText(/is not of type "integer"/).waitFor();
    await tab.getByText("Allow anyway").waitFor();
    await card.getByLabel("limit", { exact: true }).press("Control+z");
    await tab.locator(".ask").getByText("The arguments fit the schema").waitFor();
    await tab.getByRole("region", { name: "What differs from what was asked for" }).waitFor();
    await tab.locator('.ask button[aria-disabled="false"]', { hasText: "Allow once" }).click();
    const got = tab.getByText(/^got \{/).first();
    await got.waitFor();
    assert.equal((await got.innerText()).slice("got ".length).replace(/\s+/g, ""), '{"where":{"from":2.50,"to":12345678901234567890},"own":[1,2]}');
    assert.deepEqual(problems, []);
  });
});

test("real tools: an echo by form, an enum, a tool without arguments", async () => {
  await page(async (tab, problems) => {
    await chooseTool(tab, "echo", "echo");
    await tab.keyboard.type("hello from a form");
    await tab.getByText("The arguments fit the schema").waitFor();
    await tab.keyboard.press("Control+Enter");
    await allow(tab, "echo");
    await tab.getByText("Echo: hello from a form").first().waitFor();
    await chooseTool(tab, "annotated", "get-annotated-message");
    await tab.getByLabel("messageType").selectOption("success");
    await tab.getByText("The arguments fit the schema").waitFor();
    assert.deepEqual(JSON.parse(await json(tab)), { messageType: "success" });
    await chooseTool(tab, "no_arguments", "no_arguments");
    await tab.getByText("This tool takes no arguments.").waitFor();
    assert.deepEqual(problems, []);
  });
});

test("row 33: hostile schemas draw what can be drawn, fetch nothing, run nothing, and never hold up the page", async () => {
  await page(async (tab, problems) => {
    const field = (name) => tab.locator(".form").locator("textarea, input").and(tab.getByLabel(name, { exact: true }));
    await chooseTool(tab, "hostile", "hostile");
    for (const name of ["elsewhere", "file", "gone", "loop", "contrary", "multiplies", "long number"]) await tab.getByLabel(name, { exact: true }).waitFor();
    await tab.getByText("Not checked here:").waitFor();
    await tab.getByText("Its schema is in another document, which is not fetched.").first().waitFor();
    await field("__proto__").fill("a member");
    await field("redos").fill(`${"a".repeat(200)}!`);
    await field("constructor").fill("5");
    assert.deepEqual(Object.entries(JSON.parse(await json(tab))).sort(), [["__proto__", "a member"], ["constructor", 5], ["redos", `${"a".repeat(200)}!`]]);
    assert.equal(await tab.locator(".form img, .form script").count(), 0);

    await chooseTool(tab, "thousands", "thousands");
    await tab.getByRole("searchbox", { name: "Search fields" }).fill("p2987");
    await field("p2987").fill("found");
    assert.equal(await json(tab), '{\n  "p2987": "found"\n}');

    await chooseTool(tab, "multiplies", "multiplies");
    await tab.getByRole("group", { name: "p0", exact: true }).waitFor();
    assert.ok((await tab.locator(".form [data-control]").count()) < 200);

    await chooseTool(tab, "huge", "huge_choice");
    await field("code").fill("code-4999");
    assert.equal(await json(tab), '{\n  "code": "code-4999"\n}');
    assert.deepEqual(problems, []);
  });
});
