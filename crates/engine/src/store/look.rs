//! A look at what is kept, for commands that only show: no folder is made, no process registered, nothing written, and of
//! the database only what is shown is read. It needs none: where there is no database, nothing is kept.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{BUSY, ConsentRow, DATABASE, LOCK, Result, StoreError, consents, locked, schema, settings, setup};

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
    let path = data.join(DATABASE);
    match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
        Ok(_) | Err(_) => {}
    }
    // Nobody migrates it or sets it aside meanwhile.
    let _lock = locked(&data.join(LOCK), BUSY)?;
    match read(&path, migrations) {
        Err(StoreError::Sqlite(e)) if schema::damaged(&e) => Err(StoreError::Damaged { path, why: e.to_string() }),
        read => read,
    }
}

fn read(path: &Path, migrations: &[&str]) -> Result<Kept> {
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    setup(&connection)?;
    // One transaction: all of it is of one moment.
    let reading = connection.transaction()?;
    match schema::format(&reading, path, migrations)? {
        // Nobody has written to it yet.
        0 => Ok(Kept::default()),
        // Every format since the first has these two tables, as they are now.
        1.. => Ok(Kept { consents: consents::all(&reading)?, settings: settings(&reading)? }),
    }
}
