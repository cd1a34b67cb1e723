//! Connecting an address and greeting the server there in the era it understands: `server/discover`, or `initialize`
//! after a refusal, over a fresh transport (see docs/glossary.md, "era"). What happens afterwards is the connection's.

use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::service::{RunningService, serve_client_with_lifecycle};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::super::failure::{HandshakeEnd, asked};
use super::super::framer::Ended;
use super::super::handshake::{Client, mode, peer_of, refusal};
use super::super::log::{ServerLog, Source};
use super::super::wire::Wire;
use super::super::{Era, Failure, Peer, Stage, StageReport};
use super::session::Session;
use super::{Fault, Remote, transport};
use crate::config::Server;
use crate::config::resolve::ResolvedHttp;
use crate::limits;
use crate::machine::http;
use crate::text::Scrubber;

/// How long a server may be silent about `server/discover`, unless it is known to understand it.
const DISCOVER_PATIENCE: Duration = Duration::from_secs(10);
/// How long finding out whether an address speaks the old transport may take.
const LEGACY_PATIENCE: Duration = Duration::from_secs(3);

/// An address whose server answered.
pub(in crate::mcp) struct Greeted {
    pub service: RunningService<RoleClient, Client>,
    pub remote: Remote,
    pub wire: std::sync::Arc<Wire>,
    pub peer: Peer,
    /// Why greeting it took long, if the stages before have not said so.
    pub note: Option<String>,
}

/// Reports the stages up to the first answer; the handshake's is the caller's, who knows how it is worded.
pub(in crate::mcp) async fn open(
    server: &Server,
    resolved: ResolvedHttp,
    remembered: Option<Era>,
    log: &ServerLog,
    limit: Duration,
    report: &mut (dyn FnMut(StageReport) + Send),
) -> Result<(Greeted, Instant), Failure> {
    let scrubber = log.scrubber();
    let begun = Instant::now();
    let found = find(server, &resolved, scrubber).await;
    let (ok, message) = match &found {
        Ok((_, message)) => (true, message.clone()),
        Err(failure) => (false, failure.message.clone()),
    };
    report(StageReport { stage: Stage::Program, took: begun.elapsed(), ok, message: Some(message) });
    let (client, _) = found.inspect_err(|failure| log.write(Source::Mework, &failure.message))?;

    let mut start = Start { begun: Instant::now(), reached: None, note: None, at: client.at(), report };
    let greeted = greet(&client, &resolved, remembered, log, limit, &mut start).await;
    let greeted = greeted.map_err(|(end, era)| {
        let failure = Failure::of_http(&end, era, scrubber);
        if failure.stage == Stage::Start {
            start.failed(&failure);
        }
        log.write(Source::Mework, &failure.message);
        failure
    });
    let since = start.reached.unwrap_or(start.begun);
    match greeted {
        Ok(greeted) => {
            let notes: Vec<String> = start.note.into_iter().chain(greeted.remote.session.untaken()).collect();
            let note = (!notes.is_empty()).then(|| notes.join("; "));
            Ok((Greeted { note, ..greeted }, since))
        }
        Err(failure) => {
            if failure.stage == Stage::Handshake {
                let message = Some(failure.message.clone());
                report(StageReport { stage: Stage::Handshake, took: since.elapsed(), ok: false, message });
            }
            Err(failure)
        }
    }
}

/// The client for the address, and where the address leads.
async fn find(server: &Server, resolved: &ResolvedHttp, scrubber: &Scrubber) -> Result<(http::Client, String), Failure> {
    let failed = |message: String| Failure::plain(Stage::Program, scrubber.show(&message));
    let client = server.machine.http(&resolved.url).await.map_err(|error| failed(error.to_string()))?;
    if let Some(via) = client.via() {
        let message = format!("{} through {}", client.at(), via.to_string().replacen("The", "the", 1));
        return Ok((client, scrubber.show(&message)));
    }
    let addresses = match timeout(limits::HTTP_CONNECT_TIMEOUT, client.addresses()).await {
        Ok(addresses) => addresses.map_err(|error| failed(error.to_string()))?,
        Err(_) => {
            return Err(failed(format!(
                "The name of {} was not resolved within {} s. Is the network up?",
                client.at(),
                limits::HTTP_CONNECT_TIMEOUT.as_secs()
            )));
        }
    };
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let message = format!("{}, which is {}", client.at(), addresses.join(", "));
    Ok((client, scrubber.show(&message)))
}

/// The stage between knowing the address and its first answer.
struct Start<'a> {
    begun: Instant,
    reached: Option<Instant>,
    /// What took long before the greeting that is tried now.
    note: Option<String>,
    at: String,
    report: &'a mut (dyn FnMut(StageReport) + Send),
}

impl Start<'_> {
    fn reached(&mut self) {
        if self.reached.is_none() {
            self.reached = Some(Instant::now());
            let message = Some(match self.note.take() {
                Some(note) => format!("{} answers; {note}", self.at),
                None => format!("{} answers", self.at),
            });
            (self.report)(StageReport { stage: Stage::Start, took: self.begun.elapsed(), ok: true, message });
        }
    }
    fn failed(&mut self, failure: &Failure) {
        let message = Some(failure.message.clone());
        (self.report)(StageReport { stage: Stage::Start, took: self.begun.elapsed(), ok: false, message });
    }
}

