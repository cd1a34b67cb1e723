//! One call: as a client, through the pool of connections, against rmcp's client as it comes; and by the whole road a person's
//! call takes, with its file read again, its transcript kept and its windows told.

use std::future::pending;
use std::sync::Arc;

use mework_engine::config::{self, Level, Scope, ServerEntry};
use mework_engine::machine::Machine;
use mework_engine::mcp::log::Logs;
use mework_engine::mcp::pool::{Bounds, Effort, Pool, Wanted};
use mework_engine::text::Scrubber;
use mework_tests::engine::Home;
use mework_tests::servers::{Memory, arguments};
use serde_json::{Map, Value, json};

use super::Rows;
use crate::floor::Bare;
use crate::measure::{Measured, Rounds, by_turns, timed, us};
use crate::product::{Conversation, surroundings};
use crate::servers::{HttpServer, Program};

/// Calls of one round: one alone is too short for the clock of a busy machine.
const BATCH: u32 = 50;

fn hello() -> Value {
    json!({ "message": "How long does it take to say hello?" })
}

pub async fn stdio(rounds: Rounds) -> Rows {
    let program = Program::sample();
    let bare = Bare::stdio(&program).await;
    let measured = client(rounds, program.entry(), &bare).await;
    bare.end().await;
    vec![("call-stdio", measured)]
}

pub async fn http(rounds: Rounds) -> Rows {
    let server = HttpServer::start();
    let bare = Bare::http(&server.url).await;
    let measured = client(rounds, server.entry(), &bare).await;
    bare.end().await;
    vec![("call-http", measured)]
}

async fn client(rounds: Rounds, entry: Value, bare: &Bare) -> Measured {
    let home = Home::new();
    home.global(json!({ "server": entry }));
    let level = Level { machine: Machine::local(surroundings(&home)), scope: Scope::Global };
    let Some(ServerEntry::Ready(server)) = config::list(&level).await.servers.swap_remove("server") else {
        panic!("the server's entry is not usable")
    };
    let wanted = Wanted { server, cwd: home.path() };
    let (pool, mut changes) = Pool::new(Logs::new(Scrubber::default()), Arc::new(Memory::default()), Bounds::default());
    tokio::spawn(async move { while changes.recv().await.is_some() {} });
    pool.ensure("bench", vec![wanted.clone()], Effort::Quiet);
    pool.settled("bench", &wanted.server.id).await;

    let (ours_arguments, bare_arguments) = (arguments(hello()), hello());
    let ours = async || {
        let calls = async {
            for _ in 0..BATCH {
                let call = pool.call("bench", wanted.clone(), "echo", &ours_arguments, None, pending());
                assert!(!call.await.expect("a result").is_error);
            }
        };
        us(timed(calls).await / BATCH)
    };
    let floor = async || {
        let calls = async {
            for _ in 0..BATCH {
                assert_ne!(bare.call("echo", &bare_arguments).await.is_error, Some(true));
            }
        };
        us(timed(calls).await / BATCH)
    };
    let measured = by_turns(rounds.of(41), ours, floor).await;
    pool.shutdown().await;
    measured
}

/// The floor is the same bare client.
pub async fn road(rounds: Rounds) -> Rows {
    const BATCH: u32 = 10;
    let (program, http) = (Program::sample(), HttpServer::start());
    let entries = Map::from_iter([("stdio".to_owned(), program.entry()), ("http".to_owned(), http.entry())]);
    let conversation = Conversation::with(entries, &[]).await;
    let bare = [Bare::stdio(&program).await, Bare::http(&http.url).await];
    let mut rows = Rows::new();
    for (server, id) in ["call-road-stdio", "call-road-http"].into_iter().enumerate() {
        let window = tokio::sync::Mutex::new(conversation.open().await);
        conversation.connect(&mut *window.lock().await).await;
        let ours = async || {
            let mut window = window.lock().await;
            let mut took = std::time::Duration::ZERO;
            for _ in 0..BATCH {
                took += conversation.call(&mut window, server, "echo", &hello().to_string()).await;
            }
            us(took / BATCH)
        };
        let floor = async || {
            let calls = async {
                for _ in 0..BATCH {
                    bare[server].call("echo", &hello()).await;
                }
            };
            us(timed(calls).await / BATCH)
        };
        rows.push((id, by_turns(rounds.of(15), ours, floor).await));
        window.lock().await.engine.shutdown().await;
    }
    for bare in bare {
        bare.end().await;
    }
    rows
}
