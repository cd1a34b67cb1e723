//! One running server: found, started or reached, asked for its handshake and tools, called, ended (B20, B24–B27). The
//! process, or what the address answers, decides whether it lives; every wait has a limit of our own, because a stuck
//! server makes the protocol's own waits useless.
//!
//! When to connect again is the pool's business, and whether a call may happen is decided above.

mod call_error;
mod in_use;

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ListToolsRequest, NumberOrString, PaginatedRequestParams,
};
use rmcp::service::{RequestHandle, RunningService};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::failure::{Started, asked};
use super::far::Far;
use super::framer::Ended;
use super::handshake::{Client, Greeted, LAST_WORDS, Start, greet};
use super::http::headers::{Mirror, mirrored, mirrors};
use super::lenient::said;
use super::link::Link;
use super::log::{ServerLog, Source};
use super::result::{self, CallResult, ResultError};
use super::wire::{ExactArguments, Mirrored, Progress, ProgressTo, Wire};
use super::{Era, Failure, Peer, Stage, StageReport, http, subscription};
use crate::config::resolve::{ResolvedHttp, check_folder, expanded, resolve_http};
use crate::config::{Launch, Resolved, Server};
use crate::machine::process::{Exit, Found, Handle, Spec, Tally};
use crate::text::Scrubber;
use crate::tools::arguments::Arguments;
use crate::tools::listing::{ListError, Listing};
use crate::tools::{ServerTools, SetAside};

pub use call_error::CallError;
use in_use::{Running, Use};

/// How long telling a server of a cancellation may take.
const CANCEL_NOTICE: Duration = Duration::from_secs(2);
/// How long a server's yes to a subscription is waited for before its tools are listed.
const SUBSCRIBING: Duration = Duration::from_secs(1);

/// A connected server. Dropping it ends the server's whole process tree, without waiting.
pub struct Connection {
    server: Server,
    /// Which tools are listed as left out, and which as asking; they may change while the connection lives.
    lists: Mutex<ToolLists>,
    peer: Peer,
    link: Link,
    use_: Arc<Use>,
    gone: watch::Receiver<bool>,
    /// By tool: arguments that headers repeat, as listed last.
    mirrors: Mutex<HashMap<String, Vec<Mirror>>>,
}

/// An entry's `disabledTools` and `disabledAutoApproveTools`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolLists {
    pub hidden: Vec<String>,
    pub always_ask: Vec<String>,
}

impl ToolLists {
    pub fn of(server: &Server) -> Self {
        Self { hidden: server.hidden_tools.clone(), always_ask: server.always_ask.clone() }
    }
}

/// An entry expanded for a start.
#[derive(Debug)]
pub enum Prepared {
    Process(Resolved),
    Address(ResolvedHttp),
}

impl Prepared {
    /// Changes with the entry and with any expanded value (B24).
    pub fn fingerprint(&self) -> &str {
        match self {
            Self::Process(resolved) => &resolved.fingerprint,
            Self::Address(resolved) => &resolved.fingerprint,
        }
    }
    /// Fails when there is no folder to start in.
    pub(super) async fn checked(self, server: &Server) -> Result<Self, Failure> {
        if let Self::Process(resolved) = &self {
            check_folder(server, resolved).await.map_err(|problem| Failure::of_config(&problem))?;
        }
        Ok(self)
    }
    /// The folder it runs in, or the origin it is reached at.
    pub fn place(&self) -> String {
        match self {
            Self::Process(resolved) => resolved.cwd.to_string_lossy().into_owned(),
            Self::Address(resolved) => resolved.url.origin().ascii_serialization(),
        }
    }
}

/// Expands an entry for a start, and lets the scrubber know its secrets before anything else happens with them.
pub async fn prepare(server: &Server, cwd: &Path, log: &ServerLog) -> Result<Prepared, Failure> {
    expand(server, cwd, log)?.checked(server).await
}

/// The same without a look at the folder it would start in: enough to know whether what runs is what is wanted.
pub fn expand(server: &Server, cwd: &Path, log: &ServerLog) -> Result<Prepared, Failure> {
    let prepared = match &server.launch {
        Launch::Stdio(_) => expanded(server, cwd).map(Prepared::Process),
        Launch::Http(_) => resolve_http(server).map(Prepared::Address),
    };
    let prepared = prepared.map_err(|problem| Failure::of_config(&problem))?;
    log.scrubber().add(match &prepared {
        Prepared::Process(resolved) => &resolved.secrets,
        Prepared::Address(resolved) => &resolved.secrets,
    });
    Ok(prepared)
}

