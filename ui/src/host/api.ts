// Generated from crates/engine/src/api.rs by `make api`. Do not edit.

export type AnswerReply = { 
/**
 * False when nobody was waiting any more.
 */
was_waiting: boolean, };

export type AppInfo = { version: string, platform: string, 
/**
 * The global configuration file, whether or not it exists.
 */
global_file: string, data_dir: string, 
/**
 * No conversation existed before: show the welcome.
 */
first_start: boolean, 
/**
 * A native folder picker exists (`host.pick_folder`).
 */
can_pick_folder: boolean, 
/**
 * Folders can be shown in a file manager.
 */
can_reveal: boolean, 
/**
 * The desktop is told of waiting calls by itself while the window is not in front.
 */
notifies: boolean, };

export type ApprovalRecord = { 
/**
 * "a person in the window", "a person on the command line", "the level Full access", "--yes".
 */
by: string, at: number, 
/**
 * SHA-256 of the exact arguments that are sent, hex.
 */
arguments_digest: string, edit?: ArgumentsEdit, };

export type ArgumentProblem = { 
/**
 * JSON pointer into the arguments; empty for the whole. It may name a member that is missing.
 */
pointer: string, message: string, 
/**
 * Where the text is not JSON: one-based line and column.
 */
line?: number, column?: number, };

export type ArgumentsCheck = { conversation: string, server: string, tool: string, arguments: string, };

export type ArgumentsEdit = { 
/**
 * Who did, in the words of `ApprovalRecord.by`.
 */
by: string, 
/**
 * SHA-256 of the exact arguments that were asked for, hex.
 */
digest_before: string, };

export type Block = { "type": "text", text: string, } | { "type": "image", mime: string, data: string, width: number, height: number, } | { "type": "audio", mime: string, bytes: number, } | { "type": "resource_link", uri: string, name: string, mime?: string, } | { "type": "resource", uri: string, mime?: string, text: string, } | { "type": "other", what: string, };

export type Brief = { server: string, tool: string, };

export type ById = { id: string, };

export type CallEntry = { server: string, server_name: string, machine: string, tool: string, title?: string, 
/**
 * Raw: the exact JSON text that is sent.
 */
arguments: string, 
/**
 * Raw: what was asked for, when a person edited it on the card.
 */
arguments_before?: string, state: CallState, 
/**
 * When a card was put up for it, and when that was answered; what lies between is a person's time.
 */
asked_at?: number, answered_at?: number, 
/**
 * Who or what let it run, and when.
 */
approval?: ApprovalRecord, started_at?: number, ended_at?: number, };

export type CallOutcome = { is_error: boolean, content: Array<Block>, 
/**
 * Raw: compact JSON text. A number that a reader's own kind of number cannot hold keeps its digits.
 */
structured?: string, 
/**
 * B26's size.
 */
bytes: number, elapsed_ms: number, };

export type CallStart = { conversation: string, server: string, tool: string, arguments: string, };

export type CallState = { "kind": "connecting" } | { "kind": "waiting", card: string, } | { "kind": "running", progress?: Progress, } | { "kind": "done" } & CallOutcome | { "kind": "failed", message: string, stderr: Array<string>, elapsed_ms?: number, } | { "kind": "denied", reason?: string, } | { "kind": "stopped" } | { "kind": "not_run", reason: string, };

export type CallStop = { conversation: string, entry: string, };

export type Card = { id: string, conversation: string, conversation_title: string, 
/**
 * The transcript entry of the call.
 */
entry: string, server: string, server_name: string, machine: string, 
/**
 * Where it runs as it was asked for: a folder, or the origin the server is reached at.
 */
cwd: string, 
/**
 * The folders that `workspace` in the arguments chooses from by number, counted from one, the first where it is not
 * there (B28). None: the tool was not given that parameter, and every edit runs in `cwd`.
 */
folders: Array<string>, tool: string, 
/**
 * The digest of the tool's definition as it is asked for here. A yes for a tool that is defined otherwise by then is
 * void.
 */
definition: string, 
/**
 * Server and tool as they may stand on a locked screen (B44).
 */
brief: Brief, title?: string, 
/**
 * The server's words about the tool.
 */
description?: string, 
/**
 * Raw: the exact JSON text that would be sent.
 */
arguments: string, why: Why, at: number, };

