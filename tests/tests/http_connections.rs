//! Streamable HTTP on real sockets: both eras, sessions, streams, what is sent, and what ends a connection.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mework_engine::machine::process::Tally;
use mework_engine::mcp::connection::{CallError, Connection, prepare};
use mework_engine::mcp::pool::{Bounds, Effort, Eras, Pool};
use mework_engine::mcp::result::{Block, CallResult};
use mework_engine::mcp::wire::Progress;
use mework_engine::mcp::{Era, Failure, Health, Peer};
use mework_tests::http_server::{HttpServer, Reply, Seen, Step};
use mework_tests::servers::{Bench, Memory, arguments};
use serde_json::{Value, json};
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(400);

async fn open_as(bench: &Bench, entry: Value, era: Option<Era>) -> Result<Connection, Failure> {
    let server = bench.server("http", entry).await;
    let log = bench.logs.of(&server.id);
    let prepared = prepare(&server, bench.path(), &log).await?;
    Connection::open(&server, prepared, era, &log, PATIENCE, &mut |_| {}, &Tally::default()).await
}

async fn open(bench: &Bench, server: &HttpServer) -> Connection {
    open_as(bench, server.entry(), None).await.unwrap()
}

async fn call(connection: &Connection, tool: &str, given: Value) -> Result<CallResult, CallError> {
    connection.call(tool, &arguments(given), PATIENCE, None, pending()).await
}

fn words(result: &CallResult) -> &str {
    match &result.content[..] {
        [Block::Text { text }] => text,
        other => panic!("{other:?}"),
    }
}

async fn echo(connection: &Connection, given: Value) -> Value {
    serde_json::from_str(words(&call(connection, "echo", given).await.unwrap())).unwrap()
}

/// Why a call broke.
async fn broken(connection: &Connection) -> String {
    match call(connection, "echo", json!({})).await {
        Err(CallError::Broken(failure)) => failure.message,
        other => panic!("{other:?}"),
    }
}

fn is_call(seen: &Seen) -> bool {
    seen.method() == "tools/call"
}

/// An answer in a stream that ends after it.
fn streamed(answer: &Value) -> Reply {
    Reply::Events(vec![Reply::event(answer)])
}

/// What is sent in the era of sessions, byte for byte where that counts, and that the session is ended.
#[tokio::test]
async fn a_server_with_sessions() {
    let server = HttpServer::good().await;
    let mut bench = Bench::new();
    bench.set("DOCS_TOKEN", "t0p-s3cret");
    let entry =
        json!({ "type": "http", "url": server.url(), "headers": { "Authorization": "Bearer ${DOCS_TOKEN}", "X-Team": "blue" } });
    let connection = open_as(&bench, entry, None).await.unwrap();
    let peer = Peer { era: Era::Initialize, protocol: "2025-11-25".into(), name: "http".into(), version: "2.0".into() };
    assert_eq!(*connection.peer(), peer);
    let tools = connection.list_tools(PATIENCE).await.unwrap();
    assert_eq!(tools.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["echo", "exact", "odd"]);
    // Row 7: what was shown is what is sent.
    let exact = mework_engine::tools::arguments::parse("{ \"n\": 1.50e2, \"big\": 123456789012345678901234567890 }").unwrap();
    let result = connection.call("exact", &exact, PATIENCE, None, pending()).await.unwrap();
    assert!(words(&result).contains("\"arguments\":{ \"n\": 1.50e2, \"big\": 123456789012345678901234567890 }"), "{result:?}");
    connection.close().await;

    server.until("the farewell", |server| server.sessions() == 0).await;
    let greeting = ["POST server/discover", "POST initialize", "POST notifications/initialized"];
    let log: Vec<String> = server.log().into_iter().filter(|line| line != "GET").collect();
    assert_eq!(log[..3], greeting);
    assert_eq!(log[3..], ["POST tools/list", "POST tools/call", "DELETE"]);
    for seen in server.seen() {
        assert_eq!(
            (seen.header("authorization"), seen.header("x-team"), seen.path.as_str()),
            ("Bearer t0p-s3cret", "blue", "/mcp")
        );
        assert_eq!(seen.header("accept-encoding"), "identity");
        let early = matches!(seen.method(), "initialize" | "server/discover");
        assert_eq!(seen.header("mcp-session-id").is_empty(), early, "{seen:?}");
        let version = match seen.method() {
            "initialize" => "",
            "server/discover" => "2026-07-28",
            _ => "2025-11-25",
        };
        assert_eq!(seen.header("mcp-protocol-version"), version, "{seen:?}");
        match seen.verb.as_str() {
            "POST" => assert_eq!(
                (seen.header("accept"), seen.header("content-type")),
                ("application/json, text/event-stream", "application/json")
            ),
            "GET" => assert_eq!(seen.header("accept"), "text/event-stream"),
            other => assert_eq!(other, "DELETE"),
        }
    }
    // Row 39: a session's id is nobody's to read.
    let id = server.seen().iter().map(|seen| seen.header("mcp-session-id").to_string()).find(|id| !id.is_empty()).unwrap();
    let lines = bench.logs.lines(&connection.server().id);
    assert!(lines.iter().all(|line| !line.text.contains(&id) && !line.text.contains("t0p-s3cret")), "{lines:?}");
}

