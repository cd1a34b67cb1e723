//! Workspaces, conversations and their settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::Engine;
use crate::approval::Level as Security;
use crate::config::{self, Level, Scope};
use crate::conversation::{self, GLOBAL, Placed, Ticks};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;
use crate::store::{ConversationRow, Lease, WorkspaceRow, new_id, now, private_dir};
use crate::wire::*;

impl Engine {
    pub async fn workspace_add(&self, p: WorkspaceAdd) -> Result<IdReply> {
        let path = conversation::workspace_path(&p.path, self.machine.home()).map_err(|e| Error::failed(e.to_string()))?;
        if !self.machine.is_dir(&path).await {
            return Err(Error::not_found(format!("There is no folder {}.", crate::text::display_line(&path.to_string_lossy()))));
        }
        let row = WorkspaceRow {
            id: new_id(),
            machine: self.machine.id().0,
            path: path.to_str().ok_or_else(|| Error::failed("The folder's path is not Unicode text."))?.into(),
        };
        let id = self.store.add_workspace(row).await?;
        self.publish_lists().await?;
        Ok(IdReply { id })
    }

    pub async fn workspace_remove(&self, p: ById) -> Result<Empty> {
        // Conversations of other processes lose it too, but not under their hands: they are told by the database.
        let using: Vec<String> =
            self.store.conversations().await?.into_iter().filter(|c| c.workspaces.contains(&p.id)).map(|c| c.id).collect();
        for conversation in &using {
            self.owned(conversation).await?;
        }
        if !self.store.remove_workspace(&p.id).await? {
            return Err(Error::not_found("There is no such workspace any more."));
        }
        self.publish_lists().await?;
        self.follow().await;
        for conversation in &using {
            self.close_dangling(conversation).await?;
            self.publish_conversation(conversation).await?;
        }
        Ok(Empty {})
    }

    pub async fn host_pick_folder(&self, _: Empty) -> Result<PathReply> {
        let path = self.host.pick_folder().await?;
        Ok(PathReply { path: path.map(|p| p.to_string_lossy().into_owned()) })
    }

    pub async fn conversation_create(&self, p: ConversationCreate) -> Result<IdReply> {
        self.known_workspaces(&p.workspaces).await?;
        let id = new_id();
        if p.temporary {
            private_dir(&self.scratch(&id))?;
        }
        let row = ConversationRow {
            id: id.clone(),
            title: conversation::title(p.title.as_deref().unwrap_or_default()),
            first_call: None,
            // The built-in preset (B39): level Manual, discovery on, no servers.
            level: Security::Manual,
            discovery: true,
            draft: String::new(),
            temporary: p.temporary,
            updated_at: now(),
            workspaces: p.workspaces,
        };
        self.store.create_conversation(row).await?;
        self.publish_lists().await?;
        Ok(IdReply { id })
    }

    /// An empty title gives the conversation back the name of its first call.
    pub async fn conversation_rename(&self, p: ConversationRename) -> Result<Empty> {
        self.owned(&p.id).await?;
        self.store.set_title(&p.id, &conversation::title(&p.title)).await?;
        self.publish_lists().await?;
        self.publish_cards().await?;
        Ok(Empty {})
    }

    /// Stops its calls, withdraws its cards, closes its connections, and deletes its scratch folder.
    pub async fn conversation_delete(&self, p: ById) -> Result<Empty> {
        let row = self.owned(&p.id).await?;
        self.stop_calls(&p.id).await;
        self.close_connections(&p.id).await;
        self.store.delete_conversation(&p.id).await?;
        self.mine().remove(&p.id);
        if row.temporary {
            let scratch = self.scratch(&p.id);
            if let Err(e) = tokio::fs::remove_dir_all(&scratch).await
                && e.kind() != std::io::ErrorKind::NotFound
            {
                self.events
                    .send(Event::Notice { text: format!("The scratch folder {} could not be deleted: {e}.", scratch.display()) });
            }
        }
        self.publish_lists().await?;
        Ok(Empty {})
    }

