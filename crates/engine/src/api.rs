//! The wire: every method with its parameters and reply, every event, and the one router. The method list below exists
//! once; the router and the TypeScript both come from it.

mod typescript;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::queue::sha256;
use crate::engine::Engine;
use crate::error::{Error, ErrorCode};
use crate::limits;
use crate::wire;

/// One request. A changing request carries an id of the client's making and runs once, whatever is sent again (B42).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Unique per changing request; a repeated id gets the first answer again.
    #[serde(default)]
    pub id: Option<String>,
    pub method: String,
    #[serde(default)]
    pub params: Value,
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $kind:ident $name:literal => $function:ident($params:ident) -> $reply:ident;)*) => {
        async fn route(engine: &Arc<Engine>, method: &str, params: Value) -> Result<Value, Error> {
            match method {
                $($name => {
                    let params: wire::$params = parse(params)?;
                    reply(engine.$function(params).await?)
                })*
                _ => Err(Error::new(ErrorCode::BadRequest, format!("There is no method {:?}.", method.chars().take(80).collect::<String>()))),
            }
        }
        fn changes(method: &str) -> bool {
            match method { $($name => stringify!($kind) == "change",)* _ => false }
        }
        /// The wire as TypeScript: what `ui/src/host/api.ts` must hold.
        pub fn typescript() -> String {
            let mut types = typescript::Declarations::new();
            let mut methods = String::new();
            $(
                $(methods.push_str(&format!("  /**{} */\n", $doc));)*
                let (params, reply) = (types.add::<wire::$params>(), types.add::<wire::$reply>());
                methods.push_str(&format!("  {:?}: {{ params: {params}; reply: {reply}; changes: {} }};\n", $name, stringify!($kind) == "change"));
            )*
            types.add::<wire::Envelope>();
            types.add::<Error>();
            let changing: Vec<&str> = [$(($name, stringify!($kind) == "change")),*].into_iter().filter(|(_, c)| *c).map(|(n, _)| n).collect();
            format!(
                "// Generated from crates/engine/src/api.rs by `make api`. Do not edit.\n\n{}export interface Methods {{\n{methods}}}\n\n/** Methods that change something: each request carries an id and runs once. */\nexport const changing: ReadonlySet<string> = new Set({changing:?});\n",
                types.finish(),
            )
        }
    };
}

methods! {
    /// Everything a window needs first.
    read "snapshot" => snapshot(Empty) -> Snapshot;
    change "settings.set" => settings_set(SettingsSet) -> Empty;

    /// Adds a folder on this computer as a workspace; reading its files is all that happens.
    change "workspace.add" => workspace_add(WorkspaceAdd) -> IdReply;
    change "workspace.remove" => workspace_remove(ById) -> Empty;
    /// The host's native folder picker; no path when the person cancelled.
    read "host.pick_folder" => host_pick_folder(Empty) -> PathReply;

    change "conversation.create" => conversation_create(ConversationCreate) -> IdReply;
    change "conversation.rename" => conversation_rename(ConversationRename) -> Empty;
    change "conversation.delete" => conversation_delete(ById) -> Empty;
    change "conversation.set_workspaces" => conversation_set_workspaces(ConversationWorkspaces) -> Empty;
    change "conversation.set_level" => conversation_set_level(ConversationLevel) -> Empty;
    change "conversation.set_discovery" => conversation_set_discovery(ConversationDiscovery) -> Empty;
    change "conversation.set_draft" => conversation_set_draft(ConversationDraft) -> Empty;
    /// Reads a conversation; starts nothing.
    read "conversation.open" => conversation_open(ById) -> Conversation;
    /// The cursor entered the composer: its ticked servers start in the background.
    change "conversation.warm" => conversation_warm(ById) -> Empty;

    /// Ticks or unticks. Answers with a consent view when a person must see it first.
    change "server.tick" => server_tick(ServerTick) -> ConsentReply;
    /// Starts Test connection; its stages and end come as events.
    change "server.test" => server_test(ServerTest) -> ConsentReply;
    /// What would start, and what changed since it was agreed to.
    read "server.review" => server_review(ServerReview) -> ConsentView;
    /// Removes exactly that entry from its file (B17).
    change "server.remove" => server_remove(ServerRemove) -> Empty;
    change "server.add" => server_add(ServerAdd) -> IdReply;
    /// An entry's exact text, whatever it means; the editor's own.
    read "server.entry" => server_entry(ServerOf) -> EntryReply;
    /// The dry run: what saving an entry would start, stop, rename and leave dangling. Changes and starts nothing.
    read "server.plan" => server_plan(EntryPlan) -> PlanReply;
    /// Writes exactly that entry, and no other byte of its file (B17).
    change "server.edit" => server_edit(ServerEdit) -> EditReply;
    /// Lists a tool in `disabledTools` or `disabledAutoApproveTools`, or takes it off; nothing restarts for it.
    change "server.set_tool" => server_set_tool(ServerSetTool) -> EditReply;
    /// What pasted text would add; changes nothing.
    read "server.parse_paste" => server_parse_paste(PasteParse) -> ProposalsReply;
    /// Adds the sample server to the global file and ticks it.
    change "server.add_sample" => server_add_sample(ById) -> IdReply;
    read "server.log" => server_log(ById) -> LogReply;
    /// Closes and starts again one conversation's connection.
    change "server.reconnect" => server_reconnect(ServerIn) -> Empty;

    /// Re-reads every file of the conversation at once.
    change "level.rescan" => level_rescan(ById) -> Empty;
    /// Shows the level's file in the file manager, making `.mework` if needed (B19); answers with the path.
    change "level.reveal" => level_reveal(LevelOf) -> PathReply;

    /// Tools of the conversation's connected servers.
    read "tools.list" => tools_list(ById) -> ToolsReply;
    read "tools.get" => tools_get(ToolGet) -> ToolDetail;
    /// Checks arguments against the tool's schema; calls nothing.
    read "arguments.check" => arguments_check(ArgumentsCheck) -> ProblemsReply;
    /// What was sent to the tool before, each text once, the newest first; what a temporary conversation sent, only there.
    read "arguments.recent" => arguments_recent(ToolGet) -> RecentReply;

    /// Puts a call on the road: level, verdict, card, call, result. Answers at once with the entry's id.
    change "call.start" => call_start(CallStart) -> IdReply;
    change "call.stop" => call_stop(CallStop) -> Empty;
    change "card.answer" => card_answer(CardAnswer) -> AnswerReply;
}

