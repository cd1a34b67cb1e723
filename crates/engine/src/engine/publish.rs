//! What windows were told last. An event is sent only when what it says differs from that: nothing happens, nothing is said.

use std::collections::BTreeMap;

use super::Engine;
use crate::approval::Level;
use crate::error::Result;
use crate::store::ConversationRow;
use crate::wire::{Card, ConversationSummary, Event, Servers, Settings, Workspace};

#[derive(Default)]
pub(super) struct Published {
    workspaces: Vec<Workspace>,
    conversations: Vec<ConversationSummary>,
    cards: Vec<Card>,
    settings: Option<Settings>,
    /// Of open conversations.
    open: BTreeMap<String, Open>,
    /// Counts openings.
    openings: u64,
}

/// Conversations that are kept up to date side by side. Opening one more lets go of the one that was opened longest ago.
const OPEN: usize = 32;

struct Open {
    level: Level,
    discovery: bool,
    servers: Servers,
    /// Entries of another process that changed after this one are news.
    revision: u64,
    /// Greater than that of those opened before.
    opening: u64,
}

impl Engine {
    /// Workspaces and conversations as they are now, to whoever was told otherwise.
    pub(super) async fn publish_lists(&self) -> Result<()> {
        let mut told = self.published.lock().await;
        let workspaces = self.workspaces_now().await?;
        let conversations = self.summaries().await?;
        told.open.retain(|id, _| conversations.iter().any(|c| c.id == *id));
        if told.workspaces != workspaces {
            told.workspaces.clone_from(&workspaces);
            self.events.send(Event::Workspaces { workspaces });
        }
        if told.conversations != conversations {
            told.conversations.clone_from(&conversations);
            self.events.send(Event::Conversations { conversations });
        }
        Ok(())
    }

    /// The state a first window's snapshot will show; nobody is told.
    pub(super) async fn publish_silently(&self) -> Result<()> {
        let mut told = self.published.lock().await;
        told.workspaces = self.workspaces_now().await?;
        told.conversations = self.summaries().await?;
        told.settings = Some(self.settings().await?);
        Ok(())
    }

    /// One open conversation: its settings and its lists. Reads its files. A conversation nobody opened is skipped.
    pub(super) async fn publish_conversation(&self, id: &str) -> Result<()> {
        let mut told = self.published.lock().await;
        if !told.open.contains_key(id) {
            return Ok(());
        }
        let Some((row, servers)) = self.lists(id).await? else {
            told.open.remove(id);
            return Ok(());
        };
        self.tell(&mut told, &row, &servers, None);
        Ok(())
    }

    /// Makes a conversation one of the open ones and answers with its row and lists, and the number of the last event
    /// before they were read.
    pub(super) async fn keep_open(&self, id: &str) -> Result<Option<(u64, ConversationRow, Servers)>> {
        let mut told = self.published.lock().await;
        let seq = self.events.seq();
        let revision = self.store.last_revision().await?;
        let Some((row, servers)) = self.lists(id).await? else { return Ok(None) };
        self.tell(&mut told, &row, &servers, Some(revision));
        told.openings += 1;
        let opening = told.openings;
        if let Some(open) = told.open.get_mut(id) {
            open.opening = opening;
        }
        if told.open.len() > OPEN
            && let Some(oldest) = told.open.iter().min_by_key(|(_, open)| open.opening).map(|(id, _)| id.clone())
        {
            told.open.remove(&oldest);
        }
        Ok(Some((seq, row, servers)))
    }

    /// Entries another process wrote into an open conversation since they were last read.
    pub(super) async fn publish_entries(&self, id: &str) -> Result<()> {
        let mut told = self.published.lock().await;
        let Some(open) = told.open.get_mut(id) else { return Ok(()) };
        for row in self.store.changed_entries(id, open.revision).await? {
            open.revision = open.revision.max(row.revision);
            self.events.send(Event::Entry { conversation: id.to_owned(), entry: Box::new(row.entry) });
        }
        Ok(())
    }

    fn tell(&self, told: &mut Published, row: &ConversationRow, servers: &Servers, revision: Option<u64>) {
        let conversation = row.id.clone();
        let known = told.open.get(&conversation);
        let new = Open {
            level: row.level,
            discovery: row.discovery,
            servers: servers.clone(),
            revision: known.map(|open| open.revision).or(revision).unwrap_or_default(),
            opening: known.map_or(0, |open| open.opening),
        };
        let Some(old) = told.open.insert(conversation.clone(), new) else { return };
        if (old.level, old.discovery) != (row.level, row.discovery) {
            self.events.send(Event::ConversationChanged { id: conversation.clone(), level: row.level, discovery: row.discovery });
        }
        if let Some(badges) = only_badges(&old.servers, servers) {
            for (server, status) in badges {
                self.events.send(Event::ServerStatus { conversation: conversation.clone(), server, status });
            }
        } else {
            self.events.send(Event::Servers { conversation, servers: servers.clone() });
        }
    }

    pub(super) async fn publish_settings(&self) -> Result<()> {
        let mut told = self.published.lock().await;
        let settings = self.settings().await?;
        if told.settings.as_ref() != Some(&settings) {
            told.settings = Some(settings.clone());
            self.events.send(Event::Settings { settings });
        }
        Ok(())
    }

    pub(super) async fn publish_cards(&self) -> Result<()> {
        let mut told = self.published.lock().await;
        let cards = self.cards().await?;
        if told.cards != cards {
            told.cards.clone_from(&cards);
            self.host.attention(cards.iter().map(|card| self.noteworthy(card)).collect());
            self.events.send(Event::Cards { cards });
        }
        Ok(())
    }

    /// Ids of the conversations that windows look at.
    pub(super) async fn open_ones(&self) -> Vec<String> {
        self.published.lock().await.open.keys().cloned().collect()
    }
}

/// The rows whose badge changed, when nothing else did.
fn only_badges(old: &Servers, new: &Servers) -> Option<Vec<(String, crate::wire::ServerStatus)>> {
    let mut patched = old.clone();
    let mut changed = Vec::new();
    let rows = |servers: &Servers| servers.sections.iter().map(|section| section.rows.len()).collect::<Vec<_>>();
    if rows(old) != rows(new) {
        return None;
    }
    let pairs = patched.sections.iter_mut().zip(&new.sections).flat_map(|(old, new)| old.rows.iter_mut().zip(&new.rows));
    for (old, new) in pairs {
        if old.id == new.id && old.status != new.status {
            old.status = new.status.clone();
            changed.push((new.id.clone(), new.status.clone()));
        }
    }
    (patched == *new).then_some(changed)
}
