//! Starting a server's process and greeting it in the era it understands: `initialize`, or `server/discover` after a
//! refusal, in a fresh process (see docs/glossary.md, "era"). What happens afterwards is the connection's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ErrorCode, ErrorData, Implementation, ProtocolVersion, ServerNotification,
    ServerRequest,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, RequestContext, RunningService, Service,
    serve_client_with_lifecycle,
};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use super::failure::{HandshakeEnd, Started, Traces, traces};
use super::framer::Ended;
use super::lenient::said;
use super::log::{ServerLog, Source};
use super::wire::{StdioTransport, WORD_BYTES, Wire, other_request, unfit_words};
use super::{Era, Failure, Peer};
use crate::config::Server;
use crate::limits;
use crate::machine::process::{Exit, Exits, Handle, Process, Spec, Stderr, Tally};
use crate::text::Scrubber;

/// After a process ended, how long what it wrote before may still be on its way.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a server that was remembered to know `server/discover` may be silent before it is asked for `initialize`.
const REMEMBERED_PATIENCE: Duration = Duration::from_secs(15);

/// Shown of a server's name and of its version; less than what is kept of them, so that every cut is made here.
const PEER_BYTES: usize = WORD_BYTES - 8;

/// What is said to servers: tools only (row 31).
pub(super) struct Client;

impl Service<RoleClient> for Client {
    async fn handle_request(&self, request: ServerRequest, _: RequestContext<RoleClient>) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Mework offers servers nothing to ask for", None)),
        }
    }
    async fn handle_notification(&self, _: ServerNotification, _: NotificationContext<RoleClient>) -> Result<(), ErrorData> {
        Ok(())
    }
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("mework", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// A process that was started and has not been greeted.
pub(super) struct Newborn {
    pub process: Process,
    pub wire: Arc<Wire>,
}

/// A process that answered.
pub(super) struct Greeted {
    pub service: RunningService<RoleClient, Client>,
    pub handle: Handle,
    pub stderr: Stderr,
    pub wire: Arc<Wire>,
    pub peer: Peer,
}

/// What is started, once for each greeting that is tried.
pub(super) struct Start<'a> {
    pub server: &'a Server,
    pub spec: Spec,
    pub log: &'a ServerLog,
    pub tally: &'a Tally,
}

impl Start<'_> {
    pub async fn newborn(&self) -> Result<Newborn, Failure> {
        let Self { server, spec, log, tally } = self;
        let process = server.machine.spawn_counted(spec.clone(), tally).await.map_err(|error| {
            let failure = Failure::of_spawn(&error, log.scrubber());
            log.write(Source::Mework, &failure.message);
            failure
        })?;
        let mut lines = process.stderr.subscribe();
        log.write(Source::Mework, &format!("Started {} as process {}", spec.program.display(), process.handle.pid()));
        let stderr_log = (*log).clone();
        tokio::spawn(async move {
            loop {
                match lines.recv().await {
                    Ok(line) => stderr_log.write(Source::Stderr, &line),
                    Err(RecvError::Lagged(missed)) => {
                        stderr_log.write(Source::Mework, &format!("{missed} lines of stderr came too fast to be kept"));
                    }
                    Err(RecvError::Closed) => break,
                }
            }
        });
        Ok(Newborn { process, wire: Wire::new((*log).clone()) })
    }
}

/// Both eras: the remembered one or `initialize` first, then, if that was refused, a fresh process and the other one; and the
/// remembered one once more, if it was met with silence and the other one with a refusal.
pub(super) async fn greet(
    start: &Start<'_>,
    newborn: Newborn,
    remembered: Option<Era>,
    started: &Arc<Started>,
    limit: Duration,
) -> Result<Greeted, Failure> {
    let log = start.log;
    let begun = Instant::now();
    let first = remembered.unwrap_or(Era::Initialize);
    let patience = match first {
        Era::Initialize => limit,
        // Half of it is left for the other one.
        Era::Discover => (limit / 2).min(REMEMBERED_PATIENCE),
    };
    let refused = match handshake(newborn, first, started, log, patience).await {
        Ok(greeted) => return Ok(greeted),
        Err(refused) => refused,
    };
    let second = match first {
        Era::Initialize => Era::Discover,
        Era::Discover => Era::Initialize,
    };
    let left = limit.saturating_sub(begun.elapsed());
    if !refused.other_era_may_help || left.is_zero() {
        return Err(refused.failure);
    }
    log.write(Source::Mework, "It did not take the first greeting; starting it again with the other one");
    let Ok(newborn) = start.newborn().await else { return Err(refused.failure) };
    let again = match handshake(newborn, second, started, log, left).await {
        Ok(greeted) => return Ok(greeted),
        // What it said to the first greeting is what a person can act on, unless the second was understood.
        Err(again) if again.understood => return Err(again.failure),
        Err(again) => again,
    };
    let left = limit.saturating_sub(begun.elapsed());
    // It was not silent but slow: a launcher may have had to download it. By now it answers, and does not know the other one.
    if !refused.silent || !again.other_era_may_help || left.is_zero() {
        return Err(refused.failure);
    }
    log.write(Source::Mework, "It does not take the other greeting either; starting it again with the first one");
    let Ok(newborn) = start.newborn().await else { return Err(refused.failure) };
    handshake(newborn, first, started, log, left).await.map_err(|_| refused.failure)
}

