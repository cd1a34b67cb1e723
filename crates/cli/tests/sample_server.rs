//! `mework sample-server` as a client sees it: lines on a pipe, in both eras of the protocol.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

struct Server {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_mework"))
            .arg("sample-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Self { process, stdin, stdout }
    }
    fn initialized() -> Self {
        let mut server = Self::start();
        server.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}));
        let answer = server.receive();
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        assert_eq!(answer["result"]["serverInfo"]["name"], "mework-sample");
        server.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }
    fn send(&mut self, message: Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }
    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}));
        let mut answer = self.receive();
        assert_eq!(answer["id"], 7);
        answer["result"].take()
    }
    /// At the end of its input it ends by itself, and says it went well.
    fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

#[test]
fn lists_six_tools_with_titles_and_schemas() {
    let mut server = Server::initialized();
    server.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let answer = server.receive();
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["echo", "add", "current_time", "slow", "big_result", "always_asks"]);
    for tool in tools {
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    let asking: Vec<&Value> = tools.iter().map(|t| &t["_meta"]["anthropic/requiresUserInteraction"]).collect();
    assert_eq!(asking, [&json!(null), &json!(null), &json!(null), &json!(null), &json!(null), &json!(true)]);
    server.end();
}

#[test]
fn answers_with_text_and_structured_content() {
    let mut server = Server::initialized();
    assert_eq!(
        server.call("add", json!({"a": 2, "b": 40})),
        json!({"content": [{"type": "text", "text": "42"}], "structuredContent": {"sum": 42}, "isError": false})
    );
    assert_eq!(
        server.call("echo", json!({"message": "hé", "style": "upper_case", "times": 2})),
        json!({"content": [{"type": "text", "text": "HÉ\nHÉ"}], "isError": false})
    );
    assert_eq!(
        server.call("echo", json!({"message": 1})),
        json!({"content": [{"type": "text", "text": "`message` must be a string."}], "isError": true})
    );
    server.end();
}

#[test]
fn reports_progress_and_obeys_a_cancellation() {
    let mut server = Server::initialized();
    let slow = |id: u32, seconds: f64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "slow", "arguments": {"seconds": seconds, "steps": 2}, "_meta": {"progressToken": id}}})
    };
    server.send(slow(1, 0.02));
    for step in 1..=2 {
        let progress = server.receive();
        assert_eq!(progress["method"], "notifications/progress");
        assert_eq!(
            progress["params"],
            json!({"progressToken": 1, "progress": step as f64, "total": 2.0, "message": format!("Step {step} of 2")})
        );
    }
    assert_eq!(server.receive()["result"]["content"][0]["text"], "Done: 2 of 2 steps in 0.02 s.");

    // Five minutes, cancelled at once: the next answer that comes is the next call's.
    server.send(slow(2, 300.0));
    server.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    assert_eq!(server.call("add", json!({"a": 1, "b": 1}))["structuredContent"], json!({"sum": 2}));
    server.end();
}

#[test]
fn speaks_the_protocol_without_a_handshake_too() {
    let mut server = Server::start();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    server.send(json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}));
    let answer = server.receive();
    assert!(answer["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{answer}");
    server.send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta}}));
    assert_eq!(server.receive()["result"]["structuredContent"], json!({"sum": 3}));
    server.end();
}
