//! Many servers in many conversations: what is started, how much of it at once, and what is left when nobody uses it. The
//! processes themselves are counted.
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::time::Duration;

use mework_engine::limits;
use mework_engine::mcp::Health;
use mework_engine::mcp::pool::{Bounds, Effort, Pool, Wanted};
use mework_engine::wire::{CallState, EntryBody, Event, ServerStatus};
use mework_tests::engine::{Home, Window, id, program};
use mework_tests::servers::{Bench, Memory};
use mework_tests::{Tag, eventually};
use serde_json::{Value, json};

async fn wanted(bench: &Bench, count: usize) -> Vec<Wanted> {
    let mut all = Vec::new();
    for n in 0..count {
        all.push(bench.wanted(&format!("s{n}"), bench.fake(&["--tools=1"])).await);
    }
    all
}

async fn connected(pool: &Pool, conversation: &str, wanted: &[Wanted]) {
    pool.ensure(conversation, wanted.to_vec(), Effort::Quiet);
    for one in wanted {
        let health = pool.settled(conversation, &one.server.id).await;
        assert!(matches!(health, Health::Connected { .. }), "{health:?}");
    }
}

/// Complaint 2: a set of servers for each conversation, and none of them when nobody uses them for a while.
#[tokio::test]
async fn twenty_conversations_left_idle_have_no_processes() {
    let bench = Bench::new();
    let bounds = Bounds { idle: Duration::from_secs(3), live: 64, ..Bounds::default() };
    let (pool, _changes) = Pool::new(bench.logs.clone(), Arc::new(Memory::default()), bounds);
    let two = wanted(&bench, 2).await;
    let conversations: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
    for conversation in &conversations {
        pool.ensure(conversation, two.clone(), Effort::Quiet);
    }
    eventually("they did not start", || bench.tag.processes().len() > 2).await;
    eventually("idle ones stay", || bench.tag.processes().is_empty()).await;
    for conversation in &conversations {
        for one in &two {
            assert!(matches!(pool.settled(conversation, &one.server.id).await, Health::Idle));
        }
    }
}

/// Complaint 5: however many servers and conversations there are, so many run at once and no more.
#[tokio::test]
async fn b24_many_servers_in_many_conversations_have_a_cap() {
    let bench = Bench::new();
    let (pool, _changes) = Pool::new(bench.logs.clone(), Arc::new(Memory::default()), Bounds::default());
    let sixteen = wanted(&bench, 16).await;
    for conversation in ["one", "two", "three"] {
        connected(&pool, conversation, &sixteen).await;
        eventually("there are more of them", || bench.tag.processes().len() <= limits::LIVE_CONNECTIONS).await;
    }
    assert_eq!(bench.tag.processes().len(), limits::LIVE_CONNECTIONS);
    pool.shutdown().await;
    assert!(bench.tag.processes().is_empty());
}

/// Ten global servers, and conversations that tick all of them.
struct House {
    home: Home,
    tag: Tag,
    servers: Vec<String>,
}

impl House {
    fn new() -> Self {
        let (home, tag) = (Home::new(), Tag::new());
        let entry = |_| json!({ "command": program("fake-server"), "env": { Tag::NAME: tag.value() } });
        let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
        let all: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), entry(name))).collect();
        let file = home.global(all.into());
        Self { servers: names.iter().map(|name| id(&file, name)).collect(), home, tag }
    }
}

async fn tick(window: &Window, conversation: &str, server: &str) {
    let params = json!({ "conversation": conversation, "server": server, "ticked": true });
    window.ok("server.tick", params).await;
}

/// Complaint 6: who ticked ten servers in five conversations and calls one tool has one process.
#[tokio::test]
async fn b20b_a_call_starts_its_own_server_and_no_other() {
    let house = House::new();
    let window = house.home.window().await;
    let mut conversations = Vec::new();
    for _ in 0..5 {
        let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
        window.ok("conversation.set_level", json!({ "id": conversation, "level": "full_access" })).await;
        for server in &house.servers {
            tick(&window, &conversation, server).await;
        }
        conversations.push(conversation);
    }
    window.engine.shutdown().await;
    drop(window);
    assert_eq!(house.tag.processes(), Vec::<i32>::new());

    // The next start of the app.
    let mut window = house.home.window().await;
    for conversation in &conversations {
        window.ok("conversation.open", json!({ "id": conversation })).await;
    }
    let call = json!({ "conversation": conversations[2], "server": house.servers[7], "tool": "echo", "arguments": "{}" });
    let entry = window.id("call.start", call).await;
    let state = window
        .wait(|event| match event {
            Event::Entry { entry: changed, .. } if changed.id == entry => match changed.body {
                EntryBody::Call(call) if call.ended_at.is_some() => Some(call.state),
                _ => None,
            },
            _ => None,
        })
        .await;
    assert!(matches!(state, CallState::Done(_)), "{state:?}");
    assert_eq!(house.tag.processes().len(), 1);
    window.engine.shutdown().await;
    assert_eq!(house.tag.processes(), Vec::<i32>::new());
}

/// Complaint 38: each conversation has its own choice of servers, and a server's file one of its tools.
#[tokio::test]
async fn two_conversations_have_different_sets() {
    let house = House::new();
    let hidden = ["exact", "never"];
    let mut entry = json!({ "command": program("fake-server"), "env": { Tag::NAME: house.tag.value() } });
    entry["disabledTools"] = json!(hidden);
    house.home.global(json!({ "s0": entry, "s1": { "command": program("fake-server") } }));
    let mut window = house.home.window().await;
    for (server, tools, shown) in [(&house.servers[0], 10, 12), (&house.servers[1], 12, 12)] {
        let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
        window.ok("conversation.open", json!({ "id": conversation })).await;
        tick(&window, &conversation, server).await;
        let offered = window
            .wait(|event| match event {
                Event::ServerStatus { conversation: of, status: ServerStatus::Connected(connected), .. }
                    if of == conversation =>
                {
                    Some(connected.tools)
                }
                _ => None,
            })
            .await;
        assert_eq!(offered, tools);
        let listed = window.ok("tools.list", json!({ "id": conversation })).await["tools"].clone();
        let listed = listed.as_array().unwrap();
        assert!(listed.iter().all(|tool| tool["server"] == **server), "{listed:#?}");
        let disabled: Vec<&str> =
            listed.iter().filter(|tool| tool["disabled"] == true).map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!((listed.len(), disabled.as_slice()), (shown, if tools == 10 { &hidden[..] } else { &[] }));
    }
    window.engine.shutdown().await;
}
