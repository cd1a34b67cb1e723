//! Calls and cards: a conversation's calls run side by side, each on a task of its own, to their end or until stopped.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};

use super::{Answer, Asker, CallArguments, CallOnce, Engine, Noteworthy};
use crate::approval::{self, queue};
use crate::config::Launch;
use crate::conversation;
use crate::conversation::call::{self, Call, Cleared, House, Reached};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;
use crate::mcp::Failure;
use crate::mcp::connection::{CallError, expand};
use crate::mcp::pool::Wanted;
use crate::mcp::result::CallResult;
use crate::mcp::wire;
use crate::store::{ConversationRow, Recent, SentArguments, new_id, now};
use crate::text::{Scrubber, display_line};
use crate::tools::arguments::{self, Arguments};
use crate::tools::{Tool, pairs, workspace};
use crate::wire::*;

/// How long ending calls may take before the app ends all the same.
pub(super) const ENDING: Duration = Duration::from_secs(5);
/// The pool's key of calls without a conversation; ids of conversations are never empty.
const NO_CONVERSATION: &str = "";

/// Calls that are under way.
#[derive(Default)]
pub(super) struct Calls(Mutex<HashMap<String, Under>>);

struct Under {
    conversation: String,
    stop: watch::Sender<Option<Stop>>,
}

/// Why a call is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// A person pressed Stop.
    Person,
    /// The app ends.
    End,
}

impl Calls {
    fn under_way(&self) -> MutexGuard<'_, HashMap<String, Under>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Asks calls to stop and waits until they have.
    async fn stop(&self, why: Stop, which: impl Fn(&str, &Under) -> bool) {
        let stopping: Vec<watch::Sender<Option<Stop>>> =
            self.under_way().iter().filter(|(id, under)| which(id, under)).map(|(_, under)| under.stop.clone()).collect();
        for stop in &stopping {
            stop.send_if_modified(|asked| {
                asked.is_none() && {
                    *asked = Some(why);
                    true
                }
            });
        }
        let over = async {
            for stop in &stopping {
                stop.closed().await;
            }
        };
        let _ = tokio::time::timeout(ENDING, over).await;
    }
}

impl Engine {
    /// Puts a call on the road: level, verdict, card, call, result. Answers at once with the entry's id; only that server
    /// must be available (B20a).
    pub async fn call_start(self: &Arc<Self>, p: CallStart) -> Result<IdReply> {
        let row = self.owned(&p.conversation).await?;
        let arguments = read(&p.arguments)?;
        if p.tool.is_empty() || p.tool.len() > limits::TOOL_NAME_BYTES {
            return Err(Error::failed(format!("A tool's name has 1 to {} bytes.", limits::TOOL_NAME_BYTES)));
        }
        let cleared = self.cleared(Some(&row), &p.server).await?;
        let call = Call { conversation: Some(row.id.clone()), id: new_id(), arguments };
        let house = Conversation {
            engine: self.clone(),
            conversation: row.id.clone(),
            server: p.server,
            entry: call.id.clone(),
            at: now(),
        };
        let mut entry = call.entry(&cleared, &p.tool);
        self.store.touch(&row.id).await?;
        self.store.set_first_call(&row.id, conversation::named_after(&entry.server_name, &entry.tool)).await?;
        house.state(&entry).await;
        let (stop, mut stopped) = watch::channel(None);
        self.calls.under_way().insert(call.id.clone(), Under { conversation: row.id, stop });
        let id = call.id.clone();
        let engine = self.clone();
        tokio::spawn(async move {
            let road = AssertUnwindSafe(call::travel(&house, &call, cleared, &mut entry)).catch_unwind();
            let ended = tokio::select! {
                biased;
                state = road => Ok(state.unwrap_or_else(|_| broke_off())),
                why = asked_to_stop(&mut stopped) => Err(why),
            };
            // A road that was left is dropped by now: its card is down, or its server was told.
            let state = ended.unwrap_or_else(|why| stopped_state(why, &entry.state));
            call::finish(&house, &mut entry, state).await;
            engine.calls.under_way().remove(&call.id);
            if let Some(well) = long_ended(&entry) {
                engine.tell_ended(&house.conversation, &call.id, &entry, well);
            }
            drop(stopped);
        });
        Ok(IdReply { id })
    }