/// 2026-07-28: no sessions, and headers that repeat what the body says.
#[tokio::test]
async fn a_server_without_sessions() {
    let server = HttpServer::modern(|seen, _| {
        let region =
            |mark: &str| json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": mark } } });
        let tools =
            json!([{ "name": "grüß", "inputSchema": region("Region") }, { "name": "bad", "inputSchema": region("not a token") }]);
        (seen.method() == "tools/list").then(|| Reply::json(seen.result(json!({ "tools": tools }))))
    })
    .await;
    let bench = Bench::new();
    let connection = open(&bench, &server).await;
    let peer = Peer { era: Era::Discover, protocol: "2026-07-28".into(), name: "http".into(), version: "2.0".into() };
    assert_eq!(*connection.peer(), peer);
    let tools = connection.list_tools(PATIENCE).await.unwrap();
    assert_eq!(tools.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["grüß"]);
    assert_eq!(tools.set_aside[0].reason, "`x-mcp-header` of `region` is no header name");
    call(&connection, "grüß", json!({ "region": "eu west" })).await.unwrap();
    connection.close().await;
    assert_eq!(server.log(), ["POST server/discover", "POST tools/list", "POST tools/call"]);
    for seen in server.seen() {
        assert_eq!((seen.header("mcp-protocol-version"), seen.header("mcp-method")), ("2026-07-28", seen.method()));
        assert_eq!(seen.header("mcp-session-id"), "");
    }
    let seen = server.seen();
    assert_eq!((seen[2].header("mcp-name"), seen[2].header("mcp-param-region")), ("=?base64?Z3LDvMOf?=", "eu west"));
    assert_eq!(seen[1].header("mcp-name"), "");
}

#[tokio::test]
async fn a_remembered_era_is_tried_first_and_may_be_wrong() {
    let bench = Bench::new();
    let old = HttpServer::good().await;
    open_as(&bench, old.entry(), Some(Era::Initialize)).await.unwrap();
    assert_eq!(old.count("server/discover"), 0);
    let new = HttpServer::modern(|_, _| None).await;
    let connection = open_as(&bench, new.entry(), Some(Era::Initialize)).await.unwrap();
    assert_eq!(connection.peer().era, Era::Discover);
    assert_eq!(new.log(), ["POST initialize", "POST server/discover"]);
}

/// One socket serves call after call: answers are read to their end.
#[tokio::test]
async fn sockets_are_used_again() {
    let server = HttpServer::start(|seen, _| is_call(seen).then(|| streamed(&seen.words("{}")))).await;
    let bench = Bench::new();
    let connection = open_as(&bench, server.entry(), Some(Era::Initialize)).await.unwrap();
    server.until("the listening request", |server| server.log().contains(&"GET".into())).await;
    let before = server.connections();
    for _ in 0..10 {
        echo(&connection, json!({})).await;
    }
    assert!(server.connections() <= before + 1, "{} sockets, {before} before", server.connections());
}

