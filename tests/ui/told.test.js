// What a person is told without reading: the timeline of a conversation's calls, and the browser's notifications (B44).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, makeHome, open, real, serve } from "./app.js";
import { allow, button, call, chooseTool, declareAndTick } from "./states.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

async function page(look, options) {
  const home = makeHome({ everything: real.everything });
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url, options);
  try {
    await look(tab, context, new URL(app.url).origin);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
    await app.stop();
    home.remove();
  }
}

test("each call is a bar that says server, tool, phases and end; a press goes to the call; a reload keeps it", async () => {
  await page(async (tab) => {
    await declareAndTick(tab, ["everything"]);
    await chooseTool(tab, "echo", "echo");
    await call(tab, { message: "one" });
    const bars = tab.getByRole("region", { name: "Timeline" }).getByRole("toolbar").getByRole("button");
    await tab.getByRole("button", { name: /^echo on everything: Waiting for you\. .*Waiting for a person/ }).waitFor();
    await allow(tab, "echo");
    await tab.getByRole("button", { name: /^echo on everything: Done\. .*Waiting for a person .*Running \d/ }).waitFor();
    await call(tab, { message: "two" });
    await tab.locator('button[aria-disabled="false"]', { hasText: "Deny" }).first().click();
    await tab.getByRole("button", { name: /^echo on everything: Denied\. / }).waitFor();

    await tab.reload();
    await tab.getByRole("button", { name: /^echo on everything: Done\. .*Waiting for a person .*Running \d/ }).waitFor();
    assert.equal(await bars.count(), 2);
    const [first, second] = await bars.evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().left));
    assert.ok(first < second, "in the order of time");
    await bars.first().click();
    await tab.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Call of echo on everything");
    await button(tab, "As a table").click();
    const rows = await tab.getByRole("region", { name: "As a table" }).getByRole("row").allInnerTexts();
    assert.deepEqual(rows.map((row) => row.split(/\t|\n/)[2]?.trim()), ["State", "Denied", "Done"]);

    // Nobody named the conversation: it is called after its first call.
    await tab.getByRole("button", { name: "everything · echo", exact: true }).waitFor();
  });
});

test("B44: the browser is asked by a click alone; then a waiting call is one notification, and a click goes to its card", async () => {
  await page(async (tab, context, origin) => {
    await tab.addInitScript(() => {
      const Real = Notification;
      window.asked = 0;
      window.told = [];
      window.Notification = class extends Real {
        constructor(title, options) {
          super(title, options);
          window.told.push({ title, body: options.body, note: this });
        }
        static requestPermission() {
          window.asked++;
          return Real.requestPermission();
        }
      };
    });
    await context.grantPermissions(["notifications"], { origin });
    await tab.reload();
    await declareAndTick(tab, ["everything"]);
    await chooseTool(tab, "echo", "echo");
    // Somebody looks at another tab.
    const away = () => tab.evaluate(() => (document.hasFocus = () => false));
    await away();
    await call(tab, { message: "s3cret-argument" });
    await tab.getByRole("heading", { name: /wants to run/ }).waitFor();
    assert.equal(await tab.title(), "(1) Mework");
    assert.deepEqual(await tab.evaluate(() => [window.asked, window.told.length]), [0, 0]);

    await button(tab, "Settings").click();
    await tab.getByRole("checkbox", { name: /^Notify me of waiting calls/ }).click();
    await tab.waitForFunction(() => window.told.length === 1);
    const told = await tab.evaluate(() => [window.asked, window.told[0].title, window.told[0].body]);
    assert.deepEqual(told, [1, "everything wants to run echo", "Click to look and answer."]);
    await tab.evaluate(() => window.told[0].note.onclick());
    await tab.waitForFunction(() => document.activeElement?.id.startsWith("card-"));

    // A call that ran for more than ten seconds tells of its end, too.
    await tab.locator('button[aria-disabled="false"]', { hasText: "Deny" }).click();
    await chooseTool(tab, "long", "trigger-long-running-operation");
    await call(tab, { duration: 11, steps: 1 });
    await allow(tab, "trigger-long-running-operation");
    await tab.waitForFunction(() => window.told.at(-1).title === "trigger-long-running-operation on everything is done");
    assert.equal(await tab.evaluate(() => window.told.at(-1).body), "Click to see what came back.");
    await tab.evaluate(() => window.told.at(-1).note.onclick());
    await tab.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Call of trigger-long-running-operation on everything");
  });
});
