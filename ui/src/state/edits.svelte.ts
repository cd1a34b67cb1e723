// What a person made of a card's arguments and did not send: it outlives the card, the page it stands on and a reload of
// the window, so that nothing typed is lost. It is kept for this window only, and not longer than the window.

import { parse, pretty } from "../lib/json/json";
import type { Card } from "../host/api";

export type Edit = {
  card: string;
  conversation: string;
  /** The transcript entry of the call. */
  entry: string;
  server: string;
  serverName: string;
  tool: string;
  /** What was asked for, to the byte. */
  asked: string;
  /** The same laid out, as the editor begins with it. */
  start: string;
  text: string;
  /** The editor is open. */
  open: boolean;
};

const kept = "mework.edits";

/** Whether anything was changed. Text that stands as the editor began with it is still what was asked for. */
export const changed = (edit: Edit): boolean => edit.text !== edit.asked && edit.text !== edit.start;

function restore(): Map<string, Edit> {
  const all = new Map<string, Edit>();
  try {
    const read: unknown = JSON.parse(sessionStorage.getItem(kept) ?? "[]");
    if (!Array.isArray(read)) return all;
    for (const one of read as Partial<Edit>[]) {
      const texts = [one?.card, one?.conversation, one?.entry, one?.server, one?.serverName, one?.tool, one?.asked, one?.start, one?.text];
      if (texts.every((t) => typeof t === "string")) all.set(one.card as string, { ...(one as Edit), open: one.open === true });
    }
  } catch {
    // Kept by another version, or not at all.
  }
  return all;
}

export class Edits {
  all = $state.raw<ReadonlyMap<string, Edit>>(restore());
  /** The card whose answer is under way: whether its edit was lost is not known yet. */
  sending = $state<string | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    globalThis.addEventListener?.("pagehide", () => this.#keep());
  }

  of(card: string): Edit | undefined {
    return this.all.get(card);
  }

  /** Opens the editor of a card, with what was written there before. */
  begin(card: Card): void {
    const before = this.all.get(card.id);
    if (before) return this.#set({ ...before, open: true });
    const parsed = parse(card.arguments);
    const start = "node" in parsed ? pretty(card.arguments, parsed.node) : card.arguments;
    this.#set({ card: card.id, conversation: card.conversation, entry: card.entry, server: card.server, serverName: card.server_name, tool: card.tool, asked: card.arguments, start, text: start, open: true });
  }

  write(card: string, text: string): void {
    const edit = this.all.get(card);
    if (edit) this.#set({ ...edit, text });
  }

  /** Closes the editor; what was written stays. */
  leave(card: string): void {
    const edit = this.all.get(card);
    if (!edit) return;
    if (changed(edit)) this.#set({ ...edit, open: false });
    else this.drop(card);
  }

  /** Back to what was asked for. */
  reset(card: string): void {
    const edit = this.all.get(card);
    if (edit?.open) this.#set({ ...edit, text: edit.start });
    else this.drop(card);
  }

  /** What belongs to conversations that are gone goes with them. */
  keepOnly(conversations: ReadonlySet<string>): void {
    for (const edit of this.all.values()) if (!conversations.has(edit.conversation)) this.drop(edit.card);
  }

  drop(card: string): void {
    const next = new Map(this.all);
    if (!next.delete(card)) return;
    this.all = next;
    this.#later();
  }

  #set(edit: Edit): void {
    this.all = new Map(this.all).set(edit.card, edit);
    this.#later();
  }

  #later(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#keep(), 250);
  }

  #keep(): void {
    clearTimeout(this.#timer);
    try {
      const worth = [...this.all.values()].filter(changed);
      if (worth.length > 0) sessionStorage.setItem(kept, JSON.stringify(worth));
      else sessionStorage.removeItem(kept);
    } catch {
      // Too large to keep: it lives as long as the page.
    }
  }
}
