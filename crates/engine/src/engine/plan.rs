//! The dry run of an edit: what saving an entry would start, stop, rename and leave dangling, before it is written. It reads
//! files and asks what runs; nothing is written or started, no name is resolved, no variable's value used (row 2).

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Engine;
use super::edit::{Agreed, Difference, difference, ready};
use super::servers::server_id;
use crate::config::edit::{self, EditProblem};
use crate::config::{self, Level, Listing, Scope, Server, ServerEntry, ServerId, Source, entry, json};
use crate::conversation;
use crate::error::{Error, ErrorCode, Result};
use crate::mcp::Health;
use crate::store::ConversationRow;
use crate::text::{display, display_capped, display_line};
use crate::wire::*;

/// How much of a tool's name is shown.
const NAME_CHARS: usize = 80;

/// An edit that was not made.
struct Ahead {
    level: Level,
    listing: Listing,
    /// Which entry is edited; none when one is added.
    old_id: Option<ServerId>,
    new_id: ServerId,
    /// As judged; none when the text is no JSON.
    new: Option<ServerEntry>,
    /// Whether a byte would change, or why nothing can be written.
    written: std::result::Result<bool, EditProblem>,
}

impl Ahead {
    fn old(&self) -> Option<&ServerEntry> {
        let id = self.old_id.as_ref()?;
        self.listing.servers.get(&id.name).filter(|_| self.listing.file == id.file)
    }
    fn renamed(&self) -> bool {
        self.old_id.as_ref().is_some_and(|old| *old != self.new_id)
    }
    fn change(&self) -> Difference {
        if self.renamed() || self.old_id.is_none() { Difference::Connection } else { difference(self.old(), self.new.as_ref()) }
    }
}

impl Engine {
    pub async fn server_plan(&self, p: EntryPlan) -> Result<PlanReply> {
        let ahead = self.look_ahead(&p).await?;
        let changes = *ahead.written.as_ref().unwrap_or(&true);
        let refusal = ahead.written.as_ref().err().map(|problem| display(&problem.to_string()));
        let conflict = match (&ahead.written, &ahead.old_id) {
            (Err(EditProblem::Changed), Some(id)) => {
                let now = edit::standing(&ahead.level, id).await.ok();
                let diff = now.as_ref().map(|now| conversation::lines_beside(&now.text, &p.entry)).unwrap_or_default();
                let (entry, file_hash) = now.map(|now| (now.text, now.hash)).unzip();
                Some(EntryNow { entry, file_hash, diff })
            }
            (Err(EditProblem::Changed), None) => Some(EntryNow { entry: None, file_hash: None, diff: vec![] }),
            _ => None,
        };
        let (mut reasons, notes) = match &ahead.new {
            Some(ServerEntry::Ready(server)) => (vec![], server.notes.clone()),
            Some(ServerEntry::Unavailable(entry)) => {
                (entry.reasons.iter().map(|reason| display(reason)).collect(), entry.notes.clone())
            }
            None => (vec![], vec![]),
        };
        reasons.retain(|reason: &String| Some(reason) != refusal.as_ref());
        let (consent, review, needs_review) = self.consent_ahead(&ahead, p.conversation.as_deref()).await?;
        let (hides, shows, unmatched) = self.tools_ahead(&ahead).await?;
        let conversations = if changes && ahead.new.is_some() {
            self.conversations_ahead(&ahead, consent == Consent::Given, p.keep_ticks).await?
        } else {
            vec![]
        };
        Ok(PlanReply {
            refusal,
            conflict,
            changes,
            server: ahead.new_id.to_string(),
            renamed: ahead.renamed(),
            reasons,
            notes,
            in_the_way: self.in_the_way(&ahead, p.conversation.as_deref()).await?,
            consent,
            review,
            needs_review,
            conversations,
            hides,
            shows,
            unmatched,
        })
    }

