//! Servers of the protocol version without sessions say that their tools changed only to who asked for it: what is asked,
//! what is heard, and that nothing is lost where it is refused. And tools that changed, however that was said: listed again
//! once, and shown.
#![cfg(target_os = "linux")]

use std::future::pending;
use std::sync::Arc;

use mework_engine::mcp::pool::{Bounds, Effort, Pool, Wanted};
use mework_engine::mcp::{Era, Health};
use mework_engine::wire::{Event, ServerStatus};
use mework_tests::engine::{Home, id, program};
use mework_tests::eventually;
use mework_tests::http_server::{HttpServer, Reply, Seen, Step};
use mework_tests::servers::{Bench, Memory, arguments};
use serde_json::{Value, json};
use tokio::sync::Notify;

const REFUSES: &str = "--not=initialize:error";

struct Rig {
    bench: Bench,
    pool: Pool,
    _changes: tokio::sync::mpsc::UnboundedReceiver<mework_engine::mcp::pool::Change>,
}

impl Rig {
    fn new() -> Self {
        let bench = Bench::new();
        let (pool, changes) = Pool::new(bench.logs.clone(), Arc::new(Memory::default()), Bounds::default());
        Self { bench, pool, _changes: changes }
    }
    /// A program of this protocol version that notes what it is asked.
    async fn fake(&self, flags: &[&str]) -> Wanted {
        let log = format!("--log={}", self.bench.file("log").display());
        self.bench.wanted("a", self.bench.fake(&[&[log.as_str()], flags].concat())).await
    }
    async fn connect(&self, wanted: &Wanted) -> Health {
        self.pool.ensure("c", vec![wanted.clone()], Effort::Quiet);
        self.pool.settled("c", &wanted.server.id).await
    }
    async fn call(&self, wanted: &Wanted, tool: &str, given: Value) {
        self.pool.call("c", wanted.clone(), tool, &arguments(given), None, pending()).await.unwrap();
    }
    fn tools(&self, wanted: &Wanted) -> Vec<String> {
        names(&self.pool.health("c", &wanted.server.id))
    }
    fn asked(&self, method: &str) -> usize {
        self.bench.noted("log").iter().filter(|line| **line == format!("request {method}")).count()
    }
}