    /// Cancels a call (B27), or withdraws its card.
    pub async fn call_stop(&self, p: CallStop) -> Result<Empty> {
        self.owned(&p.conversation).await?;
        self.calls.stop(Stop::Person, |id, under| id == p.entry && under.conversation == p.conversation).await;
        Ok(Empty {})
    }

    fn brief(&self, server: &str, tool: &str) -> Brief {
        let scrubber = self.pool.logs().scrubber();
        Brief { server: noted(scrubber, server), tool: noted(scrubber, tool) }
    }

    /// A card in words for the desktop.
    pub(super) fn noteworthy(&self, card: &Card) -> Noteworthy {
        let Brief { server, tool } = card.brief.clone();
        Noteworthy { conversation: card.conversation.clone(), entry: card.entry.clone(), server, tool }
    }

    /// The desktop is told of a long call's end, and so are pages: a browser tells its own.
    fn tell_ended(&self, conversation: &str, entry: &str, call: &CallEntry, well: bool) {
        let brief = self.brief(&call.server_name, &call.tool);
        let (conversation, entry) = (conversation.to_owned(), entry.to_owned());
        let Brief { server, tool } = brief.clone();
        self.host.call_ended(Noteworthy { conversation: conversation.clone(), entry: entry.clone(), server, tool }, well);
        self.events.send(Event::CallEnded { conversation, entry, brief, well });
    }

    /// A person clicked what the host showed of a call: windows go there.
    pub fn show(&self, conversation: String, entry: String) {
        self.events.send(Event::Show { conversation, entry });
    }

    pub(super) fn calls_in(&self, conversation: &str) -> bool {
        self.calls.under_way().values().any(|under| under.conversation == conversation)
    }

    pub(super) async fn stop_calls(&self, conversation: &str) {
        self.calls.stop(Stop::Person, |_, under| under.conversation == conversation).await;
    }

    /// The app ends.
    pub(super) async fn end_calls(&self) {
        self.calls.stop(Stop::End, |_, _| true).await;
    }

    /// A person answers a card. False when nobody was waiting any more. Edited arguments that cannot be sent are an error,
    /// and the card goes on waiting.
    pub async fn card_answer(&self, p: CardAnswer) -> Result<AnswerReply> {
        let answer = if p.allow {
            let edited = p.arguments.as_deref().map(|text| self.edited(&p.card, text)).transpose()?;
            queue::Answer::Allow { by: crate::approval::by_person(&self.client), edited }
        } else {
            let reason = p.reason.map(|reason| reason.trim().chars().take(REASON_CHARS).collect::<String>());
            queue::Answer::Deny { reason: reason.filter(|reason| !reason.is_empty()) }
        };
        Ok(AnswerReply { was_waiting: self.queue.answer(&p.card, answer) })
    }

    /// What was sent to a tool before, from every conversation that is kept; a temporary one is to leave no trace elsewhere.
    pub async fn arguments_recent(&self, p: ToolGet) -> Result<RecentReply> {
        self.store.conversation(&p.conversation).await?.ok_or_else(super::conversations::no_conversation)?;
        let recent = self.store.recent_arguments(&p.conversation, &p.server, &p.tool, RECENT).await?;
        Ok(RecentReply {
            recent: recent.into_iter().map(|SentArguments { arguments, at }| RecentArguments { arguments, at }).collect(),
        })
    }

    /// What a person made of a card's arguments, if it can be sent.
    fn edited(&self, card: &str, text: &str) -> Result<Arguments> {
        let arguments = read(text)?;
        let folders = self.queue.card(card).map(|card| card.folders).unwrap_or_default();
        if !folders.is_empty() {
            workspace::take(&arguments, folders.len()).map_err(|bad| Error::new(ErrorCode::BadRequest, bad.to_string()))?;
        }
        Ok(arguments)
    }

