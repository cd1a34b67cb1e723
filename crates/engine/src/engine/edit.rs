//! One entry as a person edits it: read, changed letter by letter, renamed; single tools left out or made to ask. Each does to
//! connections and conversations what [`super::plan`] said it would.

use super::Engine;
use super::files::refused;
use super::servers::server_id;
use crate::config::edit::{self, Edited, ToolList};
use crate::config::{self, FileState, Level, Listing, Server, ServerEntry, ServerId};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;
use crate::store::ConsentRow;
use crate::wire::*;

/// What a person agreed to, seen from a new text of the entry.
pub(super) enum Agreed {
    /// Nobody ever agreed to this server.
    Never,
    /// To the entry as it stood before the edit, or to exactly this one: it carries over.
    Along(ConsentRow),
    /// To something that another hand changed since.
    Other(ConsentRow),
}

/// What changed between two texts of an entry, as far as connections care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// What runs goes on.
    Nothing,
    /// It goes on, and lists its tools again if their lists are others; calls take the time limit from the entry.
    Rest,
    /// It ends.
    Connection,
}

pub(super) fn ready(entry: Option<&ServerEntry>) -> Option<&Server> {
    match entry {
        Some(ServerEntry::Ready(server)) => Some(server),
        Some(ServerEntry::Unavailable(_)) | None => None,
    }
}

/// `old` and `new`: the entry before and after.
pub(super) fn difference(old: Option<&ServerEntry>, new: Option<&ServerEntry>) -> Difference {
    match (ready(old), ready(new)) {
        (Some(old), Some(new)) if old.digest == new.digest => Difference::Nothing,
        (Some(old), Some(new)) if old.connection_digest == new.connection_digest => Difference::Rest,
        _ => Difference::Connection,
    }
}

impl Engine {
    pub async fn server_entry(&self, p: ServerOf) -> Result<EntryReply> {
        let id = server_id(&p.server)?;
        let level = self.known_level(&id).await?;
        let edit::Standing { text, hash } = edit::standing(&level, &id).await.map_err(refused)?;
        Ok(EntryReply {
            file: crate::text::display_line(&id.file.to_string_lossy()),
            name: id.name,
            entry: text,
            file_hash: hash,
        })
    }

    /// Writes exactly that text in place of the entry's (B17). An edit made here needs no review (decision 1), unless the entry
    /// was changed elsewhere before, and the person was not shown what that comes to.
    pub async fn server_edit(&self, p: ServerEdit) -> Result<EditReply> {
        let id = server_id(&p.server)?;
        let level = self.known_level(&id).await?;
        let old = self.as_shown(&level, &id, &p.file_hash).await;
        let edited = edit::edit_server(&level, &id, &p.file_hash, &p.name, &p.entry).await.map_err(refused)?;
        let new = self.as_written(&level, &edited).await;
        let renamed = edited.id != id;
        let ticked = if renamed && p.keep_ticks { self.may_follow(&level, &p.server).await? } else { vec![] };
        let agreed = self.agreed(&id, old.as_ref(), ready(new.as_ref())).await?;
        let consent = match (agreed, ready(new.as_ref())) {
            (Agreed::Never, _) => None,
            (Agreed::Along(_), Some(server)) => Some(row(server)),
            (Agreed::Other(_), Some(server)) if p.digest.as_deref() == Some(server.digest.as_str()) => Some(row(server)),
            // What was agreed to stays what it was, so that the difference from it is shown.
            (Agreed::Along(row) | Agreed::Other(row), _) => Some(row),
        };
        let new_id = edited.id.to_string();
        if renamed {
            self.store.rename_server(&p.server, &new_id, consent, ticked).await?;
        } else if let Some(consent) = consent {
            self.store.agree(&new_id, consent).await?;
        }
        let change = if renamed { Difference::Connection } else { difference(old.as_ref(), new.as_ref()) };
        self.take_up(&p.server, &new_id, change, ready(new.as_ref())).await?;
        Ok(EditReply { id: new_id, file_hash: edited.hash })
    }