export type CardAnswer = { card: string, allow: boolean, 
/**
 * With a yes: send exactly this JSON text in place of what was asked for. Text that cannot be sent is refused, and
 * the card goes on waiting.
 */
arguments?: string, 
/**
 * Reaches whoever asked for the call.
 */
reason?: string, };

export type Connected = { tools: number, 
/**
 * How many of them ask every time.
 */
asking: number, 
/**
 * What a model would be sent of the tools that are offered: all of it, and the heaviest of them, heaviest first.
 */
definition_bytes: number, heaviest: Array<ToolWeight>, set_aside: Array<SetAsideTool>, notices: Array<string>, server_name: string, server_version: string, protocol: string, elapsed_ms: number, };

export type Consent = "given" | "needed" | "changed";

export type ConsentReply = { needs?: ConsentView, };

export type ConsentView = { server: string, name: string, machine: string, file: string, 
/**
 * What agreeing binds to.
 */
digest: string, 
/**
 * The entry as it is now; absent in the file is not possible here.
 */
new: EntryView, 
/**
 * What was agreed to before, when the entry changed since.
 */
old?: EntryView, 
/**
 * Lines of old and new canonical JSON side by side; empty without `old`.
 */
diff: Array<DiffLine>, };

export type Conversation = { seq: number, summary: ConversationSummary, level: Level, 
/**
 * Tool discovery: on demand when true. Stored; it acts once models exist.
 */
discovery: boolean, draft: string, 
/**
 * The temporary conversation's scratch folder, or null.
 */
scratch?: string, servers: Servers, transcript: Array<Entry>, };

export type ConversationCreate = { workspaces: Array<string>, title?: string, temporary: boolean, };

export type ConversationDiscovery = { id: string, discovery: boolean, };

export type ConversationDraft = { id: string, draft: string, };

export type ConversationLevel = { id: string, level: Level, };

export type ConversationRename = { id: string, title: string, };

export type ConversationSummary = { id: string, title: string, 
/**
 * In the conversation's order.
 */
workspaces: Array<string>, temporary: boolean, updated_at: number, waiting_cards: number, running_calls: number, 
/**
 * Another process owns it (B41): read-only here, and this says who.
 */
held_by?: string, };

export type ConversationWorkspaces = { id: string, workspaces: Array<string>, };

export type DiffLine = { old?: string, new?: string, changed: boolean, };

export type EditReply = { id: string, 
/**
 * Of the file as it is now: the next edit need not wait for the list.
 */
file_hash: string, };

export type Empty = Record<symbol, never>;

export type Entry = { id: string, at: number, body: EntryBody, };

export type EntryBody = { "kind": "call" } & CallEntry | { "kind": "notice", text: string, 
/**
 * Old and new of what the text says has changed.
 */
diff: Array<DiffLine>, };

export type EntryNow = { 
/**
 * Raw; nothing when there is no entry of that name any more, or the file cannot be read.
 */
entry?: string, file_hash?: string, 
/**
 * Its lines beside those that would be written.
 */
diff: Array<DiffLine>, };

export type EntryPlan = { 
/**
 * Whose workspaces decide where the server would start.
 */
conversation?: string, server?: string, level?: string, name: string, entry: string, 
/**
 * Of the file as shown; null when there was none.
 */
file_hash?: string, 
/**
 * As in `ServerEdit`.
 */
keep_ticks: boolean, };

export type EntryReply = { 
/**
 * Raw, as the file spells it.
 */
name: string, 
/**
 * Raw: the entry's JSON text, line ends as `\n`, without the indentation of its own line.
 */
entry: string, file: string, 
/**
 * SHA-256 of the file; an edit passes it back.
 */
file_hash: string, };

