// Every main state in a real browser: it can be reached, nothing is asked of the network, nothing is complained of, and
// axe finds nothing wrong, light and dark.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { launch, makeHome, open, serve } from "./app.js";
import { states, withState } from "./states.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** What axe finds, short enough to read. */
async function faults(tab) {
  // The page's policy forbids foreign scripts, as it must; the debugger's protocol may run one.
  const session = await tab.context().newCDPSession(tab);
  const run = (expression) => session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  await run(axe);
  const { result, exceptionDetails } = await run("axe.run(document, { resultTypes: ['violations'] })");
  assert.equal(exceptionDetails, undefined);
  return result.value.violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary}`));
}

for (const name of Object.keys(states)) {
  test(`${name}: reachable, quiet, and without a fault, light and dark`, async () => {
    await withState(name, async (app, go) => {
      const { tab, problems, context } = await open(browser, app.url, { colorScheme: "light" });
      await go(tab);
      assert.deepEqual(await faults(tab), [], "light");
      await tab.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await faults(tab), [], "dark");
      assert.deepEqual(problems, []);
      await context.close();
    });
  });
}

test("the address works once, and a stranger's browser gets nothing", async () => {
  const home = makeHome();
  const app = await serve(home);
  const { context } = await open(browser, app.url);
  const second = await (await browser.newContext()).newPage();
  const answer = await second.goto(app.url);
  assert.equal(answer.status() >= 400 || (await second.getByText("Not signed in").count()) > 0, true, `status ${answer.status()}`);
  await context.close();
  await app.stop();
  home.remove();
});

test("row 8: the served page carries the window's policy", async () => {
  const home = makeHome();
  const app = await serve(home);
  const context = await browser.newContext();
  const tab = await context.newPage();
  const answer = await tab.goto(app.url);
  const windows = JSON.parse(readFileSync(new URL("../../tauri.conf.json", import.meta.url))).app.security.csp;
  const directives = (policy) => Object.fromEntries(policy.split(";").map((d) => d.trim().split(/\s+/)).map(([name, ...values]) => [name, values.join(" ")]));
  const { "connect-src": served, ...rest } = directives(answer.headers()["content-security-policy"]);
  const { "connect-src": window, ...others } = directives(windows);
  assert.deepEqual(rest, { ...others, ...("frame-ancestors" in rest ? { "frame-ancestors": "'none'" } : {}) });
  assert.ok(served.startsWith("'self'") && window.startsWith("'self'"));
  await context.close();
  await app.stop();
  home.remove();
});
