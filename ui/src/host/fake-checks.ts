// What the played engine says of arguments and of entries that are edited.

import type { ArgumentProblem, ConsentView, ConversationSummary, PlanReply } from "./api";
import type { Params } from "./host";

export const changedFile = "The file changed since it was shown, so nothing was written. Look at it again, then repeat.";

/** Members that are missing, and those of another type than the schema names. */
export function misfits(text: string, input_schema: unknown): ArgumentProblem[] {
  const schema = input_schema as { required?: string[]; properties?: Record<string, { type?: string }> } | undefined;
  const value = JSON.parse(text) as Record<string, unknown>;
  const problems = (schema?.required ?? []).filter((name) => !(name in value)).map((name) => ({ pointer: `/${name}`, message: `“${name}” is missing.` }));
  for (const [name, { type }] of Object.entries(schema?.properties ?? {}))
    if (name in value && type !== undefined && type !== (Number.isInteger(value[name]) ? "integer" : Array.isArray(value[name]) ? "array" : typeof value[name]))
      problems.push({ pointer: `/${name}`, message: `“${name}” must be of type ${type}.` });
  return problems;
}

/** A server as it is declared and runs now; nothing of it when it is a new one. */
type Known = {
  name: string | undefined;
  entry: string | undefined;
  hash: string;
  runs: boolean | undefined;
  busy: boolean | undefined;
  /** It is otherwise than agreed to. */
  review: ConsentView | undefined;
  /** Where it is ticked. */
  conversations: ConversationSummary[];
};

/** What writing an entry would do. */
export function plan({ name, entry, file_hash, keep_ticks }: Params<"server.plan">, now: Known): PlanReply {
  const renamed = now.name !== undefined && name !== now.name;
  let refusal: string | undefined;
  try {
    const parsed: unknown = JSON.parse(entry);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) refusal = "The entry must be an object, { … }; it is something else.";
  } catch {
    refusal = "The entry cannot be used: the text is not valid JSON.";
  }
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(name)) refusal = "The name may hold only letters A–Z and a–z, digits, `-` and `_`, 1 to 128 of them.";
  const conflict = file_hash !== now.hash;
  if (conflict) refusal = changedFile;
  const changes = entry !== now.entry || renamed;
  return {
    ...(refusal === undefined ? {} : { refusal }),
    ...(conflict ? { conflict: { ...(now.entry === undefined ? {} : { entry: now.entry, file_hash: now.hash }), diff: [{ old: now.entry ?? "", new: entry, changed: true }] } } : {}),
    changes,
    server: name,
    renamed,
    reasons: entry.includes('"cwd": "nowhere"') ? ["`cwd` must be an absolute path.", "`cwd` is not an existing folder."] : [],
    notes: [],
    in_the_way: [],
    consent: now.review ? "changed" : "given",
    ...(now.review ? { review: now.review } : {}),
    needs_review: now.review !== undefined,
    conversations: changes
      ? now.conversations.map(({ id, title, temporary }) => ({
          id,
          title,
          temporary,
          stops: now.runs ?? false,
          busy: now.busy ?? false,
          starts: renamed && !keep_ticks ? ("no" as const) : now.runs ? ("now" as const) : ("next_turn" as const),
          dangles: renamed && !keep_ticks,
          follows: renamed && keep_ticks,
        }))
      : [],
    hides: [],
    shows: [],
    unmatched: [],
  };
}
