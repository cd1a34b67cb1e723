// The main states of the app, each reached the way a person reaches it. Tests look at every one of them with axe; `make
// shots` takes their pictures.

import { fileURLToPath } from "node:url";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeHome, real, serve } from "./app.js";

/** A server whose tools have schemas of all kinds. */
export const forms = { command: process.execPath, args: [fileURLToPath(new URL("schema-server.js", import.meta.url))] };

/** A server that lists so many tools. */
export const crowd = (tools) => ({ command: process.execPath, args: [fileURLToPath(new URL("crowd-server.js", import.meta.url)), String(tools)] });
/** 200 servers: one of many tools, one of more than may be used, one whose name goes on, and others beside them. */
const crowded = {
  big: crowd(1900),
  huge: crowd(3000),
  [`a-name-that-goes-on-${"and-on-".repeat(9)}until-nobody-reads-it`]: crowd(40),
  ...Object.fromEntries(Array.from({ length: 197 }, (_, n) => [`server-${n}`, { command: "/bin/cat", ...(n % 5 === 0 ? { description: `Does what number ${n} does` } : {}) }])),
};
async function useCrowd(tab) {
  await tab.keyboard.press("Control+,");
  for (const [name, badge] of [["big", /^big: 1,900 tools/], ["huge", /^huge: Connection failed/], [/^Use a-name/, /^a-name.*: 40 tools/]]) {
    await tab.getByRole("checkbox", typeof name === "string" ? { name: `Use ${name} in this conversation`, exact: true } : { name }).click();
    await tab.getByRole("button", { name: badge }).waitFor();
  }
}

export const button = (tab, name) => tab.getByRole("button", { name, exact: true });

export async function declareAndTick(tab, names) {
  await tab.keyboard.press("Control+,");
  for (const name of names) {
    await tab.getByRole("checkbox", { name: `Use ${name} in this conversation`, exact: true }).click();
    await button(tab, `${name}: ${name === "time" ? "2 tools" : "13 tools"}. Details`).waitFor();
  }
  await button(tab, "Back to the conversation").click();
}

/** Ticks servers and waits until each has listed its tools. */
export async function use(tab, names) {
  await tab.keyboard.press("Control+,");
  for (const name of names) {
    await tab.getByRole("checkbox", { name: `Use ${name} in this conversation`, exact: true }).click();
    await tab.getByRole("button", { name: new RegExp(`^${name}: \\d+ tools`) }).waitFor();
  }
  await button(tab, "Back to the conversation").click();
}

export async function chooseTool(tab, query, tool) {
  await tab.getByRole("button", { name: /^(Choose a tool to call|Tool:)/ }).last().click();
  await tab.getByRole("combobox", { name: "Search tools" }).fill(query);
  await tab.getByRole("option", { name: new RegExp(`^${tool}\\b`) }).first().click();
  await tab.getByText("The arguments fit the schema").or(tab.getByText(/Line 1|still to fill in|takes no arguments|Not checked here/)).first().waitFor();
}

/** Writes the arguments as JSON, whatever way was used last. */
export async function asJson(tab) {
  await button(tab, "JSON").click();
  return tab.getByRole("textbox", { name: "Arguments as JSON" });
}

export async function call(tab, args) {
  const editor = await asJson(tab);
  await editor.fill(JSON.stringify(args));
  await editor.press("Control+Enter");
}

export async function allow(tab, tool) {
  await tab.getByRole("heading", { name: new RegExp(`wants to run\\s+${tool}`) }).waitFor();
  await tab.locator('button[aria-disabled="false"]', { hasText: "Allow once" }).first().click();
}

/** Opens a card's editor and writes in place of what was asked for. */
export async function edit(tab, tool, text) {
  await button(tab, "Edit arguments").click();
  await tab.getByRole("textbox", { name: `Arguments of ${tool} on the card, as JSON` }).fill(text);
}

export const entry = (tab) => tab.getByRole("textbox", { name: "Entry as JSON" });

/** Opens a server's details by its badge, and its entry from there. */
export async function openEditor(tab, badge) {
  await button(tab, `${badge}. Details`).click();
  await button(tab, "Edit").click();
  await button(tab, "JSON").click();
  await entry(tab).waitFor();
}