/// A session that the server lost is opened again, and the call that met it goes through, once.
#[tokio::test]
async fn a_lost_session_is_opened_again() {
    let server = HttpServer::good().await;
    let bench = Bench::new();
    let connection = open(&bench, &server).await;
    connection.list_tools(PATIENCE).await.unwrap();
    server.forget();
    let both = tokio::join!(echo(&connection, json!({ "n": 1 })), echo(&connection, json!({ "n": 2 })));
    assert_eq!(both, (json!({ "n": 1 }), json!({ "n": 2 })));
    assert_eq!((server.count("initialize"), server.sessions()), (2, 1));
    assert!(connection.is_open());
    // Another server may be behind the address now.
    assert!(*connection.tools_changed().borrow());
}

/// Also when the stream of the old one stays open.
#[tokio::test]
async fn a_session_that_was_opened_again_is_listened_to() {
    let server = HttpServer::start(|seen, _| (seen.verb == "GET").then(|| Reply::Events(vec![Step::Hold]))).await;
    let listening = |server: &HttpServer| -> Vec<String> {
        let gets = server.seen().into_iter().filter(|seen| seen.verb == "GET");
        gets.map(|seen| seen.header("mcp-session-id").to_string()).collect()
    };
    let connection = open(&Bench::new(), &server).await;
    server.until("the listening request", |server| listening(server).len() == 1).await;
    server.forget();
    echo(&connection, json!({})).await;
    server.until("another", |server| listening(server).len() == 2).await;
    assert_ne!(listening(&server)[0], listening(&server)[1]);
}

/// Some servers say 400 where the protocol says 404.
#[tokio::test]
async fn a_lost_session_by_another_name() {
    let server = HttpServer::start(|seen, server| {
        (is_call(seen) && server.count("initialize") == 1).then(|| {
            let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "Bad Request: No valid session ID provided" } });
            Reply::Http(400, vec![("Content-Type", "application/json".into())], error.to_string().into_bytes())
        })
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    assert_eq!(echo(&connection, json!({ "n": 1 })).await, json!({ "n": 1 }));
    assert_eq!(server.count("initialize"), 2);
}

#[tokio::test]
async fn a_session_that_is_lost_again_at_once_ends_the_connection() {
    let server = HttpServer::start(|seen, _| is_call(seen).then(|| Reply::status(404, "who?"))).await;
    let connection = open(&Bench::new(), &server).await;
    assert_eq!(broken(&connection).await, "It forgot the session, and a new one could not be opened.");
    assert!(!connection.is_open());
    assert_eq!((server.count("initialize"), server.count("tools/call")), (2, 2));
}