export type EntryView = { transport?: TransportKind, command?: string, 
/**
 * Every argument, untruncated, unexpanded.
 */
args: Array<string>, 
/**
 * Where it runs: the entry's cwd, or what stands in for it.
 */
cwd?: string, url_origin?: string, registry_url?: string, 
/**
 * Names set by `env` or `headers`, with why some are marked.
 */
variables: Array<VariableUse>, 
/**
 * Unpinned package and the like.
 */
notes: Array<string>, };

export type Envelope = { "kind": "event", seq: number, event: Event, } | { "kind": "resync" };

export type Error = { code: ErrorCode, message: string, detail?: string, };

export type ErrorCode = "bad_request" | "not_found" | "conflict" | "read_only" | "needs_consent" | "failed";

export type Event = { "type": "workspaces", workspaces: Array<Workspace>, } | { "type": "conversations", conversations: Array<ConversationSummary>, } | { "type": "conversation_changed", id: string, level: Level, discovery: boolean, } | { "type": "servers", conversation: string, servers: Servers, } | { "type": "server_status", conversation: string, server: string, status: ServerStatus, } | { "type": "tools_changed", conversation: string, server: string, } | { "type": "test_stage", server: string, stage: StageInfo, } | { "type": "entry", conversation: string, entry: Entry, } | { "type": "cards", cards: Array<Card>, } | { "type": "show", conversation: string, entry: string, } | { "type": "call_ended", conversation: string, entry: string, brief: Brief, well: boolean, } | { "type": "server_log", server: string, line: LogLine, } | { "type": "settings", settings: Settings, } | { "type": "notice", text: string, };

export type FailureInfo = { stage: Stage, message: string, exit_code?: number, stderr: Array<string>, stdout_noise: number, stdout_sample: Array<string>, };

export type IdReply = { id: string, };

export type Level = "manual" | "accept_edits" | "full_access";

export type LevelOf = { conversation: string, level: string, };

export type LogLine = { at: number, source: LogSource, text: string, };

export type LogReply = { lines: Array<LogLine>, };

export type LogSource = "stderr" | "stdout" | "mework";

export type PasteParse = { conversation: string, level: string, text: string, };

export type PathReply = { path?: string, };

export type PlanReply = { 
/**
 * Why it cannot be saved; nothing when it can.
 */
refusal?: string, 
/**
 * The file is not the one that was shown; this is what stands there now.
 */
conflict?: EntryNow, 
/**
 * A byte of the file would change.
 */
changes: boolean, 
/**
 * The id the server would have; another one than before when it is renamed (B13).
 */
server: string, renamed: boolean, 
/**
 * Why it would be Unavailable: every failed check.
 */
reasons: Array<string>, notes: Array<string>, 
/**
 * Other entries and files of that name.
 */
in_the_way: Array<string>, 
/**
 * Whether it could start then without a person's look.
 */
consent: Consent, 
/**
 * What would start beside what was agreed to, when the two differ. Its digest agrees to it in `ServerEdit`.
 */
review?: ConsentView, 
/**
 * It differs from what was agreed to by more than this edit, by another hand's: saving alone agrees to nothing.
 */
needs_review: boolean, 
/**
 * Conversations that would notice, whether they are open or not.
 */
conversations: Array<PlannedConversation>, 
/**
 * Tools that the entry would leave out from then on, and those it would not leave out any more. Only of a server
 * whose tools were listed once.
 */
hides: Array<string>, shows: Array<string>, 
/**
 * Names in the entry's lists that match no tool that was listed (row 29).
 */
unmatched: Array<string>, };

export type PlannedConversation = { id: string, title: string, temporary: boolean, 
/**
 * Another process owns it: what runs there is not known here, and its ticks stay as they are.
 */
held_by?: string, 
/**
 * A running server is stopped.
 */
stops: boolean, 
/**
 * Something runs on it now and is broken off.
 */
busy: boolean, starts: PlannedStart, 
/**
 * Its tick stays with a server that is gone.
 */
dangles: boolean, 
/**
 * Its tick moves to the new name.
 */
follows: boolean, };