    pub async fn conversation_set_workspaces(&self, p: ConversationWorkspaces) -> Result<Empty> {
        self.owned(&p.id).await?;
        self.known_workspaces(&p.workspaces).await?;
        self.store.set_conversation_workspaces(&p.id, p.workspaces).await?;
        self.publish_lists().await?;
        self.follow().await;
        self.close_dangling(&p.id).await?;
        self.publish_conversation(&p.id).await?;
        Ok(Empty {})
    }

    /// Obeyed at once: waiting cards that no longer need asking are answered, none is taken back (B33).
    pub async fn conversation_set_level(&self, p: ConversationLevel) -> Result<Empty> {
        self.owned(&p.id).await?;
        self.store.set_level(&p.id, p.level).await?;
        self.publish_conversation(&p.id).await?;
        self.queue.level_changed(&p.id, p.level);
        Ok(Empty {})
    }

    pub async fn conversation_set_discovery(&self, p: ConversationDiscovery) -> Result<Empty> {
        self.owned(&p.id).await?;
        self.store.set_discovery(&p.id, p.discovery).await?;
        self.publish_conversation(&p.id).await?;
        Ok(Empty {})
    }

    pub async fn conversation_set_draft(&self, p: ConversationDraft) -> Result<Empty> {
        self.owned(&p.id).await?;
        if p.draft.len() > limits::ARGUMENTS_BYTES {
            return Err(Error::failed(format!("A draft has at most {} bytes.", limits::ARGUMENTS_BYTES)));
        }
        self.store.set_draft(&p.id, &p.draft).await?;
        Ok(Empty {})
    }

    /// Reads a conversation and takes it for this process if nobody has it (B41). Starts nothing (B20b).
    pub async fn conversation_open(&self, p: ById) -> Result<Conversation> {
        match self.owned(&p.id).await {
            Ok(_) => {}
            // Read-only is a way of opening it too.
            Err(e) if e.code == ErrorCode::ReadOnly => {}
            Err(e) => return Err(e),
        }
        self.keep_open(&p.id).await?;
        // A change between reading and following would be missed: read after.
        self.follow().await;
        let (seq, row, servers) = self.keep_open(&p.id).await?.ok_or_else(no_conversation)?;
        let summary = self.summaries().await?.into_iter().find(|summary| summary.id == p.id).ok_or_else(no_conversation)?;
        Ok(Conversation {
            seq,
            summary,
            level: row.level,
            discovery: row.discovery,
            draft: row.draft,
            scratch: row.temporary.then(|| self.scratch(&p.id).to_string_lossy().into_owned()),
            servers,
            transcript: self.store.transcript(&p.id).await?.into_iter().map(|row| row.entry).collect(),
        })
    }

    pub async fn settings_set(&self, p: SettingsSet) -> Result<Empty> {
        let review = serde_json::to_string(&p.settings.review).map_err(|e| Error::failed(e.to_string()))?;
        self.store.set_setting(REVIEW, review).await?;
        self.publish_settings().await?;
        for id in self.open_ones().await {
            self.publish_conversation(&id).await?;
        }
        Ok(Empty {})
    }
}

pub(super) const REVIEW: &str = "review";

/// Settings as they are kept; what cannot be read is at its default.
pub(super) fn settings(review: Option<&str>) -> Settings {
    Settings { review: review.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default() }
}

pub(super) fn no_conversation() -> Error {
    Error::not_found("This conversation does not exist any more.")
}

// What the methods above, and those of servers and calls, look things up with.
impl Engine {
    /// The conversation, if this process may change it (B41). Takes it when nobody has it.
    pub(super) async fn owned(&self, id: &str) -> Result<ConversationRow> {
        let row = self.store.conversation(id).await?.ok_or_else(no_conversation)?;
        let _taking = self.taking.lock().await;
        match self.store.take(id).await? {
            Lease::Ours => {
                self.mine().insert(id.to_owned(), Instant::now());
            }
            Lease::Taken => {
                if let Err(e) = self.end_leftovers(id).await {
                    // Whoever takes it next tries again.
                    self.give_back(id).await;
                    return Err(e);
                }
            }
            Lease::Held(holder) => {
                return Err(Error::new(
                    ErrorCode::ReadOnly,
                    format!("This conversation is open in {}. It is read-only here until that is closed.", holder_words(&holder)),
                ));
            }
        }
        Ok(row)
    }

