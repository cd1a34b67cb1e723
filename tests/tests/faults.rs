//! One conversation, two servers that do nothing wrong and one that does: for each fault the right words, its bound kept,
//! and the other two as if nothing were. Everything goes through the engine, as a window's requests do.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::sync::Arc;

use mework_engine::engine::Subscription;
use mework_tests::Tag;
use mework_tests::engine::{Home, PATIENCE, Window, id, program};
use mework_tests::http_faults::{HttpFault, plain};
use mework_tests::http_server::HttpServer;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

const STDIO_TOO_LONG: &str = "It sent a message longer than 4 MiB, the limit for one message.";
const HTTP_TOO_LONG: &str = "It sent a message longer than 8 MiB, the limit for one message.";
const CURSOR_TWICE: &str = "It sent a page cursor twice, so its list of tools would never end.";
const TOO_MANY_PAGES: &str = "It answered more than 128 pages of tools.";
const TOO_MANY_TOOLS: &str = "It lists more than 2048 tools, the limit of a turn. Leave some of them out with `disabledTools`.";
const TWICE: &str =
    "It lists two tools with the name `echo`. A call by that name could mean either, so none of its tools are used.";
const FLOOD: &str = "It sent more than 1000 messages a second for 5 seconds.";
const NOT_IN_TIME: &str = "The server did not answer within 1 s.";
/// Much that nobody reads, with a number and half a character that no program holds.
const GREETING: &str = r#"{"id":ID,"\ud83d":1e999,"result":{"protocolVersion":"2025-11-25","instructions":"\ud83d",
    "capabilities":{"tools":{},"experimental":{"a":1e999}},"serverInfo":{"name":"h","version":"1","x":[-1e999]}}}"#;
const LIST: &str = r#"{"id":"ID","result":{"tools":[{"name":"echo","description":"half \ud83d","inputSchema":{},"annotations":{"a":1e999}},
    {"name":"other","inputSchema":{"type":"object","properties":{"n":{"maximum":1e999}}}}],"_meta":{"a":1e999}}}"#;
const TOO_LARGE: &str =
    "The `inputSchema` of `other` holds a number that is too large to be used; 1.7976931348623157e308 stands for it.";