    /// One call on the same road as a conversation's, without a conversation: checks, connection, verdict, card, call.
    /// Dropping the future cancels the call.
    pub async fn call_once(&self, p: CallOnce, asker: &dyn Asker) -> Result<CallEntry> {
        if let Some(digest) = &p.digest {
            let found = self.find_for(None, &p.server).await?;
            if let crate::config::ServerEntry::Ready(server) = &found.entry {
                self.admit(&found, server, Some(digest)).await?;
            }
        }
        let cleared = self.cleared(None, &p.server).await?;
        let house = CommandLine { engine: self, server: p.server, asker };
        let text = match p.arguments {
            CallArguments::Json(text) => text,
            CallArguments::Pairs(pairs) if pairs.is_empty() => "{}".into(),
            CallArguments::Pairs(pairs) => {
                // Their types are the schema's to say.
                let reached = house
                    .reach(&cleared)
                    .await
                    .map_err(|failure| Error::failed(failure.message).with_detail(failure.stderr.join("\n")))?;
                let schema = reached.tools.usable(&p.tool).map(|tool| tool.input_schema.clone()).unwrap_or_default();
                pairs::arguments(&schema, &pairs).map_err(|e| Error::failed(e.to_string()))?
            }
        };
        let call = Call { conversation: None, id: new_id(), arguments: read(&text)? };
        let mut entry = call.entry(&cleared, &p.tool);
        house.state(&entry).await;
        let state = call::travel(&house, &call, cleared, &mut entry).await;
        call::finish(&house, &mut entry, state).await;
        Ok(entry)
    }
}

/// A menu of them stays one that a person can look over. Longer texts are found in the transcript.
const RECENT: Recent = Recent { texts: 10, bytes: 256 * 1024, bytes_of_one: 64 * 1024 };

/// So much of a name is shown where there is little room.
const NOTED_BYTES: usize = 60;
/// A person has turned to something else by then.
const LONG: Duration = Duration::from_secs(10);

/// A name as it may stand on a locked screen.
fn noted(scrubber: &Scrubber, name: &str) -> String {
    let shown = display_line(&scrubber.show_cut(name, NOTED_BYTES));
    if name.len() > NOTED_BYTES { shown + "…" } else { shown }
}

/// Whether a call that ran for long ended by itself, and if so, whether well.
fn long_ended(entry: &CallEntry) -> Option<bool> {
    let (well, elapsed_ms) = match &entry.state {
        CallState::Done(outcome) => (!outcome.is_error, outcome.elapsed_ms),
        CallState::Failed { elapsed_ms: Some(elapsed_ms), .. } => (false, *elapsed_ms),
        _ => return None,
    };
    (Duration::from_millis(elapsed_ms) >= LONG).then_some(well)
}

/// A reason for a no is a sentence, not a document.
const REASON_CHARS: usize = 2000;

fn read(text: &str) -> Result<Arguments> {
    arguments::parse(text).map_err(|problem| {
        let place = problem.position.map(|(line, column)| format!(" (line {line}, column {column})")).unwrap_or_default();
        Error::new(ErrorCode::BadRequest, format!("{}{place}", problem.message))
    })
}

async fn asked_to_stop(stop: &mut watch::Receiver<Option<Stop>>) -> Stop {
    let why = stop.wait_for(Option::is_some).await.ok().and_then(|why| *why);
    match why {
        Some(why) => why,
        // The engine forgot the call: nobody can stop it any more.
        None => std::future::pending().await,
    }
}

/// A fault of ours must not leave an entry that runs for ever.
fn broke_off() -> CallState {
    CallState::Failed {
        message: "Mework made a mistake here, and the call broke off. Whether the server finished it is not known.".into(),
        stderr: vec![],
        elapsed_ms: None,
    }
}

fn stopped_state(why: Stop, state: &CallState) -> CallState {
    match (why, state) {
        (Stop::Person, _) => CallState::Stopped,
        (Stop::End, CallState::Running { .. }) => CallState::Failed {
            message: "Mework ended while the call ran. Whether the server finished it is not known.".into(),
            stderr: vec![],
            elapsed_ms: None,
        },
        (Stop::End, _) => CallState::NotRun { reason: "Mework ended before the call started.".into() },
    }
}

impl Engine {
    /// The running server, started if need be.
    async fn reached(&self, conversation: &str, cleared: &Cleared) -> std::result::Result<Reached, Failure> {
        let log = self.pool.logs().of(&cleared.server.id);
        let wanted = wanted(cleared);
        let prepared = expand(&wanted.server, &wanted.cwd, &log)?;
        let tools = self.pool.ready(&self.pool_key(conversation, cleared), wanted).await?;
        Ok(Reached { tools, fingerprint: prepared.fingerprint().to_string(), place: prepared.place() })
    }

    pub(super) async fn cards(&self) -> Result<Vec<Card>> {
        let cards = self.queue.cards();
        if cards.is_empty() {
            return Ok(vec![]);
        }
        let titles = self.store.conversations().await?;
        Ok(cards
            .into_iter()
            .map(|card| {
                let row = titles.iter().find(|row| card.binding.conversation.as_ref() == Some(&row.id));
                self.shown_card(card, row)
            })
            .collect())
    }