    async fn known_workspaces(&self, ids: &[String]) -> Result<()> {
        let known: BTreeSet<String> = self.store.workspaces().await?.into_iter().map(|w| w.id).collect();
        let mut seen = BTreeSet::new();
        if ids.iter().all(|id| known.contains(id) && seen.insert(id)) {
            Ok(())
        } else {
            Err(Error::not_found("One of these workspaces does not exist any more, or is named twice."))
        }
    }

    pub(super) fn scratch(&self, id: &str) -> PathBuf {
        self.data.join("scratch").join(id)
    }

    pub(super) async fn settings(&self) -> Result<Settings> {
        Ok(settings(self.store.setting(REVIEW).await?.as_deref()))
    }

    pub(super) async fn workspaces_now(&self) -> Result<Vec<Workspace>> {
        let mut workspaces = Vec::new();
        for row in self.store.workspaces().await? {
            let path = Path::new(&row.path);
            workspaces.push(Workspace {
                exists: self.machine.is_dir(path).await,
                name: path.file_name().map_or_else(|| row.path.clone(), |name| name.to_string_lossy().into_owned()),
                machine: self.machine.id().label(),
                id: row.id,
                path: row.path,
            });
        }
        Ok(workspaces)
    }

    pub(super) async fn summaries(&self) -> Result<Vec<ConversationSummary>> {
        let counts = self.store.counts().await?;
        let held = self.store.held_by_others().await?;
        let rows = self.store.conversations().await?;
        Ok(rows
            .into_iter()
            .map(|row| {
                let count = counts.get(&row.id).copied().unwrap_or_default();
                ConversationSummary {
                    held_by: held.iter().find(|(id, _)| *id == row.id).map(|(_, holder)| holder_words(holder)),
                    waiting_cards: count.waiting,
                    running_calls: count.running,
                    title: conversation::name(&row),
                    id: row.id,
                    workspaces: row.workspaces,
                    temporary: row.temporary,
                    updated_at: row.updated_at,
                }
            })
            .collect())
    }

    /// A conversation's row and lists as they are now; its files are read. Not its transcript, which may be long, and every
    /// badge that changes comes by here.
    pub(super) async fn lists(&self, id: &str) -> Result<Option<(ConversationRow, Servers)>> {
        let Some(row) = self.store.conversation(id).await? else { return Ok(None) };
        let levels = self.placed(&row).await?;
        let selection = self.store.selection(id).await?.into_iter().collect();
        let consents = self.store.consents().await?;
        let ticks = Ticks { selection: &selection, consents: &consents, review: self.settings().await?.review };
        let servers = conversation::servers(&levels, &ticks, &|server| self.status(id, server));
        Ok(Some((row, servers)))
    }

    /// The conversation's levels in order, their files read now.
    pub(super) async fn placed(&self, row: &ConversationRow) -> Result<Vec<Placed>> {
        let mut placed = Vec::new();
        for (key, level) in self.levels(row).await? {
            let listing = config::list(&level).await;
            placed.push(Placed { key, level, listing });
        }
        Ok(placed)
    }

    /// Global first, then the conversation's workspaces in its order.
    pub(super) async fn levels(&self, row: &ConversationRow) -> Result<Vec<(String, Level)>> {
        let mut levels = vec![(GLOBAL.to_owned(), self.global())];
        for folder in self.folders(row).await? {
            levels.push((folder.0, Level { machine: self.machine.clone(), scope: Scope::Workspace(folder.1) }));
        }
        Ok(levels)
    }

    /// The conversation's workspaces in its order: id and folder.
    pub(super) async fn folders(&self, row: &ConversationRow) -> Result<Vec<(String, PathBuf)>> {
        let known = self.store.workspaces().await?;
        let found = row.workspaces.iter().filter_map(|id| known.iter().find(|w| w.id == *id));
        Ok(found.map(|w| (w.id.clone(), PathBuf::from(&w.path))).collect())
    }

    pub(super) fn global(&self) -> Level {
        Level { machine: self.machine.clone(), scope: Scope::Global }
    }
}

fn holder_words(holder: &crate::store::Holder) -> String {
    format!("{}, process {}", holder.client, holder.pid)
}
