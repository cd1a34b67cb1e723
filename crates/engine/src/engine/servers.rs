//! Servers of a conversation: ticking, agreeing, testing, adding and removing.

use std::path::PathBuf;

use super::Engine;
use crate::config::{self, FileState, Launch, Level, Listing, Scope, Server, ServerEntry, ServerId};
use crate::conversation;
use crate::conversation::call::Cleared;
use crate::error::{Error, ErrorCode, Result};
use crate::machine::Machine;
use crate::store::{ConsentRow, ConversationRow};
use crate::wire::*;

/// A declared server, found by its id in files that were read just now.
pub(super) struct Found {
    pub level: Level,
    pub entry: ServerEntry,
    /// Where it starts when its entry says nothing.
    pub folder: PathBuf,
    /// The conversation's workspaces on this computer, in order.
    pub folders: Vec<PathBuf>,
}

/// The levels whose files may declare a conversation's servers.
pub(super) struct Sources {
    levels: Vec<Level>,
    /// The workspaces among them, in order.
    folders: Vec<PathBuf>,
    scratch: Option<PathBuf>,
}

impl Sources {
    pub(super) fn level_of(&self, scope: &Scope) -> Option<&Level> {
        self.levels.iter().find(|level| level.scope == *scope)
    }
}

/// Whether a person's wish to start a server may be followed.
pub(super) enum Admission {
    Granted,
    /// A person has to see this first.
    Needs(Box<ConsentView>),
}

impl Engine {
    /// Ticks or unticks. The first tick of a workspace's server, and any tick of one whose entry changed since it was
    /// agreed to, needs the digest of what a person saw (decision 3, rows 1–3).
    pub async fn server_tick(&self, p: ServerTick) -> Result<ConsentReply> {
        let row = self.owned(&p.conversation).await?;
        let id = server_id(&p.server)?;
        if !p.ticked {
            self.store.select(&p.conversation, &p.server, false).await?;
            // Windows need not wait for a server that takes its time to end.
            let ((), published) =
                tokio::join!(self.close_connection(&p.conversation, &p.server), self.publish_conversation(&p.conversation),);
            published?;
            return Ok(ConsentReply { needs: None });
        }
        let found = self.find(Some(&row), &id).await?;
        if let ServerEntry::Ready(server) = &found.entry
            && let Admission::Needs(view) = self.admit(&found, server, p.digest.as_deref()).await?
        {
            return Ok(ConsentReply { needs: Some(*view) });
        }
        self.store.select(&p.conversation, &p.server, true).await?;
        self.publish_conversation(&p.conversation).await?;
        self.start_in_background(&row, Some(&p.server)).await?;
        Ok(ConsentReply { needs: None })
    }

    /// Whether a person agreed to what this entry would start, as it stands now.
    pub async fn consent(&self, server: &Server) -> Result<Consent> {
        let id = server.id.to_string();
        let agreed = self.store.consent(&id).await?;
        Ok(conversation::consent(server, &self.scope_of(&server.id), agreed.as_ref(), self.settings().await?.review))
    }

    /// The same of many at once, in order.
    pub async fn consents(&self, servers: impl IntoIterator<Item = &Server>) -> Result<Vec<Consent>> {
        let (agreed, review) = (self.store.consents().await?, self.settings().await?.review);
        let consent = |server: &Server| {
            conversation::consent(server, &self.scope_of(&server.id), agreed.get(&server.id.to_string()), review)
        };
        Ok(servers.into_iter().map(consent).collect())
    }

    /// What would start, and what changed since it was agreed to.
    pub async fn server_review(&self, p: ServerReview) -> Result<ConsentView> {
        let found = self.find_for(p.conversation.as_deref(), &p.server).await?;
        match &found.entry {
            ServerEntry::Ready(server) => self.view(&found, server).await,
            ServerEntry::Unavailable(entry) => Err(unavailable(entry)),
        }
    }

    /// Re-reads every file of the conversation.
    pub async fn level_rescan(&self, p: ById) -> Result<Empty> {
        self.store.conversation(&p.id).await?.ok_or_else(super::conversations::no_conversation)?;
        self.publish_conversation(&p.id).await?;
        Ok(Empty {})
    }
}

/// The global level and those of these workspaces, in order.
pub(super) fn levels(machine: &Machine, folders: &[PathBuf]) -> Vec<Level> {
    let scopes = std::iter::once(Scope::Global).chain(folders.iter().cloned().map(Scope::Workspace));
    scopes.map(|scope| Level { machine: machine.clone(), scope }).collect()
}

/// Which level an id's file belongs to, by its place alone.
pub(super) fn scope_of(machine: &Machine, id: &ServerId) -> Scope {
    let folder = id.file.parent().and_then(|mework| mework.parent()).unwrap_or(&id.file);
    if folder == machine.home() { Scope::Global } else { Scope::Workspace(folder.to_owned()) }
}

pub(super) fn server_id(text: &str) -> Result<ServerId> {
    text.parse().map_err(|_| Error::new(ErrorCode::BadRequest, "This is not the id of a server."))
}

pub(super) fn unavailable(entry: &config::Unavailable) -> Error {
    let name = crate::text::display_line(&entry.id.name);
    Error::failed(format!("{name} is unavailable: {}", crate::text::display(&entry.reasons.join(" "))))
}

/// `"workspace": true`, which only the global file can say.
pub(super) fn works_in_a_workspace(server: &Server) -> bool {
    matches!(&server.launch, Launch::Stdio(stdio) if stdio.workspace)
}

