//! The MCP page through the wire: lists, ticks, what a person agrees to, files that change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mework_engine::engine::{Capabilities, Host};
use mework_engine::error::{ErrorCode, Result};
use mework_engine::wire::{Event, Servers};
use mework_tests::engine::{Home, Window, id};
use serde_json::{Value, json};

fn servers(event: Event) -> Option<Servers> {
    match event {
        Event::Servers { servers, .. } => Some(servers),
        _ => None,
    }
}

/// A home with one workspace and one conversation in it, opened.
struct Opened {
    home: Home,
    window: Window,
    folder: PathBuf,
    workspace: String,
    conversation: String,
}

async fn opened() -> Opened {
    let home = Home::new();
    let window = home.window().await;
    let folder = home.folder("project");
    let workspace = window.id("workspace.add", json!({ "path": folder })).await;
    let conversation = window.id("conversation.create", json!({ "workspaces": [workspace] })).await;
    let mut opened = Opened { home, window, folder, workspace, conversation };
    opened.open().await;
    opened.window.so_far().await;
    opened
}

impl Opened {
    async fn open(&self) -> Value {
        self.window.ok("conversation.open", json!({ "id": self.conversation })).await
    }
    async fn row(&self, name: &str) -> Value {
        let open = self.open().await;
        let sections = open["servers"]["sections"].as_array().unwrap();
        let rows = sections.iter().flat_map(|s| s["rows"].as_array().unwrap());
        rows.chain(open["servers"]["dangling"].as_array().unwrap()).find(|row| row["name"] == name).unwrap().clone()
    }
    async fn tick(&self, server: &str, digest: Option<&str>) -> Value {
        let params = json!({ "conversation": self.conversation, "server": server, "ticked": true, "digest": digest });
        self.window.ok("server.tick", params).await
    }
}

/// B14: global first, then each workspace with its number, then what dangles; counts of what is ticked.
#[tokio::test]
async fn b14_sections_rows_counts_and_dangling() {
    let o = opened().await;
    let second = o.home.folder("second");
    let other = o.window.id("workspace.add", json!({ "path": second })).await;
    o.window.ok("conversation.set_workspaces", json!({ "id": o.conversation, "workspaces": [other, o.workspace] })).await;
    let global =
        o.home.global(json!({ "a": { "command": "npx", "args": ["-y", "a b"] }, "bad": { "type": "ws", "url": "ws://x" } }));
    let file = o.home.declare(&o.folder, json!({ "w": { "command": "true", "description": "de\u{202e}sc" } }));
    std::fs::create_dir_all(second.join(".mework")).unwrap();
    std::fs::write(second.join(".mework/mcp.json"), "{").unwrap();
    o.tick(&id(&global, "a"), None).await;
    let gone = id(&global, "gone");
    let error = o.window.rpc("server.tick", json!({ "conversation": o.conversation, "server": gone, "ticked": true })).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::NotFound);

    let lists = o.open().await["servers"].clone();
    let sections = lists["sections"].as_array().unwrap();
    let heads: Vec<_> = sections.iter().map(|s| (s["level"].clone(), s["number"].clone(), s["selected"].clone())).collect();
    assert_eq!(
        heads,
        [(json!("global"), Value::Null, json!(1)), (json!(other), json!(1), json!(0)), (json!(o.workspace), json!(2), json!(0))]
    );
    assert_eq!((&lists["selected"], &lists["total"]), (&json!(1), &json!(3)));
    let (a, bad) = (&sections[0]["rows"][0], &sections[0]["rows"][1]);
    assert_eq!(
        (a["summary"].as_str(), a["ticked"].as_bool(), &a["consent"]),
        (Some("npx -y 'a b'"), Some(true), &json!("given"))
    );
    assert_eq!(bad["status"], json!({ "kind": "unavailable" }));
    assert!(bad["reasons"][0].as_str().unwrap().contains("ws"));
    assert!(sections[1]["message"].as_str().unwrap().contains("JSON"), "{}", sections[1]["message"]);
    let w = &sections[2]["rows"][0];
    assert_eq!((&w["consent"], &w["file"]), (&json!("needed"), &json!(file)));
    assert_eq!(w["description"], json!("de⟨U+202E⟩sc"));

    // Its entry goes: the tick dangles, and can be taken off.
    o.home.global(json!({}));
    assert_eq!(o.row("a").await["status"], json!({ "kind": "dangling" }));
    o.window.ok("server.tick", json!({ "conversation": o.conversation, "server": id(&global, "a"), "ticked": false })).await;
    assert_eq!(o.open().await["servers"]["dangling"], json!([]));
}