/// Both eras: the remembered one or `server/discover` first, then, unless that settles it, the other one. What a server
/// said to `initialize` is what a person can act on, unless the other greeting was understood.
async fn greet(
    client: &http::Client,
    resolved: &ResolvedHttp,
    remembered: Option<Era>,
    log: &ServerLog,
    limit: Duration,
    start: &mut Start<'_>,
) -> Result<Greeted, (HandshakeEnd, Era)> {
    let begun = Instant::now();
    let first = remembered.unwrap_or(Era::Discover);
    let patience = match (first, remembered) {
        (Era::Initialize, _) => limit,
        // Half of it is left for the other one.
        (Era::Discover, Some(_)) => limit / 2,
        (Era::Discover, None) => (limit / 2).min(DISCOVER_PATIENCE),
    };
    let refused = match handshake(client, resolved, first, log, patience, start).await {
        Ok(greeted) => return Ok(greeted),
        Err(end) => end,
    };
    let second = match first {
        Era::Initialize => Era::Discover,
        Era::Discover => Era::Initialize,
    };
    let left = limit.saturating_sub(begun.elapsed());
    // Silence is an answer only where the server may not know the question.
    let silent = matches!(refused, HandshakeEnd::Silent(_)) && first == Era::Initialize;
    if left.is_zero() || silent || matches!(&refused, HandshakeEnd::Ended(Ended::Http(fault)) if fault.is_final()) {
        return Err((refused, first));
    }
    log.write(Source::Mework, "It did not take the first greeting; trying the other one");
    if let HandshakeEnd::Silent(patience) = refused {
        let (silence, second) = (asked(first), asked(second));
        let seconds = patience.as_secs_f64().ceil();
        start.note = Some(format!("it did not answer `{silence}` within {seconds} s, so it was asked `{second}`"));
    }
    let again = match handshake(client, resolved, second, log, left, start).await {
        Ok(greeted) => return Ok(greeted),
        Err(end) => end,
    };
    let (end, era) = match first {
        Era::Discover if matches!(refused, HandshakeEnd::WrongVersion(_)) => (refused, first),
        Era::Discover => (again, second),
        Era::Initialize if matches!(again, HandshakeEnd::WrongVersion(_)) => (again, second),
        Era::Initialize => (refused, first),
    };
    if matches!(&end, HandshakeEnd::Refused(_))
        || matches!(&end, HandshakeEnd::Ended(Ended::Http(fault)) if fault.may_be_legacy())
    {
        let (session, _) = begin(client, resolved, log);
        if timeout(LEGACY_PATIENCE.min(limit), session.is_legacy()).await == Ok(true) {
            return Err((HandshakeEnd::Ended(Fault::LegacySse.into()), era));
        }
    }
    Err((end, era))
}

fn begin(client: &http::Client, resolved: &ResolvedHttp, log: &ServerLog) -> (Session, tokio::sync::mpsc::Receiver<super::Item>) {
    let (to, items) = tokio::sync::mpsc::channel(1);
    (Session::new(client.clone(), resolved.headers.clone(), Wire::new(log.clone()), log.clone(), to), items)
}

async fn handshake(
    client: &http::Client,
    resolved: &ResolvedHttp,
    era: Era,
    log: &ServerLog,
    limit: Duration,
    start: &mut Start<'_>,
) -> Result<Greeted, HandshakeEnd> {
    let wire = Wire::new(log.clone());
    let (transport, remote) =
        transport(|to| Session::new(client.clone(), resolved.headers.clone(), wire.clone(), log.clone(), to));
    let mut reached = remote.session.reached();
    let mut until_reached = Box::pin(async move { reached.wait_for(|reached| *reached).await.is_ok() });
    let mut told = false;
    let mut greeting = Box::pin(serve_client_with_lifecycle(Client, transport, mode(era)));
    let mut over = Box::pin(sleep(limit));
    let end = loop {
        tokio::select! {
            biased;
            seen = &mut until_reached, if !told => {
                told = true;
                if seen {
                    start.reached();
                }
            }
            greeted = &mut greeting => break match greeted {
                Ok(service) => match peer_of(&service, era, log.scrubber()) {
                    Ok(peer) => {
                        let words = format!("Connected: {} {}, protocol {}", peer.name, peer.version, peer.protocol);
                        log.write(Source::Mework, &words);
                        return Ok(Greeted { service, remote, wire, peer, note: None });
                    }
                    Err(end) => end,
                },
                Err(error) => refusal(error, log.scrubber()).unwrap_or_else(|| HandshakeEnd::Ended(wire.ended().unwrap_or(Ended::Closed))),
            },
            ended = wire.until_ended() => break HandshakeEnd::Ended(ended),
            () = &mut over => break HandshakeEnd::Silent(limit),
        }
    };
    // A session that is no use is not left behind.
    drop(greeting);
    tokio::spawn(remote.close());
    Err(end)
}

/// Owns the connection until it is to end, or ends by itself.
pub(in crate::mcp) async fn keep(
    service: RunningService<RoleClient, Client>,
    remote: Remote,
    wire: std::sync::Arc<Wire>,
    mut stop: watch::Receiver<bool>,
    gone: watch::Sender<bool>,
    log: ServerLog,
) {
    let words = tokio::select! {
        biased;
        () = async { drop(stop.wait_for(|stop| *stop).await) } => "Closed".to_string(),
        ended = wire.until_ended() => ended.to_string(),
    };
    log.write(Source::Mework, &words);
    service.cancellation_token().cancel();
    remote.close().await;
    gone.send_replace(true);
}
