//! Test connection: starts a server once, greets it, lists its tools, and closes it, with every stage timed and told as it
//! ends (cli.md, B15). It asks nobody: a test counts as a start, and consent is checked above.

use std::path::Path;
use std::time::{Duration, Instant};

use super::connection::{Connection, prepare};
use super::log::Logs;
use super::pool::Eras;
use super::{Failure, Peer, Stage, StageReport};
use crate::config::Server;
use crate::limits;
use crate::machine::process::Tally;
use crate::tools::{ServerTools, Tool, schema};

/// What a test found.
#[derive(Debug, Clone)]
pub struct Report {
    /// In order; the last one may have failed.
    pub stages: Vec<StageReport>,
    pub took: Duration,
    pub peer: Option<Peer>,
    pub tools: ServerTools,
    pub failure: Option<Failure>,
    /// The last five lines of stderr, scrubbed and safe to show.
    pub stderr: Vec<String>,
    /// Lines on stdout that were no message.
    pub stdout_noise: usize,
}

impl Report {
    pub fn ok(&self) -> bool {
        self.failure.is_none()
    }
}

/// Tests a server. Greeting and listing have `limit` together ([`limits::LISTING_TIMEOUT`] in the product: a launcher may
/// have to download a package first). Closing is not waited for, but happens.
pub async fn probe(
    server: &Server,
    cwd: &Path,
    logs: &Logs,
    eras: &dyn Eras,
    limit: Duration,
    told: &mut (dyn FnMut(&StageReport) + Send),
) -> Report {
    let begun = Instant::now();
    let mut stages = Vec::new();
    let mut report = |stage: StageReport| {
        told(&stage);
        stages.push(stage);
    };
    let tested = run(server, cwd, logs, eras, limit, &mut report).await;
    let took = begun.elapsed();
    match tested {
        Ok((connection, listed)) => {
            let (tools, failure) = match listed {
                Ok(tools) => (tools, None),
                Err(failure) => (ServerTools::default(), Some(failure)),
            };
            let (peer, stderr, noise) = (connection.peer().clone(), connection.stderr_tail(), connection.noise().0);
            tokio::spawn(async move { connection.close().await });
            Report { stages, took, peer: Some(peer), tools, failure, stderr, stdout_noise: noise }
        }
        Err(failure) => Report {
            stages,
            took,
            peer: None,
            tools: ServerTools::default(),
            stderr: failure.stderr.clone(),
            stdout_noise: failure.stdout_noise,
            failure: Some(failure),
        },
    }
}

async fn run(
    server: &Server,
    cwd: &Path,
    logs: &Logs,
    eras: &dyn Eras,
    limit: Duration,
    report: &mut (dyn FnMut(StageReport) + Send),
) -> Result<(Connection, Result<ServerTools, Failure>), Failure> {
    let log = logs.of(&server.id);
    let begun = Instant::now();
    let prepared = prepare(server, cwd, &log).await;
    report(StageReport {
        stage: Stage::Config,
        took: begun.elapsed(),
        ok: prepared.is_ok(),
        message: prepared.as_ref().err().map(|failure| failure.message.clone()),
    });
    let resolved = prepared?;
    let begun = Instant::now();
    let remembered = eras.remembered(&server.id);
    let connection = Connection::open(server, resolved, remembered, &log, limit, report, &Tally::default()).await?;
    if remembered != Some(connection.peer().era) {
        eras.remember(&server.id, connection.peer().era);
    }
    let left = limit.saturating_sub(begun.elapsed());
    let begun = Instant::now();
    let listed = match connection.list_tools(left).await {
        Ok(tools) => Ok(judged(tools).await),
        Err(failure) => Err(failure),
    };
    report(StageReport {
        stage: Stage::List,
        took: begun.elapsed(),
        ok: listed.is_ok(),
        message: Some(match &listed {
            Ok(tools) => summary(tools),
            Err(failure) => failure.message.clone(),
        }),
    });
    Ok((connection, listed))
}

/// Adds a notice for each tool whose arguments cannot be checked before they are sent. Finding that out takes time.
async fn judged(mut tools: ServerTools) -> ServerTools {
    let usable: Vec<Tool> = tools.tools.iter().filter(|tool| !tool.disabled).cloned().collect();
    let notices = tokio::task::spawn_blocking(move || {
        let unchecked = usable.iter().filter_map(|tool| Some((&tool.name, schema::usable(&tool.input_schema).err()?)));
        let notice = |(name, why): (&String, String)| {
            format!("Arguments of `{}` are not checked before they are sent: {why}.", crate::text::display_capped(name, 80))
        };
        unchecked.map(notice).collect::<Vec<String>>()
    });
    tools.notices.extend(notices.await.unwrap_or_default());
    tools
}

fn summary(tools: &ServerTools) -> String {
    let usable = tools.tools.iter().filter(|tool| !tool.disabled).count();
    let bytes: usize = tools.tools.iter().filter(|tool| !tool.disabled).map(|tool| tool.schema_bytes).sum();
    let mut text = format!("{usable} {}, {bytes} bytes of schemas", if usable == 1 { "tool" } else { "tools" });
    let hidden = tools.tools.len() - usable;
    if hidden > 0 {
        text += &format!(", {hidden} hidden by `disabledTools`");
    }
    if !tools.set_aside.is_empty() {
        text += &format!(", {} malformed", tools.set_aside.len());
    }
    debug_assert!(bytes <= limits::SERVER_SCHEMA_BYTES);
    text
}
