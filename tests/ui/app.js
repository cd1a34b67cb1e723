// `mework serve` on a home folder of its own, and Chromium on its address.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const servers = process.env.MEWORK_TEST_SERVERS;
const mework = process.env.MEWORK_BIN;
if (!mework || !servers) throw new Error("MEWORK_BIN and MEWORK_TEST_SERVERS are not set: run `make test`, which sets them");

const page = join(dirname(fileURLToPath(import.meta.url)), "../../ui/dist");

/** Servers as real people declare them, by name. */
export const real = {
  everything: { command: join(servers, "node_modules/.bin/mcp-server-everything"), args: ["stdio"] },
  time: { command: join(servers, "venv/bin/mcp-server-time"), args: ["--local-timezone", "Europe/Berlin"] },
};

/** A home folder, empty or with servers in its mcp.json. */
export function makeHome(declared) {
  const path = mkdtempSync(join(tmpdir(), "mework-home-"));
  const home = {
    path,
    file: join(path, ".mework/mcp.json"),
    declare(entries) {
      mkdirSync(join(path, ".mework"), { recursive: true });
      writeFileSync(home.file, JSON.stringify({ mcpServers: entries }, null, 2));
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
  if (declared) home.declare(declared);
  return home;
}

/** Starts `mework serve`; resolves with its address, which holds the one-time token. */
export async function serve(home, port = 0) {
  const child = spawn(mework, ["serve", "--port", String(port), "--ui", page], {
    env: { ...process.env, MEWORK_HOME: home.path, HOME: home.path },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(line);
      if (found) resolve(found[0]);
    });
    child.on("exit", (code) => reject(new Error(`mework serve ended with ${code}: ${said}`)));
  });
  return {
    url,
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners("exit");
        child.once("exit", resolve);
        child.kill("SIGTERM");
      }),
  };
}

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });

/** A signed-in page. What it complains of is an error of the test that uses it. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 780 }, reducedMotion: "reduce", ...options });
  const tab = await context.newPage();
  tab.setDefaultTimeout(30_000);
  const problems = [];
  tab.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  tab.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()}`);
  });
  tab.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.hostname !== "127.0.0.1") problems.push(`foreign request: ${url}`);
  });
  await tab.goto(address);
  await tab.getByRole("button", { name: /^(Choose a tool to call|Tool:)/ }).last().waitFor();
  return { tab, problems, context };
}
