//! A home folder of its own, and windows on an engine in it: everything goes through the wire, as a real window's requests do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mework_engine::api::{Request, dispatch};
use mework_engine::engine::{Engine, Headless, Host, Subscription};
use mework_engine::error::Error;
use mework_engine::machine::Surroundings;
use mework_engine::machine::environment::Environment;
use mework_engine::machine::process::SUPERVISE_FLAG;
use mework_engine::wire::{CallState, EntryBody, Envelope, Event};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Nothing a test waits for takes this long on a machine that works.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A program of this package or of the workspace, built beside the running test.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the running test");
    let folder = test.parent().and_then(Path::parent).expect("target/debug");
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// A home folder, deleted at the end.
pub struct Home {
    dir: TempDir,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    pub fn new() -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("home")).expect("a home folder");
        Self { dir }
    }
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }
    /// A folder beside the home folder.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }
    /// Writes `{"mcpServers": servers}` into the folder's `mcp.json` and answers with the file's path.
    pub fn declare(&self, folder: &Path, servers: Value) -> PathBuf {
        let file = folder.join(".mework").join("mcp.json");
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("the .mework folder");
        std::fs::write(&file, serde_json::to_vec_pretty(&json!({ "mcpServers": servers })).expect("JSON")).expect("the file");
        file
    }
    pub fn global(&self, servers: Value) -> PathBuf {
        self.declare(&self.path(), servers)
    }
    pub fn surroundings(&self) -> Surroundings {
        Surroundings {
            home: self.path(),
            data: self.data(),
            environment: Environment::of_process(),
            supervisor: vec![program("test-supervisor").into(), SUPERVISE_FLAG.into()],
        }
    }
    pub async fn engine(&self, client: &str) -> Arc<Engine> {
        self.engine_in(client, Arc::new(Headless)).await
    }
    pub async fn engine_in(&self, client: &str, host: Arc<dyn Host>) -> Arc<Engine> {
        Engine::open(self.surroundings(), host, client).await.expect("an engine")
    }
    pub async fn window(&self) -> Window {
        Window::on(self.engine("the window").await)
    }
}

/// The id of a native server of this computer.
pub fn id(file: &Path, name: &str) -> String {
    format!("native:local:{}#{name}", file.display())
}

/// One client of an engine: sends requests, hears events.
pub struct Window {
    pub engine: Arc<Engine>,
    events: Subscription,
}

static REQUESTS: AtomicU64 = AtomicU64::new(0);

impl Window {
    pub fn on(engine: Arc<Engine>) -> Self {
        Self { events: engine.subscribe(), engine }
    }
    pub async fn rpc(&self, method: &str, params: Value) -> Result<Value, Error> {
        let id = Some(format!("r{}", REQUESTS.fetch_add(1, Ordering::Relaxed)));
        let request = Request { id, method: method.into(), params };
        tokio::time::timeout(PATIENCE, dispatch(&self.engine, request))
            .await
            .unwrap_or_else(|_| panic!("{method} never answered"))
    }
    /// A request that must work.
    #[track_caller]
    pub fn ok(&self, method: &str, params: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move { self.rpc(method, params).await.unwrap_or_else(|e| panic!("{method} at {caller}: {e:?}")) }
    }
    /// A request that answers with an id.
    #[track_caller]
    pub fn id(&self, method: &str, params: Value) -> impl Future<Output = String> {
        let answer = self.ok(method, params);
        async move { answer.await["id"].as_str().expect("an id").to_owned() }
    }
    /// The next event, whatever it is.
    pub async fn next(&mut self) -> Event {
        match tokio::time::timeout(PATIENCE, self.events.next()).await {
            Ok(Some(Envelope::Event { event, .. })) => event,
            other => panic!("no event came: {other:?}"),
        }
    }
    /// The next event for which `pick` finds something; those before it are skipped.
    pub async fn wait<T>(&mut self, mut pick: impl FnMut(Event) -> Option<T>) -> T {
        loop {
            if let Some(found) = pick(self.next().await) {
                return found;
            }
        }
    }
    /// Calls a tool, allows it on the card, which shows the arguments as they were given, and waits for its end.
    pub async fn call(&mut self, conversation: &str, server: &str, tool: &str, arguments: &Value) -> CallState {
        let arguments = arguments.to_string();
        let call = json!({ "conversation": conversation, "server": server, "tool": tool, "arguments": arguments });
        let entry = self.id("call.start", call).await;
        loop {
            match self.next().await {
                Event::Cards { cards } => {
                    if let Some(card) = cards.into_iter().find(|card| card.entry == entry) {
                        assert_eq!((card.tool.as_str(), card.arguments.as_str()), (tool, arguments.as_str()));
                        self.ok("card.answer", json!({ "card": card.id, "allow": true })).await;
                    }
                }
                Event::Entry { entry: changed, .. } if changed.id == entry => match changed.body {
                    EntryBody::Call(call) => match call.state {
                        CallState::Connecting | CallState::Waiting { .. } | CallState::Running { .. } => {}
                        over => return over,
                    },
                    EntryBody::Notice { .. } => {}
                },
                _ => {}
            }
        }
    }
    /// Every event that was sent until now. A request whose event is known marks the place.
    pub async fn so_far(&mut self) -> Vec<Event> {
        let review = self.ok("snapshot", json!({})).await["settings"]["review"].as_str().expect("a setting").to_owned();
        let other = if review == "never" { "always" } else { "never" };
        self.ok("settings.set", json!({ "settings": { "review": other } })).await;
        self.ok("settings.set", json!({ "settings": { "review": review } })).await;
        let mut events = Vec::new();
        let mut marks = 0;
        while marks < 2 {
            match self.next().await {
                Event::Settings { .. } => marks += 1,
                event if marks == 0 => events.push(event),
                _ => {}
            }
        }
        events
    }
    pub async fn nothing_happened(&mut self) {
        assert_eq!(self.so_far().await, []);
    }
}
