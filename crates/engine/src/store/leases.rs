//! Which process may change a conversation (B41). A process is alive as long as it holds the lock on its own file in the
//! `run` folder: the system lets go of it however the process ends, and unlike a process id or a heartbeat it can neither
//! be taken by a stranger nor be late after the computer slept.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction};

use super::{Result, Store, StoreError, new_id, now, optional, private_dir, private_file};

pub(super) struct Process {
    id: String,
    folder: PathBuf,
    /// Held for life.
    _alive: File,
}

/// The process that has a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// "the window", "mework serve".
    pub client: String,
    pub pid: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// It was ours already.
    Ours,
    /// It is ours now. What its last owner left under way is nobody's.
    Taken,
    Held(Holder),
}

impl Process {
    /// It counts as alive from here on; the database knows nothing of it yet.
    pub(super) fn new(data: &Path) -> Result<Self> {
        let folder = run_folder(data);
        private_dir(&folder)?;
        let id = new_id();
        let path = lock_path(&folder, &id);
        let alive = private_file(&path)?;
        alive.lock().map_err(|source| StoreError::Io { path, source })?;
        Ok(Self { id, folder, _alive: alive })
    }
    pub(super) fn register(&self, connection: &mut Connection, client: &str) -> Result<()> {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        forget_dead(&transaction, &self.folder)?;
        transaction.execute(
            "INSERT INTO processes (id, pid, client, started_at) VALUES (?1, ?2, ?3, ?4)",
            (&self.id, std::process::id(), client, now()),
        )?;
        Ok(transaction.commit()?)
    }
}

/// No living process has the database open. Asked where the database itself cannot tell.
pub(super) fn nobody(data: &Path) -> Result<bool> {
    let folder = run_folder(data);
    let failed = |source| StoreError::Io { path: folder.clone(), source };
    let files = match std::fs::read_dir(&folder) {
        Ok(files) => files,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(e) => return Err(failed(e)),
    };
    for file in files {
        let name = file.map_err(failed)?.file_name();
        if name.to_str().and_then(|name| name.strip_suffix(".lock")).is_some_and(|id| alive(&folder, id)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn run_folder(data: &Path) -> PathBuf {
    data.join("run")
}

fn lock_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.lock"))
}

fn alive(folder: &Path, id: &str) -> bool {
    // Only ids of our own making name files.
    if uuid::Uuid::parse_str(id).is_err() {
        return false;
    }
    match File::open(lock_path(folder, id)) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// Forgets processes that ended without saying so; their leases go with them.
fn forget_dead(transaction: &Transaction<'_>, folder: &Path) -> Result<()> {
    let ids: Vec<String> =
        transaction.prepare("SELECT id FROM processes")?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for id in ids.iter().filter(|id| !alive(folder, id)) {
        transaction.execute("DELETE FROM processes WHERE id = ?1", [id])?;
        if uuid::Uuid::parse_str(id).is_ok() {
            // A leftover file harms nobody.
            let _ = std::fs::remove_file(lock_path(folder, id));
        }
    }
    Ok(())
}

impl Store {
    /// Takes a conversation for changing, unless a living process has it.
    pub async fn take(&self, conversation: &str) -> Result<Lease> {
        let (conversation, ours, folder) = (conversation.to_owned(), self.process.id.clone(), self.process.folder.clone());
        self.write(move |t| {
            let mut statement = t.prepare_cached(
                "SELECT processes.id, client, pid FROM leases JOIN processes ON processes.id = process WHERE conversation = ?1",
            )?;
            let owner = optional(statement.query_row(
                [&conversation],
                |row| Ok((row.get::<_, String>(0)?, Holder { client: row.get(1)?, pid: row.get(2)? })),
            ))?;
            match owner {
                Some((id, _)) if id == ours => return Ok(Lease::Ours),
                Some((id, holder)) if alive(&folder, &id) => return Ok(Lease::Held(holder)),
                Some(_) | None => {}
            }
            t.execute(
                "INSERT INTO leases (conversation, process) VALUES (?1, ?2) ON CONFLICT (conversation) DO UPDATE SET process = ?2",
                (&conversation, &ours),
            )?;
            Ok(Lease::Taken)
        })
        .await
    }

    /// Gives one conversation back.
    pub async fn give_back(&self, conversation: &str) -> Result<()> {
        let (conversation, ours) = (conversation.to_owned(), self.process.id.clone());
        self.write(move |t| {
            t.execute("DELETE FROM leases WHERE conversation = ?1 AND process = ?2", (conversation, ours))?;
            Ok(())
        })
        .await
    }

    /// Conversations that living processes other than this one have.
    pub async fn held_by_others(&self) -> Result<Vec<(String, Holder)>> {
        let (ours, folder) = (self.process.id.clone(), self.process.folder.clone());
        self.run(move |c| {
            let mut statement = c.prepare_cached(
                "SELECT conversation, processes.id, client, pid FROM leases JOIN processes ON processes.id = process WHERE processes.id <> ?1",
            )?;
            let rows = statement
                .query_map([ours], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, Holder { client: row.get(2)?, pid: row.get(3)? }))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(rows.into_iter().filter(|(_, id, _)| alive(&folder, id)).map(|(c, _, holder)| (c, holder)).collect())
        })
        .await
    }

    /// Says goodbye: this process's leases are free at once, and what the journal holds is written back.
    pub async fn leave(&self) -> Result<()> {
        let (ours, folder) = (self.process.id.clone(), self.process.folder.clone());
        self.write(move |t| {
            t.execute("DELETE FROM processes WHERE id = ?1", [&ours])?;
            let _ = std::fs::remove_file(lock_path(&folder, &ours));
            Ok(())
        })
        .await?;
        // As far as nobody else uses it just now; they write back the rest.
        self.run(|c| Ok(c.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)).await
    }
}
