// An entry as a JSON Schema, for the form: the keys Mework knows, with the help's words. It only draws; what an entry means,
// and what is wrong with it, is the engine's to say.

import { parse } from "../../lib/json/json";
import { words } from "../../words";

const w = words.edit.keys;
const text = (description: string, more: object = {}) => ({ type: "string", description, ...more });
const list = (description: string) => ({ type: "array", items: { type: "string" }, description });
/** Values that may be secrets are hidden until they are asked for. */
const secrets = (description: string) => ({ type: "object", additionalProperties: { type: "string", writeOnly: true }, description });

const about = {
  description: text(w.description),
  timeoutSeconds: { type: "integer", minimum: 0, maximum: 300, description: w.timeoutSeconds },
  disabledTools: list(w.disabledTools),
  disabledAutoApproveTools: list(w.disabledAutoApproveTools),
};
const kind = { enum: ["stdio", "http"], description: w.type };
const program = {
  command: text(w.command),
  args: list(w.args),
  env: secrets(w.env),
  envPassthrough: list(w.envPassthrough),
  cwd: text(w.cwd),
  registryUrl: text(w.registryUrl, { format: "uri" }),
};

const stdio = { type: "object", required: ["command"], properties: { type: kind, ...program, ...about } };
const global = { ...stdio, properties: { type: kind, ...program, workspace: { type: "boolean", description: w.workspace }, ...about } };
const http = { type: "object", required: ["type", "url"], properties: { type: kind, url: text(w.url, { format: "uri" }), headers: secrets(w.headers), ...about } };

/** The keys that matter to the entry as it stands: of a program, or of an address. */
export function schemaOf(entry: string, isGlobal: boolean): object {
  const parsed = parse(entry);
  const members = "node" in parsed && parsed.node.kind === "object" ? parsed.node.members : [];
  const value = (key: string) => members.findLast((m) => m.key === key)?.value;
  const type = value("type");
  const reached = type?.kind === "string" ? type.value !== "stdio" : value("command") === undefined && value("url") !== undefined;
  return reached ? http : isGlobal ? global : stdio;
}