    async fn look_ahead(&self, p: &EntryPlan) -> Result<Ahead> {
        let (level, old_id) = match (&p.server, &p.level) {
            (Some(server), _) => {
                let id = server_id(server)?;
                (self.known_level(&id).await?, Some(id))
            }
            (None, Some(level)) => match &p.conversation {
                Some(conversation) => (self.level_of(conversation, level).await?, None),
                None => (self.brought_level(level)?, None),
            },
            (None, None) => return Err(Error::new(ErrorCode::BadRequest, "Name a server, or the level for a new one.")),
        };
        let listing = config::list(&level).await;
        let written = match &old_id {
            Some(id) => edit::would_edit(&level, id, p.file_hash.as_deref().unwrap_or_default(), &p.name, &p.entry).await,
            None => edit::would_add(&level, &p.name, &p.entry, p.file_hash.as_deref()).await.map(|_| true),
        };
        let file = old_id.as_ref().map_or(&listing.file, |id| &id.file).clone();
        let new = match json::parse(p.entry.as_bytes()) {
            Ok(json) => Some(entry::check(&level, &file, &p.name, &json, false).await),
            Err(_) => None,
        };
        let machine = level.machine.id();
        let new_id = ServerId { source: Source::Native, machine, file, place: None, name: p.name.clone() };
        Ok(Ahead { level, listing, old_id, new_id, new, written })
    }

    /// What a person's agreement would be worth afterwards, what differs from it, and whether that is another hand's work.
    async fn consent_ahead(&self, ahead: &Ahead, conversation: Option<&str>) -> Result<(Consent, Option<ConsentView>, bool)> {
        let Some(new) = ready(ahead.new.as_ref()) else { return Ok((Consent::Needed, None, false)) };
        let Some(id) = &ahead.old_id else {
            // Whoever adds an entry in place of one that was agreed to made it.
            let agreed = self.store.consent(&ahead.new_id.to_string()).await?.is_some();
            return Ok((if agreed { Consent::Given } else { Consent::Needed }, None, false));
        };
        let scope = &ahead.level.scope;
        let (row, elsewhere) = match self.agreed(id, ahead.old(), Some(new)).await? {
            Agreed::Never => return Ok((Consent::Needed, None, false)),
            Agreed::Along(row) => (row, false),
            Agreed::Other(row) => (row, true),
        };
        let consent =
            if elsewhere { conversation::consent(new, scope, Some(&row), self.settings().await?.review) } else { Consent::Given };
        let review = if row.canonical == new.canonical {
            None
        } else {
            let folder = self.folder_ahead(scope, conversation).await?;
            Some(conversation::view(new, scope, &folder, Some(&row)))
        };
        Ok((consent, review, elsewhere))
    }

    /// Where a server of this level starts when its entry says nothing.
    async fn folder_ahead(&self, scope: &Scope, conversation: Option<&str>) -> Result<PathBuf> {
        let row = match conversation {
            Some(id) => self.store.conversation(id).await?,
            None => None,
        };
        let (folders, scratch) = match &row {
            Some(row) => (self.folders(row).await?, row.temporary.then(|| self.scratch(&row.id))),
            None => (vec![], None),
        };
        let folders: Vec<PathBuf> = folders.into_iter().map(|(_, folder)| folder).collect();
        Ok(conversation::folder(scope, &folders, scratch.as_deref(), self.machine.home()))
    }

    async fn conversations_ahead(&self, ahead: &Ahead, agreed: bool, keep_ticks: bool) -> Result<Vec<PlannedConversation>> {
        if ahead.change() != Difference::Connection {
            return Ok(vec![]);
        }
        let running = ahead.old_id.as_ref().map(|id| self.running_in(id)).unwrap_or_default();
        let ticked = async |id: Option<&ServerId>| match id {
            Some(id) => self.store.ticked_in(&id.to_string()).await,
            None => Ok(vec![]),
        };
        let (old_ticks, new_ticks) = (ticked(ahead.old_id.as_ref()).await?, ticked(Some(&ahead.new_id)).await?);
        let held = self.summaries().await?;
        let usable = agreed && ready(ahead.new.as_ref()).is_some();
        let mut planned = Vec::new();
        for row in self.store.conversations().await? {
            let (ticks_old, ticks_new) = (old_ticks.contains(&row.id), new_ticks.contains(&row.id));
            let busy = running.get(&row.id);
            if !ticks_old && !ticks_new && busy.is_none() || !self.has_level(&row, &ahead.level).await? {
                continue;
            }
            let held_by = held.iter().find(|summary| summary.id == row.id).and_then(|summary| summary.held_by.clone());
            let follows = ahead.renamed() && ticks_old && keep_ticks && held_by.is_none();
            let uses = if ahead.renamed() { follows || ticks_new } else { ticks_old || ticks_new };
            planned.push(PlannedConversation {
                stops: busy.is_some(),
                busy: busy.copied().unwrap_or_default(),
                starts: match (uses && usable, busy.is_some()) {
                    (false, _) => PlannedStart::No,
                    (true, true) => PlannedStart::Now,
                    (true, false) => PlannedStart::NextTurn,
                },
                dangles: ahead.renamed() && ticks_old && !follows,
                follows,
                held_by,
                title: conversation::name(&row),
                temporary: row.temporary,
                id: row.id,
            });
        }
        Ok(planned)
    }

