//! JSON-RPC as servers write it, and a transport for it under rmcp over a stdio server's pipes (for HTTP see
//! [`super::http`]). It decides what each message is, because rmcp would guess the type of a result from its shape: the answer to a handshake is read leniently, every other result travels on
//! as its JSON text, which is read where its bounds are known. Notifications are handled here, in order; rmcp
//! sees requests and answers only.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, CustomRequest, CustomResult, GetExtensions, JsonRpcError, JsonRpcMessage, JsonRpcResponse,
    NumberOrString, PingRequest, RequestId, ServerRequest, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};

use super::batch;
use super::framer::{Ended, Framer, Noise};
use super::lenient::{self, discover_result, initialize_result};
use super::log::{ServerLog, Source};
use super::subscription::{self, Subscribed};
use crate::json::{members, mended, string};
use crate::limits;
use crate::text::{Scrubber, cut};

/// Bytes kept of a server's name and of its version.
pub(super) const WORD_BYTES: usize = 256;

/// A server's request with a longer id is none: its answer would carry the id back.
const REQUEST_ID_BYTES: usize = 1024;

/// Shown of the id of an answer that belongs to no request.
const ID_BYTES: usize = 80;

/// How long what a server wrote before it stopped reading may take to be read.
const UNREAD_OUTPUT: std::time::Duration = std::time::Duration::from_secs(1);

/// What a server said about a call that is running; safe to show.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub progress: Option<f64>,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Rides in a request's extensions: where its progress goes. One that is not read in time is dropped.
#[derive(Clone)]
pub struct ProgressTo(pub mpsc::Sender<Progress>);

/// Rides in a call's extensions: its arguments, exactly as they were shown.
#[derive(Clone)]
pub struct ExactArguments(pub Arc<str>);

/// Rides in a call's extensions: headers that repeat some of its arguments. Only HTTP has a use for them.
#[derive(Clone)]
pub struct Mirrored(pub Arc<[(http::HeaderName, http::HeaderValue)]>);

/// A message as it is sent, and what a transport has to know of it.
pub struct Outgoing {
    pub bytes: Vec<u8>,
    pub kind: Kind,
}

pub enum Kind {
    Request(Request),
    /// Whose answer nobody waits for any more.
    Cancel(Option<RequestId>),
    Notification {
        method: String,
    },
    /// To a request of the server; the transport says when that is [`Wire::answered`].
    Answer,
}

pub struct Request {
    pub id: RequestId,
    pub method: String,
    /// Of the tool that is called.
    pub name: Option<String>,
    /// The protocol version its `_meta` claims; only later versions do.
    pub version: Option<String>,
    pub mirrored: Arc<[(http::HeaderName, http::HeaderValue)]>,
}

/// What is known of a connection from outside its transport.
#[derive(Debug)]
pub struct Wire {
    pub noise: Noise,
    log: ServerLog,
    ended: watch::Sender<Option<Ended>>,
    tools_changed: watch::Sender<bool>,
    pub(super) subscribed: Subscribed,
    progress: Mutex<HashMap<NumberOrString, mpsc::Sender<Progress>>>,
    handshakes: Mutex<HashMap<RequestId, Handshake>>,
    /// The last answer that belongs to no request: when it came, and its id, safe to show.
    stray: Mutex<Option<(Instant, String)>>,
    /// Requests of the server whose answers it has not taken.
    unanswered: AtomicUsize,
}

