//! One running server: found, started, asked for its handshake and tools, called, ended (B20, B24–B27). The process
//! decides whether it lives; every wait has a limit of our own, because a stuck server makes the protocol's own waits
//! useless.
//!
//! When to connect again is the pool's business, and whether a call may happen is decided above.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CustomResult, ErrorCode, ErrorData, ListToolsRequest, NumberOrString,
    PaginatedRequestParams, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::failure::{Started, Traces, traces};
use super::framer::Ended;
use super::handshake::{Client, Greeted, LAST_WORDS, greet, start};
use super::log::{ServerLog, Source};
use super::result::{self, CallResult, ResultError};
use super::wire::{ExactArguments, Progress, ProgressTo, Wire};
use super::{Era, Failure, Peer, Stage, StageReport};
use crate::config::resolve::resolve;
use crate::config::{Launch, Resolved, Server};
use crate::limits;
use crate::machine::process::{Exit, Exits, Found, Handle, Spec, Stderr};
use crate::tools::ServerTools;
use crate::tools::arguments::Arguments;
use crate::tools::listing::{ListError, Listing};

/// How long telling a server of a cancellation may take.
const CANCEL_NOTICE: Duration = Duration::from_secs(2);

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The server answered the call with an error; the connection lives.
    #[error("The server refused the call: {0}")]
    Refused(String),
    #[error("The server did not answer within {} s.", .0.as_secs_f64().ceil())]
    TimedOut(Duration),
    #[error("The call was stopped.")]
    Cancelled,
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The server died or broke the protocol during the call.
    #[error("{}", .0.message)]
    Broken(Failure),
    /// It could not be connected for this call.
    #[error("{}", .0.message)]
    NotConnected(Failure),
}

impl CallError {
    /// What the server left behind, when there is something.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Broken(failure) | Self::NotConnected(failure) => Some(failure),
            Self::Refused(_) | Self::TimedOut(_) | Self::Cancelled | Self::Result(_) => None,
        }
    }
}

/// A connected server. Dropping it ends the server's whole process tree, without waiting.
pub struct Connection {
    server: Server,
    peer: Peer,
    link: Link,
    use_: Arc<Use>,
    gone: watch::Receiver<bool>,
}

/// What a request needs of a running server.
#[derive(Clone)]
struct Link {
    rmcp: rmcp::service::Peer<RoleClient>,
    wire: Arc<Wire>,
    exits: Exits,
    stderr: Stderr,
    started: Arc<Started>,
}

/// Whether a connection is in use, and whether it is to end. One that is to end takes no new calls, and ends when those
/// that run side by side are over.
struct Use {
    state: Mutex<UseState>,
    stop: watch::Sender<bool>,
}

#[derive(Default)]
struct UseState {
    running: usize,
    retired: bool,
}

impl Use {
    fn state(&self) -> std::sync::MutexGuard<'_, UseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn retire(&self) {
        let mut state = self.state();
        state.retired = true;
        if state.running == 0 {
            self.stop.send_replace(true);
        }
    }
    fn begin(self: &Arc<Self>) -> Running {
        self.state().running += 1;
        Running(self.clone())
    }
}

struct Running(Arc<Use>);

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        if state.running == 0 && state.retired {
            self.0.stop.send_replace(true);
        }
    }
}

/// Expands an entry for a start, and lets the scrubber know its secrets before anything else happens with them.
pub async fn prepare(server: &Server, cwd: &Path, log: &ServerLog) -> Result<Resolved, Failure> {
    if matches!(server.launch, Launch::Http(_)) {
        return Err(Failure::http());
    }
    let resolved = resolve(server, cwd).await.map_err(|problem| Failure::of_config(&problem))?;
    log.scrubber().add(&resolved.secrets);
    Ok(resolved)
}

