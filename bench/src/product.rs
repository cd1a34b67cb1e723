//! The product: the engine through its wire, as a window uses it, and `mework serve` as a process of its own, whose memory is
//! nobody else's.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mework_engine::engine::{Engine, Headless};
use mework_engine::machine::Surroundings;
use mework_engine::machine::environment::Environment;
use mework_engine::machine::process::SUPERVISE_FLAG;
use mework_engine::wire::{CallState, EntryBody, Event, ServerStatus};
use mework_tests::engine::{Home, Window, id};
use mework_tests::programs::{self, PATIENCE, Running, command, mework};
use serde_json::{Map, Value, json};

/// What an engine in this process is told of the world: its servers are supervised by the program that people run.
pub fn surroundings(home: &Home) -> Surroundings {
    Surroundings {
        home: home.path(),
        data: home.data(),
        environment: Environment::of_process(),
        supervisor: vec![mework().into(), SUPERVISE_FLAG.into()],
    }
}

async fn open(home: &Home) -> Window {
    Window::on(Engine::open(surroundings(home), Arc::new(Headless), "the bench").await.expect("an engine"))
}

/// `count` entries of the same kind, by name.
pub fn several(count: usize, entry: &Value) -> Map<String, Value> {
    (0..count).map(|n| (format!("server-{n}"), entry.clone())).collect()
}

/// A conversation with ticked servers, in which nothing asks.
pub struct Conversation {
    home: Home,
    id: String,
    servers: Vec<String>,
}

impl Conversation {
    /// Those in `silent` are ticked too, and never waited for.
    pub async fn with(entries: Map<String, Value>, silent: &[&str]) -> Self {
        let home = Home::new();
        let names: Vec<String> = entries.keys().cloned().collect();
        let file = home.global(Value::Object(entries));
        let mut window = open(&home).await;
        let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
        window.ok("conversation.set_level", json!({ "id": conversation, "level": "full_access" })).await;
        window.ok("conversation.open", json!({ "id": conversation })).await;
        for name in &names {
            window.ok("server.tick", json!({ "conversation": conversation, "server": id(&file, name), "ticked": true })).await;
        }
        let servers = names.iter().filter(|name| !silent.contains(&name.as_str())).map(|name| id(&file, name)).collect();
        let this = Self { home, id: conversation, servers };
        this.until_connected(&mut window).await;
        window.engine.shutdown().await;
        this
    }

    /// A fresh engine with the conversation open and nothing connected.
    pub async fn open(&self) -> Window {
        let window = open(&self.home).await;
        window.ok("conversation.open", json!({ "id": self.id })).await;
        window
    }

    /// What the cursor in the composer does, until every server's badge says that it is connected.
    pub async fn connect(&self, window: &mut Window) -> Duration {
        let begun = Instant::now();
        window.ok("conversation.warm", json!({ "id": self.id })).await;
        self.until_connected(window).await;
        begun.elapsed()
    }

    async fn until_connected(&self, window: &mut Window) {
        let mut waiting: BTreeSet<&str> = self.servers.iter().map(String::as_str).collect();
        let is_connected = |status: &ServerStatus| match status {
            ServerStatus::Connected(_) => true,
            ServerStatus::Failed(failure) => panic!("a server could not be connected: {failure:?}"),
            _ => false,
        };
        while !waiting.is_empty() {
            match window.next().await {
                Event::ServerStatus { server, status, .. } if is_connected(&status) => _ = waiting.remove(server.as_str()),
                Event::Servers { servers, .. } => {
                    let rows = servers.sections.iter().flat_map(|section| &section.rows);
                    rows.filter(|row| is_connected(&row.status)).for_each(|row| _ = waiting.remove(row.id.as_str()));
                }
                _ => {}
            }
        }
    }

    /// One call by the whole road, until the windows are told its end.
    pub async fn call(&self, window: &mut Window, server: usize, tool: &str, arguments: &str) -> Duration {
        let begun = Instant::now();
        let call = json!({ "conversation": self.id, "server": self.servers[server], "tool": tool, "arguments": arguments });
        let own = window.id("call.start", call).await;
        loop {
            let Event::Entry { entry, .. } = window.next().await else { continue };
            let EntryBody::Call(call) = &entry.body else { continue };
            match &call.state {
                CallState::Done(_) if entry.id == own => return begun.elapsed(),
                CallState::Connecting | CallState::Waiting { .. } | CallState::Running { .. } | CallState::Done(_) => {}
                other => panic!("a call came to nothing: {other:?}"),
            }
        }
    }