#[derive(Debug, Clone, Copy)]
enum Handshake {
    Initialize,
    Discover,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    pub fn new(log: ServerLog) -> Arc<Self> {
        Arc::new(Self {
            noise: Noise::new(log.clone()),
            log,
            ended: watch::channel(None).0,
            tools_changed: watch::channel(false).0,
            subscribed: Subscribed::default(),
            progress: Mutex::default(),
            handshakes: Mutex::default(),
            stray: Mutex::default(),
            unanswered: AtomicUsize::new(0),
        })
    }
    /// Why nothing more comes, once that is so.
    pub fn ended(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }
    pub async fn until_ended(&self) -> Ended {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone().unwrap_or(Ended::Closed),
            Err(_) => Ended::Closed,
        }
    }
    /// The server said that its tools changed since this was last asked (row 24: however often it said so).
    pub fn take_tools_changed(&self) -> bool {
        self.tools_changed.send_replace(false)
    }
    pub fn tools_changed(&self) -> watch::Receiver<bool> {
        self.tools_changed.subscribe()
    }
    /// The server took the answer to a request of its own, or nobody offers it any more. Not before: what waits for a server
    /// that does not read takes memory, or a socket.
    pub(super) fn answered(&self) {
        self.unanswered.fetch_sub(1, Ordering::Relaxed);
    }
    /// Forgets where a call's progress goes.
    pub fn forget_progress(&self, token: &NumberOrString) {
        lock(&self.progress).remove(token);
    }
    /// The server said that it is not the one it was: list again.
    pub(super) fn mark_tools_changed(&self) {
        self.tools_changed.send_if_modified(|changed| !std::mem::replace(changed, true));
    }
    /// An answer came that belongs to no request. It is passed over, and whoever waits in vain may say so.
    pub(super) fn stray(&self, id: &RequestId) {
        let id = shown_id(id, self.log.scrubber());
        let before = lock(&self.stray).replace((Instant::now(), id.clone()));
        if before.is_none() {
            self.log
                .write(Source::Mework, &format!("It sent an answer with the id {id}, which no request has; that was ignored"));
        }
    }
    /// The id of such an answer, if one came since then.
    pub(super) fn stray_since(&self, begun: Instant) -> Option<String> {
        lock(&self.stray).as_ref().filter(|(at, _)| *at >= begun).map(|(_, id)| id.clone())
    }
    pub(super) fn end(&self, why: Ended) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(why);
            }
            first
        });
    }

    /// Writes a message down, and remembers what its answer needs.
    pub(super) fn outgoing(&self, item: &TxJsonRpcMessage<RoleClient>) -> io::Result<Outgoing> {
        let mut written = None;
        let kind = match item {
            JsonRpcMessage::Request(request) => {
                let extensions = request.request.extensions();
                let exact = extensions.get::<ExactArguments>();
                let progress = extensions.get::<ProgressTo>().cloned();
                let mirrored =
                    extensions.get::<Mirrored>().map_or_else(|| Arc::new([]) as Arc<[_]>, |mirrored| mirrored.0.clone());
                let mut text = serde_json::to_value(&request.request)?;
                let word = |pointer: &str| text.pointer(pointer).and_then(Value::as_str).map(str::to_string);
                let (id, method) = (request.id.clone(), word("/method").unwrap_or_default());
                match method.as_str() {
                    "initialize" => drop(lock(&self.handshakes).insert(id.clone(), Handshake::Initialize)),
                    "server/discover" => drop(lock(&self.handshakes).insert(id.clone(), Handshake::Discover)),
                    subscription::METHOD => self.subscribed.asked(id.clone()),
                    _ => {}
                }
                let token = text.pointer("/params/_meta/progressToken").cloned();
                if let (Some(progress), Some(token)) = (progress, token) {
                    lock(&self.progress).insert(serde_json::from_value(token)?, progress.0);
                }
                let name = word("/params/name").filter(|_| method == "tools/call");
                let version = word("/params/_meta/io.modelcontextprotocol~1protocolVersion");
                if let Some(ExactArguments(exact)) = exact {
                    written = Some(with_arguments(&id, &mut text, exact)?);
                }
                Kind::Request(Request { id, method, name, version, mirrored })
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Kind::Answer,
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ClientNotification::CancelledNotification(cancelled) => Kind::Cancel(cancelled.params.request_id.clone()),
                other => {
                    let text = serde_json::to_value(other)?;
                    Kind::Notification { method: text["method"].as_str().unwrap_or_default().into() }
                }
            },
        };
        let bytes = match written {
            Some(bytes) => bytes,
            None => serde_json::to_vec(item)?,
        };
        Ok(Outgoing { bytes, kind })
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => {
                self.subscribed.brought_news();
                self.mark_tools_changed();
            }
            subscription::ACKNOWLEDGED | "notifications/cancelled" => self.subscribed.heard(method, params),
            "notifications/progress" => {
                let names = ["progressToken", "progress", "total", "message"];
                let Some([token, progress, total, message]) = params.and_then(|raw| members(raw.get(), names)) else { return };
                let token = token.and_then(|raw| serde_json::from_str::<NumberOrString>(raw.get()).ok());
                let Some(to) = token.and_then(|token| lock(&self.progress).get(&token).cloned()) else { return };
                let number = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
                let message = message.and_then(string).map(|text| self.log.scrubber().show_cut(&text, limits::LOG_LINE_BYTES));
                let _ = to.try_send(Progress { progress: number(progress), total: number(total), message });
            }
            _ => {}
        }
    }
}

