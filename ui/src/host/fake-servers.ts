// What the played engine's servers are made of, and what a person is shown before one starts.

import type { CallState, ConsentView, ProposalsReply, ServerRow, ServerStatus, ToolRef } from "./api";

export type FakeTool = Partial<ToolRef> & { name: string; input_schema?: unknown; answer?: CallState; takes?: number };
export type FakeServer = Partial<ServerRow> & { name: string; level?: string; tools?: FakeTool[]; entry?: string; /** It works in a workspace, and chooses among these. */ folders?: string[]; /** A call runs on it. */ busy?: boolean; failure?: Extract<ServerStatus, { kind: "failed" }> };

/** What would start; for one that changed, old and new. */
export function review(row: ServerRow): ConsentView {
  const { name } = row;
  const entry = {
    transport: "stdio" as const,
    command: "npx",
    args: ["-y", `@example/${name}@latest`, "--root", "/home/ada/work/api", "--allow-write"],
    cwd: "/home/ada/work/api",
    variables: [
      { name: "DATABASE_URL", place: "env" },
      { name: "ANTHROPIC_API_KEY", place: "args[3]", warning: "A credential of another program would be sent to this one." },
      { name: "NODE_OPTIONS", place: "env", warning: "It can make the program run other code." },
    ],
    notes: ["The package has no fixed version: every start may run a newer one."],
  };
  const changed = row.consent === "changed";
  return {
    server: name,
    name,
    machine: row.machine,
    file: row.file,
    digest: `digest-${name}`,
    new: entry,
    ...(changed ? { old: { ...entry, args: entry.args.slice(0, 4) } } : {}),
    diff: changed
      ? [
          { old: "{", new: "{", changed: false },
          { old: '  "args": [', new: '  "args": [', changed: false },
          { old: '    "-y",', new: '    "-y",', changed: false },
          { old: `    "@example/${name}@1.2.0",`, new: `    "@example/${name}@latest",`, changed: true },
          { old: '    "--root",', new: '    "--root",', changed: false },
          { old: '    "/home/ada/work/api"', new: '    "/home/ada/work/api",', changed: true },
          { new: '    "--allow-write"', changed: true },
          { old: "  ],", new: "  ],", changed: false },
          { old: '  "command": "npx"', new: '  "command": "npx"', changed: false },
          { old: "}", new: "}", changed: false },
        ]
      : [],
  };
}

const text = (value: string): CallState => ({ kind: "done", is_error: false, content: [{ type: "text", text: value }], bytes: value.length + 40, elapsed_ms: 31 });
export const sampleTools: FakeTool[] = [
  { name: "echo", description: "Says back what it is given.", input_schema: { type: "object", required: ["message"], properties: { message: { type: "string", description: "What to say." } } } },
  { name: "add", title: "Add two numbers", description: "Adds two numbers.", input_schema: { type: "object", required: ["a", "b"], properties: { a: { type: "integer" }, b: { type: "integer" } } }, answer: { kind: "done", is_error: false, content: [{ type: "text", text: '{"sum":42}' }], structured: '{"sum":42}', bytes: 71, elapsed_ms: 4 } },
  { name: "current_time", description: "The time now, in a zone.", input_schema: { type: "object", properties: { zone: { type: "string", default: "UTC" } } }, answer: text("2026-11-30T11:59:00Z") },
  { name: "slow", description: "Takes its time and reports progress.", takes: 6000, input_schema: { type: "object", properties: { seconds: { type: "integer", default: 6, minimum: 1, maximum: 60 } } } },
  { name: "big", description: "Answers with more than fits.", input_schema: { type: "object", properties: {} }, answer: { kind: "failed", message: "The result is 131,072 bytes; the limit is 65,536 bytes. It was refused, not cut short. Ask the tool for less.", stderr: [], elapsed_ms: 12 } },
  { name: "careful", title: "Asks every time", description: "Marked by the server: a person decides on every call.", always_asks: true, input_schema: { type: "object", properties: {} } },
];

/** What pasted text proposes: the members of `mcpServers`, or each line as a command that starts a server of files. */
export function pastedServers(text: string, exists: (name: string) => boolean): ProposalsReply {
  const propose = (name: string, entry: unknown) => ({ name, entry: JSON.stringify(entry, null, 2), reasons: [], notes: [], exists: exists(name) });
  if (!text.startsWith("{")) {
    const [command, ...args] = text.split(/\s+/);
    return { proposals: [propose("filesystem", { command, args })] };
  }
  try {
    const { mcpServers } = JSON.parse(text) as { mcpServers: Record<string, unknown> };
    return { proposals: Object.entries(mcpServers).map(([name, entry]) => propose(name, entry)) };
  } catch {
    return { proposals: [], message: "The text is not valid JSON." };
  }
}