export type PlannedStart = "no" | "now" | "next_turn";

export type ProblemsReply = { problems: Array<ArgumentProblem>, 
/**
 * Why the arguments were not held against the schema, where they were not.
 */
unchecked?: string, };

export type Progress = { progress?: number, total?: number, message?: string, };

export type Proposal = { name: string, 
/**
 * The entry as it would be written, pretty-printed JSON.
 */
entry: string, 
/**
 * Why it would be unavailable, or nothing.
 */
reasons: Array<string>, notes: Array<string>, 
/**
 * An entry of that name stands in the file already.
 */
exists: boolean, };

export type ProposalsReply = { proposals: Array<Proposal>, 
/**
 * Why nothing usable was found.
 */
message?: string, };

export type RecentArguments = { 
/**
 * Raw: the exact JSON text.
 */
arguments: string, 
/**
 * When they were sent last.
 */
at: number, };

export type RecentReply = { recent: Array<RecentArguments>, };

export type Review = "always" | "workspaces" | "never";

export type Section = { 
/**
 * `global`, or the workspace's id.
 */
level: string, 
/**
 * "Global", or the workspace's path.
 */
title: string, machine: string, 
/**
 * The workspace's number in the conversation, when there are several.
 */
number?: number, 
/**
 * The file that counts, or the one that would be made.
 */
file: string, file_exists: boolean, 
/**
 * SHA-256 of the file as listed; an edit passes it back.
 */
file_hash?: string, 
/**
 * Why the whole file is ignored, or the machine cannot be read.
 */
message?: string, selected: number, rows: Array<ServerRow>, };

export type ServerAdd = { 
/**
 * None on the command line: `level` is then `global` or the folder of one of its workspaces.
 */
conversation?: string, level: string, name: string, entry: string, 
/**
 * `Section.file_hash`, or null when the file did not exist.
 */
file_hash?: string, 
/**
 * Replace an entry of that name. What a person agreed to before carries over: they made this change themselves.
 */
replace: boolean, };

export type ServerEdit = { server: string, 
/**
 * Another name than before renames it: that is another server to conversations (B13).
 */
name: string, 
/**
 * Written letter for letter.
 */
entry: string, file_hash: string, 
/**
 * When it is renamed: conversations that this process may change tick it under its new name, in place of the old.
 */
keep_ticks: boolean, 
/**
 * The digest of `PlanReply.review`, once a person saw it: agrees to it.
 */
digest?: string, };

export type ServerIn = { conversation: string, server: string, };

export type ServerOf = { server: string, };

export type ServerRemove = { server: string, 
/**
 * `Section.file_hash` as shown; a file that changed since is refused.
 */
file_hash: string, };

export type ServerReview = { conversation?: string, server: string, };

export type ServerRow = { id: string, name: string, transport?: TransportKind, 
/**
 * The command line or URL as written, one line.
 */
summary: string, description?: string, file: string, machine: string, ticked: boolean, consent: Consent, available: boolean, 
/**
 * Every failed check of an unavailable entry.
 */
reasons: Array<string>, notes: Array<string>, 
/**
 * Raw: the tools its entry leaves out, and those it makes ask every time, as it spells them.
 */
disabled_tools: Array<string>, always_ask: Array<string>, status: ServerStatus, };

export type ServerSetTool = { server: string, 
/**
 * As the server spells it.
 */
tool: string, 
/**
 * Listed in `disabledTools`.
 */
disabled?: boolean, 
/**
 * Listed in `disabledAutoApproveTools`.
 */
always_asks?: boolean, file_hash: string, };

export type ServerStatus = { "kind": "idle" } | { "kind": "testing" } | { "kind": "connecting", since: number, } | { "kind": "connected" } & Connected | { "kind": "failed" } & FailureInfo | { "kind": "unavailable" } | { "kind": "dangling" };

