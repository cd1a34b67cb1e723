//! What is kept between runs: one SQLite database in the data folder (B46). Several processes may have it open at once
//! (the window and the command line); each sees what the others wrote, and [`Store::changed_by_others`] says when to look.
//!
//! It keeps and finds rows. What they mean, who may change them and who is told is decided above.

mod consents;
mod conversations;
mod leases;
mod look;
mod schema;
mod transcript;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

pub use consents::{ChangedTool, ConsentRow, SeenTool};
pub use conversations::{ConversationRow, Counts, WorkspaceRow};
pub use leases::{Holder, Lease};
pub use look::{Condition, Kept, examine, look};
pub use transcript::{EntryRow, Recent, SentArguments};

const DATABASE: &str = "mework.db";
/// Held by the process that opens, migrates or sets aside.
const LOCK: &str = "mework.lock";

/// Another process may hold the write lock this long before a write fails.
const BUSY: Duration = Duration::from_secs(10);
/// Statements that a connection keeps parsed, more than there are.
const STATEMENTS: usize = 64;
/// Between two looks at a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "{path} was written by a newer version of Mework (its format is {found}, this version knows {known}). Start the newer version, or set MEWORK_HOME to use another folder"
    )]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("the database {path} is damaged: {why}")]
    Damaged { path: PathBuf, why: String },
    #[error(
        "the database {path} is damaged, and another Mework has it open. Quit every Mework, the window and `mework serve` too, and \
         start again: the damaged one is set aside then, and a new one begun"
    )]
    DamagedInUse { path: PathBuf },
    #[error(
        "a Mework of an older version has {path} open, and this version cannot bring it to its own format meanwhile. Quit the older \
         one, and try again"
    )]
    OlderInUse { path: PathBuf },
    #[error(
        "{path} is a folder, and the database is kept in a file of that name. Move the folder away, or set MEWORK_HOME to use another \
         home"
    )]
    Folder { path: PathBuf },
    #[error("{path} cannot be used: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "another program has held {path} for {} s. If a Mework is stopped or hangs, end it, and try again",
        BUSY.as_secs()
    )]
    Busy { path: PathBuf },
    #[error("{}", failed(.0))]
    Sqlite(#[from] rusqlite::Error),
    #[error("a row of the database cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the database is closed")]
    Closed,
}

fn failed(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => format!(
            "another program has held the database for {} s. If a Mework is stopped or hangs, or a database tool has it open, end that, \
             and try again",
            BUSY.as_secs()
        ),
        _ => format!("the database failed: {error}"),
    }
}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The database, on a thread of its own, so that no write ever holds up a server's messages. Jobs run one after another.
pub struct Store {
    jobs: mpsc::Sender<Job>,
    process: leases::Process,
}

/// What opening found that a person should know.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Opened {
    /// A damaged database was set aside here, and a new one was begun.
    pub set_aside: Option<PathBuf>,
    /// The database was brought to the current format; the old one is kept here.
    pub migrated: Option<PathBuf>,
}

impl Store {
    /// Opens the database in `data`, creating what is missing: folders 0700, files 0600 (security row 42).
    /// `client` is who this process says it is.
    pub async fn open(data: &Path, client: &str) -> Result<(Self, Opened)> {
        let (data, client) = (data.to_owned(), client.to_owned());
        tokio::task::spawn_blocking(move || Self::open_blocking(&data, &client, schema::MIGRATIONS))
            .await
            .map_err(|_| StoreError::Closed)?
    }

    fn open_blocking(data: &Path, client: &str, migrations: &[&str]) -> Result<(Self, Opened)> {
        private_dir(data)?;
        let (mut connection, opened, process) = {
            // One process at a time looks, migrates or sets aside; whoever comes next sees that this one is there.
            let _lock = locked(&data.join(LOCK), BUSY)?;
            let (connection, opened) = schema::open(&data.join(DATABASE), migrations, || leases::nobody(data))?;
            (connection, opened, leases::Process::new(data)?)
        };
        process.register(&mut connection, client)?;
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("store".into())
            .spawn(move || {
                while let Ok(job) = queue.recv() {
                    job(&mut connection);
                }
            })
            .map_err(|source| StoreError::Io { path: data.to_owned(), source })?;
        Ok((Self { jobs, process }, opened))
    }