    /// Other entries in the file from here on.
    pub fn declare(&self, entries: Map<String, Value>) {
        self.home.global(Value::Object(entries));
    }

    /// The conversation as a window reads it whole.
    pub async fn read(&self, window: &Window) -> Duration {
        let begun = Instant::now();
        window.ok("conversation.open", json!({ "id": self.id })).await;
        begun.elapsed()
    }
}

/// `mework serve` on a home of its own.
pub struct Served {
    running: Running,
    origin: String,
    cookie: String,
    client: reqwest::Client,
    file: std::path::PathBuf,
    _home: programs::Home,
}

impl Served {
    pub async fn start(entries: Map<String, Value>) -> Self {
        let home = programs::Home::empty();
        home.declare(Value::Object(entries));
        let mut serve = command(mework());
        let mut running =
            Running::start(serve.arg("serve").envs(home.environment()).stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut lines = BufReader::new(running.0.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a line").expect("a line");
        let address = line.rsplit(' ').next().expect("its address").to_owned();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        let client = client.expect("an HTTP client");
        let signed_in = client.get(&address).send().await.expect("an answer");
        let cookie = signed_in.headers().get("set-cookie").and_then(|value| value.to_str().ok()).expect("a cookie");
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let origin = address.split("/?").next().unwrap_or_default().to_owned();
        Self { running, origin, cookie, client, file: home.global_file(), _home: home }
    }

    pub fn pid(&self) -> i32 {
        self.running.0.id() as i32
    }

    pub fn server(&self, name: &str) -> String {
        id(&self.file, name)
    }

    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        let request = self
            .client
            .post(format!("{}/rpc", self.origin))
            .header("origin", &self.origin)
            .header("cookie", &self.cookie)
            .json(&json!({ "id": id, "method": method, "params": params }));
        let mut reply: Value = request.send().await.expect("an answer").json().await.expect("JSON");
        assert!(reply["error"].is_null(), "{method} was answered with {reply}");
        reply["ok"].take()
    }

    /// A conversation in which nothing asks.
    pub async fn conversation(&self) -> String {
        let created = self.rpc("conversation.create", json!({ "workspaces": [] })).await;
        let id = created["id"].as_str().expect("an id").to_owned();
        self.rpc("conversation.set_level", json!({ "id": id, "level": "full_access" })).await;
        id
    }

    /// Ticks servers and waits until as many are connected as are ticked then.
    pub async fn tick(&self, conversation: &str, names: &[String]) {
        for name in names {
            let tick = json!({ "conversation": conversation, "server": self.server(name), "ticked": true });
            self.rpc("server.tick", tick).await;
        }
        self.until(conversation, "the servers to be connected", |shown| {
            let rows = shown["servers"]["sections"].as_array().into_iter().flatten();
            let rows = rows.flat_map(|section| section["rows"].as_array().into_iter().flatten());
            rows.filter(|row| row["ticked"] == true).all(|row| row["status"]["kind"] == "connected")
        })
        .await;
    }

    /// Calls a tool and answers with how the call ended.
    pub async fn call(&self, conversation: &str, name: &str, tool: &str) -> String {
        let call = json!({ "conversation": conversation, "server": self.server(name), "tool": tool, "arguments": "{}" });
        let own = self.rpc("call.start", call).await["id"].clone();
        let mut ended = String::new();
        self.until(conversation, "the call to end", |shown| {
            let entries = shown["transcript"].as_array().into_iter().flatten();
            let Some(entry) = entries.into_iter().find(|entry| entry["id"] == own) else { return false };
            ended = entry["body"]["state"]["kind"].as_str().unwrap_or_default().to_owned();
            !matches!(ended.as_str(), "connecting" | "waiting" | "running")
        })
        .await;
        ended
    }

    async fn until(&self, conversation: &str, what: &str, mut look: impl FnMut(&Value) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            let shown = self.rpc("conversation.open", json!({ "id": conversation })).await;
            if look(&shown) {
                return;
            }
            assert!(Instant::now() < until, "waited for {what}: {shown:#}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