export type ServerTest = { 
/**
 * Whose workspaces decide the folder it starts in; none for the command line.
 */
conversation?: string, server: string, digest?: string, };

export type ServerTick = { conversation: string, server: string, ticked: boolean, 
/**
 * The digest of the consent view that a person agreed to; needed when `NeedsConsent` was answered.
 */
digest?: string, };

export type Servers = { sections: Array<Section>, dangling: Array<ServerRow>, selected: number, total: number, };

export type SetAsideTool = { name?: string, reason: string, };

export type Settings = { review: Review, };

export type SettingsSet = { settings: Settings, };

export type Snapshot = { 
/**
 * Events up to and including this one are contained.
 */
seq: number, app: AppInfo, settings: Settings, workspaces: Array<Workspace>, conversations: Array<ConversationSummary>, 
/**
 * Every waiting card of every conversation, oldest first.
 */
cards: Array<Card>, 
/**
 * Things a person should know about the start itself: a database set aside, a login shell that hung.
 */
notices: Array<string>, };

export type Stage = "config" | "program" | "start" | "handshake" | "list";

export type StageInfo = { stage: Stage, ms: number, ok: boolean, message?: string, };

export type ToolDetail = { 
/**
 * Raw.
 */
input_schema: unknown, output_schema?: unknown, annotations?: unknown, server: string, server_name: string, name: string, model_name: string, title?: string, description?: string, schema_bytes: number, always_asks: boolean, 
/**
 * The server says so itself: no list of the entry takes it back.
 */
server_asks: boolean, disabled: boolean, 
/**
 * The digest of its definition as the server listed it: another one is another tool (row 6).
 */
definition: string, };

export type ToolGet = { conversation: string, server: string, tool: string, };

export type ToolRef = { server: string, server_name: string, name: string, model_name: string, title?: string, description?: string, schema_bytes: number, always_asks: boolean, 
/**
 * The server says so itself: no list of the entry takes it back.
 */
server_asks: boolean, disabled: boolean, 
/**
 * The digest of its definition as the server listed it: another one is another tool (row 6).
 */
definition: string, };

export type ToolWeight = { name: string, bytes: number, };

export type ToolsReply = { tools: Array<ToolRef>, };

export type TransportKind = "stdio" | "http";

export type VariableUse = { name: string, 
/**
 * `env`, `passed on`, `header`, or where a `${NAME}` goes: `args[1]`, `env TOKEN`, `url`.
 */
place: string, 
/**
 * Marked red, and why: a refused name used through `${…}`, a loader variable.
 */
warning?: string, };

export type Why = "level" | "server_requires" | "entry_requires";

export type Workspace = { id: string, path: string, 
/**
 * The last part of the path.
 */
name: string, machine: string, 
/**
 * The folder is there.
 */
exists: boolean, };

export type WorkspaceAdd = { path: string, };