/// A message as written; values stay text.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    id: Option<NumberOrString>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub struct StdioTransport<R, W> {
    framer: Framer<R>,
    /// Of a list of messages, those that were not handed out yet.
    waiting: VecDeque<RxJsonRpcMessage<RoleClient>>,
    /// Requests that were written and are not answered.
    open: HashSet<RequestId>,
    write: Arc<tokio::sync::Mutex<Option<W>>>,
    wire: Arc<Wire>,
}

impl<R: AsyncRead + Unpin, W> StdioTransport<R, W> {
    pub fn new(read: R, write: W, wire: Arc<Wire>) -> Self {
        Self {
            framer: Framer::new(read),
            waiting: VecDeque::new(),
            open: HashSet::new(),
            write: Arc::new(tokio::sync::Mutex::new(Some(write))),
            wire,
        }
    }
}

impl<R, W> StdioTransport<R, W> {
    /// Notes which request a message answers. One that answers none is nobody's: rmcp passes it over.
    fn closes(&mut self, message: &RxJsonRpcMessage<RoleClient>) {
        let (JsonRpcMessage::Response(JsonRpcResponse { id, .. }) | JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. })) =
            message
        else {
            return;
        };
        let asked = self.open.iter().find(|own| is_of(own, id)).cloned();
        match asked {
            Some(own) => drop(self.open.remove(&own)),
            None => self.wire.stray(id),
        }
    }
}

impl<R, W> Transport<RoleClient> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let out = self.wire.outgoing(&item);
        if let Ok(Outgoing { kind: Kind::Request(request), .. }) = &out {
            self.open.insert(request.id.clone());
        }
        let (write, wire) = (self.write.clone(), self.wire.clone());
        async move {
            let Outgoing { mut bytes, kind } = out?;
            bytes.push(b'\n');
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            let written = async {
                write.write_all(&bytes).await?;
                write.flush().await
            };
            let written = written.await;
            if matches!(kind, Kind::Answer) {
                wire.answered();
            }
            if written.is_err() {
                // What it wrote before it stopped reading is still to be read, and says more than a broken pipe.
                tokio::spawn(async move {
                    tokio::time::sleep(UNREAD_OUTPUT).await;
                    wire.end(Ended::Unwritable);
                });
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                self.closes(&message);
                return Some(message);
            }
            let noise = &self.wire.noise;
            let read = match self.framer.next(noise).await {
                Ok(line) => {
                    let read = read(&self.wire, line);
                    let is_noise = matches!(read, Ok(None));
                    // Of several messages the framer counted one.
                    let more = read.as_ref().ok().and_then(Option::as_ref).map_or(0, |(_, count)| count.saturating_sub(1));
                    let counted = if is_noise {
                        noise.line(&line[..line.len().min(limits::LOG_LINE_BYTES)], line.len())
                    } else {
                        self.framer.count(more)
                    };
                    counted.and(read)
                }
                Err(why) => Err(why),
            };
            match read {
                Ok(Some((messages, _))) => self.waiting.extend(messages),
                Ok(None) => {}
                Err(why) => {
                    self.wire.end(why);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Somebody who is stuck writing to a server that does not read holds the lock; ending the process frees both.
        if let Ok(mut write) = self.write.try_lock() {
            write.take();
        }
        Ok(())
    }
}

/// A request with these arguments as the last of its parameters, token by token as they were written. Line ends can only
/// stand between tokens of JSON, where a space means the same.
fn with_arguments(id: &RequestId, request: &mut Value, arguments: &str) -> io::Result<Vec<u8>> {
    let arguments = arguments.replace(['\n', '\r'], " ");
    // What is no JSON, or more than one value, would break out of its place.
    let arguments: &RawValue = serde_json::from_str(&arguments)?;
    let params = request.get_mut("params").and_then(Value::as_object_mut).ok_or(io::ErrorKind::InvalidInput)?;
    params.shift_remove("arguments");
    let comma = if params.is_empty() { "" } else { "," };
    let params = serde_json::to_string(params)?;
    let others = params.strip_suffix('}').ok_or(io::ErrorKind::InvalidInput)?;
    let (id, method) = (serde_json::to_string(id)?, &request["method"]);
    Ok(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{others}{comma}\"arguments\":{arguments}}}}}")
        .into())
}

type Messages = Vec<RxJsonRpcMessage<RoleClient>>;

