//! Entries edited through the wire: what the dry run says beforehand, and that saving does exactly that.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use mework_engine::error::ErrorCode;
use mework_engine::wire::{CallState, EntryBody, Event};
use mework_tests::engine::{Home, Window, id, program};
use serde_json::{Value, json};

/// The words of processes that were given this file to write to, by process.
fn pids(log: &Path) -> Vec<i32> {
    let log = log.as_os_str().as_encoded_bytes();
    let told = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word.ends_with(log))
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|p| p.file_name().to_str()?.parse().ok()).filter(told).collect()
}

/// Three global servers, all of them ticked and running in one conversation.
struct Opened {
    home: Home,
    window: Window,
    conversation: String,
    file: PathBuf,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

impl Opened {
    async fn new() -> Self {
        let home = Home::new();
        let entries = NAMES.map(|name| (name.to_owned(), Self::entry_of(&home, name, &[])));
        let file = home.global(Value::Object(entries.into_iter().collect()));
        let window = home.window().await;
        let conversation = window.id("conversation.create", json!({ "workspaces": [], "title": "first" })).await;
        window.ok("conversation.open", json!({ "id": conversation })).await;
        let mut opened = Self { home, window, conversation, file };
        for name in NAMES {
            opened.tick(&opened.conversation, name).await;
            opened.connected(name).await;
        }
        opened
    }
    fn entry_of(home: &Home, name: &str, flags: &[&str]) -> Value {
        let mut args = vec![format!("--log={}", Self::log_of(home, name).display())];
        args.extend(flags.iter().map(|flag| flag.to_string()));
        json!({ "command": program("fake-server"), "args": args })
    }
    fn log_of(home: &Home, name: &str) -> PathBuf {
        home.folder("logs").join(format!("{name}.log"))
    }
    fn server(&self, name: &str) -> String {
        id(&self.file, name)
    }
    async fn tick(&self, conversation: &str, name: &str) {
        let params = json!({ "conversation": conversation, "server": self.server(name), "ticked": true });
        assert_eq!(self.window.ok("server.tick", params).await, json!({}));
    }
    /// Waits until the server's badge says so, by itself or with the whole list.
    async fn connected(&mut self, name: &str) {
        while self.row(&self.conversation, name).await["status"]["kind"] != "connected" {
            self.window.next().await;
        }
    }
    fn pid(&self, name: &str) -> i32 {
        match pids(&Self::log_of(&self.home, name)).as_slice() {
            [pid] => *pid,
            other => panic!("{name} runs as {other:?}"),
        }
    }
    async fn entry(&self, name: &str) -> Value {
        self.window.ok("server.entry", json!({ "server": self.server(name) })).await
    }
    /// The plan for this text and name of an entry as it is shown now.
    async fn plan(&self, name: &str, new: &str, text: &str, keep_ticks: bool) -> Value {
        let shown = self.entry(name).await;
        let params = json!({
            "conversation": self.conversation, "server": self.server(name), "name": new, "entry": text,
            "file_hash": shown["file_hash"], "keep_ticks": keep_ticks,
        });
        self.window.ok("server.plan", params).await
    }
    fn edit(&self, name: &str, new: &str, text: &str, hash: &Value) -> Value {
        json!({ "server": self.server(name), "name": new, "entry": text, "file_hash": hash })
    }
    fn bytes(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap()
    }
    async fn row(&self, conversation: &str, name: &str) -> Value {
        let open = self.window.ok("conversation.open", json!({ "id": conversation })).await;
        let rows = open["servers"]["sections"][0]["rows"].as_array().unwrap().clone();
        let dangling = open["servers"]["dangling"].as_array().unwrap().clone();
        rows.into_iter().chain(dangling).find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row {name}"))
    }
    /// Waits until the badge of `a` counts these tools, and these that always ask.
    async fn until_listed(&mut self, wanted: (u64, u64)) {
        loop {
            let status = self.row(&self.conversation, "a").await["status"].clone();
            if (status["tools"].as_u64(), status["asking"].as_u64()) == (Some(wanted.0), Some(wanted.1)) {
                return;
            }
            self.window.next().await;
        }
    }
    async fn tool(&self, name: &str) -> Value {
        let tools = self.window.ok("tools.list", json!({ "id": self.conversation })).await;
        let tools = tools["tools"].as_array().unwrap().clone();
        tools.into_iter().find(|tool| tool["server"] == self.server("a") && tool["name"] == name).unwrap()
    }
}

/// Complaint 25: arguments of one of three servers change; the dry run says so and does nothing, saving restarts that one,
/// and the others keep their process.
#[tokio::test]
async fn b24_only_the_edited_server_restarts() {
    let mut o = Opened::new().await;
    let temporary = o.window.id("conversation.create", json!({ "workspaces": [], "temporary": true, "title": "second" })).await;
    o.tick(&temporary, "a").await;
    mework_tests::eventually("it runs in the second conversation", || pids(&Opened::log_of(&o.home, "a")).len() == 2).await;
    let third = o.window.id("conversation.create", json!({ "workspaces": [], "title": "third" })).await;
    o.tick(&third, "b").await;
    mework_tests::eventually("b runs twice", || pids(&Opened::log_of(&o.home, "b")).len() == 2).await;
    let before = (o.bytes(), pids(&Opened::log_of(&o.home, "a")), pids(&Opened::log_of(&o.home, "b")), o.pid("c"));
    o.window.so_far().await;

    let shown = o.entry("a").await;
    let text = shown["entry"].as_str().unwrap();
    assert!(before.0.contains("\"a\": {\n      \"command\""), "{}", before.0);
    assert!(text.starts_with("{\n  \"command\": "), "without the indentation of its own line: {text}");
    let edited = text.replace("a.log\"\n", "a.log\",\n    \"--name=edited\"\n");
    assert_ne!(edited, text);
    let plan = o.plan("a", "a", &edited, false).await;
    let effect = |title: &str| {
        let all = plan["conversations"].as_array().unwrap();
        all.iter().find(|c| c["title"] == title).map(|c| (c["stops"].clone(), c["starts"].clone(), c["dangles"].clone()))
    };
    let restarts = Some((json!(true), json!("now"), json!(false)));
    assert_eq!((effect("first"), effect("second"), effect("third")), (restarts.clone(), restarts, None));
    assert_eq!((&plan["changes"], &plan["renamed"], &plan["consent"]), (&json!(true), &json!(false), &json!("given")));
    assert_eq!((&plan["reasons"], &plan["refusal"], &plan["needs_review"]), (&json!([]), &Value::Null, &json!(false)));
    let diff = plan["review"]["diff"].as_array().unwrap();
    assert!(diff.iter().any(|line| line["new"].as_str().is_some_and(|new| new.contains("--name=edited"))));
    // The same text again changes nothing; what cannot start says why, and that nothing would come up again.
    let same = o.plan("a", "a", text, false).await;
    assert_eq!((&same["changes"], &same["conversations"]), (&json!(false), &json!([])));
    let broken = o.plan("a", "a", &edited.replace("\"command\"", "\"url\""), false).await;
    assert!(broken["reasons"][0].as_str().unwrap().contains("`url`"), "{broken}");
    assert_eq!(broken["conversations"][0]["stops"], json!(true));
    assert_eq!(broken["conversations"][0]["starts"], json!("no"));
    o.window.nothing_happened().await;
    let after = (o.bytes(), pids(&Opened::log_of(&o.home, "a")), pids(&Opened::log_of(&o.home, "b")), o.pid("c"));
    assert_eq!(after, before, "a dry run");

    let reply = o.window.ok("server.edit", o.edit("a", "a", &edited, &shown["file_hash"])).await;
    assert_eq!(reply["id"], json!(o.server("a")));
    o.connected("a").await;
    assert_eq!(o.row(&o.conversation, "a").await["status"]["server_name"], json!("edited"));
    assert_eq!(o.row(&o.conversation, "a").await["consent"], json!("given"), "an edit made here needs no review");
    mework_tests::eventually("it runs in both again", || pids(&Opened::log_of(&o.home, "a")).len() == 2).await;
    assert!(pids(&Opened::log_of(&o.home, "a")).iter().all(|pid| !before.1.contains(pid)), "fresh ones");
    assert_eq!((pids(&Opened::log_of(&o.home, "b")), o.pid("c")), (before.2, before.3), "the others kept theirs");
    // One line of the file is another one.
    assert_eq!(o.bytes(), before.0.replace("a.log\"\n", "a.log\",\n        \"--name=edited\"\n"));
    assert_eq!(reply["file_hash"], o.entry("a").await["file_hash"], "the next edit goes on from there");
}

/// B13: a new name is another server. The dry run names every conversation whose tick would dangle, closed and temporary ones
/// too; only when it is asked for do ticks follow.
#[tokio::test]
async fn b13_renaming_leaves_ticks_dangling_unless_told_otherwise() {
    let mut o = Opened::new().await;
    let closed = o.window.id("conversation.create", json!({ "workspaces": [], "temporary": true, "title": "second" })).await;
    o.tick(&closed, "a").await;
    let shown = o.entry("a").await;
    let text = shown["entry"].as_str().unwrap().to_owned();
    let plan = o.plan("a", "z", &text, false).await;
    assert_eq!((&plan["renamed"], &plan["server"]), (&json!(true), &json!(o.server("z"))));
    let mut dangling = plan["conversations"].as_array().unwrap().clone();
    dangling.sort_by_key(|c| c["title"].as_str().unwrap().to_owned());
    assert_eq!(dangling.len(), 2);
    for one in &dangling {
        assert_eq!((&one["dangles"], &one["follows"], &one["starts"]), (&json!(true), &json!(false), &json!("no")));
    }
    assert_eq!(dangling[1]["temporary"], json!(true));
    let kept = o.plan("a", "z", &text, true).await;
    for one in kept["conversations"].as_array().unwrap() {
        assert_eq!((&one["dangles"], &one["follows"]), (&json!(false), &json!(true)));
    }
    assert_eq!(kept["conversations"].as_array().unwrap().iter().filter(|c| c["starts"] == "now").count(), 2);

    let file = o.bytes();
    let (b, c) = (o.pid("b"), o.pid("c"));
    o.window.ok("server.edit", o.edit("a", "z", &text, &shown["file_hash"])).await;
    assert_eq!(o.bytes(), file.replace("\"a\": {", "\"z\": {"), "its place and every other byte stayed");
    mework_tests::eventually("the old one is gone", || pids(&Opened::log_of(&o.home, "a")).is_empty()).await;
    for conversation in [&o.conversation, &closed] {
        assert_eq!(o.row(conversation, "a").await["status"], json!({ "kind": "dangling" }));
        let z = o.row(conversation, "z").await;
        assert_eq!((&z["ticked"], &z["consent"]), (&json!(false), &json!("given")), "what was agreed to went along");
    }
    assert_eq!((o.pid("b"), o.pid("c")), (b, c));

    // Back again, and the ticks that dangled are whole; then once more, and they follow.
    let hash = o.window.ok("server.entry", json!({ "server": o.server("z") })).await["file_hash"].clone();
    let back = o.plan("z", "a", &text, false).await;
    let starts: Vec<_> = back["conversations"].as_array().unwrap().iter().map(|c| &c["starts"]).collect();
    assert_eq!(starts, ["next_turn", "next_turn"], "they tick the name it gets: {back}");
    o.window.ok("server.edit", o.edit("z", "a", &text, &hash)).await;
    o.window.ok("conversation.warm", json!({ "id": o.conversation })).await;
    o.connected("a").await;
    let mut params = o.edit("a", "y", &text, &hash);
    params["file_hash"] = o.entry("a").await["file_hash"].clone();
    params["keep_ticks"] = json!(true);
    o.window.ok("server.edit", params).await;
    o.connected("y").await;
    for conversation in [&o.conversation, &closed] {
        assert_eq!(o.row(conversation, "y").await["ticked"], json!(true));
        let open = o.window.ok("conversation.open", json!({ "id": conversation })).await;
        assert_eq!(open["servers"]["dangling"], json!([]));
    }
}

/// A rename leaves the ticks of another process's conversations alone, and says so beforehand.
#[tokio::test]
async fn b41_ticks_of_another_processs_conversation_stay() {
    let o = Opened::new().await;
    let theirs = Window::on(o.home.engine("mework serve").await);
    let conversation = theirs.id("conversation.create", json!({ "workspaces": [], "title": "theirs" })).await;
    theirs.ok("conversation.open", json!({ "id": conversation })).await;
    theirs.ok("server.tick", json!({ "conversation": conversation, "server": o.server("b"), "ticked": true })).await;
    let shown = o.entry("b").await;
    let text = shown["entry"].as_str().unwrap().to_owned();
    let plan = o.plan("b", "z", &text, true).await;
    let planned = plan["conversations"].as_array().unwrap().clone();
    let of = |title: &str| planned.iter().find(|c| c["title"] == title).unwrap().clone();
    assert_eq!((&of("first")["follows"], &of("first")["dangles"]), (&json!(true), &json!(false)));
    assert_eq!((&of("theirs")["follows"], &of("theirs")["dangles"]), (&json!(false), &json!(true)));
    assert!(of("theirs")["held_by"].as_str().unwrap().starts_with("mework serve"));
    let mut params = o.edit("b", "z", &text, &shown["file_hash"]);
    params["keep_ticks"] = json!(true);
    o.window.ok("server.edit", params).await;
    assert_eq!(o.row(&conversation, "b").await["status"], json!({ "kind": "dangling" }));
    assert_eq!(o.row(&o.conversation, "z").await["ticked"], json!(true));
    theirs.engine.shutdown().await;
}

/// Whoever saves is told that a call would break off.
#[tokio::test]
async fn b24_a_plan_says_where_something_runs() {
    let o = Opened::new().await;
    o.window.ok("conversation.set_level", json!({ "id": o.conversation, "level": "full_access" })).await;
    let call = json!({ "conversation": o.conversation, "server": o.server("a"), "tool": "never", "arguments": "{}" });
    o.window.ok("call.start", call).await;
    let log = Opened::log_of(&o.home, "a");
    let asked = || std::fs::read_to_string(&log).unwrap_or_default().contains("request tools/call");
    mework_tests::eventually("the call runs", asked).await;
    for (name, busy) in [("a", true), ("b", false)] {
        let text = o.entry(name).await["entry"].as_str().unwrap().replace(".log\"\n", ".log\",\n    \"--name=edited\"\n");
        let plan = o.plan(name, name, &text, false).await;
        let of = &plan["conversations"][0];
        assert_eq!((&of["stops"], &of["busy"]), (&json!(true), &json!(busy)), "{name}: {plan}");
    }
}

/// B17: a file that changed since it was shown is not written; the plan has what stands there now.
#[tokio::test]
async fn b17_a_changed_file_is_not_written() {
    let o = Opened::new().await;
    let shown = o.entry("a").await;
    let mut changed: Value = serde_json::from_str(&o.bytes()).unwrap();
    changed["mcpServers"]["a"]["description"] = json!("by another hand");
    std::fs::write(&o.file, serde_json::to_vec_pretty(&changed).unwrap()).unwrap();
    let before = o.bytes();
    let mine = "{\n  \"command\": \"true\"\n}";
    let params = json!({
        "conversation": o.conversation, "server": o.server("a"), "name": "a", "entry": mine, "file_hash": shown["file_hash"],
    });
    let plan = o.window.ok("server.plan", params).await;
    assert!(plan["refusal"].as_str().unwrap().contains("changed since it was shown"));
    assert!(plan["conflict"]["entry"].as_str().unwrap().contains("by another hand"));
    assert_eq!(plan["conflict"]["file_hash"], o.entry("a").await["file_hash"]);
    let diff = plan["conflict"]["diff"].as_array().unwrap();
    assert!(diff.iter().any(|line| line["new"].as_str().is_some_and(|new| new.contains("\"true\""))));
    let refused = o.window.rpc("server.edit", o.edit("a", "a", mine, &shown["file_hash"])).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    let tool = json!({ "server": o.server("a"), "tool": "echo", "disabled": true, "file_hash": shown["file_hash"] });
    assert_eq!(o.window.rpc("server.set_tool", tool).await.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(o.bytes(), before);
    // Gone altogether.
    std::fs::write(&o.file, r#"{"mcpServers":{}}"#).unwrap();
    let params = json!({ "server": o.server("a"), "name": "a", "entry": mine, "file_hash": shown["file_hash"] });
    let plan = o.window.ok("server.plan", params).await;
    assert_eq!(plan["conflict"], json!({ "diff": [] }));
}

/// Row 1: a change by another hand is not agreed to by an edit that did not show it, nor by a tool's switch.
#[tokio::test]
async fn row_1_an_edit_agrees_only_to_what_was_shown() {
    let o = Opened::new().await;
    let canary = o.home.folder("canary").join("touched");
    let mut changed: Value = serde_json::from_str(&o.bytes()).unwrap();
    changed["mcpServers"]["a"] = json!({ "command": "touch", "args": [canary] });
    std::fs::write(&o.file, serde_json::to_vec_pretty(&changed).unwrap()).unwrap();
    let consent = async || o.row(&o.conversation, "a").await["consent"].clone();
    assert_eq!(consent().await, json!("changed"));
    let hash = o.entry("a").await["file_hash"].clone();
    let tool = json!({ "server": o.server("a"), "tool": "echo", "disabled": true, "file_hash": hash });
    o.window.ok("server.set_tool", tool).await;
    assert_eq!(consent().await, json!("changed"));

    let shown = o.entry("a").await;
    let text = shown["entry"].as_str().unwrap().replacen('{', "{\n  \"description\": \"mine\",", 1);
    let plan = o.plan("a", "a", &text, false).await;
    assert_eq!((&plan["needs_review"], &plan["consent"]), (&json!(true), &json!("changed")));
    assert!(plan["review"]["diff"].to_string().contains("touch"), "{plan}");
    // Under another name it is no less changed.
    let reply = o.window.ok("server.edit", o.edit("a", "a2", &text, &shown["file_hash"])).await;
    let renamed = o.row(&o.conversation, "a2").await;
    assert_eq!(renamed["consent"], json!("changed"));
    let tick = json!({ "conversation": o.conversation, "server": reply["id"], "ticked": true });
    assert!(!o.window.ok("server.tick", tick).await["needs"]["old"].is_null(), "a tick shows old and new");
    assert!(!canary.exists(), "nothing of it ran");

    // Shown, and saved with that.
    let text = text.replace("mine", "still mine");
    let plan = o.plan("a2", "a2", &text, false).await;
    let mut params = o.edit("a2", "a2", &text, &reply["file_hash"]);
    params["digest"] = plan["review"]["digest"].clone();
    o.window.ok("server.edit", params).await;
    assert_eq!(o.row(&o.conversation, "a2").await["consent"], json!("given"));
}

/// Single tools are left out and made to ask from the list of tools: two keys of the entry are written, the server goes on as
/// the same process, and what the next call may do follows at once.
#[tokio::test]
async fn a_tools_switches_write_the_entry_and_restart_nothing() {
    let mut o = Opened::new().await;
    let (file, pid) = (o.bytes(), o.pid("a"));
    let hash = o.entry("a").await["file_hash"].clone();
    let server = o.server("a");
    let set =
        |tool: &str, key: &str, on: bool, hash: &Value| json!({ "server": server, "tool": tool, key: on, "file_hash": hash });
    let (off, ask) = (set("echo", "disabled", true, &hash), set("environment", "always_asks", true, &hash));
    let reply = o.window.ok("server.set_tool", off).await;
    o.until_listed((11, 0)).await;
    let mut ask = ask;
    ask["file_hash"] = reply["file_hash"].clone();
    let reply = o.window.ok("server.set_tool", ask.clone()).await;
    o.until_listed((11, 1)).await;
    assert_eq!(
        o.bytes(),
        file.replacen(
            "a.log\"\n      ]\n",
            "a.log\"\n      ],\n      \"disabledTools\": [\"echo\"],\n      \"disabledAutoApproveTools\": [\"environment\"]\n",
            1
        )
    );
    assert_eq!(
        (o.tool("echo").await["disabled"].clone(), o.tool("environment").await["always_asks"].clone()),
        (json!(true), json!(true))
    );
    let row = o.row(&o.conversation, "a").await;
    assert_eq!(
        (&row["consent"], &row["disabled_tools"], &row["always_ask"]),
        (&json!("given"), &json!(["echo"]), &json!(["environment"]))
    );
    assert_eq!(o.pid("a"), pid, "the same process");

    o.window.ok("conversation.set_level", json!({ "id": o.conversation, "level": "full_access" })).await;
    let conversation = o.conversation.clone();
    let call = |tool: &str| json!({ "conversation": conversation, "server": server, "tool": tool, "arguments": "{}" });
    o.window.id("call.start", call("echo")).await;
    let ended = |event| match event {
        Event::Entry { entry, .. } => match entry.body {
            EntryBody::Call(call) => match call.state {
                CallState::NotRun { reason } => Some(reason),
                _ => None,
            },
            EntryBody::Notice { .. } => None,
        },
        _ => None,
    };
    assert!(o.window.wait(ended).await.contains("disabledTools"));
    let waiting = o.window.id("call.start", call("environment")).await;
    let card = |event| match event {
        Event::Cards { cards } => cards.first().map(|card| card.tool.clone()),
        _ => None,
    };
    assert_eq!(o.window.wait(card).await, "environment");
    o.window.ok("call.stop", json!({ "conversation": o.conversation, "entry": waiting })).await;

    // Once more is no change, and back again the file is as it was, byte for byte; a name that matches nothing stays.
    ask["file_hash"] = reply["file_hash"].clone();
    assert_eq!(o.window.ok("server.set_tool", ask).await["file_hash"], reply["file_hash"]);
    let mut hash = reply["file_hash"].clone();
    for (tool, key, on) in [("gone", "disabled", true), ("echo", "disabled", false), ("environment", "always_asks", false)] {
        hash = o.window.ok("server.set_tool", set(tool, key, on, &hash)).await["file_hash"].clone();
    }
    assert_eq!(o.bytes(), file.replacen("a.log\"\n      ]\n", "a.log\"\n      ],\n      \"disabledTools\": [\"gone\"]\n", 1));
    o.window.ok("server.set_tool", set("gone", "disabled", false, &hash)).await;
    assert_eq!(o.bytes(), file);
    assert_eq!(o.pid("a"), pid);
    let nothing = o.window.rpc("server.set_tool", json!({ "server": o.server("a"), "tool": "echo", "file_hash": hash })).await;
    assert_eq!(nothing.unwrap_err().code, ErrorCode::BadRequest);
}

/// B24: what a server is not started with is no reason to start it again; the next call takes the time limit.
#[tokio::test]
async fn b24_another_description_or_time_limit_restarts_nothing() {
    let mut o = Opened::new().await;
    let (text, hash, pid) = {
        let shown = o.entry("a").await;
        (shown["entry"].as_str().unwrap().to_owned(), shown["file_hash"].clone(), o.pid("a"))
    };
    let edited = text.replacen('{', r#"{"description": "d", "timeoutSeconds": 1,"#, 1);
    assert_eq!(o.plan("a", "a", &edited, false).await["conversations"], json!([]));
    o.window.ok("server.edit", o.edit("a", "a", &edited, &hash)).await;
    let row = o.row(&o.conversation, "a").await;
    assert_eq!((&row["status"]["kind"], &row["description"]), (&json!("connected"), &json!("d")));
    assert_eq!(o.pid("a"), pid);
    let (conversation, server) = (o.conversation.clone(), o.server("a"));
    match o.window.call(&conversation, &server, "never", &json!({})).await {
        CallState::Failed { message, .. } => assert_eq!(message, "The server did not answer within 1 s."),
        other => panic!("{other:?}"),
    }
}

/// What the plan says of tools: those it would leave out or offer again, and names that match nothing (row 29).
#[tokio::test]
async fn row_29_the_plan_names_tools_and_names_without_a_tool() {
    let o = Opened::new().await;
    let text = o.entry("a").await["entry"].as_str().unwrap().to_owned();
    let with = |lists: &str| text.replacen('{', &format!("{{{lists},"), 1);
    let first = with(r#""disabledTools": ["echo", "ech0"], "disabledAutoApproveTools": ["raw", "row"]"#);
    let plan = o.plan("a", "a", &first, false).await;
    assert_eq!((&plan["hides"], &plan["shows"], &plan["unmatched"]), (&json!(["echo"]), &json!([]), &json!(["ech0", "row"])));
    assert_eq!(plan["conversations"], json!([]), "nothing restarts for it");
    let pid = o.pid("a");
    let hash = o.entry("a").await["file_hash"].clone();
    o.window.ok("server.edit", o.edit("a", "a", &first, &hash)).await;
    assert_eq!(o.pid("a"), pid);
    let plan = o.plan("a", "a", &with(r#""disabledTools": ["raw"]"#), false).await;
    assert_eq!((&plan["hides"], &plan["shows"], &plan["unmatched"]), (&json!(["raw"]), &json!(["echo"]), &json!([])));
}

/// Rows 2 and 27, B3, B5: what the dry run looks at starts nothing, and what may not be written is refused in plain words.
#[tokio::test]
async fn what_may_not_be_written_is_refused() {
    let home = Home::new();
    let canary = home.folder("canary").join("touched");
    let (folder, outside) = (home.folder("project"), home.folder("outside"));
    let bad = json!({ "command": "touch", "args": [canary], "env": { "TOKEN": "${NO_SUCH_VARIABLE_4711}" }, "cwd": "nowhere" });
    let file = home.declare(&folder, json!({ "bad": bad, "twin": { "command": "true" } }));
    std::fs::create_dir_all(folder.join(".naiword")).unwrap();
    std::fs::write(folder.join(".naiword/mcp.json"), r#"{"mcpServers":{"fresh":{"command":"x"}}}"#).unwrap();
    home.global(json!({ "fresh": { "command": "x" } }));
    let window = home.window().await;
    let workspace = window.id("workspace.add", json!({ "path": folder })).await;
    let conversation = window.id("conversation.create", json!({ "workspaces": [workspace] })).await;
    window.ok("conversation.open", json!({ "id": conversation })).await;

    // An entry that is Unavailable is shown and mended.
    let shown = window.ok("server.entry", json!({ "server": id(&file, "bad") })).await;
    let text = shown["entry"].as_str().unwrap();
    let plan = |name: &str, text: &str| json!({ "conversation": conversation, "server": id(&file, "bad"), "name": name, "entry": text, "file_hash": shown["file_hash"] });
    let same = window.ok("server.plan", plan("bad", text)).await;
    let reasons = same["reasons"].to_string();
    assert!(reasons.contains("NO_SUCH_VARIABLE_4711") && reasons.contains("cwd"), "every failed check: {reasons}");
    let mended = "{\"command\": \"true\", \"env\": {\"A\": \"${PATH}\"}}";
    let answer = window.ok("server.plan", plan("bad", mended)).await;
    assert_eq!(answer["reasons"], json!([]));
    let path = std::env::var("PATH").unwrap();
    assert!(!answer.to_string().contains(&path), "no variable's value");
    for (name, text, words) in [
        ("a b", mended, "letters"),
        ("__proto__", mended, "reserved"),
        ("twin", mended, "already"),
        ("bad", "[]", "must be an object"),
        ("bad", "{\"command\": }", "line 1, column 13"),
        ("bad", "", "empty"),
    ] {
        let plan = window.ok("server.plan", plan(name, text)).await;
        let refusal = plan["refusal"].as_str().unwrap_or_default();
        assert!(refusal.contains(words), "{name} {text}: {refusal}");
        assert_eq!(plan["reasons"], json!([]), "said once");
        let edit = json!({ "server": id(&file, "bad"), "name": name, "entry": text, "file_hash": shown["file_hash"] });
        assert!(window.rpc("server.edit", edit).await.is_err());
    }
    // A new one: what else has its name is said.
    let new = json!({ "conversation": conversation, "level": workspace, "name": "fresh", "entry": mended, "file_hash": shown["file_hash"] });
    let answer = window.ok("server.plan", new).await;
    assert_eq!((&answer["refusal"], &answer["server"]), (&Value::Null, &json!(id(&file, "fresh"))));
    assert_eq!(answer["in_the_way"].as_array().unwrap().len(), 2, "{}", answer["in_the_way"]);
    let taken = json!({ "conversation": conversation, "level": workspace, "name": "twin", "entry": mended, "file_hash": shown["file_hash"] });
    assert!(window.ok("server.plan", taken).await["refusal"].as_str().unwrap().contains("already"));
    assert!(!canary.exists(), "looked at, not started");

    // No file but those of known levels, and none that leads outside or is ignored.
    let other = home.declare(&outside, json!({ "x": { "command": "true" } }));
    for method in ["server.entry", "server.plan", "server.edit", "server.set_tool"] {
        let params =
            json!({ "server": id(&other, "x"), "name": "x", "entry": "{}", "file_hash": "", "tool": "t", "disabled": true });
        assert_eq!(window.rpc(method, params).await.unwrap_err().code, ErrorCode::NotFound, "{method}");
    }
    let before = std::fs::read(&file).unwrap();
    std::fs::write(&file, "{\"mcpServers\": {},}").unwrap();
    let edit = json!({ "server": id(&file, "bad"), "name": "bad", "entry": mended, "file_hash": shown["file_hash"] });
    assert_eq!(window.rpc("server.edit", edit.clone()).await.unwrap_err().code, ErrorCode::Conflict);
    assert!(window.rpc("server.entry", json!({ "server": id(&file, "bad") })).await.unwrap_err().message.contains("comma"));
    std::fs::remove_file(&file).unwrap();
    std::fs::write(outside.join("real.json"), &before).unwrap();
    std::os::unix::fs::symlink(outside.join("real.json"), &file).unwrap();
    let refused = window.rpc("server.edit", edit).await.unwrap_err();
    assert!(refused.message.contains("leads outside"), "{refused:?}");
    assert_eq!(std::fs::read(outside.join("real.json")).unwrap(), before);
}
