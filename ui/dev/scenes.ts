// States of the window worth looking at.

import type { Entry } from "../src/host/api";
import type { FakeOptions } from "../src/host/fake";
import { sampleTools, type FakeServer, type FakeTool } from "../src/host/fake-servers";
import schemas from "./schemas.json";

const hour = 3_600_000;
const now = Date.now();
const files: FakeTool[] = [
  { name: "read_file", title: "Read File", description: "Read the complete contents of a file from the file system. Handles various text encodings.\n\nOnly works within allowed directories.", input_schema: { type: "object", required: ["path"], properties: { path: { type: "string", description: "Path of the file, relative to an allowed directory." }, head: { type: "integer", description: "First lines only.", minimum: 1 }, encoding: { enum: ["utf-8", "latin1", "base64"], default: "utf-8" } } } },
  { name: "write_file", title: "Write File", description: "Create a new file or completely overwrite an existing file with new content.", input_schema: { type: "object", required: ["path", "content"], properties: { path: { type: "string" }, content: { type: "string" }, options: { type: "object", properties: { overwrite: { type: "boolean" }, mode: { type: "integer" } } } } } },
  { name: "list_directory", description: "Get a detailed listing of all files and directories in a specified path.", input_schema: { type: "object", required: ["path"], properties: { path: { type: "string" } } } },
  { name: "search_files", description: "Recursively search for files and directories matching a pattern.", input_schema: { type: "object", required: ["path", "pattern"], properties: { path: { type: "string" }, pattern: { type: "string" }, excludePatterns: { type: "array", items: { type: "string" }, default: [] } } } },
  { name: "delete_everything", title: "Delete", description: "Removes a directory with all that is in it.", always_asks: true, input_schema: { type: "object", required: ["path"], properties: { path: { type: "string" } } } },
];
const connected = (tools: number, name: string) => ({ kind: "connected" as const, tools, asking: 0, definition_bytes: 4820, heaviest: [{ name: "read_file", bytes: 1480 }, { name: "echo", bytes: 220 }], set_aside: [], notices: [], server_name: name, server_version: "2026.7.1", protocol: "2025-11-25", elapsed_ms: 812 });
const failed = {
  kind: "failed" as const,
  stage: "handshake" as const,
  message: "It ended before it answered, with exit code 1. DOCS_TOKEN is not passed on to it; name it in envPassthrough, or set it in env.",
  exit_code: 1,
  stderr: ["node:internal/modules/cjs/loader:1228", "  throw err;", "  ^", "Error: DOCS_TOKEN is not set", "    at main (/home/ada/.npm/_npx/docs/index.js:14:9)"],
  stdout_noise: 1,
  stdout_sample: ["Server starting…"],
};
const servers: FakeServer[] = [
  { name: "filesystem", consent: "given", summary: "npx -y @modelcontextprotocol/server-filesystem /home/ada/work", description: "Reads and writes files below /home/ada/work.", tools: files, status: connected(14, "secure-filesystem-server") },
  { name: "time", consent: "given", summary: "uvx mcp-server-time --local-timezone=Europe/Berlin", tools: sampleTools.slice(2, 3), status: connected(2, "mcp-time") },
  { name: "docs", consent: "given", summary: "npx -y @acme/docs-mcp --token ${DOCS_TOKEN}", status: failed, failure: failed },
  { name: "tickets", available: false, summary: "uvx tickets-mcp", reasons: ["${TICKETS_TOKEN} is not set, and it has no default.", "cwd /srv/tickets is not an existing folder."] },
  { name: "a-server-with-a-name-that-goes-on-and-on-until-it-no-longer-fits-anywhere", consent: "given", summary: "/usr/local/lib/some/very/long/path/to/a/program --with --many --options" },
  { name: "postgres", level: "api", consent: "given", summary: "npx -y @acme/postgres-mcp ${DATABASE_URL}", status: { kind: "connecting", since: now }, tools: [] },
  { name: "git", level: "api", consent: "changed", summary: "uvx mcp-server-git --repository .", status: { kind: "idle" } },
  { name: "deploy", level: "api", summary: "/usr/local/bin/deploy-mcp --dry-run" },
  { name: "old-metrics", consent: "given", summary: "npx metrics", status: { kind: "dangling" }, file: "/home/ada/work/api/.mework/mcp.json" },
];
const png = "iVBORw0KGgoAAAANSUhEUgAAAGAAAABACAIAAABqVuVZAAAAnklEQVR42u3QMRFDIQBAsQqriC7YwMZfKoK5DnCArGp4K5e7KMjr/TnJiGb0RCva0UuQIEGCBAkSJEiQIEGCBAkSJOi2oHmSEc3oiVa0I0GCBAkSJEiQIEGCBAkSJEiQoOuCvicZ0YyeaEU7EiRIkCBBggQJEiRIkCBBggQJui7od5IRzeiJVrQjQYIECRIkSJAgQYIECRIkSJCgy4L+Kmz2aBdsxzwAAAAASUVORK5CYII=";
const call = (id: string, at: number, more: Partial<Extract<Entry["body"], { kind: "call" }>>): Entry => ({
  id,
  at,
  body: { kind: "call", server: "filesystem", server_name: "filesystem", machine: "This computer", tool: "read_file", arguments: '{"path":"src/main.rs"}', state: { kind: "running" }, approval: { by: "person in the window", at: at + 2000, arguments_digest: "9f86d081884c7d659a2feaa0c55ad015" }, asked_at: at + 120, answered_at: at + 2000, started_at: at + 2000, ended_at: at + 2400, ...more },
});
const transcript: Entry[] = [
  { id: "n1", at: now - 2 * hour, body: { kind: "notice", text: "docs could not be reached and was left out: it ended before it answered, with exit code 1.", diff: [] } },
  call("e1", now - 2 * hour, { title: "Read File", state: { kind: "done", is_error: false, bytes: 1843, elapsed_ms: 132, content: [{ type: "text", text: 'use std::io;\n\nfn main() -> io::Result<()> {\n    println!("<b>not html</b>");\n    Ok(())\n}\n\u{202e}// evil\u{202c}' }] } }),
  call("e2", now - hour, { tool: "list_directory", arguments: '{"path":"/srv/secret","depth":3}', state: { kind: "done", is_error: true, bytes: 133, elapsed_ms: 21, content: [{ type: "text", text: "Error: Access denied - path outside allowed directories: /srv/secret not in /home/ada/work" }] } }),
  call("e3", now - hour, { server: "time", server_name: "time", tool: "get_current_time", arguments: '{"timezone":"Asia/Tokyo"}', approval: { by: "level Full access", at: now - hour, arguments_digest: "ab" }, started_at: now - hour, state: { kind: "done", is_error: false, bytes: 240, elapsed_ms: 8, content: [{ type: "text", text: '{"timezone":"Asia/Tokyo","datetime":"2026-11-30T20:59:00+09:00","is_dst":false}' }], structured: '{"timezone":"Asia/Tokyo","datetime":"2026-11-30T20:59:00+09:00","is_dst":false,"zones":["JST","+09:00"],"serial":1234567890123456789}' } }),
  call("e4", now - 20 * 60_000, { tool: "screenshot", arguments: '{"window":1}', state: { kind: "done", is_error: false, bytes: 9102, elapsed_ms: 640, content: [{ type: "image", mime: "image/png", data: png, width: 96, height: 64 }, { type: "resource_link", name: "Full page", uri: "file:///tmp/shot.png", mime: "image/png" }, { type: "audio", mime: "audio/wav", bytes: 48211 }] } }),
  call("e5", now - 9 * 60_000, { tool: "search_files", arguments: '{"path":".","pattern":"**/*.rs"}', state: { kind: "failed", message: "It did not answer within 45 s and was stopped. The server was closed; the next call starts it anew.", stderr: ["indexing…", "indexing…"], elapsed_ms: 45012 } }),
  call("e6", now - 8 * 60_000, { tool: "write_file", arguments: '{"path":"notes.md","content":"# Notes"}', approval: undefined, started_at: undefined, state: { kind: "denied", reason: "Not in this folder." } }),
  // Four at once, and one that somebody stopped.
  ...[300, 900, 20_000, 4_000].map((ms, i) => call(`p${i}`, now - 7 * 60_000 + i * 150, { tool: `part_${i}`, approval: undefined, started_at: now - 7 * 60_000 + i * 150 + 60, ended_at: now - 7 * 60_000 + i * 150 + 60 + ms, state: i === 2 ? { kind: "stopped" } : { kind: "done", is_error: false, bytes: 2, elapsed_ms: ms, content: [] } })),
];
const workspaces = [
  { id: "api", path: "/home/ada/work/api", name: "api", machine: "This computer", exists: true },
  { id: "web", path: "/home/ada/work/web", name: "web", machine: "This computer", exists: true },
  { id: "gone", path: "/mnt/usb/notes", name: "notes", machine: "This computer", exists: false },
];
const conversations: NonNullable<FakeOptions["conversations"]> = [
  { id: "c1", title: "Look into the flaky import", workspaces: ["api", "web"], entries: transcript, updated_at: now },
  { id: "c2", title: "Rename the metrics module and everything that still depends on it", workspaces: ["api"], updated_at: now - 5 * hour },
  { id: "c3", title: "Release notes", workspaces: ["web"], held_by: "mework on the command line (pid 4121)", entries: transcript.slice(1, 4), updated_at: now - 30 * hour },
  { id: "c4", title: "Scratch", updated_at: now - 300 * hour },
];
const many: FakeServer[] = Array.from({ length: 200 }, (_, i) => ({
  name: `server-${String(i).padStart(3, "0")}`,
  consent: "given" as const,
  summary: `npx -y @acme/server-${i}`,
  status: i % 3 === 0 ? connected(20, `server-${i}`) : { kind: "idle" as const },
  tools: Array.from({ length: 20 }, (_, t) => ({ name: `${["read", "write", "list", "delete", "find"][t % 5]}_${["issue", "page", "user", "commit"][t % 4]}_${t}`, description: `Does thing ${t} of server ${i}.`, input_schema: { type: "object", properties: { id: { type: "string" }, limit: { type: "integer", default: 20 } } } })),
}));

