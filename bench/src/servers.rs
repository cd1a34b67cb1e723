//! The MCP servers that are measured with. A plain one in JavaScript starts as slowly as servers do that people use, and
//! needs no package; the sample server of the product is compiled and starts at once; this program again is one that breaks a
//! bound, or an HTTP server.

use std::convert::Infallible;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{ExitCode, Stdio};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use flate2::{Compress, Compression, FlushCompress};
use futures_util::stream;
use mework_tests::programs::{Running, command, mework};
use serde_json::{Value, json};

pub const STDIO: &str = "stdio-server";
pub const HTTP: &str = "http-server";

/// What the large answers hold.
const HUGE: usize = 1 << 30;
const PIECE: usize = 64 * 1024;

/// A program and its arguments.
#[derive(Debug, Clone)]
pub struct Program {
    pub command: String,
    pub args: Vec<String>,
}

impl Program {
    fn new(command: &Path, args: &[&str]) -> Self {
        Self { command: command.display().to_string(), args: args.iter().map(ToString::to_string).collect() }
    }
    /// In JavaScript, without any package.
    pub fn plain() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("plain-server.mjs");
        Self::new(Path::new("node"), &[&script.display().to_string()])
    }
    /// The same, never answering.
    pub fn silent() -> Self {
        let mut plain = Self::plain();
        plain.args.push("--silent".into());
        plain
    }
    pub fn sample() -> Self {
        Self::new(&mework(), &["sample-server"])
    }
    /// Answers a call with what the name says.
    pub fn breaking(how: &str) -> Self {
        Self::new(&std::env::current_exe().expect("this program"), &[STDIO, how])
    }
    pub fn entry(&self) -> Value {
        json!({ "command": self.command, "args": self.args })
    }
}

/// What every server here answers to everything but a call.
fn answer(method: &str) -> Option<Value> {
    match method {
        "initialize" => Some(json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "bench", "version": "1" } })),
        "tools/list" => {
            let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
            Some(json!({ "tools": [tool("echo"), tool("huge"), tool("gzip")] }))
        }
        "ping" => Some(json!({})),
        _ => None,
    }
}

/// The beginning of a result that goes on with text, and its end.
fn around(id: &Value) -> (String, &'static str) {
    (format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\""), "\"}]}}")
}

/// A server that answers a call with a line that never ends, or with a result of a gibibyte.
pub fn stdio(how: Option<String>) -> ExitCode {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let id = &message["id"];
        if id.is_null() {
            continue;
        }
        let method = message["method"].as_str().unwrap_or_default();
        let written = match answer(method) {
            Some(result) => {
                writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": id, "result": result })).and_then(|()| out.flush())
            }
            None if method == "tools/call" => break_a_bound(&mut out, id, how.as_deref() == Some("endless")),
            None => {
                let error = json!({ "code": -32601, "message": "Method not found" });
                writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": id, "error": error })).and_then(|()| out.flush())
            }
        };
        // Whoever asked has hung up.
        if written.is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn break_a_bound(out: &mut impl Write, id: &Value, endless: bool) -> std::io::Result<()> {
    let (begin, end) = around(id);
    let piece = [b'x'; PIECE];
    out.write_all(begin.as_bytes())?;
    let mut written = 0;
    while endless || written < HUGE {
        out.write_all(&piece)?;
        written += PIECE;
    }
    writeln!(out, "{end}")?;
    out.flush()
}

/// Serves MCP over HTTP on a free port, which it prints, until it is killed.
pub fn http() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("http://{}/mcp", listener.local_addr().expect("its address"));
        let router = Router::new().route("/mcp", post(exchange).get(|| async { StatusCode::METHOD_NOT_ALLOWED }));
        axum::serve(listener, router).await.expect("a server");
    });
    ExitCode::SUCCESS
}

async fn exchange(body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
    if id.is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    let json = || (header::CONTENT_TYPE, "application/json");
    let ok = |result: Value| ([json()], json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).into_response();
    match (answer(method), message["params"]["name"].as_str()) {
        (Some(result), _) => ok(result),
        (None, Some("echo")) => ok(json!({ "content": [{ "type": "text", "text": message["params"]["arguments"]["message"] }] })),
        (None, Some("huge")) => {
            let (begin, end) = around(id);
            let length = (begin.len() + HUGE + end.len()).to_string();
            let x = Bytes::from_static(&[b'x'; PIECE]);
            let middle = std::iter::repeat_n(x, HUGE / PIECE);
            let pieces = std::iter::once(Bytes::from(begin)).chain(middle).chain([Bytes::from_static(end.as_bytes())]);
            let head = [json(), (header::CONTENT_LENGTH, length.as_str())];
            (head, Body::from_stream(stream::iter(pieces.map(Ok::<_, Infallible>)))).into_response()
        }
        (None, Some("gzip")) => {
            let head: [(HeaderName, &str); 2] = [json(), (header::CONTENT_ENCODING, "gzip")];
            (head, gzip_bomb()).into_response()
        }
        _ => (StatusCode::BAD_REQUEST, "no such method").into_response(),
    }
}

/// A gibibyte of zeros in a megabyte: a compressed mebibyte, ended at a byte, again and again, in one stream.
fn gzip_bomb() -> Vec<u8> {
    const MIB: usize = 1 << 20;
    let mut piece = Vec::with_capacity(MIB);
    let mut compress = Compress::new(Compression::best(), false);
    compress.compress_vec(&vec![0; MIB], &mut piece, FlushCompress::Sync).expect("zeros that compress");
    // RFC 1952's head, the pieces, an empty last block. The checksum is not right: whoever gets there has unpacked it all.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    out.extend(std::iter::repeat_n(&piece, HUGE / MIB).flatten());
    out.extend([3, 0]);
    out.extend([0; 8]);
    out
}

/// The HTTP server as a process of its own, and its address.
pub struct HttpServer {
    pub url: String,
    _running: Running,
}

impl HttpServer {
    pub fn start() -> Self {
        let own = std::env::current_exe().expect("this program");
        let mut running = Running::start(command(own).arg(HTTP).stdout(Stdio::piped()));
        let mut url = String::new();
        let stdout = running.0.stdout.take().expect("its output");
        std::io::BufReader::new(stdout).read_line(&mut url).expect("its address");
        Self { url: url.trim().to_owned(), _running: running }
    }
    pub fn entry(&self) -> Value {
        json!({ "type": "http", "url": self.url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bomb_is_small_and_unpacks_to_more_than_it_may() {
        use std::io::Read;
        let bomb = gzip_bomb();
        assert!(bomb.len() < 2 << 20);
        let mut start = vec![1; 4 << 20];
        flate2::read::GzDecoder::new(&*bomb).read_exact(&mut start).unwrap();
        assert!(start.iter().all(|byte| *byte == 0));
    }
}
