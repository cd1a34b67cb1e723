//! What crosses the wire, in the words of the wire. Shapes only; TypeScript is generated from here.
//!
//! All text that came from a server or a file has passed [`crate::text::display`] and the scrubber, except where a
//! comment says "raw": the arguments and results of calls, which are drawn as data.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::approval::{Level, Why};
use crate::mcp::Stage;

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

macro_rules! wire {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$fm:meta])* $field:ident : $ty:ty),* $(,)? })*) => {
        $($(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
        $vis struct $name { $($(#[$fm])* pub $field: $ty),* })*
    };
}

mod edit;
mod events;
mod requests;

pub use edit::*;
pub use events::*;
pub use requests::*;

wire! {
    pub struct Empty {}

    /// Everything a window needs to draw its frame; later events apply on top of it.
    pub struct Snapshot {
        /// Events up to and including this one are contained.
        #[ts(type = "number")] seq: u64,
        app: AppInfo,
        settings: Settings,
        workspaces: Vec<Workspace>,
        conversations: Vec<ConversationSummary>,
        /// Every waiting card of every conversation, oldest first.
        cards: Vec<Card>,
        /// Things a person should know about the start itself: a database set aside, a login shell that hung.
        notices: Vec<String>,
    }
    pub struct AppInfo {
        version: String,
        platform: String,
        /// The global configuration file, whether or not it exists.
        global_file: String,
        data_dir: String,
        /// No conversation existed before: show the welcome.
        first_start: bool,
        /// A native folder picker exists (`host.pick_folder`).
        can_pick_folder: bool,
        /// Folders can be shown in a file manager.
        can_reveal: bool,
        /// The desktop is told of waiting calls by itself while the window is not in front.
        notifies: bool,
    }
    pub struct Settings {
        review: Review,
    }
    pub struct Workspace {
        id: String,
        path: String,
        /// The last part of the path.
        name: String,
        machine: String,
        /// The folder is there.
        exists: bool,
    }
    pub struct ConversationSummary {
        id: String,
        title: String,
        /// In the conversation's order.
        workspaces: Vec<String>,
        temporary: bool,
        #[ts(type = "number")] updated_at: Millis,
        waiting_cards: u32,
        running_calls: u32,
        /// Another process owns it (B41): read-only here, and this says who.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] held_by: Option<String>,
    }

    /// One conversation, whole. Opening it starts nothing (B20b).
    pub struct Conversation {
        #[ts(type = "number")] seq: u64,
        summary: ConversationSummary,
        level: Level,
        /// Tool discovery: on demand when true. Stored; it acts once models exist.
        discovery: bool,
        draft: String,
        /// The temporary conversation's scratch folder, or null.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] scratch: Option<String>,
        servers: Servers,
        transcript: Vec<Entry>,
    }
    /// The MCP page's lists (B14).
    pub struct Servers {
        sections: Vec<Section>,
        dangling: Vec<ServerRow>,
        selected: u32,
        total: u32,
    }
    pub struct Section {
        /// `global`, or the workspace's id.
        level: String,
        /// "Global", or the workspace's path.
        title: String,
        machine: String,
        /// The workspace's number in the conversation, when there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] number: Option<u32>,
        /// The file that counts, or the one that would be made.
        file: String,
        file_exists: bool,
        /// SHA-256 of the file as listed; an edit passes it back.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] file_hash: Option<String>,
        /// Why the whole file is ignored, or the machine cannot be read.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] message: Option<String>,
        selected: u32,
        rows: Vec<ServerRow>,
    }
    pub struct ServerRow {
        id: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] transport: Option<TransportKind>,
        /// The command line or URL as written, one line.
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] description: Option<String>,
        file: String,
        machine: String,
        ticked: bool,
        consent: Consent,
        available: bool,
        /// Every failed check of an unavailable entry.
        reasons: Vec<String>,
        notes: Vec<String>,
        /// Raw: the tools its entry leaves out, and those it makes ask every time, as it spells them.
        disabled_tools: Vec<String>,
        always_ask: Vec<String>,
        status: ServerStatus,
    }
    /// What a test or a connection found, kept until the entry changes.
    pub struct Connected {
        tools: u32,
        /// How many of them ask every time.
        asking: u32,
        /// What a model would be sent of the tools that are offered: all of it, and the heaviest of them, heaviest first.
        #[ts(type = "number")] definition_bytes: usize,
        heaviest: Vec<ToolWeight>,
        set_aside: Vec<SetAsideTool>,
        notices: Vec<String>,
        server_name: String,
        server_version: String,
        protocol: String,
        #[ts(type = "number")] elapsed_ms: u64,
    }
    pub struct ToolWeight {
        name: String,
        #[ts(type = "number")] bytes: usize,
    }
    pub struct SetAsideTool {
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] name: Option<String>,
        reason: String,
    }
    pub struct FailureInfo {
        stage: Stage,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] exit_code: Option<i32>,
        stderr: Vec<String>,
        #[ts(type = "number")] stdout_noise: usize,
        stdout_sample: Vec<String>,
    }
    pub struct StageInfo {
        stage: Stage,
        #[ts(type = "number")] ms: u64,
        ok: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] message: Option<String>,
    }
    /// Test connection's whole answer.
    pub struct TestReport {
        id: String,
        name: String,
        ok: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] protocol: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] server: Option<PeerInfo>,
        #[ts(type = "number")] elapsed_ms: u64,
        stages: Vec<StageInfo>,
        tools: Vec<ToolInfo>,
        set_aside: Vec<SetAsideTool>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] error: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] exit_code: Option<i32>,
        stderr: Vec<String>,
        #[ts(type = "number")] stdout_noise: usize,
    }
    pub struct PeerInfo { name: String, version: String }
    pub struct ToolInfo {
        name: String,
        model_name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] description: Option<String>,
        #[ts(type = "number")] schema_bytes: usize,
        always_asks: bool,
        /// The server says so itself: no list of the entry takes it back.
        server_asks: bool,
        disabled: bool,
        /// The digest of its definition as the server listed it: another one is another tool (row 6).
        definition: String,
    }
    /// A tool as the composer's picker lists it.
    pub struct ToolRef {
        server: String,
        server_name: String,
        #[serde(flatten)] #[ts(flatten)] tool: ToolInfo,
    }
    pub struct ToolDetail {
        #[serde(flatten)] #[ts(flatten)] tool: ToolRef,
        /// Raw.
        #[ts(type = "unknown")] input_schema: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional, type = "unknown")] output_schema: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional, type = "unknown")] annotations: Option<Value>,
    }
    /// An argument that does not fit the tool's schema.
    pub struct ArgumentProblem {
        /// JSON pointer into the arguments; empty for the whole. It may name a member that is missing.
        pointer: String,
        message: String,
        /// Where the text is not JSON: one-based line and column.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] line: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] column: Option<u32>,
    }

    /// Arguments that were sent to a tool before.
    pub struct RecentArguments {
        /// Raw: the exact JSON text.
        arguments: String,
        /// When they were sent last.
        #[ts(type = "number")] at: Millis,
    }

    /// What would start, in full (row 3): shown before the first start of a workspace's server and when an entry changed.
    pub struct ConsentView {
        server: String,
        name: String,
        machine: String,
        file: String,
        /// What agreeing binds to.
        digest: String,
        /// The entry as it is now; absent in the file is not possible here.
        new: EntryView,
        /// What was agreed to before, when the entry changed since.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] old: Option<EntryView>,
        /// Lines of old and new canonical JSON side by side; empty without `old`.
        diff: Vec<DiffLine>,
    }
    pub struct EntryView {
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] transport: Option<TransportKind>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] command: Option<String>,
        /// Every argument, untruncated, unexpanded.
        args: Vec<String>,
        /// Where it runs: the entry's cwd, or what stands in for it.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] cwd: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] url_origin: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] registry_url: Option<String>,
        /// Names set by `env` or `headers`, with why some are marked.
        variables: Vec<VariableUse>,
        /// Unpinned package and the like.
        notes: Vec<String>,
    }
    pub struct VariableUse {
        name: String,
        /// `env`, `passed on`, `header`, or where a `${NAME}` goes: `args[1]`, `env TOKEN`, `url`.
        place: String,
        /// Marked red, and why: a refused name used through `${…}`, a loader variable.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] warning: Option<String>,
    }
    pub struct DiffLine {
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] old: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] new: Option<String>,
        changed: bool,
    }

    /// One thing in a transcript. An event replaces the entry with the same id.
    pub struct Entry {
        id: String,
        #[ts(type = "number")] at: Millis,
        body: EntryBody,
    }
    pub struct CallEntry {
        server: String,
        server_name: String,
        machine: String,
        tool: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] title: Option<String>,
        /// Raw: the exact JSON text that is sent.
        arguments: String,
        /// Raw: what was asked for, when a person edited it on the card.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] arguments_before: Option<String>,
        state: CallState,
        /// When a card was put up for it, and when that was answered; what lies between is a person's time.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional, type = "number")] asked_at: Option<Millis>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional, type = "number")] answered_at: Option<Millis>,
        /// Who or what let it run, and when.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] approval: Option<ApprovalRecord>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional, type = "number")] started_at: Option<Millis>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional, type = "number")] ended_at: Option<Millis>,
    }
    pub struct ApprovalRecord {
        /// "a person in the window", "a person on the command line", "the level Full access", "--yes".
        by: String,
        #[ts(type = "number")] at: Millis,
        /// SHA-256 of the exact arguments that are sent, hex.
        arguments_digest: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] edit: Option<ArgumentsEdit>,
    }
    /// The arguments were edited on the card.
    pub struct ArgumentsEdit {
        /// Who did, in the words of `ApprovalRecord.by`.
        by: String,
        /// SHA-256 of the exact arguments that were asked for, hex.
        digest_before: String,
    }
    pub struct Progress {
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] progress: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] total: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] message: Option<String>,
    }
    pub struct CallOutcome {
        is_error: bool,
        content: Vec<Block>,
        /// Raw: compact JSON text. A number that a reader's own kind of number cannot hold keeps its digits.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json_text")] #[ts(optional)] structured: Option<String>,
        /// B26's size.
        #[ts(type = "number")] bytes: usize,
        #[ts(type = "number")] elapsed_ms: u64,
    }

    /// A call that waits for a person (B34). Risk is always High; "Always allow" does not exist.
    pub struct Card {
        id: String,
        conversation: String,
        conversation_title: String,
        /// The transcript entry of the call.
        entry: String,
        server: String,
        server_name: String,
        machine: String,
        /// Where it runs as it was asked for: a folder, or the origin the server is reached at.
        cwd: String,
        /// The folders that `workspace` in the arguments chooses from by number, counted from one, the first where it is not
        /// there (B28). None: the tool was not given that parameter, and every edit runs in `cwd`.
        #[serde(default)] folders: Vec<String>,
        tool: String,
        /// The digest of the tool's definition as it is asked for here. A yes for a tool that is defined otherwise by then is
        /// void.
        definition: String,
        /// Server and tool as they may stand on a locked screen (B44).
        brief: Brief,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] title: Option<String>,
        /// The server's words about the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] description: Option<String>,
        /// Raw: the exact JSON text that would be sent.
        arguments: String,
        why: Why,
        #[ts(type = "number")] at: Millis,
    }

    /// Names that are safe to show anywhere: short, scrubbed, with nothing of a call's arguments.
    pub struct Brief { server: String, tool: String }

    pub struct LogLine {
        #[ts(type = "number")] at: Millis,
        source: LogSource,
        text: String,
    }

    /// A server found in pasted text: JSON in any of the common shapes, or a command line.
    pub struct Proposal {
        name: String,
        /// The entry as it would be written, pretty-printed JSON.
        entry: String,
        /// Why it would be unavailable, or nothing.
        reasons: Vec<String>,
        notes: Vec<String>,
        /// An entry of that name stands in the file already.
        exists: bool,
    }
}

