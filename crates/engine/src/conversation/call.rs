//! The road of one call (B20a, B33–B36): connection, verdict, card, call, result. A person's call in the composer, the
//! command line's and later a model's take the same road; what differs is the [`House`] it leads through.
//!
//! Cancel is dropping the future: the card is withdrawn, or the server is told. Time a person takes never counts as the
//! call's.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::approval::queue::{Answer, Approval, Binding, Card, sha256};
use crate::approval::{Level, Verdict, Why, by_level, verdict};
use crate::config::Server;
use crate::error::Error;
use crate::mcp::Failure;
use crate::mcp::connection::CallError;
use crate::mcp::result::{Block, CallResult};
use crate::mcp::wire::Progress;
use crate::store::{new_id, now};
use crate::tools::arguments::Arguments;
use crate::tools::{ServerTools, Tool, workspace};
use crate::wire::{self, ApprovalRecord, ArgumentsEdit, CallEntry, CallOutcome, CallState};

/// Windows hear of progress this often at most.
const PROGRESS: Duration = Duration::from_millis(200);
/// Progress that is not read yet; more is dropped.
const UNREAD_PROGRESS: usize = 16;

/// A server whose entry was read from its file just now, and that may start.
#[derive(Debug, Clone)]
pub struct Cleared {
    pub server: Server,
    /// Where it starts when its entry says nothing.
    pub folder: PathBuf,
    /// Which of several instances, by the folder it works in (B28); none for a server that runs once.
    pub instance: Option<PathBuf>,
    /// The folders a server that works in a workspace has to choose from, in the conversation's order; fewer than two are
    /// no choice.
    pub choice: Vec<PathBuf>,
}

/// A running server.
#[derive(Debug, Clone)]
pub struct Reached {
    pub tools: Arc<ServerTools>,
    /// Of the expanded entry it was started with.
    pub fingerprint: String,
    /// The folder it runs in, or the origin it is reached at.
    pub place: String,
}

/// What a call needs of the house it leads through.
pub trait House: Send + Sync {
    /// Reads the server's file, now, and clears the entry for a start: it is there, available, ticked where that counts,
    /// and agreed to as it stands (row 1).
    fn clear(&self) -> BoxFuture<'_, Result<Cleared, Error>>;
    /// The running server, started if need be.
    fn reach<'a>(&'a self, cleared: &'a Cleared) -> BoxFuture<'a, Result<Reached, Failure>>;
    /// The level as it is at this moment, and whether this tool once asked for a person here (row 6).
    fn level<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<(Level, bool), Error>>;
    /// Shows a card and waits. Dropping the future withdraws it.
    fn ask<'a>(&'a self, card: Card, shown: BoxFuture<'a, ()>) -> BoxFuture<'a, Result<Answer, Error>>;
    /// Sends the call. Dropping the future cancels it (B27).
    fn call<'a>(
        &'a self,
        cleared: &'a Cleared,
        tool: &'a str,
        arguments: &'a Arguments,
        progress: mpsc::Sender<Progress>,
    ) -> BoxFuture<'a, Result<CallResult, CallError>>;
    /// The entry reached a state that is kept.
    fn state<'a>(&'a self, entry: &'a CallEntry) -> BoxFuture<'a, ()>;
    /// The entry made progress; told, not kept.
    fn progress(&self, entry: &CallEntry);
}

/// One call before it sets out.
#[derive(Debug, Clone)]
pub struct Call {
    pub conversation: Option<String>,
    /// The transcript entry's id.
    pub id: String,
    pub arguments: Arguments,
}

impl Call {
    /// The transcript entry at the start of the road.
    pub fn entry(&self, cleared: &Cleared, tool: &str) -> CallEntry {
        CallEntry {
            server: cleared.server.id.to_string(),
            server_name: crate::text::display_line(&cleared.server.id.name),
            machine: cleared.server.id.machine.label(),
            tool: tool.into(),
            title: None,
            arguments: self.arguments.text().into(),
            arguments_before: None,
            state: CallState::Connecting,
            asked_at: None,
            answered_at: None,
            approval: None,
            started_at: None,
            ended_at: None,
        }
    }
}

/// Leads a call to its end and answers with its last state, for [`finish`]. States on the way are told to the house.
pub async fn travel(house: &dyn House, call: &Call, cleared: Cleared, entry: &mut CallEntry) -> CallState {
    road(house, call, cleared, entry).await.unwrap_or_else(|early| early)
}

/// Ends an entry that was under way. Not part of the road: whoever drops that still ends the entry.
pub async fn finish(house: &dyn House, entry: &mut CallEntry, state: CallState) {
    entry.state = state;
    entry.ended_at = Some(now());
    house.state(entry).await;
}

fn not_run(reason: impl Into<String>) -> CallState {
    CallState::NotRun { reason: reason.into() }
}