impl Connection {
    /// Starts the server and greets it. `era`: what it answered to last time, which is tried first; the one it
    /// answers to is in [`Connection::peer`]. `limit` is for the handshake, a second start included. Stages are reported
    /// as they end, the failing one too. `tally` counts the processes, and goes on when this is given up halfway.
    pub async fn open(
        server: &Server,
        prepared: Prepared,
        era: Option<Era>,
        log: &ServerLog,
        limit: Duration,
        report: &mut (dyn FnMut(StageReport) + Send),
        tally: &Tally,
    ) -> Result<Self, Failure> {
        match prepared {
            Prepared::Process(resolved) => Self::start(server, resolved, era, log, limit, report, tally).await,
            Prepared::Address(resolved) => Self::reach(server, resolved, era, log, limit, report).await,
        }
    }

    async fn reach(
        server: &Server,
        resolved: ResolvedHttp,
        era: Option<Era>,
        log: &ServerLog,
        limit: Duration,
        report: &mut (dyn FnMut(StageReport) + Send),
    ) -> Result<Self, Failure> {
        let (greeted, begun) = http::greet::open(server, resolved, era, log, limit, report).await?;
        let http::greet::Greeted { service, remote, wire, peer, note } = greeted;
        let message = introduction(&peer, log.scrubber());
        let message = Some(note.iter().fold(message, |message, note| format!("{message}; {note}")));
        report(StageReport { stage: Stage::Handshake, took: begun.elapsed(), ok: true, message });
        let far = Far::Address { scrubber: log.scrubber().clone() };
        let link = Link { rmcp: service.peer().clone(), wire: wire.clone(), far };
        Ok(Self::kept(server, peer, link, |stopped, gone| http::greet::keep(service, remote, wire, stopped, gone, log.clone())))
    }

