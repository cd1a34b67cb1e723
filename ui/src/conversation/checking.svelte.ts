// Whether arguments fit their tool's schema, asked a little behind the typing, and where in the text they do not.

import type { ArgumentProblem } from "../host/api";
import type { Mark } from "../lib/json/Editor.svelte";
import { locate, parse, position } from "../lib/json/json";
import type { App } from "../state/app.svelte";
import { words } from "../words";

export type Checked = { conversation: string; server: string; tool: string; text: string };

const behind = 180;

export function checking(app: App, what: () => Checked | null) {
  let problems = $state.raw<ArgumentProblem[]>([]);
  let busy = $state(false);
  const now = $derived(what());
  const parsed = $derived(now ? parse(now.text.trim() === "" ? "{}" : now.text) : null);
  /** It cannot be sent at all. */
  const broken = $derived(parsed !== null && (!("node" in parsed) || parsed.node.kind !== "object" || problems.some((p) => p.line !== undefined)));

  let checks = 0;
  $effect(() => {
    const one = ++checks;
    const asked = now;
    if (!asked || !parsed || !("node" in parsed)) {
      problems = [];
      busy = false;
      return;
    }
    busy = true;
    const timer = setTimeout(async () => {
      const { text, ...tool } = asked;
      let found: ArgumentProblem[] = [];
      try {
        found = (await app.request("arguments.check", { ...tool, arguments: text.trim() === "" ? "{}" : text })).problems;
      } catch {
        // A check that cannot be made is no problem of the arguments.
      }
      if (one !== checks) return;
      problems = found;
      busy = false;
    }, behind);
    return () => clearTimeout(timer);
  });

  const marks = $derived.by((): Mark[] => {
    if (!now || !parsed) return [];
    if (!("node" in parsed)) return [{ ...position(now.text, parsed.offset), message: words.json.problems[parsed.problem] }];
    const { node } = parsed;
    if (node.kind !== "object") return [{ ...position(now.text, node.start), message: words.json.problems.object }];
    return problems.map((p) => (p.line !== undefined ? { line: p.line, column: p.column ?? 1, message: p.message } : { ...position(now.text, locate(node, p.pointer)), message: p.message }));
  });

  return {
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
