// An MCP server over stdio that lists as many tools as its argument says. Some have names as long as no column is wide.

import { createInterface } from "node:readline";

const tools = Array.from({ length: Number(process.argv[2]) }, (_, n) => ({
  name: n % 7 === 3 ? `tool_${n}_with_a_name_that_goes_on_${"and_on_".repeat(12)}until_nobody_reads_it` : `tool_${n}`,
  title: n % 5 === 0 ? `Tool number ${n}` : undefined,
  description: `Does what number ${n} does. ${"It says a lot. ".repeat(n % 11)}`,
  inputSchema: { type: "object" },
}));

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  if (method === "initialize") answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "crowd", version: "1.0.0" } });
  else if (method === "tools/list") answer({ tools });
  else if (id !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: `no ${method}` } })}\n`);
});
