//! Connections of conversations and tests of servers, as far as people see them: who is started when, and the badges.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::future::join_all;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Engine;
use super::servers::{Admission, Found, server_id, unavailable, works_in_a_workspace};
use crate::config::{self, Listing, Scope, Server, ServerEntry, ServerId};
use crate::conversation::call::Cleared;
use crate::conversation::{self, shown};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;
use crate::mcp::pool::{Change, Effort, Eras};
use crate::mcp::{Era, Health, probe};
use crate::store::{ConversationRow, SeenTool, Store, new_id, now};
use crate::wire::*;

type Schema = serde_json::Map<String, serde_json::Value>;

/// What is known of servers beyond their entries.
#[derive(Default)]
pub(super) struct Badges(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// By conversation and server id.
    connections: HashMap<(String, String), Line>,
    /// By conversation: the pool's keys of further instances.
    instances: HashMap<String, BTreeSet<String>>,
    /// By server id.
    tests: HashMap<String, Tested>,
}

/// One conversation's connection.
struct Line {
    /// Of the entry it was started from, lists of tools aside: a changed entry has no badge yet.
    digest: String,
    status: ServerStatus,
    began: Option<Instant>,
    /// Names and digests of the tools it listed last, while it is connected.
    tools: Option<Vec<(String, String)>>,
}

struct Tested {
    digest: String,
    /// Tests of it that run now.
    running: u32,
    found: Option<ServerStatus>,
}

impl Badges {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which handshake servers answered to, in memory and in the database.
pub(super) struct RememberedEras {
    known: Mutex<BTreeMap<String, Era>>,
    store: Arc<Store>,
}

impl RememberedEras {
    pub(super) async fn load(store: Arc<Store>) -> Result<Self> {
        let rows = store.eras().await?;
        let known = rows.into_iter().filter_map(|(server, word)| Some((server, era(&word)?))).collect();
        Ok(Self { known: Mutex::new(known), store })
    }
}

fn era(word: &str) -> Option<Era> {
    match word {
        "initialize" => Some(Era::Initialize),
        "discover" => Some(Era::Discover),
        _ => None,
    }
}

impl Eras for RememberedEras {
    fn remembered(&self, server: &ServerId) -> Option<Era> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&server.to_string()).copied()
    }
    fn remember(&self, server: &ServerId, era: Era) {
        let server = server.to_string();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(server.clone(), era);
        let word = match era {
            Era::Initialize => "initialize",
            Era::Discover => "discover",
        };
        self.store.remember_era(server, word);
    }
}

/// Changes of connections that are taken in at once.
const CHANGES_AT_ONCE: usize = 32;

/// Groups of changes in order, each with one change of a connection at most: no state goes by unseen.
fn side_by_side(changes: impl Iterator<Item = Change>) -> Vec<Vec<Change>> {
    let mut groups: Vec<Vec<Change>> = Vec::new();
    for change in changes {
        let is_same = |one: &Change| one.conversation == change.conversation && one.server == change.server;
        match groups.last_mut() {
            Some(group) if !group.iter().any(is_same) => group.push(change),
            Some(_) | None => groups.push(vec![change]),
        }
    }
    groups
}

impl Engine {
    /// A row's badge: a test in progress wins, then the connection's state, then the last test.
    pub(super) fn status(&self, conversation: &str, server: &Server) -> ServerStatus {
        let known = self.badges.known();
        let id = server.id.to_string();
        let tested = known.tests.get(&id).filter(|tested| tested.digest == server.digest);
        if tested.is_some_and(|tested| tested.running > 0) {
            return ServerStatus::Testing;
        }
        let line = known.connections.get(&(conversation.to_owned(), id)).filter(|line| line.digest == server.connection_digest);
        match line.map(|line| &line.status) {
            None | Some(ServerStatus::Idle) => tested.and_then(|tested| tested.found.clone()).unwrap_or(ServerStatus::Idle),
            Some(status) => status.clone(),
        }
    }

    /// The cursor entered the composer: the conversation's ticked servers start in the background (B20b). In a conversation
    /// that another process owns nothing starts.
    pub async fn conversation_warm(&self, p: ById) -> Result<Empty> {
        match self.owned(&p.id).await {
            Ok(row) => self.start_in_background(&row, None).await?,
            Err(e) if e.code == ErrorCode::ReadOnly => {}
            Err(e) => return Err(e),
        }
        Ok(Empty {})
    }