fn unreachable(failure: Failure) -> CallState {
    CallState::Failed { message: failure.message, stderr: failure.stderr, elapsed_ms: None }
}

async fn road(house: &dyn House, call: &Call, mut cleared: Cleared, entry: &mut CallEntry) -> Result<CallState, CallState> {
    let mut arguments = call.arguments.clone();
    let mut yes: Option<Approval> = None;
    let (there, approval) = loop {
        // Here, and nowhere else, PreToolUse hooks will see the arguments before anybody is asked about them or anything is
        // sent (B37, B38): as they were asked for, and once more when a person edited them on the card (B35).
        let there = arrive(house, &arguments, cleared, &entry.tool).await?;
        entry.title = there.tool.shown_title();
        if let Some(approval) = yes.take() {
            break (there, approval);
        }
        match judge(house, &there.tool).await? {
            (Verdict::Run, level) => {
                let approval = Approval::new(binding(call, &arguments, &there), by_level(level));
                break (there, approval);
            }
            (Verdict::Ask(why), _) => {
                let (approval, edited) = asked(house, call, &there, why, entry).await?;
                if let Some(edited) = edited {
                    entry.arguments_before = Some(std::mem::replace(&mut entry.arguments, edited.text().into()));
                    arguments = edited;
                }
                yes = Some(approval);
                // However long that took, what is sent is decided by what is on disk and running now.
                cleared = house.clear().await.map_err(|e| not_run(e.message))?;
            }
        }
    };
    let by = approval.by.clone();
    let binding = binding(call, &arguments, &there);
    let arguments_digest = binding.arguments.clone();
    approval.spend(&binding).map_err(|void| not_run(void.to_string()))?;

    let edit =
        entry.arguments_before.as_ref().map(|before| ArgumentsEdit { by: by.clone(), digest_before: sha256(before.as_bytes()) });
    entry.approval = Some(ApprovalRecord { by, at: now(), arguments_digest, edit });
    entry.started_at = Some(now());
    entry.state = CallState::Running { progress: None };
    house.state(entry).await;
    let begun = Instant::now();
    let answered = running(house, &there, entry).await;
    let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(match answered {
        Ok(result) => CallState::Done(outcome(result, elapsed_ms)),
        Err(CallError::Cancelled) => CallState::Stopped,
        Err(error) => CallState::Failed {
            stderr: error.failure().map(|failure| failure.stderr.clone()).unwrap_or_default(),
            message: error.to_string(),
            elapsed_ms: Some(elapsed_ms),
        },
    })
}

/// The server and the tool a call goes to, and what is sent there.
struct There {
    cleared: Cleared,
    reached: Reached,
    /// Of its first instance, when it has several.
    fingerprint: String,
    tool: Tool,
    /// The folders that a `workspace` in the arguments chooses from; empty when the tool was not given that parameter.
    folders: Vec<PathBuf>,
    sent: Arguments,
}

/// Connects, finds the tool, and for a server that works in a workspace goes on to the instance the arguments name (B28).
async fn arrive(house: &dyn House, arguments: &Arguments, mut cleared: Cleared, name: &str) -> Result<There, CallState> {
    let several = cleared.choice.len() > 1;
    if several {
        cleared.instance = cleared.choice.first().cloned();
    }
    let reached = house.reach(&cleared).await.map_err(unreachable)?;
    let tool = usable(&reached.tools, name)?;
    let folders = if several && !workspace::has_own(&tool.input_schema) { cleared.choice.clone() } else { vec![] };
    let (instance, sent) = choose(arguments, &folders)?;
    let fingerprint = reached.fingerprint.clone();
    let mut there = There { cleared, reached, fingerprint, tool, folders, sent };
    if instance.is_some() && instance != there.cleared.instance {
        there.cleared.instance = instance;
        there.reached = house.reach(&there.cleared).await.map_err(unreachable)?;
        there.tool = usable(&there.reached.tools, name)?;
    }
    Ok(there)
}

/// The instance that arguments name among these folders, and what is left to send there. Without folders there is nothing
/// to name.
fn choose(arguments: &Arguments, folders: &[PathBuf]) -> Result<(Option<PathBuf>, Arguments), CallState> {
    if folders.is_empty() {
        return Ok((None, arguments.clone()));
    }
    let (number, sent) = workspace::take(arguments, folders.len()).map_err(|bad| not_run(bad.to_string()))?;
    Ok((folders.get(number - 1).cloned(), sent))
}

/// The tool, if it may be called by this name.
fn usable(tools: &ServerTools, name: &str) -> Result<Tool, CallState> {
    if let Some(tool) = tools.usable(name) {
        return Ok(tool.clone());
    }
    let shown = crate::text::display_capped(name, 200);
    if tools.tools.iter().any(|tool| tool.name == name) {
        return Err(not_run(format!("`{shown}` is left out by `disabledTools` of the server's entry.")));
    }
    let aside = tools.set_aside.iter().find(|aside| aside.name.as_deref() == Some(shown.as_str()));
    Err(not_run(match aside {
        Some(aside) => format!("`{shown}` was set aside: {}", aside.reason),
        None => format!("The server has no tool named `{shown}`. It may have been renamed: choose it from the list again."),
    }))
}

