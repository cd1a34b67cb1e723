// An engine that is played, for unit tests and the dev page (dev/); it is never part of the product.
// It follows the wire's rules (numbers, whole values, consent, cards) so that the window can be tried without an engine.

import type {
  AppInfo,
  CallState,
  Card,
  Conversation,
  Entry,
  Event,
  Methods,
  Section,
  ServerRow,
  ServerStatus,
  Settings,
  Snapshot,
  StageInfo,
  ToolDetail,
  ToolRef,
  Workspace,
} from "./api";
import { changedFile, misfits, plan } from "./fake-checks";
import { pastedServers, review, sampleTools, type FakeServer, type FakeTool } from "./fake-servers";
import { HostError, type Host, type Method, type Params, type Reply, type Subscriber } from "./host";

export type FakeOptions = {
  app?: Partial<AppInfo>;
  workspaces?: Workspace[];
  conversations?: { id: string; title: string; workspaces?: string[]; held_by?: string; entries?: Entry[]; level?: Conversation["level"]; draft?: string; updated_at?: number }[];
  servers?: FakeServer[];
  sections?: Partial<Section>[];
  ticked?: string[];
  notices?: string[];
  /** Passes quickly in tests. */
  speed?: number;
  /** The page runs in a browser, not in a window of its own. */
  browser?: boolean;
};

type Handlers = { [M in Method]: (params: Params<M>) => Reply<M> | Promise<Reply<M>> };
const pause = (ms: number) => new Promise((next) => setTimeout(next, ms));

