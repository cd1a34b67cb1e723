//! What a person agreed to start, how servers began, and what their tools looked like.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{Result, Store, now, optional};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentRow {
    pub digest: String,
    /// The canonical text that the digest was made of: the "old" side of a review.
    pub canonical: String,
}

/// One tool as it was listed. `definition` is text for people, a key a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenTool {
    pub name: String,
    pub digest: String,
    pub definition: String,
}

/// A tool that was listed otherwise before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedTool {
    pub name: String,
    pub old: String,
    pub new: String,
}

pub(super) fn all(connection: &Connection) -> Result<BTreeMap<String, ConsentRow>> {
    let mut statement = connection.prepare("SELECT server, digest, canonical FROM consents")?;
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, ConsentRow { digest: row.get(1)?, canonical: row.get(2)? })))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

impl Store {
    pub async fn consent(&self, server: &str) -> Result<Option<ConsentRow>> {
        let server = server.to_owned();
        self.run(move |c| {
            let mut statement = c.prepare_cached("SELECT digest, canonical FROM consents WHERE server = ?1")?;
            optional(statement.query_row([server], |row| Ok(ConsentRow { digest: row.get(0)?, canonical: row.get(1)? })))
        })
        .await
    }

    /// All of them, by server id.
    pub async fn consents(&self) -> Result<BTreeMap<String, ConsentRow>> {
        self.run(|c| all(c)).await
    }

    pub async fn agree(&self, server: &str, row: ConsentRow) -> Result<()> {
        let server = server.to_owned();
        self.write(move |t| {
            t.execute(
                "INSERT INTO consents (server, digest, canonical, at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (server) DO UPDATE SET digest = ?2, canonical = ?3, at = ?4",
                (server, row.digest, row.canonical, now()),
            )?;
            Ok(())
        })
        .await
    }

    /// The entry is gone by a person's hand: an equal one that comes back is asked about again.
    pub async fn forget_consent(&self, server: &str) -> Result<()> {
        let server = server.to_owned();
        self.write(move |t| {
            t.execute("DELETE FROM consents WHERE server = ?1", [server])?;
            Ok(())
        })
        .await
    }

    /// An entry has another name, which makes it another server: what a person agreed to, what its tools looked like and which
    /// of them need a person go along; in these conversations its tick does too. All of it, or nothing.
    pub async fn rename_server(
        &self,
        old: &str,
        new: &str,
        consent: Option<ConsentRow>,
        conversations: Vec<String>,
    ) -> Result<()> {
        let (old, new) = (old.to_owned(), new.to_owned());
        self.write(move |t| {
            t.execute("DELETE FROM consents WHERE server = ?1", [&old])?;
            if let Some(row) = consent {
                t.execute(
                    "INSERT INTO consents (server, digest, canonical, at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (server) DO UPDATE SET digest = ?2, canonical = ?3, at = ?4",
                    (&new, row.digest, row.canonical, now()),
                )?;
            }
            t.execute(
                "INSERT INTO seen_tools (server, tool, digest, definition)
                 SELECT ?2, tool, digest, definition FROM seen_tools WHERE server = ?1
                 ON CONFLICT (server, tool) DO UPDATE SET digest = excluded.digest, definition = excluded.definition",
                (&old, &new),
            )?;
            t.execute(
                "INSERT INTO sticky_tools (conversation, server, tool)
                 SELECT conversation, ?2, tool FROM sticky_tools WHERE server = ?1 ON CONFLICT DO NOTHING",
                (&old, &new),
            )?;
            for conversation in conversations {
                t.execute(
                    "INSERT INTO selection (conversation, server) SELECT ?1, ?3 FROM selection WHERE conversation = ?1 AND server = ?2
                     ON CONFLICT DO NOTHING",
                    (&conversation, &old, &new),
                )?;
                t.execute("DELETE FROM selection WHERE conversation = ?1 AND server = ?2", (&conversation, &old))?;
            }
            Ok(())
        })
        .await
    }

    /// Names of the tools a server was ever seen to list.
    pub async fn seen_tools(&self, server: &str) -> Result<Vec<String>> {
        let server = server.to_owned();
        self.run(move |c| {
            let mut statement = c.prepare("SELECT tool FROM seen_tools WHERE server = ?1")?;
            let rows = statement.query_map([server], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }

    /// How servers began last time, by server id.
    pub async fn eras(&self) -> Result<BTreeMap<String, String>> {
        self.run(|c| {
            let mut statement = c.prepare("SELECT server, era FROM eras")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }
    /// Does not wait: losing it costs one question too many at the next start.
    pub fn remember_era(&self, server: String, era: &'static str) {
        self.later(move |connection| {
            connection.execute(
                "INSERT INTO eras (server, era) VALUES (?1, ?2) ON CONFLICT (server) DO UPDATE SET era = ?2",
                (server, era),
            )?;
            Ok(())
        });
    }

    /// Keeps what a server's tools look like now and answers with those that looked otherwise before. A server seen for
    /// the first time has changed nothing; new and vanished tools are not changes.
    pub async fn note_tools(&self, server: &str, tools: Vec<SeenTool>) -> Result<Vec<ChangedTool>> {
        let server = server.to_owned();
        self.write(move |t| {
            let mut seen = t.prepare_cached("SELECT digest, definition FROM seen_tools WHERE server = ?1 AND tool = ?2")?;
            let mut see = t.prepare_cached(
                "INSERT INTO seen_tools (server, tool, digest, definition) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (server, tool) DO UPDATE SET digest = ?3, definition = ?4",
            )?;
            let mut changed = Vec::new();
            for SeenTool { name, digest, definition } in tools {
                let before: Option<(String, String)> =
                    optional(seen.query_row((&server, &name), |row| Ok((row.get(0)?, row.get(1)?))))?;
                if before.as_ref().is_some_and(|(before, _)| *before == digest) {
                    continue;
                }
                see.execute((&server, &name, digest, &definition))?;
                if let Some((_, old)) = before {
                    changed.push(ChangedTool { name, old, new: definition });
                }
            }
            Ok(changed)
        })
        .await
    }
}
