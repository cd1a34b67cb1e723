//! Servers that other people wrote, as their users install them: each is tested, ticked, called with a card and answered.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;

use mework_engine::wire::{Block, CallOutcome, CallState, ServerTest};
use mework_tests::engine::{Home, Window, id};
use mework_tests::programs::{Running, command, everything_over_http, servers};
use serde_json::{Value, json};

/// One server in a home of its own, with a conversation that it is ticked in.
struct Real {
    home: Home,
    window: Window,
    conversation: String,
    server: String,
}

impl Real {
    async fn npm(home: Home, name: &str, args: Value, env: Value) -> Self {
        let program = servers().join("node_modules/.bin").join(name);
        Self::declared(home, name, json!({ "command": program, "args": args, "env": env })).await
    }
    async fn pypi(home: Home, name: &str, args: Value, env: Value) -> Self {
        let program = servers().join("venv/bin").join(name);
        Self::declared(home, name, json!({ "command": program, "args": args, "env": env })).await
    }
    async fn declared(home: Home, name: &str, entry: Value) -> Self {
        let file = home.global(json!({ name: entry }));
        let window = home.window().await;
        let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
        Self { server: id(&file, name), home, window, conversation }
    }

    /// Test connection: every stage passed; the server's own name, how many tools.
    async fn tested(&self) -> (String, Vec<String>) {
        let params = ServerTest {
            conversation: Some(self.conversation.clone()),
            server: self.server.clone(),
            digest: self.digest().await,
        };
        let report = self.window.engine.test_once(params, &|_| {}).await.expect("a report");
        assert!(report.ok && report.stages.iter().all(|s| s.ok), "{report:#?}");
        assert_eq!(report.set_aside, [], "{report:#?}");
        assert_eq!(report.stdout_noise, 0, "{report:#?}");
        (report.server.expect("a server that said who it is").name, report.tools.into_iter().map(|t| t.name).collect())
    }

    /// What a person agrees to.
    async fn digest(&self) -> Option<String> {
        let view = self.window.ok("server.review", json!({ "conversation": self.conversation, "server": self.server })).await;
        view["digest"].as_str().map(str::to_owned)
    }

    /// Ticks the server and calls a tool, with a card.
    async fn called(&mut self, tool: &str, arguments: Value) -> CallOutcome {
        let digest = self.digest().await;
        let tick = json!({ "conversation": self.conversation, "server": self.server, "ticked": true, "digest": digest });
        self.window.ok("server.tick", tick).await;
        match self.window.call(&self.conversation, &self.server, tool, &arguments).await {
            CallState::Done(outcome) => outcome,
            other => panic!("{tool} ended as {other:#?}"),
        }
    }

    async fn closed(self) {
        self.window.engine.shutdown().await;
        drop(self.home);
    }
}