/// Transcripts that an earlier version kept hold the value itself.
fn json_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.map(|kept| match kept {
        Value::String(text) => text,
        value => value.to_string(),
    }))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TransportKind {
    #[default]
    Stdio,
    Http,
}

/// Whether a changed entry waits for a person before it starts (security, decision 1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    #[default]
    Always,
    /// Not for the person's own global file.
    Workspaces,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    Given,
    Needed,
    /// Agreed to once, but the entry changed since: review.
    Changed,
}

/// A row's badge. A test in progress wins, then a connection's state, then the last test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ServerStatus {
    /// Nothing tried yet.
    Idle,
    Testing,
    Connecting {
        #[ts(type = "number")]
        since: Millis,
    },
    Connected(Box<Connected>),
    Failed(FailureInfo),
    Unavailable,
    Dangling,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EntryBody {
    Call(Box<CallEntry>),
    /// What the app says: a server joined, was left out and why, changed, waits for review.
    Notice {
        text: String,
        /// Old and new of what the text says has changed.
        #[serde(default)]
        diff: Vec<DiffLine>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CallState {
    /// The server is being started or connected first.
    Connecting,
    /// A card waits for a person.
    Waiting {
        card: String,
    },
    Running {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        progress: Option<Progress>,
    },
    Done(CallOutcome),
    /// It reached the server (or tried to) and failed: time-out, crash, protocol, result too large.
    Failed {
        message: String,
        stderr: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "number")]
        elapsed_ms: Option<u64>,
    },
    Denied {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        reason: Option<String>,
    },
    /// A person stopped it.
    Stopped,
    /// It never ran: the app ended while the card waited, the approval lapsed, the entry changed.
    NotRun {
        reason: String,
    },
}

/// One block of a result's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Raw text: draw it as text.
    Text { text: String },
    /// Decoded and size-checked PNG, JPEG, GIF or WebP.
    Image { mime: String, data: String, width: u32, height: u32 },
    /// Named only, never played or fetched by itself.
    Audio {
        mime: String,
        #[ts(type = "number")]
        bytes: usize,
    },
    ResourceLink {
        uri: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        mime: Option<String>,
    },
    /// An embedded text resource, raw text.
    Resource {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        mime: Option<String>,
        text: String,
    },
    /// Something that is named but not shown: a block that failed its checks, binary data, an unknown type.
    Other { what: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    Stderr,
    /// A line on stdout that was no protocol message.
    Stdout,
    /// Our own lifecycle lines.
    Mework,
}
