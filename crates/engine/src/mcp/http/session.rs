//! One server's exchanges over HTTP: each request is a POST, answered by a message or a stream of events; with sessions,
//! one GET listens for what the server says by itself. A lost session is opened again once for each request it costs; a
//! stream that breaks off is resumed where the server says how.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rmcp::model::{ErrorData, JsonRpcError, JsonRpcMessage, RequestId, ServerResult};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::super::again::Again;
use super::super::batch::messages;
use super::super::failure::known_versions;
use super::super::framer::{Ended, Gauge};
use super::super::log::{ServerLog, Source};
use super::super::subscription;
use super::super::wire::{Incoming, Request, Wire, incoming, is_of, shown_id};
use super::body::{REFUSAL_BYTES, Refusal, body, content_type, first_version, limited, origin, text, version_in};
use super::sse::{Place, Reader};
use super::{Fault, Item, headers};
use crate::limits;
use crate::machine::http::{Client, Response};
use crate::text::{Held, Scrubber, cut};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Bytes shown of what is no protocol message.
const NOT_A_MESSAGE_BYTES: usize = 120;
const SESSION_ID_BYTES: usize = 1024;
/// An id that is shorter can be guessed, and then it is no secret.
const GUESSED_ID_BYTES: usize = 16;
/// Shown of a protocol version that is not known.
const VERSION_BYTES: usize = 40;
/// Reconnections in a row that brought nothing new, before an answer's stream is given up.
const FRUITLESS: u32 = 5;
/// How long the rest of a stream may take after its answer came: read to its end, the socket can be used again.
const REST: Duration = Duration::from_secs(1);

pub(in crate::mcp) struct Session {
    client: Client,
    /// The entry's.
    headers: HeaderMap,
    pub wire: std::sync::Arc<Wire>,
    log: ServerLog,
    to: mpsc::Sender<Item>,
    /// Something answered at the address.
    reached: watch::Sender<bool>,
    state: Mutex<State>,
    /// Which opening of the session this is.
    opened: watch::Sender<u64>,
    opening: tokio::sync::Mutex<()>,
    gauge: Mutex<Gauge>,
    /// When it is listened again, from the beginning.
    again: Again,
}

#[derive(Default)]
struct State {
    /// Its id, which nothing shows for as long as it is in use.
    session: Option<(HeaderValue, Held)>,
    version: Option<HeaderValue>,
    /// The message that opened the session; none in the era without sessions.
    initialize: Option<Vec<u8>>,
    running: HashMap<RequestId, AbortHandle>,
    /// What was said to it that it did not take in time.
    untaken: Option<String>,
}

/// The server wants other credentials than it got.
fn is_denial(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// A request whose answer is looked for.
struct Wanted<'a> {
    id: &'a RequestId,
    /// The id of an answer that came instead.
    got: Option<RequestId>,
}

impl<'a> Wanted<'a> {
    fn new(id: &'a RequestId) -> Self {
        Self { id, got: None }
    }
    fn other(&self, scrubber: &Scrubber) -> Option<Fault> {
        let shown = |id| shown_id(id, scrubber);
        self.got.as_ref().map(|theirs| Fault::OtherRequest { theirs: shown(theirs), ours: shown(self.id) })
    }
}

/// What the head of an answer to a request means.
enum Head {
    Answer(Response),
    /// The request's answer is this error.
    Error(Box<RawValue>),
    SessionLost,
}