    /// Starts ticked servers that a person agreed to, as their entries stand now; all of them, or one.
    pub(super) async fn start_in_background(&self, row: &ConversationRow, only: Option<&str>) -> Result<()> {
        let sources = self.sources(Some(row)).await?;
        // A file that declares several of them is read once.
        let mut listings: HashMap<Scope, Listing> = HashMap::new();
        let mut ready = Vec::new();
        for server in self.store.selection(&row.id).await? {
            if only.is_some_and(|only| only != server) {
                continue;
            }
            // What dangles or is unavailable is shown as that; it is no reason not to start the others.
            let Ok(id) = server_id(&server) else { continue };
            let Some(level) = sources.level_of(&self.scope_of(&id)) else { continue };
            if !listings.contains_key(&level.scope) {
                listings.insert(level.scope.clone(), config::list(level).await);
            }
            let found = self.find_in(&sources, level, &listings[&level.scope], &id);
            let Ok(Found { entry: ServerEntry::Ready(server), folder, folders, .. }) = found else { continue };
            // Of several instances the first one; the others start with their first call.
            let choice = if works_in_a_workspace(&server) { folders } else { vec![] };
            let instance = choice.first().filter(|_| choice.len() > 1).cloned();
            ready.push(Cleared { server, folder, instance, choice });
        }
        let consents = self.consents(ready.iter().map(|cleared| &cleared.server)).await?;
        let agreed = ready.iter().zip(consents).filter(|(_, consent)| *consent == Consent::Given);
        let wanted: Vec<_> = agreed.map(|(cleared, _)| super::calls::wanted(cleared)).collect();
        for one in &wanted {
            self.begins(&row.id, &one.server);
        }
        self.pool.ensure(&row.id, wanted, Effort::Quiet);
        Ok(())
    }

    /// From here on the badge of this connection is about this entry.
    pub(super) fn begins(&self, conversation: &str, server: &Server) {
        let mut known = self.badges.known();
        let line = known.connections.entry((conversation.to_owned(), server.id.to_string())).or_insert_with(|| Line {
            digest: String::new(),
            status: ServerStatus::Idle,
            began: None,
            tools: None,
        });
        if line.digest != server.connection_digest {
            *line = Line { digest: server.connection_digest.clone(), status: ServerStatus::Idle, began: None, tools: None };
        }
    }

    /// Closes and starts again one conversation's connection.
    pub async fn server_reconnect(&self, p: ServerIn) -> Result<Empty> {
        let row = self.owned(&p.conversation).await?;
        let mut cleared = self.cleared(Some(&row), &p.server).await?;
        cleared.instance = cleared.choice.first().filter(|_| cleared.choice.len() > 1).cloned();
        self.close_instances(&p.conversation, &cleared.server.id).await;
        self.begins(&p.conversation, &cleared.server);
        self.pool.ensure(&p.conversation, vec![super::calls::wanted(&cleared)], Effort::Call);
        Ok(Empty {})
    }

    pub(super) async fn close_connection(&self, conversation: &str, server: &str) {
        // Before it waits: whoever ticks the server again meanwhile has a badge of their own.
        self.badges.known().connections.remove(&(conversation.to_owned(), server.to_owned()));
        if let Ok(id) = server_id(server) {
            self.close_instances(conversation, &id).await;
        }
    }

    /// Every instance of a server in one conversation.
    async fn close_instances(&self, conversation: &str, server: &ServerId) {
        join_all(self.instances(conversation).iter().map(|key| self.pool.close(key, server))).await;
    }

    /// The pool's keys of a conversation: its own, and one for each folder that further instances were started in.
    fn instances(&self, conversation: &str) -> Vec<String> {
        let known = self.badges.known();
        let further = known.instances.get(conversation).into_iter().flatten().cloned();
        std::iter::once(conversation.to_owned()).chain(further).collect()
    }

    /// The pool's key for a call: further instances are connections of their own (B28).
    pub(super) fn pool_key(&self, conversation: &str, cleared: &Cleared) -> String {
        match &cleared.instance {
            Some(folder) if cleared.choice.first() != Some(folder) => {
                // No conversation's id has a space.
                let key = format!("{conversation} {}", folder.display());
                self.badges.known().instances.entry(conversation.to_owned()).or_default().insert(key.clone());
                key
            }
            Some(_) | None => conversation.to_owned(),
        }
    }

    pub(super) async fn close_connections(&self, conversation: &str) {
        let instances = self.instances(conversation);
        {
            let mut known = self.badges.known();
            known.instances.remove(conversation);
            known.connections.retain(|(owner, _), _| owner != conversation);
        }
        join_all(instances.iter().map(|key| self.pool.close_conversation(key))).await;
    }