    fn shown_card(&self, card: queue::Card, row: Option<&ConversationRow>) -> Card {
        Card {
            brief: self.brief(&card.server_name, &card.binding.tool),
            definition: card.binding.definition,
            conversation: card.binding.conversation.unwrap_or_default(),
            conversation_title: row.map(conversation::name).unwrap_or_default(),
            id: card.id,
            entry: card.entry,
            server: card.binding.server,
            server_name: card.server_name,
            machine: card.machine,
            cwd: card.cwd,
            folders: card.folders.iter().map(|folder| display_line(&folder.display().to_string())).collect(),
            tool: card.binding.tool,
            title: card.title,
            description: card.description,
            arguments: card.arguments.to_string(),
            why: card.why,
            at: card.at,
        }
    }

    pub(super) fn watch_cards(self: &Arc<Self>) {
        let mut changes = self.queue.watch();
        let engine = Arc::downgrade(self);
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(engine) = engine.upgrade() else { return };
                if let Err(e) = engine.publish_cards().await {
                    tracing::warn!("the waiting cards could not be shown: {e}");
                }
            }
        });
    }
}

/// An instance that works in a workspace runs in its folder, in place of the entry's `cwd` (B28).
pub(super) fn wanted(cleared: &Cleared) -> Wanted {
    let mut server = cleared.server.clone();
    let Some(folder) = &cleared.instance else { return Wanted { server, cwd: cleared.folder.clone() } };
    if let Launch::Stdio(stdio) = &mut server.launch {
        stdio.cwd = None;
    }
    Wanted { server, cwd: folder.clone() }
}

/// The house of a conversation's call: its state is kept in the transcript, its card shows in every window.
struct Conversation {
    engine: Arc<Engine>,
    conversation: String,
    server: String,
    /// The transcript entry, and when it was begun.
    entry: String,
    at: Millis,
}

impl Conversation {
    fn shown(&self, entry: &CallEntry) -> Entry {
        Entry { id: self.entry.clone(), at: self.at, body: EntryBody::Call(Box::new(entry.clone())) }
    }
}

impl House for Conversation {
    fn clear(&self) -> BoxFuture<'_, Result<Cleared>> {
        Box::pin(async {
            let row = self.engine.owned(&self.conversation).await?;
            self.engine.cleared(Some(&row), &self.server).await
        })
    }
    fn reach<'a>(&'a self, cleared: &'a Cleared) -> BoxFuture<'a, std::result::Result<Reached, Failure>> {
        self.engine.begins(&self.conversation, &cleared.server);
        Box::pin(self.engine.reached(&self.conversation, cleared))
    }
    fn level<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<(approval::Level, bool)>> {
        Box::pin(async move {
            let store = &self.engine.store;
            let row = store.conversation(&self.conversation).await?.ok_or_else(super::conversations::no_conversation)?;
            if tool.requires_user_interaction {
                store.make_sticky(&self.conversation, &self.server, vec![tool.name.clone()]).await?;
                return Ok((row.level, true));
            }
            let sticky = store.sticky_tools(&self.conversation, &self.server).await?.contains(&tool.name);
            Ok((row.level, sticky))
        })
    }
    fn ask<'a>(&'a self, card: queue::Card, shown: BoxFuture<'a, ()>) -> BoxFuture<'a, Result<queue::Answer>> {
        Box::pin(async move {
            let place = self.engine.queue.put(card).map_err(|full| Error::failed(full.to_string()))?;
            shown.await;
            // Raised between the verdict and now: nobody answers for it any more.
            if let Some(row) = self.engine.store.conversation(&self.conversation).await? {
                self.engine.queue.level_changed(&self.conversation, row.level);
            }
            Ok(place.answer().await)
        })
    }
    fn call<'a>(
        &'a self,
        cleared: &'a Cleared,
        tool: &'a str,
        arguments: &'a Arguments,
        progress: mpsc::Sender<wire::Progress>,
    ) -> BoxFuture<'a, std::result::Result<CallResult, CallError>> {
        Box::pin(async move {
            let (key, never) = (self.engine.pool_key(&self.conversation, cleared), std::future::pending());
            self.engine.pool.call(&key, wanted(cleared), tool, arguments, Some(progress), never).await
        })
    }
    fn state<'a>(&'a self, entry: &'a CallEntry) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let kept = async {
                self.engine.put_entry(&self.conversation, &self.shown(entry)).await?;
                self.engine.publish_lists().await
            };
            if let Err(e) = kept.await {
                self.engine.events.send(Event::Notice { text: format!("A call could not be written down: {e}") });
            }
        })
    }
    fn progress(&self, entry: &CallEntry) {
        let (conversation, entry) = (self.conversation.clone(), Box::new(self.shown(entry)));
        self.engine.events.send(Event::Entry { conversation, entry });
    }
}