    /// Runs `job` on the database's thread.
    async fn run<T: Send + 'static>(&self, job: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static) -> Result<T> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Whoever asked may have gone away; the job ran all the same.
            let _ = answer.send(job(connection));
        });
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs `job` when its turn comes, and waits for nothing.
    fn later(&self, job: impl FnOnce(&mut Connection) -> Result<()> + Send + 'static) {
        let job: Job = Box::new(move |connection| {
            if let Err(e) = job(connection) {
                tracing::warn!("{e}");
            }
        });
        // Closed: the app ends.
        let _ = self.jobs.send(job);
    }

    /// Runs `job` in one transaction that takes the write lock at its start: all of it happens, or nothing.
    async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |connection| {
            let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let value = job(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
        .await
    }

    /// Grows whenever another process has written; this process's own writes do not count.
    pub async fn changed_by_others(&self) -> Result<i64> {
        self.run(|c| Ok(c.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)).await
    }

    pub async fn setting(&self, key: &'static str) -> Result<Option<String>> {
        self.run(move |c| {
            optional(c.prepare_cached("SELECT value FROM settings WHERE key = ?1")?.query_row([key], |row| row.get(0)))
        })
        .await
    }
    pub async fn set_setting(&self, key: &'static str, value: String) -> Result<()> {
        self.write(move |t| {
            t.execute(
                "INSERT INTO settings (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
                (key, value),
            )?;
            Ok(())
        })
        .await
    }
}

/// Milliseconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// A new id: unique, and later ones sort after earlier ones.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

fn settings(connection: &Connection) -> Result<BTreeMap<String, String>> {
    let mut statement = connection.prepare("SELECT key, value FROM settings")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn optional<T>(found: rusqlite::Result<T>) -> Result<Option<T>> {
    match found {
        Ok(value) => Ok(Some(value)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// A word of ours (a level, an era) as it stands in a column.
fn word<T: serde::Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(word) => Ok(word),
        other => Ok(other.to_string()),
    }
}

fn meaning<T: serde::de::DeserializeOwned>(word: String) -> Result<T> {
    Ok(serde_json::from_value(serde_json::Value::String(word))?)
}

/// Makes a folder only its owner can look into; an existing one is closed to others too.
pub fn private_dir(path: &Path) -> Result<()> {
    let failed = |source| StoreError::Io { path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Holds the lock on a file, once others have let go of it.
fn locked(path: &Path, patience: Duration) -> Result<fs::File> {
    let lock = private_file(path)?;
    let begun = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            // The system's own wait has no limit, and whoever holds it may be stopped.
            Err(fs::TryLockError::WouldBlock) if begun.elapsed() < patience => std::thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::WouldBlock) => return Err(StoreError::Busy { path: path.to_owned() }),
            Err(fs::TryLockError::Error(source)) => return Err(StoreError::Io { path: path.to_owned(), source }),
        }
    }
}

/// Opens, or makes, a file only its owner can read.
fn private_file(path: &Path) -> Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })
}

/// What SQLite has no words for: a folder in the file's place.
fn no_folder(path: &Path) -> Result<()> {
    if path.is_dir() { Err(StoreError::Folder { path: path.to_owned() }) } else { Ok(()) }
}

/// One connection, set up the same way everywhere. Its `-wal` and `-shm` files take the database's own mode bits.
fn connect(path: &Path) -> Result<Connection> {
    no_folder(path)?;
    private_file(path)?;
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    setup(&connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// What holds for readers and writers.
fn setup(connection: &Connection) -> Result<()> {
    connection.busy_timeout(BUSY)?;
    // Those that every call repeats are parsed once.
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "trusted_schema", false)?;
    // The last one to close would write the journal back and wait for the disk, also at the end of a command that only
    // read. Nothing is lost: the journal is read by whoever opens next, and [`Store::leave`] writes it back.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}

#[cfg(test)]
mod tests;