/// What a server says when the session is opened again is what the person hears.
#[tokio::test]
async fn a_session_that_cannot_be_opened_again_says_why() {
    let version = |seen: &Seen, version: &str| {
        let info = json!({ "name": "http", "version": "3.0" });
        Reply::json(seen.result(json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": info })))
    };
    type Answer = fn(&Seen) -> Reply;
    let cases: [(Answer, &str); 4] = [
        (
            |_| Reply::Http(401, vec![("WWW-Authenticate", "Bearer".into())], vec![]),
            "The server did not accept `Authorization` of the entry's `headers` (401). The token may be wrong, expired or for another \
             server; check the variable it comes from.",
        ),
        (
            |_| Reply::status(403, "your seat is taken"),
            "The server refuses access (403). It says: your seat is taken. The token in `Authorization` of the entry's `headers` may lack \
             a permission that the server wants.",
        ),
        (
            |_| Reply::status(503, "starting"),
            "The server failed (503 Service Unavailable). It says: starting. Its own log may say why.",
        ),
        (|_| Reply::status(204, ""), "It forgot the session, and a new one could not be opened."),
    ];
    for (reply, expected) in cases {
        let (message, server) = reopened(reply).await;
        assert_eq!(message, expected);
        assert_eq!((server.count("initialize"), server.count("tools/call")), (2, 1));
    }
    let (message, server) = reopened(move |seen| version(seen, "2099-01-01")).await;
    assert!(
        message.starts_with(
            "It forgot the session, and opened a new one in another version. It speaks version 2099-01-01 of the protocol, and Mework \
             knows 2024-11-05, "
        ),
        "{message}"
    );
    assert_eq!(server.count("tools/call"), 1);
    // A version that is known is as good as the one before.
    let server = HttpServer::start(|seen, server| {
        let again = seen.method() == "initialize" && server.count("initialize") == 2;
        again.then(|| match server.good_reply(seen) {
            Reply::Http(status, headers, body) => {
                let body = String::from_utf8(body).unwrap().replace("2025-11-25", "2025-06-18");
                Reply::Http(status, headers, body.into_bytes())
            }
            other => other,
        })
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    server.forget();
    assert_eq!(echo(&connection, json!({ "n": 1 })).await, json!({ "n": 1 }));
    let sent = server.seen().into_iter().rfind(is_call).unwrap();
    assert_eq!(sent.header("mcp-protocol-version"), "2025-06-18");
}

/// Why a call broke that found its session forgotten, when the server answers like this to be opened again.
async fn reopened(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> (String, HttpServer) {
    let server = HttpServer::start(move |seen, server| match seen.method() {
        "initialize" if server.count("initialize") == 2 => Some(reply(seen)),
        _ => None,
    })
    .await;
    let mut bench = Bench::new();
    bench.set("DOCS_TOKEN", "t0p-s3cret");
    let entry = json!({ "type": "http", "url": server.url(), "headers": { "Authorization": "Bearer ${DOCS_TOKEN}" } });
    let connection = open_as(&bench, entry, None).await.unwrap();
    server.forget();
    let message = broken(&connection).await;
    assert!(!connection.is_open());
    (message, server)
}

/// Progress and requests of the server ride in the stream before the answer (row 31: they get an error).
#[tokio::test]
async fn an_answer_in_a_stream_with_progress_and_requests() {
    let server = HttpServer::start(|seen, _| {
        is_call(seen).then(|| {
            let token = &seen.body["params"]["_meta"]["progressToken"];
            let progress = |n: u32| {
                let params = json!({ "progressToken": token, "progress": n, "total": 2, "message": format!("step {n}") });
                Reply::event(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
            };
            let ask = json!({ "jsonrpc": "2.0", "id": "ask", "method": "sampling/createMessage", "params": { "messages": [] } });
            // An answer to another request does not belong here (row 39).
            let stray = json!({ "jsonrpc": "2.0", "id": 9999, "result": { "content": [] } });
            let steps = vec![
                Step::Text(": hello\n\nevent: ping\ndata: 1\n\n".into()),
                progress(1),
                Reply::event(&ask),
                Reply::event(&stray),
                progress(2),
                Reply::event(&seen.words("done")),
            ];
            Reply::Events(steps)
        })
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    let (to, mut from) = tokio::sync::mpsc::channel(8);
    let result = connection.call("echo", &arguments(json!({})), PATIENCE, Some(to), pending()).await.unwrap();
    assert_eq!(words(&result), "done");
    for n in 1..=2 {
        let step = Progress { progress: Some(f64::from(n)), total: Some(2.0), message: Some(format!("step {n}")) };
        assert_eq!(from.recv().await, Some(step));
    }
    server.until("the answer to its question", |server| server.seen().iter().any(|seen| seen.body["id"] == "ask")).await;
    let answer = server.seen().into_iter().find(|seen| seen.body["id"] == "ask").unwrap();
    assert_eq!(answer.body["error"]["code"], json!(-32601));
}

/// A stream that breaks off after an event with an id is resumed from there, after the pause the server asked for.
#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed() {
    let resumed = Arc::new(AtomicUsize::new(0));
    let count = resumed.clone();
    let answer = std::sync::Mutex::new(Value::Null);
    let server = HttpServer::start(move |seen, _| {
        if is_call(seen) {
            *answer.lock().unwrap() = seen.words("at last");
            return Some(Reply::Events(vec![Step::Text("retry: 60\nid: e-1\ndata:\n\n".into()), Step::Cut]));
        }
        match seen.header("last-event-id") {
            "e-1" => {
                count.fetch_add(1, Ordering::SeqCst);
                // Ends properly, and still without an answer.
                Some(Reply::Events(vec![Step::Text("id: e-2\ndata:\n\n".into())]))
            }
            "e-2" => Some(streamed(&answer.lock().unwrap())),
            _ => None,
        }
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    assert_eq!(words(&call(&connection, "echo", json!({})).await.unwrap()), "at last");
    assert_eq!(resumed.load(Ordering::SeqCst), 1);
    assert_eq!(server.count("tools/call"), 1, "a call is never sent twice");
    assert!(connection.is_open());
}

/// Resuming has an end: five fruitless attempts, or a server that says no.
#[tokio::test]
async fn a_stream_that_cannot_be_resumed_breaks_the_call() {
    for (id, gets) in [("", 0), ("id: e-1\n", 1)] {
        let server = HttpServer::start(move |seen, _| {
            is_call(seen).then(|| Reply::Events(vec![Step::Text(format!("retry: 50\n{id}data:\n\n")), Step::Cut]))
        })
        .await;
        let connection = open(&Bench::new(), &server).await;
        let message = broken(&connection).await;
        assert!(message.contains("closed the connection before its answer was complete"), "{message}");
        let resumptions = server.seen().iter().filter(|seen| !seen.header("last-event-id").is_empty()).count();
        assert_eq!((resumptions, server.count("tools/call")), (gets, 1));
    }
    let server = HttpServer::start(move |seen, _| {
        let nothing = Reply::Events(vec![]);
        match (is_call(seen), seen.header("last-event-id")) {
            (true, _) => Some(Reply::Events(vec![Step::Text("retry: 50\nid: e\ndata:\n\n".into())])),
            (false, "e") => Some(nothing),
            _ => None,
        }
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    assert_eq!(broken(&connection).await, "It ended its answer before it was complete, and the rest could not be had.");
    assert_eq!(server.seen().iter().filter(|seen| seen.header("last-event-id") == "e").count(), 5);
}

/// The listening request: changed tools are noticed, a broken stream is taken up again.
#[tokio::test]
async fn what_a_server_says_by_itself_is_heard() {
    let go = Arc::new(Notify::new());
    let wait = go.clone();
    let server = HttpServer::start(move |seen, _| {
        if seen.verb != "GET" {
            return None;
        }
        Some(match seen.header("last-event-id") {
            "" => Reply::Events(vec![Step::Text("retry: 50\nid: g-1\ndata:\n\n".into()), Step::Cut]),
            _ => {
                let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                Reply::Events(vec![Step::Wait(wait.clone()), Reply::event(&changed), Step::Hold])
            }
        })
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    server.until("the second listening request", |server| server.log().iter().filter(|line| *line == "GET").count() == 2).await;
    assert!(!*connection.tools_changed().borrow());
    go.notify_one();
    mework_tests::eventually("the change was not heard", || *connection.tools_changed().borrow()).await;
    connection.close().await;
    server.until("the end of the listening request", |server| server.hung_up() == 1).await;
}

/// B27: in the era of sessions a message, and hanging up in both.
#[tokio::test]
async fn b27_a_cancelled_or_timed_out_call_is_told_to_the_server() {
    let held = |seen: &Seen, _: &HttpServer| is_call(seen).then(|| Reply::Events(vec![Step::Hold]));
    for modern in [false, true] {
        let server = if modern { HttpServer::modern(held).await } else { HttpServer::start(held).await };
        let connection = open(&Bench::new(), &server).await;
        let timed_out = connection.call("echo", &arguments(json!({})), SHORT, None, pending()).await;
        assert_eq!(timed_out.unwrap_err(), CallError::TimedOut(SHORT));
        server.until("the client to hang up", |server| server.hung_up() == 1).await;
        let cancelled: Vec<Seen> = server.seen().into_iter().filter(|seen| seen.method() == "notifications/cancelled").collect();
        assert_eq!(cancelled.len(), usize::from(!modern));
        if let [told] = &cancelled[..] {
            let id = &server.seen().into_iter().find(is_call).unwrap().body["id"];
            assert_eq!(&told.body["params"]["requestId"], id);
        }
        assert!(!connection.is_open(), "B24");
    }
}

/// Row 23, B21: a body of 8 MiB at most, and one event; both end the connection with the limit's name.
#[tokio::test]
async fn row_23_messages_are_bounded() {
    let server = HttpServer::start(|seen, _| match seen.body["params"]["arguments"]["how"].as_str() {
        Some("body") => Some(Reply::json(seen.words(&"x".repeat(8 * 1024 * 1024)))),
        Some("event") => Some(Reply::Events(vec![Step::Text("data: ".into()), Step::Forever("x".repeat(64 * 1024))])),
        Some("big") => Some(Reply::json(seen.words(&"x".repeat(1024 * 1024)))),
        _ => None,
    })
    .await;
    let bench = Bench::new();
    for how in ["body", "event"] {
        let connection = open(&bench, &server).await;
        let Err(CallError::Broken(failure)) = call(&connection, "echo", json!({ "how": how })).await else { panic!("{how}") };
        assert_eq!(failure.message, "It sent a message longer than 8 MiB, the limit for one message.", "{how}");
        assert!(!connection.is_open());
    }
    // B26: smaller, and still refused, with its size; the connection lives.
    let connection = open(&bench, &server).await;
    let Err(CallError::Result(refused)) = call(&connection, "echo", json!({ "how": "big" })).await else { panic!("no refusal") };
    assert!(refused.to_string().contains("the limit is 65536 bytes"), "{refused}");
    assert!(connection.is_open());
}

/// Row 24: too many messages for too long end the connection, wherever they come.
#[tokio::test]
async fn row_24_a_flood_ends_the_connection() {
    let server = HttpServer::start(|seen, _| {
        let noise = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
        let many = format!("data: {noise}\n\n").repeat(150);
        (seen.verb == "GET").then(|| Reply::Events(vec![Step::EachSecond(many, 10)]))
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    let failure = connection.until_broken().await;
    assert_eq!(failure.message, "It sent more than 1000 messages a second for 5 seconds.");
    assert!(!connection.is_open());
}

/// A list of messages is taken apart; one that is too long is no message.
#[tokio::test]
async fn messages_may_come_as_a_list() {
    let server = HttpServer::start(|seen, _| {
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        let copies = seen.body["params"]["arguments"]["copies"].as_u64()?;
        let mut list = vec![progress; copies as usize];
        list.push(seen.words("done"));
        Some(Reply::json(json!(list)))
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    assert_eq!(words(&call(&connection, "echo", json!({ "copies": 1023 })).await.unwrap()), "done");
    assert!(*connection.tools_changed().borrow());
    let Err(CallError::Broken(failure)) = call(&connection, "echo", json!({ "copies": 1024 })).await else { panic!("no fault") };
    assert!(failure.message.starts_with("What it answered is no protocol message, such as `[{"), "{failure:?}");
}

/// Row 23: heads that drip and answers that never come end with the time limit of what waits for them.
#[tokio::test]
async fn row_23_slow_heads_and_silence_have_an_end() {
    let server = HttpServer::start(|seen, _| match seen.body["params"]["name"].as_str() {
        Some("odd") => Some(Reply::Drip),
        Some("exact") => Some(Reply::Silence),
        _ => None,
    })
    .await;
    let bench = Bench::new();
    for tool in ["odd", "exact"] {
        let connection = open(&bench, &server).await;
        let end = connection.call(tool, &arguments(json!({})), SHORT, None, pending()).await;
        assert_eq!(end.unwrap_err(), CallError::TimedOut(SHORT), "{tool}");
    }
}

/// Errors of a server in every shape HTTP allows are the call's, not the connection's.
#[tokio::test]
async fn a_json_rpc_error_leaves_the_connection_alone() {
    let server = HttpServer::start(|seen, _| {
        let status = seen.body["params"]["arguments"]["status"].as_u64()?;
        let body = seen.error(-32602, "no such thing").to_string().into_bytes();
        Some(Reply::Http(status as u16, vec![("Content-Type", "application/json".into())], body))
    })
    .await;
    let connection = open(&Bench::new(), &server).await;
    for status in [200, 400, 422, 500] {
        let error = call(&connection, "echo", json!({ "status": status })).await.unwrap_err();
        assert_eq!(error, CallError::Refused("no such thing (code -32602)".into()), "{status}");
        assert!(connection.is_open());
    }
}

/// Row 39: each conversation has its own session; nothing of one reaches the other.
#[tokio::test]
async fn row_39_each_conversation_has_its_own_session() {
    // The second conversation's stream carries an answer to the first one's call.
    let server = HttpServer::start(|seen, _| {
        (is_call(seen) && seen.body["params"]["arguments"]["who"] == "two").then(|| {
            let mut foreign = seen.words("of one");
            foreign["id"] = json!(seen.body["id"].as_u64().unwrap() + 1);
            Reply::Events(vec![Reply::event(&foreign), Reply::event(&seen.words("of two"))])
        })
    })
    .await;
    let bench = Bench::new();
    let memory = Arc::new(Memory::default());
    let (pool, _changes) = Pool::new(bench.logs.clone(), memory.clone(), Bounds::default());
    let wanted = bench.wanted("http", server.entry()).await;
    for who in ["one", "two"] {
        pool.ensure(who, vec![wanted.clone()], Effort::Turn);
        let health = pool.settled(who, &wanted.server.id).await;
        assert!(matches!(health, Health::Connected { .. }), "{health:?}");
    }
    assert_eq!(memory.remembered(&wanted.server.id), Some(Era::Initialize));
    let ask = async |who: &str| {
        let result = pool.call(who, wanted.clone(), "echo", &arguments(json!({ "who": who })), None, pending()).await.unwrap();
        words(&result).to_string()
    };
    let (one, two) = tokio::join!(ask("one"), ask("two"));
    assert_eq!((one.as_str(), two.as_str()), (r#"{"who":"one"}"#, "of two"));
    let sessions: std::collections::BTreeMap<String, String> = server
        .seen()
        .iter()
        .filter(|seen| is_call(seen))
        .map(|seen| (seen.body["params"]["arguments"]["who"].to_string(), seen.header("mcp-session-id").to_string()))
        .collect();
    assert_eq!((sessions.len(), server.sessions()), (2, 2));
    pool.close_conversation("one").await;
    assert_eq!(server.sessions(), 1);
    pool.shutdown().await;
    assert_eq!(server.sessions(), 0);
}

/// B24: a header's value is part of what a connection is.
#[tokio::test]
async fn b24_a_changed_value_connects_afresh() {
    let server = HttpServer::good().await;
    let mut bench = Bench::new();
    let (pool, _changes) = Pool::new(bench.logs.clone(), Arc::new(Memory::default()), Bounds::default());
    let entry = json!({ "type": "http", "url": server.url(), "headers": { "X-Key": "${KEY}" } });
    for (key, sessions) in [("first-1", 1), ("first-1", 1), ("second-2", 2)] {
        bench.set("KEY", key);
        let wanted = bench.wanted("http", entry.clone()).await;
        pool.call("c", wanted, "echo", &arguments(json!({})), None, pending()).await.unwrap();
        assert_eq!(server.count("initialize"), sessions);
        assert_eq!(server.seen().iter().rfind(|seen| is_call(seen)).unwrap().header("x-key"), key);
    }
    assert_eq!(server.sessions(), 1, "the old one was ended");
}
