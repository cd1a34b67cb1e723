// Every main state in a real browser: it can be reached, nothing is asked of the network, nothing is complained of, axe
// finds nothing wrong, light and dark, and nothing is cut off or covered at any size.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { launch, makeHome, open, serve } from "./app.js";
import { misfits } from "./fits.js";
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

/** The default window, a small one, a narrow one, and what a zoom of 200 % leaves of 1180 by 800, of 800 by 1400
 * and of the smallest, 640 by 420. */
const sizes = [[1180, 800], [800, 600], [480, 800], [590, 400], [400, 700], [320, 210]];

/** What does not fit at some size. */
async function misfitsAtAllSizes(tab) {
  const all = {};
  for (const [width, height] of sizes) {
    await tab.setViewportSize({ width, height });
    await tab.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
    const found = await tab.evaluate(misfits);
    if (found.length > 0) all[`${width} by ${height}`] = found;
  }
  return all;
}

for (const name of Object.keys(states)) {
  test(`${name}: reachable, quiet, and without a fault, light and dark, at every size`, async () => {
    await withState(name, async (app, go) => {
      const { tab, problems, context } = await open(browser, app.url, { colorScheme: "light" });
      await go(tab);
      assert.deepEqual(await faults(tab), [], "light");
      await tab.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await faults(tab), [], "dark");
      assert.deepEqual(await misfitsAtAllSizes(tab), {});
      assert.deepEqual(problems, []);
      await context.close();
    });
  });
}

test("what does not fit is seen: a button that is too wide, a covered one, words that are cut off", async () => {
  await withState("found", async (app, go) => {
    const { tab, context } = await open(browser, app.url);
    await go(tab);
    assert.deepEqual(await tab.evaluate(misfits), []);
    const spoil = (label, property, value) => tab.getByRole("button", { name: label, exact: true }).first().evaluate((e, [p, v]) => e.style.setProperty(p, v), [property, value]);
    await spoil("New conversation", "min-width", "400px");
    assert.match((await tab.evaluate(misfits)).join("\n"), /sticks out .*: button.button.new "New conversation"/);
    await spoil("New conversation", "min-width", "0");
    await spoil("Choose among 3 servers", "translate", "150px");
    assert.match((await tab.evaluate(misfits)).join("\n"), /covered: button.button "Try the sample server" by button.button.primary "Choose among 3 servers"/);
    await spoil("Choose among 3 servers", "translate", "none");
    await tab.locator("h2").first().evaluate((e) => Object.assign(e.style, { overflow: "hidden", width: "40px", whiteSpace: "nowrap" }));
    assert.match((await tab.evaluate(misfits)).join("\n"), /hides \d+ px: h2 "/);
    await context.close();
  });
});

test("ui.md, rule 7: nothing moves by itself for those who asked for that, and things do for the others", async () => {
  // What takes time to look as it will, by rule, on a page with an editor, switches and a spinner.
  const moving = () => {
    const seconds = (list) => list.split(",").map((time) => parseFloat(time) * (time.trim().endsWith("ms") ? 0.001 : 1));
    const found = new Set();
    for (const element of document.querySelectorAll("*"))
      for (const part of [null, "::before", "::after"]) {
        const { transitionDuration, animationName, animationDuration, scrollBehavior } = getComputedStyle(element, part);
        if (seconds(transitionDuration).some((time) => time > 0)) found.add("transition");
        if (animationName !== "none" && seconds(animationDuration).some((time) => time > 0)) found.add("animation");
        if (scrollBehavior === "smooth") found.add("scrolling");
      }
    return [...found].sort();
  };
  const home = makeHome({ slow: { command: "/bin/sh", args: ["-c", "sleep 600"] } });
  const app = await serve(home);
  const { tab, problems, context } = await open(browser, app.url, { reducedMotion: "no-preference" });
  await tab.keyboard.press("Control+,");
  // Its badge spins for as long as nothing answers.
  await tab.getByRole("button", { name: "Test connection to slow" }).click();
  await tab.locator(".spin").first().waitFor();
  assert.deepEqual(await tab.evaluate(moving), ["animation", "transition"]);
  await tab.emulateMedia({ reducedMotion: "reduce" });
  assert.deepEqual(await tab.evaluate(moving), []);
  assert.deepEqual(problems, []);
  await context.close();
  await app.stop();
  home.remove();
});

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
