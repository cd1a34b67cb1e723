//! Servers' logs as events (B45). A server that floods its log does not flood windows: what is not told can be read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::Engine;
use crate::config::ServerId;
use crate::mcp::log::{Line, Source};
use crate::store::now;
use crate::wire::{Event, LogLine, LogSource};

/// Lines told in one [`SPAN`]; later ones in it are only counted.
const LINES: usize = 200;
const SPAN: Duration = Duration::from_secs(1);

pub(super) fn line(line: &Line) -> LogLine {
    LogLine {
        at: line.at.duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
        source: match line.source {
            Source::Stderr => LogSource::Stderr,
            Source::Stdout => LogSource::Stdout,
            Source::Mework => LogSource::Mework,
        },
        text: line.text.clone(),
    }
}

impl Engine {
    pub(super) fn watch_logs(self: &Arc<Self>) {
        let mut lines = self.pool.logs().subscribe();
        let engine = Arc::downgrade(self);
        tokio::spawn(async move {
            let (mut begun, mut told) = (Instant::now(), 0);
            let mut untold: BTreeMap<ServerId, usize> = BTreeMap::new();
            loop {
                let next = tokio::select! {
                    next = lines.recv() => Some(next),
                    () = sleep_until(begun + SPAN), if !untold.is_empty() => None,
                };
                let Some(engine) = engine.upgrade() else { return };
                if begun.elapsed() >= SPAN {
                    (begun, told) = (Instant::now(), 0);
                    for (server, count) in std::mem::take(&mut untold) {
                        let text = format!("{count} more lines came too fast to be shown here. Open the log again to read them.");
                        let line = LogLine { at: now(), source: LogSource::Mework, text };
                        engine.events.send(Event::ServerLog { server: server.to_string(), line });
                    }
                }
                match next {
                    None | Some(Err(RecvError::Lagged(_))) => {}
                    Some(Err(RecvError::Closed)) => return,
                    Some(Ok((server, _))) if told == LINES => *untold.entry(server).or_default() += 1,
                    Some(Ok((server, next))) => {
                        told += 1;
                        engine.events.send(Event::ServerLog { server: server.to_string(), line: line(&next) });
                    }
                }
            }
        });
    }
}