/// The house of one call on the command line: nothing is kept, a terminal is asked.
struct CommandLine<'e> {
    engine: &'e Engine,
    server: String,
    asker: &'e dyn Asker,
}

impl House for CommandLine<'_> {
    fn clear(&self) -> BoxFuture<'_, Result<Cleared>> {
        Box::pin(self.engine.cleared(None, &self.server))
    }
    fn reach<'a>(&'a self, cleared: &'a Cleared) -> BoxFuture<'a, std::result::Result<Reached, Failure>> {
        Box::pin(self.engine.reached(NO_CONVERSATION, cleared))
    }
    fn level<'a>(&'a self, _: &'a Tool) -> BoxFuture<'a, Result<(approval::Level, bool)>> {
        Box::pin(async { Ok((approval::Level::default(), false)) })
    }
    fn ask<'a>(&'a self, card: queue::Card, shown: BoxFuture<'a, ()>) -> BoxFuture<'a, Result<queue::Answer>> {
        Box::pin(async move {
            shown.await;
            let Answer { allow, by, arguments, reason } = self.asker.ask(self.engine.shown_card(card, None)).await;
            if !allow {
                return Ok(queue::Answer::Deny { reason });
            }
            Ok(queue::Answer::Allow { by, edited: arguments.as_deref().map(read).transpose()? })
        })
    }
    fn call<'a>(
        &'a self,
        cleared: &'a Cleared,
        tool: &'a str,
        arguments: &'a Arguments,
        progress: mpsc::Sender<wire::Progress>,
    ) -> BoxFuture<'a, std::result::Result<CallResult, CallError>> {
        Box::pin(async move {
            let (key, never) = (self.engine.pool_key(NO_CONVERSATION, cleared), std::future::pending());
            self.engine.pool.call(&key, wanted(cleared), tool, arguments, Some(progress), never).await
        })
    }
    fn state<'a>(&'a self, entry: &'a CallEntry) -> BoxFuture<'a, ()> {
        Box::pin(async { self.asker.state(&entry.state) })
    }
    fn progress(&self, entry: &CallEntry) {
        self.asker.state(&entry.state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B44: what a desktop is told holds no secret, nothing that hides, and is short.
    #[test]
    fn b44_names_are_fit_for_a_locked_screen() {
        let scrubber = Scrubber::default();
        scrubber.add(["s3cret-token"]);
        assert_eq!(noted(&scrubber, "read_s3cret-token"), "read_•••");
        assert_eq!(noted(&scrubber, "a\u{202e}b\nc"), "a⟨U+202E⟩b⟨U+000A⟩c");
        let cut = format!("{}s3cret-token", "x".repeat(NOTED_BYTES - 5));
        assert_eq!(noted(&scrubber, &cut), format!("{}•••…", "x".repeat(NOTED_BYTES - 5)));
    }

    #[test]
    fn b44_only_a_long_calls_own_end_is_told() {
        let ended = |state| {
            long_ended(&CallEntry {
                server: "s".into(),
                server_name: "s".into(),
                machine: "m".into(),
                tool: "t".into(),
                title: None,
                arguments: "{}".into(),
                arguments_before: None,
                state,
                asked_at: None,
                answered_at: None,
                approval: None,
                started_at: None,
                ended_at: None,
            })
        };
        let done = |is_error, elapsed_ms| {
            CallState::Done(CallOutcome { is_error, content: vec![], structured: None, bytes: 0, elapsed_ms })
        };
        let failed = |elapsed_ms| CallState::Failed { message: String::new(), stderr: vec![], elapsed_ms };
        assert_eq!(
            [ended(done(false, 10_000)), ended(done(true, 10_000)), ended(done(false, 9_999))],
            [Some(true), Some(false), None]
        );
        assert_eq!([ended(failed(Some(45_000))), ended(failed(Some(1))), ended(failed(None))], [Some(false), None, None]);
        assert_eq!([ended(CallState::Stopped), ended(CallState::Denied { reason: None })], [None, None]);
    }
}
