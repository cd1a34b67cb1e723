//! Small files that the window keeps in the data folder. Only their owner can read them (security row 42).

use std::fs::File;
use std::io::{Result, Write};
use std::path::Path;

/// Replaces what the file held.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = private(path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}

/// Makes the file, if need be with this text, and closes it to others: who writes into it later leaves that as it is.
pub fn prepare(path: &Path, text: &str) -> Result<()> {
    let mut file = private(path)?;
    if file.metadata()?.len() == 0 { file.write_all(text.as_bytes()) } else { Ok(()) }
}

fn private(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let file = options.mode(0o600).open(path)?;
        // It may be there since before this was so.
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}
