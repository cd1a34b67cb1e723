//! A look at what is kept, for commands that only show: no folder is made, no process registered, nothing written, and of
//! the database only what is shown is read. It needs none: where there is no database, nothing is kept.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{
    BUSY, ConsentRow, DATABASE, LOCK, Opened, Result, StoreError, consents, locked, private_dir, schema, settings, setup,
};

/// What commands that only show have a use for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub consents: BTreeMap<String, ConsentRow>,
    pub settings: BTreeMap<String, String>,
}

/// Reads what the data folder `data` keeps. A database of an older format is brought forward first and a damaged one set
/// aside, as [`super::Store::open`] does; damage in what is not read is left for that.
pub async fn look(data: &Path) -> Result<(Kept, Opened)> {
    let data = data.to_owned();
    tokio::task::spawn_blocking(move || look_blocking(&data, schema::MIGRATIONS)).await.map_err(|_| StoreError::Closed)?
}

pub(super) fn look_blocking(data: &Path, migrations: &[&str]) -> Result<(Kept, Opened)> {
    let path = data.join(DATABASE);
    match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Kept::default(), Opened::default())),
        Ok(_) | Err(_) => {}
    }
    // Nobody migrates it or sets it aside meanwhile.
    let _lock = locked(&data.join(LOCK), BUSY)?;
    match current(&path, migrations) {
        Ok(Some(kept)) => return Ok((kept, Opened::default())),
        Ok(None) => {}
        Err(StoreError::Sqlite(e)) if schema::damaged(&e) => {}
        Err(e) => return Err(e),
    }
    private_dir(data)?;
    let (connection, opened) = schema::open(&path, migrations)?;
    Ok((kept(&connection)?, opened))
}

/// What a database of the current format keeps; nothing if it has another.
fn current(path: &Path, migrations: &[&str]) -> Result<Option<Kept>> {
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    setup(&connection)?;
    // One transaction: all of it is of one moment.
    let reading = connection.transaction()?;
    let found: u32 = reading.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if usize::try_from(found) != Ok(migrations.len()) {
        return Ok(None);
    }
    kept(&reading).map(Some)
}

fn kept(connection: &Connection) -> Result<Kept> {
    Ok(Kept { consents: consents::all(connection)?, settings: settings(connection)? })
}