    /// Whether a level's servers are among a conversation's.
    pub(super) async fn has_level(&self, row: &ConversationRow, level: &Level) -> Result<bool> {
        Ok(match &level.scope {
            Scope::Global => true,
            Scope::Workspace(folder) => self.folders(row).await?.iter().any(|(_, own)| own == folder),
        })
    }

    /// Tools that would be left out from now on, those that would not be any more, and listed names that match none.
    async fn tools_ahead(&self, ahead: &Ahead) -> Result<(Vec<String>, Vec<String>, Vec<String>)> {
        let (Some(id), Some(new)) = (&ahead.old_id, ready(ahead.new.as_ref())) else { return Ok(Default::default()) };
        let known = self.known_tools(id).await?;
        if known.is_empty() {
            return Ok(Default::default());
        }
        let nothing: &[String] = &[];
        let was = ready(ahead.old()).map_or(nothing, |old: &Server| &old.hidden_tools);
        let named = |names: &[String], which: &dyn Fn(&String) -> bool| {
            let chosen: BTreeSet<&String> = names.iter().filter(|name| which(name)).collect();
            chosen.into_iter().map(|name| display_capped(name, NAME_CHARS)).collect::<Vec<_>>()
        };
        let hides = named(&new.hidden_tools, &|name| known.contains(name) && !was.contains(name));
        let shows = named(was, &|name| known.contains(name) && !new.hidden_tools.contains(name));
        let lists = [new.hidden_tools.as_slice(), new.always_ask.as_slice()].concat();
        let unmatched = named(&lists, &|name| !known.contains(name));
        Ok((hides, shows, unmatched))
    }

    /// What the server lists now, or else what it was seen to list.
    async fn known_tools(&self, id: &ServerId) -> Result<BTreeSet<String>> {
        for (key, _) in self.pool.live(id) {
            if let Health::Connected { tools, .. } = self.pool.health(&key, id) {
                return Ok(tools.tools.iter().map(|tool| tool.name.clone()).collect());
            }
        }
        Ok(self.store.seen_tools(&id.to_string()).await?.into_iter().collect())
    }

    async fn in_the_way(&self, ahead: &Ahead, conversation: Option<&str>) -> Result<Vec<String>> {
        let name = &ahead.new_id.name;
        let shown = display_capped(name, NAME_CHARS);
        let mut others = Vec::new();
        if config::shadowed(&ahead.level, &ahead.new_id.file).await.contains(name) {
            others.push(format!(
                "{} declares {shown} too. It is not read as long as {} exists.",
                display_line(&ahead.level.legacy_file().to_string_lossy()),
                display_line(&ahead.new_id.file.to_string_lossy())
            ));
        }
        let new_name = ahead.renamed() || ahead.old_id.is_none();
        let row = match conversation {
            Some(id) if new_name => self.store.conversation(id).await?,
            _ => None,
        };
        for (_, level) in if let Some(row) = &row { self.levels(row).await? } else { vec![] } {
            if level.scope == ahead.level.scope {
                continue;
            }
            let listing = config::list(&level).await;
            if listing.servers.contains_key(name) {
                others.push(format!(
                    "{} declares a server {shown} too. Both stay, each a server of its own.",
                    display_line(&listing.file.to_string_lossy())
                ));
            }
        }
        Ok(others)
    }
}
