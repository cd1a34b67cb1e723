//! A file of 1,000 servers: listing it as the engine does, as the command line prints it, and as a conversation's page.

use std::process::Stdio;

use mework_engine::config::{self, Level, Scope};
use mework_engine::machine::Machine;
use mework_tests::engine::Home;
use mework_tests::programs::{command, mework};
use serde_json::{Map, Value, json};

use super::Rows;
use crate::measure::{Rounds, alone, by_turns, ms, timed};
use crate::product::{Conversation, surroundings};

const SERVERS: usize = 1000;

fn entries() -> Map<String, Value> {
    let entry = |n: usize| match n % 4 {
        0 => json!({ "type": "http", "url": format!("https://mcp-{n}.example.com/mcp"),
            "headers": { "Authorization": format!("Bearer ${{TOKEN_{n}:-none}}") } }),
        1 => json!({ "command": "uvx", "args": ["mcp-server-time", "--local-timezone", "Europe/Berlin"] }),
        _ => json!({ "command": "npx", "args": ["-y", format!("@example/server-{n}"), "--root", "${HOME}/projects"],
            "env": { "LOG_LEVEL": "warn" }, "description": format!("What server {n} is good for, in a sentence.") }),
    };
    (0..SERVERS).map(|n| (format!("server-{n:04}"), entry(n))).collect()
}

pub async fn thousand(rounds: Rounds) -> Rows {
    let home = Home::new();
    let file = home.global(Value::Object(entries()));
    let level = Level { machine: Machine::local(surroundings(&home)), scope: Scope::Global };
    let list = async || {
        let listed = timed(async { assert_eq!(config::list(&level).await.servers.len(), SERVERS) });
        ms(listed.await)
    };
    // Reading the file and knowing that it is JSON.
    let parse = async || {
        let parsed = timed(async {
            let bytes = std::fs::read(&file).expect("the file");
            let value: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert_eq!(value["mcpServers"].as_object().map(Map::len), Some(SERVERS));
        });
        ms(parsed.await)
    };
    let listed = by_turns(rounds.of(41), list, parse).await;

    let whole = mework_tests::programs::Home::empty();
    whole.declare(Value::Object(entries()));
    let print = async || {
        let mut list = command(mework());
        list.args(["mcp", "list"]).envs(whole.environment()).current_dir(whole.path()).stdin(Stdio::null());
        let mut out = None;
        let took = timed(async { out = Some(list.output().expect("mework")) }).await;
        let out = out.expect("what it printed");
        assert!(out.status.success() && String::from_utf8_lossy(&out.stdout).contains("server-0999"), "{out:?}");
        ms(took)
    };
    let printed = alone(rounds.of(15), print).await;

    let conversation = Conversation::with(Map::new(), &[]).await;
    conversation.declare(entries());
    let window = conversation.open().await;
    let shown = alone(rounds.of(15), async || ms(conversation.read(&window).await)).await;
    window.engine.shutdown().await;
    vec![("list-file", listed), ("list-command", printed), ("list-page", shown)]
}
