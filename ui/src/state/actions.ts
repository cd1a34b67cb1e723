// What a person can do, each as one function: asks the engine, and shows what went wrong. Events bring the effect.

import { tick as drawn } from "svelte";
import type { ConversationSummary, Level, PlanReply, Section, ServerRow, Settings } from "../host/api";
import { failure, type Method, type Params, type Reply } from "../host/host";
import { words } from "../words";
import type { App } from "./app.svelte";
import { EntryDraft } from "./draft.svelte";
import type { View, Wish } from "./view.svelte";

export class Actions {
  constructor(
    readonly app: App,
    readonly view: View,
  ) {}

  /** Shows a failure where the person sees it. */
  fail(error: unknown): void {
    const { message, detail } = failure(error);
    this.view.toast("bad", message, detail);
  }

  /** Asks; a failure is shown and answered with undefined. */
  async ask<M extends Method>(method: M, params: Params<M>): Promise<Reply<M> | undefined> {
    try {
      return await this.app.request(method, params);
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  async show(id: string, page: "conversation" | "settings" = "conversation"): Promise<boolean> {
    try {
      await this.app.show(id);
    } catch (error) {
      this.fail(error);
      return false;
    }
    if (this.app.open?.id !== id) return false;
    this.view.keep(id);
    this.view.go(page);
    return true;
  }

  /** A new conversation, in the folders of the open one unless told otherwise. */
  async create(workspaces?: string[], temporary = false): Promise<string | undefined> {
    const made = await this.ask("conversation.create", { workspaces: workspaces ?? this.app.summary?.workspaces ?? [], temporary });
    if (!made) return undefined;
    await this.show(made.id);
    return made.id;
  }

  /** An empty title gives it back the name it had by itself. */
  async rename(id: string, title: string): Promise<void> {
    await this.ask("conversation.rename", { id, title });
  }

  /** Deletes. Whoever looks at it looks at its neighbour before it goes, and at it again when it could not go. */
  async remove(conversation: ConversationSummary): Promise<void> {
    const list = this.app.conversations;
    const at = list.findIndex((c) => c.id === conversation.id);
    const next = this.app.open?.id === conversation.id ? (list[at + 1] ?? list[at - 1]) : undefined;
    if (next) await this.show(next.id);
    if (await this.ask("conversation.delete", { id: conversation.id })) this.view.toast("plain", words.conversation.deleted(conversation.title));
    else if (next) await this.show(conversation.id);
  }

  async addWorkspace(path?: string): Promise<string | undefined> {
    let chosen = path;
    if (chosen === undefined) chosen = (await this.ask("host.pick_folder", {}))?.path;
    if (!chosen) return undefined;
    return (await this.ask("workspace.add", { path: chosen }))?.id;
  }

  /** False when it was refused; a control that moved already has to move back then. */
  async setLevel(level: Level): Promise<boolean> {
    return this.app.open !== null && (await this.ask("conversation.set_level", { id: this.app.open.id, level })) !== undefined;
  }

  setDiscovery(discovery: boolean): void {
    if (this.app.open) void this.ask("conversation.set_discovery", { id: this.app.open.id, discovery });
  }

  async setWorkspaces(workspaces: string[]): Promise<void> {
    if (this.app.open) await this.ask("conversation.set_workspaces", { id: this.app.open.id, workspaces });
  }

  /** Ticks or unticks; false when it was refused, or needs a person's look first, which is shown under its row. */
  async tick(server: string, ticked: boolean, digest?: string): Promise<boolean> {
    const conversation = this.app.open?.id;
    if (!conversation) return false;
    const answer = await this.ask("server.tick", { conversation, server, ticked, ...(digest ? { digest } : {}) });
    if (!answer) return false;
    this.view.review(server, answer.needs ? { view: answer.needs, wish: { kind: "tick" } } : null);
    return !answer.needs;
  }

  async test(server: string, digest?: string): Promise<void> {
    const conversation = this.app.open?.id;
    if (!conversation) return;
    const answer = await this.ask("server.test", { conversation, server, ...(digest ? { digest } : {}) });
    if (answer?.needs) this.view.review(server, { view: answer.needs, wish: { kind: "test" } });
    else if (answer) this.view.review(server, null);
  }

  /** Opens the review of an entry that changed since it was agreed to. */
  async openReview(server: string, wish: Wish = { kind: "tick" }): Promise<void> {
    const conversation = this.app.open?.id;
    if (!conversation) return;
    const view = await this.ask("server.review", { conversation, server });
    if (view) this.view.review(server, { view, wish });
  }

  /** The person saw what would start, and agrees to exactly that. */
  async agree(server: string): Promise<void> {
    const review = this.view.reviews.get(server);
    if (!review) return;
    const { digest } = review.view;
    switch (review.wish.kind) {
      case "look":
        return this.view.review(server, null);
      case "tick":
        await this.tick(server, true, digest);
        return;
      case "test":
        return this.test(server, digest);
      case "call": {
        const { tool, arguments: text } = review.wish;
        if (await this.tick(server, true, digest)) await this.call(server, tool, text);
      }
    }
  }

  async removeServer(row: ServerRow, section: Section): Promise<void> {
    if (section.file_hash === undefined) return;
    if (await this.ask("server.remove", { server: row.id, file_hash: section.file_hash }))
      this.view.toast("plain", words.servers.removed(row.name));
  }

  async addServer(section: Section, name: string, entry: string, use: boolean): Promise<boolean> {
    const conversation = this.app.open?.id;
    if (!conversation) return false;
    const hash = section.file_hash === undefined ? {} : { file_hash: section.file_hash };
    const made = await this.ask("server.add", { conversation, level: section.level, name, entry, ...hash, replace: false });
    if (!made) return false;
    this.view.toast("plain", words.add.added(name));
    if (use) await this.tick(made.id, true);
    return true;
  }

  /** Puts another text in the place of an entry. */
  async replaceServer(section: Section, server: string, name: string, entry: string, plan: PlanReply): Promise<boolean> {
    if (section.file_hash === undefined) return false;
    const digest = plan.review ? { digest: plan.review.digest } : {};
    const done = await this.ask("server.edit", { server, name, entry, file_hash: section.file_hash, keep_ticks: false, ...digest });
    if (done) this.view.toast("plain", words.edit.saved(name));
    return done !== undefined;
  }

  /** Opens the editor of a server's entry, or goes back to it. */
  edit(server: string): void {
    const conversation = this.app.open?.id;
    if (!conversation || this.view.drafts.has(server)) return;
    const draft = new EntryDraft(this.app, server, conversation);
    this.view.draft(server, draft);
    void draft.load();
  }

  /** Switches go one after the other, each from the file that the one before left behind. */
  #switches: Promise<unknown> = Promise.resolve();
  #left: { file: string; from: string | undefined; hash: string } | null = null;

  /** Lists a tool in its server's entry, or takes it off. */
  setTool(row: ServerRow, level: string, tool: string, wished: { disabled?: boolean; always_asks?: boolean }): Promise<boolean> {
    const done = this.#switches.then(async () => {
      const shown = this.app.open?.servers.sections.find((s) => s.level === level)?.file_hash;
      const left = this.#left;
      const hash = left && left.file === row.file && left.from === shown ? left.hash : shown;
      if (hash === undefined) return false;
      const reply = await this.ask("server.set_tool", { server: row.id, tool, ...wished, file_hash: hash });
      this.#left = reply ? { file: row.file, from: shown, hash: reply.file_hash } : null;
      return reply !== undefined;
    });
    this.#switches = done;
    return done;
  }

