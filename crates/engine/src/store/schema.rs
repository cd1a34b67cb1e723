//! The database's shape, how an older one becomes the current one, and what happens to one that is damaged (B46).

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::{Opened, Result, StoreError, connect, now, private_file};

/// Each brings the database from the version that is its index to the next. Never change one that was released: add one.
pub(super) const MIGRATIONS: &[&str] = &[
    r"
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY, machine TEXT NOT NULL, path TEXT NOT NULL, position INTEGER NOT NULL,
    UNIQUE (machine, path)
) STRICT;

CREATE TABLE conversations (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, level TEXT NOT NULL, discovery INTEGER NOT NULL, draft TEXT NOT NULL,
    temporary INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;

-- A conversation's workspaces, in its own order.
CREATE TABLE conversation_workspaces (
    conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    workspace TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    position INTEGER NOT NULL,
    PRIMARY KEY (conversation, workspace)
) STRICT;

-- Ticked servers, by id. Whether the entry still exists is never stored.
CREATE TABLE selection (
    conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    server TEXT NOT NULL,
    PRIMARY KEY (conversation, server)
) STRICT;

-- What a person agreed to start: the digest, and the text it was made of, for the review that shows old and new.
CREATE TABLE consents (server TEXT PRIMARY KEY, digest TEXT NOT NULL, canonical TEXT NOT NULL, at INTEGER NOT NULL) STRICT;

-- How a server began last time: which handshake to try first.
CREATE TABLE eras (server TEXT PRIMARY KEY, era TEXT NOT NULL) STRICT;

-- A tool that once asked for a person stays so in that conversation (security row 6).
CREATE TABLE sticky_tools (
    conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    server TEXT NOT NULL, tool TEXT NOT NULL,
    PRIMARY KEY (conversation, server, tool)
) STRICT;

-- What each tool looked like when it was last listed (security row 6).
CREATE TABLE tool_digests (server TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (server, tool)) STRICT;

-- The transcript. `revision` grows with every change, so that another process reads only what it has not seen.
CREATE TABLE entries (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    at INTEGER NOT NULL,
    -- 'waiting' and 'running' are under way; 'over' is not.
    phase TEXT NOT NULL,
    body TEXT NOT NULL,
    revision INTEGER NOT NULL
) STRICT;
CREATE INDEX entries_of ON entries (conversation, revision);
CREATE INDEX entries_under_way ON entries (conversation, phase) WHERE phase <> 'over';
CREATE INDEX entries_revision ON entries (revision);

-- Processes that have the database open. Each holds a lock on its own file in the `run` folder while it lives.
CREATE TABLE processes (id TEXT PRIMARY KEY, pid INTEGER NOT NULL, client TEXT NOT NULL, started_at INTEGER NOT NULL) STRICT;

-- Which of them may change a conversation (B41).
CREATE TABLE leases (
    conversation TEXT PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    process TEXT NOT NULL REFERENCES processes ON DELETE CASCADE
) STRICT;
",
    r"
-- What each tool looked like when it was last listed (security row 6): a digest of all of it, and the text that the next
-- difference is shown from.
CREATE TABLE seen_tools (
    server TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL, definition TEXT NOT NULL,
    PRIMARY KEY (server, tool)
) STRICT;
DROP TABLE tool_digests;
",
    r"
-- What was sent to a tool, newest last, so that a person can pick it again.
CREATE INDEX entries_sent ON entries
    (json_extract(body, '$.server'), json_extract(body, '$.tool'), json_extract(body, '$.started_at'))
    WHERE json_extract(body, '$.started_at') IS NOT NULL;
",
    r"
-- A title is a person's, or empty; a conversation without one is called after its first call.
ALTER TABLE conversations ADD COLUMN first_call TEXT;
UPDATE conversations SET title = '' WHERE title = 'New conversation';
UPDATE conversations SET first_call = (
    SELECT json_extract(body, '$.server_name') || ' · ' || json_extract(body, '$.tool') FROM entries
    WHERE conversation = conversations.id AND json_extract(body, '$.kind') = 'call' ORDER BY at, entries.id LIMIT 1
);
",
];

/// Opens the database at `path` and brings it up to date. `alone`: no other process has it open. Under one that has, it is
/// neither set aside nor given another format.
pub(super) fn open(path: &Path, migrations: &[&str], alone: impl Fn() -> Result<bool>) -> Result<(Connection, Opened)> {
    let mut opened = Opened::default();
    let mut connection = match sound(path) {
        Ok(connection) => connection,
        Err(StoreError::Sqlite(e)) if damaged(&e) => {
            if !alone()? {
                return Err(StoreError::DamagedInUse { path: path.to_owned() });
            }
            opened.set_aside = Some(set_aside(path)?);
            sound(path)?
        }
        Err(e) => return Err(e),
    };
    let format = format(&connection, path, migrations)?;
    if let Some(to_come) = migrations.get(format..).filter(|to_come| !to_come.is_empty()) {
        if !alone()? {
            return Err(StoreError::OlderInUse { path: path.to_owned() });
        }
        if format > 0 {
            opened.migrated = Some(keep_copy(&connection, path, format)?);
        }
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for migration in to_come {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "user_version", u32::try_from(migrations.len()).unwrap_or(u32::MAX))?;
        transaction.commit()?;
    }
    Ok((connection, opened))
}

/// How many of the migrations a database has seen; an error if more than there are.
pub(super) fn format(connection: &Connection, path: &Path, migrations: &[&str]) -> Result<usize> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    Ok(usize::try_from(found).unwrap_or(usize::MAX))
}

/// Connects and looks at every page once, so that damage shows now and not in the middle of a call.
fn sound(path: &Path) -> Result<Connection> {
    let connection = connect(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    check(&connection)?;
    Ok(connection)
}

/// Looks at every page.
pub(super) fn check(connection: &Connection) -> Result<()> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT), Some(verdict)).into())
    }
}

pub(super) fn damaged(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Moves a damaged database, with its journal, out of the way. Nothing of it is deleted.
fn set_aside(path: &Path) -> Result<PathBuf> {
    let aside = free_name(path, "damaged");
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&aside, suffix));
        match fs::rename(&from, &to) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => return Err(StoreError::Io { path: from, source }),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(aside)
}

/// A whole copy of the database as it is, for whoever has to go back.
fn keep_copy(connection: &Connection, path: &Path, version: usize) -> Result<PathBuf> {
    let copy = free_name(path, &format!("format-{version}"));
    private_file(&copy)?;
    let mut target = Connection::open(&copy)?;
    rusqlite::backup::Backup::new(connection, &mut target)?.run_to_completion(1000, std::time::Duration::ZERO, None)?;
    Ok(copy)
}

/// `mework.db` → `mework-damaged-1700000000.db`, or with `-2` and so on when that is taken.
fn free_name(path: &Path, what: &str) -> PathBuf {
    let seconds = now() / 1000;
    let mut candidate = path.with_file_name(format!("mework-{what}-{seconds}.db"));
    let mut n = 2;
    while candidate.exists() {
        candidate = path.with_file_name(format!("mework-{what}-{seconds}-{n}.db"));
        n += 1;
    }
    candidate
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
