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

/// Who allowed a call, for the record and as it reads after "Allowed by": here are all the words.
pub fn by_person(client: &str) -> String {
    format!("a person in {client}")
}

/// The same on the command line, where the question stood in a terminal.
pub fn by_terminal() -> String {
    "a person on the command line".to_owned()
}

/// Who let a call run when nobody was asked.
pub fn by_level(level: Level) -> String {
    let name = match level {
        Level::Manual => "Manual",
        Level::AcceptEdits => "Accept edits",
        Level::FullAccess => "Full access",
    };
    format!("the level {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seed's table, whole: at Manual and Accept edits every call asks; at Full access only what always asks.
    #[test]
    fn b33_b36_what_asks_at_which_level() {
        use Level::{AcceptEdits, FullAccess, Manual};
        use Verdict::{Ask, Run};
        let table = [
            (Manual, false, false, Ask(Why::Level)),
            (Manual, true, false, Ask(Why::ServerRequires)),
            (Manual, false, true, Ask(Why::EntryRequires)),
            (Manual, true, true, Ask(Why::ServerRequires)),
            (AcceptEdits, false, false, Ask(Why::Level)),
            (AcceptEdits, true, false, Ask(Why::ServerRequires)),
            (AcceptEdits, false, true, Ask(Why::EntryRequires)),
            (AcceptEdits, true, true, Ask(Why::ServerRequires)),
            (FullAccess, false, false, Run),
            (FullAccess, true, false, Ask(Why::ServerRequires)),
            (FullAccess, false, true, Ask(Why::EntryRequires)),
            (FullAccess, true, true, Ask(Why::ServerRequires)),
        ];
        for (level, server, entry, expected) in table {
            assert_eq!(verdict(level, server, entry), expected, "{level:?} {server} {entry}");
        }
    }
}
