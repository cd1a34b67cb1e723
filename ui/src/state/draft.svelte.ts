// One entry that a person edits: the text they have, the text it came from, and what saving would do. A draft outlives the
// list it was opened from, and no change of the file takes its text away.

import type { EntryReply, PlanReply } from "../host/api";
import { failure } from "../host/host";
import type { App } from "./app.svelte";

export class EntryDraft {
  /** The entry on disk that this began from, or was put on top of since. */
  base = $state.raw<EntryReply | null>(null);
  name = $state("");
  text = $state("");
  keepTicks = $state(false);
  plan = $state.raw<PlanReply | null>(null);
  /** The plan is of an older text. */
  stale = $state(true);
  busy = $state(false);
  problem = $state("");
  readonly dirty = $derived(this.base !== null && (this.name !== this.base.name || this.text !== this.base.entry));
  #asked = 0;

  constructor(
    readonly app: App,
    readonly server: string,
    readonly conversation: string,
  ) {}

  async load(): Promise<void> {
    try {
      this.take(await this.app.request("server.entry", { server: this.server }));
    } catch (error) {
      this.problem = failure(error).message;
    }
  }

  /** Begins anew from what stands in the file. */
  take(base: EntryReply): void {
    this.base = base;
    this.name = base.name;
    this.text = base.entry;
    this.problem = "";
    this.stale = true;
  }

  /** Keeps the text, and puts it on top of the file as it is now. */
  rebase(): void {
    const now = this.plan?.conflict;
    if (!this.base || !now?.entry || now.file_hash === undefined) return;
    this.base = { ...this.base, entry: now.entry, file_hash: now.file_hash };
    this.stale = true;
  }

  /** Takes the file's text in place of this one. */
  takeTheirs(): void {
    const now = this.plan?.conflict;
    if (this.base && now?.entry && now.file_hash !== undefined) this.take({ ...this.base, entry: now.entry, file_hash: now.file_hash });
  }

  /** Asks what saving would do; only the answer for the newest text counts. */
  async look(): Promise<PlanReply | null> {
    if (!this.base) return null;
    const one = ++this.#asked;
    try {
      const plan = await this.app.request("server.plan", {
        conversation: this.conversation,
        server: this.server,
        name: this.name,
        entry: this.text,
        file_hash: this.base.file_hash,
        keep_ticks: this.keepTicks,
      });
      if (one !== this.#asked) return null;
      // The same plan is no news to whoever was asked about it.
      if (JSON.stringify(plan) !== JSON.stringify(this.plan)) this.plan = plan;
      this.stale = false;
      this.problem = "";
      // Somebody else's edit that left this entry as it was shown is no conflict.
      if (plan.conflict?.entry === this.base.entry) this.rebase();
      return plan;
    } catch (error) {
      if (one === this.#asked) this.problem = failure(error).message;
      return null;
    }
  }

  /** True when it was written. */
  async save(): Promise<boolean> {
    const plan = this.plan;
    if (!this.base || !plan || this.busy) return false;
    this.busy = true;
    try {
      await this.app.request("server.edit", {
        server: this.server,
        name: this.name,
        entry: this.text,
        file_hash: this.base.file_hash,
        keep_ticks: this.keepTicks,
        ...(plan.review ? { digest: plan.review.digest } : {}),
      });
      return true;
    } catch (error) {
      this.problem = failure(error).message;
      this.stale = true;
      void this.look();
      return false;
    } finally {
      this.busy = false;
    }
  }
}

/** Whether saving asks once more: something that runs is stopped, a tick is left dangling, or more than the edit is agreed to. */
export const weighty = (plan: PlanReply): boolean => plan.needs_review || plan.conversations.some((c) => c.stops || c.dangles);
