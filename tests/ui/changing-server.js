// An MCP server over stdio that says after its first call that its tools changed, and lists the one it has with another
// argument from then on.

import { createInterface } from "node:readline";

let changed = false;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const name = changed ? "fresh" : "old";
  if (method === "initialize") send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "changing", version: "1.0.0" } } });
  else if (method === "tools/list") send({ id, result: { tools: [{ name: "note", inputSchema: { type: "object", properties: { [name]: { type: "string" } }, required: [name] } }] } });
  else if (method === "tools/call") {
    send({ id, result: { content: [{ type: "text", text: `noted ${JSON.stringify(params.arguments)}` }] } });
    if (!changed) send({ method: "notifications/tools/list_changed" });
    changed = true;
  } else if (id !== undefined) send({ id, error: { code: -32601, message: `no ${method}` } });
});