impl Connection {
    /// Starts the server and greets it. `era`: what it answered to last time, which is tried first; the one it
    /// answers to is in [`Connection::peer`]. `limit` is for the handshake, a second start included. Stages are reported
    /// as they end, the failing one too.
    pub async fn open(
        server: &Server,
        resolved: Resolved,
        era: Option<Era>,
        log: &ServerLog,
        limit: Duration,
        report: &mut (dyn FnMut(StageReport) + Send),
    ) -> Result<Self, Failure> {
        let scrubber = log.scrubber();
        let begun = Instant::now();
        let program = server
            .machine
            .resolve(&resolved.command, &resolved.cwd, &resolved.env)
            .map_err(|error| Failure::of_program(&error, &resolved.command, scrubber));
        let program = staged(Stage::Program, begun, program, report, |program| {
            let path = program.path.display();
            Some(scrubber.show(&match &program.found {
                Found::AsPath => path.to_string(),
                Found::OnPath(folder) => format!("{path}, found in {} of the server's PATH", folder.display()),
            }))
        })?;
        let started = Arc::new(Started {
            program: program.path.clone(),
            env: resolved.env.clone(),
            machine: server.machine.clone(),
            scrubber: scrubber.clone(),
        });
        let spec = Spec {
            program: program.path,
            args: resolved.args.iter().map(Into::into).collect(),
            cwd: resolved.cwd,
            env: resolved.env,
        };

        let begun = Instant::now();
        let newborn = start(server, &spec, log).await;
        let newborn = staged(Stage::Start, begun, newborn, report, |newborn| {
            Some(format!("process {} in {}", newborn.process.handle.pid(), spec.cwd.display()))
        })?;

        let begun = Instant::now();
        let greeted = greet(server, newborn, &spec, era, &started, log, limit).await;
        let greeted = staged(Stage::Handshake, begun, greeted, report, |greeted| {
            let peer = &greeted.peer;
            let asked = match peer.era {
                Era::Initialize => "initialize",
                Era::Discover => "server/discover",
            };
            Some(scrubber.show(&format!("{} {}, protocol {} ({asked})", peer.name, peer.version, peer.protocol)))
        })?;
        Ok(connected(server, greeted, started, log))
    }

