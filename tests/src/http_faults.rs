//! The HTTP server that does nothing wrong, but for one fault.

use serde_json::{Value, json};

use crate::http_server::{HttpServer, Reply, Seen, Step};

#[derive(Debug, Clone, PartialEq)]
pub enum HttpFault {
    /// Everything is answered with this status and these words.
    Status(u16, &'static str),
    /// Everything is sent to this address.
    Redirect(String),
    /// Everything is compressed like this.
    Gzip(Vec<u8>),
    WebPage,
    /// What listens speaks another protocol.
    NotHttp,
    /// The transport before Streamable HTTP.
    Legacy,
    /// This method is never answered; the empty one is every request's.
    Hang(&'static str),
    /// The answer to this method has a head without end, a byte at a time.
    SlowHead(&'static str),
    /// The answer to this method is `"error": "boom"`.
    StringError(&'static str),
    /// The answer to this method is these words, in which `ID` stands for the request's.
    Body(&'static str, &'static str),
    /// The same in a stream of events that ends.
    Event(&'static str, &'static str),
    /// It speaks this version.
    Version(&'static str),
    /// It gives this cursor with every page; without one, a new cursor each time.
    Cursor(Option<&'static str>),
    /// It lists these tools.
    Tools(Vec<Value>),
    /// A call's stream of events breaks off without an answer.
    Dropped,
    /// A call finds its session forgotten, in the next session too.
    SessionLoss,
    /// A call's result is text of so many bytes.
    Long(u64),
    /// A call's result is one event without end.
    EndlessEvent,
    /// A call's stream is comments without end.
    EndlessComments,
    /// What it says by itself is this notification, 2,000 times a second.
    Storm(&'static str),
}

pub fn plain(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

impl HttpFault {
    pub async fn server(self) -> HttpServer {
        HttpServer::start(move |seen, server| self.reply(seen, server)).await
    }

    fn reply(&self, seen: &Seen, server: &HttpServer) -> Option<Reply> {
        let method = seen.method();
        let (post, call, list) = (seen.verb == "POST", method == "tools/call", method == "tools/list");
        match self {
            Self::Status(status, words) => Some(Reply::status(*status, words)),
            Self::Redirect(to) => Some(Reply::Http(307, vec![("Location", to.clone())], vec![])),
            Self::Gzip(bytes) => {
                let headers = vec![("Content-Type", "application/json".into()), ("Content-Encoding", "gzip".into())];
                Some(Reply::Http(200, headers, bytes.clone()))
            }
            Self::WebPage => Some(Reply::Http(200, vec![("Content-Type", "text/html".into())], b"<!doctype html>".to_vec())),
            Self::NotHttp => Some(Reply::Raw(b"220 mail.example ESMTP\r\n".to_vec())),
            Self::Legacy if seen.verb == "GET" => {
                Some(Reply::Events(vec![Step::Text("event: endpoint\ndata: /messages?id=1\n\n".into()), Step::Hold]))
            }
            Self::Legacy => Some(Reply::status(405, "")),
            Self::Hang(of) => (post && (of.is_empty() || *of == method)).then_some(Reply::Silence),
            Self::SlowHead(of) => (*of == method).then_some(Reply::Drip),
            Self::StringError(of) => {
                (*of == method).then(|| Reply::json(json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": "boom" })))
            }
            Self::Body(of, words) => (*of == method).then(|| {
                let body = words.replace("ID", &seen.body["id"].to_string());
                Reply::Http(200, vec![("Content-Type", "application/json".into())], body.into())
            }),
            Self::Event(of, words) => (*of == method).then(|| {
                let words = words.replace("ID", &seen.body["id"].to_string());
                Reply::Events(vec![Step::Text(format!("data: {words}\n\n"))])
            }),
            Self::Version(version) => (method == "initialize").then(|| {
                let info = json!({ "name": "http", "version": "2.0" });
                Reply::json(seen.result(json!({ "protocolVersion": version, "capabilities": {}, "serverInfo": info })))
            }),
            Self::Cursor(cursor) => list.then(|| {
                let next = cursor.map_or_else(|| server.count("tools/list").to_string(), str::to_owned);
                Reply::json(seen.result(json!({ "tools": [], "nextCursor": next })))
            }),
            Self::Tools(tools) => list.then(|| Reply::json(seen.result(json!({ "tools": tools })))),
            Self::Dropped => call.then(|| Reply::Events(vec![Step::Text(": so far\n\n".into()), Step::Cut])),
            Self::SessionLoss => call.then(|| Reply::status(404, "Session not found")),
            Self::Long(bytes) => call.then(|| {
                let id = &seen.body["id"];
                let start =
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"");
                Reply::Long(start, *bytes)
            }),
            Self::EndlessEvent => {
                call.then(|| Reply::Events(vec![Step::Text("data: ".into()), Step::Forever("x".repeat(64 * 1024))]))
            }
            Self::EndlessComments => call.then(|| Reply::Events(vec![Step::Forever(": still here\n".repeat(4096))])),
            Self::Storm(method) => (seen.verb == "GET").then(|| {
                let one = format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "method": method }));
                Reply::Events(vec![Step::EachSecond(one.repeat(200), 10)])
            }),
        }
    }
}
