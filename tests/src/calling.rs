//! A conversation with one server that writes down what it got, and what is asked and told about its calls.

use std::path::{Path, PathBuf};

use mework_engine::wire::{Block, CallEntry, CallOutcome, CallState, Card, Entry, EntryBody, Event, ServerStatus};
use serde_json::{Value, json};

use crate::engine::{Home, Window, id, program};

/// A conversation with one ticked server of the person's own file.
pub struct Calling {
    pub home: Home,
    pub window: Window,
    pub conversation: String,
    pub server: String,
    /// Every message the server got.
    pub log: PathBuf,
}

impl Calling {
    pub async fn new(flags: &[&str]) -> Self {
        Self::with(flags, json!({})).await
    }
    pub async fn with(flags: &[&str], more: Value) -> Self {
        let home = Home::new();
        let log = home.folder("logs").join("fake.log");
        let file = home.global(json!({ "fake": Self::entry(&log, flags, &more) }));
        let window = home.window().await;
        let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
        window.ok("conversation.open", json!({ "id": conversation })).await;
        let server = id(&file, "fake");
        window.ok("server.tick", json!({ "conversation": conversation, "server": server, "ticked": true })).await;
        Self { home, window, conversation, server, log }
    }
    pub fn entry(log: &Path, flags: &[&str], more: &Value) -> Value {
        let mut args = vec![format!("--log={}", log.display())];
        args.extend(flags.iter().map(|flag| flag.to_string()));
        let mut entry = json!({ "command": program("fake-server"), "args": args });
        entry.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        entry
    }
    pub async fn connected(&mut self) {
        self.window
            .wait(|event| match event {
                Event::ServerStatus { status: ServerStatus::Connected(_), .. } => Some(()),
                Event::ServerStatus { status: ServerStatus::Failed(failure), .. } => panic!("{failure:?}"),
                _ => None,
            })
            .await;
    }
    pub async fn level(&self, level: &str) {
        self.window.ok("conversation.set_level", json!({ "id": self.conversation, "level": level })).await;
    }
    pub async fn start(&self, tool: &str, arguments: &str) -> String {
        self.window.id("call.start", self.params(tool, arguments)).await
    }
    pub fn params(&self, tool: &str, arguments: &str) -> Value {
        json!({ "conversation": self.conversation, "server": self.server, "tool": tool, "arguments": arguments })
    }
    /// The next state of this call that `pick` wants.
    pub async fn until<T>(&mut self, entry: &str, mut pick: impl FnMut(&CallEntry) -> Option<T>) -> T {
        self.window
            .wait(|event| match event {
                Event::Entry { entry: found, .. } if found.id == entry => match &found.body {
                    EntryBody::Call(call) => pick(call),
                    EntryBody::Notice { .. } => None,
                },
                _ => None,
            })
            .await
    }
    pub async fn ended(&mut self, entry: &str) -> CallEntry {
        self.until(entry, |call| call.ended_at.map(|_| call.clone())).await
    }
    pub async fn waiting(&mut self, entry: &str) -> String {
        self.until(entry, |call| match &call.state {
            CallState::Waiting { card } => Some(card.clone()),
            state if call.ended_at.is_some() => panic!("it ended instead of asking: {state:?}"),
            _ => None,
        })
        .await
    }
    pub async fn running(&mut self, entry: &str) {
        self.until(entry, |call| matches!(call.state, CallState::Running { .. }).then_some(())).await
    }
    pub async fn cards(&self) -> Vec<Card> {
        serde_json::from_value(self.window.ok("snapshot", json!({})).await["cards"].clone()).expect("cards")
    }
    pub async fn answer(&self, card: &str, allow: bool) -> bool {
        let reply = self.window.ok("card.answer", json!({ "card": card, "allow": allow, "reason": "because" })).await;
        reply["was_waiting"].as_bool().expect("whether it waited")
    }
    /// What the server was sent, by method.
    pub fn sent(&self, what: &str) -> usize {
        std::fs::read_to_string(&self.log).unwrap_or_default().lines().filter(|line| line.contains(what)).count()
    }
    pub async fn transcript(&self) -> Vec<Entry> {
        let open = self.window.ok("conversation.open", json!({ "id": self.conversation })).await;
        serde_json::from_value(open["transcript"].clone()).expect("a transcript")
    }
}

/// The text of a result that is one.
pub fn text(outcome: &CallState) -> String {
    match outcome {
        CallState::Done(CallOutcome { content, .. }) => match &content[0] {
            Block::Text { text } => text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}