export class FakeHost implements Host {
  readonly asked: { method: Method; params: unknown }[] = [];
  /** What the page last said of text that is not saved. */
  held = false;
  readonly everyKey: boolean;
  #seq = 100;
  #ids = 0;
  #subscribers = new Set<Subscriber>();
  #speed: number;
  #app: AppInfo;
  #settings: Settings = { review: "always" };
  #workspaces: Workspace[];
  #conversations = new Map<string, Conversation & { ticked: Set<string> }>();
  #sections: Partial<Section>[];
  #servers: FakeServer[];
  #agreed = new Set<string>();
  /** Of every file: it changes with each edit. */
  #edits = 0;
  get #hash() {
    return `hash-${this.#edits}`;
  }
  #status = new Map<string, ServerStatus>();
  #cards = new Map<string, { card: Card; answer: (allow: boolean, reason?: string, edited?: string) => void }>();
  #stops = new Map<string, () => void>();
  #notices: string[];

  constructor(options: FakeOptions = {}) {
    this.#speed = options.speed ?? 1;
    this.everyKey = options.browser !== true;
    this.#app = {
      version: "0.1.0",
      platform: "linux",
      global_file: "/home/ada/.mework/mcp.json",
      data_dir: "/home/ada/.local/share/mework",
      first_start: false,
      can_pick_folder: false,
      can_reveal: true,
      notifies: true,
      ...options.app,
    };
    this.#workspaces = options.workspaces ?? [];
    this.#servers = options.servers ?? [];
    this.#sections = options.sections ?? [];
    this.#notices = options.notices ?? [];
    for (const one of options.conversations ?? []) this.#make(one.id, one.title, one.workspaces ?? [], one, new Set(options.ticked ?? []));
  }

  // ── The host ──

  async request<M extends Method>(method: M, params: Params<M>): Promise<Reply<M>> {
    this.asked.push({ method, params });
    await pause(this.#ms(20));
    const handler = this.#handlers[method] as unknown as (p: unknown) => unknown;
    return structuredClone(await handler(params)) as Methods[M]["reply"];
  }

  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    subscriber.link("connecting");
    setTimeout(() => subscriber.link("live"), this.#ms(30));
    return () => this.#subscribers.delete(subscriber);
  }

  unsaved(held: boolean): void {
    this.held = held;
  }

  emit(event: Event): void {
    const seq = ++this.#seq;
    for (const one of this.#subscribers) one.envelope({ kind: "event", seq, event: structuredClone(event) });
  }

  /** A server lists other tools than before. */
  relist(name: string, tools: FakeTool[]): void {
    this.#server(name).tools = tools;
    for (const conversation of this.#conversations.keys()) this.emit({ type: "tools_changed", conversation, server: name });
  }

  link(link: "lost" | "live" | "denied"): void {
    for (const one of this.#subscribers) one.link(link);
  }

  #ms = (ms: number) => ms / this.#speed;
  #id = (kind: string) => `${kind}-${++this.#ids}`;

  // ── What it holds ──

  #make(id: string, title: string, workspaces: string[], more: { held_by?: string; entries?: Entry[]; level?: Conversation["level"]; draft?: string; updated_at?: number } = {}, ticked = new Set<string>()) {
    this.#conversations.set(id, {
      seq: this.#seq,
      summary: { id, title, workspaces, temporary: false, updated_at: more.updated_at ?? Date.now(), waiting_cards: 0, running_calls: 0, ...(more.held_by ? { held_by: more.held_by } : {}) },
      level: more.level ?? "manual",
      discovery: true,
      draft: more.draft ?? "",
      servers: { sections: [], dangling: [], selected: 0, total: 0 },
      transcript: more.entries ?? [],
      ticked,
    });
  }

  #get(id: string) {
    const found = this.#conversations.get(id);
    if (!found) throw new HostError("not_found", "That conversation does not exist any more.");
    return found;
  }

  /** Its entry's text: the one it was given, or one like those of the real world. */
  #entry_of(server: FakeServer): string {
    const lists = { ...(server.disabled_tools?.length ? { disabledTools: server.disabled_tools } : {}), ...(server.always_ask?.length ? { disabledAutoApproveTools: server.always_ask } : {}) };
    return server.entry ?? JSON.stringify({ command: "npx", args: ["-y", `@example/${server.name}`], env: { TOKEN: "s3cret" }, ...lists }, null, 2);
  }

  #server(name: string): FakeServer {
    const found = this.#servers.find((s) => s.name === name);
    if (!found) throw new HostError("not_found", "That server is not declared any more.");
    return found;
  }

  #row(server: FakeServer, ticked: Set<string>): ServerRow {
    const { level: _l, tools: _t, failure: _f, entry: _e, folders: _d, ...row } = server;
    const available = row.available ?? true;
    return {
      id: server.name,
      transport: "stdio",
      summary: `npx -y @example/${server.name}`,
      file: this.#app.global_file,
      machine: "This computer",
      consent: this.#agreed.has(server.name) ? "given" : "needed",
      reasons: [],
      notes: [],
      disabled_tools: [],
      always_ask: [],
      ...row,
      available,
      ticked: ticked.has(server.name),
      status: this.#status.get(server.name) ?? row.status ?? (available ? { kind: "idle" } : { kind: "unavailable" }),
    };
  }

  #servers_of(c: { summary: { workspaces: string[] }; ticked: Set<string> }): Conversation["servers"] {
    const levels = ["global", ...c.summary.workspaces];
    const sections = levels.map((level, i): Section => {
      const workspace = this.#workspaces.find((w) => w.id === level);
      const rows = this.#servers.filter((s) => (s.level ?? "global") === level && s.status?.kind !== "dangling").map((s) => this.#row(s, c.ticked));
      return {
        level,
        title: workspace?.path ?? "Global",
        machine: "This computer",
        ...(levels.length > 2 && i > 0 ? { number: i } : {}),
        file: workspace ? `${workspace.path}/.mework/mcp.json` : this.#app.global_file,
        file_exists: rows.length > 0,
        ...(rows.length > 0 ? { file_hash: this.#hash } : {}),
        selected: rows.filter((r) => r.ticked).length,
        rows,
        ...this.#sections.find((s) => s.level === level),
      };
    });
    const dangling = this.#servers.filter((s) => s.status?.kind === "dangling" && c.ticked.has(s.name)).map((s) => this.#row(s, c.ticked));
    const all = sections.flatMap((s) => s.rows);
    return { sections, dangling, selected: all.filter((r) => r.ticked).length + dangling.length, total: all.length };
  }

  #sendServers(): void {
    for (const [id, c] of this.#conversations) this.emit({ type: "servers", conversation: id, servers: this.#servers_of(c) });
  }

  #sendConversations(): void {
    this.emit({ type: "conversations", conversations: this.#summaries() });
  }

  #summaries() {
    return [...this.#conversations.values()].map((c) => ({ ...c.summary, waiting_cards: [...this.#cards.values()].filter((x) => x.card.conversation === c.summary.id).length }));
  }

  #setStatus(server: string, status: ServerStatus): void {
    this.#status.set(server, status);
    for (const id of this.#conversations.keys()) this.emit({ type: "server_status", conversation: id, server, status });
  }

  #tools(c: { ticked: Set<string> }): ToolRef[] {
    return this.#servers.filter((s) => c.ticked.has(s.name) && (this.#status.get(s.name) ?? s.status)?.kind === "connected").flatMap((s) => (s.tools ?? []).map((t) => this.#ref(s, t)));
  }

  #ref(server: FakeServer, tool: FakeTool): ToolRef {
    const { input_schema, answer: _a, takes: _k, ...rest } = tool;
    return {
      server: server.name,
      server_name: server.name,
      model_name: `mcp__${server.name}_0123456789__${tool.name}__0123456789`,
      schema_bytes: JSON.stringify(input_schema ?? {}).length + 180,
      always_asks: (server.always_ask ?? []).includes(tool.name),
      server_asks: tool.always_asks ?? false,
      disabled: (server.disabled_tools ?? []).includes(tool.name),
      definition: JSON.stringify([tool.description, input_schema]),
      ...rest,
    };
  }

  // ── What happens over time ──

  async #start(name: string, announce: ServerStatus): Promise<void> {
    const server = this.#server(name);
    this.#setStatus(name, announce);
    const stages: StageInfo["stage"][] = ["config", "program", "start", "handshake", "list"];
    for (const [i, stage] of stages.entries()) {
      const took = [2, 6, 40, 380, 90][i] ?? 1;
      await pause(this.#ms(took * 2));
      const failed = server.failure?.stage === stage;
      this.emit({ type: "test_stage", server: name, stage: { stage, ms: took, ok: !failed } });
      this.emit({ type: "server_log", server: name, line: { at: Date.now(), source: "mework", text: `stage ${stage} ${failed ? "failed" : "done"}` } });
      if (failed && server.failure) {
        this.#setStatus(name, server.failure);
        return;
      }
    }
    const weights = (server.tools ?? []).map((t) => ({ name: t.name, bytes: this.#ref(server, t).schema_bytes })).sort((a, b) => b.bytes - a.bytes);
    this.#setStatus(name, { kind: "connected", tools: weights.length, asking: 0, definition_bytes: weights.reduce((sum, t) => sum + t.bytes, 0), heaviest: weights, set_aside: [], notices: [], server_name: `@example/${name}`, server_version: "1.4.2", protocol: "2025-11-25", elapsed_ms: 518 });
  }

  #entry(conversation: string, entry: Entry): void {
    const c = this.#get(conversation);
    const at = c.transcript.findIndex((e) => e.id === entry.id);
    if (at === -1) c.transcript.push(entry);
    else c.transcript[at] = entry;
    this.emit({ type: "entry", conversation, entry });
  }

  #sendCards(): void {
    this.emit({ type: "cards", cards: [...this.#cards.values()].map((c) => c.card) });
    this.#sendConversations();
  }

  async #call(p: Params<"call.start">, entryId: string): Promise<void> {
    const c = this.#get(p.conversation);
    const server = this.#server(p.server);
    const tool = server.tools?.find((t) => t.name === p.tool);
    const at = Date.now();
    let entry: Entry = { id: entryId, at, body: { kind: "call", server: p.server, server_name: p.server, machine: "This computer", tool: p.tool, ...(tool?.title ? { title: tool.title } : {}), arguments: p.arguments, state: { kind: "connecting" } } };
    const put = (state: CallState, more: object = {}) => {
      if (entry.body.kind !== "call") return;
      entry = { ...entry, body: { ...entry.body, ...more, state } };
      this.#entry(p.conversation, entry);
    };
    put({ kind: "connecting" });
    let stopped = false;
    let by = "the level Full access";
    let edited: string | undefined;
    if (c.level !== "full_access" || tool?.always_asks) {
      const card: Card = {
        id: this.#id("card"),
        conversation: p.conversation,
        conversation_title: c.summary.title,
        entry: entryId,
        server: p.server,
        server_name: p.server,
        machine: "This computer",
        cwd: server.folders?.[0] ?? "/home/ada/work/api",
        folders: server.folders ?? [],
        tool: p.tool,
        definition: tool ? this.#ref(server, tool).definition : "",
        brief: { server: p.server, tool: p.tool },
        ...(tool?.description ? { description: tool.description } : {}),
        arguments: p.arguments,
        why: tool?.always_asks ? "server_requires" : "level",
        at: Date.now(),
      };
      put({ kind: "waiting", card: card.id }, { asked_at: card.at });
      const answer = await new Promise<{ allow: boolean; reason?: string; edited?: string } | null>((resolve) => {
        this.#cards.set(card.id, { card, answer: (allow, reason, edited) => resolve({ allow, ...(reason ? { reason } : {}), ...(edited === undefined ? {} : { edited }) }) });
        this.#stops.set(entryId, () => resolve(null));
        this.#sendCards();
      });
      this.#cards.delete(card.id);
      this.#sendCards();
      if (!answer) return put({ kind: "stopped" }, { answered_at: Date.now(), ended_at: Date.now() });
      put({ kind: "waiting", card: card.id }, { answered_at: Date.now() });
      if (!answer.allow) return put({ kind: "denied", ...(answer.reason ? { reason: answer.reason } : {}) }, { ended_at: Date.now() });
      by = c.level === "full_access" && !tool?.always_asks ? by : "a person in the window";
      edited = answer.edited;
      const now = server.tools?.find((t) => t.name === p.tool);
      if (!now || this.#ref(server, now).definition !== card.definition)
        return put({ kind: "not_run", reason: "The approval was for another call: the server's entry, the tool or the arguments changed since. Call again." }, { ended_at: Date.now() });
    }
    const started = Date.now();
    const approval = { by, at: started, arguments_digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", ...(edited === undefined ? {} : { edit: { by, digest_before: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752" } }) };
    const sent = edited === undefined ? {} : { arguments: edited, arguments_before: p.arguments };
    this.#stops.set(entryId, () => (stopped = true));
    const takes = tool?.takes ?? 200;
    for (let passed = 0; passed < takes && !stopped; passed += 200) {
      put({ kind: "running", ...(takes > 1000 ? { progress: { progress: passed, total: takes, message: `Step ${passed / 200 + 1}` } } : {}) }, { approval, ...sent, started_at: started });
      await pause(this.#ms(200));
    }
    this.#stops.delete(entryId);
    const elapsed = Date.now() - started;
    if (stopped) return put({ kind: "stopped" }, { ended_at: Date.now() });
    const answer: CallState = tool?.answer ?? { kind: "done", is_error: false, content: [{ type: "text", text: `You said: ${edited ?? p.arguments}` }], bytes: (edited ?? p.arguments).length + 60, elapsed_ms: elapsed };
    put(answer, { ended_at: Date.now() });
  }

  // ── The methods ──

  #handlers: Handlers = {
    snapshot: (): Snapshot => ({
      seq: this.#seq,
      app: this.#app,
      settings: this.#settings,
      workspaces: this.#workspaces,
      conversations: this.#summaries(),
      cards: [...this.#cards.values()].map((c) => c.card),
      notices: this.#notices,
    }),
    "settings.set": ({ settings }) => {
      this.#settings = settings;
      this.emit({ type: "settings", settings });
      return {};
    },
    "workspace.add": ({ path }) => {
      if (!path.startsWith("/")) throw new HostError("failed", `${path} is not an absolute path.`);
      const id = this.#id("workspace");
      this.#workspaces = [...this.#workspaces, { id, path, name: path.split("/").pop() ?? path, machine: "This computer", exists: true }];
      this.emit({ type: "workspaces", workspaces: this.#workspaces });
      return { id };
    },
    "workspace.remove": ({ id }) => {
      this.#workspaces = this.#workspaces.filter((w) => w.id !== id);
      this.emit({ type: "workspaces", workspaces: this.#workspaces });
      return {};
    },
    "host.pick_folder": () => ({}),
    "conversation.create": ({ workspaces, title }) => {
      const id = this.#id("conversation");
      this.#make(id, title ?? "New conversation", workspaces);
      this.#sendConversations();
      return { id };
    },
    "conversation.rename": ({ id, title }) => {
      this.#get(id).summary.title = title;
      this.#sendConversations();
      return {};
    },
    "conversation.delete": ({ id }) => {
      this.#conversations.delete(id);
      this.#sendConversations();
      return {};
    },
    "conversation.set_workspaces": ({ id, workspaces }) => {
      this.#get(id).summary.workspaces = workspaces;
      this.#sendConversations();
      this.#sendServers();
      return {};
    },
    "conversation.set_level": ({ id, level }) => {
      const c = this.#get(id);
      c.level = level;
      this.emit({ type: "conversation_changed", id, level, discovery: c.discovery });
      if (level === "full_access") for (const { card, answer } of this.#cards.values()) if (card.conversation === id && card.why === "level") answer(true);
      return {};
    },
    "conversation.set_discovery": ({ id, discovery }) => {
      const c = this.#get(id);
      c.discovery = discovery;
      this.emit({ type: "conversation_changed", id, level: c.level, discovery });
      return {};
    },
    "conversation.set_draft": ({ id, draft }) => {
      this.#get(id).draft = draft;
      return {};
    },
    "conversation.open": ({ id }) => {
      const { ticked: _, ...c } = this.#get(id);
      return { ...c, seq: this.#seq, servers: this.#servers_of(this.#get(id)) };
    },
    "conversation.warm": ({ id }) => {
      for (const name of this.#get(id).ticked) {
        const server = this.#servers.find((s) => s.name === name);
        if (server && server.available !== false && !this.#status.has(name) && server.status === undefined) void this.#start(name, { kind: "connecting", since: Date.now() });
      }
      return {};
    },
    "server.tick": ({ conversation, server, ticked, digest }) => {
      const c = this.#get(conversation);
      const row = this.#row(this.#server(server), c.ticked);
      if (ticked && row.consent !== "given" && !digest) return { needs: this.#view(server) };
      if (digest) {
        this.#agreed.add(server);
        const found = this.#server(server);
        if (found.consent) found.consent = "given";
      }
      if (ticked) c.ticked.add(server);
      else c.ticked.delete(server);
      this.emit({ type: "servers", conversation, servers: this.#servers_of(c) });
      if (ticked && !this.#status.has(server)) void this.#start(server, { kind: "connecting", since: Date.now() });
      return {};
    },
    "server.test": ({ server, digest }) => {
      const found = this.#server(server);
      if (!this.#agreed.has(server) && found.consent !== "given" && !digest) return { needs: this.#view(server) };
      if (digest) this.#agreed.add(server);
      void this.#start(server, { kind: "testing" });
      return {};
    },
    "server.review": ({ server }) => this.#view(server),
    "server.remove": ({ server }) => {
      this.#edits++;
      this.#servers = this.#servers.filter((s) => s.name !== server);
      this.#sendServers();
      return {};
    },
    "server.add": ({ level, name }) => {
      this.#edits++;
      this.#servers.push({ name, level, tools: [{ name: "hello", description: "Says hello." }] });
      this.#agreed.add(name);
      this.#sendServers();
      return { id: name };
    },
    "server.entry": ({ server }) => {
      const found = this.#server(server);
      return { name: found.name, entry: this.#entry_of(found), file: this.#row(found, new Set()).file, file_hash: this.#hash };
    },
    "server.plan": (asked) => {
      const found = asked.server === undefined ? undefined : this.#servers.find((s) => s.name === asked.server);
      const conversations = [...this.#conversations.values()].filter((c) => found && c.ticked.has(found.name)).map((c) => c.summary);
      return plan(asked, {
        entry: found && this.#entry_of(found),
        name: found?.name,
        hash: this.#hash,
        runs: found && (this.#status.get(found.name) ?? found.status)?.kind === "connected",
        busy: found?.busy,
        review: found?.consent === "changed" ? this.#view(found.name) : undefined,
        conversations,
      });
    },
    "server.edit": ({ server, name, entry, file_hash }) => {
      if (file_hash !== this.#hash) throw new HostError("conflict", changedFile);
      const found = this.#server(server);
      this.#edits++;
      found.name = name;
      found.entry = entry;
      this.#sendServers();
      return { id: name, file_hash: this.#hash };
    },
    "server.set_tool": ({ server, tool, disabled, always_asks, file_hash }) => {
      if (file_hash !== this.#hash) throw new HostError("conflict", changedFile);
      const found = this.#server(server);
      const set = (names: string[] | undefined, on: boolean | undefined) => (on === undefined ? (names ?? []) : on ? [...new Set([...(names ?? []), tool])] : (names ?? []).filter((n) => n !== tool));
      found.disabled_tools = set(found.disabled_tools, disabled);
      found.always_ask = set(found.always_ask, always_asks);
      this.#edits++;
      this.#sendServers();
      return { id: server, file_hash: this.#hash };
    },
    "server.parse_paste": ({ text }) => pastedServers(text, (name) => this.#servers.some((s) => s.name === name)),
    "server.add_sample": ({ id }) => {
      this.#servers.push({ name: "sample", description: "A small server to try things on.", summary: "mework sample-server", tools: sampleTools });
      this.#agreed.add("sample");
      this.#get(id).ticked.add("sample");
      this.#sendServers();
      void this.#start("sample", { kind: "connecting", since: Date.now() });
      return { id: "sample" };
    },
    "server.log": () => ({
      lines: [
        { at: Date.now() - 4000, source: "mework", text: "starting npx -y @example/docs" },
        { at: Date.now() - 3000, source: "stderr", text: "npm warn deprecated thing@1.0.0\u{1b}[0m" },
        { at: Date.now() - 2000, source: "stdout", text: "Server listening" },
        { at: Date.now() - 1000, source: "stderr", text: "Error: DOCS_TOKEN is not set" },
      ],
    }),
    "server.reconnect": ({ server }) => {
      void this.#start(server, { kind: "connecting", since: Date.now() });
      return {};
    },
    "level.rescan": () => {
      this.#sendServers();
      return {};
    },
    "level.reveal": () => ({ path: this.#app.global_file }),
    "tools.list": ({ id }) => ({ tools: this.#tools(this.#get(id)) }),
    "tools.get": ({ server, tool }): ToolDetail => {
      const found = this.#server(server).tools?.find((t) => t.name === tool);
      if (!found) throw new HostError("not_found", "That tool is not offered any more.");
      return { ...this.#ref(this.#server(server), found), input_schema: found.input_schema ?? { type: "object", properties: {} } };
    },
    "arguments.check": ({ server, tool, arguments: text }) => ({ problems: misfits(text, this.#server(server).tools?.find((t) => t.name === tool)?.input_schema) }),
    "call.start": (p) => {
      const server = this.#server(p.server);
      if (server.consent === "changed") throw new HostError("needs_consent", `${p.server} changed since you agreed to it.`);
      const id = this.#id("entry");
      void this.#call(p, id);
      return { id };
    },
    "call.stop": ({ entry }) => {
      this.#stops.get(entry)?.();
      return {};
    },
    "arguments.recent": ({ conversation, server, tool }) => {
      const sent = this.#get(conversation).transcript.flatMap(({ body }) => (body.kind === "call" && body.server === server && body.tool === tool && body.started_at !== undefined ? [{ arguments: body.arguments, at: body.started_at }] : []));
      return { recent: sent.reverse().filter((one, i) => sent.findIndex((other) => other.arguments === one.arguments) === i) };
    },
    "card.answer": ({ card, allow, reason, arguments: edited }) => {
      const found = this.#cards.get(card);
      if (allow && edited !== undefined && !edited.trim().startsWith("{")) throw new HostError("bad_request", "The arguments must be a JSON object, `{ … }`.");
      found?.answer(allow, reason, edited);
      return { was_waiting: found !== undefined };
    },
  };

  #view(name: string): Reply<"server.review"> {
    return review(this.#row(this.#server(name), new Set()));
  }
}