fn parse<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, Error> {
    let params = if params.is_null() { Value::Object(Default::default()) } else { params };
    serde_json::from_value(params)
        .map_err(|e| Error::new(ErrorCode::BadRequest, format!("The request's parameters do not fit: {e}.")))
}

fn reply<T: Serialize>(value: T) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|e| Error::failed(format!("The answer could not be written: {e}.")))
}

/// Runs one request; the only way in for a window, a browser or anything else that speaks the wire.
pub async fn dispatch(engine: &Arc<Engine>, request: Request) -> Result<Value, Error> {
    bounded(&request.params)?;
    if !changes(&request.method) {
        return route(engine, &request.method, request.params).await;
    }
    let Some(id) = request.id else {
        return Err(Error::new(ErrorCode::BadRequest, "A request that changes something carries an id, so that it runs once."));
    };
    let what = sha256(format!("{}\0{}", request.method, request.params).as_bytes());
    let running = {
        let engine = engine.clone();
        async move { route(&engine, &request.method, request.params).await }
    };
    engine.once.run(&id, what, running).await
}

/// What a request may carry: arguments of a call and a little more.
const PARAMETER_BYTES: usize = limits::ARGUMENTS_BYTES + 64 * 1024;
const PARAMETER_VALUES: usize = 16 * 1024;

/// Refuses parameters that no window of ours would send, before they are read.
fn bounded(params: &Value) -> Result<(), Error> {
    let (mut bytes, mut values) = (0usize, 0usize);
    let mut left = vec![params];
    while let Some(value) = left.pop() {
        values += 1;
        match value {
            Value::String(text) => bytes = bytes.saturating_add(text.len()),
            Value::Array(items) => left.extend(items),
            Value::Object(members) => {
                bytes = members.keys().fold(bytes, |sum, key| sum.saturating_add(key.len()));
                left.extend(members.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if bytes > PARAMETER_BYTES || values > PARAMETER_VALUES {
            return Err(Error::new(
                ErrorCode::BadRequest,
                format!("The request is larger than the {PARAMETER_BYTES} bytes that a request may have."),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// Set `MEWORK_WRITE_API=1` (or run `make api`) to write the file.
    #[test]
    fn typescript_is_current() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/src/host/api.ts");
        let text = super::typescript();
        if std::env::var_os("MEWORK_WRITE_API").is_some() {
            std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
            std::fs::write(file, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap_or_default(), text, "ui/src/host/api.ts is stale: run `make api`");
    }
}