const thousand: Entry[] = Array.from({ length: 1000 }, (_, i) => call(`t${i}`, now - 1000 * 4000 + i * 4000, { tool: `tool_${i % 7}`, ended_at: now - 1000 * 4000 + i * 4000 + 2000 + ((i * 7919) % 3000), state: { kind: "done", is_error: i % 9 === 0, bytes: 4, elapsed_ms: 3, content: [] } }));

export const scenes: Record<string, FakeOptions> = {
  thousand: { conversations: [{ id: "c1", title: "A thousand calls", entries: thousand }], servers: servers.slice(0, 2), ticked: ["filesystem"] },
  full: { workspaces, conversations, servers, ticked: ["filesystem", "time", "docs", "postgres", "git", "old-metrics"] },
  first: { app: { first_start: true } },
  found: { workspaces: [], conversations: [], servers: servers.slice(0, 5), app: { first_start: true } },
  broken: { workspaces, conversations: [{ id: "c1", title: "A broken file", workspaces: ["api"] }], sections: [{ level: "global", message: "This file is ignored: line 4, column 12: a comma is missing between two entries.", file_exists: true }], notices: ["The database could not be read and was set aside as mework.db.broken-1; this is a new one."] },
  many: { workspaces, conversations, servers: many, ticked: many.map((s) => s.name) },
  forms: { conversations: [{ id: "c1", title: "Forms" }], servers: [{ name: "forms", consent: "given", tools: schemas as FakeTool[], status: connected(schemas.length, "forms") }], ticked: ["forms"] },
  empty: { conversations: [{ id: "c1", title: "New conversation" }], servers: servers.slice(0, 2), ticked: ["filesystem", "time"] },
};
