//! An HTTP server on a real socket that speaks MCP as it should, except where a test says otherwise: each request may be
//! answered in any way, wrong ways included. What came is kept.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// One request as it came.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub verb: String,
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub text: String,
    pub body: Value,
}

impl Seen {
    /// The protocol's method, or nothing.
    pub fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
    /// A JSON-RPC answer to it.
    pub fn result(&self, result: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result })
    }
    pub fn error(&self, code: i64, message: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "error": { "code": code, "message": message } })
    }
    /// A tool's answer of one text.
    pub fn words(&self, text: &str) -> Value {
        self.result(json!({ "content": [{ "type": "text", "text": text }] }))
    }
}

pub enum Reply {
    /// Status, headers, body.
    Http(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// These bytes instead of an HTTP answer; then the connection closes.
    Raw(Vec<u8>),
    /// Events, step by step.
    Events(Vec<Step>),
    /// Nothing, until the client hangs up.
    Silence,
    /// A head that never ends, a byte at a time.
    Drip,
    /// A body that begins like this and goes on for so many bytes, or until the client hangs up.
    Long(String, u64),
}

pub enum Step {
    /// Text of the stream, as it is.
    Text(String),
    /// Waits until the test says so.
    Wait(Arc<Notify>),
    /// Cuts the connection.
    Cut,
    /// Says nothing more until the client hangs up, and notes that it did.
    Hold,
    /// This text again and again until the client hangs up.
    Forever(String),
    /// The same, this many times a second.
    EachSecond(String, u32),
}

impl Reply {
    pub fn json(value: Value) -> Self {
        Self::Http(200, vec![("Content-Type", "application/json".into())], value.to_string().into_bytes())
    }
    pub fn status(status: u16, body: &str) -> Self {
        Self::Http(status, vec![("Content-Type", "text/plain".into())], body.as_bytes().to_vec())
    }
    pub fn event(value: &Value) -> Step {
        Step::Text(format!("data: {value}\n\n"))
    }
}

/// What a test says of a request; nothing leaves it to the server.
type Says = dyn Fn(&Seen, &HttpServer) -> Option<Reply> + Send + Sync;

/// Cheap to clone; all clones are one server. It ends with the test's runtime.
#[derive(Clone)]
pub struct HttpServer(Arc<Inner>);

struct Inner {
    port: u16,
    /// Speaks 2026-07-28, without sessions, and nothing older.
    modern: bool,
    says: Box<Says>,
    seen: Mutex<Vec<Seen>>,
    sessions: Mutex<HashSet<String>>,
    connections: AtomicUsize,
    named: AtomicUsize,
    hung_up: AtomicUsize,
    came: Notify,
}

impl HttpServer {
    /// A server of the versions with `initialize` and sessions.
    pub async fn start(says: impl Fn(&Seen, &HttpServer) -> Option<Reply> + Send + Sync + 'static) -> Self {
        Self::listen(false, says, None).await
    }
    pub async fn good() -> Self {
        Self::start(|_, _| None).await
    }
    pub async fn modern(says: impl Fn(&Seen, &HttpServer) -> Option<Reply> + Send + Sync + 'static) -> Self {
        Self::listen(true, says, None).await
    }
    pub async fn secure(tls: tokio_rustls::TlsAcceptor) -> Self {
        Self::listen(false, |_, _| None, Some(tls)).await
    }