fn names(health: &Health) -> Vec<String> {
    match health {
        Health::Connected { tools, .. } => tools.tools.iter().map(|tool| tool.name.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

/// Complaint 26, in the later protocol version.
#[tokio::test]
async fn a_program_is_asked_and_heard() {
    let rig = Rig::new();
    let wanted = rig.fake(&[REFUSES, "--listen=serve", "--changes", "--tools=1"]).await;
    assert_eq!(names(&rig.connect(&wanted).await), ["tool0"]);
    let asked: Vec<String> = rig.bench.noted("log").into_iter().skip_while(|line| !line.contains("server/discover")).collect();
    assert_eq!(asked, ["request server/discover", "request subscriptions/listen", "request tools/list"]);
    rig.call(&wanted, "echo", json!({})).await;
    eventually("the new tool was not seen", || rig.tools(&wanted) == ["tool0", "late"]).await;
    assert_eq!((rig.asked("tools/list"), rig.asked("subscriptions/listen")), (2, 1));
}

fn discovered(seen: &Seen, list_changed: bool) -> Reply {
    Reply::json(seen.result(json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": { "listChanged": list_changed } },
        "ttlMs": 0, "cacheScope": "private", "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "http", "version": "2.0" } }
    })))
}

/// A message of the subscription that this request asked for.
fn of(seen: &Seen, method: &str, accepted: Option<Value>) -> Step {
    let mut params = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": seen.body["id"] } });
    if let Some(accepted) = accepted {
        params["notifications"] = accepted;
    }
    Reply::event(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

fn acknowledged(seen: &Seen) -> Step {
    of(seen, "notifications/subscriptions/acknowledged", Some(json!({ "toolsListChanged": true })))
}

fn listens(seen: &Seen) -> bool {
    seen.method() == "subscriptions/listen"
}

/// Complaint 26, over HTTP: the stream stays open beside calls, and ends with the connection.
#[tokio::test]
async fn an_address_is_asked_and_heard() {
    let go = Arc::new(Notify::new());
    let wait = go.clone();
    let server = HttpServer::modern(move |seen, server| match seen.method() {
        "server/discover" => Some(discovered(seen, true)),
        "subscriptions/listen" => Some(Reply::Events(vec![
            Step::Text(": hello\n\n".into()),
            acknowledged(seen),
            Step::Wait(wait.clone()),
            of(seen, "notifications/tools/list_changed", None),
            Step::Hold,
        ])),
        "tools/list" => {
            let tool = |n: usize| json!({ "name": format!("tool{n}"), "inputSchema": {} });
            let tools: Vec<Value> = (0..server.count("tools/list")).map(tool).collect();
            Some(Reply::json(seen.result(json!({ "tools": tools }))))
        }
        _ => None,
    })
    .await;
    let rig = Rig::new();
    let wanted = rig.bench.wanted("a", server.entry()).await;
    assert_eq!(names(&rig.connect(&wanted).await), ["tool0"]);
    assert_eq!(server.log(), ["POST server/discover", "POST subscriptions/listen", "POST tools/list"]);
    let seen = server.seen().into_iter().find(listens).unwrap();
    assert_eq!(seen.body["params"]["notifications"], json!({ "toolsListChanged": true }));
    assert_eq!(seen.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!((seen.header("mcp-method"), seen.header("mcp-protocol-version")), ("subscriptions/listen", "2026-07-28"));
    rig.call(&wanted, "tool0", json!({})).await;
    assert_eq!(server.count("tools/list"), 1);
    go.notify_one();
    eventually("the new tool was not seen", || rig.tools(&wanted) == ["tool0", "tool1"]).await;
    rig.pool.shutdown().await;
    server.until("the stream to be hung up", |server| server.hung_up() == 1).await;
    assert_eq!((server.count("subscriptions/listen"), server.count("tools/list")), (1, 2));
}

#[tokio::test]
async fn who_does_not_offer_it_is_not_asked() {
    let rig = Rig::new();
    let wanted = rig.fake(&[REFUSES]).await;
    rig.connect(&wanted).await;
    assert_eq!((rig.asked("tools/list"), rig.asked("subscriptions/listen")), (1, 0));
    // Nor who offers it in the words of the older versions, which need no question.
    let rig = Rig::new();
    let older = rig.fake(&["--listen=serve", "--changes", "--tools=1"]).await;
    rig.connect(&older).await;
    rig.call(&older, "echo", json!({})).await;
    eventually("the new tool was not seen", || rig.tools(&older) == ["tool0", "late"]).await;
    assert_eq!(rig.asked("subscriptions/listen"), 0);

    let server = HttpServer::modern(|seen, _| (seen.method() == "server/discover").then(|| discovered(seen, false))).await;
    let rig = Rig::new();
    let wanted = rig.bench.wanted("a", server.entry()).await;
    rig.connect(&wanted).await;
    assert_eq!(server.log(), ["POST server/discover", "POST tools/list"]);
}

type Refusal = fn(&Seen) -> Reply;

/// A refusal of any kind costs nothing: tools are listed, calls work, no word of it.
#[tokio::test]
async fn a_refusal_costs_nothing() {
    for how in ["refuse", "silent", "nothing"] {
        let rig = Rig::new();
        let wanted = rig.fake(&[REFUSES, &format!("--listen={how}")]).await;
        let Health::Connected { tools, peer, .. } = rig.connect(&wanted).await else { panic!("{how}") };
        assert_eq!((tools.tools.len(), tools.notices.len(), peer.era), (12, 0, Era::Discover), "{how}");
        rig.call(&wanted, "echo", json!({})).await;
        assert_eq!((rig.asked("subscriptions/listen"), rig.asked("server/discover")), (1, 1), "{how}");
        if how == "nothing" {
            let cancelled = || rig.bench.noted("log").iter().any(|line| line.contains("notifications/cancelled"));
            eventually("it was not told that nobody listens", cancelled).await;
        }
    }
    let json = |seen: &Seen, value: Value| Reply::json(seen.result(value));
    let refusals: [(&str, Refusal); 8] = [
        ("404", |_| Reply::status(404, "")),
        ("401", |_| Reply::status(401, "")),
        ("500", |_| Reply::status(500, "out of order")),
        ("an error", |seen| Reply::json(seen.error(-32601, "Method not found"))),
        ("a web page", |_| Reply::Http(200, vec![("Content-Type", "text/html".into())], b"<p>".to_vec())),
        ("no answer", |_| Reply::Http(202, vec![], vec![])),
        ("silence", |_| Reply::Silence),
        ("nothing of it", |seen| {
            Reply::Events(vec![of(seen, "notifications/subscriptions/acknowledged", Some(json!({}))), Step::Hold])
        }),
    ];
    for (how, reply) in refusals {
        let server = HttpServer::modern(move |seen, _| match seen.method() {
            "server/discover" => Some(discovered(seen, true)),
            "subscriptions/listen" => Some(reply(seen)),
            "tools/call" => Some(json(seen, json!({ "content": [] }))),
            _ => None,
        })
        .await;
        let rig = Rig::new();
        let wanted = rig.bench.wanted("a", server.entry()).await;
        let Health::Connected { tools, .. } = rig.connect(&wanted).await else { panic!("{how}") };
        assert_eq!((tools.tools.len(), tools.notices.len()), (3, 0), "{how}");
        rig.call(&wanted, "echo", json!({})).await;
        assert_eq!((server.count("subscriptions/listen"), server.count("server/discover")), (1, 1), "{how}");
        assert!(matches!(rig.pool.health("c", &wanted.server.id), Health::Connected { .. }), "{how}");
    }
}

/// A stream that ends is asked for again, and what changed meanwhile is seen.
#[tokio::test]
async fn a_subscription_that_ends_is_asked_for_again() {
    for how in ["end", "cancel"] {
        let rig = Rig::new();
        let wanted = rig.fake(&[REFUSES, &format!("--listen={how}")]).await;
        rig.connect(&wanted).await;
        eventually("it was not asked for again", || rig.asked("subscriptions/listen") >= 2).await;
        eventually("tools were not listed again", || rig.asked("tools/list") >= 2).await;
        assert!(matches!(rig.pool.health("c", &wanted.server.id), Health::Connected { .. }), "{how}");
    }
    let server = HttpServer::modern(|seen, server| match seen.method() {
        "server/discover" => Some(discovered(seen, true)),
        "subscriptions/listen" if server.count("subscriptions/listen") == 1 => {
            Some(Reply::Events(vec![acknowledged(seen), Step::Cut]))
        }
        "subscriptions/listen" => Some(Reply::Events(vec![acknowledged(seen), Step::Hold])),
        _ => None,
    })
    .await;
    let rig = Rig::new();
    let wanted = rig.bench.wanted("a", server.entry()).await;
    rig.connect(&wanted).await;
    server.until("another list", |server| server.count("tools/list") == 2).await;
    assert_eq!(server.count("subscriptions/listen"), 2);
    assert!(!server.log().contains(&"GET".to_owned()), "streams of this version are not resumed");
    let ids: std::collections::HashSet<String> =
        server.seen().iter().filter(|seen| listens(seen)).map(|seen| seen.body["id"].to_string()).collect();
    assert_eq!(ids.len(), 2);
}

/// Row 24: a flood on that stream is one as anywhere.
#[tokio::test]
async fn row_24_a_flood_of_changes_ends_the_connection() {
    let server = HttpServer::modern(|seen, _| match seen.method() {
        "server/discover" => Some(discovered(seen, true)),
        "subscriptions/listen" => {
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            let many = format!("data: {changed}\n\n").repeat(150);
            Some(Reply::Events(vec![acknowledged(seen), Step::EachSecond(many, 10)]))
        }
        _ => None,
    })
    .await;
    let rig = Rig::new();
    let wanted = rig.bench.wanted("a", server.entry()).await;
    rig.connect(&wanted).await;
    let failed = || matches!(rig.pool.health("c", &wanted.server.id), Health::Failed { .. });
    eventually("it goes on", failed).await;
    let Health::Failed { failure } = rig.pool.health("c", &wanted.server.id) else { unreachable!() };
    assert_eq!(failure.message, "It sent more than 1000 messages a second for 5 seconds.");
    assert_eq!(server.count("tools/list"), 2, "once at the start, once of its own accord");
}

/// Row 24: however often a server says that its tools changed, they are listed once for each time it is used.
#[tokio::test]
async fn row_24_a_thousand_changes_are_one_listing() {
    let rig = Rig::new();
    let wanted = rig.fake(&["--also=changes"]).await;
    rig.connect(&wanted).await;
    for turn in 1..=3 {
        rig.call(&wanted, "changes", json!({ "count": 1000 })).await;
        eventually("they were not listed again", || rig.asked("tools/list") == 1 + turn).await;
        rig.pool.settled("c", &wanted.server.id).await;
        // What came after the last of them would have led to another listing by now.
        rig.call(&wanted, "echo", json!({})).await;
        assert_eq!(rig.asked("tools/list"), 1 + turn);
    }
}

/// Who called has seen the tools as they were: nothing is listed while a call runs, however the others end.
#[tokio::test]
async fn what_changed_during_a_call_is_listed_when_it_is_over() {
    let rig = Rig::new();
    let wanted = rig.fake(&["--also=changes", "--also=release"]).await;
    rig.connect(&wanted).await;
    {
        let hold = arguments(json!({ "hold": true }));
        let running = rig.pool.call("c", wanted.clone(), "changes", &hold, None, pending());
        tokio::pin!(running);
        let others = async {
            eventually("the call did not begin", || rig.asked("tools/call") == 1).await;
            // Each answer comes after what was said before it. What the first one's end had led to stands before the last.
            for _ in 0..3 {
                rig.call(&wanted, "echo", json!({})).await;
            }
        };
        tokio::select! {
            ended = &mut running => panic!("{ended:?}"),
            () = others => {}
        }
        assert_eq!((rig.asked("tools/list"), rig.asked("tools/call")), (1, 4));
        let (held, ()) = tokio::join!(running, rig.call(&wanted, "release", json!({})));
        held.unwrap();
    }
    eventually("they were not listed again", || rig.asked("tools/list") == 2).await;
}

/// Point for point what a window hears when tools change: the badge's new count, or that others are behind the same count.
#[tokio::test]
async fn the_window_is_told_of_tools_that_changed() {
    let home = Home::new();
    let server = |flags: &[&str]| json!({ "command": program("fake-server"), "args": flags });
    let file = home.global(
        json!({ "grows": server(&["--changes", "--tools=1", "--also=echo"]), "flips": server(&["--flips", "--also=changes"]) }),
    );
    let mut window = home.window().await;
    let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
    window.ok("conversation.set_level", json!({ "id": conversation, "level": "full_access" })).await;
    window.ok("conversation.open", json!({ "id": conversation })).await;
    for (name, tool, more) in [("grows", "echo", 1), ("flips", "changes", 0)] {
        let server = id(&file, name);
        let status = |event| match event {
            Event::ServerStatus { server: about, status: ServerStatus::Connected(connected), .. } if about == id(&file, name) => {
                Some(connected.tools)
            }
            _ => None,
        };
        window.ok("server.tick", json!({ "conversation": conversation, "server": server, "ticked": true })).await;
        let before = window.wait(status).await;
        let call = json!({ "conversation": conversation, "server": server, "tool": tool, "arguments": "{}" });
        window.ok("call.start", call).await;
        let (mut after, mut told) = (before, 0);
        while told == 0 {
            match window.next().await {
                Event::ToolsChanged { conversation: about, server: of } => {
                    assert_eq!((about, of), (conversation.clone(), server.clone()));
                    told += 1;
                }
                other => after = status(other).unwrap_or(after),
            }
        }
        let listed = window.ok("tools.list", json!({ "id": conversation })).await;
        let of_it = listed["tools"].as_array().unwrap().iter().filter(|tool| tool["server"] == server).count();
        assert_eq!((after, of_it), (before + more, (before + more) as usize), "{name}");
    }
    window.engine.shutdown().await;
}
