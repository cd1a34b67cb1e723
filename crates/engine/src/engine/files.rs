//! Levels' files as a person changes them from here: add, remove, show in the file manager.

use std::path::Path;

use super::Engine;
use super::servers::{needs_consent, server_id};
use crate::config::edit::{self, EditProblem, Edited};
use crate::config::folder::Shown;
use crate::config::{self, FileState, Launch, Level, Scope, ServerEntry, ServerId};
use crate::conversation::GLOBAL;
use crate::error::{Error, ErrorCode, Result};
use crate::wire::*;

/// What the sample server is called in the file.
const SAMPLE: &str = "sample";
const SAMPLE_ARGS: [&str; 1] = ["sample-server"];

impl Engine {
    /// Removes exactly that entry from its file (B17). Conversations that ticked it show it as Dangling.
    pub async fn server_remove(&self, p: ServerRemove) -> Result<Empty> {
        let id = server_id(&p.server)?;
        let level = self.known_level(&id).await?;
        edit::remove_server(&level, &id, &p.file_hash).await.map_err(refused)?;
        self.store.forget_consent(&p.server).await?;
        self.close_server(&p.server).await;
        self.publish_open().await?;
        Ok(Empty {})
    }

    /// Adds an entry, or exchanges one. An edit made here needs no review (decision 1): what was agreed to moves along.
    pub async fn server_add(&self, p: ServerAdd) -> Result<IdReply> {
        let level = match &p.conversation {
            Some(conversation) => self.level_of(conversation, &p.level).await?,
            None => self.brought_level(&p.level)?,
        };
        let added = edit::add_server(&level, &p.name, &p.entry, p.file_hash.as_deref(), p.replace).await.map_err(refused)?;
        self.carry_consent(&level, &added).await?;
        self.publish_open().await?;
        Ok(IdReply { id: added.id.to_string() })
    }

    /// Adds the sample server to the global file and ticks it. One that is there is only ticked, and another server of that
    /// name is a person's own: it stays as it is.
    pub async fn server_add_sample(&self, p: ById) -> Result<IdReply> {
        self.owned(&p.id).await?;
        let program = self.host.mework_program().ok_or_else(|| {
            Error::not_found("The program `mework`, which is also the sample server, was not found beside this one. Install it, or add another server.")
        })?;
        let level = self.global();
        let listing = config::list(&level).await;
        let command = program.to_str().ok_or_else(|| Error::failed("The path of the program `mework` is not Unicode text."))?;
        let tick =
            |server: &ServerId| ServerTick { conversation: p.id.clone(), server: server.to_string(), ticked: true, digest: None };
        if let Some(entry) = listing.servers.get(SAMPLE) {
            let ServerEntry::Ready(server) = entry else { return Err(taken(&listing.file)) };
            if !matches!(&server.launch, Launch::Stdio(launch) if launch.command == command && launch.args == SAMPLE_ARGS) {
                return Err(taken(&listing.file));
            }
            let ConsentReply { needs } = self.server_tick(tick(&server.id)).await?;
            return if needs.is_none() { Ok(IdReply { id: server.id.to_string() }) } else { Err(needs_consent(server)) };
        }
        let wanted = serde_json::json!({
            "command": command,
            "args": SAMPLE_ARGS,
            "description": "Comes with Mework, to try things with",
        });
        let hash = match &listing.state {
            FileState::Absent => None,
            FileState::Read { hash } => Some(hash.as_str()),
            FileState::Ignored { message } => {
                return Err(Error::failed(format!("{} is ignored: {message}", listing.file.display())));
            }
        };
        let added = edit::add_server(&level, SAMPLE, &wanted.to_string(), hash, false).await.map_err(refused)?;
        self.carry_consent(&level, &added).await?;
        self.server_tick(tick(&added.id)).await?;
        self.publish_open().await?;
        Ok(IdReply { id: added.id.to_string() })
    }