    /// Ends a conversation's connections to servers that are in none of its files any more.
    pub(super) async fn close_dangling(&self, conversation: &str) -> Result<()> {
        let servers: Vec<String> = {
            let known = self.badges.known();
            known.connections.keys().filter(|(owner, _)| owner == conversation).map(|(_, server)| server.clone()).collect()
        };
        if servers.is_empty() {
            return Ok(());
        }
        let Some(row) = self.store.conversation(conversation).await? else { return Ok(()) };
        for server in servers {
            let gone = match self.find(Some(&row), &server_id(&server)?).await {
                Ok(_) => false,
                // A file that cannot be read just now says nothing about its servers.
                Err(e) => e.code == ErrorCode::NotFound,
            };
            if gone {
                self.close_connection(conversation, &server).await;
            }
        }
        Ok(())
    }

    /// Ends every conversation's connection to a server whose entry a person removed.
    pub(super) async fn close_server(&self, server: &str) {
        let conversations: Vec<String> = {
            let known = self.badges.known();
            known.connections.keys().filter(|(_, id)| id == server).map(|(conversation, _)| conversation.clone()).collect()
        };
        join_all(conversations.iter().map(|conversation| self.close_connection(conversation, server))).await;
    }

    /// Hears of every change of a connection, in order.
    pub(super) fn watch_pool(self: &Arc<Self>, mut changes: UnboundedReceiver<Change>) {
        let engine = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut came = Vec::new();
            while changes.recv_many(&mut came, CHANGES_AT_ONCE).await > 0 {
                let Some(engine) = engine.upgrade() else { return };
                for together in side_by_side(came.drain(..)) {
                    if let Err(e) = engine.connections_changed(together).await {
                        tracing::warn!("a connection's state could not be shown: {e}");
                    }
                }
            }
        });
    }

    /// Changes of different connections: windows are told of them in one go.
    async fn connections_changed(&self, changes: Vec<Change>) -> Result<()> {
        let (mut conversations, mut changed) = (BTreeSet::new(), Vec::new());
        for Change { conversation, server, health } in changes {
            let id = server.to_string();
            {
                let mut known = self.badges.known();
                // Unticked, or of a call without a conversation: nobody shows it.
                let Some(line) = known.connections.get_mut(&(conversation.clone(), id.clone())) else { continue };
                match &health {
                    Health::Connecting { since } => line.began = Some(*since),
                    Health::Idle | Health::Connected { .. } | Health::Failed { .. } => {}
                }
                line.status = shown::health(&health, line.began);
                let tools = match &health {
                    Health::Connected { tools, .. } => {
                        Some(tools.tools.iter().map(|tool| (tool.name.clone(), tool.digest.clone())).collect())
                    }
                    Health::Idle | Health::Connecting { .. } | Health::Failed { .. } => None,
                };
                let before = std::mem::replace(&mut line.tools, tools);
                if before.is_some() && line.tools.is_some() && before != line.tools {
                    changed.push((conversation.clone(), id));
                }
            }
            if let Health::Connected { tools, .. } = &health
                && let Err(e) = self.note_tools(&conversation, &server, tools).await
            {
                tracing::warn!("what a server's tools look like could not be kept: {e}");
            }
            conversations.insert(conversation);
        }
        for conversation in conversations {
            self.publish_conversation(&conversation).await?;
        }
        let open = self.open_ones().await;
        for (conversation, server) in changed {
            if open.contains(&conversation) {
                self.events.send(Event::ToolsChanged { conversation, server });
            }
        }
        Ok(())
    }

    /// Row 6: tools that look otherwise than the last time they were listed are named, where they are about to be used.
    async fn note_tools(&self, conversation: &str, server: &ServerId, tools: &crate::tools::ServerTools) -> Result<()> {
        // What is kept is shown again one day: no secret of an entry is in it (row 16).
        let scrubber = self.pool.logs().scrubber();
        let seen = tools.tools.iter().map(|tool| SeenTool {
            name: tool.name.clone(),
            digest: tool.digest.clone(),
            definition: scrubber.scrub(&tool.definition()),
        });
        let seen = seen.collect();
        let changed = self.store.note_tools(&server.to_string(), seen).await?;
        if changed.is_empty() {
            return Ok(());
        }
        let names: Vec<String> =
            changed.iter().map(|tool| format!("`{}`", crate::text::display_capped(&tool.name, 80))).collect();
        let text = format!(
            "{} describes these tools otherwise than before: {}. Read what they say now before you call them.",
            crate::text::display_line(&server.name),
            names.join(", ")
        );
        self.put_entry(
            conversation,
            &Entry { id: new_id(), at: now(), body: EntryBody::Notice { text, diff: conversation::changed_tools(&changed) } },
        )
        .await
    }

    /// Starts Test connection; its stages and end come as events. Counts as a start: consent as for a tick.
    pub async fn server_test(self: &Arc<Self>, p: ServerTest) -> Result<ConsentReply> {
        let found = self.find_for(p.conversation.as_deref(), &p.server).await?;
        let server = match &found.entry {
            ServerEntry::Ready(server) => server.clone(),
            ServerEntry::Unavailable(entry) => return Err(unavailable(entry)),
        };
        if let Admission::Needs(view) = self.admit(&found, &server, p.digest.as_deref()).await? {
            return Ok(ConsentReply { needs: Some(*view) });
        }
        if !self.test_begins(&server) {
            return Ok(ConsentReply { needs: None });
        }
        self.publish_open().await?;
        let engine = self.clone();
        tokio::spawn(async move {
            let id = server.id.to_string();
            let mut told = |stage: &crate::mcp::StageReport| {
                engine.events.send(Event::TestStage { server: id.clone(), stage: shown::stage(stage) });
            };
            let report =
                probe::probe(&server, &found.folder, engine.pool.logs(), &*engine.eras, limits::LISTING_TIMEOUT, &mut told).await;
            engine.test_ends(&server, shown::tested(&report));
            if let Err(e) = engine.publish_open().await {
                tracing::warn!("a test's end could not be shown: {e}");
            }
        });
        Ok(ConsentReply { needs: None })
    }

    /// Test connection, answered when it is done. [`ErrorCode::NeedsConsent`] when a person must see it first
    /// ([`Engine::server_review`]).
    pub async fn test_once(&self, p: ServerTest, stage: &(dyn Fn(StageInfo) + Send + Sync)) -> Result<TestReport> {
        let found = self.find_for(p.conversation.as_deref(), &p.server).await?;
        let server = match &found.entry {
            ServerEntry::Ready(server) => server.clone(),
            ServerEntry::Unavailable(entry) => return Err(unavailable(entry)),
        };
        if let Admission::Needs(_) = self.admit(&found, &server, p.digest.as_deref()).await? {
            return Err(super::servers::needs_consent(&server));
        }
        let mut told = |report: &crate::mcp::StageReport| stage(shown::stage(report));
        let report =
            probe::probe(&server, &found.folder, self.pool.logs(), &*self.eras, limits::LISTING_TIMEOUT, &mut told).await;
        Ok(shown::report(p.server, &server.id.name, &report))
    }

    /// False when this very entry is being tested already.
    fn test_begins(&self, server: &Server) -> bool {
        let mut known = self.badges.known();
        let tested = known.tests.entry(server.id.to_string()).or_insert_with(|| Tested {
            digest: server.digest.clone(),
            running: 0,
            found: None,
        });
        if tested.digest != server.digest {
            *tested = Tested { digest: server.digest.clone(), running: 0, found: None };
        }
        if tested.running > 0 {
            return false;
        }
        tested.running += 1;
        true
    }

    fn test_ends(&self, server: &Server, found: ServerStatus) {
        let mut known = self.badges.known();
        if let Some(tested) = known.tests.get_mut(&server.id.to_string()).filter(|tested| tested.digest == server.digest) {
            tested.running = tested.running.saturating_sub(1);
            tested.found = Some(found);
        }
    }

    /// The lines kept of a server's log (B45).
    pub async fn server_log(&self, p: ById) -> Result<LogReply> {
        let id = server_id(&p.id)?;
        Ok(LogReply { lines: self.pool.logs().lines(&id).iter().map(super::logs::line).collect() })
    }

    /// Tools of the conversation's connected servers, in list order.
    pub async fn tools_list(&self, p: ById) -> Result<ToolsReply> {
        let row = self.store.conversation(&p.id).await?.ok_or_else(super::conversations::no_conversation)?;
        let mut tools = Vec::new();
        for (id, listed) in self.connected_tools(&row).await? {
            tools.extend(listed.tools.iter().map(|tool| ToolRef {
                server: id.to_string(),
                server_name: crate::text::display_line(&id.name),
                tool: shown::tool(tool),
            }));
        }
        Ok(ToolsReply { tools })
    }

    pub async fn tools_get(&self, p: ToolGet) -> Result<ToolDetail> {
        let (id, mut tool) = self.tool(&p.conversation, &p.server, &p.tool).await?;
        tool.input_schema = self.offered_schema(&p.conversation, &id, tool.input_schema).await?;
        Ok(ToolDetail {
            tool: ToolRef { server: p.server, server_name: crate::text::display_line(&id.name), tool: shown::tool(&tool) },
            input_schema: serde_json::Value::Object(tool.input_schema),
            output_schema: tool.output_schema.map(serde_json::Value::Object),
            annotations: tool.annotations.map(serde_json::Value::Object),
        })
    }

    /// Checks arguments against the tool's schema; calls nothing.
    pub async fn arguments_check(&self, p: ArgumentsCheck) -> Result<ProblemsReply> {
        use crate::tools::arguments::{self, Problem};
        use crate::tools::schema::{Check, check};
        let problem = |problem: Problem| ArgumentProblem {
            pointer: problem.pointer,
            message: problem.message,
            line: problem.position.map(|(line, _)| line),
            column: problem.position.map(|(_, column)| column),
        };
        let arguments = match arguments::parse(&p.arguments) {
            Ok(arguments) => arguments,
            Err(found) => return Ok(ProblemsReply { problems: vec![problem(found)], unchecked: None }),
        };
        let (id, tool) = self.tool(&p.conversation, &p.server, &p.tool).await?;
        let schema = self.offered_schema(&p.conversation, &id, tool.input_schema).await?;
        let checked = tokio::task::spawn_blocking(move || check(&schema, &arguments)).await;
        // The server checks its arguments itself; that it was not done here is said all the same.
        Ok(match checked {
            Ok(Check::Checked(problems)) => {
                ProblemsReply { problems: problems.into_iter().map(problem).collect(), unchecked: None }
            }
            Ok(Check::Skipped(why)) => ProblemsReply { problems: vec![], unchecked: Some(why) },
            Err(_) => ProblemsReply { problems: vec![], unchecked: Some("the check failed".into()) },
        })
    }

    /// The schema as it is offered: with the `workspace` parameter where the server has instances to choose from (B28).
    async fn offered_schema(&self, conversation: &str, id: &ServerId, schema: Schema) -> Result<Schema> {
        let row = self.store.conversation(conversation).await?.ok_or_else(super::conversations::no_conversation)?;
        let Ok(found) = self.find(Some(&row), id).await else { return Ok(schema) };
        let ServerEntry::Ready(server) = &found.entry else { return Ok(schema) };
        if found.folders.len() < 2 || !works_in_a_workspace(server) {
            return Ok(schema);
        }
        let folders: Vec<String> =
            found.folders.iter().map(|folder| crate::text::display_line(&folder.to_string_lossy())).collect();
        Ok(crate::tools::workspace::with_parameter(&schema, &folders).unwrap_or(schema))
    }

    async fn tool(&self, conversation: &str, server: &str, tool: &str) -> Result<(ServerId, crate::tools::Tool)> {
        let id = server_id(server)?;
        match self.pool.health(conversation, &id) {
            Health::Connected { tools, .. } => {
                let found = tools.tools.iter().find(|known| known.name == tool).cloned();
                found.map(|tool| (id, tool)).ok_or_else(|| Error::not_found("The server has no tool of that name any more."))
            }
            Health::Idle | Health::Connecting { .. } | Health::Failed { .. } => {
                Err(Error::not_found(format!("{} is not connected.", crate::text::display_line(&id.name))))
            }
        }
    }

    async fn connected_tools(&self, row: &ConversationRow) -> Result<Vec<(ServerId, Arc<crate::tools::ServerTools>)>> {
        let selection = self.store.selection(&row.id).await?;
        let mut connected = Vec::new();
        for placed in self.placed(row).await? {
            for entry in placed.listing.servers.values() {
                if !selection.contains(&entry.id().to_string()) {
                    continue;
                }
                if let Health::Connected { tools, .. } = self.pool.health(&row.id, entry.id()) {
                    connected.push((entry.id().clone(), tools));
                }
            }
        }
        Ok(connected)
    }
}

impl Engine {
    /// What pasted text would add to a level; changes nothing.
    pub async fn server_parse_paste(&self, p: PasteParse) -> Result<ProposalsReply> {
        let level = self.level_of(&p.conversation, &p.level).await?;
        Ok(match crate::config::paste::propose(&level, &p.text).await {
            Ok(found) => ProposalsReply { proposals: found.into_iter().map(conversation::proposal).collect(), message: None },
            Err(problem) => ProposalsReply { proposals: vec![], message: Some(problem.to_string()) },
        })
    }
}
