// What the person looks at: which page, what is open on it, what was said. Nothing here is known to the engine.

import type { ConsentView } from "../host/api";
import type { EntryDraft } from "./draft.svelte";
import { Edits } from "./edits.svelte";
import { Pasting } from "./pasting.svelte";
import { visibleLine } from "../lib/text/visible";
import { words } from "../words";

export type Page = "conversation" | "settings" | "app";
export type SettingsTab = "mcp" | "workspaces";
export type Toast = { id: number; tone: "bad" | "plain"; text: string; detail?: string | undefined };
/** A server that may start only after a person saw what would start, and what they wanted by it. */
export type Review = { view: ConsentView; wish: Wish };
export type Wish = { kind: "look" } | { kind: "tick" } | { kind: "test" } | { kind: "call"; tool: string; arguments: string };

const kept = "mework.view";
type Kept = { sidebar: boolean; conversation: string | null; schema: boolean; form: boolean; entryForm: boolean };

function restore(): Kept {
  const fresh: Kept = { sidebar: true, conversation: null, schema: true, form: true, entryForm: true };
  try {
    const read: unknown = JSON.parse(localStorage.getItem(kept) ?? "null");
    if (typeof read !== "object" || read === null) return fresh;
    const { sidebar, conversation, schema, form, entryForm } = read as Partial<Kept>;
    return {
      sidebar: sidebar !== false,
      conversation: typeof conversation === "string" ? conversation : null,
      schema: schema !== false,
      form: form !== false,
      entryForm: entryForm !== false,
    };
  } catch {
    return fresh;
  }
}

export class View {
  page = $state<Page>("conversation");
  tab = $state<SettingsTab>("mcp");
  /** Open panes come back (B43). */
  sidebar = $state(true);
  schema = $state(true);
  /** Arguments as fields, or as JSON: what was used last. */
  form = $state(true);
  lastConversation: string | null = null;

  /** The window is too narrow for two columns; the sidebar lies over the page then. */
  narrow = $state(false);
  drawer = $state(false);

  palette = $state(false);
  keys = $state(false);
  help = $state(false);
  /** The level a pasted server would go to; null when the panel is closed. */
  adding = $state<string | null>(null);
  /** What was pasted or typed there, and made of it; it outlives the panel, as drafts do. */
  readonly pasting = new Pasting();
  /** The server whose details are open on the MCP page. */
  detail = $state<string | null>(null);
  reviews = $state.raw<ReadonlyMap<string, Review>>(new Map());
  /** An entry is edited in fields, or as JSON. */
  entryForm = $state(true);
  /** Entries that are being edited, by server; they outlive their rows. */
  drafts = $state.raw<ReadonlyMap<string, EntryDraft>>(new Map());
  /** Text that no file holds yet, and that is gone with this page (B43). */
  readonly unsaved = $derived(!this.pasting.empty || [...this.drafts.values()].some((draft) => draft.dirty));
  toasts = $state.raw<Toast[]>([]);
  /** Said to screen readers. */
  said = $state("");
  /** A tool that something else chose for the composer. */
  chosen = $state.raw<{ server: string; tool: string; arguments?: string; at: number } | null>(null);
  /** What was edited on cards and not sent yet. */
  readonly edits = new Edits();
  /** An entry of the open conversation that the transcript is to bring into sight. */
  wanted = $state<string | null>(null);
  /** The composer's picker is asked for from elsewhere, perhaps from a page that has no composer. */
  pickerAsked = $state(false);

  #toastId = 0;
  #toastTimers = new Map<number, ReturnType<typeof setTimeout>>();
  #before: HTMLElement | null = null;

  constructor() {
    const { sidebar, conversation, schema, form, entryForm } = restore();
    this.sidebar = sidebar;
    this.schema = schema;
    this.form = form;
    this.entryForm = entryForm;
    this.lastConversation = conversation;
  }

  keep(conversation: string | null): void {
    this.lastConversation = conversation;
    try {
      const value: Kept = { sidebar: this.sidebar, conversation, schema: this.schema, form: this.form, entryForm: this.entryForm };
      localStorage.setItem(kept, JSON.stringify(value));
    } catch {
      // Nothing is lost but the memory of panes.
    }
  }

  /** Beside the page, or over it in a narrow window; beside it, it is there again after a restart. */
  showSidebar(shown: boolean): void {
    if (this.narrow) {
      this.drawer = shown;
      return;
    }
    this.sidebar = shown;
    this.keep(this.lastConversation);
  }

  go(page: Page, tab?: SettingsTab): void {
    this.page = page;
    if (tab) this.tab = tab;
    this.drawer = false;
  }

  say(text: string): void {
    // The same words twice are said twice.
    this.said = this.said === text ? `${text}\u00a0` : text;
  }

  toast(tone: Toast["tone"], text: string, detail?: string): void {
    const id = ++this.#toastId;
    this.toasts = [...this.toasts.filter((t) => t.text !== text), { id, tone, text, detail }].slice(-4);
    this.letGo(id);
  }

  /** It stays for as long as somebody is at it. */
  hold(id: number): void {
    clearTimeout(this.#toastTimers.get(id));
  }

  /** A failure stays in any case. */
  letGo(id: number): void {
    this.hold(id);
    if (this.toasts.find((t) => t.id === id)?.tone !== "plain") return;
    this.#toastTimers.set(id, setTimeout(() => this.dismiss(id), 5000));
  }

  dismiss(id: number): void {
    this.hold(id);
    this.#toastTimers.delete(id);
    this.toasts = this.toasts.filter((t) => t.id !== id);
  }

  review(server: string, review: Review | null): void {
    const next = new Map(this.reviews);
    if (review) next.set(server, review);
    else next.delete(server);
    this.reviews = next;
    // It takes no focus, so it is said.
    if (review && review.wish.kind !== "look") {
      const { name, old } = review.view;
      const w = words.consent;
      this.say(old === undefined ? `${w.title(visibleLine(name))} ${w.text}` : `${w.changedTitle(visibleLine(name))}. ${w.changedText}`);
    }
  }

  draft(server: string, draft: EntryDraft | null): void {
    const next = new Map(this.drafts);
    if (draft) next.set(server, draft);
    else next.delete(server);
    this.drafts = next;
  }

  /** Puts away what belongs to the conversation that was open. */
  forget(): void {
    this.reviews = new Map();
    this.detail = null;
    this.adding = null;
    this.wanted = null;
  }

  /** Remembers where the keyboard was, before a jump to a card. */
  remember(): void {
    const now = document.activeElement;
    this.#before = now instanceof HTMLElement && now !== document.body ? now : null;
  }

  /** Goes back there; to where the next call is written when there is nothing to go back to. */
  goBack(): void {
    const before = this.#before?.isConnected ? this.#before : document.querySelector<HTMLElement>(".composer button");
    this.#before = null;
    before?.focus();
  }
}