/// What a line holds for the service, and how many messages it was; none when it is noise. A line may hold a list of
/// messages: one protocol version (2025-03-26) has them, and wants them to be understood.
fn read(wire: &Wire, line: &[u8]) -> Result<Option<(Messages, usize)>, Ended> {
    let text;
    let batch: Vec<&[u8]> = if line.starts_with(b"[") {
        text = String::from_utf8_lossy(line);
        let Some(batch) = batch::messages(&text) else { return Ok(None) };
        batch.iter().map(|message| message.get().as_bytes()).collect()
    } else {
        vec![line]
    };
    let (mut messages, mut understood) = (Messages::new(), 0);
    for message in &batch {
        match incoming(wire, message) {
            Incoming::Pass(message) => messages.push(*message),
            Incoming::Handled => {}
            Incoming::Noise => continue,
            Incoming::End(why) => return Err(why),
        }
        understood += 1;
    }
    Ok((understood > 0).then_some((messages, batch.len())))
}

/// Whether an answer with this id is to that request: a number may come back as text.
pub(super) fn is_of(own: &RequestId, id: &RequestId) -> bool {
    own == id || matches!((own, id), (RequestId::Number(own), RequestId::String(id)) if id.parse() == Ok(*own))
}

/// As much of an id as is shown; a server chose it.
pub(super) fn shown_id(id: &RequestId, scrubber: &Scrubber) -> String {
    scrubber.show_cut(&serde_json::to_string(id).unwrap_or_default(), ID_BYTES)
}

/// The words for an answer whose id is another request's.
pub(super) fn other_request(theirs: &RequestId, ours: &RequestId, scrubber: &Scrubber) -> String {
    format!("its `id` is {}, and the request's is {}", shown_id(theirs, scrubber), shown_id(ours, scrubber))
}

/// Carries through rmcp what is wrong with the answer to a handshake; any other result is its text.
fn unfit(why: &str) -> ServerResult {
    ServerResult::CustomResult(CustomResult::new(json!({ "unfit": why })))
}

/// What [`unfit`] was told.
pub(super) fn unfit_words(result: &ServerResult) -> Option<String> {
    let ServerResult::CustomResult(CustomResult(value)) = result else { return None };
    value.get("unfit").and_then(Value::as_str).map(str::to_string)
}

pub(super) enum Incoming {
    Pass(Box<RxJsonRpcMessage<RoleClient>>),
    Handled,
    Noise,
    End(Ended),
}

pub(super) fn incoming(wire: &Wire, line: &[u8]) -> Incoming {
    // A byte that is no UTF-8, or half a surrogate pair, costs its character, not the answer that somebody waits for.
    let text = mended(String::from_utf8_lossy(line));
    let Ok(message) = serde_json::from_str::<Message<'_>>(&text) else { return Incoming::Noise };
    let pass = |message| Incoming::Pass(Box::new(message));
    match (message.method, message.id, message.result, message.error) {
        (Some(method), Some(id), ..) => {
            if matches!(&id, RequestId::String(id) if id.len() > REQUEST_ID_BYTES) {
                return Incoming::Noise;
            }
            if wire.unanswered.fetch_add(1, Ordering::Relaxed) >= limits::UNANSWERED_REQUESTS {
                return Incoming::End(Ended::Unanswered);
            }
            // Row 31: whatever it asks for, only `ping` has an answer. The name is all that is needed to say so.
            let request = match &*method {
                "ping" => ServerRequest::PingRequest(PingRequest::default()),
                _ => ServerRequest::CustomRequest(CustomRequest::new(cut(&method, 200), None)),
            };
            pass(JsonRpcMessage::request(request, id))
        }
        (Some(method), None, ..) => {
            wire.notification(&method, message.params);
            Incoming::Handled
        }
        (None, id, _, Some(error)) => {
            pass(JsonRpcMessage::Error(JsonRpcError::new(id, lenient::error(error, wire.log.scrubber()))))
        }
        (None, Some(id), Some(result), None) => {
            let handshake = lock(&wire.handshakes).iter().find_map(|(own, kind)| is_of(own, &id).then_some(*kind));
            let result = match handshake {
                Some(Handshake::Initialize) => initialize_result(result.get()).unwrap_or_else(unfit),
                Some(Handshake::Discover) => discover_result(result.get()).unwrap_or_else(unfit),
                None => ServerResult::CustomResult(CustomResult::new(Value::String(result.get().into()))),
            };
            pass(JsonRpcMessage::response(result, id))
        }
        (None, ..) => Incoming::Noise,
    }
}

#[cfg(test)]
mod tests;
