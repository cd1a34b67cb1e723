//! The client side of MCP for this app: what it offers a server (tools only: no sampling, elicitation or roots, row 31)
//! and what it accepts from one. Everything a server sends is bounded before it is parsed.
//!
//! It does not know about approvals or conversations' settings; a conversation is only a key here.

mod again;
mod batch;
pub mod connection;
mod failure;
mod far;
pub mod framer;
mod handshake;
pub mod http;
mod lenient;
mod link;
pub mod log;
pub mod pool;
pub mod probe;
pub mod result;
mod subscription;
pub mod wire;

use std::time::{Duration, Instant};

use crate::tools::ServerTools;

/// How a server begins: `initialize` (protocol versions up to 2025-11-25) or `server/discover` (2026-07-28 and later).
/// Remembered per server so that the second start asks the right question first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Initialize,
    Discover,
}

/// Who answered the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub era: Era,
    /// The protocol version agreed on.
    pub protocol: String,
    /// The server's own words; unfiltered, show through [`crate::text::display`].
    pub name: String,
    pub version: String,
}

/// The state of one conversation's connection to one server.
#[derive(Debug, Clone)]
pub enum Health {
    Idle,
    Connecting {
        since: Instant,
    },
    /// It answered the handshake and listed its tools.
    Connected {
        since: Instant,
        peer: Peer,
        tools: std::sync::Arc<ServerTools>,
    },
    Failed {
        failure: Failure,
    },
}

/// Why a server could not be started, reached or listed, in words a person can act on; scrubbed and safe to show.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub stage: Stage,
    /// One sentence or more: what happened and what to do.
    pub message: String,
    pub exit_code: Option<i32>,
    /// The last five lines of stderr.
    pub stderr: Vec<String>,
    /// Lines on stdout that were no protocol message: how many, and the first few.
    pub stdout_noise: usize,
    pub stdout_sample: Vec<String>,
}

/// The stages of Test connection, in order (cli.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Config,
    Program,
    Start,
    Handshake,
    List,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StageReport {
    pub stage: Stage,
    pub took: Duration,
    pub ok: bool,
    /// Which file on which PATH, which era and server, how many tools; or the failure's message.
    pub message: Option<String>,
}
