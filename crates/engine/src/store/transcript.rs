//! Rows of transcripts.

use std::collections::HashSet;

use rusqlite::Transaction;

use super::{Result, Store};
use crate::wire::{CallState, Entry, EntryBody};

/// An entry and when it last changed.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRow {
    pub entry: Entry,
    pub revision: u64,
}

/// How much of what was sent is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Recent {
    pub texts: usize,
    /// Of all of them together.
    pub bytes: usize,
    /// A longer text is left out.
    pub bytes_of_one: usize,
}

/// Arguments that were sent, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentArguments {
    pub arguments: String,
    pub at: u64,
}

/// Calls that are looked through for different arguments: who calls a tool with the same ones all day does not wait for it.
const LOOKED_THROUGH: usize = 500;

/// The arguments as a JSON string: SQLite's own reading of one ends at the first NUL.
pub(super) const SENT: &str = "SELECT body -> '$.arguments', json_extract(body, '$.started_at') AS sent FROM entries
     JOIN conversations ON conversations.id = entries.conversation
     WHERE json_extract(body, '$.server') = ?2 AND json_extract(body, '$.tool') = ?3
       AND json_extract(body, '$.started_at') IS NOT NULL AND (NOT conversations.temporary OR conversations.id = ?1)
     ORDER BY sent DESC, entries.id DESC LIMIT ?4";

fn phase(body: &EntryBody) -> &'static str {
    match body {
        EntryBody::Notice { .. } => "over",
        EntryBody::Call(call) => match call.state {
            CallState::Waiting { .. } => "waiting",
            CallState::Connecting | CallState::Running { .. } => "running",
            CallState::Done(_)
            | CallState::Failed { .. }
            | CallState::Denied { .. }
            | CallState::Stopped
            | CallState::NotRun { .. } => "over",
        },
    }
}

impl Store {
    /// Adds an entry or replaces the one with its id.
    pub async fn put_entry(&self, conversation: &str, entry: &Entry) -> Result<()> {
        let (conversation, id, at, phase) = (conversation.to_owned(), entry.id.clone(), entry.at, phase(&entry.body));
        let body = serde_json::to_string(&entry.body)?;
        self.write(move |t| {
            let mut statement = t.prepare_cached(
                "INSERT INTO entries (id, conversation, at, phase, body, revision)
                 SELECT ?1, id, ?3, ?4, ?5, (SELECT COALESCE(MAX(revision), 0) + 1 FROM entries) FROM conversations WHERE id = ?2
                 ON CONFLICT (id) DO UPDATE SET phase = ?4, body = ?5, revision = (SELECT MAX(revision) + 1 FROM entries)",
            )?;
            statement.execute((id, conversation, at, phase, body))?;
            Ok(())
        })
        .await
    }

    /// In the order they were begun.
    pub async fn transcript(&self, conversation: &str) -> Result<Vec<EntryRow>> {
        self.changed_entries(conversation, 0).await
    }

    /// Entries that changed after `revision`, in the order they were begun.
    pub async fn changed_entries(&self, conversation: &str, revision: u64) -> Result<Vec<EntryRow>> {
        let conversation = conversation.to_owned();
        self.run(move |c| {
            let t = c.transaction()?;
            read(
                &t,
                "SELECT id, at, body, revision FROM entries WHERE conversation = ?1 AND revision > ?2 ORDER BY at, id",
                (conversation, revision),
            )
        })
        .await
    }

    /// What was sent to a tool, each text once, the newest first: from every conversation that is not temporary, and from
    /// `conversation` even if it is.
    pub async fn recent_arguments(
        &self,
        conversation: &str,
        server: &str,
        tool: &str,
        wanted: Recent,
    ) -> Result<Vec<SentArguments>> {
        let of = (conversation.to_owned(), server.to_owned(), tool.to_owned(), LOOKED_THROUGH);
        self.run(move |c| {
            let mut statement = c.prepare(SENT)?;
            let mut found = statement.query(of)?;
            let (mut recent, mut seen, mut bytes) = (Vec::new(), HashSet::new(), 0);
            while recent.len() < wanted.texts
                && let Some(row) = found.next()?
            {
                let arguments: String = serde_json::from_str(&row.get::<_, String>(0)?)?;
                if arguments.len() > wanted.bytes_of_one || !seen.insert(arguments.clone()) {
                    continue;
                }
                bytes += arguments.len();
                if bytes > wanted.bytes {
                    break;
                }
                recent.push(SentArguments { arguments, at: row.get(1)? });
            }
            Ok(recent)
        })
        .await
    }

    pub async fn last_revision(&self) -> Result<u64> {
        self.run(|c| Ok(c.prepare_cached("SELECT COALESCE(MAX(revision), 0) FROM entries")?.query_row([], |row| row.get(0))?))
            .await
    }

    /// Entries of a conversation that say they are under way.
    pub async fn under_way(&self, conversation: &str) -> Result<Vec<Entry>> {
        let conversation = conversation.to_owned();
        self.run(move |c| {
            let t = c.transaction()?;
            let rows = read(
                &t,
                "SELECT id, at, body, revision FROM entries WHERE conversation = ?1 AND phase <> 'over' ORDER BY at, id",
                [conversation],
            )?;
            Ok(rows.into_iter().map(|row| row.entry).collect())
        })
        .await
    }
}

fn read(t: &Transaction<'_>, sql: &str, params: impl rusqlite::Params) -> Result<Vec<EntryRow>> {
    let mut statement = t.prepare_cached(sql)?;
    let mut rows = Vec::new();
    let mut found = statement.query(params)?;
    while let Some(row) = found.next()? {
        rows.push(EntryRow {
            entry: Entry { id: row.get(0)?, at: row.get(1)?, body: serde_json::from_str(&row.get::<_, String>(2)?)? },
            revision: row.get(3)?,
        });
    }
    Ok(rows)
}
