//! A server's log (B45): what it wrote to stderr, its noise on stdout, and our own lines about its life. Bounded, every
//! line scrubbed of secrets and safe to show before it is kept.
//!
//! Lines live in memory only.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::broadcast;

use crate::config::ServerId;
use crate::limits;
use crate::text::{Scrubber, cut};

/// Lines a slow reader may be behind before it misses some.
const BEHIND: usize = 256;
/// Servers whose logs are kept; the one that was written to longest ago makes room.
const SERVERS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Stderr,
    /// A line on stdout that was no protocol message.
    Stdout,
    /// Our own lifecycle lines.
    Mework,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub at: SystemTime,
    pub source: Source,
    pub text: String,
}

/// The logs of all servers.
#[derive(Debug, Clone)]
pub struct Logs {
    scrubber: Scrubber,
    inner: Arc<Mutex<Inner>>,
    lines: broadcast::Sender<(ServerId, Line)>,
}

#[derive(Debug, Default)]
struct Inner {
    servers: HashMap<ServerId, Kept>,
    writes: u64,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<Line>,
    /// Of all lines together.
    bytes: usize,
    /// The number of its last write.
    written: u64,
}

impl Logs {
    pub fn new(scrubber: Scrubber) -> Self {
        Self { scrubber, inner: Arc::default(), lines: broadcast::channel(BEHIND).0 }
    }

    /// What hides secrets in everything that is shown of a server.
    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// One server's log, to write to.
    pub fn of(&self, server: &ServerId) -> ServerLog {
        ServerLog { logs: self.clone(), server: server.clone() }
    }

    /// The kept lines, oldest first.
    pub fn lines(&self, server: &ServerId) -> Vec<Line> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.servers.get(server).map(|kept| kept.lines.iter().cloned().collect()).unwrap_or_default()
    }

    /// Every line from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<(ServerId, Line)> {
        self.lines.subscribe()
    }
}

#[derive(Debug, Clone)]
pub struct ServerLog {
    logs: Logs,
    server: ServerId,
}

impl ServerLog {
    /// Keeps a line; a longer one than [`limits::LOG_LINE_BYTES`] is cut.
    pub fn write(&self, source: Source, text: &str) {
        let text = self.logs.scrubber.show_cut(text.trim_end_matches(['\r', '\n']), limits::LOG_LINE_BYTES);
        // What is made visible is longer than what was written.
        let text = cut(&text, limits::LOG_LINE_BYTES).to_owned();
        let line = Line { at: SystemTime::now(), source, text };
        let mut inner = self.logs.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.writes += 1;
        let now = inner.writes;
        if !inner.servers.contains_key(&self.server) && inner.servers.len() >= SERVERS {
            let oldest = inner.servers.iter().min_by_key(|(_, kept)| kept.written).map(|(id, _)| id.clone());
            oldest.and_then(|id| inner.servers.remove(&id));
        }
        let kept = inner.servers.entry(self.server.clone()).or_default();
        kept.written = now;
        kept.bytes += line.text.len();
        kept.lines.push_back(line.clone());
        while (kept.lines.len() > limits::SERVER_LOG_LINES || kept.bytes > limits::SERVER_LOG_BYTES)
            && let Some(oldest) = kept.lines.pop_front()
        {
            kept.bytes -= oldest.text.len();
        }
        // Under the lock, so that readers see lines in the order in which they are kept. Nobody listening is fine.
        let _ = self.logs.lines.send((self.server.clone(), line));
    }

    pub fn scrubber(&self) -> &Scrubber {
        &self.logs.scrubber
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ServerId {
        format!("native:local:/h/mcp.json#{name}").parse().unwrap()
    }

    #[tokio::test]
    async fn b45_a_log_is_bounded_scrubbed_and_safe_to_show() {
        let scrubber = Scrubber::default();
        scrubber.add(["s3cret-token"]);
        let logs = Logs::new(scrubber);
        let mut lines = logs.subscribe();
        let log = logs.of(&id("a"));
        log.write(Source::Stderr, "token is s3cret-token \u{1b}[31mred\r\n");
        let first = logs.lines(&id("a")).remove(0);
        assert_eq!(first.text, "token is ••• ⟨U+001B⟩[31mred");
        assert_eq!(lines.recv().await.unwrap(), (id("a"), first));
        for n in 0..limits::SERVER_LOG_LINES {
            log.write(Source::Mework, &n.to_string());
        }
        let kept = logs.lines(&id("a"));
        assert_eq!((kept.len(), kept[0].text.as_str()), (limits::SERVER_LOG_LINES, "0"));
        log.write(Source::Stdout, &"ä".repeat(limits::LOG_LINE_BYTES));
        assert_eq!(logs.lines(&id("a")).last().unwrap().text.len(), limits::LOG_LINE_BYTES);
    }

    #[test]
    fn row_23_long_lines_and_what_has_to_be_made_visible_take_no_more_room() {
        let logs = Logs::new(Scrubber::default());
        let log = logs.of(&id("a"));
        for _ in 0..limits::SERVER_LOG_LINES {
            log.write(Source::Stderr, &"\u{1}".repeat(limits::LOG_LINE_BYTES));
        }
        log.write(Source::Mework, "last");
        let kept = logs.lines(&id("a"));
        assert_eq!(kept.last().unwrap().text, "last");
        assert!(kept[0].text.starts_with("⟨U+0001⟩⟨U+0001⟩") && kept[0].text.len() <= limits::LOG_LINE_BYTES);
        let bytes: usize = kept.iter().map(|line| line.text.len()).sum();
        let room = limits::SERVER_LOG_BYTES - limits::LOG_LINE_BYTES..=limits::SERVER_LOG_BYTES;
        assert!(room.contains(&bytes), "{bytes}");
    }

    #[test]
    fn b45_the_log_written_to_longest_ago_makes_room() {
        let logs = Logs::new(Scrubber::default());
        for n in 0..=SERVERS {
            logs.of(&id(&n.to_string())).write(Source::Mework, "x");
        }
        assert_eq!((logs.lines(&id("0")).len(), logs.lines(&id("1")).len()), (0, 1));
    }
}
