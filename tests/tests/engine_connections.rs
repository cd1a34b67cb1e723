//! Who is started when, and what windows are told of it: ticks, tests, warming, changed entries, logs.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use mework_engine::engine::{Answer, Asker, CallArguments, CallOnce, Engine};
use mework_engine::error::ErrorCode;
use mework_engine::wire::{CallEntry, CallState, Card, EntryBody, Event, ServerStatus};
use mework_tests::engine::{Home, Window, id, program};
use serde_json::{Value, json};

/// A server that writes every message it gets into `log`.
fn fake(log: &Path, flags: &[&str]) -> Value {
    let mut args = vec![format!("--log={}", log.display())];
    args.extend(flags.iter().map(|flag| flag.to_string()));
    json!({ "command": program("fake-server"), "args": args })
}

fn lines(log: &Path, what: &str) -> usize {
    std::fs::read_to_string(log).unwrap_or_default().lines().filter(|line| line.contains(what)).count()
}

fn status(event: Event) -> Option<ServerStatus> {
    match event {
        Event::ServerStatus { status, .. } => Some(status),
        _ => None,
    }
}

struct Opened {
    home: Home,
    window: Window,
    conversation: String,
    log: PathBuf,
    server: String,
}

impl Opened {
    /// One global server `fake`, unticked.
    async fn new(flags: &[&str]) -> Self {
        let home = Home::new();
        let log = home.folder("logs").join("fake.log");
        let file = home.global(json!({ "fake": fake(&log, flags) }));
        let window = home.window().await;
        let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
        window.ok("conversation.open", json!({ "id": conversation })).await;
        Self { home, window, conversation, log, server: id(&file, "fake") }
    }
    async fn tick(&self, ticked: bool) -> Value {
        let params = json!({ "conversation": self.conversation, "server": self.server, "ticked": ticked });
        self.window.ok("server.tick", params).await
    }
    async fn row(&self) -> Value {
        let open = self.window.ok("conversation.open", json!({ "id": self.conversation })).await;
        open["servers"]["sections"][0]["rows"][0].clone()
    }
}

/// Living processes that were given this file to write to.
fn running(log: &Path) -> usize {
    let log = log.as_os_str().as_encoded_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let told = |process: std::fs::DirEntry| std::fs::read(process.path().join("cmdline")).unwrap_or_default();
    processes.map(told).filter(|words| words.split(|byte| *byte == 0).any(|word| word.ends_with(log))).count()
}

/// B20b: looking starts nothing, ticking starts in the background, unticking ends it; each badge is told once, in order.
#[tokio::test]
async fn b20b_ticking_starts_and_unticking_ends() {
    let mut o = Opened::new(&[]).await;
    o.window.so_far().await;
    o.tick(true).await;
    assert!(matches!(o.window.next().await, Event::Servers { .. }));
    assert!(matches!(o.window.wait(status).await, ServerStatus::Connecting { .. }));
    let ServerStatus::Connected(connected) = o.window.wait(status).await else { panic!() };
    assert_eq!(
        (connected.tools, connected.server_name.as_str(), connected.server_version.as_str(), connected.protocol.as_str()),
        (12, "fake", "1.2.3", "2025-11-25")
    );
    let tools = o.window.ok("tools.list", json!({ "id": o.conversation })).await;
    assert_eq!(tools["tools"].as_array().unwrap().len(), 12);
    assert_eq!((&tools["tools"][0]["name"], &tools["tools"][0]["server"]), (&json!("echo"), &json!(o.server)));
    assert!(tools["tools"][0]["model_name"].as_str().unwrap().starts_with("mcp__fake_"));

    assert_eq!(running(&o.log), 1);

    o.tick(false).await;
    assert_eq!(lines(&o.log, "end of input"), 1, "it is gone when the untick is answered");
    assert_eq!(o.row().await["status"], json!({ "kind": "idle" }));
    assert_eq!(o.window.ok("tools.list", json!({ "id": o.conversation })).await["tools"], json!([]));

    o.tick(true).await;
    o.window.engine.shutdown().await;
    assert_eq!(running(&o.log), 0, "nothing outlives the engine, not even a server that was only just starting");
    let Opened { home, window, conversation, log, .. } = o;
    drop(window);
    // After a restart: opening starts nothing, the cursor in the composer does.
    let before = lines(&log, "started");
    let mut window = home.window().await;
    window.ok("conversation.open", json!({ "id": conversation })).await;
    window.ok("level.rescan", json!({ "id": conversation })).await;
    window.nothing_happened().await;
    assert_eq!(lines(&log, "started"), before);
    window.ok("conversation.warm", json!({ "id": conversation })).await;
    while !matches!(window.wait(status).await, ServerStatus::Connected(_)) {}
    assert_eq!(lines(&log, "started"), before + 1);
}