struct Refused {
    failure: Failure,
    other_era_may_help: bool,
    /// It answered in the protocol's terms.
    understood: bool,
    /// It said nothing for as long as was waited.
    silent: bool,
}

async fn handshake(
    newborn: Newborn,
    era: Era,
    started: &Arc<Started>,
    log: &ServerLog,
    limit: Duration,
) -> Result<Greeted, Refused> {
    let Newborn { process: Process { stdin, stdout, stderr, handle }, wire } = newborn;
    let exits = handle.exits();
    let transport = StdioTransport::new(stdout, stdin, wire.clone());
    let dead = async {
        exits.wait().await;
        sleep(LAST_WORDS).await;
    };
    let end = tokio::select! {
        biased;
        greeted = serve_client_with_lifecycle(Client, transport, mode(era)) => match greeted {
            Ok(service) => match peer_of(&service, era, log.scrubber()) {
                Ok(peer) => {
                    log.write(
                        Source::Mework,
                        &format!("Connected: {} {}, protocol {}", peer.name, peer.version, peer.protocol),
                    );
                    return Ok(Greeted { service, handle, stderr, wire, peer });
                }
                Err(end) => end,
            },
            Err(error) => handshake_end(error, &wire, &exits, log.scrubber()).await,
        },
        () = dead => HandshakeEnd::Exited,
        ended = wire.until_ended() => HandshakeEnd::Ended(ended),
        () = sleep(limit) => HandshakeEnd::Silent(limit),
    };
    let exited = match &end {
        HandshakeEnd::Exited => {
            stderr.settled(LAST_WORDS).await;
            exits.now()
        }
        _ => None,
    };
    let found = Traces { exit: exited, ..traces(&exits, &stderr, &wire) };
    let failure = Failure::of_handshake(&end, era, started, found);
    log.write(Source::Mework, &failure.message);
    // Nothing of it may still hold what a second start needs.
    handle.stop().await;
    let other_era_may_help = match end {
        HandshakeEnd::Refused(_) | HandshakeEnd::Malformed(_) | HandshakeEnd::Ended(Ended::Closed) => true,
        // A shell's "cannot execute" and "not found" are about the program, not about MCP.
        HandshakeEnd::Exited => !matches!(exited, Some(Exit::Code(126 | 127))),
        // Only a memory can be wrong about a silent server.
        HandshakeEnd::Silent(_) => era == Era::Discover,
        HandshakeEnd::WrongVersion(_) | HandshakeEnd::Ended(_) => false,
    };
    let (understood, silent) = (matches!(end, HandshakeEnd::WrongVersion(_)), matches!(end, HandshakeEnd::Silent(_)));
    Err(Refused { failure, other_era_may_help, understood, silent })
}

/// What is asked in an era, and nothing else: which one to try when is decided here, not in the crate.
pub(super) fn mode(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Initialize => ClientLifecycleMode::Initialize,
        Era::Discover => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    }
}

/// What rmcp's error means, if the server's answer is what it is about.
pub(super) fn refusal(error: ClientInitializeError, scrubber: &Scrubber) -> Option<HandshakeEnd> {
    match error {
        ClientInitializeError::JsonRpcError(error) => Some(HandshakeEnd::Refused(said(&error))),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            Some(HandshakeEnd::WrongVersion(server_supported.iter().map(ToString::to_string).collect()))
        }
        ClientInitializeError::ExpectedInitResult(result) => Some(HandshakeEnd::Malformed(result.as_ref().and_then(unfit_words))),
        ClientInitializeError::ConflictInitResponseId(ours, theirs)
        | ClientInitializeError::UncorrelatedErrorResponse { expected: ours, received: theirs } => {
            Some(HandshakeEnd::Malformed(Some(other_request(&theirs, &ours, scrubber))))
        }
        ClientInitializeError::ExpectedInitResponse(_) => Some(HandshakeEnd::Malformed(None)),
        _ => None,
    }
}

/// What rmcp's error means, once the process had a moment to say whether it still lives.
async fn handshake_end(error: ClientInitializeError, wire: &Wire, exits: &Exits, scrubber: &Scrubber) -> HandshakeEnd {
    if let Some(end) = refusal(error, scrubber) {
        return end;
    }
    // The pipe broke, one way or the other.
    match wire.ended() {
        Some(bound) if bound != Ended::Closed => HandshakeEnd::Ended(bound),
        _ if timeout(limits::TERMINATE_GRACE, exits.wait()).await.is_ok() => HandshakeEnd::Exited,
        _ => HandshakeEnd::Ended(Ended::Closed),
    }
}

/// Who answered, free of secrets (row 16); the crate accepts any version, we know a few.
pub(super) fn peer_of(service: &RunningService<RoleClient, Client>, era: Era, scrubber: &Scrubber) -> Result<Peer, HandshakeEnd> {
    let Some(info) = service.peer().peer_info() else { return Err(HandshakeEnd::Malformed(None)) };
    let protocol = info.protocol_version.to_string();
    if !ProtocolVersion::KNOWN_VERSIONS.contains(&info.protocol_version) {
        return Err(HandshakeEnd::WrongVersion(vec![protocol]));
    }
    let shown = |word: &str| scrubber.show_cut(word, PEER_BYTES);
    let (name, version) = info.server_info.as_ref().map(|who| (shown(&who.name), shown(&who.version))).unwrap_or_default();
    Ok(Peer { era, protocol, name, version })
}