/** Each state: what is declared before the start, and the way there from the first page. */
export const states = {
  welcome: { declared: null, go: async (tab) => tab.getByText("Welcome to Mework").waitFor() },

  found: {
    declared: { ...real, broken: { command: "x", cwd: "not/absolute" } },
    go: async (tab) => button(tab, "Choose among 3 servers").waitFor(),
  },

  paste: {
    declared: null,
    go: async (tab) => {
      await button(tab, "Add a server").first().click();
      await tab.getByRole("textbox", { name: "Paste a server" }).fill('npx -y @modelcontextprotocol/server-filesystem "/home/me/my files"');
      await button(tab, "Add").waitFor();
    },
  },

  servers: {
    declared: {
      ...real,
      missing: { command: "no-such-program-anywhere", description: "Its program is not installed" },
      remote: { url: "https://example.com/mcp" },
      usage: { command: "/bin/sh", args: ["-c", "echo 'usage: thing [options]' >&2; exit 2"] },
    },
    go: async (tab) => {
      await tab.keyboard.press("Control+,");
      for (const name of ["everything", "time"]) {
        await tab.getByRole("checkbox", { name: `Use ${name} in this conversation`, exact: true }).click();
        await tab.getByRole("button", { name: new RegExp(`^${name}: \\d+ tools`) }).waitFor();
      }
      for (const name of ["missing", "usage"]) {
        await button(tab, `Test connection to ${name}`).click();
        await button(tab, `${name}: Connection failed. Details`).waitFor();
      }
      await button(tab, "usage: Connection failed. Details").click();
      await tab.getByText("usage: thing [options]").first().waitFor();
    },
  },

  picker: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything", "time"]);
      await tab.keyboard.press("/");
      await tab.getByRole("combobox", { name: "Search tools" }).fill("get");
      await tab.getByRole("option").nth(3).waitFor();
    },
  },

  form: {
    declared: { forms },
    go: async (tab) => {
      await use(tab, ["forms"]);
      await chooseTool(tab, "book", "book_trip");
      await tab.getByLabel("Destination").fill("Kyōto");
      await tab.getByLabel("travellers").fill("12");
      await tab.getByRole("group", { name: "Arguments as a form" }).getByText(/maximum of 9/).waitFor();
    },
  },

  formList: {
    declared: { forms },
    go: async (tab) => {
      await use(tab, ["forms"]);
      await chooseTool(tab, "book", "book_trip");
      await (await asJson(tab)).fill('{"city": "Kyōto", "when": "2026-12-31", "travellers": 2, "seat": "any", "notify": {"name": "Ada"}, "via": ["Osaka", "Nara"], "payment": {"kind": "card", "number": "4"}, "budget": null, "labels": {"team": "blue"}, "unknown": 1.0}');
      await button(tab, "Form").click();
      await tab.getByRole("button", { name: "Add an item: via" }).focus();
      await tab.getByText("The arguments fit the schema").waitFor();
    },
  },

  formHostile: {
    declared: { forms },
    go: async (tab) => {
      await use(tab, ["forms"]);
      await chooseTool(tab, "hostile", "hostile");
      await tab.getByLabel("<img src=x").focus();
    },
  },

  formCard: {
    declared: { forms },
    go: async (tab) => {
      await use(tab, ["forms"]);
      await chooseTool(tab, "book", "book_trip");
      await (await asJson(tab)).fill('{"city": "Kyōto", "when": "2026-12-31", "travellers": 2, "seat": "any", "notify": {"name": "Ada"}}');
      await button(tab, "Form").click();
      await tab.keyboard.press("Control+Enter");
      await button(tab, "Edit arguments").click();
      await tab.locator(".ask").getByLabel("travellers").fill("12");
      await tab.locator(".ask .form").getByText(/maximum of 9/).waitFor();
    },
  },

  problems: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything"]);
      await chooseTool(tab, "get-sum", "get-sum");
      await (await asJson(tab)).fill('{\n  "a": "two",\n  "b": 40\n}');
      await tab.getByText("is not of type").first().waitFor();
    },
  },

  card: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything", "time"]);
      await chooseTool(tab, "convert", "convert_time");
      await call(tab, { source_timezone: "Asia/Tokyo", time: "12:00", target_timezone: "Asia/Kolkata" });
      await tab.getByRole("heading", { name: /wants to run/ }).waitFor();
      await chooseTool(tab, "echo", "echo");
      await call(tab, { message: "hidden \u202e text, a zero\u200bwidth space" });
      await tab.getByRole("heading", { name: /wants to run/ }).nth(1).waitFor();
    },
  },

  edit: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything"]);
      await chooseTool(tab, "get-sum", "get-sum");
      await call(tab, { a: 2, b: 40 });
      await edit(tab, "get-sum", '{\n  "a": "two",\n  "b": 40\n}');
      await tab.getByText("Line 2").first().waitFor();
    },
  },

  edited: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything"]);
      await chooseTool(tab, "echo", "echo");
      await call(tab, { message: "as it was asked" });
      await edit(tab, "echo", '{\n  "message": "as it was edited"\n}');
      await allow(tab, "echo");
      await tab.getByText("Echo: as it was edited").first().waitFor();
      await tab.getByRole("button", { name: /^Arguments/ }).click();
      await call(tab, { message: "another" });
      await edit(tab, "echo", '{\n  "message": "another, edited"\n}');
      await tab.keyboard.press("Escape");
      await tab.getByRole("region", { name: "What differs from what was asked for" }).waitFor();
    },
  },

  lostEdit: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything"]);
      await chooseTool(tab, "echo", "echo");
      for (const message of ["edited here, answered elsewhere", "still waiting"]) {
        if (message === "still waiting") await tab.getByRole("button", { name: /^Go on with the arguments/ }).click();
        await call(tab, { message });
        await tab.locator("section.ask", { hasText: message }).waitFor();
      }
      await tab.locator("section.ask").first().getByRole("button", { name: "Edit arguments" }).click();
      await tab.getByRole("textbox", { name: "Arguments of echo on the card, as JSON" }).fill('{\n  "message": "what was typed meanwhile"\n}');
      const other = await tab.context().newPage();
      await other.goto(new URL("/", tab.url()).href);
      await other.locator("section.ask").first().locator('footer button[aria-disabled="false"]', { hasText: "Deny" }).click();
      await tab.getByRole("heading", { name: "Your edit of echo on everything was not sent." }).waitFor();
      await other.close();
    },
  },

  results: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything", "time"]);
      await chooseTool(tab, "convert", "convert_time");
      await call(tab, { source_timezone: "Asia/Tokyo", time: "12:00", target_timezone: "Asia/Kolkata" });
      await allow(tab, "convert_time");
      await tab.getByText("-3.5h").first().waitFor();
      await chooseTool(tab, "structured", "get-structured-content");
      await call(tab, { location: "New York" });
      await allow(tab, "get-structured-content");
      await chooseTool(tab, "tiny", "get-tiny-image");
      await call(tab, {});
      await allow(tab, "get-tiny-image");
      await tab.getByRole("img", { name: /^Image from everything/ }).waitFor();
    },
  },

  review: {
    declared: real,
    go: async (tab, home) => {
      await declareAndTick(tab, ["time"]);
      home.declare({ ...real, time: { ...real.time, args: ["--local-timezone", "Asia/Tokyo"] } });
      await tab.keyboard.press("Control+,");
      await button(tab, "time: Changed – review. Details").click();
      await button(tab, "Agree to the change").waitFor();
    },
  },

  editing: {
    declared: { ...real, quiet: { command: "/bin/cat", disabledTools: ["one"], disabledAutoApproveTools: ["two"] } },
    go: async (tab) => {
      await declareAndTick(tab, ["everything", "time"]);
      await tab.keyboard.press("Control+,");
      await openEditor(tab, "time: 2 tools");
      await entry(tab).fill('{\n  "command": "true",\n  "cwd": "nowhere",\n  "disabledTools": ["convert_time"]\n}');
      await tab.getByText("It will be Unavailable:").waitFor();
      await tab.getByText("Stops it in").waitFor();
    },
  },

  fields: {
    declared: { ...real, keyed: { command: "/bin/cat", args: ["--root", "/srv"], env: { API_KEY: "s3cret", MODE: "${MODE:-fast}" }, autoApprove: ["*"], description: "Needs a key" } },
    go: async (tab) => {
      await tab.keyboard.press("Control+,");
      await button(tab, "keyed: Not tested. Details").click();
      await button(tab, "Edit").click();
      await tab.getByRole("group", { name: "Entry as a form" }).or(tab.getByLabel("Entry as a form")).first().waitFor();
      await tab.getByText("Nothing is changed.").waitFor();
    },
  },

  renaming: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["everything"]);
      await tab.keyboard.press("Control+,");
      await openEditor(tab, "everything: 13 tools");
      await tab.getByRole("textbox", { name: "Name", exact: true }).fill("all-of-it");
      await tab.getByText("Leaves it Dangling in").waitFor();
    },
  },

  names: {
    declared: {
      [`a-name-that-is-as-long-as-names-may-be-${"and-longer-".repeat(12)}`.slice(0, 128)]: { ...real.time, description: "It goes on. ".repeat(40) },
      "<img src=x onerror=alert(1)>": real.time,
      "turned\u202eround": { command: "x" },
      "": { command: "x" },
      long: { command: `/very/${"long/".repeat(40)}path`, args: Array.from({ length: 40 }, (_, i) => `--option-${i}=${"x".repeat(40)}`) },
      remote: { type: "http", url: `https://example.com/${"segment/".repeat(40)}` },
    },
    go: async (tab) => {
      await tab.keyboard.press("Control+,");
      await tab.getByRole("button", { name: /^a-name-that-is-as-long/ }).click();
      await tab.getByText("Declared in").waitFor();
      await button(tab, "(no name): Unavailable. Details").waitFor();
    },
  },

  crowd: {
    declared: crowded,
    go: async (tab) => {
      await useCrowd(tab);
      await tab.getByRole("button", { name: /^big: 1,900 tools/ }).click();
      await tab.getByRole("region", { name: "Tools (1,900)" }).scrollIntoViewIfNeeded();
    },
  },

  crowdFailed: {
    declared: crowded,
    go: async (tab) => {
      await useCrowd(tab);
      await tab.getByRole("button", { name: /^huge: Connection failed/ }).click();
      await tab.getByText("They are listed once its connection works.").waitFor();
    },
  },

  crowdPicker: {
    declared: crowded,
    go: async (tab) => {
      await useCrowd(tab);
      await button(tab, "Back to the conversation").click();
      await tab.keyboard.press("/");
      await tab.getByRole("combobox", { name: "Search tools" }).fill("name");
      await tab.getByRole("option").nth(5).waitFor();
    },
  },

  workspaces: {
    declared: real,
    go: async (tab, home) => {
      for (const name of ["alpha", `a-folder-with-a-name-that-${"goes-on-and-".repeat(8)}on`]) {
        mkdirSync(join(home.path, name));
        await tab.getByRole("navigation").getByRole("button", { name: "Add a workspace" }).click();
        await tab.getByRole("textbox", { name: "Path of the folder" }).fill(join(home.path, name));
        await tab.keyboard.press("Enter");
        // Its first conversation is made, and opens.
        await tab.getByRole("region", { name, exact: true }).locator('[aria-current="page"]').waitFor();
      }
      await tab.keyboard.press("Control+,");
      await tab.getByRole("tab", { name: "Workspaces" }).click();
      await tab.getByRole("heading", { name: "Other workspaces" }).waitFor();
    },
  },

  timeline: {
    declared: real,
    go: async (tab) => {
      await declareAndTick(tab, ["time"]);
      await chooseTool(tab, "convert", "convert_time");
      await call(tab, { source_timezone: `Nowhere/${"long".repeat(60)}`, time: "12:00", target_timezone: "Asia/Kolkata" });
      await allow(tab, "convert_time");
      await tab.getByText("The tool reported an error").first().waitFor();
      await call(tab, { source_timezone: "Asia/Tokyo", time: "12:00", target_timezone: "Asia/Kolkata" });
      await tab.locator('button[aria-disabled="false"]', { hasText: "Deny" }).click();
      await tab.getByText("Denied").first().waitFor();
      await button(tab, "What the signs mean").click();
      await button(tab, "As a table").click();
      await tab.getByRole("region", { name: "As a table" }).waitFor();
    },
  },

  settings: { declared: real, go: async (tab) => { await button(tab, "Settings").click(); await tab.getByRole("heading", { name: "Settings", exact: true }).waitFor(); } },
  palette: { declared: real, go: async (tab) => { await tab.keyboard.press("Control+k"); await tab.getByPlaceholder("Commands, conversations, tools").waitFor(); } },
  keys: { declared: real, go: async (tab) => { await tab.keyboard.press("?"); await tab.getByRole("heading", { name: "Keyboard" }).waitFor(); } },
};

/** Runs `look` in every state; each has a home and a server of its own. */
export async function withState(name, look) {
  const state = states[name];
  const home = makeHome(state.declared);
  const app = await serve(home);
  try {
    return await look(app, (tab) => state.go(tab, home));
  } finally {
    await app.stop();
    home.remove();
  }
}
