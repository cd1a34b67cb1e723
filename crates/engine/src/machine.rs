//! A machine is where servers are declared and run: this computer, later a WSL distribution or an SSH host.
//! Nothing above this module asks which one it is: it reads, writes, watches, expands from the machine's
//! environment, spawns and connects through [`Machine`] alone.
//!
//! It does not know what an `mcp.json` means, nor MCP.

pub mod address;
pub mod environment;
mod files;
pub mod http;
pub mod local;
#[cfg(unix)]
pub mod login;
mod panics;
pub mod process;
pub mod resolve;
mod surroundings;
mod warnings;

use std::path::PathBuf;

pub use panics::panics_to_stderr;
pub use surroundings::SurroundingsError;
pub use warnings::warnings_to_stderr;

/// Which machine: `local`, later `wsl:NAME` or `ssh:HOST`. Part of every server's identity (row 36).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MachineId(pub String);

impl MachineId {
    pub fn local() -> Self {
        Self("local".into())
    }
    /// As people read it: "This computer".
    pub fn label(&self) -> String {
        if self.0 == "local" { "This computer".into() } else { self.0.clone() }
    }
}

/// What an engine needs to know of the machine it runs on, handed in from outside (only the programs read the real ones).
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The person's home folder; `MEWORK_HOME` replaces it.
    pub home: PathBuf,
    /// Where the product keeps its own data (B46), 0700.
    pub data: PathBuf,
    /// The environment `${VAR}` is expanded from and the base list is taken from.
    pub environment: environment::Environment,
    /// Program and leading arguments that run the process supervisor (Linux): this program again, with a hidden flag.
    pub supervisor: Vec<std::ffi::OsString>,
}

use std::io;
use std::path::Path;
use std::sync::Arc;

/// One machine, cheap to clone. Local is the only kind today; the others come as further variants behind these methods.
#[derive(Debug, Clone)]
pub struct Machine(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Local(local::Local),
}

/// What reading a configuration file found. Reading never blocks on a FIFO or device and never follows a link
/// out of `within` (B2, row 27).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRead {
    Absent,
    Bytes(Vec<u8>),
    /// Larger than the limit that was asked for.
    TooLarge,
    /// A folder, FIFO, socket or device.
    NotRegular,
    /// A link that leads outside the folder it must stay in; the path it leads to.
    LeadsOutside(PathBuf),
    /// Permission denied and the like, in the system's words.
    Failed(String),
}

/// Why a file could not be replaced; the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{path} changed since it was shown")]
    Changed { path: PathBuf },
    #[error("{path} is a link that leads outside {within}")]
    LeadsOutside { path: PathBuf, within: PathBuf },
    #[error("{path} cannot be written: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl Machine {
    pub fn local(surroundings: Surroundings) -> Self {
        Self(Arc::new(Kind::Local(local::Local::new(surroundings))))
    }
    pub fn id(&self) -> MachineId {
        match &*self.0 {
            Kind::Local(_) => MachineId::local(),
        }
    }
    pub fn home(&self) -> &Path {
        match &*self.0 {
            Kind::Local(m) => m.home(),
        }
    }
    /// The environment that `${VAR}` and the base list come from on this machine.
    pub fn environment(&self) -> &environment::Environment {
        match &*self.0 {
            Kind::Local(m) => m.environment(),
        }
    }
    /// Reads a small file. `within`: a folder that links may not lead out of.
    pub async fn read(&self, path: &Path, limit: usize, within: Option<&Path>) -> FileRead {
        match &*self.0 {
            Kind::Local(m) => m.read(path, limit, within).await,
        }
    }
    /// Replaces a file atomically, only if it still holds `expected` (`None`: only if it does not exist).
    /// Keeps mode bits; creates missing parent folders of a new file, never through a link when `within` is given;
    /// follows a link at `path` when it may.
    pub async fn write(&self, path: &Path, expected: Option<&[u8]>, new: &[u8], within: Option<&Path>) -> Result<(), WriteError> {
        match &*self.0 {
            Kind::Local(m) => m.write(path, expected, new, within).await,
        }
    }
    /// Makes the folders a file would stand in, never through a link that leads out of `within`.
    pub async fn make_folders(&self, file: &Path, within: Option<&Path>) -> Result<(), WriteError> {
        match &*self.0 {
            Kind::Local(m) => m.make_folders(file, within).await,
        }
    }
    pub async fn is_dir(&self, path: &Path) -> bool {
        match &*self.0 {
            Kind::Local(m) => m.is_dir(path).await,
        }
    }
    /// Finds the program a server would run (B12, row 13), or says why not.
    pub fn resolve(
        &self,
        command: &str,
        cwd: &Path,
        env: &environment::Environment,
    ) -> Result<process::Program, process::ResolveError> {
        match &*self.0 {
            Kind::Local(m) => m.resolve(command, cwd, env),
        }
    }
    /// The one door to an HTTP server: a client for this address, on this machine's network.
    pub async fn http(&self, url: &url::Url) -> Result<http::Client, http::ClientError> {
        match &*self.0 {
            Kind::Local(m) => m.http(url).await,
        }
    }
    /// The one door for starting a server's process.
    pub async fn spawn(&self, spec: process::Spec) -> Result<process::Process, process::SpawnError> {
        self.spawn_counted(spec, &process::Tally::default()).await
    }
    /// The same, counted for as long as something of it is left, also when nobody waits for the start any more.
    pub async fn spawn_counted(
        &self,
        spec: process::Spec,
        tally: &process::Tally,
    ) -> Result<process::Process, process::SpawnError> {
        match &*self.0 {
            Kind::Local(m) => m.spawn(spec, tally).await,
        }
    }
    /// Waits until nothing is left of any server that was started here, those included whose start was given up halfway.
    /// Ends nothing itself.
    pub async fn emptied(&self) {
        match &*self.0 {
            Kind::Local(m) => m.emptied().await,
        }
    }
}
