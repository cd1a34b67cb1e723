//! A server's process and everything it starts: spawned, watched, ended (B12, B25, row 26).
//!
//! On Linux a supervisor (forked by this program started again) is subreaper of the whole tree and holds a lifeline to us: when
//! the lifeline closes, for whatever reason, nothing of the tree is left. Windows uses a job object, macOS a process
//! group and the cookie.
//!
//! What is written to stdin and read from stdout is not known here.

mod cookie;
mod hint;
mod stderr;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod procfs;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(all(unix, not(target_os = "linux")))]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(all(unix, not(target_os = "linux")))]
use unix as platform;
#[cfg(windows)]
use windows as platform;

use std::ffi::OsString;
use std::path::PathBuf;

use tokio::sync::watch;
use tokio::time::timeout;

use super::Surroundings;
use super::environment::Environment;
use crate::limits::{STDIN_CLOSE_GRACE, TERMINATE_GRACE};

pub use cookie::{COOKIE, sweep};
pub use stderr::Stderr;
#[cfg(target_os = "linux")]
pub use supervisor::{SUPERVISE_FLAG, supervise_if_asked};

/// Only Linux has a supervisor; a `main` calls this everywhere.
#[cfg(not(target_os = "linux"))]
pub fn supervise_if_asked() {}
#[cfg(not(target_os = "linux"))]
pub const SUPERVISE_FLAG: &str = "--mework-supervise";

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

/// How many process trees are being started or are not gone yet: of a machine, or of one attempt to connect, which may be
/// given up halfway. Clones count the same.
#[derive(Debug, Clone)]
pub struct Tally(watch::Sender<usize>);

impl Default for Tally {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Tally {
    /// Waits until none is left; ends nothing itself.
    pub async fn empty(&self) {
        // The sender is ours, so this only ever ends with none left.
        let _ = self.0.subscribe().wait_for(|alive| *alive == 0).await;
    }
    /// One more, until what is given back is dropped.
    pub(crate) fn count(&self) -> Alive {
        self.0.send_modify(|alive| *alive += 1);
        Alive(self.0.clone())
    }
}

/// One process tree that is not gone yet.
#[derive(Debug)]
pub(crate) struct Alive(watch::Sender<usize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.send_modify(|alive| *alive -= 1);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The system refused to run the program; `hint` says what is usually wrong (no `#!` line, interpreter missing …).
    #[error("{program} could not be started: {source}")]
    Exec { program: PathBuf, source: std::io::Error, hint: Option<String> },
    /// The working folder cannot be entered.
    #[error("the folder {folder} cannot be entered: {source}")]
    Folder { folder: PathBuf, source: std::io::Error },
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

/// How far a server's end has come. Only the platform's watcher moves it, and only onwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Running,
    /// The server's own process ended; the rest of its tree is being ended.
    Exited(Exit),
    /// Nothing of it is left.
    Gone(Exit),
}

/// Tells when a server ended. Any number of clones may wait, also after the [`Handle`] was stopped or dropped.
#[derive(Debug, Clone)]
pub struct Exits(watch::Receiver<Life>);

impl Exits {
    /// Waits until the server's own process ended.
    pub async fn wait(&self) -> Exit {
        match self.until(|life| *life != Life::Running).await {
            Life::Exited(exit) | Life::Gone(exit) => exit,
            Life::Running => Exit::Unknown,
        }
    }
    /// How it ended, if it did.
    pub fn now(&self) -> Option<Exit> {
        match *self.0.borrow() {
            Life::Running => None,
            Life::Exited(exit) | Life::Gone(exit) => Some(exit),
        }
    }
    /// Waits until nothing of its tree is left.
    pub async fn gone(&self) -> Exit {
        match self.until(|life| matches!(life, Life::Gone(_))).await {
            Life::Exited(exit) | Life::Gone(exit) => exit,
            Life::Running => Exit::Unknown,
        }
    }
    /// When the watcher itself is gone (the async runtime stops), what it last knew counts.
    async fn until(&self, reached: impl FnMut(&Life) -> bool) -> Life {
        let mut life = self.0.clone();
        match life.wait_for(reached).await {
            Ok(life) => *life,
            Err(_) => *self.0.borrow(),
        }
    }
}

/// Holds a server's process tree. Dropping it lets the tree be ended as [`Handle::stop`] does, without waiting.
#[derive(Debug)]
pub struct Handle {
    pid: u32,
    exits: Exits,
    tree: platform::Tree,
}

/// A process that even SIGKILL does not end (it hangs in the kernel) is not waited for longer than this.
const KILL_GRACE: std::time::Duration = std::time::Duration::from_secs(5);

impl Handle {
    /// The server's own process id (not the supervisor's).
    pub fn pid(&self) -> u32 {
        self.pid
    }
    /// Waits until the server's own process ended. May be called from several places.
    pub async fn exited(&self) -> Exit {
        self.exits.wait().await
    }
    /// To wait for the end without holding the process.
    pub fn exits(&self) -> Exits {
        self.exits.clone()
    }
    /// B25 after stdin was closed by dropping it: waits [`STDIN_CLOSE_GRACE`], terminates the tree, waits
    /// [`TERMINATE_GRACE`], kills it. Returns when nothing of it is left.
    pub async fn stop(mut self) -> Exit {
        // A server that obeys ends by itself; the rest of its tree is ended right after it.
        if timeout(STDIN_CLOSE_GRACE, self.exits.gone()).await.is_err() {
            self.tree.terminate();
        }
        if let Ok(exit) = timeout(TERMINATE_GRACE, self.exits.gone()).await {
            return exit;
        }
        self.kill().await
    }
    /// Kills the whole tree at once. Returns when nothing of it is left.
    pub async fn kill(mut self) -> Exit {
        self.tree.kill();
        match timeout(KILL_GRACE, self.exits.gone()).await {
            Ok(exit) => exit,
            Err(_) => self.exits.now().unwrap_or(Exit::Unknown),
        }
    }
}

/// What a platform gives back for a start.
struct Started {
    pid: u32,
    stdin: tokio::process::ChildStdin,
    stdout: tokio::process::ChildStdout,
    stderr: tokio::process::ChildStderr,
    life: watch::Receiver<Life>,
    tree: platform::Tree,
}

/// Only Linux has supervisors.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
pub(crate) struct Supervisors;
#[cfg(target_os = "linux")]
pub(crate) use linux::Supervisors;

pub(super) async fn spawn(surroundings: &Surroundings, supervisors: &Supervisors, mut spec: Spec) -> Result<Process, SpawnError> {
    let cookie = cookie::Cookie::new();
    spec.env.set(COOKIE, cookie.as_str());
    #[cfg(target_os = "linux")]
    let started = platform::start(surroundings, supervisors, spec, cookie).await?;
    #[cfg(not(target_os = "linux"))]
    let started = {
        let Supervisors = supervisors;
        platform::start(surroundings, spec, cookie).await?
    };
    let Started { pid, stdin, stdout, stderr, life, tree } = started;
    Ok(Process { stdin, stdout, stderr: Stderr::drain(stderr), handle: Handle { pid, exits: Exits(life), tree } })
}