    async fn listen(
        modern: bool,
        says: impl Fn(&Seen, &HttpServer) -> Option<Reply> + Send + Sync + 'static,
        tls: Option<tokio_rustls::TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server = Self(Arc::new(Inner {
            port: listener.local_addr().expect("its address").port(),
            modern,
            says: Box::new(says),
            seen: Mutex::default(),
            sessions: Mutex::default(),
            connections: AtomicUsize::new(0),
            named: AtomicUsize::new(0),
            hung_up: AtomicUsize::new(0),
            came: Notify::new(),
        }));
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                accepting.0.connections.fetch_add(1, Ordering::SeqCst);
                let (server, tls) = (accepting.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => {
                            if let Ok(socket) = tls.accept(socket).await {
                                let _ = server.serve(socket).await;
                            }
                        }
                        None => drop(server.serve(socket).await),
                    }
                });
            }
        });
        server
    }

    pub fn port(&self) -> u16 {
        self.0.port
    }
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.0.port)
    }
    /// An entry that leads here.
    pub fn entry(&self) -> Value {
        json!({ "type": "http", "url": self.url() })
    }
    fn lock<'a, T>(&self, of: &'a Mutex<T>) -> MutexGuard<'a, T> {
        of.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub fn seen(&self) -> Vec<Seen> {
        self.lock(&self.0.seen).clone()
    }
    /// Verb and method of what came, in order.
    pub fn log(&self) -> Vec<String> {
        self.seen().iter().map(|seen| format!("{} {}", seen.verb, seen.method()).trim().to_string()).collect()
    }
    pub fn count(&self, method: &str) -> usize {
        self.seen().iter().filter(|seen| seen.method() == method).count()
    }
    pub fn connections(&self) -> usize {
        self.0.connections.load(Ordering::SeqCst)
    }
    /// How many held streams the client hung up on.
    pub fn hung_up(&self) -> usize {
        self.0.hung_up.load(Ordering::SeqCst)
    }
    pub fn sessions(&self) -> usize {
        self.lock(&self.0.sessions).len()
    }
    /// Forgets every session.
    pub fn forget(&self) {
        self.lock(&self.0.sessions).clear();
    }
    /// Waits until something can be seen here.
    pub async fn until(&self, what: &str, look: impl Fn(&Self) -> bool) {
        let waited = tokio::time::timeout(crate::engine::PATIENCE, async {
            loop {
                let came = self.0.came.notified();
                tokio::pin!(came);
                came.as_mut().enable();
                if look(self) {
                    return;
                }
                came.await;
            }
        });
        assert!(waited.await.is_ok(), "waited for {what}; seen: {:#?}", self.log());
    }

    async fn serve(&self, mut socket: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
        while let Some(seen) = request(&mut socket).await? {
            self.lock(&self.0.seen).push(seen.clone());
            self.0.came.notify_waiters();
            let reply = (self.0.says)(&seen, self).unwrap_or_else(|| self.good_reply(&seen));
            match reply {
                Reply::Http(status, headers, body) => {
                    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
                    socket.write_all(format!("{head}\r\n").as_bytes()).await?;
                    socket.write_all(&body).await?;
                }
                Reply::Raw(bytes) => {
                    socket.write_all(&bytes).await?;
                    return socket.shutdown().await;
                }
                Reply::Events(steps) => {
                    if !self.events(&mut socket, steps).await? {
                        return Ok(());
                    }
                }
                Reply::Silence => return self.until_hung_up(&mut socket).await,
                Reply::Long(start, mut left) => {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
                    socket.write_all(head.as_bytes()).await?;
                    socket.write_all(start.as_bytes()).await?;
                    let block = [b'x'; 64 * 1024];
                    while left > 0 {
                        if let Err(gone) = socket.write_all(&block).await {
                            self.0.hung_up.fetch_add(1, Ordering::SeqCst);
                            self.0.came.notify_waiters();
                            return Err(gone);
                        }
                        left = left.saturating_sub(block.len() as u64);
                    }
                    return socket.shutdown().await;
                }
                Reply::Drip => {
                    socket.write_all(b"HTTP/1.1 200 OK\r\nX: ").await?;
                    loop {
                        socket.write_all(b"y").await?;
                        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                    }
                }
            }
        }
        Ok(())
    }

    /// False when the connection is over.
    async fn events(&self, socket: &mut (impl AsyncRead + AsyncWrite + Unpin), steps: Vec<Step>) -> std::io::Result<bool> {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await?;
        for step in steps {
            match step {
                Step::Text(text) => chunk(socket, &text).await?,
                Step::Wait(until) => until.notified().await,
                Step::Cut => return Ok(false),
                Step::Hold => {
                    self.until_hung_up(socket).await?;
                    return Ok(false);
                }
                Step::Forever(text) => loop {
                    chunk(socket, &text).await?;
                },
                Step::EachSecond(text, times) => {
                    let mut tick = tokio::time::interval(std::time::Duration::from_secs(1) / times);
                    loop {
                        tick.tick().await;
                        chunk(socket, &text).await?;
                    }
                }
            }
        }
        socket.write_all(b"0\r\n\r\n").await?;
        Ok(true)
    }

    async fn until_hung_up(&self, socket: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
        let mut more = [0; 1024];
        while matches!(socket.read(&mut more).await, Ok(bytes) if bytes > 0) {}
        self.0.hung_up.fetch_add(1, Ordering::SeqCst);
        self.0.came.notify_waiters();
        Ok(())
    }

    /// The answer of a server that does nothing wrong.
    pub fn good_reply(&self, seen: &Seen) -> Reply {
        let session = seen.header("mcp-session-id");
        match seen.verb.as_str() {
            "GET" => return Reply::status(405, ""),
            "DELETE" => {
                self.lock(&self.0.sessions).remove(session);
                return Reply::status(200, "");
            }
            _ => {}
        }
        let info = json!({ "name": "http", "version": "2.0" });
        match (seen.method(), self.0.modern) {
            ("server/discover", true) => {
                return Reply::json(seen.result(json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                    "ttlMs": 0, "cacheScope": "private", "_meta": { "io.modelcontextprotocol/serverInfo": info }
                })));
            }
            ("initialize", false) => {
                let name = format!("session-{}-of-{}", self.0.named.fetch_add(1, Ordering::SeqCst), self.0.port);
                self.lock(&self.0.sessions).insert(name.clone());
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": info });
                let headers = vec![("Content-Type", "application/json".into()), ("Mcp-Session-Id", name)];
                return Reply::Http(200, headers, seen.result(result).to_string().into_bytes());
            }
            (_, false) if session.is_empty() => {
                let error =
                    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "Server not initialized" } });
                return Reply::Http(400, vec![("Content-Type", "application/json".into())], error.to_string().into_bytes());
            }
            (_, false) if !self.lock(&self.0.sessions).contains(session) => return Reply::status(404, "Session not found"),
            _ => {}
        }
        if seen.body.get("id").is_none() || seen.body.get("method").is_none() {
            return Reply::Http(202, vec![], vec![]);
        }
        let tool =
            |name: &str| json!({ "name": name, "description": format!("The tool {name}"), "inputSchema": { "type": "object" } });
        match (seen.method(), seen.body["params"]["name"].as_str()) {
            ("tools/list", _) => Reply::json(seen.result(json!({ "tools": [tool("echo"), tool("exact"), tool("odd")] }))),
            ("tools/call", Some("exact")) => Reply::json(seen.words(&seen.text)),
            ("tools/call", _) => Reply::json(seen.words(&seen.body["params"]["arguments"].to_string())),
            ("ping", _) => Reply::json(seen.result(json!({}))),
            _ => Reply::json(seen.error(-32601, "Method not found")),
        }
    }
}

async fn chunk(socket: &mut (impl AsyncWrite + Unpin), text: &str) -> std::io::Result<()> {
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?;
    socket.flush().await
}

/// The next request of a connection, if one comes.
pub(crate) async fn request(socket: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Option<Seen>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if socket.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_string);
    let (verb, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
        .collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let body = serde_json::from_str(&text).unwrap_or_default();
    Ok(Some(Seen { verb, path, headers, text, body }))
}