/// B24: a server that is ticked again while it still ends is started when nothing is left of it, and its badge is the new one's.
#[tokio::test]
async fn b24_ticked_again_while_it_still_ends() {
    let mut o = Opened::new(&["--deaf"]).await;
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    o.window.so_far().await;
    let again = async {
        while o.row().await["ticked"] == true {}
        o.tick(true).await;
        assert_eq!(running(&o.log), 1, "the old one still runs, and no other yet");
    };
    tokio::join!(o.tick(false), again);
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    assert_eq!((running(&o.log), lines(&o.log, "started")), (1, 2));
    assert_eq!(o.row().await["status"]["kind"], "connected");
}

/// Row 1: a changed entry of a ticked server is not started, whichever part of it changed, until it was seen; only then.
#[tokio::test]
async fn row_1_a_changed_entry_is_not_started() {
    let mut o = Opened::new(&[]).await;
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    let changed = o.home.folder("logs").join("changed.log");
    let entry = fake(&changed, &[]);
    let mut with_env = fake(&changed, &[]);
    with_env["env"] = json!({ "A": "1" });
    let mut with_cwd = fake(&changed, &[]);
    with_cwd["cwd"] = json!("/");
    for entry in [entry.clone(), with_env, with_cwd] {
        o.home.global(json!({ "fake": entry }));
        o.window.ok("conversation.warm", json!({ "id": o.conversation })).await;
        let call = json!({ "conversation": o.conversation, "server": o.server, "tool": "echo", "arguments": "{}" });
        assert_eq!(o.window.rpc("call.start", call).await.unwrap_err().code, ErrorCode::NeedsConsent);
        let reconnect = json!({ "conversation": o.conversation, "server": o.server });
        assert_eq!(o.window.rpc("server.reconnect", reconnect).await.unwrap_err().code, ErrorCode::NeedsConsent);
        let test = o.window.ok("server.test", json!({ "conversation": o.conversation, "server": o.server })).await;
        assert!(!test["needs"]["old"].is_null(), "a test counts as a start");
        let row = o.row().await;
        assert_eq!((&row["consent"], &row["status"]), (&json!("changed"), &json!({ "kind": "idle" })));
        assert!(!changed.exists(), "nothing of it ran");
    }
    o.home.global(json!({ "fake": entry }));
    let digest = o.tick(true).await["needs"]["digest"].clone();
    let agreed = json!({ "conversation": o.conversation, "server": o.server, "ticked": true, "digest": digest });
    assert_eq!(o.window.ok("server.tick", agreed).await, json!({}));
    while !changed.exists() {
        o.window.wait(status).await;
    }
    // The old one went when the new one came.
    while lines(&o.log, "end of input") == 0 {
        tokio::task::yield_now().await;
    }
}

