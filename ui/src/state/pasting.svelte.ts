// What is pasted under "Add a server", the servers it proposes, and what the person made of them. All of it outlives the
// panel and the page, and none of it leaves this window's memory, because it may hold secrets.

import type { Proposal, ProposalsReply } from "../host/api";

/** One proposed server: as the text has it, and as it would be written. */
export class ProposalDraft {
  name = $state("");
  entry = $state("");
  /** What name and entry began from. */
  source = $state.raw<Proposal>({ name: "", entry: "", reasons: [], notes: [], exists: false });
  /** What the text says by now, where that is no longer what a person began to change: they choose. */
  newer = $state.raw<Proposal | null>(null);
  /** The level it was added to. */
  addedTo = $state<string | null>(null);
  readonly edited = $derived(this.name !== this.source.name || this.entry !== this.source.entry);

  constructor(proposal: Proposal) {
    this.take(proposal);
  }

  /** Begins anew from what the text says. */
  take(proposal: Proposal): void {
    this.source = proposal;
    this.name = proposal.name;
    this.entry = proposal.entry;
    this.newer = null;
  }

  /** Goes along with the text, as far as that takes nothing away that a person wrote. */
  follow(now: Proposal): void {
    const { name, entry } = this.source;
    if (this.addedTo !== null && !this.says(now)) {
      // What was made of it is in a file; the text has another one by now.
      this.addedTo = null;
      this.take(now);
      return;
    }
    const mine = { name: this.name !== name && this.name !== now.name, entry: this.entry !== entry && this.entry !== now.entry };
    if ((mine.name && now.name !== name) || (mine.entry && now.entry !== entry)) {
      this.newer = now;
      return;
    }
    this.source = now;
    if (!mine.name) this.name = now.name;
    if (!mine.entry) this.entry = now.entry;
    this.newer = null;
  }

  /** Keeps what the person wrote, having seen that the text says something else. */
  keep(): void {
    if (this.newer) this.source = this.newer;
    this.newer = null;
  }

  says(proposal: Proposal): boolean {
    return this.source.name === proposal.name && this.source.entry === proposal.entry;
  }
}

export class Pasting {
  text = $state("");
  /** Whether what is added is used in this conversation too. */
  use = $state(true);
  /** Why the text proposes nothing. */
  problem = $state("");
  /** What the proposals were read from; another text is not read yet. */
  #read = $state.raw<{ text: string; level: string } | null>(null);
  #drafts = $state.raw<ProposalDraft[]>([]);
  /** Changed or added ones that the text has not at the moment; it may have them again. */
  #aside: ProposalDraft[] = [];

  readonly empty = $derived(this.text.trim() === "");

  /** What is proposed for a level and was not added to it. */
  shown(level: string): ProposalDraft[] {
    return this.empty || this.problem !== "" ? [] : this.#drafts.filter((draft) => draft.addedTo !== level);
  }

  /** What is shown was read from what stands in the field. Nothing else may be written. */
  current(level: string): boolean {
    return this.#read?.text === this.text && this.#read.level === level;
  }

  take(text: string, level: string, reply: ProposalsReply): void {
    this.#read = { text, level };
    this.problem = reply.message ?? "";
    // The text may be half typed: what was made of its proposals waits until it proposes something again.
    if (reply.proposals.length === 0) return;
    const pool = [...this.#drafts, ...this.#aside];
    const pick = (fits: (draft: ProposalDraft) => boolean) => {
      const at = pool.findIndex(fits);
      return at < 0 ? undefined : pool.splice(at, 1)[0];
    };
    // One that came of one is the same, whatever its name is by now: a name is guessed from the text.
    const only = this.#drafts.length === 1 && reply.proposals.length === 1 && this.#drafts[0]?.addedTo === null ? this.#drafts[0] : undefined;
    const same = reply.proposals.map((proposal) => pick((draft) => draft.says(proposal)));
    this.#drafts = reply.proposals.map((proposal, at) => {
      const draft = same[at] ?? pick((one) => one.source.name === proposal.name) ?? pick((one) => one === only);
      draft?.follow(proposal);
      return draft ?? new ProposalDraft(proposal);
    });
    this.#aside = pool.filter((draft) => draft.edited || draft.addedTo !== null);
  }

  forget(): void {
    this.text = "";
    this.use = true;
    this.problem = "";
    this.#read = null;
    this.#drafts = [];
    this.#aside = [];
  }
}