/// It may not start before a person saw what would start.
pub(super) fn needs_consent(server: &Server) -> Error {
    let name = crate::text::display_line(&server.id.name);
    Error::new(
        ErrorCode::NeedsConsent,
        format!("{name} was not started: nobody agreed to what its entry would start, or it changed since. Review it first."),
    )
}

impl Engine {
    /// Reads the server's file, now, and clears its entry for a start: ticked when a conversation is given, there, available,
    /// and agreed to as it stands.
    pub(super) async fn cleared(&self, row: Option<&ConversationRow>, server: &str) -> Result<Cleared> {
        let id = server_id(server)?;
        if let Some(row) = row
            && !self.store.selection(&row.id).await?.iter().any(|ticked| ticked == server)
        {
            let name = crate::text::display_line(&id.name);
            return Err(Error::failed(format!("{name} is not ticked in this conversation.")));
        }
        let found = self.find(row, &id).await?;
        match found.entry {
            ServerEntry::Unavailable(entry) => Err(unavailable(&entry)),
            ServerEntry::Ready(server) => match self.consent(&server).await? {
                Consent::Given => {
                    let choice = if works_in_a_workspace(&server) { found.folders } else { vec![] };
                    Ok(Cleared { server, folder: found.folder, instance: None, choice })
                }
                Consent::Needed | Consent::Changed => Err(needs_consent(&server)),
            },
        }
    }

    pub(super) fn scope_of(&self, id: &ServerId) -> Scope {
        scope_of(&self.machine, id)
    }

    /// Finds a server among a conversation's levels, or without one among the global level and the command line's
    /// workspaces. Nothing outside those is ever read or started, whatever an id says (row 8).
    pub(super) async fn find(&self, row: Option<&ConversationRow>, id: &ServerId) -> Result<Found> {
        let sources = self.sources(row).await?;
        let level = sources.level_of(&self.scope_of(id)).ok_or_else(|| dangling(id))?;
        let listing = config::list(level).await;
        self.find_in(&sources, level, &listing, id)
    }

    /// Where servers may come from, for a conversation or for none.
    pub(super) async fn sources(&self, row: Option<&ConversationRow>) -> Result<Sources> {
        let (levels, scratch): (Vec<Level>, _) = match row {
            Some(row) => (
                self.levels(row).await?.into_iter().map(|(_, level)| level).collect(),
                row.temporary.then(|| self.scratch(&row.id)),
            ),
            None => (levels(&self.machine, &self.brought()), None),
        };
        let folders = levels.iter().filter_map(|level| match &level.scope {
            Scope::Global => None,
            Scope::Workspace(folder) => Some(folder.clone()),
        });
        Ok(Sources { folders: folders.collect(), levels, scratch })
    }

    /// Finds a server in the listing of the level that its id belongs to.
    pub(super) fn find_in(&self, sources: &Sources, level: &Level, listing: &Listing, id: &ServerId) -> Result<Found> {
        if listing.file != id.file {
            return Err(dangling(id));
        }
        if let FileState::Ignored { message } = &listing.state {
            return Err(Error::failed(format!("{} is ignored: {message}", listing.file.display())));
        }
        let entry = listing.servers.get(&id.name).ok_or_else(|| dangling(id))?.clone();
        let folder = conversation::folder(&level.scope, &sources.folders, sources.scratch.as_deref(), self.machine.home());
        Ok(Found { entry, level: level.clone(), folder, folders: sources.folders.clone() })
    }

    pub(super) async fn find_for(&self, conversation: Option<&str>, server: &str) -> Result<Found> {
        let id = server_id(server)?;
        let row = match conversation {
            Some(id) => Some(self.store.conversation(id).await?.ok_or_else(super::conversations::no_conversation)?),
            None => None,
        };
        self.find(row.as_ref(), &id).await
    }

    /// A person wants this server to start (a tick, a test). `seen` is the digest of the view they agreed to.
    pub(super) async fn admit(&self, found: &Found, server: &Server, seen: Option<&str>) -> Result<Admission> {
        let given = match (self.consent(server).await?, &found.level.scope) {
            (Consent::Given, _) => return Ok(Admission::Granted),
            // The person's own file: the tick itself is the agreement.
            (Consent::Needed, Scope::Global) => true,
            (Consent::Needed, Scope::Workspace(_)) | (Consent::Changed, _) => seen == Some(server.digest.as_str()),
        };
        if !given {
            return Ok(Admission::Needs(Box::new(self.view(found, server).await?)));
        }
        self.agree(server).await?;
        Ok(Admission::Granted)
    }

    /// What starting it would do, with old beside new when something else was agreed to.
    async fn view(&self, found: &Found, server: &Server) -> Result<ConsentView> {
        let agreed = self.store.consent(&server.id.to_string()).await?;
        Ok(conversation::view(server, &found.level.scope, &found.folder, agreed.as_ref()))
    }

    pub(super) async fn agree(&self, server: &Server) -> Result<()> {
        let row = ConsentRow { digest: server.digest.clone(), canonical: server.canonical.clone() };
        Ok(self.store.agree(&server.id.to_string(), row).await?)
    }
}

fn dangling(id: &ServerId) -> Error {
    Error::not_found(format!(
        "{} is dangling: there is no server of that name in {} any more, or its workspace is no longer part of the conversation. Untick it, or put it back.",
        crate::text::display_line(&id.name),
        crate::text::display_line(&id.file.to_string_lossy())
    ))
}