export interface Methods {
  /** Everything a window needs first. */
  "snapshot": { params: Empty; reply: Snapshot; changes: false };
  "settings.set": { params: SettingsSet; reply: Empty; changes: true };
  /** Adds a folder on this computer as a workspace; reading its files is all that happens. */
  "workspace.add": { params: WorkspaceAdd; reply: IdReply; changes: true };
  "workspace.remove": { params: ById; reply: Empty; changes: true };
  /** The host's native folder picker; no path when the person cancelled. */
  "host.pick_folder": { params: Empty; reply: PathReply; changes: false };
  "conversation.create": { params: ConversationCreate; reply: IdReply; changes: true };
  "conversation.rename": { params: ConversationRename; reply: Empty; changes: true };
  "conversation.delete": { params: ById; reply: Empty; changes: true };
  "conversation.set_workspaces": { params: ConversationWorkspaces; reply: Empty; changes: true };
  "conversation.set_level": { params: ConversationLevel; reply: Empty; changes: true };
  "conversation.set_discovery": { params: ConversationDiscovery; reply: Empty; changes: true };
  "conversation.set_draft": { params: ConversationDraft; reply: Empty; changes: true };
  /** Reads a conversation; starts nothing. */
  "conversation.open": { params: ById; reply: Conversation; changes: false };
  /** The cursor entered the composer: its ticked servers start in the background. */
  "conversation.warm": { params: ById; reply: Empty; changes: true };
  /** Ticks or unticks. Answers with a consent view when a person must see it first. */
  "server.tick": { params: ServerTick; reply: ConsentReply; changes: true };
  /** Starts Test connection; its stages and end come as events. */
  "server.test": { params: ServerTest; reply: ConsentReply; changes: true };
  /** What would start, and what changed since it was agreed to. */
  "server.review": { params: ServerReview; reply: ConsentView; changes: false };
  /** Removes exactly that entry from its file (B17). */
  "server.remove": { params: ServerRemove; reply: Empty; changes: true };
  "server.add": { params: ServerAdd; reply: IdReply; changes: true };
  /** An entry's exact text, whatever it means; the editor's own. */
  "server.entry": { params: ServerOf; reply: EntryReply; changes: false };
  /** The dry run: what saving an entry would start, stop, rename and leave dangling. Changes and starts nothing. */
  "server.plan": { params: EntryPlan; reply: PlanReply; changes: false };
  /** Writes exactly that entry, and no other byte of its file (B17). */
  "server.edit": { params: ServerEdit; reply: EditReply; changes: true };
  /** Lists a tool in `disabledTools` or `disabledAutoApproveTools`, or takes it off; nothing restarts for it. */
  "server.set_tool": { params: ServerSetTool; reply: EditReply; changes: true };
  /** What pasted text would add; changes nothing. */
  "server.parse_paste": { params: PasteParse; reply: ProposalsReply; changes: false };
  /** Adds the sample server to the global file and ticks it. */
  "server.add_sample": { params: ById; reply: IdReply; changes: true };
  "server.log": { params: ById; reply: LogReply; changes: false };
  /** Closes and starts again one conversation's connection. */
  "server.reconnect": { params: ServerIn; reply: Empty; changes: true };
  /** Re-reads every file of the conversation at once. */
  "level.rescan": { params: ById; reply: Empty; changes: true };
  /** Shows the level's file in the file manager, making `.mework` if needed (B19); answers with the path. */
  "level.reveal": { params: LevelOf; reply: PathReply; changes: true };
  /** Tools of the conversation's connected servers. */
  "tools.list": { params: ById; reply: ToolsReply; changes: false };
  "tools.get": { params: ToolGet; reply: ToolDetail; changes: false };
  /** Checks arguments against the tool's schema; calls nothing. */
  "arguments.check": { params: ArgumentsCheck; reply: ProblemsReply; changes: false };
  /** What was sent to the tool before, each text once, the newest first; what a temporary conversation sent, only there. */
  "arguments.recent": { params: ToolGet; reply: RecentReply; changes: false };
  /** Puts a call on the road: level, verdict, card, call, result. Answers at once with the entry's id. */
  "call.start": { params: CallStart; reply: IdReply; changes: true };
  "call.stop": { params: CallStop; reply: Empty; changes: true };
  "card.answer": { params: CardAnswer; reply: AnswerReply; changes: true };
}

/** Methods that change something: each request carries an id and runs once. */
export const changing: ReadonlySet<string> = new Set(["settings.set", "workspace.add", "workspace.remove", "conversation.create", "conversation.rename", "conversation.delete", "conversation.set_workspaces", "conversation.set_level", "conversation.set_discovery", "conversation.set_draft", "conversation.warm", "server.tick", "server.test", "server.remove", "server.add", "server.edit", "server.set_tool", "server.add_sample", "server.reconnect", "level.rescan", "level.reveal", "call.start", "call.stop", "card.answer"]);
