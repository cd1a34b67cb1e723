//! The least a client could do: start servers side by side and say the handshake's three lines, or call through rmcp as it
//! comes. Nothing is checked, bounded, supervised, kept or shown.

use std::process::Stdio;
use std::time::{Duration, Instant};

use mework_tests::programs::command;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinSet;

use crate::servers::Program;

fn start(program: &Program) -> (Child, ChildStdin, ChildStdout) {
    let mut command = command(&program.command);
    command.args(&program.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut command = tokio::process::Command::from(command);
    // A session of its own, as ours give each: Linux shares a busy processor among sessions, not among processes.
    // SAFETY: setsid may be called between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let mut child = command.spawn().expect("a server that starts");
    let (stdin, stdout) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
    (child, stdin, stdout)
}

/// Starts the servers side by side and lists their tools; until the last one has answered. They have ended when this returns.
pub async fn connect(program: &Program, count: usize) -> Duration {
    let begun = Instant::now();
    let mut starting = JoinSet::new();
    for _ in 0..count {
        let program = program.clone();
        starting.spawn(async move { greet(&program).await });
    }
    let running = starting.join_all().await;
    let took = begun.elapsed();
    for (mut child, stdin) in running {
        drop(stdin);
        child.wait().await.expect("a server that ends");
    }
    took
}

async fn greet(program: &Program) -> (Child, ChildStdin) {
    let (child, mut stdin, stdout) = start(program);
    let mut lines = BufReader::new(stdout).lines();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "floor", "version": "1" } } });
    stdin.write_all(format!("{hello}\n").as_bytes()).await.expect("a server that reads");
    let line = lines.next_line().await.expect("an answer").expect("an answer");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    assert!(answer["result"]["protocolVersion"].is_string(), "{answer}");
    let rest = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
                {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
    stdin.write_all(rest.as_bytes()).await.expect("a server that reads");
    let line = lines.next_line().await.expect("an answer").expect("an answer");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    (child, stdin)
}

/// rmcp's client as it comes.
pub struct Bare {
    service: RunningService<RoleClient, ()>,
    /// Ends with this.
    _server: Option<Child>,
}

impl Bare {
    pub async fn stdio(program: &Program) -> Self {
        let (child, stdin, stdout) = start(program);
        Self { service: ().serve((stdout, stdin)).await.expect("a handshake"), _server: Some(child) }
    }

    pub async fn http(url: &str) -> Self {
        // reqwest asks for one even where nothing is encrypted. Somebody else may have chosen it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        Self { service: ().serve(transport).await.expect("a handshake"), _server: None }
    }

    pub async fn call(&self, tool: &str, arguments: &Value) -> CallToolResult {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.service.peer().call_tool(request).await.expect("a result")
    }

    pub async fn end(self) {
        let _ = self.service.cancel().await;
    }
}
