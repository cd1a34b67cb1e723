//! One method per thing a person can do.

use crate::api::types::*;
use crate::error::Result;

pub struct Engine;

impl Engine {
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