    /// B19: shows the level's `mcp.json` in the file manager; without one, makes `.mework` and opens that.
    pub async fn level_reveal(&self, p: LevelOf) -> Result<PathReply> {
        let level = self.level_of(&p.conversation, &p.level).await?;
        let shown = config::folder(&level).await.map_err(|e| Error::failed(format!("{e}.")))?;
        if self.host.capabilities().reveal {
            match &shown {
                Shown::File(file) => self.host.reveal(file)?,
                Shown::Folder(folder) => self.host.open_folder(folder)?,
            }
        }
        Ok(PathReply { path: Some(shown.path().to_string_lossy().into_owned()) })
    }

    /// Every conversation a window looks at, its files read again.
    pub(super) async fn publish_open(&self) -> Result<()> {
        for id in self.open_ones().await {
            self.close_dangling(&id).await?;
            self.publish_conversation(&id).await?;
        }
        Ok(())
    }

    pub(super) async fn level_of(&self, conversation: &str, key: &str) -> Result<Level> {
        let row = self.store.conversation(conversation).await?.ok_or_else(super::conversations::no_conversation)?;
        let level = self.levels(&row).await?.into_iter().find(|(level, _)| level == key).map(|(_, level)| level);
        level.ok_or_else(|| Error::not_found("This workspace is not part of the conversation any more."))
    }

    /// Without a conversation, a level is `global` or the folder of one of the command line's workspaces.
    pub(super) fn brought_level(&self, key: &str) -> Result<Level> {
        if key == GLOBAL {
            return Ok(self.global());
        }
        let folder = self.brought().into_iter().find(|folder| folder.to_str() == Some(key));
        let folder = folder.ok_or_else(|| Error::not_found("This folder is not one of the workspaces given with -w."))?;
        Ok(Level { machine: self.machine.clone(), scope: Scope::Workspace(folder) })
    }

    /// The level an id's file belongs to: the global one, a workspace's, or the command line's. No other file is touched.
    pub(super) async fn known_level(&self, id: &ServerId) -> Result<Level> {
        let scope = self.scope_of(id);
        let known = match &scope {
            Scope::Global => true,
            Scope::Workspace(folder) => {
                self.brought().contains(folder) || self.store.workspaces().await?.iter().any(|w| Path::new(&w.path) == folder)
            }
        };
        if known {
            Ok(Level { machine: self.machine.clone(), scope })
        } else {
            Err(Error::not_found("This server's file is in no workspace that Mework knows."))
        }
    }

    /// The entry was changed here: a person who agreed to the old one made the new one.
    async fn carry_consent(&self, level: &Level, added: &Edited) -> Result<()> {
        if self.store.consent(&added.id.to_string()).await?.is_some()
            && let Some(ServerEntry::Ready(server)) = self.as_written(level, added).await
        {
            self.agree(&server).await?;
        }
        Ok(())
    }
}

fn taken(file: &Path) -> Error {
    let message = format!("{} declares another server named `{SAMPLE}`. Rename or remove it, then try again.", file.display());
    Error::new(ErrorCode::Conflict, message)
}

pub(super) fn refused(problem: EditProblem) -> Error {
    let code = match problem {
        EditProblem::Changed | EditProblem::Exists { .. } => ErrorCode::Conflict,
        EditProblem::NotThere { .. } => ErrorCode::NotFound,
        EditProblem::File(_)
        | EditProblem::Unreadable(_)
        | EditProblem::Twice { .. }
        | EditProblem::Name(_)
        | EditProblem::NotAnEntry { .. }
        | EditProblem::BadEntry(_)
        | EditProblem::KeyTwice { .. }
        | EditProblem::NotAList { .. }
        | EditProblem::TooLarge
        | EditProblem::Unclear
        | EditProblem::Write(_) => ErrorCode::Failed,
    };
    Error::new(code, problem.to_string())
}
