//! Editing an entry: its text, what saving it would do, and saving it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Consent, ConsentView, DiffLine};

wire! {
    pub struct ServerOf { server: String }
    /// An entry as it stands in its file; the one place where values of `env` and `headers` are shown.
    pub struct EntryReply {
        /// Raw, as the file spells it.
        name: String,
        /// Raw: the entry's JSON text, line ends as `\n`, without the indentation of its own line.
        entry: String,
        file: String,
        /// SHA-256 of the file; an edit passes it back.
        file_hash: String,
    }
    /// What to look ahead at. Either `server`, for an entry that stands in a file, or `level`, for a new one.
    pub struct EntryPlan {
        /// Whose workspaces decide where the server would start.
        #[serde(default)] #[ts(optional)] conversation: Option<String>,
        #[serde(default)] #[ts(optional)] server: Option<String>,
        #[serde(default)] #[ts(optional)] level: Option<String>,
        name: String,
        entry: String,
        /// Of the file as shown; null when there was none.
        #[serde(default)] #[ts(optional)] file_hash: Option<String>,
        /// As in `ServerEdit`.
        #[serde(default)] keep_ticks: bool,
    }
    /// What saving would do. Nothing is written, started or resolved for it.
    pub struct PlanReply {
        /// Why it cannot be saved; nothing when it can.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] refusal: Option<String>,
        /// The file is not the one that was shown; this is what stands there now.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] conflict: Option<EntryNow>,
        /// A byte of the file would change.
        changes: bool,
        /// The id the server would have; another one than before when it is renamed (B13).
        server: String,
        renamed: bool,
        /// Why it would be Unavailable: every failed check.
        reasons: Vec<String>,
        notes: Vec<String>,
        /// Other entries and files of that name.
        in_the_way: Vec<String>,
        /// Whether it could start then without a person's look.
        consent: Consent,
        /// What would start beside what was agreed to, when the two differ. Its digest agrees to it in `ServerEdit`.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] review: Option<ConsentView>,
        /// It differs from what was agreed to by more than this edit, by another hand's: saving alone agrees to nothing.
        needs_review: bool,
        /// Conversations that would notice, whether they are open or not.
        conversations: Vec<PlannedConversation>,
        /// Tools that the entry would leave out from then on, and those it would not leave out any more. Only of a server
        /// whose tools were listed once.
        hides: Vec<String>,
        shows: Vec<String>,
        /// Names in the entry's lists that match no tool that was listed (row 29).
        unmatched: Vec<String>,
    }
    /// An entry on disk, when it is not the one that was shown.
    pub struct EntryNow {
        /// Raw; nothing when there is no entry of that name any more, or the file cannot be read.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] entry: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] file_hash: Option<String>,
        /// Its lines beside those that would be written.
        diff: Vec<DiffLine>,
    }
    pub struct PlannedConversation {
        id: String,
        title: String,
        temporary: bool,
        /// Another process owns it: what runs there is not known here, and its ticks stay as they are.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] held_by: Option<String>,
        /// A running server is stopped.
        stops: bool,
        /// Something runs on it now and is broken off.
        busy: bool,
        starts: PlannedStart,
        /// Its tick stays with a server that is gone.
        dangles: bool,
        /// Its tick moves to the new name.
        follows: bool,
    }
    pub struct ServerEdit {
        server: String,
        /// Another name than before renames it: that is another server to conversations (B13).
        name: String,
        /// Written letter for letter.
        entry: String,
        file_hash: String,
        /// When it is renamed: conversations that this process may change tick it under its new name, in place of the old.
        #[serde(default)] keep_ticks: bool,
        /// The digest of `PlanReply.review`, once a person saw it: agrees to it.
        #[serde(default)] #[ts(optional)] digest: Option<String>,
    }
    pub struct ServerSetTool {
        server: String,
        /// As the server spells it.
        tool: String,
        /// Listed in `disabledTools`.
        #[serde(default)] #[ts(optional)] disabled: Option<bool>,
        /// Listed in `disabledAutoApproveTools`.
        #[serde(default)] #[ts(optional)] always_asks: Option<bool>,
        file_hash: String,
    }
    pub struct EditReply {
        id: String,
        /// Of the file as it is now: the next edit need not wait for the list.
        file_hash: String,
    }
}

/// When a ticked server would start as it would stand then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum PlannedStart {
    /// Not by this: it goes on as it runs, or nothing would start it.
    No,
    /// At once, in place of the one that is stopped.
    Now,
    /// With the conversation's next turn, or when the cursor enters its composer.
    NextTurn,
}
