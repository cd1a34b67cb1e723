// Telling the browser's desktop of calls that wait, and of long ones that ended, while this page is not looked at (B44). The
// window's own desktop is told by the window; a page asks nobody by itself: only a person's click on the setting asks the
// browser. A notification may stand on a locked screen: its names are the ones the engine made fit for that.

import type { Brief, Card } from "../host/api";
import { words } from "../words";

const kept = "mework.notify";
export type Allowed = "granted" | "denied" | "default" | "none";

/** A call, as a click on a notification goes to it. */
type Place = { conversation: string; entry: string };
export type Ended = Place & { brief: Brief; well: boolean };
type Note = { title: string; body: string; about: Place };

const allowed = (): Allowed => (typeof Notification === "undefined" ? "none" : Notification.permission);

export class Notify {
  /** The person wants to be told. */
  wanted = $state(false);
  /** What the browser says to that. */
  allowed = $state<Allowed>("none");
  #waiting: readonly Card[] = [];
  /** Cards that the person knows of. */
  #known = new Set<string>();
  #ended: Ended[] = [];
  #shown: { note: Note; shown: Notification } | undefined;

  constructor(readonly go: (call: Place) => void) {
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
    this.#tell();
  }

  /** The waiting cards changed, or the page was looked at. */
  follow(cards: readonly Card[]): void {
    this.#waiting = cards;
    this.#known = new Set([...this.#known].filter((id) => cards.some((card) => card.id === id)));
    this.#tell();
  }

  /** A long call came to its end. */
  ended(call: Ended): void {
    this.#ended.push(call);
    this.#tell();
  }

  /** What is there to tell, and where a click goes: what waits before what ended. */
  #note(): Note | undefined {
    const { one, many, text, done, failed, ends, textEnded, textLast } = words.notify;
    const fresh = this.#waiting.filter((card) => !this.#known.has(card.id));
    const [first] = fresh;
    if (first) return { title: fresh.length === 1 ? one(first.brief.server, first.brief.tool) : many(fresh.length), body: text, about: first };
    const last = this.#ended.at(-1);
    if (!last) return undefined;
    if (this.#ended.length > 1) return { title: ends(this.#ended.length), body: textLast, about: last };
    return { title: (last.well ? done : failed)(last.brief.server, last.brief.tool), body: textEnded, about: last };
  }

  /** The person has seen what there is. */
  #seen(): void {
    this.#known = new Set(this.#waiting.map((card) => card.id));
    this.#ended = [];
  }

  #tell(): void {
    if (document.hasFocus()) this.#seen();
    const note = this.on ? this.#note() : undefined;
    if (!note) return this.#withdraw();
    if (this.#shown?.note.title === note.title && this.#shown.note.about.entry === note.about.entry) return;
    // One of a tag replaces the one before: ten cards are one notification.
    const shown = new Notification(note.title, { tag: "mework", body: note.body });
    this.#shown = { note, shown };
    shown.onclick = () => {
      window.focus();
      this.#seen();
      this.#withdraw();
      this.go(note.about);
    };
  }

  #withdraw(): void {
    this.#shown?.shown.close();
    this.#shown = undefined;
  }
}
