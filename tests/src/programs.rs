//! The programs under test, a home folder of their own, and processes that end with the test that started them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use crate::engine::PATIENCE;

/// `mework`, as `make test` built it.
pub fn mework() -> PathBuf {
    program("MEWORK_BIN", "mework")
}

/// `mework-desktop`, as `make test` built it.
pub fn mework_desktop() -> PathBuf {
    program("MEWORK_DESKTOP_BIN", "mework-desktop")
}

/// The folder with the real MCP servers that `make setup` installed.
pub fn servers() -> PathBuf {
    from_environment("MEWORK_TEST_SERVERS", "the folder of the installed MCP servers")
}

/// The folder with the protocol's conformance suite, likewise.
pub fn conformance() -> PathBuf {
    from_environment("MEWORK_TEST_CONFORMANCE", "the folder of the installed conformance suite")
}

fn program(variable: &str, name: &str) -> PathBuf {
    let path = from_environment(variable, name);
    assert!(path.is_file(), "{variable} names {}, which is not a file: run `make test`, which builds {name}", path.display());
    path
}

fn from_environment(variable: &str, what: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(value) => PathBuf::from(value),
        None => panic!("{variable} is not set: it says where {what} is. Run `make test`, which sets it"),
    }
}

/// A command for a program of this repository or of the machine.
#[allow(clippy::disallowed_methods, reason = "tests start programs, not servers")]
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// A home folder that only one test knows, empty at first, and a `bin` folder in front of the PATH for stand-ins.
pub struct Home {
    folder: tempfile::TempDir,
    more: Vec<(&'static str, std::ffi::OsString)>,
}

impl Default for Home {
    fn default() -> Self {
        Self::empty()
    }
}

impl Home {
    pub fn empty() -> Self {
        let folder = tempfile::Builder::new().prefix("mework-home-").tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("stand-ins")).expect("a folder for stand-ins");
        Self { folder, more: Vec::new() }
    }
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
    /// `~/.mework/mcp.json`.
    pub fn global_file(&self) -> PathBuf {
        self.path().join(".mework/mcp.json")
    }
    pub fn declare(&self, servers: serde_json::Value) -> &Self {
        let text = serde_json::to_string_pretty(&serde_json::json!({ "mcpServers": servers })).expect("JSON");
        std::fs::create_dir_all(self.path().join(".mework")).expect("the .mework folder");
        std::fs::write(self.global_file(), text).expect("mcp.json");
        self
    }
    /// One more variable for what is started in this home.
    pub fn with(mut self, name: &'static str, value: impl Into<std::ffi::OsString>) -> Self {
        self.more.push((name, value.into()));
        self
    }
    /// A program that stands in for one of the machine's and writes down what it was given, one argument a line.
    #[cfg(unix)]
    pub fn stand_in(&self, name: &str) -> Recorded {
        use std::os::unix::fs::PermissionsExt;
        let (program, record) = (self.path().join("stand-ins").join(name), self.path().join(format!("{name}.recorded")));
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{0}.new' && mv '{0}.new' '{0}'\n", record.display());
        std::fs::write(&program, script).expect("a stand-in");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a stand-in that runs");
        Recorded(record)
    }
    /// What a program started in this home is given: nothing leads to the real home.
    pub fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let mut path = self.path().join("stand-ins").into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        let mut environment = vec![
            ("MEWORK_HOME", self.path().into()),
            ("HOME", self.path().into()),
            ("XDG_CONFIG_HOME", self.path().join(".config").into()),
            ("XDG_DATA_HOME", self.path().join(".local/share").into()),
            ("XDG_CACHE_HOME", self.path().join(".cache").into()),
            ("PATH", path),
        ];
        environment.extend(self.more.iter().cloned());
        environment
    }
}

/// What a stand-in was given.
pub struct Recorded(PathBuf);

impl Recorded {
    /// The arguments of its first run, when it comes.
    pub async fn arguments(&self) -> Vec<String> {
        eventually("the stand-in program to be started", || std::fs::read_to_string(&self.0).ok())
            .await
            .lines()
            .map(str::to_owned)
            .collect()
    }
    pub fn was_started(&self) -> bool {
        self.0.exists()
    }
}

/// A listener that counts who comes; nobody should.
pub struct Canary {
    port: u16,
    visits: Arc<AtomicUsize>,
}

impl Default for Canary {
    fn default() -> Self {
        Self::new()
    }
}

impl Canary {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let visits = Arc::new(AtomicUsize::new(0));
        let count = visits.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        Self { port, visits }
    }
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
    pub fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

/// A process that is killed when the test is done with it.
pub struct Running(pub Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).spawn();
        match child {
            Ok(child) => Self(child),
            Err(problem) => panic!("{:?} could not be started: {problem}. Run `make setup`", command.get_program()),
        }
    }
    pub async fn ended(&mut self, within: Duration) -> ExitStatus {
        let until = Instant::now() + within;
        loop {
            if let Some(status) = self.0.try_wait().expect("the process's state") {
                return status;
            }
            assert!(Instant::now() < until, "process {} did not end within {within:?}", self.0.id());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    /// Sends a signal.
    #[cfg(unix)]
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory effects, and the child has not been waited for, so the id is still its own.
        unsafe { libc::kill(self.0.id() as libc::pid_t, signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The npm server `everything`, listening on this port of this computer. It has sessions and resumable streams.
pub fn everything_over_http(port: u16) -> Running {
    use std::io::{BufRead, BufReader};
    let mut program = command(servers().join("node_modules/.bin/mcp-server-everything"));
    program.arg("streamableHttp").env("PORT", port.to_string()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running::start(&mut program);
    let mut words = BufReader::new(running.0.stderr.take().expect("its stderr")).lines();
    assert!(words.any(|line| line.is_ok_and(|line| line.contains("listening"))), "it never listened");
    // Nobody else reads its stderr.
    std::thread::spawn(move || words.for_each(drop));
    running
}

/// Looks again and again until there is something to see. For what other programs do, which send us no event.
pub async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < until, "waited {PATIENCE:?} for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
