//! One method per thing a person can do.

pub mod events;
pub mod host;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::api::types::*;
use crate::config::{Level, Listing, Server};
use crate::error::Result;
use crate::machine::Surroundings;

pub use events::Subscription;
pub use host::{Capabilities, Headless, Host};

/// Who decides about one call when there is no window to show a card in: a terminal.
pub trait Asker: Send + Sync {
    /// Shows the card and waits. `card.why` says whether `--yes` may answer it: only [`crate::approval::Why::Level`].
    fn ask(&self, card: Card) -> BoxFuture<'_, Answer>;
    /// The call moved on (progress included).
    fn state(&self, _state: &CallState) {}
}

/// A person's answer to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub allow: bool,
    /// Kept in the record: "person on the command line", "--yes".
    pub by: String,
    /// Why not; reaches whoever asked for the call.
    pub reason: Option<String>,
}

/// One call without a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOnce {
    /// The server's id.
    pub server: String,
    pub tool: String,
    pub arguments: CallArguments,
    /// The digest of the consent view a person agreed to, when one was needed.
    pub digest: Option<String>,
}

/// The arguments of a call that is made outside a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallArguments {
    /// A JSON object; sent exactly as written.
    Json(String),
    /// `key=value`, read by [`crate::tools::pairs::arguments`] once the tool's schema is known.
    Pairs(Vec<(String, String)>),
}

pub struct Engine {
    events: events::Events,
}

impl Engine {
    /// Opens the data folder and everything in it. `client` says who this is where people read it ("the window",
    /// "mework serve"): another process that finds a conversation taken shows it (B41).
    pub async fn open(_surroundings: Surroundings, _host: Arc<dyn Host>, _client: &str) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { events: events::Events::default() }))
    }
    /// Every event from now on. Subscribe first, then take a snapshot, then apply events with a greater number.
    pub fn subscribe(&self) -> Subscription {
        self.events.subscribe()
    }
    /// Stops calls, closes connections, gives conversations back; bounded in time. The engine is of no use afterwards.
    pub async fn shutdown(&self) {}
    /// The command line's workspaces, in order: known to this engine only, kept nowhere. Methods that are given no
    /// conversation look for servers in the global file and in these.
    pub fn bring_workspaces(&self, _folders: Vec<std::path::PathBuf>) {
        todo!()
    }
    /// The global level and those of [`Engine::bring_workspaces`], read now.
    pub async fn listings(&self) -> Vec<(Level, Listing)> {
        todo!()
    }
    /// Whether a person agreed to what this entry would start, as it stands now.
    pub async fn consent(&self, _server: &Server) -> Result<Consent> {
        todo!()
    }
    /// One call on the same road as a conversation's, without a conversation: checks, connection, verdict, card, call.
    /// Dropping the future cancels the call.
    pub async fn call_once(&self, _call: CallOnce, _asker: &dyn Asker) -> Result<CallEntry> {
        todo!()
    }
    /// Test connection, answered when it is done. [`crate::error::ErrorCode::NeedsConsent`] when a person must see it first
    /// ([`Engine::server_review`]).
    pub async fn test_once(&self, _p: ServerTest, _stage: &(dyn Fn(StageInfo) + Send + Sync)) -> Result<TestReport> {
        todo!()
    }
    pub async fn snapshot(&self, _p: Empty) -> Result<Snapshot> {
        todo!()
    }
    pub async fn settings_set(&self, _p: SettingsSet) -> Result<Empty> {
        todo!()
    }
    pub async fn workspace_add(&self, _p: WorkspaceAdd) -> Result<IdReply> {
        todo!()
    }
    pub async fn workspace_remove(&self, _p: ById) -> Result<Empty> {
        todo!()
    }
    pub async fn host_pick_folder(&self, _p: Empty) -> Result<PathReply> {
        todo!()
    }
    pub async fn conversation_create(&self, _p: ConversationCreate) -> Result<IdReply> {
        todo!()
    }
    pub async fn conversation_rename(&self, _p: ConversationRename) -> Result<Empty> {
        todo!()
    }
    pub async fn conversation_delete(&self, _p: ById) -> Result<Empty> {
        todo!()
    }
    pub async fn conversation_set_workspaces(&self, _p: ConversationWorkspaces) -> Result<Empty> {
        todo!()
    }
    pub async fn conversation_set_level(&self, _p: ConversationLevel) -> Result<Empty> {
        todo!()
    }
    pub async fn conversation_set_discovery(&self, _p: ConversationDiscovery) -> Result<Empty> {
        todo!()
    }
    pub async fn conversation_set_draft(&self, _p: ConversationDraft) -> Result<Empty> {
        todo!()
    }
    pub async fn conversation_open(&self, _p: ById) -> Result<Conversation> {
        todo!()
    }
    pub async fn conversation_warm(&self, _p: ById) -> Result<Empty> {
        todo!()
    }
    pub async fn server_tick(&self, _p: ServerTick) -> Result<ConsentReply> {
        todo!()
    }
    pub async fn server_test(&self, _p: ServerTest) -> Result<ConsentReply> {
        todo!()
    }
    pub async fn server_review(&self, _p: ServerReview) -> Result<ConsentView> {
        todo!()
    }
    pub async fn server_remove(&self, _p: ServerRemove) -> Result<Empty> {
        todo!()
    }
    pub async fn server_add(&self, _p: ServerAdd) -> Result<IdReply> {
        todo!()
    }
    pub async fn server_parse_paste(&self, _p: PasteParse) -> Result<ProposalsReply> {
        todo!()
    }
    pub async fn server_add_sample(&self, _p: ById) -> Result<IdReply> {
        todo!()
    }
    pub async fn server_log(&self, _p: ById) -> Result<LogReply> {
        todo!()
    }
    pub async fn server_reconnect(&self, _p: ServerIn) -> Result<Empty> {
        todo!()
    }
    pub async fn level_rescan(&self, _p: ById) -> Result<Empty> {
        todo!()
    }
    pub async fn level_reveal(&self, _p: LevelOf) -> Result<PathReply> {
        todo!()
    }
    pub async fn tools_list(&self, _p: ById) -> Result<ToolsReply> {
        todo!()
    }
    pub async fn tools_get(&self, _p: ToolGet) -> Result<ToolDetail> {
        todo!()
    }
    pub async fn arguments_check(&self, _p: ArgumentsCheck) -> Result<ProblemsReply> {
        todo!()
    }
    pub async fn call_start(&self, _p: CallStart) -> Result<IdReply> {
        todo!()
    }
    pub async fn call_stop(&self, _p: CallStop) -> Result<Empty> {
        todo!()
    }
    pub async fn card_answer(&self, _p: CardAnswer) -> Result<AnswerReply> {
        todo!()
    }
}
