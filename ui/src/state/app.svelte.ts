// What the window knows of the engine: a snapshot, then events in order. Owns the copy of the engine's state and keeps
// it true; it decides nothing and draws nothing. A gap in the numbers, or the engine's own word, takes a new snapshot.

import type {
  AppInfo,
  Card,
  Conversation,
  ConversationSummary,
  Entry,
  Envelope,
  Event,
  LogLine,
  ServerRow,
  Settings,
  StageInfo,
  ToolRef,
  Workspace,
} from "../host/api";
import { failure, type Host, type Link, type Method, type Params, type Reply } from "../host/host";

/** The open conversation, as drawn. */
export class OpenConversation {
  readonly id: string;
  seq: number;
  level = $state.raw<Conversation["level"]>("manual");
  discovery = $state(false);
  draft: string;
  scratch = $state<string | undefined>();
  servers = $state.raw<Conversation["servers"]>({ sections: [], dangling: [], selected: 0, total: 0 });
  entries = $state.raw<Entry[]>([]);
  /** Tools of its connected servers; null until asked for the first time. */
  tools = $state.raw<ToolRef[] | null>(null);
  /** Every row by its server's id. */
  readonly rows: Map<string, ServerRow> = $derived(
    new Map([...this.servers.sections.flatMap((s) => s.rows), ...this.servers.dangling].map((row) => [row.id, row])),
  );

  constructor(from: Conversation) {
    this.id = from.summary.id;
    this.seq = from.seq;
    this.draft = from.draft;
    this.take(from);
  }

  take(from: Conversation) {
    this.seq = from.seq;
    this.level = from.level;
    this.discovery = from.discovery;
    this.scratch = from.scratch;
    this.servers = from.servers;
    this.entries = from.transcript;
  }
}

const logLimit = 1000;

export class App {
  link = $state<Link>("connecting");
  /** The first snapshot is here. */
  ready = $state(false);
  info = $state.raw<AppInfo | null>(null);
  settings = $state.raw<Settings>({ review: "always" });
  workspaces = $state.raw<Workspace[]>([]);
  conversations = $state.raw<ConversationSummary[]>([]);
  cards = $state.raw<Card[]>([]);
  notices = $state.raw<{ id: number; text: string }[]>([]);
  open = $state.raw<OpenConversation | null>(null);
  /** The open one, as the list has it; it may come there a moment later. */
  readonly summary: ConversationSummary | undefined = $derived(this.conversations.find((c) => c.id === this.open?.id));
  /** The stages of the last test of each server, as they arrive. */
  stages = $state.raw<ReadonlyMap<string, StageInfo[]>>(new Map());
  /** The log that is looked at, if any. */
  log = $state.raw<{ server: string; lines: LogLine[] } | null>(null);
  /** Called with every entry whose state changed, for announcements. */
  onentry: (conversation: string, entry: Entry, before: Entry | undefined) => void = () => {};

  /** Called when a person clicked what the desktop showed of a call. */
  onshow: (conversation: string, entry: string) => void = () => {};
  /** Called when a call ended that ran for long. */
  onended: (call: Extract<Event, { type: "call_ended" }>) => void = () => {};

  /** The last event that is contained in what is shown; null while a snapshot is on its way. */
  #seq: number | null = null;
  #waiting: Envelope[] = [];
  #loads = 0;
  #noticeId = 0;
  #wanted: string | null = null;
  #opening = new Map<string, { seq: number; event: Event }[]>();
  #toolsTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly host: Host) {}

  request<M extends Method>(method: M, params: Params<M>): Promise<Reply<M>> {
    return this.host.request(method, params);
  }

  /** Begins to follow the engine; returns the way to stop. */
  start(): () => void {
    return this.host.subscribe({
      envelope: (envelope) => this.#receive(envelope),
      link: (link) => {
        this.link = link;
        if (link === "live") void this.#load();
        else if (link === "lost") this.#seq = null;
      },
    });
  }