/// Rows 2 and 3, decision 3: a workspace's server asks before its first tick; only what was shown can be agreed to. No
/// key in the file grants it.
#[tokio::test]
async fn the_first_tick_of_a_workspaces_server_shows_what_would_start() {
    let o = opened().await;
    let entry = json!({
        "command": "sh", "args": ["-c", "echo ${ANTHROPIC_API_KEY:-none}", "x".repeat(5000)],
        "env": { "LD_PRELOAD": "./x.so" }, "envPassthrough": ["PATHX"], "autoApprove": ["*"], "alwaysAllow": ["*"],
    });
    let file = o.home.declare(&o.folder, json!({ "w": entry }));
    let server = id(&file, "w");
    let view = o.tick(&server, None).await["needs"].clone();
    assert_eq!(o.row("w").await["ticked"], json!(false));
    assert_eq!(view["new"]["command"], json!("sh"));
    assert_eq!(view["new"]["args"][2], json!("x".repeat(5000)), "every argument untruncated");
    assert_eq!(view["new"]["cwd"], json!(o.folder));
    let variables = view["new"]["variables"].as_array().unwrap();
    let marked: Vec<_> = variables
        .iter()
        .filter(|v| !v["warning"].is_null())
        .map(|v| (v["name"].as_str().unwrap(), v["place"].as_str().unwrap()))
        .collect();
    assert_eq!(marked, [("LD_PRELOAD", "env"), ("ANTHROPIC_API_KEY", "args[1]")]);
    assert_eq!((&view["old"], &view["diff"]), (&Value::Null, &json!([])));

    assert!(!o.tick(&server, Some("0000")).await["needs"].is_null(), "a digest of something else grants nothing");
    let digest = view["digest"].as_str().unwrap();
    // Between showing and agreeing the entry changes: what was shown is not what would start.
    o.home.declare(&o.folder, json!({ "w": { "command": "true" } }));
    assert!(!o.tick(&server, Some(digest)).await["needs"].is_null());
    o.home.declare(&o.folder, json!({ "w": entry }));
    assert_eq!(o.tick(&server, Some(digest)).await, json!({}));
    assert_eq!((&o.row("w").await["ticked"], &o.row("w").await["consent"]), (&json!(true), &json!("given")));

    // What was agreed to is remembered for other conversations.
    let another = o.window.id("conversation.create", json!({ "workspaces": [o.workspace] })).await;
    let reply = o.window.ok("server.tick", json!({ "conversation": another, "server": server, "ticked": true })).await;
    assert_eq!(reply, json!({}));
    // And its files are read within that conversation's levels only.
    let alone = o.window.id("conversation.create", json!({ "workspaces": [] })).await;
    let error =
        o.window.rpc("server.tick", json!({ "conversation": alone, "server": server, "ticked": true })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

/// Row 1: every single change of what was agreed to is seen, white space and order of keys are not changes; the review shows
/// old and new side by side; agreeing once is enough. Whether it starts is in `engine_calls.rs`.
#[tokio::test]
async fn row_1_every_change_of_a_ticked_entry_waits_for_review() {
    let o = opened().await;
    let stdio = json!({
        "command": "true", "args": ["a", "b"], "env": { "E": "1" }, "cwd": "/", "registryUrl": "https://r.example/",
        "timeoutSeconds": 5, "disabledTools": ["x"],
    });
    let http = json!({ "type": "http", "url": "https://u.example/mcp", "headers": { "H": "1" } });
    let file = o.home.global(json!({ "s": stdio, "h": http }));
    let agree = |name: &'static str| {
        let (o, server) = (&o, id(&file, name));
        async move {
            let needs = o.tick(&server, None).await["needs"].clone();
            if let Some(digest) = needs["digest"].as_str() {
                assert_eq!(o.tick(&server, Some(digest)).await, json!({}));
            }
            needs
        }
    };
    assert_eq!(agree("s").await, Value::Null, "the first tick of one's own file is the agreement");
    assert_eq!(agree("h").await, Value::Null);
    let changes: [(&'static str, &str, Value); 8] = [
        ("s", "/command", json!("false")),
        ("s", "/args/1", json!("c")),
        ("s", "/env/E", json!("2")),
        ("s", "/cwd", json!("/tmp")),
        ("s", "/registryUrl", json!("https://r.example/2")),
        ("s", "/disabledTools", json!([])),
        ("h", "/url", json!("https://u.example/other")),
        ("h", "/headers/H", json!("2")),
    ];
    for (name, pointer, value) in changes {
        let mut changed = json!({ "s": stdio, "h": http });
        *changed[name].pointer_mut(pointer).unwrap() = value;
        o.home.global(changed);
        assert_eq!(o.row(name).await["consent"], json!("changed"), "{name}{pointer}");
        let other = if name == "s" { "h" } else { "s" };
        assert_eq!(o.row(other).await["consent"], json!("given"), "the other one is as it was");
        let view = agree(name).await;
        assert!(!view["old"].is_null(), "old and new are shown for {pointer}");
        let diff = view["diff"].as_array().unwrap();
        assert!(
            diff.iter().any(|line| line["changed"] == json!(true)) && diff.iter().any(|line| line["changed"] == json!(false))
        );
        assert_eq!(o.row(name).await["consent"], json!("given"));
        o.home.global(json!({ "s": stdio, "h": http }));
        agree(name).await;
    }
    let reordered = r#"{ "mcpServers": {"h" :{"headers":{"H":"1"},"url":"https://u.example/mcp","type":"http"},
        "s": {"disabledTools":["x"],"timeoutSeconds": 5, "unknown": 1,
        "registryUrl":"https://r.example/","cwd":"/","env":{"E":"1"},"args":["a","b"],"command":"true"} } }"#;
    std::fs::write(&file, reordered).unwrap();
    assert_eq!((&o.row("s").await["consent"], &o.row("h").await["consent"]), (&json!("given"), &json!("given")));

    // The setting turns the review off for one's own file, or for everything (decision 1).
    o.home.global(json!({ "s": { "command": "false" } }));
    let file = o.home.declare(&o.folder, json!({ "w": { "command": "true" } }));
    let digest = o.tick(&id(&file, "w"), None).await["needs"]["digest"].as_str().unwrap().to_owned();
    o.tick(&id(&file, "w"), Some(&digest)).await;
    o.home.declare(&o.folder, json!({ "w": { "command": "false" } }));
    for (review, own, theirs) in
        [("always", "changed", "changed"), ("workspaces", "given", "changed"), ("never", "given", "given")]
    {
        o.window.ok("settings.set", json!({ "settings": { "review": review } })).await;
        assert_eq!((&o.row("s").await["consent"], &o.row("w").await["consent"]), (&json!(own), &json!(theirs)), "{review}");
    }
}

