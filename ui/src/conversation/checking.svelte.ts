// Whether arguments fit their tool's schema, asked a little behind the typing, and where in the text they do not.

import type { ArgumentProblem } from "../host/api";
import type { Misfit } from "../lib/form/Fit.svelte";
import { has, locate, parse, position } from "../lib/json/json";
import type { App } from "../state/app.svelte";
import { words } from "../words";

export type Checked = { conversation: string; server: string; tool: string; text: string; /** No schema to hold it against is known (yet). */ unknown?: boolean; /** Of the tool: what was checked against another one is checked anew. */ definition?: string | undefined };

const behind = 180;

export function checking(app: App, what: () => Checked | null) {
  /** Of the text that was checked last; `absent`: of a value that was not there then. */
  let found = $state.raw<(ArgumentProblem & { absent: boolean })[]>([]);
  let unchecked = $state<string>();
  let busy = $state(false);
  const now = $derived(what());
  const parsed = $derived(now ? parse(now.text.trim() === "" ? "{}" : now.text) : null);
  /** It cannot be sent at all. */
  const broken = $derived(parsed !== null && (!("node" in parsed) || parsed.node.kind !== "object" || found.some((p) => p.line !== undefined)));

  let checks = 0;
  $effect(() => {
    const one = ++checks;
    const asked = now;
    if (!asked || !parsed || !("node" in parsed) || asked.unknown) {
      found = [];
      unchecked = undefined;
      busy = false;
      return;
    }
    const { node } = parsed;
    busy = true;
    const timer = setTimeout(async () => {
      const { text, conversation, server, tool } = asked;
      let reply: { problems: ArgumentProblem[]; unchecked?: string } = { problems: [] };
      try {
        reply = await app.request("arguments.check", { conversation, server, tool, arguments: text.trim() === "" ? "{}" : text });
      } catch {
        // A check that cannot be made is no problem of the arguments.
      }
      if (one !== checks) return;
      found = reply.problems.map((p) => ({ ...p, absent: !has(node, p.pointer) }));
      unchecked = reply.unchecked;
      busy = false;
    }, behind);
    return () => clearTimeout(timer);
  });

  // Until the next check: what was missing and is there now is not missing.
  const problems = $derived(parsed && "node" in parsed ? found.filter((p) => !p.absent || !has(parsed.node, p.pointer)) : []);
  const marks = $derived.by((): Misfit[] => {
    if (!now || !parsed) return [];
    const whole = { pointer: "", missing: false };
    if (!("node" in parsed)) return [{ ...position(now.text, parsed.offset), message: words.json.problems[parsed.problem], ...whole }];
    const { node } = parsed;
    if (node.kind !== "object") return [{ ...position(now.text, node.start), message: words.json.problems.object, ...whole }];
    return problems.map(({ pointer, message, line, column }) =>
      line !== undefined ? { line, column: column ?? 1, message, pointer, missing: false } : { ...position(now.text, locate(node, pointer)), message, pointer, missing: !has(node, pointer) },
    );
  });

  return {
    get problems(): readonly ArgumentProblem[] {
      return problems;
    },
    /** Why it was not checked, where it was not. */
    get unchecked() {
      return unchecked;
    },
    get marks() {
      return marks;
    },
    get broken() {
      return broken;
    },
    get busy() {
      return busy;
    },
  };
}
