//! A look at what is kept, for commands that only show: no folder is made, no process registered, nothing written, and of
//! the database only what is shown is read. It needs none: where there is no database, nothing is kept.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{BUSY, ConsentRow, DATABASE, LOCK, Result, StoreError, consents, locked, no_folder, schema, settings, setup};

/// What commands that only show have a use for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub consents: BTreeMap<String, ConsentRow>,
    pub settings: BTreeMap<String, String>,
}

/// Reads what the data folder `data` keeps. Where that is damaged nothing is done about it: another process may have it open.
pub async fn look(data: &Path) -> Result<Kept> {
    let data = data.to_owned();
    tokio::task::spawn_blocking(move || look_blocking(&data, schema::MIGRATIONS)).await.map_err(|_| StoreError::Closed)?
}

pub(super) fn look_blocking(data: &Path, migrations: &[&str]) -> Result<Kept> {
    let kept = at(data, |reading, path| match schema::format(reading, path, migrations)? {
        // Nobody has written to it yet.
        0 => Ok(Kept::default()),
        // Every format since the first has these two tables, as they are now.
        1.. => Ok(Kept { consents: consents::all(reading)?, settings: settings(reading)? }),
    })?;
    Ok(kept.unwrap_or_default())
}

/// How a database fares that is not damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// There is none.
    Absent,
    Sound,
    /// Of an older version: the next start brings it forward.
    Older,
}

/// Looks at every page of what the data folder `data` keeps, as a start does, and at whether it may be written.
pub async fn examine(data: &Path) -> Result<Condition> {
    let data = data.to_owned();
    tokio::task::spawn_blocking(move || examine_blocking(&data, schema::MIGRATIONS)).await.map_err(|_| StoreError::Closed)?
}

pub(super) fn examine_blocking(data: &Path, migrations: &[&str]) -> Result<Condition> {
    let condition = at(data, |reading, path| {
        schema::check(reading)?;
        let opened = fs::OpenOptions::new().read(true).write(true).open(path);
        opened.map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
        let older = schema::format(reading, path, migrations)? < migrations.len();
        Ok(if older { Condition::Older } else { Condition::Sound })
    })?;
    Ok(condition.unwrap_or(Condition::Absent))
}

/// Reads the database in the folder `data`, if there is one. All that is read is of one moment.
fn at<T>(data: &Path, read: impl FnOnce(&Connection, &Path) -> Result<T>) -> Result<Option<T>> {
    let path = data.join(DATABASE);
    match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(_) | Err(_) => {}
    }
    no_folder(&path)?;
    // Nobody migrates it or sets it aside meanwhile.
    let _lock = locked(&data.join(LOCK), BUSY)?;
    let found = (|| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, flags)?;
        setup(&connection)?;
        read(&*connection.transaction()?, &path)
    })();
    match found {
        Err(StoreError::Sqlite(e)) if schema::damaged(&e) => Err(StoreError::Damaged { path, why: e.to_string() }),
        found => found.map(Some),
    }
}
