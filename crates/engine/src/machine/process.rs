//! A server's process and everything it starts: found, spawned, watched, ended (B12, B25, row 26).
//!
//! On Linux a supervisor (this program started again) is subreaper of the whole tree and holds a lifeline to us: when
//! the lifeline closes, for whatever reason, nothing of the tree is left. Windows uses a job object, macOS a process
//! group and the cookie.

use std::ffi::OsString;
use std::path::PathBuf;

use super::environment::Environment;

/// The program a command means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Absolute path of the file that is run.
    pub path: PathBuf,
    /// How it was found, for Test connection.
    pub found: Found,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The command had a separator.
    AsPath,
    /// On this absolute folder of the PATH the server itself gets.
    OnPath(PathBuf),
}

#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// A bare command that is on no absolute folder of `path`.
    #[error("`{command}` was not found")]
    NotOnPath { command: String, path: Vec<PathBuf> },
    #[error("{path} does not exist")]
    NoSuchFile { path: PathBuf },
    #[error("{path} is not a file that may be executed")]
    NotExecutable { path: PathBuf },
}

/// Everything a start needs; values are expanded already.
#[derive(Clone)]
pub struct Spec {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment: the process inherits nothing.
    pub env: Environment,
}

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The system refused to run the program; `hint` says what is usually wrong (no `#!` line, interpreter missing …).
    #[error("{program} could not be started: {source}")]
    Exec { program: PathBuf, source: std::io::Error, hint: Option<String> },
    #[error("the process supervisor could not be started: {0}")]
    Supervisor(std::io::Error),
    /// Windows: a batch file's argument that cannot be passed safely (B12, row 12).
    #[error("{program} is a batch file, and argument {index} cannot be passed to it safely")]
    UnsafeBatchArgument { program: PathBuf, index: usize },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It is gone, but nobody could say how.
    Unknown,
}

/// A running server. Dropping it ends the whole tree too, without waiting.
pub struct Process {
    pub stdin: tokio::process::ChildStdin,
    pub stdout: tokio::process::ChildStdout,
    /// Already drained in the background into a bounded ring.
    pub stderr: Stderr,
    pub handle: Handle,
}

/// What a server wrote to stderr: always drained, the last [`crate::limits::STDERR_RING_BYTES`] kept, lines cut at
/// [`crate::limits::LOG_LINE_BYTES`], raw text (whoever shows it scrubs it and makes control characters visible).
#[derive(Debug, Clone, Default)]
pub struct Stderr;

impl Stderr {
    /// The last `n` lines.
    pub fn tail(&self, _n: usize) -> Vec<String> {
        todo!()
    }
    /// Each line from now on, for the server's log.
    pub fn subscribe(&self) -> tokio::sync::broadcast::Receiver<String> {
        todo!()
    }
    /// Resolves when stderr was read to its end, or after `limit`, so that a message about a dead server has its last words.
    pub async fn settled(&self, _limit: std::time::Duration) {
        todo!()
    }
}

#[derive(Debug)]
pub struct Handle;

impl Handle {
    /// The server's own process id (not the supervisor's).
    pub fn pid(&self) -> u32 {
        todo!()
    }
    /// Waits until the server's own process ended. May be called from several places.
    pub async fn exited(&self) -> Exit {
        todo!()
    }
    /// B25 after stdin was closed by dropping it: waits [`crate::limits::STDIN_CLOSE_GRACE`], terminates the tree, waits
    /// [`crate::limits::TERMINATE_GRACE`], kills it. Returns when nothing of it is left.
    pub async fn stop(self) -> Exit {
        todo!()
    }
}

pub(super) async fn spawn(_surroundings: &super::Surroundings, _spec: Spec) -> Result<Process, SpawnError> {
    todo!()
}