fn text(outcome: &CallOutcome) -> String {
    assert!(!outcome.is_error, "{outcome:#?}");
    match outcome.content.as_slice() {
        [Block::Text { text }] => text.clone(),
        other => panic!("one text was expected: {other:#?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_server_everything() {
    let mut real = Real::npm(Home::new(), "mcp-server-everything", json!(["stdio"]), json!({})).await;
    let (name, tools) = real.tested().await;
    assert_eq!(name, "mcp-servers/everything");
    assert!(
        ["echo", "get-sum", "get-tiny-image", "get-structured-content"].iter().all(|t| tools.iter().any(|have| have == t)),
        "{tools:?}"
    );

    assert_eq!(text(&real.called("echo", json!({ "message": "hello ü \u{1F600}" })).await), "Echo: hello ü \u{1F600}");
    assert!(text(&real.called("get-sum", json!({ "a": 2, "b": 40 })).await).contains("42"));

    let image = real.called("get-tiny-image", json!({})).await;
    assert!(
        image
            .content
            .iter()
            .any(|b| matches!(b, Block::Image { mime, width, height, .. } if mime == "image/png" && *width > 0 && *height > 0)),
        "{image:#?}"
    );

    let structured = real.called("get-structured-content", json!({ "location": "New York" })).await;
    let read = structured.structured.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    assert!(read.is_some_and(|read| read["temperature"].is_number()), "{structured:#?}");

    let links = real.called("get-resource-links", json!({ "count": 3 })).await;
    assert_eq!(links.content.iter().filter(|b| matches!(b, Block::ResourceLink { .. })).count(), 3, "{links:#?}");

    // The environment of the specification's list, not the app's: nothing of Cargo's, and our own cookie.
    let environment: Value = serde_json::from_str(&text(&real.called("get-env", json!({})).await)).expect("JSON");
    assert!(environment.get("PATH").is_some() && environment.get("CARGO_MANIFEST_DIR").is_none(), "{environment:#}");
    real.closed().await;
}

/// The same server over Streamable HTTP: it has sessions and resumable streams.
#[tokio::test(flavor = "multi_thread")]
async fn npm_server_everything_over_http() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let running = everything_over_http(port);
    let entry = json!({ "type": "http", "url": format!("http://localhost:{port}/mcp") });
    let mut real = Real::declared(Home::new(), "everything", entry).await;
    let (name, tools) = real.tested().await;
    assert_eq!(name, "mcp-servers/everything");
    assert!(tools.contains(&"echo".to_owned()), "{tools:?}");
    assert_eq!(text(&real.called("echo", json!({ "message": "hello ü" })).await), "Echo: hello ü");
    let long = real.called("trigger-long-running-operation", json!({ "duration": 1, "steps": 2 })).await;
    assert!(text(&long).contains("completed"), "{long:#?}");
    // It loses its sessions, and the same conversation goes on.
    drop(running);
    let _running = everything_over_http(port);
    assert_eq!(text(&real.called("echo", json!({ "message": "again" })).await), "Echo: again");
    real.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_server_filesystem() {
    let home = Home::new();
    let folder = home.folder("files");
    std::fs::write(folder.join("a b ü.txt"), "one\ntwo\n").unwrap();
    let mut real = Real::npm(home, "mcp-server-filesystem", json!([folder]), json!({})).await;
    let (name, tools) = real.tested().await;
    assert_eq!(name, "secure-filesystem-server");
    assert!(tools.len() >= 10, "{tools:?}");
    assert_eq!(text(&real.called("read_text_file", json!({ "path": folder.join("a b ü.txt") })).await), "one\ntwo\n");
    let refused = real.called("read_text_file", json!({ "path": "/etc/hostname" })).await;
    assert!(refused.is_error, "an error of the server's is a failed call: {refused:#?}");
    real.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_server_memory() {
    let home = Home::new();
    let file = home.folder("memory").join("memory.jsonl");
    let mut real = Real::npm(home, "mcp-server-memory", json!([]), json!({ "MEMORY_FILE_PATH": file })).await;
    assert_eq!(real.tested().await.0, "memory-server");
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["wrote the first program"] });
    real.called("create_entities", json!({ "entities": [entity] })).await;
    let graph: Value = serde_json::from_str(&text(&real.called("read_graph", json!({})).await)).unwrap();
    assert_eq!(graph["entities"], json!([entity]));
    assert!(std::fs::read_to_string(&file).unwrap().contains("Ada"), "env reached the server");
    real.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_server_sequential_thinking() {
    let mut real = Real::npm(Home::new(), "mcp-server-sequential-thinking", json!([]), json!({})).await;
    assert_eq!(real.tested().await, ("sequential-thinking-server".into(), vec!["sequentialthinking".into()]));
    let thought = json!({ "thought": "first", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 2 });
    let said: Value = serde_json::from_str(&text(&real.called("sequentialthinking", thought).await)).unwrap();
    assert_eq!((&said["thoughtNumber"], &said["totalThoughts"]), (&json!(1), &json!(2)));
    real.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pypi_server_time() {
    let mut real = Real::pypi(Home::new(), "mcp-server-time", json!(["--local-timezone", "Europe/Berlin"]), json!({})).await;
    assert_eq!(real.tested().await, ("mcp-time".into(), vec!["get_current_time".into(), "convert_time".into()]));
    let noon = json!({ "source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata" });
    let said: Value = serde_json::from_str(&text(&real.called("convert_time", noon).await)).unwrap();
    assert_eq!(said["time_difference"], json!("-3.5h"));
    assert!(said["target"]["datetime"].as_str().is_some_and(|t| t.contains("T08:30:00")), "{said:#}");
    real.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pypi_server_git() {
    let home = Home::new();
    let repository = home.folder("repository");
    let made = command("git").args(["init", "-q", "-b", "trunk"]).arg(&repository).stdin(Stdio::null()).status().unwrap();
    assert!(made.success());
    std::fs::write(repository.join("new file.txt"), "x").unwrap();
    let mut real = Real::pypi(home, "mcp-server-git", json!(["--repository", repository]), json!({})).await;
    let (name, tools) = real.tested().await;
    assert_eq!(name, "mcp-git");
    assert!(tools.contains(&"git_status".to_owned()), "{tools:?}");
    let status = text(&real.called("git_status", json!({ "repo_path": repository })).await);
    assert!(status.contains("trunk") && status.contains("new file.txt"), "{status}");
    real.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pypi_server_fetch() {
    let port = a_web_server("The quick brown fox.");
    let mut careful = Real::pypi(Home::new(), "mcp-server-fetch", json!([]), json!({})).await;
    let refused = careful.called("fetch", json!({ "url": format!("http://127.0.0.1:{port}/fox") })).await;
    assert!(refused.is_error, "it refuses loopback addresses unless told otherwise: {refused:#?}");
    careful.closed().await;

    let arguments = json!(["--allow-private-ips", "--ignore-robots-txt"]);
    let mut real = Real::pypi(Home::new(), "mcp-server-fetch", arguments, json!({})).await;
    assert_eq!(real.tested().await, ("mcp-fetch".into(), vec!["fetch".into()]));
    let said = text(&real.called("fetch", json!({ "url": format!("http://127.0.0.1:{port}/fox"), "raw": true })).await);
    assert!(said.contains("The quick brown fox."), "{said}");
    real.closed().await;
}

/// The reference implementation of a server without sessions that says when its tools change, to who asks.
const GROWS: &str = r#"
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("grows")

@server.tool()
async def grow(ctx: Context) -> str:
    def late() -> str:
        return "late"
    server.add_tool(late)
    await ctx.notify_tools_changed()
    return "grown"

server.run("streamable-http", port=int(sys.argv[1]))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn pypi_sdk_says_when_its_tools_change() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut program = command(servers().join("venv/bin/python"));
    program.args(["-u", "-c", GROWS, &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running::start(&mut program);
    let mut words = BufReader::new(running.0.stderr.take().unwrap()).lines();
    assert!(words.any(|line| line.is_ok_and(|line| line.contains("running on"))), "it never listened");
    // Nobody else reads its stderr.
    std::thread::spawn(move || words.for_each(drop));

    let entry = json!({ "type": "http", "url": format!("http://127.0.0.1:{port}/mcp") });
    let mut real = Real::declared(Home::new(), "grows", entry).await;
    let (name, tools) = real.tested().await;
    assert_eq!((name.as_str(), tools), ("grows", vec!["grow".to_owned()]));
    real.window.ok("conversation.open", json!({ "id": real.conversation })).await;
    assert_eq!(text(&real.called("grow", json!({})).await), "grown");
    loop {
        let listed = real.window.ok("tools.list", json!({ "id": real.conversation })).await;
        if listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "late") {
            break;
        }
        real.window.next().await;
    }
    assert_eq!(text(&real.called("late", json!({})).await), "late");
    real.closed().await;
}

/// Answers every request with one plain text, until the test ends.
fn a_web_server(body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|l| l.is_ok_and(|l| !l.is_empty())) {}
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}
