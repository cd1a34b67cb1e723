//! What is asked over the wire, and what is answered.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ArgumentProblem, ConsentView, LogLine, Proposal, RecentArguments, Settings, ToolRef};
use crate::approval::Level;

wire! {
    // Parameters.
    pub struct ById { id: String }
    pub struct WorkspaceAdd { path: String }
    pub struct ConversationCreate {
        workspaces: Vec<String>,
        #[serde(default)] #[ts(optional)] title: Option<String>,
        #[serde(default)] temporary: bool,
    }
    pub struct ConversationRename { id: String, title: String }
    pub struct ConversationWorkspaces { id: String, workspaces: Vec<String> }
    pub struct ConversationLevel { id: String, level: Level }
    pub struct ConversationDiscovery { id: String, discovery: bool }
    pub struct ConversationDraft { id: String, draft: String }
    pub struct ServerTick {
        conversation: String,
        server: String,
        ticked: bool,
        /// The digest of the consent view that a person agreed to; needed when `NeedsConsent` was answered.
        #[serde(default)] #[ts(optional)] digest: Option<String>,
    }
    pub struct ServerTest {
        /// Whose workspaces decide the folder it starts in; none for the command line.
        #[serde(default)] #[ts(optional)] conversation: Option<String>,
        server: String,
        #[serde(default)] #[ts(optional)] digest: Option<String>,
    }
    pub struct ServerIn { conversation: String, server: String }
    pub struct ServerReview { #[serde(default)] #[ts(optional)] conversation: Option<String>, server: String }
    pub struct LevelOf { conversation: String, level: String }
    pub struct ServerRemove {
        server: String,
        /// `Section.file_hash` as shown; a file that changed since is refused.
        file_hash: String,
    }
    pub struct PasteParse { conversation: String, level: String, text: String }
    pub struct ServerAdd {
        /// None on the command line: `level` is then `global` or the folder of one of its workspaces.
        #[serde(default)] #[ts(optional)] conversation: Option<String>,
        level: String,
        name: String,
        entry: String,
        /// `Section.file_hash`, or null when the file did not exist.
        #[serde(default)] #[ts(optional)] file_hash: Option<String>,
        /// Replace an entry of that name. What a person agreed to before carries over: they made this change themselves.
        #[serde(default)] replace: bool,
    }
    pub struct ToolGet { conversation: String, server: String, tool: String }
    pub struct ArgumentsCheck { conversation: String, server: String, tool: String, arguments: String }
    pub struct CallStart { conversation: String, server: String, tool: String, arguments: String }
    pub struct CallStop { conversation: String, entry: String }
    pub struct CardAnswer {
        card: String,
        allow: bool,
        /// With a yes: send exactly this JSON text in place of what was asked for. Text that cannot be sent is refused, and
        /// the card goes on waiting.
        #[serde(default)] #[ts(optional)] arguments: Option<String>,
        /// Reaches whoever asked for the call.
        #[serde(default)] #[ts(optional)] reason: Option<String>,
    }
    pub struct SettingsSet { settings: Settings }

    // Replies.
    pub struct IdReply { id: String }
    pub struct PathReply { #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] path: Option<String> }
    pub struct ToolsReply { tools: Vec<ToolRef> }
    pub struct LogReply { lines: Vec<LogLine> }
    pub struct ProblemsReply {
        problems: Vec<ArgumentProblem>,
        /// Why the arguments were not held against the schema, where they were not.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] unchecked: Option<String>,
    }
    pub struct RecentReply { recent: Vec<RecentArguments> }
    pub struct ProposalsReply {
        proposals: Vec<Proposal>,
        /// Why nothing usable was found.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] message: Option<String>,
    }
    /// `needs` is set when nothing happened because a person has to see what would start first.
    pub struct ConsentReply {
        #[serde(default, skip_serializing_if = "Option::is_none")] #[ts(optional)] needs: Option<ConsentView>,
    }
    pub struct AnswerReply {
        /// False when nobody was waiting any more.
        was_waiting: bool,
    }
}
