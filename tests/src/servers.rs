//! Servers as a real `mcp.json` declares them, in a home folder of their own, to be connected without a whole engine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mework_engine::config::{Level, Scope, Server, ServerEntry, ServerId, list};
use mework_engine::machine::environment::Environment;
use mework_engine::machine::process::SUPERVISE_FLAG;
use mework_engine::machine::{Machine, Surroundings};
use mework_engine::mcp::Era;
use mework_engine::mcp::log::Logs;
use mework_engine::mcp::pool::{Eras, Wanted};
use mework_engine::text::Scrubber;
use mework_engine::tools::arguments::{Arguments, parse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Tag;
use crate::engine::program;

/// A home folder with servers in it.
pub struct Bench {
    dir: TempDir,
    pub logs: Logs,
    /// Carried by every server that [`Bench::fake`] declares.
    pub tag: Tag,
    variables: Vec<(String, String)>,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    pub fn new() -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        Self { dir, logs: Logs::new(Scrubber::default()), tag: Tag::new(), variables: Vec::new() }
    }

    /// A variable of the machine.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.into(), value.into()));
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn machine(&self) -> Machine {
        let mut environment: Environment =
            [("PATH", "/usr/bin:/bin".to_string()), ("HOME", self.path().display().to_string())].into_iter().collect();
        for (name, value) in &self.variables {
            environment.set(name, value);
        }
        Machine::local(Surroundings {
            home: self.path().into(),
            data: self.path().join("data"),
            environment,
            supervisor: vec![program("test-supervisor").into(), SUPERVISE_FLAG.into()],
        })
    }

    /// The entry of a fake server with these flags.
    pub fn fake(&self, flags: &[&str]) -> Value {
        json!({ "command": program("fake-server"), "args": flags, "env": { Tag::NAME: self.tag.value() } })
    }

    /// Declares one server in the global file and reads it back, as a run does.
    pub async fn server(&self, name: &str, entry: Value) -> Server {
        let file = self.path().join(".mework").join("mcp.json");
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("the .mework folder");
        let text = json!({ "mcpServers": { name: entry } }).to_string();
        std::fs::write(file, text).expect("the file");
        match list(&Level { machine: self.machine(), scope: Scope::Global }).await.servers.swap_remove(name) {
            Some(ServerEntry::Ready(server)) => server,
            other => panic!("not a server that could start: {other:?}"),
        }
    }

    pub async fn wanted(&self, name: &str, entry: Value) -> Wanted {
        Wanted { server: self.server(name, entry).await, cwd: self.path().into() }
    }

    /// A file in the home folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// What a fake server with `--log=FILE` noted.
    pub fn noted(&self, name: &str) -> Vec<String> {
        std::fs::read_to_string(self.file(name)).unwrap_or_default().lines().map(str::to_string).collect()
    }

    /// A script that may be executed.
    #[cfg(unix)]
    pub fn script(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name);
        std::fs::write(&path, text).expect("a script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("its mode");
        path
    }
}

pub fn arguments(value: Value) -> Arguments {
    parse(&value.to_string()).expect("arguments")
}

/// Remembers in memory.
#[derive(Default)]
pub struct Memory(Mutex<HashMap<ServerId, Era>>);

impl Eras for Memory {
    fn remembered(&self, server: &ServerId) -> Option<Era> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).copied()
    }
    fn remember(&self, server: &ServerId, era: Era) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(server.clone(), era);
    }
}
