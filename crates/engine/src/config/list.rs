//! Reads a level's file and judges each entry (B1, B2). Nothing starts, no name is resolved, no variable's value is used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::json::{self, FileProblem};
use super::{FileState, Level, Listing, digest, entry};
use crate::limits;
use crate::machine::FileRead;

/// The file of a level that counts, as it was read (B1).
#[derive(Debug)]
pub(super) struct Found {
    pub file: PathBuf,
    pub read: FileRead,
}

impl Level {
    /// Where the file stood under the product's old name; read only when no other exists (B1).
    pub fn legacy_file(&self) -> PathBuf {
        self.root().join(".naiword").join("mcp.json")
    }
}

pub(super) async fn read(level: &Level) -> Found {
    let file = level.new_file();
    let current = level.machine.read(&file, limits::CONFIG_FILE_BYTES, level.within()).await;
    if current != FileRead::Absent {
        return Found { file, read: current };
    }
    let legacy = level.legacy_file();
    match level.machine.read(&legacy, limits::CONFIG_FILE_BYTES, level.within()).await {
        FileRead::Absent => Found { file, read: FileRead::Absent },
        read => Found { file: legacy, read },
    }
}

/// Lists a level: parses its file and checks every entry.
pub async fn list(level: &Level) -> Listing {
    let Found { file, read } = read(level).await;
    let bytes = match read {
        FileRead::Absent => return Listing { file, state: FileState::Absent, servers: IndexMap::new() },
        FileRead::Bytes(bytes) => bytes,
        other => {
            let message = unreadable(&file, &other);
            return Listing { file, state: FileState::Ignored { message }, servers: IndexMap::new() };
        }
    };
    match json::servers(&bytes) {
        Err(problem) => Listing { state: FileState::Ignored { message: problem.to_string() }, file, servers: IndexMap::new() },
        Ok(members) => {
            let mut times: HashMap<&str, usize> = HashMap::new();
            members.iter().for_each(|(name, _)| *times.entry(name).or_default() += 1);
            let mut servers = IndexMap::with_capacity(members.len());
            for (name, value) in &members {
                if !servers.contains_key(name) {
                    let twice = times.get(name.as_str()).is_some_and(|&n| n > 1);
                    servers.insert(name.clone(), entry::check(level, &file, name, value, twice).await);
                }
            }
            Listing { file, state: FileState::Read { hash: digest::sha256(&bytes) }, servers }
        }
    }
}

/// Names in the file of the product's old name that counts for nothing, because `file` stands beside it (B1).
pub async fn shadowed(level: &Level, file: &Path) -> Vec<String> {
    let legacy = level.legacy_file();
    if file == legacy {
        return vec![];
    }
    match level.machine.read(&legacy, limits::CONFIG_FILE_BYTES, level.within()).await {
        FileRead::Bytes(bytes) => json::servers(&bytes).unwrap_or_default().into_iter().map(|(name, _)| name).collect(),
        _ => vec![],
    }
}

/// Why a file that stands there could not be read, in words.
pub(super) fn unreadable(file: &Path, read: &FileRead) -> String {
    match read {
        FileRead::TooLarge => FileProblem::TooLarge.to_string(),
        FileRead::NotRegular => "This is not a regular file (a folder, a pipe or a device), so it is ignored.".into(),
        FileRead::LeadsOutside(target) => format!(
            "The file is a link that leads outside the workspace, to {}, so it is ignored. Put the file itself into {}.",
            target.display(),
            file.parent().unwrap_or(file).display()
        ),
        FileRead::Failed(words) => format!("The file cannot be read: {words}."),
        FileRead::Absent | FileRead::Bytes(_) => "The file cannot be read.".into(),
    }
}