    pub fn server(&self) -> &Server {
        &self.server
    }
    pub fn peer(&self) -> &Peer {
        &self.peer
    }
    /// Takes calls: the process lives, its stream is whole, and nothing that happened asks for a fresh start.
    pub fn is_open(&self) -> bool {
        !self.use_.state().retired && self.link.exits.now().is_none() && self.link.wire.ended().is_none()
    }
    /// Calls or a listing are running.
    pub fn is_busy(&self) -> bool {
        self.use_.state().running > 0
    }
    /// The server said that its tools changed, since they were last listed.
    pub fn tools_changed(&self) -> bool {
        self.link.wire.tools_changed()
    }
    /// Lines on stdout that were no message, and the first few.
    pub fn noise(&self) -> (usize, Vec<String>) {
        self.link.wire.noise.seen()
    }
    /// The last lines of stderr, scrubbed and safe to show.
    pub fn stderr_tail(&self) -> Vec<String> {
        let lines = self.link.stderr.tail(limits::STDERR_TAIL_LINES);
        lines.iter().map(|line| self.link.started.scrubber.show(line)).collect()
    }
    /// It is to end because of something that happened here: a time-out, a cancellation, an answer that was none.
    pub fn is_retired(&self) -> bool {
        self.use_.state().retired
    }
    /// Resolves when the server's process or stream ended, with why. Does not keep the connection alive.
    pub fn until_broken(&self) -> impl Future<Output = Failure> + Send + 'static {
        let link = self.link.clone();
        async move {
            let ended = tokio::select! {
                ended = link.wire.until_ended() => Some(ended),
                _ = link.exits.wait() => None,
            };
            link.failure(Stage::List, ended).await
        }
    }

    /// Asks for all tools, page by page, within `limit`. A server whose list cannot be read ends (B24).
    pub async fn list_tools(&self, limit: Duration) -> Result<ServerTools, Failure> {
        let running = self.use_.begin();
        // A change that is announced from here on needs another listing.
        self.link.wire.take_tools_changed();
        let listed = match timeout(limit, self.pages()).await {
            Ok(listed) => listed,
            Err(_) => {
                let message = format!("It did not list its tools within {} s.", limit.as_secs_f64().ceil());
                Err(Failure::with_traces(Stage::List, message, &self.link.started, self.link.traces()))
            }
        };
        if listed.is_err() {
            self.use_.retire();
        }
        drop(running);
        listed
    }

    async fn pages(&self) -> Result<ServerTools, Failure> {
        let mut listing = Listing::new(&self.server);
        let mut cursor = None;
        let told = |message: String| Failure::with_traces(Stage::List, message, &self.link.started, self.link.traces());
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ListToolsRequest { params: Some(params), ..Default::default() };
            let mut sent = match self.link.send(ClientRequest::ListToolsRequest(request)).await {
                Ok(sent) => sent,
                Err(broken) => return Err(self.link.failure(Stage::List, broken).await),
            };
            let page = match self.link.answer(&mut sent).await {
                Ok(Ok(text)) => listing.page(&text),
                // A server that offers no tools may say so like this.
                Ok(Err(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => return Ok(listing.finish()),
                Ok(Err(error)) => return Err(told(format!("It refused to list its tools: {}", error.message))),
                Err(broken) => return Err(self.link.failure(Stage::List, broken).await),
            };
            cursor = match page {
                Ok(Some(next)) => Some(next),
                Ok(None) => return Ok(listing.finish()),
                Err(
                    error @ (ListError::Duplicate(_)
                    | ListError::TooManyTools
                    | ListError::TooManyListed
                    | ListError::TooManyBytes(_)
                    | ListError::Malformed(_)
                    | ListError::TooManyPages
                    | ListError::CursorLoop
                    | ListError::CursorTooLong),
                ) => return Err(told(error.to_string())),
            };
        }
    }

    /// Calls a tool by the server's name for it, with exactly this text as its arguments. `limit` is for the whole call;
    /// progress does not extend it. When `cancel` resolves, or this future is dropped, or the time is up, the server is told
    /// (B27), and the connection takes no more calls (B24).
    pub async fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        limit: Duration,
        progress: Option<mpsc::Sender<Progress>>,
        cancel: impl Future<Output = ()>,
    ) -> Result<CallResult, CallError> {
        let mut request = CallToolRequest::new(CallToolRequestParams::new(tool.to_string()));
        request.extensions.insert(ExactArguments(arguments.text().into()));
        if let Some(progress) = progress {
            request.extensions.insert(ProgressTo(progress));
        }
        let mut running = Call { connection: self, sent: None, token: None, _running: self.use_.begin() };
        let asked = async {
            let sent = self.link.send(ClientRequest::CallToolRequest(request)).await?;
            running.token = Some(sent.progress_token.0.clone());
            self.link.answer(running.sent.insert(sent)).await
        };
        tokio::pin!(cancel);
        let answer = tokio::select! {
            biased;
            answer = asked => answer,
            () = &mut cancel => {
                running.abandon("the person stopped the call").await;
                return Err(CallError::Cancelled);
            }
            () = sleep(limit) => {
                running.abandon("the call took longer than its time limit").await;
                return Err(CallError::TimedOut(limit));
            }
        };
        running.sent = None;
        match answer {
            Ok(Ok(text)) => {
                let parsed = tokio::task::spawn_blocking(move || result::parse(&text)).await;
                let parsed = parsed.unwrap_or_else(|_| Err(ResultError::Malformed("it could not be read".into())));
                if matches!(parsed, Err(ResultError::Malformed(_))) {
                    self.use_.retire();
                }
                Ok(parsed?)
            }
            Ok(Err(error)) => {
                Err(CallError::Refused(self.link.started.scrubber.show(&format!("{} (code {})", error.message, error.code.0))))
            }
            Err(ended) => {
                self.use_.retire();
                Err(CallError::Broken(self.link.failure(Stage::List, ended).await))
            }
        }
    }

    /// Takes no new calls; ends when those that run are over.
    pub fn retire(&self) {
        self.use_.retire();
    }

    /// Ends the server, whatever it does, and waits until nothing of it is left.
    pub async fn close(&self) {
        self.use_.state().retired = true;
        self.use_.stop.send_replace(true);
        // An error means that the one who would say so is gone, and so is the server.
        let _ = self.gone.clone().wait_for(|gone| *gone).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.use_.stop.send_replace(true);
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("server", &self.server.id).field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// A call on its way. Dropped before its answer came, it tells the server.
struct Call<'a> {
    connection: &'a Connection,
    sent: Option<RequestHandle<RoleClient>>,
    token: Option<NumberOrString>,
    _running: Running,
}

impl Call<'_> {
    async fn abandon(&mut self, why: &str) {
        if let Some(sent) = self.sent.take() {
            // A server that does not read may never take it; it is ended either way.
            let _ = timeout(CANCEL_NOTICE, sent.cancel(Some(why.into()))).await;
        }
        self.connection.use_.retire();
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            self.connection.link.wire.forget_progress(&token);
        }
        if let Some(sent) = self.sent.take() {
            let (use_, running) = (self.connection.use_.clone(), self.connection.use_.begin());
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    let _ = timeout(CANCEL_NOTICE, sent.cancel(Some("nobody waits for the answer".into()))).await;
                    drop(running);
                });
            }
            use_.retire();
        }
    }
}

