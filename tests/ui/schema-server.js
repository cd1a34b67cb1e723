// An MCP server over stdio whose tools have schemas of all kinds; each answers with the very characters of the arguments it
// was called with, `mirror` also as its structured content.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const written = JSON.parse(readFileSync(new URL("../../ui/dev/schemas.json", import.meta.url), "utf8"));
const many = (n, of) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${i}`, of(i)]));
const generated = [
  { name: "mirror", description: "Gives back its arguments as structured content.", input_schema: { type: "object" } },
  { name: "thousands", description: "Thousands of arguments.", input_schema: { type: "object", properties: many(3000, (i) => ({ type: "string", description: `Argument ${i}` })) } },
  { name: "multiplies", description: "Every member is the whole again.", input_schema: { type: "object", required: Object.keys(many(300, () => 0)), properties: many(300, () => ({ $ref: "#" })) } },
  { name: "huge_choice", description: "A choice among 5,000.", input_schema: { type: "object", properties: { code: { enum: Array.from({ length: 5000 }, (_, i) => `code-${i}`) } } } },
];
const tools = [...written, ...generated].map(({ name, title, description, input_schema }) => ({ name, title, description, inputSchema: input_schema }));

/** The characters of `"arguments":` in a request, up to the brace that closes them. */
function argumentsOf(line) {
  const start = line.indexOf('"arguments":') + '"arguments":'.length;
  let depth = 0;
  for (let at = start, inside = false; at < line.length; at++) {
    const c = line[at];
    if (inside) {
      if (c === "\\") at++;
      else if (c === '"') inside = false;
    } else if (c === '"') inside = true;
    else if (c === "{" || c === "[") depth++;
    else if ((c === "}" || c === "]") && --depth === 0) return line.slice(start, at + 1);
  }
  return line.slice(start);
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  if (method === "initialize") answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "forms", version: "1.0.0" } });
  else if (method === "tools/list") answer({ tools });
  else if (method === "tools/call" && params.name === "mirror")
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${argumentsOf(line)}}}\n`);
  else if (method === "tools/call") answer({ content: [{ type: "text", text: `got ${argumentsOf(line)}` }] });
  else if (method === "ping") answer({});
  else if (id !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: `no ${method}` } })}\n`);
});
