// An MCP server without any package, as small as one in JavaScript can be. `--tools=N` offers N tools of the size that real
// ones have; `--silent` never answers.

import { createInterface } from "node:readline";

const flag = (name) => process.argv.find((word) => word.startsWith(name));
const count = Number(flag("--tools=")?.slice(8) ?? 3);
const verbs = ["read", "write", "list", "search", "delete", "create", "move", "compare"];
const things = ["file", "folder", "issue", "page", "user", "commit", "branch", "release", "message", "calendar"];

const tools = Array.from({ length: count }, (_, i) => ({
  name: `${verbs[i % verbs.length]}_${things[i % things.length]}_${i}`,
  title: `${verbs[i % verbs.length]} a ${things[i % things.length]}`,
  description: `Can ${verbs[i % verbs.length]} one ${things[i % things.length]} and answers with what became of it, number ${i}.\n\nNeeds the right to do so; asks for nothing else.`,
  inputSchema: {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string", description: `Which ${things[i % things.length]}.` },
      limit: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many at most." },
      fields: { type: "array", items: { type: "string" }, description: "What to answer with." },
    },
  },
}));

const results = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "plain", version: "1.0.0" } }),
  "tools/list": () => ({ tools }),
  "tools/call": (params) => ({ content: [{ type: "text", text: JSON.stringify(params.arguments ?? {}) }] }),
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || flag("--silent")) return;
  const result = results[method];
  const answer = result ? { result: result(params ?? {}) } : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});
