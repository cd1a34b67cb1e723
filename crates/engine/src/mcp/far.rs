//! What stands at the other end of a connection, a process or an address: whether it lives, and what can be said of it
//! when it does not.

use std::sync::Arc;

use tokio::time::timeout;

use super::failure::{Started, broken, traces};
use super::framer::Ended;
use super::handshake::LAST_WORDS;
use super::wire::Wire;
use super::{Failure, Stage};
use crate::limits;
use crate::machine::process::{Exits, Stderr};
use crate::text::Scrubber;

#[derive(Debug, Clone)]
pub(super) enum Far {
    Process {
        exits: Exits,
        stderr: Stderr,
        started: Arc<Started>,
    },
    /// It may fall silent, but only its answers say that it is gone.
    Address {
        scrubber: Scrubber,
    },
}

impl Far {
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Process { exits, .. } => exits.now().is_some(),
            Self::Address { .. } => false,
        }
    }
    pub async fn until_gone(&self) {
        match self {
            Self::Process { exits, .. } => drop(exits.wait().await),
            Self::Address { .. } => std::future::pending().await,
        }
    }
    pub fn scrubber(&self) -> &Scrubber {
        match self {
            Self::Process { started, .. } => &started.scrubber,
            Self::Address { scrubber } => scrubber,
        }
    }
    /// The last lines of stderr, scrubbed and safe to show.
    pub fn stderr_tail(&self) -> Vec<String> {
        match self {
            Self::Process { stderr, started, .. } => {
                stderr.tail(limits::STDERR_TAIL_LINES).iter().map(|line| started.scrubber.show_cut(line, usize::MAX)).collect()
            }
            Self::Address { .. } => Vec::new(),
        }
    }
    /// A failure in these words, with what the server left behind.
    pub fn told(&self, stage: Stage, message: String, wire: &Wire) -> Failure {
        match self {
            Self::Process { exits, stderr, started } => {
                Failure::with_traces(stage, message, started, traces(exits, stderr, wire))
            }
            Self::Address { scrubber } => Failure::plain(stage, scrubber.show(&message)),
        }
    }
    /// The failure of a connection that worked once, after a moment for how it ended and its last words.
    pub async fn broken(&self, stage: Stage, ended: Option<Ended>, wire: &Wire) -> Failure {
        if let Self::Process { exits, stderr, .. } = self
            && timeout(LAST_WORDS, exits.wait()).await.is_ok()
        {
            stderr.settled(LAST_WORDS).await;
        }
        let exit = match self {
            Self::Process { exits, .. } => exits.now(),
            Self::Address { .. } => None,
        };
        self.told(stage, broken(ended, exit), wire)
    }
}