/// Row 2: opening a repository, listing, rescanning, switching and warming start nothing and connect to nothing.
#[tokio::test]
async fn row_2_an_untrusted_repository_is_only_read() {
    let home = Home::new();
    let canary = home.folder("canary");
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let folder = home.folder("repository");
    let touch = canary.join("touched");
    let url = format!("http://{}/", port.local_addr().unwrap());
    home.declare(
        &folder,
        json!({
            "direct": { "command": "touch", "args": [touch] },
            "shell": { "command": "sh", "args": ["-c", format!("touch {}", touch.display())], "autoApprove": ["*"] },
            "web": { "type": "http", "url": url, "headers": { "X": "${PATH}" } },
        }),
    );
    let mut window = home.window().await;
    let workspace = window.id("workspace.add", json!({ "path": folder })).await;
    for _ in 0..2 {
        let conversation = window.id("conversation.create", json!({ "workspaces": [workspace] })).await;
        let open = window.ok("conversation.open", json!({ "id": conversation })).await;
        let rows = open["servers"]["sections"][1]["rows"].as_array().unwrap().clone();
        assert_eq!(rows.len(), 3);
        window.ok("level.rescan", json!({ "id": conversation })).await;
        window.ok("conversation.warm", json!({ "id": conversation })).await;
        for row in rows {
            let server = &row["id"];
            window.ok("server.review", json!({ "conversation": conversation, "server": server })).await;
            let tick = window.ok("server.tick", json!({ "conversation": conversation, "server": server, "ticked": true })).await;
            let test = window.ok("server.test", json!({ "conversation": conversation, "server": server })).await;
            assert!(!tick["needs"].is_null() && !test["needs"].is_null(), "{row}");
        }
        window.ok("conversation.warm", json!({ "id": conversation })).await;
    }
    window.so_far().await;
    window.engine.shutdown().await;
    assert!(!touch.exists());
    let knock = std::future::poll_fn(|context| match port.poll_accept(context) {
        std::task::Poll::Ready(_) => std::task::Poll::Ready(true),
        std::task::Poll::Pending => std::task::Poll::Ready(false),
    });
    assert!(!knock.await, "nobody knocked");
}