    /// Puts a connection into the hands of a task that outlives it for as long as ending takes.
    fn kept<F: Future<Output = ()> + Send + 'static>(
        server: &Server,
        peer: Peer,
        link: Link,
        keep: impl FnOnce(watch::Receiver<bool>, watch::Sender<bool>) -> F,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (gone, gone_seen) = watch::channel(false);
        tokio::spawn(keep(stopped, gone));
        let use_ = Arc::new(Use::new(stop));
        let lists = Mutex::new(ToolLists::of(server));
        Self { server: server.clone(), lists, peer, link, use_, gone: gone_seen, mirrors: Mutex::default() }
    }

    async fn start(
        server: &Server,
        resolved: Resolved,
        era: Option<Era>,
        log: &ServerLog,
        limit: Duration,
        report: &mut (dyn FnMut(StageReport) + Send),
        tally: &Tally,
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
        let start = Start { server, spec, log, tally };
        let newborn = start.newborn().await;
        let newborn = staged(Stage::Start, begun, newborn, report, |newborn| {
            Some(format!("process {} in {}", newborn.process.handle.pid(), start.spec.cwd.display()))
        })?;

        let begun = Instant::now();
        let greeted = greet(&start, newborn, era, &started, limit).await;
        let greeted = staged(Stage::Handshake, begun, greeted, report, |greeted| Some(introduction(&greeted.peer, scrubber)))?;
        let Greeted { service, handle, stderr, wire, peer } = greeted;
        let far = Far::Process { exits: handle.exits(), stderr, started };
        let link = Link { rmcp: service.peer().clone(), wire: wire.clone(), far };
        Ok(Self::kept(server, peer, link, |stopped, gone| keep(service, handle, wire, stopped, gone, log.clone())))
    }

    pub fn server(&self) -> &Server {
        &self.server
    }
    pub fn peer(&self) -> &Peer {
        &self.peer
    }
    /// Takes calls: the process lives, its stream is whole, and nothing that happened asks for a fresh start.
    pub fn is_open(&self) -> bool {
        !self.use_.state().retired && !self.link.far.is_gone() && self.link.wire.ended().is_none()
    }
    /// Calls or a listing are running.
    pub fn is_busy(&self) -> bool {
        self.use_.state().running > 0
    }
    /// The server said that its tools changed, since they were last listed. Does not keep the connection alive.
    pub fn tools_changed(&self) -> watch::Receiver<bool> {
        self.link.wire.tools_changed()
    }
    /// Asks to be told when tools change, where the protocol version wants to be asked and the server offers it. To be done
    /// before tools are listed: what changes in between is told then.
    pub async fn subscribe(&self) {
        let offered = self.link.rmcp.peer_info().and_then(|info| info.capabilities.tools.as_ref()?.list_changed);
        if self.peer.era != Era::Discover || offered != Some(true) {
            return;
        }
        let (listening, mut until) = watch::channel(false);
        tokio::spawn(subscription::keep(self.link.clone(), listening));
        let _ = timeout(SUBSCRIBING, until.wait_for(|listening| *listening)).await;
    }
    /// Lines on stdout that were no message, and the first few.
    pub fn noise(&self) -> (usize, Vec<String>) {
        self.link.wire.noise.seen()
    }
    /// The last lines of stderr, scrubbed and safe to show.
    pub fn stderr_tail(&self) -> Vec<String> {
        self.link.far.stderr_tail()
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
                () = link.far.until_gone() => None,
            };
            link.failure(Stage::List, ended).await
        }
    }

    /// The next listing goes by these lists.
    pub fn set_lists(&self, lists: ToolLists) {
        *self.lists.lock().unwrap_or_else(PoisonError::into_inner) = lists;
    }

    /// Asks for all tools, page by page, within `limit`. A server whose list cannot be read ends (B24).
    pub async fn list_tools(&self, limit: Duration) -> Result<ServerTools, Failure> {
        let (running, begun) = (self.use_.begin(), Instant::now());
        // A change that is announced from here on needs another listing.
        self.link.wire.take_tools_changed();
        let listed = match timeout(limit, self.pages()).await {
            Ok(listed) => listed,
            Err(_) => {
                let mut message = format!("It did not list its tools within {} s.", limit.as_secs_f64().ceil());
                if let Some(id) = self.link.wire.stray_since(begun) {
                    message += &format!(" It sent an answer with the id {id} meanwhile, which no request has.");
                }
                Err(self.link.far.told(Stage::List, message, &self.link.wire))
            }
        };
        if listed.is_err() {
            self.use_.retire();
        }
        drop(running);
        listed.map(|tools| {
            let mut tools = self.mirrored(self.scrubbed(tools));
            tools.notices.extend(self.link.wire.noise.notice());
            tools
        })
    }

    /// The server's words about its tools, free of secrets (row 16). A tool's name stays: it is what is called.
    fn scrubbed(&self, mut tools: ServerTools) -> ServerTools {
        let scrubber = self.link.far.scrubber();
        let scrub = |words: &mut String| *words = scrubber.scrub(words);
        for tool in &mut tools.tools {
            tool.title.iter_mut().chain(&mut tool.description).for_each(scrub);
        }
        for aside in &mut tools.set_aside {
            aside.name.iter_mut().chain(Some(&mut aside.reason)).for_each(scrub);
        }
        tools.notices.iter_mut().for_each(scrub);
        tools
    }

    /// Remembers which arguments headers repeat, where the protocol version knows of that. A tool whose marks break the
    /// protocol's rules is set aside.
    fn mirrored(&self, mut tools: ServerTools) -> ServerTools {
        if !matches!(self.link.far, Far::Address { .. }) || self.peer.era != Era::Discover {
            return tools;
        }
        let mut all = HashMap::new();
        let set_aside = &mut tools.set_aside;
        tools.tools.retain(|tool| match mirrors(&tool.input_schema) {
            Ok(mirrors) => {
                if !mirrors.is_empty() {
                    all.insert(tool.name.clone(), mirrors);
                }
                true
            }
            Err(reason) => {
                let name = crate::text::display_capped(&tool.name, 80);
                set_aside.push(SetAside { name: Some(name), reason: crate::text::display_capped(&reason, 200) });
                false
            }
        });
        *self.mirrors.lock().unwrap_or_else(PoisonError::into_inner) = all;
        tools
    }

    async fn pages(&self) -> Result<ServerTools, Failure> {
        let ToolLists { hidden, always_ask } = self.lists.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let server = Server { hidden_tools: hidden, always_ask, ..self.server.clone() };
        let mut listing = Listing::new(&server);
        let mut cursor = None;
        let told = |message: String| self.link.far.told(Stage::List, message, &self.link.wire);
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
                Ok(Err(error)) => return Err(told(format!("It refused to list its tools: {}", said(&error)))),
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
        if let Some(mirrors) = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner).get(tool) {
            request.extensions.insert(Mirrored(mirrored(mirrors, arguments).into()));
        }
        let begun = Instant::now();
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
                let stray = self.link.wire.stray_since(begun);
                return Err(stray.map_or(CallError::TimedOut(limit), |id| CallError::OtherAnswered { limit, id }));
            }
        };
        running.sent = None;
        match answer {
            Ok(Ok(text)) => {
                // Handing a short text to another thread takes longer than reading it.
                let parsed = if result::is_quick(&text) {
                    result::parse(&text)
                } else {
                    let parsed = tokio::task::spawn_blocking(move || result::parse(&text)).await;
                    parsed.unwrap_or_else(|_| Err(ResultError::Malformed("it could not be read".into())))
                };
                if matches!(parsed, Err(ResultError::Malformed(_))) {
                    self.use_.retire();
                }
                Ok(parsed.map_err(|error| error.scrubbed(self.link.far.scrubber()))?)
            }
            Ok(Err(error)) => {
                let words = said(&error);
                let code = if error.message == words { format!(" (code {})", error.code.0) } else { String::new() };
                Err(CallError::Refused(self.link.far.scrubber().show(&format!("{words}{code}"))))
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
        self.use_.end();
        // An error means that the one who would say so is gone, and so is the server.
        let _ = self.gone.clone().wait_for(|gone| *gone).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.use_.end();
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

/// Who answered, in which era.
fn introduction(peer: &Peer, scrubber: &Scrubber) -> String {
    scrubber.show(&format!("{} {}, protocol {} ({})", peer.name, peer.version, peer.protocol, asked(peer.era)))
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
