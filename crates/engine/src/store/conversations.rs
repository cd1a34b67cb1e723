//! Rows of workspaces and conversations, and which belongs to which.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params_from_iter};

use super::{Result, Store, meaning, now, optional, word};
use crate::approval::Level;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRow {
    pub id: String,
    pub machine: String,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRow {
    pub id: String,
    /// A person's; empty when nobody gave it one.
    pub title: String,
    /// The server and tool that were called first here, as they were then.
    pub first_call: Option<String>,
    pub level: Level,
    pub discovery: bool,
    pub draft: String,
    pub temporary: bool,
    pub updated_at: u64,
    /// Ids, in the conversation's order.
    pub workspaces: Vec<String>,
}

/// Calls of one conversation that are under way, in whichever process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub waiting: u32,
    pub running: u32,
}

impl Store {
    /// In the order they were added.
    pub async fn workspaces(&self) -> Result<Vec<WorkspaceRow>> {
        self.run(|c| {
            let mut statement = c.prepare("SELECT id, machine, path FROM workspaces ORDER BY position, id")?;
            let rows = statement
                .query_map([], |row| Ok(WorkspaceRow { id: row.get(0)?, machine: row.get(1)?, path: row.get(2)? }))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }

    /// Adds a workspace; the same folder twice is the same workspace. Answers with its id.
    pub async fn add_workspace(&self, row: WorkspaceRow) -> Result<String> {
        self.write(move |t| {
            t.execute(
                "INSERT INTO workspaces (id, machine, path, position)
                 VALUES (?1, ?2, ?3, (SELECT COALESCE(MAX(position), 0) + 1 FROM workspaces)) ON CONFLICT (machine, path) DO NOTHING",
                (&row.id, &row.machine, &row.path),
            )?;
            Ok(t.query_row("SELECT id FROM workspaces WHERE machine = ?1 AND path = ?2", (&row.machine, &row.path), |r| r.get(0))?)
        })
        .await
    }

    /// Conversations lose the workspace too. False when there was none.
    pub async fn remove_workspace(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.write(move |t| Ok(t.execute("DELETE FROM workspaces WHERE id = ?1", [id])? > 0)).await
    }

    /// Newest first.
    pub async fn conversations(&self) -> Result<Vec<ConversationRow>> {
        self.run(|c| {
            let t = c.transaction()?;
            let mut rows = conversations(&t, None)?;
            rows.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
            Ok(rows)
        })
        .await
    }

    pub async fn conversation(&self, id: &str) -> Result<Option<ConversationRow>> {
        let id = id.to_owned();
        self.run(move |c| {
            let t = c.transaction()?;
            Ok(conversations(&t, Some(&id))?.pop())
        })
        .await
    }

    /// Workspaces that do not exist (any more) are left out.
    pub async fn create_conversation(&self, row: ConversationRow) -> Result<()> {
        self.write(move |t| {
            t.execute(
                "INSERT INTO conversations (id, title, level, discovery, draft, temporary, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
                (&row.id, &row.title, word(&row.level)?, row.discovery, &row.draft, row.temporary, row.updated_at),
            )?;
            set_workspaces(t, &row.id, &row.workspaces)
        })
        .await
    }

    /// Its selection, transcript and lease go with it. False when there was none.
    pub async fn delete_conversation(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.write(move |t| Ok(t.execute("DELETE FROM conversations WHERE id = ?1", [id])? > 0)).await
    }

    pub async fn set_title(&self, id: &str, title: &str) -> Result<()> {
        self.update(id, "UPDATE conversations SET title = ?2 WHERE id = ?1", title.to_owned()).await
    }
    pub async fn set_level(&self, id: &str, level: Level) -> Result<()> {
        self.update(id, "UPDATE conversations SET level = ?2 WHERE id = ?1", word(&level)?).await
    }
    pub async fn set_discovery(&self, id: &str, on: bool) -> Result<()> {
        self.update(id, "UPDATE conversations SET discovery = ?2 WHERE id = ?1", i64::from(on)).await
    }
    pub async fn set_draft(&self, id: &str, draft: &str) -> Result<()> {
        self.update(id, "UPDATE conversations SET draft = ?2 WHERE id = ?1", draft.to_owned()).await
    }
    /// Remembers what was called first in it.
    pub async fn set_first_call(&self, id: &str, call: String) -> Result<()> {
        self.update(id, "UPDATE conversations SET first_call = ?2 WHERE id = ?1 AND first_call IS NULL", call).await
    }
    /// Something happened in it: it moves up.
    pub async fn touch(&self, id: &str) -> Result<()> {
        self.update(id, "UPDATE conversations SET updated_at = max(updated_at, ?2) WHERE id = ?1", now()).await
    }
    async fn update<V: rusqlite::ToSql + Send + 'static>(&self, id: &str, sql: &'static str, value: V) -> Result<()> {
        let id = id.to_owned();
        self.write(move |t| {
            t.prepare_cached(sql)?.execute((id, value))?;
            Ok(())
        })
        .await
    }

    pub async fn set_conversation_workspaces(&self, id: &str, workspaces: Vec<String>) -> Result<()> {
        let id = id.to_owned();
        self.write(move |t| {
            t.execute("DELETE FROM conversation_workspaces WHERE conversation = ?1", [&id])?;
            set_workspaces(t, &id, &workspaces)
        })
        .await
    }

    /// Ids of the ticked servers.
    pub async fn selection(&self, conversation: &str) -> Result<Vec<String>> {
        let conversation = conversation.to_owned();
        self.run(move |c| {
            let mut statement = c.prepare_cached("SELECT server FROM selection WHERE conversation = ?1 ORDER BY server")?;
            let rows = statement.query_map([conversation], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }

    /// Ids of the conversations that tick a server.
    pub async fn ticked_in(&self, server: &str) -> Result<Vec<String>> {
        let server = server.to_owned();
        self.run(move |c| {
            let mut statement = c.prepare("SELECT conversation FROM selection WHERE server = ?1 ORDER BY conversation")?;
            let rows = statement.query_map([server], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }

    pub async fn select(&self, conversation: &str, server: &str, ticked: bool) -> Result<()> {
        let (conversation, server) = (conversation.to_owned(), server.to_owned());
        self.write(move |t| {
            let sql = if ticked {
                "INSERT INTO selection (conversation, server) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
            } else {
                "DELETE FROM selection WHERE conversation = ?1 AND server = ?2"
            };
            t.execute(sql, (conversation, server))?;
            Ok(())
        })
        .await
    }

    /// Per conversation, what is under way; conversations without any are absent.
    pub async fn counts(&self) -> Result<BTreeMap<String, Counts>> {
        self.run(|c| {
            let mut statement = c.prepare_cached(
                "SELECT conversation, phase, count(*) FROM entries WHERE phase <> 'over' GROUP BY conversation, phase",
            )?;
            let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
            for row in
                statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, u32>(2)?)))?
            {
                let (conversation, phase, n) = row?;
                let count = counts.entry(conversation).or_default();
                if phase == "waiting" { count.waiting = n } else { count.running = n }
            }
            Ok(counts)
        })
        .await
    }

    /// Tools of a server that once asked for a person in this conversation.
    pub async fn sticky_tools(&self, conversation: &str, server: &str) -> Result<Vec<String>> {
        let (conversation, server) = (conversation.to_owned(), server.to_owned());
        self.run(move |c| {
            let mut statement = c.prepare_cached("SELECT tool FROM sticky_tools WHERE conversation = ?1 AND server = ?2")?;
            let rows = statement.query_map((conversation, server), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }
    pub async fn make_sticky(&self, conversation: &str, server: &str, tools: Vec<String>) -> Result<()> {
        let (conversation, server) = (conversation.to_owned(), server.to_owned());
        self.write(move |t| {
            for tool in tools {
                t.execute(
                    "INSERT INTO sticky_tools (conversation, server, tool) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                    (&conversation, &server, tool),
                )?;
            }
            Ok(())
        })
        .await
    }
}

/// Statements for all conversations, or for the one with the id `?1`: its workspaces in order, and itself. One is looked up
/// several times for each call, so it is found by the index.
pub(super) fn statements(one: bool) -> [String; 2] {
    let of = |column: &str| if one { format!(" WHERE {column} = ?1") } else { String::new() };
    [
        format!("SELECT conversation, workspace FROM conversation_workspaces{} ORDER BY position", of("conversation")),
        format!("SELECT id, title, level, discovery, draft, temporary, updated_at, first_call FROM conversations{}", of("id")),
    ]
}

fn conversations(t: &Transaction<'_>, only: Option<&str>) -> Result<Vec<ConversationRow>> {
    let [of_workspaces, of_conversations] = statements(only.is_some());
    let mut workspaces: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut statement = t.prepare_cached(&of_workspaces)?;
    for row in statement.query_map(params_from_iter(only), |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))? {
        let (conversation, workspace) = row?;
        workspaces.entry(conversation).or_default().push(workspace);
    }
    let mut statement = t.prepare_cached(&of_conversations)?;
    let mut rows = Vec::new();
    let mut found = statement.query(params_from_iter(only))?;
    while let Some(row) = found.next()? {
        let id: String = row.get(0)?;
        rows.push(ConversationRow {
            title: row.get(1)?,
            level: meaning(row.get(2)?)?,
            discovery: row.get(3)?,
            draft: row.get(4)?,
            temporary: row.get(5)?,
            updated_at: row.get(6)?,
            first_call: row.get(7)?,
            workspaces: workspaces.remove(&id).unwrap_or_default(),
            id,
        });
    }
    Ok(rows)
}

fn set_workspaces(t: &Transaction<'_>, conversation: &str, workspaces: &[String]) -> Result<()> {
    for (position, workspace) in workspaces.iter().enumerate() {
        t.execute(
            "INSERT INTO conversation_workspaces (conversation, workspace, position) SELECT ?1, id, ?3 FROM workspaces WHERE id = ?2
             ON CONFLICT DO NOTHING",
            (conversation, workspace, i64::try_from(position).unwrap_or(i64::MAX)),
        )?;
    }
    Ok(())
}

impl Store {
    pub async fn has_conversations(&self) -> Result<bool> {
        self.run(|c| Ok(optional(c.query_row("SELECT 1 FROM conversations LIMIT 1", [], |_| Ok(())))?.is_some())).await
    }
}
