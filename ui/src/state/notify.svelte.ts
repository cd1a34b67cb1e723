// Telling the browser's desktop of waiting calls while this page is not looked at (B44). The window's own desktop is told by
// the window; a page asks nobody by itself: only a person's click on the setting asks the browser.

import type { Card } from "../host/api";
import { visibleLine } from "../lib/text/visible";
import { words } from "../words";

const kept = "mework.notify";
export type Allowed = "granted" | "denied" | "default" | "none";

const allowed = (): Allowed => (typeof Notification === "undefined" ? "none" : Notification.permission);

export class Notify {
  /** The person wants to be told. */
  wanted = $state(false);
  /** What the browser says to that. */
  allowed = $state<Allowed>("none");
  #known = new Set<string>();
  #shown: Notification | undefined;

  constructor(readonly go: (card: Card) => void) {
    this.allowed = allowed();
    try {
      this.wanted = localStorage.getItem(kept) === "yes";
    } catch {
      // Not remembered, then.
    }
  }

  get on(): boolean {
    return this.wanted && this.allowed === "granted";
  }

  /** The setting was clicked: the one place where the browser is asked. */
  async set(wanted: boolean): Promise<void> {
    if (wanted && this.allowed !== "none") this.allowed = await Notification.requestPermission();
    this.wanted = wanted && this.allowed === "granted";
    try {
      localStorage.setItem(kept, this.wanted ? "yes" : "no");
    } catch {
      // Not remembered, then.
    }
    if (!this.wanted) this.#withdraw();
  }

  /** The waiting cards changed, or the page was looked at. */
  follow(cards: readonly Card[]): void {
    const fresh = cards.filter((card) => !this.#known.has(card.id));
    if (document.hasFocus()) {
      this.#known = new Set(cards.map((card) => card.id));
      this.#withdraw();
      return;
    }
    this.#known = new Set([...this.#known].filter((id) => cards.some((card) => card.id === id)));
    const first = fresh[0];
    if (!first || !this.on) {
      this.#withdraw();
      return;
    }
    // One of a tag replaces the one before: ten cards are one notification.
    const title = fresh.length === 1 ? words.notify.one(visibleLine(first.server_name), visibleLine(first.tool)) : words.notify.many(fresh.length);
    if (this.#shown?.title === title) return;
    this.#shown = new Notification(title, { tag: "mework", body: words.notify.text });
    this.#shown.onclick = () => {
      window.focus();
      this.#known = new Set([...this.#known, ...fresh.map((card) => card.id)]);
      this.#withdraw();
      this.go(first);
    };
  }

  #withdraw(): void {
    this.#shown?.close();
    this.#shown = undefined;
  }
}
