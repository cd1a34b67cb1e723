use super::{Asker, CallOnce, Engine};
use crate::api::types::*;
use crate::config::Server;
use crate::error::Result;
use crate::store::ConversationRow;

impl Engine {
    pub(super) fn status(&self, _c: &str, _s: &Server) -> ServerStatus {
        ServerStatus::Idle
    }
    pub(super) async fn stop_calls(&self, _c: &str) {}
    pub(super) async fn close_connections(&self, _c: &str) {}
    pub(super) async fn close_connection(&self, _c: &str, _s: &str) {}
    pub(super) async fn close_server(&self, _s: &str) {}
    pub(super) async fn start_in_background(&self, _r: &ConversationRow) -> Result<()> {
        Ok(())
    }
    pub async fn call_once(&self, _call: CallOnce, _asker: &dyn Asker) -> Result<CallEntry> {
        todo!()
    }
    pub async fn test_once(&self, _p: ServerTest, _stage: &(dyn Fn(StageInfo) + Send + Sync)) -> Result<TestReport> {
        todo!()
    }
    pub async fn conversation_warm(&self, _p: ById) -> Result<Empty> {
        Ok(Empty {})
    }
    pub async fn server_test(&self, _p: ServerTest) -> Result<ConsentReply> {
        todo!()
    }
    pub async fn server_parse_paste(&self, _p: PasteParse) -> Result<ProposalsReply> {
        todo!()
    }
    pub async fn server_log(&self, _p: ById) -> Result<LogReply> {
        todo!()
    }
    pub async fn server_reconnect(&self, _p: ServerIn) -> Result<Empty> {
        todo!()
    }
    pub async fn tools_list(&self, _p: ById) -> Result<ToolsReply> {
        Ok(ToolsReply { tools: vec![] })
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
}