impl Session {
    pub fn new(
        client: Client,
        headers: Vec<(HeaderName, HeaderValue)>,
        wire: std::sync::Arc<Wire>,
        log: ServerLog,
        to: mpsc::Sender<Item>,
    ) -> Self {
        Self {
            client,
            headers: headers.into_iter().collect(),
            wire,
            log,
            to,
            reached: watch::channel(false).0,
            state: Mutex::default(),
            opened: watch::channel(0).0,
            opening: tokio::sync::Mutex::default(),
            gauge: Mutex::new(Gauge::new(Instant::now())),
            again: Again::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when anything answered, also with a refusal.
    pub fn reached(&self) -> watch::Receiver<bool> {
        self.reached.subscribe()
    }

    pub fn has_sessions(&self) -> bool {
        self.state().initialize.is_some()
    }

    /// Remembers the task of a request, to hang up on it.
    pub fn runs(&self, id: RequestId, task: AbortHandle) {
        let mut state = self.state();
        state.running.retain(|_, task| !task.is_finished());
        state.running.insert(id, task);
    }

    pub fn hang_up(&self, id: Option<&RequestId>) {
        if let Some(task) = id.and_then(|id| self.state().running.remove(id)) {
            task.abort();
        }
    }

    /// Sends a request and passes on what comes of it; what goes wrong ends the connection.
    pub async fn request(&self, request: &Request, bytes: Vec<u8>) {
        if request.method == "initialize" {
            self.state().initialize = Some(bytes.clone());
        }
        let Err(why) = self.exchange(request, bytes).await else { return };
        match why {
            // Nothing depends on a subscription, whatever became of it; a bound that it broke is broken.
            Ended::Http(fault) if request.method == subscription::METHOD && fault != Fault::TooLong => {
                let error = match fault {
                    Fault::Network(_) | Fault::BrokenOff => subscription::broken_off(),
                    other => ErrorData::internal_error(other.to_string(), None),
                };
                let _ = self.to.send(JsonRpcMessage::Error(JsonRpcError::new(Some(request.id.clone()), error))).await;
            }
            why => self.wire.end(why),
        }
    }

    async fn exchange(&self, request: &Request, bytes: Vec<u8>) -> Result<(), Ended> {
        let mut reopened = false;
        loop {
            let opened = *self.opened.borrow();
            let response = self.post(Some(request), bytes.clone()).await?;
            match self.head(response, request).await? {
                Head::Answer(response) => return self.answer(response, request).await,
                Head::Error(error) => {
                    let text = format!("{{\"id\":{},\"error\":{error}}}", serde_json::to_string(&request.id).unwrap_or_default());
                    self.deliver(text.as_bytes(), Some(&mut Wanted::new(&request.id))).await?;
                    return Ok(());
                }
                // The server did not take the request, so sending it again does nothing twice.
                Head::SessionLost if !reopened => {
                    self.reopen(opened).await?;
                    reopened = true;
                }
                Head::SessionLost => return Err(Fault::SessionLost.into()),
            }
        }
    }

    async fn post(&self, request: Option<&Request>, bytes: Vec<u8>) -> Result<Response, Ended> {
        let mut headers = self.own_headers("application/json, text/event-stream");
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        if let Some(request) = request {
            if let Some(version) = request.version.as_deref().and_then(|version| HeaderValue::from_str(version).ok()) {
                headers.insert(VERSION, version.clone());
                headers::standard(request, &mut headers);
                self.state().version = Some(version);
            }
            if request.method == "initialize" {
                headers.remove(SESSION);
                headers.remove(VERSION);
            }
        }
        self.send(Method::POST, headers, Some(bytes)).await
    }

    async fn get(&self, last_event: Option<&HeaderValue>) -> Result<Response, Ended> {
        let mut headers = self.own_headers(EVENTS);
        if let Some(id) = last_event {
            headers.insert(LAST_EVENT, id.clone());
        }
        self.send(Method::GET, headers, None).await
    }

    /// The entry's headers, and ours, which win.
    fn own_headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        // A small body that unpacks to a huge one is nothing we want.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let state = self.state();
        for (name, value) in [(SESSION, state.session.as_ref().map(|(id, _)| id)), (VERSION, state.version.as_ref())] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        headers
    }

    async fn send(&self, method: Method, headers: HeaderMap, body: Option<Vec<u8>>) -> Result<Response, Ended> {
        let response = self.client.send(method, headers, body).await.map_err(Fault::from)?;
        self.reached.send_replace(true);
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            // Where a secret is part of the address, lower case may hide it from the scrubber: then it is not shown at all.
            let clean = |location: &&str| self.log.scrubber().scrub(location) == **location;
            let to = text(&response, header::LOCATION).filter(clean);
            let to = to.and_then(|location| self.client.url().join(location).ok()).as_ref().and_then(origin);
            let status = status.as_u16();
            let here = origin(self.client.url());
            let fault = if to == here { Fault::RedirectWithin { status, to } } else { Fault::Redirect { status, to } };
            return Err(fault.into());
        }
        match text(&response, header::CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            Some(encoding) => Err(Fault::Encoded(cut(encoding, 40).into()).into()),
            None => Ok(response),
        }
    }

