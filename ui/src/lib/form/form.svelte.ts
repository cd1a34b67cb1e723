// A form over a JSON text. The text is the one truth: every field reads its value from the parsed text and writes it back
// in its place; the form keeps nothing of its own but what is unfolded.

import { getContext, setContext, tick } from "svelte";
import { SvelteMap, SvelteSet } from "svelte/reactivity";
import type { ArgumentProblem } from "../../host/api";
import { parse, type Node, type Parsed } from "../json/json";
import { apply, around, insertItem, insertMember, made, removeItem, removeMembers, renameMembers, replace, swapItems, typed, type Change, type Edit, type Make } from "./edit";
import { Schemas } from "./shape";

export type Source = {
  text: () => string;
  /** `tag` names the place, for undo. */
  set: (text: string, tag: string) => void;
  schema: () => unknown;
  problems: () => readonly ArgumentProblem[];
  uid: string;
};

const escaped = (step: string | number): string => String(step).replaceAll("~", "~0").replaceAll("/", "~1");
export const steps = (pointer: string): string[] => pointer.split("/").slice(1).map((s) => s.replaceAll("~1", "/").replaceAll("~0", "~"));
const under = (pointer: string, above: string): boolean => pointer.startsWith(`${above}/`);

export class FormState {
  readonly #source: Source;
  readonly schemas: Schemas = $derived.by(() => new Schemas(this.#source.schema()));
  /** Nothing written is the empty object. */
  readonly text: string = $derived.by(() => (this.#source.text().trim() === "" ? "{}" : this.#source.text()));
  /** A stretch that a person is writing as JSON and that is none yet; only of the text it was written in. */
  pending = $state.raw<{ text: string; start: number; end: number; pointer: string } | null>(null);
  readonly parsed: Parsed = $derived.by(() => {
    const open = this.pending;
    if (open?.text !== this.text) return parse(this.text);
    // A number of the same length stands for it, so that everything else keeps its place.
    return parse(this.text.slice(0, open.start) + "1".repeat(open.end - open.start) + this.text.slice(open.end));
  });
  readonly problems: ReadonlyMap<string, string[]> = $derived.by(() => {
    const found = new Map<string, string[]>();
    for (const p of this.#source.problems()) {
      const at = found.get(p.pointer);
      if (at) at.push(p.message);
      else found.set(p.pointer, [p.message]);
    }
    return found;
  });
  readonly opened = new SvelteMap<string, boolean>();
  readonly picked = new SvelteMap<string, number>();
  /** Fields that had the keyboard and lost it: only then is it said that they are missing. */
  readonly left = new SvelteSet<string>();
  /** A field that must be drawn, because the keyboard goes there. */
  wanted = $state.raw<string | null>(null);
  /** A pointer is down. */
  pressed = false;
  readonly #focus = new Map<string, () => void>();
  readonly #ids = new Map<string, string>();

  constructor(source: Source) {
    this.#source = source;
  }

  /** The arguments are another tool's now. */
  forget(): void {
    this.pending = null;
    this.wanted = null;
    this.opened.clear();
    this.picked.clear();
    this.left.clear();
  }

  id(pointer: string): string {
    let id = this.#ids.get(pointer);
    if (id === undefined) this.#ids.set(pointer, (id = `${this.#source.uid}-${this.#ids.size}`));
    return id;
  }

  commit(change: Change, tag: string): void {
    this.pending = null;
    this.#source.set(apply(this.text, change.edits), tag);
  }
  edit(edits: Edit[], tag: string): void {
    if (edits.length > 0) this.commit({ edits, start: 0, end: 0 }, tag);
  }
  /** Writes what need not be JSON yet. */
  draft(change: Change, raw: string, tag: string): void {
    const text = apply(this.text, change.edits);
    this.#source.set(text, tag);
    // When the whole is JSON all the same, the text has become another one, and is drawn as that.
    const whole = "node" in parse(raw) || "node" in parse(text);
    this.pending = whole ? null : { text, start: change.start, end: change.end, pointer: tag };
  }
  isPending(node: Node): boolean {
    const open = this.pending;
    return open !== null && open.text === this.text && node.start === open.start && node.end === open.end;
  }

  /** The field in which something is written that is not JSON yet. */
  get unfinished(): string | null {
    return this.pending?.text === this.text ? this.pending.pointer : null;
  }

  messages(pointer: string): string[] {
    return this.problems.get(pointer) ?? [];
  }
  /** Problems of what lies in a place. */
  inside(pointer: string): number {
    let n = 0;
    for (const at of this.problems.keys()) if (under(at, pointer)) n++;
    return n;
  }

  /** A field says how it takes the keyboard. */
  focuser(pointer: string, focus: () => void): () => void {
    this.#focus.set(pointer, focus);
    return () => {
      if (this.#focus.get(pointer) === focus) this.#focus.delete(pointer);
    };
  }
  /** Moves the keyboard to a field, unfolding what it lies in; to the nearest around it where it is not drawn. */
  async focus(pointer: string): Promise<void> {
    const way = steps(pointer);
    let at = "";
    for (const step of way) {
      this.opened.set(at, true);
      at += `/${escaped(step)}`;
    }
    this.wanted = pointer;
    await tick();
    for (let i = way.length; i >= 0; i--) {
      const focus = this.#focus.get(way.slice(0, i).map((s) => `/${escaped(s)}`).join(""));
      if (focus) return focus();
    }
  }

  /** Items got other numbers: what was unfolded and picked goes with them. */
  renumber(list: string, to: (index: number) => number | null): void {
    for (const map of [this.opened, this.picked] as SvelteMap<string, boolean | number>[]) {
      const moved = [...map].filter(([pointer]) => under(pointer, list));
      for (const [pointer] of moved) map.delete(pointer);
      for (const [pointer, value] of moved) {
        const [index = "", ...rest] = pointer.slice(list.length + 1).split("/");
        const now = to(Number(index));
        if (now !== null) map.set([list, now, ...rest].join("/"), value);
      }
    }
  }
}

/** One place in the arguments: its value if there is one, and how to write it. */
export class Place {
  readonly pointer: string;
  readonly depth: number;

  constructor(
    readonly form: FormState,
    readonly parent: Place | null,
    readonly step: string | number,
    readonly node: Node | null,
    /** Its key stands there more than once; the last one counts. */
    readonly twice = false,
  ) {
    this.pointer = parent ? `${parent.pointer}/${escaped(step)}` : "";
    this.depth = parent ? parent.depth + 1 : 0;
  }

  member(key: string): Place {
    const members = this.node?.kind === "object" ? this.node.members.filter((m) => m.key === key) : [];
    return new Place(this.form, this, key, members.at(-1)?.value ?? null, members.length > 1);
  }
  item(index: number): Place {
    return new Place(this.form, this, index, this.node?.kind === "array" ? (this.node.items[index] ?? null) : null);
  }

  /** The characters that stand here now. */
  get raw(): string {
    return this.node ? this.form.text.slice(this.node.start, this.node.end) : "";
  }

  #change(make: Make): Change {
    const { text } = this.form;
    if (this.node) return replace(text, this.node, make);
    const above = this.parent;
    if (!above) return { edits: [], start: 0, end: 0 };
    if (typeof this.step === "string" && above.node?.kind === "object") return insertMember(text, above.node, this.step, make);
    // What it lies in is not there either: it comes with it.
    return above.#change(around(typeof this.step === "string" ? this.step : null, make));
  }

  put(raw: string): void {
    this.form.commit(this.#change(made(raw)), this.pointer);
  }
  /** Takes what a person writes as JSON; an empty stretch would leave no place to go on in. */
  write(raw: string): void {
    const text = raw === "" ? " " : raw;
    this.form.draft(this.#change(typed(text)), text, this.pointer);
  }
  remove(): void {
    const above = this.parent?.node;
    if (!this.node || !above) return;
    if (above.kind === "object") this.form.edit(removeMembers(above, (m) => m.key === this.step), "");
    else if (above.kind === "array" && typeof this.step === "number") {
      const gone = this.step;
      this.form.edit(removeItem(above, gone), "");
      this.form.renumber(this.parent?.pointer ?? "", (i) => (i === gone ? null : i > gone ? i - 1 : i));
    }
  }
  /** Gives this member another key; what is unfolded in it goes along. */
  rename(key: string): Place | null {
    const above = this.parent;
    if (above?.node?.kind !== "object" || typeof this.step !== "string") return null;
    const now = above.member(key);
    for (const map of [this.form.opened, this.form.picked] as SvelteMap<string, boolean | number>[])
      for (const [pointer, value] of [...map]) {
        if (pointer !== this.pointer && !under(pointer, this.pointer)) continue;
        map.delete(pointer);
        map.set(now.pointer + pointer.slice(this.pointer.length), value);
      }
    this.form.edit(renameMembers(this.form.text, above.node, this.step, key), "");
    return now;
  }
  /** Takes members out and puts others in; the rest of the object keeps its bytes. */
  reshape(gone: (key: string) => boolean, now: readonly [key: string, raw: string][]): void {
    if (this.node?.kind !== "object") return;
    let text = apply(this.form.text, removeMembers(this.node, (m) => gone(m.key)));
    for (const [key, raw] of now) {
      const parsed = parse(text);
      const object = "node" in parsed ? find(parsed.node, steps(this.pointer)) : null;
      if (object?.kind !== "object") break;
      const member = object.members.findLast((m) => m.key === key);
      text = apply(text, (member ? replace(text, member.value, made(raw)) : insertMember(text, object, key, made(raw))).edits);
    }
    this.form.commit({ edits: [{ start: 0, end: this.form.text.length, text }], start: 0, end: 0 }, "");
  }
  append(raw: string): void {
    if (this.node?.kind === "array") this.form.commit(insertItem(this.form.text, this.node, made(raw)), "");
    else this.form.commit(this.#change(around(null, made(raw))), "");
  }
  swap(a: number, b: number): void {
    if (this.node?.kind !== "array") return;
    this.form.edit(swapItems(this.form.text, this.node, a, b), "");
    this.form.renumber(this.pointer, (i) => (i === a ? b : i === b ? a : i));
  }
}

function find(root: Node, way: readonly string[]): Node | null {
  let node: Node | null = root;
  for (const step of way) {
    if (node?.kind === "object") node = node.members.findLast((m) => m.key === step)?.value ?? null;
    else if (node?.kind === "array") node = node.items[Number(step)] ?? null;
    else return null;
  }
  return node;
}

const key = Symbol("form");
export const provideForm = (form: FormState): FormState => setContext(key, form);
export const useForm = (): FormState => getContext<FormState>(key);
