//! Edits of a level's file on disk: it is read again, compared with what was shown, edited, and replaced whole.

use std::path::{Path, PathBuf};

use super::lists::{ToolList, list_tool};
use super::{EditProblem, add, change, json, remove, replace, text_of};
use crate::config::list::{self, Found, unreadable};
use crate::config::{Level, ServerId, Source, digest};
use crate::machine::{FileRead, WriteError};

/// An entry as it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its text, as an editor shows it.
    pub text: String,
    /// SHA-256 of the whole file.
    pub hash: String,
}

/// What an edit left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub id: ServerId,
    /// SHA-256 of the whole file.
    pub hash: String,
}

/// The file of a server that stands in one.
async fn read(level: &Level, id: &ServerId) -> Result<(PathBuf, Vec<u8>), EditProblem> {
    let gone = || EditProblem::NotThere { name: id.name.clone() };
    if id.machine != level.machine.id() || (id.file != level.new_file() && id.file != level.legacy_file()) {
        return Err(gone());
    }
    let Found { file, read } = list::read(level).await;
    if file != id.file {
        return Err(EditProblem::Changed);
    }
    match read {
        FileRead::Absent => Err(gone()),
        FileRead::Bytes(bytes) => Ok((file, bytes)),
        other => Err(EditProblem::Unreadable(unreadable(&file, &other))),
    }
}

/// The same, as long as it is as it was shown.
async fn read_unchanged(level: &Level, id: &ServerId, shown_hash: &str) -> Result<(PathBuf, Vec<u8>), EditProblem> {
    let (file, bytes) = read(level, id).await?;
    if digest::sha256(&bytes) == shown_hash { Ok((file, bytes)) } else { Err(EditProblem::Changed) }
}

async fn write(level: &Level, file: &Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), EditProblem> {
    if before == Some(after) {
        return Ok(());
    }
    level.machine.write(file, before, after, level.within()).await.map_err(|problem| match problem {
        WriteError::Changed { .. } => EditProblem::Changed,
        other => EditProblem::Write(other),
    })
}

/// One entry's text, whatever it means.
pub async fn standing(level: &Level, id: &ServerId) -> Result<Standing, EditProblem> {
    let (_, bytes) = read(level, id).await?;
    Ok(Standing { text: text_of(&bytes, &id.name)?, hash: digest::sha256(&bytes) })
}

/// Whether an edit could be made now, without making it: false when it would change no byte.
pub async fn would_edit(level: &Level, id: &ServerId, shown_hash: &str, name: &str, text: &str) -> Result<bool, EditProblem> {
    let (_, bytes) = read_unchanged(level, id, shown_hash).await?;
    Ok(change(&bytes, &id.name, name, text)? != bytes)
}

/// Gives an entry another text, and perhaps another name. `shown_hash`: SHA-256 of the file as it was shown.
pub async fn edit_server(level: &Level, id: &ServerId, shown_hash: &str, name: &str, text: &str) -> Result<Edited, EditProblem> {
    let (file, bytes) = read_unchanged(level, id, shown_hash).await?;
    let after = change(&bytes, &id.name, name, text)?;
    write(level, &file, Some(&bytes), &after).await?;
    Ok(Edited { id: ServerId { name: name.into(), ..id.clone() }, hash: digest::sha256(&after) })
}

/// Lists a tool, or takes it off the list, for each list that is named.
pub async fn set_tool(
    level: &Level,
    id: &ServerId,
    shown_hash: &str,
    tool: &str,
    lists: &[(ToolList, bool)],
) -> Result<Edited, EditProblem> {
    let (file, bytes) = read_unchanged(level, id, shown_hash).await?;
    let mut after = bytes.clone();
    for &(list, listed) in lists {
        after = list_tool(&after, &id.name, list, tool, listed)?;
    }
    write(level, &file, Some(&bytes), &after).await?;
    Ok(Edited { id: id.clone(), hash: digest::sha256(&after) })
}

/// Removes a server's entry from its file. `shown_hash`: SHA-256 of the file as it was shown.
pub async fn remove_server(level: &Level, id: &ServerId, shown_hash: &str) -> Result<(), EditProblem> {
    let (file, bytes) = read_unchanged(level, id, shown_hash).await?;
    let after = remove(&bytes, &id.name)?;
    write(level, &file, Some(&bytes), &after).await
}

/// What [`add_server`] would leave behind, and the file it would be left in.
async fn adding(
    level: &Level,
    name: &str,
    entry_json: &str,
    shown_hash: Option<&str>,
    replace_it: bool,
) -> Result<(PathBuf, Option<Vec<u8>>, Vec<u8>), EditProblem> {
    let entry = super::parse_entry(entry_json)?;
    let Found { file, read } = list::read(level).await;
    let before = match read {
        FileRead::Absent => None,
        FileRead::Bytes(bytes) => Some(bytes),
        other => return Err(EditProblem::Unreadable(unreadable(&file, &other))),
    };
    if before.as_deref().map(digest::sha256).as_deref() != shown_hash {
        // A file that is ignored was shown without a hash: what is wrong with it says more than that it changed.
        if let (Some(bytes), None) = (&before, shown_hash) {
            json::servers(bytes)?;
        }
        return Err(EditProblem::Changed);
    }
    let after = match &before {
        Some(bytes) if replace_it && json::servers(bytes)?.iter().any(|(n, _)| n == name) => replace(bytes, name, &entry)?,
        other => add(other.as_deref(), name, &entry)?,
    };
    Ok((file, before, after))
}

/// Whether a server could be added now, without adding it; answers with the file.
pub async fn would_add(level: &Level, name: &str, entry_json: &str, shown_hash: Option<&str>) -> Result<PathBuf, EditProblem> {
    Ok(adding(level, name, entry_json, shown_hash, false).await?.0)
}

/// Adds an entry to the level's file that counts, or exchanges the one of that name. `shown_hash`: SHA-256 of the file
/// as it was shown, nothing when there was none.
pub async fn add_server(
    level: &Level,
    name: &str,
    entry_json: &str,
    shown_hash: Option<&str>,
    replace_it: bool,
) -> Result<Edited, EditProblem> {
    let (file, before, after) = adding(level, name, entry_json, shown_hash, replace_it).await?;
    write(level, &file, before.as_deref(), &after).await?;
    let id = ServerId { source: Source::Native, machine: level.machine.id(), file, place: None, name: name.into() };
    Ok(Edited { id, hash: digest::sha256(&after) })
}