    async fn head(&self, response: Response, request: &Request) -> Result<Head, Ended> {
        let status = response.status();
        if status.is_success() {
            if request.method == "initialize" {
                self.begin(&response)?;
            }
            return Ok(Head::Answer(response));
        }
        let in_session = request.method != "initialize" && self.state().session.is_some();
        let refusal = Refusal::read(response, self.log.scrubber()).await;
        if is_denial(status) {
            return Err(self.refused(status, refusal).into());
        }
        // Servers should say 404, and some say 400 and what they mean.
        let names_session = || refusal.words.as_deref().is_some_and(|words| words.to_ascii_lowercase().contains("session"));
        if in_session && (status == StatusCode::NOT_FOUND || status == StatusCode::BAD_REQUEST && names_session()) {
            return Ok(Head::SessionLost);
        }
        match refusal.error {
            Some(error) => Ok(Head::Error(error)),
            None => Err(self.refused(status, refusal).into()),
        }
    }

    /// What a refusal means that is about more than one request.
    fn refused(&self, status: StatusCode, refusal: Refusal) -> Fault {
        let Refusal { scheme, words, .. } = refusal;
        if is_denial(status) {
            let sent = self.headers.keys().map(ToString::to_string).collect();
            return Fault::Denied { status: status.as_u16(), scheme, sent, words };
        }
        Fault::Status { status: status.as_u16(), words }
    }

