//! What the command line's tests share: a home folder of their own, the program run in it, a running `mework serve`.
#![allow(
    dead_code,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "each test program uses its own part, to start the program under test"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A home folder that is gone when the test ends. Commands run in a folder inside it that is no workspace.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(home.path("elsewhere")).unwrap();
        home
    }
    /// The folder itself, links resolved; on Windows, where there are none, not in the form that `canonicalize` gives.
    pub fn root(&self) -> PathBuf {
        if cfg!(windows) { self.dir.path().into() } else { self.dir.path().canonicalize().unwrap() }
    }
    pub fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }
    /// Where the program keeps what is not the person's to write, below the home folder.
    pub fn data(&self) -> &'static str {
        match std::env::consts::OS {
            "windows" => "AppData/Local/Mework",
            "macos" => "Library/Application Support/Mework",
            _ => ".local/share/mework",
        }
    }
    pub fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
    pub fn read(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap()
    }
    /// `~/.mework/mcp.json` with these servers.
    pub fn global(&self, servers: serde_json::Value) {
        self.write(".mework/mcp.json", &serde_json::json!({ "mcpServers": servers }).to_string());
    }
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.path("elsewhere")).env("MEWORK_HOME", self.root()).stdin(Stdio::null());
        for name in ["XDG_DATA_HOME", "NO_COLOR", "CLICOLOR_FORCE", "DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(name);
        }
        command
    }
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap(), &self.root())
    }
    /// Runs in another folder of the home.
    pub fn run_in(&self, folder: &str, args: &[&str]) -> Ran {
        Ran::of(self.command(args).current_dir(self.path(folder)).output().unwrap(), &self.root())
    }
}

/// The sample server as an entry, with a mark in its environment that finds its processes.
pub fn sample(mark: &str) -> serde_json::Value {
    serde_json::json!({ "command": program(), "args": ["sample-server"], "env": { "TEST_MARK": mark } })
}

/// The living processes that carry a mark.
#[cfg(target_os = "linux")]
pub fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("TEST_MARK={mark}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}

/// Nothing with the mark is left. What ends servers when their app is gone needs a moment after the app's own end.
#[cfg(target_os = "linux")]
pub fn gone(mark: &str) {
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !marked(mark).is_empty() {
        assert!(std::time::Instant::now() < give_up, "still there: {:?}", marked(mark));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_mework")
}

/// What a command did, with the home folder written as `~`.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn of(output: Output, home: &Path) -> Self {
        let text = |bytes: Vec<u8>| short(&String::from_utf8(bytes).unwrap(), home).replace(program(), "mework");
        Self { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
    /// Times differ from run to run, and columns are as wide as the widest: a line with one has its runs of spaces made
    /// one, and `N` for every time, size and process.
    pub fn untimed(mut self) -> Self {
        let line = |line: &str| {
            if !line.contains(" ms") {
                return line.to_owned();
            }
            let mut words: Vec<&str> = line.split_whitespace().collect();
            for at in 1..words.len() {
                if words[at].starts_with("ms") || words[at] == "bytes" {
                    words[at - 1] = "N";
                }
                if words[at - 1] == "process" {
                    words[at] = "N";
                }
            }
            line[..line.len() - line.trim_start().len()].to_owned() + &words.join(" ")
        };
        for text in [&mut self.out, &mut self.err] {
            *text = text.lines().map(|l| line(l) + "\n").collect();
        }
        self
    }
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// With the home folder written as `~`, and on Windows what is below it with `/`, whether it stands in JSON or not.
pub fn short(text: &str, home: &Path) -> String {
    let home = home.to_str().unwrap();
    if !cfg!(windows) {
        return text.replace(home, "~");
    }
    let text = text.replace(&home.replace('\\', "\\\\"), "~").replace(home, "~");
    let mut pieces = text.split('~');
    let mut short = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let path = piece.find([' ', '"', '#', '\n', '\r', ',']).unwrap_or(piece.len());
        short += "~";
        short += &piece[..path].replace("\\\\", "/").replace('\\', "/");
        short += &piece[path..];
    }
    short
}

/// The program at a terminal: its stdin and stderr (and with [`Typist::both`] stdout) are a pseudo-terminal.
#[cfg(unix)]
pub struct Typist {
    process: Child,
    terminal: std::fs::File,
    /// What comes from the program, read on a thread of its own so that a test can give up waiting.
    coming: std::sync::mpsc::Receiver<Vec<u8>>,
    screen: Vec<u8>,
    /// How much of its text was waited for already.
    seen: usize,
    home: PathBuf,
}

#[cfg(unix)]
impl Typist {
    pub fn start(home: &Home, args: &[&str]) -> Self {
        Self::of(home, home.command(args), false)
    }
    /// Stdout is the terminal too, as when a person runs it.
    pub fn both(home: &Home, args: &[&str]) -> Self {
        Self::of(home, home.command(args), true)
    }
    pub fn of(home: &Home, mut command: Command, stdout_too: bool) -> Self {
        let pty = nix::pty::openpty(None, None).unwrap();
        let own = || Stdio::from(pty.slave.try_clone().unwrap());
        command.stdin(own()).stderr(own()).stdout(if stdout_too { own() } else { Stdio::piped() });
        let process = command.spawn().unwrap();
        // The command holds the program's end of the terminal open; nothing may, or its end is never noticed.
        drop(command);
        let terminal = std::fs::File::from(pty.master);
        let mut reader = terminal.try_clone().unwrap();
        let (send, coming) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the last writer is gone.
            while let Ok(read) = reader.read(&mut bytes)
                && read > 0
                && send.send(bytes[..read].to_vec()).is_ok()
            {}
        });
        Self { process, terminal, coming, screen: Vec::new(), seen: 0, home: home.root() }
    }
    /// Waits until the screen shows this, after what was waited for before.
    pub fn sees(&mut self, text: &str) {
        loop {
            let screen = short(&String::from_utf8_lossy(&self.screen), &self.home);
            if let Some(at) = screen.get(self.seen..).and_then(|new| new.find(text)) {
                self.seen += at + text.len();
                return;
            }
            match self.coming.recv_timeout(std::time::Duration::from_secs(20)) {
                Ok(bytes) => self.screen.extend_from_slice(&bytes),
                Err(why) => {
                    let _ = self.process.kill();
                    panic!("{text:?} never came ({why}); the screen holds:\n{screen}");
                }
            }
        }
    }
    pub fn types(&mut self, line: &str) {
        writeln!(self.terminal, "{line}").unwrap();
    }
    /// One key, by its code.
    pub fn presses(&mut self, key: u8) {
        self.terminal.write_all(&[key]).unwrap();
    }
    /// Waits for the end: the exit code, stdout if it was no terminal, and the whole screen.
    pub fn ends(mut self) -> Ran {
        let mut out = Vec::new();
        if let Some(mut stdout) = self.process.stdout.take() {
            stdout.read_to_end(&mut out).unwrap();
        }
        while let Ok(bytes) = self.coming.recv() {
            self.screen.extend_from_slice(&bytes);
        }
        let status = self.process.wait().unwrap();
        let mut ran = Ran::of(Output { status, stdout: out, stderr: self.screen }, &self.home);
        ran.err = ran.err.replace("\r\n", "\n");
        ran
    }
}