const CURSOR: (&str, &str) = (
    r#"{"id":ID,"result":{"tools":[],"nextCursor":5}}"#,
    "Its answer to `tools/list` is not what the protocol says: its `nextCursor` is not a string.",
);
const EMPTY: (&str, &str) = (r#"{"id":ID,"error":{"code":-32000,"message":""}}"#, "an error without a message (code -32000)");
const NOBODYS: &str = r#"{"id":"nobody","result":{}}"#;
const VERSION: &str = "It speaks version 1.0 of the protocol, and Mework knows 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28. \
                       Update the server or Mework.";

/// What becomes of the bad one.
enum Comes {
    /// It never says anything, and nobody waits for it; how long it is waited for is in `silence.rs`.
    Silent,
    /// Its badge is red, and says why.
    Fails(&'static str, String),
    /// The same, with an exit code and last words.
    Exits(&'static str, i64, &'static [&'static str]),
    /// It works: so many tools, these set aside, these notices.
    Works(u64, &'static [&'static str], &'static [&'static str]),
    /// A call of this tool fails like this.
    FailsACall(&'static str, Value, String),
}
use Comes::{Exits, Fails, FailsACall, Silent, Works};

fn fails(message: &str) -> Comes {
    Fails("", message.into())
}

fn call_fails(tool: &'static str, message: &str) -> Comes {
    FailsACall(tool, json!({}), message.into())
}

/// The bad one: where it runs or answers, its entry, and what it left behind.
struct Bad {
    log: PathBuf,
    http: Option<HttpServer>,
}

impl Bad {
    /// How often it was asked this.
    fn asked(&self, method: &str) -> usize {
        match &self.http {
            Some(server) => server.count(method),
            None => {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                log.lines().filter(|line| *line == format!("request {method}")).count()
            }
        }
    }
}

/// The badge of one server.
fn status(open: &Value, server: &str) -> Option<Value> {
    let rows = open["servers"]["sections"][0]["rows"].as_array()?;
    Some(rows.iter().find(|row| row["id"] == server)?["status"].clone())
}

/// A conversation with the three of them ticked.
struct Trio {
    home: Home,
    window: Window,
    events: Subscription,
    conversation: String,
    servers: [String; 3],
}

impl Trio {
    async fn new(bad: Value, tag: &Tag) -> Self {
        let home = Home::new();
        let stdio = json!({ "command": program("fake-server"), "env": { Tag::NAME: tag.value() } });
        let http = HttpServer::good().await.entry();
        let file = home.global(json!({ "bad": bad, "stdio": stdio, "http": http }));
        let window = home.window().await;
        let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
        window.ok("conversation.set_level", json!({ "id": conversation, "level": "full_access" })).await;
        let events = window.engine.subscribe();
        let servers = ["bad", "stdio", "http"].map(|name| id(&file, name));
        for server in &servers {
            window.ok("server.tick", json!({ "conversation": conversation, "server": server, "ticked": true })).await;
        }
        Self { home, window, events, conversation, servers }
    }
    /// Looks at the conversation after everything that happens, until there is something to see.
    async fn until<T>(&mut self, what: &str, look: impl Fn(&Value) -> Option<T>) -> T {
        let mut last = Value::Null;
        let seen = tokio::time::timeout(PATIENCE, async {
            loop {
                last = self.window.ok("conversation.open", json!({ "id": self.conversation })).await;
                if let Some(seen) = look(&last) {
                    return seen;
                }
                self.events.next().await.expect("an engine");
            }
        })
        .await;
        let shown =
            |_| panic!("waited for {what}; badges: {:#}", json!(self.servers.each_ref().map(|server| status(&last, server))));
        seen.unwrap_or_else(shown)
    }
    /// The badge of one of the three, once it is of this kind.
    async fn badge(&mut self, at: usize, kind: &str) -> Value {
        let server = self.servers[at].clone();
        let status = |open: &Value| status(open, &server).filter(|status| status["kind"] == kind);
        self.until(kind, status).await
    }
    async fn start(&self, at: usize, tool: &str, arguments: &Value) -> String {
        let call = json!({ "conversation": self.conversation, "server": self.servers[at], "tool": tool, "arguments": arguments.to_string() });
        self.window.id("call.start", call).await
    }
    /// How a call ended.
    async fn ended(&mut self, entry: &str) -> Value {
        self.until("the end of a call", |open| {
            let found = open["transcript"].as_array()?.iter().find(|known| known["id"] == entry)?;
            (!found["body"]["ended_at"].is_null()).then(|| found["body"]["state"].clone())
        })
        .await
    }
    async fn answer(&mut self, at: usize, tool: &str) -> Value {
        let entry = self.start(at, tool, &json!({ "a": 1 })).await;
        let state = self.ended(&entry).await;
        assert_eq!(state["kind"], "done", "{state:#}");
        serde_json::from_str(state["content"][0]["text"].as_str().unwrap()).unwrap()
    }
    /// The two good ones answer; which process and session they are.
    async fn others(&mut self) -> Value {
        assert_eq!(self.badge(1, "connected").await["tools"], 12);
        assert_eq!(self.badge(2, "connected").await["tools"], 3);
        let (place, echo) = (self.answer(1, "place").await, self.answer(2, "echo").await);
        assert_eq!(echo, json!({ "a": 1 }));
        place["pid"].clone()
    }
}

async fn case(entry: Value, http: Option<HttpServer>, comes: Comes, bound: fn(&Bad)) {
    let (tag, logs) = (Tag::new(), tempfile::tempdir().unwrap());
    let bad = Bad { log: logs.path().join("log"), http };
    let mut entry = entry;
    if let Some(args) = entry.get_mut("args").and_then(Value::as_array_mut) {
        args.push(format!("--log={}", bad.log.display()).into());
        entry["env"] = json!({ Tag::NAME: tag.value() });
    }
    let mut trio = Trio::new(entry, &tag).await;
    let call = match &comes {
        FailsACall(tool, arguments, _) => {
            trio.badge(0, "connected").await;
            Some(trio.start(0, tool, arguments).await)
        }
        _ => None,
    };
    let before = trio.others().await;
    match comes {
        Silent => drop(trio.badge(0, "connecting").await),
        Fails(stage, message) => {
            let failure = trio.badge(0, "failed").await;
            assert_eq!(failure["message"], message, "{failure:#}");
            assert!(stage.is_empty() || failure["stage"] == stage, "{failure:#}");
        }
        Exits(message, code, stderr) => {
            let failure = trio.badge(0, "failed").await;
            assert_eq!(
                (&failure["message"], &failure["exit_code"], &failure["stderr"]),
                (&json!(message), &json!(code), &json!(stderr))
            );
        }
        Works(tools, aside, notices) => {
            let works = trio.badge(0, "connected").await;
            let reasons: Vec<&Value> = works["set_aside"].as_array().unwrap().iter().map(|tool| &tool["reason"]).collect();
            assert_eq!((&works["tools"], json!(reasons), &works["notices"]), (&json!(tools), json!(aside), &json!(notices)));
        }
        FailsACall(_, _, message) => {
            let state = trio.ended(call.as_deref().unwrap()).await;
            assert_eq!((&state["kind"], &state["message"]), (&json!("failed"), &json!(message)), "{state:#}");
        }
    }
    bound(&bad);
    assert_eq!(trio.others().await, before, "the good one is another process now");
    trio.window.engine.shutdown().await;
    assert_eq!(tag.processes(), Vec::<i32>::new(), "something of it lives");
    drop(trio.home);
}

struct Case(String, Value, Option<HttpServer>, Comes, fn(&Bad));

const UNBOUNDED: fn(&Bad) = |_| {};

/// All of them, a few side by side; every one that fails is named.
async fn all(cases: Vec<Case>) {
    let room = Arc::new(Semaphore::new(6));
    let running: Vec<_> = cases
        .into_iter()
        .map(|Case(name, entry, http, comes, bound)| {
            let room = room.clone();
            let task = tokio::spawn(async move {
                let _place = room.acquire().await;
                case(entry, http, comes, bound).await;
            });
            (name, task)
        })
        .collect();
    let mut failed = Vec::new();
    for (name, task) in running {
        if task.await.is_err() {
            failed.push(name);
        }
    }
    assert_eq!(failed, Vec::<String>::new(), "what each of them panicked with stands above");
}

/// The flag that has a method answered with this, on one line.
fn line(method: &str, words: &str) -> String {
    format!("--line={method}:{}", words.replace("\n    ", ""))
}

fn stdio(name: &str, flags: &[&str], comes: Comes) -> Case {
    let entry = json!({ "command": program("fake-server"), "args": flags, "timeoutSeconds": 1 });
    Case(name.into(), entry, None, comes, UNBOUNDED)
}

impl Case {
    fn bound(mut self, bound: fn(&Bad)) -> Self {
        self.4 = bound;
        self
    }
    /// Calls have more than a second.
    fn patient(mut self) -> Self {
        self.1["timeoutSeconds"] = json!(60);
        self
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_program_has_its_words_and_touches_no_other() {
    let noise = format!(
        "It wrote more than 4 MiB to stdout that is no protocol message. A server has to keep stdout for the protocol and log to stderr. \
         It wrote 1 line to stdout that is no MCP message, such as `noise{}`. Is this an MCP server, and are these the arguments that \
         start it as one?",
        "x".repeat(115)
    );
    let refuses = "--not=initialize:error";
    all(vec![
        stdio("hang on initialize", &["--hang=initialize"], Silent),
        stdio("hang on server/discover", &[refuses, "--hang=server/discover"], Silent),
        stdio("hang on tools/list", &["--hang=tools/list"], Silent),
        stdio("hang on tools/call", &["--hang=tools/call"], call_fails("echo", NOT_IN_TIME)),
        stdio(
            "exit with code and stderr",
            &["--stderr=no license", "--exit=3"],
            Exits("It exited with code 3 before it answered.", 3, &["no license"]),
        ),
        stdio("exit in a call", &[], call_fails("die", "The server exited with code 1.")).patient(),
        stdio("endless message", &["--endless={\"a\":\""], fails(STDIO_TOO_LONG)),
        stdio("endless noise", &["--endless=noise"], Fails("handshake", noise)),
        stdio(
            "1 GiB result",
            &["--also=endless"],
            FailsACall("endless", json!({ "bytes": 1_u64 << 30 }), STDIO_TOO_LONG.into()),
        )
        .patient(),
        stdio("cursor loop", &["--cursor=loop"], Fails("list", CURSOR_TWICE.into())).bound(|bad| assert_eq!(bad.asked("tools/list"), 2)),
        stdio("ever-new cursors", &["--cursor=new"], Fails("list", TOO_MANY_PAGES.into()))
            .bound(|bad| assert_eq!(bad.asked("tools/list"), 128)),
        stdio("3,000 tools", &["--tools=3000"], Fails("list", TOO_MANY_TOOLS.into())),
        stdio(
            "huge schema",
            &["--huge-schema=600000"],
            fails(
                "Its tool schemas are larger than 512 KiB together (601033 bytes by the tool that passed it). Leave some of its tools out \
                 with `disabledTools`.",
            ),
        ),
        stdio(
            "malformed tools",
            &["--tool={\"name\":\"bad\",\"inputSchema\":5}", "--tool=7"],
            Works(12, &["its `inputSchema` is not an object", "it is not an object"], &[]),
        ),
        stdio("duplicate tools", &["--tool={\"name\":\"echo\",\"inputSchema\":{}}"], Fails("list", TWICE.into())),
        stdio(
            "noise on stdout",
            &["--noise=hello", "--noise=[info] ready"],
            Works(
                12,
                &[],
                &["It wrote 2 lines to stdout that are no MCP message, such as `hello`. That was ignored; a server should log to stderr."],
            ),
        ),
        stdio("stderr flood", &["--stderr-flood"], Works(12, &[], &[])),
        stdio("ignores EOF and TERM", &["--deaf"], Works(12, &[], &[])),
        stdio("forks", &["--leaves-child=fork"], Works(12, &[], &[])),
        stdio("setsid", &["--leaves-child=setsid"], Works(12, &[], &[])),
        stdio("double fork", &["--leaves-child=double-fork"], Works(12, &[], &[])),
        stdio("leaves a child and exits", &["--leaves-child=double-fork", "--exit=4"], Exits(
            "It exited with code 4 before it answered. It wrote nothing to stdout or stderr. Start the same command in a terminal to see \
             what it needs.",
            4,
            &[],
        )),
        stdio(
            "string error to both greetings",
            &["--string-error=initialize", "--string-error=server/discover"],
            Fails("handshake", "It refused to begin. Its answer to `initialize` was: boom".into()),
        ),
        stdio("string error to tools/list", &["--string-error=tools/list"], Fails("list", "It refused to list its tools: boom".into())),
        stdio("string error to tools/call", &["--string-error=tools/call"], call_fails("echo", "The server refused the call: boom (code -32603)")),
        stdio(
            "what nobody reads is broken",
            &[&line("initialize", GREETING), &line("tools/list", LIST)],
            Works(2, &[], &[TOO_LARGE]),
        ),
        stdio("a cursor that is a number", &[&line("tools/list", CURSOR.0)], Fails("list", CURSOR.1.into())),
        stdio(
            "a version that is a number",
            &[&line("initialize", r#"{"id":ID,"result":{"protocolVersion":5}}"#), "--not=server/discover:error"],
            Fails(
                "handshake",
                "What it answered to `initialize` is no answer to it: its `protocolVersion` is missing or not a string.".into(),
            ),
        ),
        stdio(
            "an empty error to initialize",
            &[&line("initialize", EMPTY.0), "--not=server/discover:error"],
            Fails("handshake", format!("It refused to begin. Its answer to `initialize` was: {}", EMPTY.1)),
        ),
        stdio("an empty error to tools/list", &[&line("tools/list", EMPTY.0)], Fails("list", format!("It refused to list its tools: {}", EMPTY.1))),
        stdio("an empty error to tools/call", &[&line("tools/call", EMPTY.0)], call_fails("echo", &format!("The server refused the call: {}", EMPTY.1))),
        stdio(
            "another request's answer to initialize",
            &[&line("initialize", NOBODYS), "--not=server/discover:error"],
            Fails("handshake", "What it answered to `initialize` is no answer to it: its `id` is \"nobody\", and the request's is 0.".into()),
        ),
        stdio(
            "another request's answer to tools/call",
            &[&line("tools/call", NOBODYS)],
            call_fails(
                "echo",
                &format!(
                    "{NOT_IN_TIME} It sent an answer with the id \"nobody\" meanwhile, which no request has: a server has to answer with \
                     the `id` it was asked with."
                ),
            ),
        ),
        stdio("wrong version", &["--version=1.0"], Fails("handshake", VERSION.into())),
        stdio("silent on server/discover", &[refuses, "--not=server/discover:silent"], Silent),
        stdio(
            "exiting on server/discover",
            &[refuses, "--not=server/discover:exit"],
            Fails("handshake", "It refused to begin. Its answer to `initialize` was: Method not found".into()),
        ),
        stdio("closes its stdin", &["--closes-input"], call_fails("echo", "It closed its stdin, so nothing can be asked of it.")).patient(),
        stdio("stops reading", &["--stops-reading"], call_fails("echo", NOT_IN_TIME)),
        stdio("storm of messages", &["--storm=notifications/message"], fails(FLOOD)),
        stdio("storm of changes", &["--storm=notifications/tools/list_changed"], fails(FLOOD))
            .bound(|bad| assert_eq!(bad.asked("tools/list"), 2, "once at the start, once of its own accord")),
    ])
    .await;
}

/// What is said of an address that answers [`NOBODYS`] to the request with this id.
fn other(id: u32) -> String {
    format!(
        "It answered another request: the `id` of its answer is \"nobody\", and the request's is {id}. A server has to answer with the \
         `id` it was asked with."
    )
}

async fn http(name: &str, fault: HttpFault, comes: Comes) -> Case {
    let server = fault.server().await;
    let mut entry = server.entry();
    entry["timeoutSeconds"] = json!(1);
    Case(name.into(), entry, Some(server), comes, UNBOUNDED)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_an_address_has_its_words_and_touches_no_other() {
    let target = HttpServer::good().await;
    let redirects = format!(
        "It redirects (307) to http://127.0.0.1:{}, and redirects are not followed: they would carry this entry's headers there. If that \
         is where the server is now, write that address into `url`.",
        target.port()
    );
    let once: fn(&Bad) = |bad| assert_eq!(bad.http.as_ref().unwrap().seen().len(), 1, "it is not asked again");
    let not_http = HttpFault::NotHttp.server().await;
    let dropped = HttpFault::Dropped.server().await;
    let at = |server: &HttpServer| format!("127.0.0.1:{}", server.port());
    let answered = |server: HttpServer, comes: Comes| {
        let entry = server.entry();
        Case("a server with a port".into(), entry, Some(server), comes, UNBOUNDED)
    };
    let not_http_words = format!(
        "{} answered with something that is not HTTP. Is the port right, and should `url` begin with https://?",
        at(&not_http)
    );
    let dropped_words = format!("{} closed the connection before its answer was complete.", at(&dropped));
    let many = (0..3000).map(|n| plain(&format!("tool{n}"))).collect();
    let huge = json!({ "name": "huge", "inputSchema": { "type": "object", "properties": { "a": { "description": "x".repeat(600_000) } } } });
    all(vec![
        http(
            "401",
            HttpFault::Status(401, ""),
            fails(
                "The server asks for authorization (401). Set a token in the entry's `headers`, for example \"Authorization\": \"Bearer \
                 ${NAME}\". Mework runs no sign-in flow.",
            ),
        )
        .await
        .bound(once),
        http(
            "403",
            HttpFault::Status(403, "not from here"),
            fails(
                "The server refuses access (403). It says: not from here. If it wants a token, set it in the entry's `headers`, for example \
                 \"Authorization\": \"Bearer ${NAME}\"; a server on a private network may also refuse the host name in `url`.",
            ),
        )
        .await
        .bound(once),
        http(
            "404",
            HttpFault::Status(404, ""),
            fails("There is no MCP server at this path (404 Not Found). Check the path in `url`; many servers answer at /mcp."),
        )
        .await,
        http(
            "500",
            HttpFault::Status(500, "out of memory"),
            fails("The server failed (500 Internal Server Error). It says: out of memory. Its own log may say why."),
        )
        .await,
        http("redirect", HttpFault::Redirect(target.url()), Fails("handshake", redirects)).await.bound(once),
        http(
            "gzip bomb",
            HttpFault::Gzip(vec![0x1f; 256 * 1024]),
            fails("It compressed its answer (gzip), which it was asked not to do."),
        )
        .await
        .bound(once),
        http(
            "a web page",
            HttpFault::WebPage,
            fails(
                "It answered with a web page instead of a protocol message. `url` is probably the address of a page for people (or of a \
                 sign-in page in between); use the server's MCP address.",
            ),
        )
        .await,
        http(
            "the old transport",
            HttpFault::Legacy,
            fails(
                "This server speaks HTTP+SSE, the transport of protocol version 2024-11-05, which Mework does not support. Look for its \
                 Streamable HTTP address (often the same host with the path /mcp), or update the server.",
            ),
        )
        .await,
        answered(not_http, Fails("start", not_http_words)),
        answered(dropped, FailsACall("echo", json!({}), dropped_words)).bound(|bad| assert_eq!(bad.asked("tools/call"), 1)),
        http("hang on everything", HttpFault::Hang(""), Silent).await,
        http("hang on server/discover", HttpFault::Hang("server/discover"), Works(3, &[], &[])).await.bound(|bad| {
            assert_eq!(bad.http.as_ref().unwrap().log()[..2], ["POST server/discover", "POST initialize"]);
        }),
        http("hang on tools/list", HttpFault::Hang("tools/list"), Silent).await,
        http("hang on tools/call", HttpFault::Hang("tools/call"), call_fails("echo", NOT_IN_TIME)).await,
        http("slow head of a greeting", HttpFault::SlowHead("initialize"), Silent).await,
        http("slow head of a call", HttpFault::SlowHead("tools/call"), call_fails("echo", NOT_IN_TIME)).await,
        http(
            "session loss without end",
            HttpFault::SessionLoss,
            call_fails("echo", "It forgot the session, and a new one could not be opened."),
        )
        .await
        .patient()
        .bound(|bad| assert_eq!((bad.asked("initialize"), bad.asked("tools/call")), (2, 2))),
        http("1 GiB result", HttpFault::Long(1 << 30), call_fails("echo", HTTP_TOO_LONG)).await.patient(),
        http("endless event", HttpFault::EndlessEvent, call_fails("echo", HTTP_TOO_LONG)).await.patient(),
        http("endless comments", HttpFault::EndlessComments, call_fails("echo", FLOOD)).await.patient(),
        http("cursor loop", HttpFault::Cursor(Some("again")), Fails("list", CURSOR_TWICE.into()))
            .await
            .bound(|bad| assert_eq!(bad.asked("tools/list"), 2)),
        http("ever-new cursors", HttpFault::Cursor(None), Fails("list", TOO_MANY_PAGES.into()))
            .await
            .bound(|bad| assert_eq!(bad.asked("tools/list"), 128)),
        http("3,000 tools", HttpFault::Tools(many), Fails("list", TOO_MANY_TOOLS.into())).await,
        http(
            "huge schema",
            HttpFault::Tools(vec![huge]),
            fails(
                "Its tool schemas are larger than 512 KiB together (600085 bytes by the tool that passed it). Leave some of its tools out \
                 with `disabledTools`.",
            ),
        )
        .await,
        http(
            "malformed tools",
            HttpFault::Tools(vec![plain("good"), json!({ "name": "bad", "inputSchema": 5 }), json!(7)]),
            Works(1, &["its `inputSchema` is not an object", "it is not an object"], &[]),
        )
        .await,
        http("duplicate tools", HttpFault::Tools(vec![plain("echo"), plain("echo")]), Fails("list", TWICE.into())).await,
        http("string error to tools/list", HttpFault::StringError("tools/list"), fails("It refused to list its tools: boom")).await,
        http(
            "string error to tools/call",
            HttpFault::StringError("tools/call"),
            call_fails("echo", "The server refused the call: boom (code -32603)"),
        )
        .await,
        http("what nobody reads of a list is broken", HttpFault::Body("tools/list", LIST), Works(2, &[], &[TOO_LARGE])).await,
        http("a cursor that is a number", HttpFault::Body("tools/list", CURSOR.0), Fails("list", CURSOR.1.into())).await,
        http(
            "an empty error to tools/call",
            HttpFault::Body("tools/call", EMPTY.0),
            call_fails("echo", &format!("The server refused the call: {}", EMPTY.1)),
        )
        .await,
        http("another request's answer to initialize", HttpFault::Body("initialize", NOBODYS), Fails("handshake", other(0))).await,
        http("another request's answer to tools/call", HttpFault::Body("tools/call", NOBODYS), call_fails("echo", &other(2))).await,
        http("another request's answer in a stream", HttpFault::Event("tools/call", NOBODYS), call_fails("echo", &other(2))).await,
        http("wrong version", HttpFault::Version("1.0"), Fails("handshake", VERSION.into())).await,
        http("storm of messages", HttpFault::Storm("notifications/message"), fails(FLOOD)).await,
        http("storm of changes", HttpFault::Storm("notifications/tools/list_changed"), fails(FLOOD))
            .await
            .bound(|bad| assert_eq!(bad.asked("tools/list"), 2, "once at the start, once of its own accord")),
    ])
    .await;
    assert_eq!(target.connections(), 0, "nothing was sent where the redirect leads");
}

/// A server that was remembered to know `server/discover` and no longer does, with the very same entry.
#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_greeting_that_is_refused_costs_one_more_start() {
    let (tag, folder) = (Tag::new(), tempfile::tempdir().unwrap());
    let (flags, log) = (folder.path().join("flags"), folder.path().join("log"));
    std::fs::write(&flags, "--not=initialize:exit").unwrap();
    let args = [format!("--flags-from={}", flags.display()), format!("--log={}", log.display())];
    let bad = json!({ "command": program("fake-server"), "args": args, "env": { Tag::NAME: tag.value() } });
    let mut trio = Trio::new(bad, &tag).await;
    assert_eq!(trio.badge(0, "connected").await["protocol"], "2026-07-28");
    let before = trio.others().await;
    let reconnect = json!({ "conversation": trio.conversation, "server": trio.servers[0] });
    for how in ["exit", "error"] {
        std::fs::write(&flags, format!("--not=server/discover:{how}")).unwrap();
        trio.window.ok("server.reconnect", reconnect.clone()).await;
        let server = trio.servers[0].clone();
        let speaks = |version: &'static str| {
            let server = server.clone();
            move |open: &Value| status(open, &server).filter(|status| status["protocol"] == version)
        };
        trio.until("the older greeting", speaks("2025-11-25")).await;
        std::fs::write(&flags, "--not=initialize:exit").unwrap();
        trio.window.ok("server.reconnect", reconnect.clone()).await;
        trio.until("the newer greeting", speaks("2026-07-28")).await;
    }
    assert_eq!(trio.others().await, before);
    trio.window.engine.shutdown().await;
    assert_eq!(tag.processes(), Vec::<i32>::new());
}