    /// Takes the session's id, if the server gives one. It is as good as a password (row 39).
    fn begin(&self, response: &Response) -> Result<(), Ended> {
        let session = response.headers().get(SESSION).cloned();
        let Some(mut session) = session else {
            self.state().session = None;
            return Ok(());
        };
        let id =
            session.to_str().ok().filter(|id| id.len() <= SESSION_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_graphic()));
        let id = id.filter(|id| !id.is_empty()).ok_or(Fault::BadSessionId)?;
        // What could be a word of somebody else's text is no secret, and would be missing there.
        let guessable = id.len() < GUESSED_ID_BYTES || !id.bytes().any(|byte| byte.is_ascii_digit());
        let held = self.log.scrubber().hold(if guessable { "" } else { id });
        session.set_sensitive(true);
        self.state().session = Some((session, held));
        Ok(())
    }

    /// Reads the answer to a request, and what comes before it.
    async fn answer(&self, mut response: Response, request: &Request) -> Result<(), Ended> {
        let status = response.status().as_u16();
        if content_type(&response).as_deref() == Some(EVENTS) {
            return self.follow(response, &request.id).await;
        }
        let body = body(&mut response).await?;
        if body.trim_ascii().is_empty() {
            return Err(Fault::NoAnswer(status).into());
        }
        match content_type(&response).as_deref() {
            Some(JSON) | None => {}
            Some("text/html" | "application/xhtml+xml") => return Err(Fault::WebPage.into()),
            Some(_) => {
                let named = text(&response, header::CONTENT_TYPE).unwrap_or_default();
                return Err(Fault::ContentType(self.log.scrubber().show_cut(named, 80)).into());
            }
        }
        let mut wanted = Wanted::new(&request.id);
        if self.deliver(&body, Some(&mut wanted)).await? {
            return Ok(());
        }
        if let Some(other) = wanted.other(self.log.scrubber()) {
            return Err(other.into());
        }
        let start = String::from_utf8_lossy(&body[..body.len().min(NOT_A_MESSAGE_BYTES)]);
        let mut start = start.trim().to_owned();
        if body.len() > NOT_A_MESSAGE_BYTES {
            start.push('…');
        }
        Err(Fault::NotAMessage(self.log.scrubber().show_cut(&start, usize::MAX)).into())
    }

    /// Follows a request's stream of events until its answer came, over as many connections as it takes.
    async fn follow(&self, mut response: Response, own: &RequestId) -> Result<(), Ended> {
        let (mut place, mut fruitless, mut wanted) = (Place::default(), 0, Wanted::new(own));
        loop {
            let mut end: Ended = Fault::BrokenOff.into();
            match self.events(&mut response, Some(&mut wanted), &mut place).await {
                Ok(true) => {
                    let _ = timeout(REST, self.events(&mut response, None, &mut place)).await;
                    return Ok(());
                }
                Ok(false) => {}
                Err(Ended::Http(Fault::Network(broken))) => end = Fault::Network(broken).into(),
                Err(other) => return Err(other),
            }
            response = loop {
                fruitless = if std::mem::take(&mut place.news) { 1 } else { fruitless + 1 };
                let resumable = self.has_sessions().then_some(()).and(place.last_id.clone());
                let Some(last_id) = resumable.filter(|_| fruitless <= FRUITLESS) else {
                    return Err(wanted.other(self.log.scrubber()).map_or(end, Ended::from));
                };
                sleep(place.pause(fruitless)).await;
                match self.get(Some(&last_id)).await {
                    Ok(next) if next.status().is_success() && content_type(&next).as_deref() == Some(EVENTS) => break next,
                    Ok(_) => return Err(end),
                    Err(Ended::Http(Fault::Network(_))) => {}
                    Err(other) => return Err(other),
                }
            };
        }
    }

    /// Passes on a stream's events until the answer to `own` came (true) or the stream ended (false).
    async fn events(&self, response: &mut Response, mut own: Option<&mut Wanted<'_>>, place: &mut Place) -> Result<bool, Ended> {
        let mut reader = Reader::default();
        loop {
            while let Some(event) = reader.next_event().map_err(|_| Fault::TooLong)? {
                place.saw(&event);
                if !event.is_message() {
                    self.count()?;
                } else if self.deliver(&event.data, own.as_deref_mut()).await? {
                    return Ok(true);
                }
            }
            (0..reader.ignored()).try_for_each(|_| self.count())?;
            if !response.read(&mut reader.buffer).await.map_err(Fault::from)? {
                return Ok(false);
            }
        }
    }

    /// Passes a message on, or a batch of them. True when the answer to `own` was among them. Answers to anything else are
    /// dropped: no stream carries another request's (row 39).
    async fn deliver(&self, text: &[u8], mut own: Option<&mut Wanted<'_>>) -> Result<bool, Ended> {
        let text = text.trim_ascii();
        if text.first() != Some(&b'[') {
            return self.deliver_one(text, own).await;
        }
        let text = String::from_utf8_lossy(text);
        let Some(batch) = messages(&text) else { return Ok(false) };
        let mut answered = false;
        for message in batch {
            answered |= self.deliver_one(message.get().as_bytes(), own.as_deref_mut()).await?;
        }
        Ok(answered)
    }

    async fn deliver_one(&self, text: &[u8], own: Option<&mut Wanted<'_>>) -> Result<bool, Ended> {
        self.count()?;
        let mut message = match incoming(&self.wire, text) {
            Incoming::Pass(message) => *message,
            Incoming::Handled => return Ok(false),
            Incoming::Noise => {
                self.wire.noise.line(&text[..text.len().min(limits::LOG_LINE_BYTES)], text.len())?;
                return Ok(false);
            }
            Incoming::End(why) => return Err(why),
        };
        let wanted = own.as_ref().map(|own| own.id);
        let ours = |id: &RequestId| wanted.is_some_and(|own| is_of(own, id));
        let (answers, theirs) = match &mut message {
            JsonRpcMessage::Response(response) => {
                if let ServerResult::InitializeResult(result) = &response.result {
                    self.state().version = HeaderValue::from_str(&result.protocol_version.to_string()).ok();
                }
                (Some(ours(&response.id)), Some(response.id.clone()))
            }
            JsonRpcMessage::Error(JsonRpcError { id, .. }) => {
                let theirs = std::mem::replace(id, wanted.cloned());
                // A server that could not read the id says null.
                (Some(theirs.as_ref().map_or(wanted.is_some(), ours)), theirs)
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => (None, None),
        };
        if let (Some(false), Some(theirs), Some(own)) = (answers, theirs, own) {
            self.wire.stray(&theirs);
            own.got = Some(theirs);
        }
        if answers != Some(false) {
            // Nobody takes it any more when the connection ends.
            let _ = self.to.send(message).await;
        }
        Ok(answers == Some(true))
    }

    fn count(&self) -> Result<(), Ended> {
        self.gauge.lock().unwrap_or_else(PoisonError::into_inner).count(Instant::now())
    }

    /// Sends what has no answer. Only a refusal that concerns everything ends the connection.
    pub async fn notice(&self, bytes: Vec<u8>) {
        match self.post(None, bytes).await {
            Ok(response) if is_denial(response.status()) => {
                let (status, refusal) = (response.status(), Refusal::read(response, self.log.scrubber()).await);
                self.wire.end(self.refused(status, refusal).into());
            }
            Ok(mut response) if content_type(&response).as_deref() != Some(EVENTS) => {
                // A body that is not read keeps the socket from being used again.
                let _ = limited(&mut response, REFUSAL_BYTES).await;
            }
            Ok(_) => {}
            Err(why) => self.log.write(Source::Mework, &format!("A notification was not taken: {why}")),
        }
    }

    /// A notification was waited for in vain; the connection goes on without.
    pub fn did_not_take(&self, method: &str, patience: Duration) {
        let words = format!("it did not take `{method}` within {} s", patience.as_secs());
        self.log.write(Source::Mework, &format!("A notification was not taken: {words}"));
        self.state().untaken = Some(words);
    }

    /// The last one that was waited for in vain.
    pub fn untaken(&self) -> Option<String> {
        self.state().untaken.clone()
    }

    /// Opens the session again, unless somebody else did since `seen`.
    async fn reopen(&self, seen: u64) -> Result<(), Ended> {
        let _alone = self.opening.lock().await;
        if *self.opened.borrow() != seen {
            return Ok(());
        }
        let bytes = self.state().initialize.clone().ok_or(Fault::SessionLost)?;
        self.log.write(Source::Mework, "The server forgot the session; opening a new one");
        let mut headers = self.own_headers("application/json, text/event-stream");
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.remove(SESSION);
        headers.remove(VERSION);
        let mut response = self.send(Method::POST, headers, Some(bytes)).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(status, Refusal::read(response, self.log.scrubber()).await).into());
        }
        self.begin(&response)?;
        let version = match content_type(&response).as_deref() {
            Some(EVENTS) => first_version(&mut response).await?,
            _ => version_in(&body(&mut response).await?),
        };
        let version = version.ok_or(Fault::SessionLost)?;
        if !known_versions().contains(&version.as_str()) {
            return Err(Fault::WrongVersion(self.log.scrubber().show_cut(&version, VERSION_BYTES)).into());
        }
        self.state().version = HeaderValue::from_str(&version).ok();
        self.notice(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec()).await;
        // It may be another version of the server that answers now.
        self.wire.mark_tools_changed();
        self.opened.send_modify(|opened| *opened += 1);
        Ok(())
    }

    /// Listens for what the server says by itself, where it offers that. Never the cause of a connection's end, unless a
    /// bound is broken.
    pub async fn listen(&self) {
        let (mut place, mut again, mut first) = (Place::default(), self.again.clone(), true);
        let mut opened = self.opened.subscribe();
        loop {
            let begun = Instant::now();
            self.wire.subscribed.begin();
            match self.get(place.last_id.as_ref()).await {
                Ok(mut response) if response.status().is_success() && content_type(&response).as_deref() == Some(EVENTS) => {
                    let ended = tokio::select! {
                        ended = self.events(&mut response, None, &mut place) => Some(ended),
                        // What comes on the stream of a session that was lost is not what the new one says.
                        _ = opened.changed() => None,
                    };
                    match ended {
                        Some(Ok(_) | Err(Ended::Http(Fault::Network(_)))) => {}
                        Some(Err(why)) => return self.wire.end(why),
                        None => {
                            (place, again, first) = (Place::default(), self.again.clone(), true);
                            continue;
                        }
                    }
                }
                Ok(response) if response.status() == StatusCode::NOT_FOUND && !first => {
                    // The session is gone; the next request opens another.
                    if opened.changed().await.is_err() {
                        return;
                    }
                    (place, again, first) = (Place::default(), self.again.clone(), true);
                    continue;
                }
                Ok(_) => return,
                Err(_) => {}
            }
            first = false;
            // Any event at all is no news: a server could have itself asked again without end.
            let Some(pause) = again.after(begun.elapsed(), self.wire.subscribed.has_news(), place.pause) else { return };
            sleep(pause).await;
        }
    }

    /// Ends the server's session.
    pub async fn delete(&self) {
        if self.state().session.is_some() {
            let headers = self.own_headers(JSON);
            let _ = self.client.send(Method::DELETE, headers, None).await;
        }
    }

    /// Whether the address offers the transport before Streamable HTTP: a stream whose first event names an endpoint.
    pub async fn is_legacy(&self) -> bool {
        let Ok(mut response) = self.get(None).await else { return false };
        if !response.status().is_success() || content_type(&response).as_deref() != Some(EVENTS) {
            return false;
        }
        let mut reader = Reader::default();
        loop {
            match reader.next_event() {
                Ok(Some(event)) => return event.name.as_deref() == Some("endpoint"),
                Ok(None) if matches!(response.read(&mut reader.buffer).await, Ok(true)) => {}
                Ok(None) | Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests;