/// A running `mework serve` with a page of two files.
pub struct Served {
    pub process: Child,
    pub port: u16,
    pub token: String,
    stdout: BufReader<std::process::ChildStdout>,
}

pub const INDEX: &str = "<!doctype html><title>page</title><script type=\"module\" src=\"./app.js\"></script>";

impl Served {
    pub fn start(home: &Home) -> Self {
        Self::with(home, |_| {})
    }
    /// With more arguments or variables.
    pub fn with(home: &Home, more: impl FnOnce(&mut Command)) -> Self {
        home.write("page/index.html", INDEX);
        home.write("page/app.js", "document.title = 'ran';");
        home.write("secret.txt", "not for the page");
        let page = home.path("page");
        let mut command = home.command(&["serve", "--ui", page.to_str().unwrap()]);
        more(&mut command);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("Mework is at http://127.0.0.1:").unwrap_or_else(|| panic!("{line:?}"));
        let (port, token) = address.split_once("/?token=").unwrap();
        Self { process, port: port.parse().unwrap(), token: token.to_owned(), stdout }
    }
    /// Spends the token and returns the cookie.
    pub fn sign_in(&self) -> String {
        let answer = self.http(&format!("GET /?token={} HTTP/1.1\r\nHost: 127.0.0.1:{}", self.token, self.port), "");
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        let cookie = answer.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }
    /// One exchange over a connection of its own; `head` is the request line and headers without the last line end.
    pub fn http(&self, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = if body.is_empty() { String::new() } else { format!("\r\nContent-Length: {}", body.len()) };
        write!(stream, "{head}{length}\r\nConnection: close\r\n\r\n{body}").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::parse(&String::from_utf8(bytes).unwrap())
    }
    pub fn get(&self, path: &str, cookie: &str) -> Answer {
        self.http(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}", self.port), "")
    }
    pub fn rpc(&self, cookie: &str, body: &str) -> Answer {
        let port = self.port;
        self.http(
            &format!(
                "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nCookie: {cookie}\r\nContent-Type: application/json"
            ),
            body,
        )
    }
    /// Presses Ctrl-C and waits for the end: the exit code.
    #[cfg(unix)]
    pub fn interrupt(&mut self) -> Option<i32> {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap()).map(|(k, v)| (k.to_lowercase(), v.to_owned())).collect();
        Self { status, headers, body: body.to_owned() }
    }
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
