//! A level and its `mcp.json`: which servers it declares and what each entry means, or why it cannot be used.
//! Listing only parses: no process, no connection, no variable's value (row 2). A bad entry never spoils the file.
//!
//! It does not know about conversations, ticks or connections.

pub mod consent;
pub mod digest;
pub mod edit;
pub mod entry;
pub mod expand;
pub mod folder;
mod id;
pub mod json;
mod list;
pub mod paste;
pub mod resolve;
pub mod url;
pub mod watch;

pub use folder::folder;
pub use id::{BadServerId, ServerId};
pub use list::{list, shadowed};

use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;

use crate::machine::Machine;

/// A program's way of declaring servers. The native files are the only source today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    Native,
}

/// Global, or one workspace's folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    Global,
    Workspace(PathBuf),
}

/// Where a level's file may stand.
#[derive(Debug, Clone)]
pub struct Level {
    pub machine: Machine,
    pub scope: Scope,
}

impl Level {
    /// The folder that holds `.mework`.
    pub fn root(&self) -> &Path {
        match &self.scope {
            Scope::Global => self.machine.home(),
            Scope::Workspace(folder) => folder,
        }
    }
    /// The folder links may not lead out of: a workspace's own (row 27).
    pub fn within(&self) -> Option<&Path> {
        match &self.scope {
            Scope::Global => None,
            Scope::Workspace(folder) => Some(folder),
        }
    }
    /// Where a new file is made: always `.mework` (B1).
    pub fn new_file(&self) -> PathBuf {
        self.root().join(".mework").join("mcp.json")
    }
}

/// A level's file as it was read once; listing, consent and start use the same bytes (row 25).
#[derive(Debug, Clone)]
pub struct Listing {
    /// The file that counts: `.mework/mcp.json`, or the legacy one when only that exists (B1).
    pub file: PathBuf,
    pub state: FileState,
    /// In the file's order, by name. Empty unless `state` is `Read`.
    pub servers: IndexMap<String, ServerEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    Absent,
    /// SHA-256 of the bytes, hex: what an edit must find unchanged.
    Read {
        hash: String,
    },
    /// Ignored whole; a sentence that says why, where and what to do (B2).
    Ignored {
        message: String,
    },
}

#[derive(Debug, Clone)]
// Most entries are ready, so a box would save little.
#[allow(clippy::large_enum_variant)]
pub enum ServerEntry {
    Ready(Server),
    Unavailable(Unavailable),
}

impl ServerEntry {
    pub fn id(&self) -> &ServerId {
        match self {
            Self::Ready(s) => &s.id,
            Self::Unavailable(u) => &u.id,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

/// An entry that fails its checks: every failed one, in words, no values (B4).
#[derive(Debug, Clone, PartialEq)]
pub struct Unavailable {
    pub id: ServerId,
    pub reasons: Vec<String>,
    /// What a person should know that is no failed check.
    pub notes: Vec<String>,
    pub transport: Option<Transport>,
    pub description: Option<String>,
    /// What the row shows beside the name, when there is something to show.
    pub summary: String,
}

/// A server that could be started.
#[derive(Debug, Clone)]
pub struct Server {
    pub id: ServerId,
    pub machine: Machine,
    pub launch: Launch,
    /// One call's time limit (B8).
    pub call_timeout: Duration,
    pub description: Option<String>,
    /// `disabledTools`, as the server spells them.
    pub hidden_tools: Vec<String>,
    /// `disabledAutoApproveTools`.
    pub always_ask: Vec<String>,
    /// What a person should know that is no failure: a clamped timeout and the like.
    pub notes: Vec<String>,
    /// SHA-256 over machine, file, name and the unexpanded entry in canonical form (row 1), hex.
    pub digest: String,
    /// The same without the two lists of tools: they say what is used of a connection, not how it is made, so a connection
    /// outlives a change of them.
    pub connection_digest: String,
    /// The unexpanded entry in canonical form, pretty-printed JSON: what a review shows old and new of.
    pub canonical: String,
}

/// As written: `${VAR}` not expanded yet.
#[derive(Debug, Clone, PartialEq)]
pub enum Launch {
    Stdio(StdioLaunch),
    Http(HttpLaunch),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct StdioLaunch {
    pub command: String,
    pub args: Vec<String>,
    pub env: IndexMap<String, String>,
    pub env_passthrough: Vec<String>,
    pub cwd: Option<PathBuf>,
    /// `"workspace": true` in the global file.
    pub workspace: bool,
    pub registry_url: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpLaunch {
    pub url: String,
    pub headers: IndexMap<String, String>,
}

/// Everything a start needs, expanded. Made at the moment of starting, from the same entry whose digest was agreed to.
pub struct Resolved {
    pub command: String,
    pub args: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment the server gets (base list, passthrough, registry, env; B10, B11, row 14).
    pub env: crate::machine::environment::Environment,
    /// Values that must not be shown anywhere: expanded variables, and env values whose names look secret (B45).
    pub secrets: Vec<String>,
    /// Changes with any expanded value (B24).
    pub fingerprint: String,
}