/// B15: a test's stages come one by one, then its badge; a failing one says why, with the server's last words.
#[tokio::test]
async fn b15_test_connection_tells_its_stages_and_its_end() {
    let mut o = Opened::new(&["--stderr=hello"]).await;
    o.window.so_far().await;
    let test = json!({ "conversation": o.conversation, "server": o.server });
    assert_eq!(o.window.ok("server.test", test.clone()).await, json!({}));
    let mut told = vec![];
    let end = loop {
        match o.window.next().await {
            Event::Servers { .. } => told.push("consent".to_owned()),
            Event::ServerStatus { status: ServerStatus::Testing, .. } => told.push("testing".into()),
            Event::ServerStatus { status, .. } => break status,
            Event::TestStage { stage, .. } => told.push(format!("{} {}", json!(stage.stage).as_str().unwrap(), stage.ok)),
            Event::ServerLog { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(told, ["consent", "config true", "program true", "start true", "handshake true", "list true"]);
    let ServerStatus::Connected(connected) = &end else { panic!("{end:?}") };
    assert_eq!(connected.tools, 12);
    assert_eq!(o.row().await["status"]["kind"], json!("connected"), "kept until the entry changes");
    assert_eq!(o.row().await["ticked"], json!(false));

    let dead = o.home.global(json!({ "fake": fake(&o.log, &["--stderr=no such file", "--exit=3"]) }));
    let review = json!({ "conversation": o.conversation, "server": o.server });
    let digest = o.window.ok("server.review", review).await["digest"].clone();
    assert_eq!(o.row().await["status"], json!({ "kind": "idle" }), "another entry, nothing known of it");
    let mut agreed = test.clone();
    agreed["digest"] = digest;
    assert_eq!(o.window.ok("server.test", agreed).await, json!({}));
    let failure = o
        .window
        .wait(|event| match status(event) {
            Some(ServerStatus::Failed(failure)) => Some(failure),
            _ => None,
        })
        .await;
    assert_eq!((failure.exit_code, failure.stderr.as_slice()), (Some(3), ["no such file".to_owned()].as_slice()));
    assert!(dead.exists());
    let log = o.window.ok("server.log", json!({ "id": o.server })).await;
    let lines: Vec<&str> = log["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert!(lines.contains(&"hello") && lines.contains(&"no such file"), "{lines:?}");
}

/// B45: a secret of the entry shows in no log, no badge and no failure.
#[tokio::test]
async fn b45_secrets_are_scrubbed_from_what_is_shown() {
    let secret = "hunter2-hunter2";
    let mut o = Opened::new(&[]).await;
    let mut entry = fake(&o.log, &[&format!("--stderr=my token is {secret}"), "--exit=1"]);
    entry["env"] = json!({ "API_TOKEN": secret });
    o.home.global(json!({ "fake": entry }));
    o.tick(true).await;
    let failure = o
        .window
        .wait(|event| {
            assert!(!serde_json::to_string(&event).unwrap().contains(secret) || matches!(event, Event::Servers { .. }));
            match status(event) {
                Some(ServerStatus::Failed(failure)) => Some(failure),
                _ => None,
            }
        })
        .await;
    assert_eq!(failure.stderr, ["my token is •••"]);
    let log = o.window.ok("server.log", json!({ "id": o.server })).await.to_string();
    assert!(log.contains("my token is •••") && !log.contains(secret), "{log}");
}

/// B45: what a person sends and gets is never scrubbed, also where it holds a secret of the server's; the card, which
/// [`Window::call`] compares, shows it whole too.
#[tokio::test]
async fn b45_arguments_and_results_stay_whole() {
    let secret = "hunter2-hunter2";
    let mut o = Opened::new(&[]).await;
    let mut entry = fake(&o.log, &[]);
    entry["env"] = json!({ "API_TOKEN": secret });
    o.home.global(json!({ "fake": entry }));
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    let arguments = json!({ "key": secret });
    let state = o.window.call(&o.conversation, &o.server, "echo", &arguments).await;
    let CallState::Done(outcome) = state else { panic!("{state:?}") };
    assert_eq!(json!(outcome.content[0])["text"], json!(arguments.to_string()));
    let open = o.window.ok("conversation.open", json!({ "id": o.conversation })).await;
    let kept = open["transcript"].as_array().unwrap().iter().find(|entry| entry["body"]["tool"] == "echo").unwrap();
    assert_eq!(kept["body"]["arguments"], json!(arguments.to_string()));
    assert_eq!(kept["body"]["state"]["content"][0]["text"], json!(arguments.to_string()));
}

/// Row 16: a secret that a server puts into what it says of its tools is not in what is kept of them.
#[tokio::test]
async fn row_16_a_kept_definition_holds_no_secret() {
    let secret = "hunter2-hunter2";
    let mut o = Opened::new(&[]).await;
    let words = json!({ "name": "told", "title": secret, "description": secret,
        "inputSchema": { "type": "object", "properties": { "key": { "type": "string", "default": secret } } } });
    let mut entry = fake(&o.log, &[&format!("--name={secret}"), &format!("--tool={words}"), &format!("--stderr={secret}")]);
    entry["env"] = json!({ "API_TOKEN": secret });
    o.home.global(json!({ "fake": entry }));
    o.tick(true).await;
    let ServerStatus::Connected(connected) =
        o.window.wait(|event| status(event).filter(|status| matches!(status, ServerStatus::Connected(_)))).await
    else {
        panic!()
    };
    assert_eq!(connected.server_name, "•••");
    let db = rusqlite::Connection::open(o.home.data().join("mework.db")).unwrap();
    let kept = || db.query_row("SELECT definition FROM seen_tools WHERE tool = 'told'", [], |row| row.get::<_, String>(0));
    mework_tests::eventually("it was not kept", || kept().is_ok()).await;
    let kept = kept().unwrap();
    assert!(kept.contains("•••") && !kept.contains(secret), "{kept}");
}

/// Row 6: a definition that changed since it was last listed is named in the conversation; once asked, always asked.
#[tokio::test]
async fn row_6_tools_that_changed_are_named_and_strictness_stays() {
    let mut o = Opened::new(&["--flips"]).await;
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    let call = json!({ "conversation": o.conversation, "server": o.server, "tool": "echo", "arguments": "{}" });
    let entry = o.window.id("call.start", call.clone()).await;
    o.window.wait(|event| matches!(event, Event::Cards { .. }).then_some(())).await;
    o.window.ok("call.stop", json!({ "conversation": o.conversation, "entry": entry })).await;
    // A fresh start of a server that counts its listings would begin again: let it forget by listing twice.
    let flipped = o.home.global(json!({ "fake": fake(&o.log, &["--flips", "--changes"]) }));
    let digest = o.tick(true).await["needs"]["digest"].clone();
    let agreed = json!({ "conversation": o.conversation, "server": id(&flipped, "fake"), "ticked": true, "digest": digest });
    o.window.ok("server.tick", agreed).await;
    o.window.ok("conversation.set_level", json!({ "id": o.conversation, "level": "full_access" })).await;
    let after = json!({ "conversation": o.conversation, "server": o.server, "tool": "after", "arguments": "{}" });
    let after = o.window.id("call.start", after).await;
    // The call's end, and what the tools look like after it, in whichever order.
    let (mut ended, mut told) = (false, None);
    while !ended || told.is_none() {
        let Event::Entry { entry, .. } = o.window.next().await else { continue };
        match entry.body {
            EntryBody::Call(call) if entry.id == after => ended |= matches!(call.state, CallState::Done(_)),
            EntryBody::Call(_) => {}
            EntryBody::Notice { text, diff } => told = Some((text, diff)),
        }
    }
    let (notice, diff) = told.unwrap();
    assert!(notice.contains("`echo`") && !notice.contains("`after`"), "{notice}");
    let lines: Vec<_> = diff.iter().map(|line| (line.old.as_deref(), line.new.as_deref(), line.changed)).collect();
    // That it needs a person is no difference: it still does.
    let (old, new) = (r#"    "Listing 0""#, r#"    "Listing 1""#);
    assert_eq!(lines, [(Some("echo"), Some("echo"), false), (Some(old), Some(new), true)]);
    // It no longer says that it needs a person. It did once.
    o.window.id("call.start", call).await;
    let cards = o
        .window
        .wait(|event| match event {
            Event::Cards { cards } if !cards.is_empty() => Some(cards),
            _ => None,
        })
        .await;
    assert_eq!((cards[0].tool.as_str(), json!(cards[0].why)), ("echo", json!("server_requires")));
}

/// The arguments of a call are checked against the tool's schema, at their place; nothing is called.
#[tokio::test]
async fn arguments_are_checked_at_their_place() {
    let tool =
        r#"--tool={"name":"typed","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;
    let mut o = Opened::new(&[tool]).await;
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    let check = async |arguments: &str| {
        let params = json!({ "conversation": o.conversation, "server": o.server, "tool": "typed", "arguments": arguments });
        o.window.ok("arguments.check", params).await["problems"].clone()
    };
    assert_eq!(check("{\"n\": 1}").await, json!([]));
    assert_eq!(check("{\"n\": \"x\"}").await[0]["pointer"], json!("/n"));
    let broken = check("{\"n\":\n }").await;
    assert_eq!((&broken[0]["line"], &broken[0]["column"]), (&json!(2), &json!(2)));
    let detail = o.window.ok("tools.get", json!({ "conversation": o.conversation, "server": o.server, "tool": "typed" })).await;
    assert_eq!(detail["input_schema"]["required"], json!(["n"]));
    assert_eq!(lines(&o.log, "tools/call"), 0);
}

/// The command line's person.
struct Terminal {
    allow: bool,
    seen: std::sync::Mutex<Vec<String>>,
}

impl Asker for Terminal {
    fn ask(&self, card: Card) -> BoxFuture<'_, Answer> {
        self.seen.lock().unwrap().push(format!("card {} {}", card.tool, card.arguments));
        let answer =
            Answer { allow: self.allow, by: "a person on the command line".into(), arguments: None, reason: Some("no".into()) };
        Box::pin(std::future::ready(answer))
    }
    fn state(&self, state: &CallState) {
        self.seen.lock().unwrap().push(serde_json::to_value(state).unwrap()["kind"].as_str().unwrap().into());
    }
}

async fn once(
    engine: &Engine,
    server: &str,
    tool: &str,
    allow: bool,
    digest: Option<String>,
) -> (Result<CallEntry, ErrorCode>, Vec<String>) {
    let terminal = Terminal { allow, seen: Default::default() };
    let arguments = CallArguments::Pairs(vec![("a".into(), "1".into())]);
    let call = CallOnce { server: server.into(), tool: tool.into(), arguments, digest };
    let entry = engine.call_once(call, &terminal).await.map_err(|e| e.code);
    (entry, terminal.seen.into_inner().unwrap())
}

/// The command line's call takes the same road, in no conversation, while a window is open on the same folder.
#[tokio::test]
async fn one_call_of_the_command_line_takes_the_same_road() {
    let o = Opened::new(&[]).await;
    let folder = o.home.folder("project");
    let file = o.home.declare(&folder, json!({ "w": fake(&o.log, &[]) }));
    let server = id(&file, "w");
    let engine = o.home.engine("mework").await;
    assert_eq!(once(&engine, &server, "echo", true, None).await.0, Err(ErrorCode::NotFound), "not one of its workspaces");
    engine.bring_workspaces(vec![folder]);
    assert_eq!(once(&engine, &server, "echo", true, None).await.0, Err(ErrorCode::NeedsConsent));
    let view = engine.server_review(mework_engine::wire::ServerReview { conversation: None, server: server.clone() }).await;
    let digest = Some(view.unwrap().digest);
    let (entry, seen) = once(&engine, &server, "echo", true, digest).await;
    let entry = entry.unwrap();
    assert!(matches!(entry.state, CallState::Done(_)), "{:?}", entry.state);
    assert_eq!(entry.approval.unwrap().by, "a person on the command line");
    assert_eq!(seen, ["connecting", "waiting", "card echo {\"a\":1}", "running", "done"]);
    let (entry, seen) = once(&engine, &server, "echo", false, None).await;
    assert_eq!(entry.unwrap().state, CallState::Denied { reason: Some("no".into()) });
    assert_eq!(seen.last().unwrap(), "denied");
    engine.shutdown().await;
    assert_eq!(lines(&o.log, "request tools/call"), 1);
    let open = o.window.ok("conversation.open", json!({ "id": o.conversation })).await;
    assert_eq!(open["transcript"], json!([]));
}

/// B41: the second process sees the first one's calls as they go, and does not start anything of that conversation.
#[tokio::test]
async fn b41_another_process_sees_calls_but_starts_nothing() {
    let o = Opened::new(&[]).await;
    o.tick(true).await;
    let mut second = Window::on(o.home.engine("mework serve").await);
    second.ok("conversation.open", json!({ "id": o.conversation })).await;
    second.ok("conversation.warm", json!({ "id": o.conversation })).await;
    let call = json!({ "conversation": o.conversation, "server": o.server, "tool": "echo", "arguments": "{}" });
    assert_eq!(second.rpc("call.start", call.clone()).await.unwrap_err().code, ErrorCode::ReadOnly);
    o.window.ok("conversation.set_level", json!({ "id": o.conversation, "level": "full_access" })).await;
    let entry = o.window.id("call.start", call).await;
    let state = second
        .wait(|event| match event {
            Event::Entry { entry: found, .. } if found.id == entry => match found.body {
                EntryBody::Call(call) if call.ended_at.is_some() => Some(call.state),
                _ => None,
            },
            _ => None,
        })
        .await;
    assert!(matches!(state, CallState::Done(_)), "{state:?}");
    assert_eq!(lines(&o.log, "started"), 1);
}

/// B28: a global server that works in a workspace, in a conversation with two of them.
#[tokio::test]
async fn b28_each_call_goes_to_the_instance_of_its_workspace() {
    let own =
        r#"--tool={"name":"place_of_its_own","inputSchema":{"type":"object","properties":{"workspace":{"type":"string"}}}}"#;
    let mut o = Opened::new(&[own]).await;
    let mut entry = fake(&o.log, &[own]);
    entry["workspace"] = json!(true);
    entry["cwd"] = json!("/");
    o.home.global(json!({ "fake": entry }));
    let folders = [o.home.folder("one"), o.home.folder("two")];
    let mut ids = vec![];
    for folder in &folders {
        ids.push(o.window.id("workspace.add", json!({ "path": folder })).await);
    }
    o.window.ok("conversation.set_workspaces", json!({ "id": o.conversation, "workspaces": ids })).await;
    o.window.ok("conversation.set_level", json!({ "id": o.conversation, "level": "full_access" })).await;
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    let call = |tool: &str, arguments: &str| json!({ "conversation": o.conversation, "server": o.server, "tool": tool, "arguments": arguments });
    let detail = o.window.ok("tools.get", json!({ "conversation": o.conversation, "server": o.server, "tool": "place" })).await;
    assert_eq!(detail["input_schema"]["properties"]["workspace"]["maximum"], json!(2));
    let calls = [
        ("place", r#"{"workspace": 2}"#, Some(&folders[1])),
        ("place", "{}", Some(&folders[0])),
        ("place", r#"{"workspace": 1}"#, Some(&folders[0])),
        ("place", r#"{"workspace": 3}"#, None),
        ("place_of_its_own", r#"{"workspace": "2"}"#, Some(&folders[0])),
        ("echo", r#"{"workspace": 2, "a": 1e2}"#, None),
    ];
    for (tool, arguments, folder) in calls {
        let entry = o.window.id("call.start", call(tool, arguments)).await;
        let state = o
            .window
            .wait(|event| match event {
                Event::Entry { entry: found, .. } if found.id == entry => match found.body {
                    EntryBody::Call(call) if call.ended_at.is_some() => Some(call.state),
                    _ => None,
                },
                _ => None,
            })
            .await;
        match (folder, state) {
            (Some(folder), CallState::Done(outcome)) => {
                let said = json!(outcome.content[0])["text"].as_str().unwrap().to_owned();
                let place: Value = serde_json::from_str(&said).unwrap();
                assert_eq!(place["cwd"], json!(folder), "{arguments}");
                // What chose the folder is ours; a tool's own parameter of that name is the tool's.
                let sent = if tool == "place" { json!({}) } else { json!({ "workspace": "2" }) };
                assert_eq!(place["arguments"], sent, "{arguments}");
            }
            (None, CallState::NotRun { reason }) => assert_eq!(reason, "`workspace` must be one of these numbers: 1, 2."),
            (None, CallState::Done(outcome)) => assert_eq!(json!(outcome.content[0])["text"], json!("{\"a\":100.0}")),
            (_, state) => panic!("{arguments}: {state:?}"),
        }
    }
    assert_eq!(lines(&o.log, "request tools/call"), 5, "an unknown number reaches no server");
    assert_eq!(lines(&o.log, "started"), 2, "one instance a workspace");
    o.tick(false).await;
    assert_eq!(lines(&o.log, "end of input"), 2, "all instances end");
}

/// B28: with one workspace there is nothing to choose, and the entry's own folder holds.
#[tokio::test]
async fn b28_with_one_workspace_a_server_is_as_any_other() {
    let mut o = Opened::new(&[]).await;
    let mut entry = fake(&o.log, &[]);
    let own = o.home.folder("own");
    (entry["workspace"], entry["cwd"]) = (json!(true), json!(own));
    o.home.global(json!({ "fake": entry }));
    let workspace = o.window.id("workspace.add", json!({ "path": o.home.folder("one") })).await;
    o.window.ok("conversation.set_workspaces", json!({ "id": o.conversation, "workspaces": [workspace] })).await;
    o.window.ok("conversation.set_level", json!({ "id": o.conversation, "level": "full_access" })).await;
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    let of =
        |arguments: &str| json!({ "conversation": o.conversation, "server": o.server, "tool": "place", "arguments": arguments });
    let detail = o.window.ok("tools.get", of("")).await;
    assert_eq!(detail["input_schema"]["properties"].get("workspace"), None, "{detail}");
    let state = o.window.call(&o.conversation, &o.server, "place", &json!({ "workspace": 7 })).await;
    let CallState::Done(outcome) = state else { panic!("{state:?}") };
    let place: Value = serde_json::from_str(json!(outcome.content[0])["text"].as_str().unwrap()).unwrap();
    assert_eq!((&place["cwd"], &place["arguments"]), (&json!(own), &json!({ "workspace": 7 })));
    assert_eq!(lines(&o.log, "started"), 1);
}

/// A server whose workspace leaves the conversation, or whose entry leaves its file, is closed.
#[tokio::test]
async fn a_server_that_dangles_is_closed() {
    let mut o = Opened::new(&[]).await;
    o.tick(true).await;
    while !matches!(o.window.wait(status).await, ServerStatus::Connected(_)) {}
    o.home.global(json!({}));
    o.window
        .wait(|event| match event {
            Event::Servers { servers, .. } if servers.dangling.len() == 1 => Some(()),
            _ => None,
        })
        .await;
    assert_eq!(lines(&o.log, "end of input"), 1);
}
