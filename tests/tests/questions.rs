//! Requests that servers make, over HTTP (security rows 24, 31): as many as are answered, and no more at a time than may
//! wait for their answers.

use std::future::pending;
use std::time::Duration;

use mework_engine::machine::process::Tally;
use mework_engine::mcp::connection::{CallError, Connection, prepare};
use mework_tests::http_server::{HttpServer, Reply, Seen, Step};
use mework_tests::servers::{Bench, arguments};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(30);

/// A server that asks so often in the stream of each call, and what it does then; `takes`: whether it takes the answers.
async fn asking(questions: usize, takes: bool) -> HttpServer {
    HttpServer::start(move |seen, _| {
        if seen.method() == "tools/call" {
            let ask = |n: usize| json!({ "jsonrpc": "2.0", "id": format!("ask-{n}"), "method": "ping" });
            let mut steps: Vec<Step> = (0..questions).map(|n| Reply::event(&ask(n))).collect();
            steps.push(if takes { Reply::event(&seen.words("done")) } else { Step::Hold });
            return Some(Reply::Events(steps));
        }
        (is_answer(seen) && !takes).then_some(Reply::Silence)
    })
    .await
}

fn is_answer(seen: &Seen) -> bool {
    seen.body["id"].as_str().is_some_and(|id| id.starts_with("ask-"))
}

async fn open(bench: &Bench, server: &HttpServer) -> Connection {
    let server = bench.server("http", server.entry()).await;
    let log = bench.logs.of(&server.id);
    let prepared = prepare(&server, bench.path(), &log).await.unwrap();
    Connection::open(&server, prepared, None, &log, PATIENCE, &mut |_| {}, &Tally::default()).await.unwrap()
}

#[tokio::test]
async fn a_server_may_ask_as_often_as_it_takes_the_answers() {
    let server = asking(30, true).await;
    let connection = open(&Bench::new(), &server).await;
    for round in 1..=10 {
        connection.call("echo", &arguments(json!({})), PATIENCE, None, pending()).await.unwrap();
        let answers = |server: &HttpServer| server.seen().iter().filter(|seen| is_answer(seen)).count();
        server.until("its answers", |server| answers(server) == 30 * round).await;
    }
}

#[tokio::test]
async fn row_24_a_server_that_asks_and_takes_no_answer_is_ended() {
    let server = asking(300, false).await;
    let connection = open(&Bench::new(), &server).await;
    let error = connection.call("echo", &arguments(json!({})), PATIENCE, None, pending()).await.unwrap_err();
    let CallError::Broken(failure) = error else { panic!("{error:?}") };
    assert_eq!(failure.message, "It sent 256 requests without reading an answer.");
}