    /// Leaves a tool out or offers it again, makes it ask every time or not. The server goes on running.
    pub async fn server_set_tool(&self, p: ServerSetTool) -> Result<EditReply> {
        let id = server_id(&p.server)?;
        if p.tool.is_empty() || p.tool.len() > limits::TOOL_NAME_BYTES {
            return Err(Error::failed(format!("A tool's name has 1 to {} bytes.", limits::TOOL_NAME_BYTES)));
        }
        let wished = [(ToolList::Disabled, p.disabled), (ToolList::AlwaysAsk, p.always_asks)];
        let lists: Vec<_> = wished.into_iter().filter_map(|(list, listed)| Some((list, listed?))).collect();
        if lists.is_empty() {
            return Err(Error::new(ErrorCode::BadRequest, "Say whether the tool is left out, or whether it asks."));
        }
        let level = self.known_level(&id).await?;
        let old = self.as_shown(&level, &id, &p.file_hash).await;
        let edited = edit::set_tool(&level, &id, &p.file_hash, &p.tool, &lists).await.map_err(refused)?;
        let new = self.as_written(&level, &edited).await;
        // Nobody was shown the rest of the entry: what waits for review goes on waiting.
        if let Some(server) = ready(new.as_ref())
            && let Agreed::Along(_) = self.agreed(&id, old.as_ref(), None).await?
        {
            self.store.agree(&p.server, row(server)).await?;
        }
        self.take_up(&p.server, &p.server, difference(old.as_ref(), new.as_ref()), ready(new.as_ref())).await?;
        Ok(EditReply { id: p.server, file_hash: edited.hash })
    }

    /// The entry in the file a person was shown; nothing when that is not the file that stands there.
    async fn as_shown(&self, level: &Level, id: &ServerId, hash: &str) -> Option<ServerEntry> {
        let Listing { file, state, mut servers } = config::list(level).await;
        let shown = file == id.file && state == FileState::Read { hash: hash.to_owned() };
        servers.swap_remove(&id.name).filter(|_| shown)
    }

    /// The entry as this process wrote it; nothing when somebody wrote after it.
    pub(super) async fn as_written(&self, level: &Level, edited: &Edited) -> Option<ServerEntry> {
        self.as_shown(level, &edited.id, &edited.hash).await
    }

    /// What a person's agreement is to an entry that becomes `new`. `old`: the entry before, in the file as it was shown.
    pub(super) async fn agreed(&self, id: &ServerId, old: Option<&ServerEntry>, new: Option<&Server>) -> Result<Agreed> {
        let Some(row) = self.store.consent(&id.to_string()).await? else { return Ok(Agreed::Never) };
        let to_old = ready(old).is_some_and(|old| old.digest == row.digest);
        // The name is part of a digest, and another one changes nothing that would start.
        let to_new = new.is_some_and(|new| new.canonical == row.canonical);
        Ok(if to_old || to_new { Agreed::Along(row) } else { Agreed::Other(row) })
    }

    /// Conversations that tick a server of this level and that this process may change.
    async fn may_follow(&self, level: &Level, server: &str) -> Result<Vec<String>> {
        let mut ours = Vec::new();
        for conversation in self.store.ticked_in(server).await? {
            match self.owned(&conversation).await {
                Ok(row) if self.has_level(&row, level).await? => ours.push(conversation),
                Ok(_) => {}
                // Another process has it (B41), or it is gone by now.
                Err(e) if matches!(e.code, ErrorCode::ReadOnly | ErrorCode::NotFound) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(ours)
    }

    /// Brings what runs, and what windows show, to the entry as it stands now; no other server is touched.
    async fn take_up(&self, old: &str, new: &str, change: Difference, server: Option<&Server>) -> Result<()> {
        match (change, server) {
            (Difference::Nothing, _) => {}
            (Difference::Rest, Some(server)) => self.pool.relist(server),
            (Difference::Rest, None) | (Difference::Connection, _) => {
                let running = self.running_in(&server_id(old)?);
                self.close_server(old).await;
                for (conversation, _) in running {
                    if let Some(row) = self.store.conversation(&conversation).await? {
                        self.start_in_background(&row, Some(new)).await?;
                    }
                }
            }
        }
        self.publish_open().await
    }

    /// Conversations of this process with a running connection to a server, and whether something runs on one of them.
    pub(super) fn running_in(&self, id: &ServerId) -> std::collections::BTreeMap<String, bool> {
        let mut conversations = std::collections::BTreeMap::new();
        for (key, busy) in self.pool.live(id) {
            // Further instances have a folder behind the conversation's id.
            let conversation = key.split(' ').next().unwrap_or_default().to_owned();
            *conversations.entry(conversation).or_default() |= busy;
        }
        conversations
    }
}

fn row(server: &Server) -> ConsentRow {
    ConsentRow { digest: server.digest.clone(), canonical: server.canonical.clone() }
}
