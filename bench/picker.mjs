// Opens the picker over 2,048 tools of four real servers in Chromium, types into it, and prints for each round the longest task of
// the page's main thread by the clock, and the most processor time that one took: the browser's own trace knows tasks of any length,
// and its `longtask` entries begin at 50 ms, which is the goal.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { button } from "../tests/ui/states.js";
import { launch, makeHome, open, serve } from "../tests/ui/app.js";

const rounds = Number(process.argv[2] ?? 1);
const server = join(dirname(fileURLToPath(import.meta.url)), "plain-server.mjs");
const tools = 2048;
const names = ["alpha", "beta", "gamma", "delta"];
/** What somebody types: a word, a second one, back, initials, a word that fits everything, one that fits nothing. */
const typed = ["read", " issue", "Backspace*6", "Backspace*4", "gcu", "Backspace*3", "e", "Backspace", "release 20", "Backspace*10", "zzq"];

/** Longest task of the page's main thread between two marks, by the clock and by processor time, and what the first one did. */
function longest(trace) {
  const events = JSON.parse(trace).traceEvents;
  const mark = (name) => events.find((e) => e.name === name && e.cat.includes("blink.user_timing"));
  const [begin, end] = [mark("typing begins"), mark("typing ends")];
  const own = events.filter((e) => e.pid === begin.pid && e.tid === begin.tid && e.ts >= begin.ts && e.ts <= end.ts && e.dur > 0);
  const tasks = own.filter((e) => e.name === "RunTask");
  const task = tasks.reduce((a, b) => (b.dur > a.dur ? b : a));
  const inside = own.filter((e) => e.ts > task.ts && e.ts + e.dur <= task.ts + task.dur && e.dur > task.dur / 5);
  return { ms: task.dur / 1000, cpu: Math.max(...tasks.map((t) => t.tdur)) / 1000, did: inside.map((e) => `${e.name} ${(e.dur / 1000).toFixed(1)}`) };
}

const home = makeHome(Object.fromEntries(names.map((name) => [name, { command: "node", args: [server, `--tools=${tools / names.length}`] }])));
const app = await serve(home);
const browser = await launch();
try {
  const { tab, problems } = await open(browser, app.url);
  await tab.keyboard.press("Control+,");
  for (const name of names) {
    await tab.getByRole("checkbox", { name: `Use ${name} in this conversation`, exact: true }).click();
    await button(tab, `${name}: ${tools / names.length} tools. Details`).waitFor();
  }
  await button(tab, "Back to the conversation").click();

  const found = [];
  // The first one warms up the page's code.
  for (let round = 0; round <= rounds; round++) {
    await tab.getByRole("button", { name: /^(Choose a tool to call|Tool:)/ }).last().click();
    await tab.getByRole("combobox", { name: "Search tools" }).and(tab.getByPlaceholder(/2.?048/)).waitFor();
    await tab.getByRole("option").first().waitFor();
    await browser.startTracing(tab, { categories: ["toplevel", "devtools.timeline", "blink.user_timing", "disabled-by-default-devtools.timeline"] });
    await tab.evaluate(() => performance.mark("typing begins"));
    for (const piece of typed) {
      const [key, times] = piece.split("*");
      if (key === "Backspace") for (let i = 0; i < Number(times ?? 1); i++) await tab.keyboard.press(key, { delay: 20 });
      else await tab.keyboard.type(piece, { delay: 40 });
      await tab.evaluate(() => new Promise((next) => requestAnimationFrame(() => setTimeout(next, 30))));
    }
    await tab.getByText(/zzq/).waitFor();
    await tab.evaluate(() => performance.mark("typing ends"));
    const one = longest((await browser.stopTracing()).toString());
    if (round > 0) found.push(one);
    await tab.keyboard.press("Escape");
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  console.log(JSON.stringify({ longest_ms: found.map((one) => one.ms), cpu_ms: found.map((one) => one.cpu), did: found.map((one) => one.did) }));
} finally {
  await browser.close();
  await app.stop();
  home.remove();
}