/// B33, B36; annotations such as `readOnlyHint` have no say (row 5).
async fn judge(house: &dyn House, tool: &Tool) -> Result<(Verdict, Level), CallState> {
    let (level, sticky) = house.level(tool).await.map_err(|e| not_run(e.message))?;
    let server_requires = tool.requires_user_interaction || sticky;
    Ok((verdict(level, server_requires, tool.always_asks && !tool.requires_user_interaction), level))
}

fn binding(call: &Call, arguments: &Arguments, there: &There) -> Binding {
    let There { cleared, reached: _, fingerprint, tool, folders: _, sent: _ } = there;
    Binding {
        conversation: call.conversation.clone(),
        server: cleared.server.id.to_string(),
        digest: cleared.server.digest.clone(),
        fingerprint: fingerprint.clone(),
        instance: cleared.instance.clone(),
        tool: tool.name.clone(),
        definition: tool.digest.clone(),
        arguments: sha256(arguments.text().as_bytes()),
    }
}

/// Asks a person and waits for the answer: the yes, and the arguments they edited, if they did. The yes is for what they
/// saw, with the arguments they sent along: the server and the tool must be what the card showed, edited or not.
async fn asked(
    house: &dyn House,
    call: &Call,
    there: &There,
    why: Why,
    entry: &mut CallEntry,
) -> Result<(Approval, Option<Arguments>), CallState> {
    let There { reached, tool, folders, .. } = there;
    let mut binding = binding(call, &call.arguments, there);
    let card = Card {
        id: new_id(),
        entry: call.id.clone(),
        binding: binding.clone(),
        server_name: entry.server_name.clone(),
        machine: entry.machine.clone(),
        cwd: crate::text::display_line(&reached.place),
        title: tool.shown_title(),
        description: tool.shown_description(),
        arguments: call.arguments.text().into(),
        folders: folders.clone(),
        why,
        at: now(),
    };
    entry.state = CallState::Waiting { card: card.id.clone() };
    entry.asked_at = Some(card.at);
    let shown = house.state(entry);
    let answer = house.ask(card, shown).await;
    entry.answered_at = Some(now());
    let (by, edited) = match answer.map_err(|e| not_run(e.message))? {
        Answer::Allow { by, edited } => (by, edited.filter(|edited| *edited != call.arguments)),
        Answer::Deny { reason } => return Err(CallState::Denied { reason }),
    };
    if let Some(edited) = &edited {
        binding.arguments = sha256(edited.text().as_bytes());
        // Another number is another instance, and the person chose it.
        if let (Some(instance), _) = choose(edited, folders)? {
            binding.instance = Some(instance);
        }
    }
    Ok((Approval::new(binding, by), edited))
}

/// Sends the call and tells its progress, not too often.
async fn running(house: &dyn House, there: &There, entry: &mut CallEntry) -> Result<CallResult, CallError> {
    let (progress, mut steps) = mpsc::channel(UNREAD_PROGRESS);
    let tool = entry.tool.clone();
    let mut answer = house.call(&there.cleared, &tool, &there.sent, progress);
    let mut next = Instant::now();
    let mut untold: Option<Progress> = None;
    loop {
        tokio::select! {
            biased;
            answered = &mut answer => return answered,
            Some(step) = steps.recv() => untold = Some(step),
            () = tokio::time::sleep_until(next), if untold.is_some() => {
                let progress = untold.take().map(|step| wire::Progress {
                    progress: step.progress,
                    total: step.total,
                    message: step.message,
                });
                entry.state = CallState::Running { progress };
                house.progress(entry);
                next = Instant::now() + PROGRESS;
            }
        }
    }
}

/// A result as the wire has it.
pub fn outcome(result: CallResult, elapsed_ms: u64) -> CallOutcome {
    let CallResult { is_error, content, structured, bytes, for_model: _ } = result;
    CallOutcome { is_error, content: content.into_iter().map(block).collect(), structured, bytes, elapsed_ms }
}

fn block(block: Block) -> wire::Block {
    match block {
        Block::Text { text } => wire::Block::Text { text },
        Block::Image { mime, data, width, height } => wire::Block::Image { mime: mime.into(), data, width, height },
        Block::Audio { mime, bytes } => wire::Block::Audio { mime, bytes },
        Block::ResourceLink { uri, name, mime } => wire::Block::ResourceLink { uri, name, mime },
        Block::Resource { uri, mime, text } => wire::Block::Resource { uri, mime, text },
        Block::Other { what } => wire::Block::Other { what },
    }
}

#[cfg(test)]
mod tests;