  /** Takes a snapshot; events that arrive meanwhile wait for it. Only the newest of several loads counts. */
  async #load(): Promise<void> {
    const load = ++this.#loads;
    this.#seq = null;
    for (let pause = 250; ; pause = Math.min(pause * 2, 8000)) {
      try {
        const snapshot = await this.host.request("snapshot", {});
        if (load !== this.#loads) return;
        this.info = snapshot.app;
        this.settings = snapshot.settings;
        this.workspaces = snapshot.workspaces;
        this.conversations = snapshot.conversations;
        this.cards = snapshot.cards;
        if (!this.ready) for (const text of snapshot.notices) this.#notice(text);
        this.#seq = snapshot.seq;
        this.ready = true;
        const waiting = this.#waiting;
        this.#waiting = [];
        for (const envelope of waiting) this.#receive(envelope);
        // What is open, and the log that is looked at, were read before the gap.
        const wanted = this.#wanted;
        if (wanted !== null && this.#seq !== null)
          void this.show(wanted).catch((error: unknown) => {
            if (failure(error).code === "not_found" && this.open?.id === wanted) this.#leave(wanted);
          });
        if (this.log) void this.openLog(this.log.server).catch(() => {});
        return;
      } catch (error) {
        if (load !== this.#loads || failure(error).code === "denied") return;
        await new Promise((next) => setTimeout(next, pause));
        if (load !== this.#loads) return;
      }
    }
  }

  #receive(envelope: Envelope): void {
    if (envelope.kind === "resync") {
      this.#waiting = [];
      void this.#load();
    } else if (this.#seq === null) {
      // Far more than a snapshot takes: then it will be taken again.
      if (this.#waiting.length < 10_000) this.#waiting.push(envelope);
    } else if (envelope.seq <= this.#seq) {
      // Contained in the snapshot.
    } else if (envelope.seq !== this.#seq + 1) {
      this.#waiting = [envelope];
      void this.#load();
    } else {
      this.#seq = envelope.seq;
      this.#apply(envelope.seq, envelope.event);
    }
  }

  #apply(seq: number, event: Event): void {
    switch (event.type) {
      case "workspaces":
        this.workspaces = event.workspaces;
        break;
      case "conversations":
        this.conversations = event.conversations;
        this.#leaveIfGone(seq);
        break;
      case "cards":
        this.cards = event.cards;
        break;
      case "settings":
        this.settings = event.settings;
        break;
      case "notice":
        this.#notice(event.text);
        break;
      case "show":
        this.onshow(event.conversation, event.entry);
        break;
      case "call_ended":
        this.onended(event);
        break;
      case "test_stage": {
        const stages = event.stage.stage === "config" ? [] : (this.stages.get(event.server) ?? []);
        const kept = stages.filter((s) => s.stage !== event.stage.stage);
        this.stages = new Map(this.stages).set(event.server, [...kept, event.stage]);
        break;
      }
      case "server_log":
        if (this.log?.server === event.server)
          this.log = { server: event.server, lines: [...this.log.lines, event.line].slice(-logLimit) };
        break;
      case "conversation_changed":
        this.#forConversation(event.id, seq, event);
        break;
      case "servers":
      case "server_status":
      case "tools_changed":
      case "entry":
        this.#forConversation(event.conversation, seq, event);
        break;
      default:
        event satisfies never;
    }
  }

  #forConversation(id: string, seq: number, event: Event): void {
    this.#opening.get(id)?.push({ seq, event });
    const open = this.open;
    if (open?.id === id && seq > open.seq) this.#change(open, event);
  }

  #change(open: OpenConversation, event: Event): void {
    switch (event.type) {
      case "conversation_changed":
        open.level = event.level;
        open.discovery = event.discovery;
        break;
      case "servers":
        open.servers = event.servers;
        this.#refreshTools();
        break;
      case "server_status": {
        const swap = (row: ServerRow) => (row.id === event.server ? { ...row, status: event.status } : row);
        open.servers = {
          ...open.servers,
          sections: open.servers.sections.map((s) => ({ ...s, rows: s.rows.map(swap) })),
          dangling: open.servers.dangling.map(swap),
        };
        this.#refreshTools();
        break;
      }
      case "tools_changed":
        this.#refreshTools();
        break;
      case "entry": {
        const at = open.entries.findLastIndex((e) => e.id === event.entry.id);
        const before = at === -1 ? undefined : open.entries[at];
        open.entries = at === -1 ? [...open.entries, event.entry] : open.entries.with(at, event.entry);
        this.onentry(open.id, event.entry, before);
        break;
      }
    }
  }

  #notice(text: string): void {
    if (this.notices.some((n) => n.text === text)) return;
    this.notices = [...this.notices, { id: ++this.#noticeId, text }].slice(-20);
  }

  dismissNotice(id: number): void {
    this.notices = this.notices.filter((n) => n.id !== id);
  }

  /** Opens a conversation, or reads the open one anew. Nothing starts by it (B20b). */
  async show(id: string): Promise<void> {
    this.#wanted = id;
    const missed: { seq: number; event: Event }[] = [];
    this.#opening.set(id, missed);
    try {
      const read = await this.host.request("conversation.open", { id });
      if (this.#wanted !== id) return;
      if (this.open?.id === id) this.open.take(read);
      else this.open = new OpenConversation(read);
      for (const { seq, event } of missed) if (seq > read.seq) this.#change(this.open, event);
      this.#refreshTools();
      if (this.#seq !== null) this.#leaveIfGone(this.#seq);
    } catch (error) {
      if (this.#wanted === id) this.#wanted = this.open?.id ?? null;
      throw error;
    } finally {
      if (this.#opening.get(id) === missed) this.#opening.delete(id);
    }
  }

  /** The list of conversations, as of event `seq`, may not have the open one any more. An older list may not have it yet. */
  #leaveIfGone(seq: number): void {
    const open = this.open;
    if (open && seq > open.seq && !this.conversations.some((c) => c.id === open.id)) this.#leave(open.id);
  }

  /** Another one that is on its way to being opened comes all the same. */
  #leave(id: string): void {
    if (this.#wanted === id) this.#wanted = null;
    this.open = null;
  }

  /** The list of tools follows the connections, a little behind so that ten servers cost one request. */
  #refreshTools(): void {
    clearTimeout(this.#toolsTimer);
    this.#toolsTimer = setTimeout(() => void this.loadTools().catch(() => {}), 120);
  }

  async loadTools(): Promise<void> {
    const open = this.open;
    if (!open) return;
    const { tools } = await this.host.request("tools.list", { id: open.id });
    if (this.open === open) open.tools = tools;
  }

  async openLog(server: string): Promise<void> {
    this.log = { server, lines: this.log?.server === server ? this.log.lines : [] };
    const { lines } = await this.host.request("server.log", { id: server });
    // Lines that came by event meanwhile are part of the reply or newer than it.
    const log = this.log as { server: string; lines: LogLine[] } | null;
    if (log?.server !== server) return;
    const last = lines.at(-1);
    const newer = last ? log.lines.filter((l) => l.at > last.at) : log.lines;
    this.log = { server, lines: [...lines, ...newer].slice(-logLimit) };
  }

  closeLog(): void {
    this.log = null;
  }
}