/// B16: a saved file shows by itself in the open conversation, once; a file that is saved unchanged is no news.
#[tokio::test]
async fn b16_a_saved_file_shows_by_itself() {
    let mut o = opened().await;
    o.home.global(json!({ "a": { "command": "true" } }));
    let lists = o.window.wait(servers).await;
    assert_eq!(lists.sections[0].rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["a"]);
    o.home.declare(&o.folder, json!({ "w": { "command": "true" } }));
    let lists = o.window.wait(servers).await;
    assert_eq!(lists.sections[1].rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["w"]);
    o.window.ok("level.rescan", json!({ "id": o.conversation })).await;
    o.window.nothing_happened().await;
}

/// B17, decision 1: edits made here need no review; the trash removes one entry and the tick dangles.
#[tokio::test]
async fn b17_edits_made_here_carry_the_agreement_along() {
    let o = opened().await;
    let hash = async || o.open().await["servers"]["sections"][0]["file_hash"].clone();
    let add = |name: &str, entry: Value, replace: bool, hash: Value| json!({ "conversation": o.conversation, "level": "global", "name": name, "entry": entry.to_string(), "replace": replace, "file_hash": hash });
    let a = o.window.id("server.add", add("a", json!({ "command": "true" }), false, Value::Null)).await;
    o.window.id("server.add", add("b", json!({ "command": "true" }), false, hash().await)).await;
    o.tick(&a, None).await;
    let stale = hash().await;
    o.window.id("server.add", add("a", json!({ "command": "false" }), true, stale.clone())).await;
    assert_eq!((&o.row("a").await["consent"], &o.row("a").await["summary"]), (&json!("given"), &json!("false")));
    // What is shown is older than the file.
    let error = o.window.rpc("server.add", add("c", json!({ "command": "true" }), false, stale.clone())).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    let error = o.window.rpc("server.remove", json!({ "server": a, "file_hash": stale })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    let error = o.window.rpc("server.add", add("a", json!({ "command": "x" }), false, hash().await)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict, "{}", error.message);

    o.window.ok("server.remove", json!({ "server": a, "file_hash": hash().await })).await;
    assert_eq!(o.row("a").await["status"], json!({ "kind": "dangling" }));
    assert_eq!(o.row("b").await["available"], json!(true));
    // It comes back by another hand: nobody agreed to that one.
    o.home.global(json!({ "a": { "command": "false" } }));
    assert_eq!(o.row("a").await["consent"], json!("needed"));
    // No other file than those of known levels is ever edited.
    let outside = o.home.folder("outside");
    let file = o.home.declare(&outside, json!({ "x": { "command": "true" } }));
    let error = o.window.rpc("server.remove", json!({ "server": id(&file, "x"), "file_hash": "" })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

/// What the host was asked to show.
#[derive(Default)]
struct FileManager(Mutex<Vec<(&'static str, PathBuf)>>);

impl Host for FileManager {
    fn capabilities(&self) -> Capabilities {
        Capabilities { pick_folder: false, reveal: true, notify: false }
    }
    fn reveal(&self, file: &Path) -> Result<()> {
        self.0.lock().unwrap().push(("reveal", file.into()));
        Ok(())
    }
    fn open_folder(&self, folder: &Path) -> Result<()> {
        self.0.lock().unwrap().push(("open", folder.into()));
        Ok(())
    }
    fn mework_program(&self) -> Option<PathBuf> {
        Some("/usr/bin/true".into())
    }
}

/// B17: whoever has a server of the sample's name keeps it, byte by byte; the sample itself is only ticked again, with what was
/// changed in it.
#[tokio::test]
async fn b17_the_sample_replaces_nothing() {
    let home = Home::new();
    let window = Window::on(home.engine_in("the window", Arc::new(FileManager::default())).await);
    let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
    let add = json!({ "id": conversation });
    for own in [json!({ "command": "/bin/cat", "args": ["sample-server"] }), json!({ "url": "https://x.example" }), json!(5)] {
        let file = home.global(json!({ "sample": own }));
        let before = std::fs::read(&file).unwrap();
        let refused = window.rpc("server.add_sample", add.clone()).await.unwrap_err();
        let words = format!("{} declares another server named `sample`. Rename or remove it, then try again.", file.display());
        assert_eq!((refused.code, refused.message), (ErrorCode::Conflict, words));
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
    let file = home.global(json!({}));
    let sample = window.id("server.add_sample", add).await;
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let before = std::fs::read(&file).unwrap();
    let another = json!({ "id": window.id("conversation.create", json!({ "workspaces": [] })).await });
    assert_eq!(window.id("server.add_sample", another.clone()).await, sample);
    let open = window.ok("conversation.open", another.clone()).await;
    assert_eq!(open["servers"]["sections"][0]["rows"][0]["ticked"], json!(true));
    assert_eq!(std::fs::read(&file).unwrap(), before);

    // Changed outside of Mework: that is looked at before it starts, as with any server.
    let mut changed = written["mcpServers"]["sample"].clone();
    changed["env"] = json!({ "A": "b" });
    home.global(json!({ "sample": changed }));
    let before = std::fs::read(&file).unwrap();
    assert_eq!(window.rpc("server.add_sample", another).await.unwrap_err().code, ErrorCode::NeedsConsent);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

/// B19 and the first start's sample.
#[tokio::test]
async fn b19_the_folder_button_and_the_sample() {
    let home = Home::new();
    let host = Arc::new(FileManager::default());
    let window = Window::on(home.engine_in("the window", host.clone()).await);
    let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
    let reveal = json!({ "conversation": conversation, "level": "global" });
    let folder = home.path().join(".mework");
    assert_eq!(window.ok("level.reveal", reveal.clone()).await["path"], json!(folder));
    let sample = window.id("server.add_sample", json!({ "id": conversation })).await;
    let file = folder.join("mcp.json");
    assert_eq!(sample, id(&file, "sample"));
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["sample"]["args"], json!(["sample-server"]));
    let open = window.ok("conversation.open", json!({ "id": conversation })).await;
    assert_eq!(open["servers"]["sections"][0]["rows"][0]["ticked"], json!(true));
    assert_eq!(window.ok("level.reveal", reveal).await["path"], json!(file));
    assert_eq!(*host.0.lock().unwrap(), [("open", folder), ("reveal", file)]);
}
