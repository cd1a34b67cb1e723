//! Whether a call asks, and the queue of cards waiting for a person (B33–B36).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub mod queue;

/// A conversation's security level (B33).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    #[default]
    Manual,
    AcceptEdits,
    FullAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Run,
    Ask(Why),
}

/// Why a card shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The conversation's level asks for every MCP call.
    Level,
    /// The server marks the tool as needing a person.
    ServerRequires,
    /// The entry lists it in `disabledAutoApproveTools`.
    EntryRequires,
}

/// The one decision: a pure function of level and tool. Hooks and rules join here later.
pub fn verdict(level: Level, server_requires: bool, entry_requires: bool) -> Verdict {
    if server_requires {
        Verdict::Ask(Why::ServerRequires)
    } else if entry_requires {
        Verdict::Ask(Why::EntryRequires)
    } else {
        match level {
            Level::Manual | Level::AcceptEdits => Verdict::Ask(Why::Level),
            Level::FullAccess => Verdict::Run,
        }
    }
}