impl Link {
    /// The error says why the stream ended, if it did.
    async fn send(&self, request: ClientRequest) -> Result<RequestHandle<RoleClient>, Option<Ended>> {
        tokio::select! {
            sent = self.rmcp.send_request_with_option(request, PeerRequestOptions::no_options()) => sent.map_err(|_| self.wire.ended()),
            ended = self.wire.until_ended() => Err(Some(ended)),
        }
    }

    /// The answer's text, or the server's error, or why there is none.
    async fn answer(&self, sent: &mut RequestHandle<RoleClient>) -> Result<Result<String, ErrorData>, Option<Ended>> {
        let dead = async {
            self.exits.wait().await;
            // The answer may have been written just before.
            sleep(LAST_WORDS).await;
        };
        let answer = tokio::select! {
            biased;
            answer = &mut sent.rx => answer,
            ended = self.wire.until_ended() => return Err(Some(ended)),
            () = dead => return Err(self.wire.ended()),
        };
        match answer {
            Ok(Ok(ServerResult::CustomResult(CustomResult(Value::String(text))))) => Ok(Ok(text)),
            // Only handshakes are given a type by the transport, and they are over.
            Ok(Ok(_)) => Ok(Err(ErrorData::internal_error("the answer belongs to another request", None))),
            Ok(Err(ServiceError::McpError(error))) => Ok(Err(error)),
            Ok(Err(_)) | Err(_) => Err(self.wire.ended()),
        }
    }

    fn traces(&self) -> Traces {
        traces(&self.exits, &self.stderr, &self.wire)
    }

    async fn failure(&self, stage: Stage, ended: Option<Ended>) -> Failure {
        settle(&self.exits, &self.stderr).await;
        Failure::of_broken(stage, ended, &self.started, self.traces())
    }
}

/// Waits a moment for how it ended and for its last words.
async fn settle(exits: &Exits, stderr: &Stderr) {
    if timeout(LAST_WORDS, exits.wait()).await.is_ok() {
        stderr.settled(LAST_WORDS).await;
    }
}

/// Reports how a stage ended, with the failure's words if it failed.
fn staged<T>(
    stage: Stage,
    begun: Instant,
    result: Result<T, Failure>,
    report: &mut (dyn FnMut(StageReport) + Send),
    message: impl FnOnce(&T) -> Option<String>,
) -> Result<T, Failure> {
    let (ok, message) = match &result {
        Ok(value) => (true, message(value)),
        Err(failure) => (false, Some(failure.message.clone())),
    };
    report(StageReport { stage, took: begun.elapsed(), ok, message });
    result
}

fn connected(server: &Server, greeted: Greeted, started: Arc<Started>, log: &ServerLog) -> Connection {
    let Greeted { service, handle, stderr, wire, peer } = greeted;
    let (stop, stopped) = watch::channel(false);
    let (gone, gone_seen) = watch::channel(false);
    let link = Link { rmcp: service.peer().clone(), wire: wire.clone(), exits: handle.exits(), stderr, started };
    tokio::spawn(keep(service, handle, wire, stopped, gone, log.clone()));
    Connection { server: server.clone(), peer, link, use_: Arc::new(Use { state: Mutex::default(), stop }), gone: gone_seen }
}

/// Owns the process until it is to end, or ends by itself; then sees to it that nothing of it is left.
async fn keep(
    service: RunningService<RoleClient, Client>,
    handle: Handle,
    wire: Arc<Wire>,
    mut stop: watch::Receiver<bool>,
    gone: watch::Sender<bool>,
    log: ServerLog,
) {
    let exits = handle.exits();
    let asked = tokio::select! {
        biased;
        () = async { drop(stop.wait_for(|stop| *stop).await) } => true,
        ended = wire.until_ended() => {
            if ended != Ended::Closed {
                log.write(Source::Mework, &ended.to_string());
            }
            false
        }
        // Its stream may still hold an answer; it closes by itself, or it is held open by a child that is ended below.
        _ = exits.wait() => {
            let _ = timeout(LAST_WORDS, wire.until_ended()).await;
            false
        }
    };
    service.cancellation_token().cancel();
    let exit = handle.stop().await;
    let how = match exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Unknown => "unknown end".into(),
    };
    log.write(Source::Mework, &if asked { format!("Closed ({how})") } else { format!("Ended by itself ({how})") });
    gone.send_replace(true);
}