  async addSample(): Promise<boolean> {
    const id = this.app.open?.id ?? (await this.create([]));
    if (!id) return false;
    const made = await this.ask("server.add_sample", { id });
    if (!made) return false;
    void this.ask("conversation.warm", { id });
    return true;
  }

  rescan(): void {
    if (this.app.open) void this.ask("level.rescan", { id: this.app.open.id });
  }

  /** Shows the level's file in the file manager; where there is none, says where it is. */
  async reveal(level: string): Promise<void> {
    const conversation = this.app.open?.id;
    if (!conversation) return;
    const answer = await this.ask("level.reveal", { conversation, level });
    if (answer?.path && !this.app.info?.can_reveal) this.view.toast("plain", words.servers.fileIs(answer.path));
  }

  reconnect(server: string): void {
    if (this.app.open) void this.ask("server.reconnect", { conversation: this.app.open.id, server });
  }

  async openLog(server: string): Promise<void> {
    try {
      await this.app.openLog(server);
    } catch (error) {
      this.app.closeLog();
      this.fail(error);
    }
  }

  /** Puts a call on its road. A server that changed is shown first. */
  async call(server: string, tool: string, text: string): Promise<boolean> {
    const conversation = this.app.open?.id;
    if (!conversation) return false;
    try {
      await this.app.request("call.start", { conversation, server, tool, arguments: text });
      return true;
    } catch (error) {
      if (failure(error).code === "needs_consent") await this.openReview(server, { kind: "call", tool, arguments: text });
      else this.fail(error);
      return false;
    }
  }

  stop(entry: string): void {
    if (this.app.open) void this.ask("call.stop", { conversation: this.app.open.id, entry });
  }

  /** Answers a card. What was edited on it is done with once somebody heard the answer; until then it is kept. */
  async answer(card: string, { allow, reason, arguments: edited }: { allow: boolean; reason?: string; arguments?: string | undefined }): Promise<void> {
    const { edits } = this.view;
    edits.sending = card;
    const answer = await this.ask("card.answer", { card, allow, ...(edited === undefined ? {} : { arguments: edited }), ...(reason ? { reason } : {}) });
    if (answer?.was_waiting) edits.drop(card);
    else if (answer) this.view.toast("plain", words.card.late);
    if (edits.sending === card) edits.sending = null;
  }

  async saveSettings(settings: Settings): Promise<boolean> {
    return (await this.ask("settings.set", { settings })) !== undefined;
  }

  /** One key goes to the first waiting card, wherever it is. The card itself gets the keyboard, none of its buttons. */
  async goToCard(): Promise<void> {
    const card = this.app.cards.find((c) => c.conversation === this.app.open?.id) ?? this.app.cards[0];
    if (!card) {
      this.view.say(words.card.none);
      this.view.toast("plain", words.card.none);
      return;
    }
    this.view.remember();
    await this.goToCall(card.conversation, card.entry);
  }

  /** Goes to a call: to its card while that waits, else to its place in the transcript. */
  async goToCall(conversation: string, entry: string): Promise<void> {
    if (conversation !== this.app.open?.id && !(await this.show(conversation))) return;
    this.view.go("conversation");
    await drawn();
    const card = this.app.cards.find((c) => c.entry === entry);
    if (card) document.getElementById(`card-${card.id}`)?.focus();
    else this.view.wanted = entry;
  }

  async copy(text: string, what: string = words.copied): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A window whose engine has no clipboard interface still has the old way.
      if (!copyByHand(text)) {
        this.view.toast("bad", words.copyFailed);
        return;
      }
    }
    this.view.toast("plain", what);
  }
}

function copyByHand(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}
