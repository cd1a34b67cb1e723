//! What is told over the wire without being asked.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Brief, Card, ConversationSummary, Entry, LogLine, ServerStatus, Servers, Settings, StageInfo, Workspace};
use crate::approval::Level;

/// What happened. Whole values replace what was there; ids say what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Workspaces {
        workspaces: Vec<Workspace>,
    },
    Conversations {
        conversations: Vec<ConversationSummary>,
    },
    /// A conversation's settings (level, discovery, title, workspaces).
    ConversationChanged {
        id: String,
        level: Level,
        discovery: bool,
    },
    /// The lists of an open conversation: a file, a tick or the workspaces changed.
    Servers {
        conversation: String,
        servers: Servers,
    },
    /// One row's badge in one conversation.
    ServerStatus {
        conversation: String,
        server: String,
        status: ServerStatus,
    },
    /// A connected server lists other tools than before: whoever shows them asks for them again.
    ToolsChanged {
        conversation: String,
        server: String,
    },
    /// A test reached a stage.
    TestStage {
        server: String,
        stage: StageInfo,
    },
    Entry {
        conversation: String,
        entry: Box<Entry>,
    },
    /// The whole queue: it is short, and order matters.
    Cards {
        cards: Vec<Card>,
    },
    /// A person clicked what the desktop showed: go to this conversation, and in it to this entry or its card.
    Show {
        conversation: String,
        entry: String,
    },
    /// A call that ran for long came to its end by itself (B44).
    CallEnded {
        conversation: String,
        entry: String,
        brief: Brief,
        well: bool,
    },
    ServerLog {
        server: String,
        line: LogLine,
    },
    Settings {
        settings: Settings,
    },
    Notice {
        text: String,
    },
}

/// The reader fell behind or the engine cannot vouch for completeness: take a new snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Envelope {
    Event {
        #[ts(type = "number")]
        seq: u64,
        event: Event,
    },
    Resync,
}
