// What was written before, for undo: one history for the form and the JSON, because both write the same text.

type Step = { text: string; tag: string };

const maxSteps = 300;
const maxCharacters = 4_000_000;
/** Edits of one place that follow each other this closely are one step. */
const together = 1500;

export class History {
  #past: Step[] = [];
  #future: Step[] = [];
  #tag = "";
  #at = 0;

  /** The text is about to be another one, by an edit of the place `tag`. */
  record(before: string, tag: string, now = Date.now()): void {
    const joins = tag !== "" && tag === this.#tag && now - this.#at < together && this.#past.length > 0;
    this.#tag = tag;
    this.#at = now;
    this.#future = [];
    if (joins) return;
    this.#past.push({ text: before, tag });
    let size = this.#past.reduce((sum, s) => sum + s.text.length, 0);
    while (this.#past.length > maxSteps || (size > maxCharacters && this.#past.length > 1)) size -= this.#past.shift()?.text.length ?? 0;
  }

  undo(now: string): Step | null {
    return this.#move(this.#past, this.#future, now);
  }
  redo(now: string): Step | null {
    return this.#move(this.#future, this.#past, now);
  }
  #move(from: Step[], to: Step[], now: string): Step | null {
    const step = from.pop();
    if (!step) return null;
    to.push({ text: now, tag: step.tag });
    this.#tag = "";
    return step;
  }

  clear(): void {
    this.#past = [];
    this.#future = [];
    this.#tag = "";
  }
}

/** Where a text differs from the one before: the end of the stretch that changed. */
export function changedAt(before: string, after: string): number {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return after.length - end;
}
