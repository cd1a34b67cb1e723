//! Reading and replacing small files on this computer: bounded, never hanging on what is no file, never led out of a
//! folder by a link (B2, B17, row 27). Everything here blocks; [`super::local`] calls it off the async threads.
//!
//! What the bytes mean is not known here.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{FileRead, WriteError};

/// Links followed one after another before the chain counts as a loop, as many as Linux follows.
const LINKS: usize = 40;

/// Where a path really leads.
struct Place {
    /// Absolute, no links in it; the last part may not exist.
    path: PathBuf,
    /// The folders that would have to be made first, outermost first.
    missing: Vec<PathBuf>,
}

enum PlaceError {
    /// It leads out of the folder it must stay in, to this path.
    Outside(PathBuf),
    Io(io::Error),
}

impl From<io::Error> for PlaceError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// Follows links at `path` and above it, whether or not its end exists. A link to something that is not there counts
/// where it points, so that nothing is ever created behind it unseen.
fn place(path: &Path, within: Option<&Path>) -> Result<Place, PlaceError> {
    let mut path = path.to_path_buf();
    let mut links = 0;
    loop {
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => {
                links += 1;
                if links > LINKS {
                    return Err(io::Error::other("too many links, one after another").into());
                }
                let target = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(target);
            }
            Ok(_) => break,
            Err(e) if e.kind() == io::ErrorKind::NotFound => break,
            Err(e) => return Err(e.into()),
        }
    }
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not the path of a file"))?;
    let mut missing = Vec::new();
    let mut folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut folder = loop {
        match fs::canonicalize(&folder) {
            Ok(real) => break real,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                // A link whose target is gone: making folders would go through it.
                if let Ok(meta) = fs::symlink_metadata(&folder)
                    && meta.is_symlink()
                {
                    let target = folder.parent().unwrap_or(Path::new("")).join(fs::read_link(&folder)?);
                    return Err(match within {
                        Some(_) => PlaceError::Outside(target),
                        None => {
                            io::Error::new(io::ErrorKind::NotFound, "a folder above it is a link to something missing").into()
                        }
                    });
                }
                let (Some(last), Some(parent)) = (folder.file_name(), folder.parent()) else {
                    return Err(e.into());
                };
                missing.push(last.to_os_string());
                folder = parent.to_path_buf();
            }
            Err(e) => return Err(e.into()),
        }
    };
    let mut make = Vec::new();
    for part in missing.into_iter().rev() {
        folder.push(part);
        make.push(folder.clone());
    }
    let path = folder.join(name);
    if let Some(within) = within
        && !path.starts_with(fs::canonicalize(within)?)
    {
        return Err(PlaceError::Outside(path));
    }
    Ok(Place { path, missing: make })
}

/// Opens for reading without ever waiting for a writer at the other end of a FIFO, and without following a last link.
fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
    }
    options.open(path)
}

/// What is at a place that has no links left in it.
enum Content {
    Absent,
    NotRegular,
    TooLarge,
    Bytes(Vec<u8>, Metadata),
}

fn content(path: &Path, limit: usize) -> io::Result<Content> {
    // Looked at before it is opened, because opening alone can do things to a device; and again after, because it
    // may have been exchanged in between.
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => return Ok(Content::NotRegular),
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Content::Absent),
        Err(e) => return Err(e),
    }
    let file = match open_to_read(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Content::Absent),
        Err(e) => return Err(e),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(Content::NotRegular);
    }
    // The size is only what it was: count while reading.
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(if bytes.len() > limit { Content::TooLarge } else { Content::Bytes(bytes, meta) })
}

pub(super) fn read(path: &Path, limit: usize, within: Option<&Path>) -> FileRead {
    let failed = |e: io::Error| {
        if e.kind() == io::ErrorKind::NotFound { FileRead::Absent } else { FileRead::Failed(e.to_string()) }
    };
    let place = match place(path, within) {
        Ok(place) => place,
        Err(PlaceError::Outside(target)) => return FileRead::LeadsOutside(target),
        Err(PlaceError::Io(e)) => return failed(e),
    };
    match content(&place.path, limit) {
        Ok(Content::Absent) => FileRead::Absent,
        Ok(Content::NotRegular) => FileRead::NotRegular,
        Ok(Content::TooLarge) => FileRead::TooLarge,
        Ok(Content::Bytes(bytes, _)) => FileRead::Bytes(bytes),
        Err(e) => failed(e),
    }
}

/// How private a file that did not exist before is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFile {
    /// As any file a person makes (their umask decides): a workspace's, which may be shared and committed.
    Shared,
    /// 0600 in folders of 0700: the person's own, under their home folder; it often holds tokens.
    Private,
}

pub(super) fn write(
    path: &Path,
    expected: Option<&[u8]>,
    new: &[u8],
    within: Option<&Path>,
    new_file: NewFile,
) -> Result<(), WriteError> {
    let io = |source: io::Error| WriteError::Io { path: path.to_path_buf(), source };
    let place = || {
        place(path, within).map_err(|e| match e {
            PlaceError::Outside(_) => {
                WriteError::LeadsOutside { path: path.to_path_buf(), within: within.map(Path::to_path_buf).unwrap_or_default() }
            }
            PlaceError::Io(e) => io(e),
        })
    };
    let first = place()?;
    unchanged(path, &first.path, expected)?;
    make_missing(&first, new_file).map_err(io)?;
    // Again, now that the folders exist: from here on nothing is created, and a link that came meanwhile is seen.
    let real = place()?.path;
    let folder = real.parent().unwrap_or(Path::new("/")).to_path_buf();

    let mut name = std::ffi::OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(".");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(match new_file {
            NewFile::Shared => 0o666,
            NewFile::Private => 0o600,
        });
    }
    // Opened here, because the crate would put the temporary file's name into the system's words.
    let mut temp =
        tempfile::Builder::new().prefix(&name).suffix(".tmp").make_in(&folder, |path| options.open(path)).map_err(io)?;
    // Past the wrapper, for the same reason.
    temp.as_file_mut().write_all(new).map_err(io)?;
    temp.as_file().sync_all().map_err(io)?;
    // The last look before the exchange: what a person saw is what is replaced.
    let _turn = turn(&folder);
    match unchanged(path, &real, expected)? {
        Some(old) => {
            keep_mode_and_owner(temp.as_file(), &old).map_err(io)?;
            // Not the crate's exchange: on Windows it fails when anybody has the old file open, this one only when they
            // do not allow it.
            fs::rename(temp.path(), &real).map_err(io)?;
            temp.disable_cleanup(true);
        }
        None => {
            temp.persist_noclobber(&real).map_err(|e| match e.error.kind() {
                io::ErrorKind::AlreadyExists => WriteError::Changed { path: path.to_path_buf() },
                _ => io(e.error),
            })?;
        }
    }
    // The name's change is in the folder, so that is what must reach the disk. The exchange itself is done: a file
    // system that cannot flush a folder is no reason to report that the file is as it was.
    #[cfg(unix)]
    if let Err(e) = File::open(&folder).and_then(|f| f.sync_all()) {
        tracing::debug!(folder = %folder.display(), error = %e, "the folder could not be flushed");
    }
    Ok(())
}

/// How long another process may hold a folder; whoever holds it longer does something else with it.
const TURN: Duration = Duration::from_secs(5);

/// Who exchanges a file is alone with its folder from the last look at it on, in this process and, where a folder can be
/// locked, among all of ours: two who were shown the same file do not both replace it.
fn turn(folder: &Path) -> (MutexGuard<'static, ()>, Option<File>) {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(lock) = File::open(folder) else { return (one, None) };
    let until = Instant::now() + TURN;
    while matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    (one, Some(lock))
}

/// Makes the folders a file would stand in, never through a link that leads outside.
pub(super) fn make_folders(file: &Path, within: Option<&Path>, new_file: NewFile) -> Result<(), WriteError> {
    let io = |source: io::Error| WriteError::Io { path: file.to_path_buf(), source };
    let place = place(file, within).map_err(|e| match e {
        PlaceError::Outside(_) => {
            WriteError::LeadsOutside { path: file.to_path_buf(), within: within.map(Path::to_path_buf).unwrap_or_default() }
        }
        PlaceError::Io(e) => io(e),
    })?;
    make_missing(&place, new_file).map_err(io)
}

fn make_missing(place: &Place, new_file: NewFile) -> io::Result<()> {
    for folder in &place.missing {
        match make_folder(folder, new_file) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// The file as it was when it still holds `expected`; `None` when it is absent as expected.
fn unchanged(shown: &Path, real: &Path, expected: Option<&[u8]>) -> Result<Option<Metadata>, WriteError> {
    let io = |source: io::Error| WriteError::Io { path: shown.to_path_buf(), source };
    let changed = || WriteError::Changed { path: shown.to_path_buf() };
    match content(real, expected.map_or(0, <[u8]>::len)).map_err(io)? {
        Content::NotRegular => Err(io(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))),
        Content::Absent => expected.is_none().then_some(None).ok_or_else(changed),
        Content::TooLarge => Err(changed()),
        Content::Bytes(bytes, meta) => {
            if Some(bytes.as_slice()) != expected {
                return Err(changed());
            }
            // A rename would replace a read-only file without a word; its owner meant it to stay.
            if meta.permissions().readonly() {
                return Err(io(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only")));
            }
            OpenOptions::new().write(true).open(real).map_err(io)?;
            Ok(Some(meta))
        }
    }
}

#[cfg(unix)]
fn make_folder(folder: &Path, new_file: NewFile) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mode = match new_file {
        NewFile::Shared => 0o777,
        NewFile::Private => 0o700,
    };
    fs::DirBuilder::new().mode(mode).create(folder)
}

/// Below the home folder a new one is the person's alone by what it inherits.
#[cfg(not(unix))]
fn make_folder(folder: &Path, _new_file: NewFile) -> io::Result<()> {
    fs::create_dir(folder)
}

#[cfg(unix)]
fn keep_mode_and_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
        // Only root may give a file away; when it is refused the person who edits owns it, as with any editor.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))
}

#[cfg(not(unix))]
fn keep_mode_and_owner(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }
    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }
    fn fifo(path: &Path) {
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The folder's lock is another's for every writer, as it is between processes.
    #[test]
    fn of_those_who_saw_the_same_file_one_replaces_it_b17() {
        let d = folder();
        let f = d.path().join("f");
        let mut now = b"0".to_vec();
        fs::write(&f, &now).unwrap();
        for round in 0..50 {
            let start = std::sync::Barrier::new(4);
            let done: Vec<Vec<u8>> = std::thread::scope(|scope| {
                let write = |n: usize| {
                    let (f, start, now) = (&f, &start, &now);
                    scope.spawn(move || {
                        let new = format!("{round} {n}").into_bytes();
                        start.wait();
                        match write(f, Some(now), &new, None, NewFile::Shared) {
                            Ok(()) => Some(new),
                            Err(WriteError::Changed { .. }) => None,
                            Err(other) => panic!("{other}"),
                        }
                    })
                };
                let writers: Vec<_> = (0..4).map(write).collect();
                writers.into_iter().filter_map(|writer| writer.join().unwrap()).collect()
            });
            now = fs::read(&f).unwrap();
            assert_eq!(done, [now.clone()]);
        }
    }

    #[test]
    fn reads_at_most_the_limit_b2() {
        let d = folder();
        let f = d.path().join("f");
        assert_eq!(read(&f, 4, None), FileRead::Absent);
        fs::write(&f, b"1234").unwrap();
        assert_eq!(read(&f, 4, None), FileRead::Bytes(b"1234".to_vec()));
        assert_eq!(read(&f, 3, None), FileRead::TooLarge);
    }

    #[test]
    fn never_waits_for_what_is_no_file_row_27() {
        let d = folder();
        let f = d.path().join("fifo");
        fifo(&f);
        assert_eq!(read(&f, 4, None), FileRead::NotRegular);
        assert_eq!(read(d.path(), 4, None), FileRead::NotRegular);
        assert_eq!(read(Path::new("/dev/zero"), 4, None), FileRead::NotRegular);
        let link = d.path().join("link");
        symlink("/dev/zero", &link).unwrap();
        assert_eq!(read(&link, 4, None), FileRead::NotRegular);
        let socket = d.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(read(&socket, 4, None), FileRead::NotRegular);
    }

    #[test]
    fn says_why_it_cannot_read() {
        let d = folder();
        fs::write(d.path().join("f"), b"").unwrap();
        assert_eq!(read(&d.path().join("f/x"), 4, None), FileRead::Failed("Not a directory (os error 20)".into()));
        symlink("b", d.path().join("a")).unwrap();
        symlink("a", d.path().join("b")).unwrap();
        assert_eq!(read(&d.path().join("a"), 4, None), FileRead::Failed("too many links, one after another".into()));
    }

    #[test]
    fn a_link_may_stay_inside_but_not_lead_outside_row_27() {
        let d = folder();
        let real = fs::canonicalize(d.path()).unwrap();
        let inside = real.join("ws");
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("real"), b"in").unwrap();
        fs::write(real.join("secret"), b"out").unwrap();
        symlink("real", inside.join("good")).unwrap();
        symlink("../secret", inside.join("bad")).unwrap();
        symlink("../nothing", inside.join("dangling")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        let read = |name: &str, within| super::read(&inside.join(name), 9, within);
        let ws = Some(inside.as_path());
        assert_eq!(read("good", ws), FileRead::Bytes(b"in".to_vec()));
        assert_eq!(read("bad", ws), FileRead::LeadsOutside(real.join("secret")));
        assert_eq!(read("bad", None), FileRead::Bytes(b"out".to_vec()));
        assert_eq!(read("dangling", ws), FileRead::LeadsOutside(real.join("nothing")));
        assert_eq!(read("up/secret", ws), FileRead::LeadsOutside(real.join("secret")));
        // A folder whose name only begins like the workspace's is outside too.
        fs::create_dir(real.join("ws-other")).unwrap();
        fs::write(real.join("ws-other/f"), b"x").unwrap();
        symlink("../ws-other/f", inside.join("neighbour")).unwrap();
        assert_eq!(read("neighbour", ws), FileRead::LeadsOutside(real.join("ws-other/f")));
        // The workspace itself may be reached through a link.
        symlink(&inside, real.join("alias")).unwrap();
        let alias = real.join("alias");
        assert_eq!(super::read(&alias.join("good"), 9, Some(&alias)), FileRead::Bytes(b"in".to_vec()));
    }

    #[test]
    fn replaces_only_what_was_expected_and_keeps_the_mode_b17() {
        let d = folder();
        let f = d.path().join("f");
        fs::write(&f, b"old").unwrap();
        fs::set_permissions(&f, fs::Permissions::from_mode(0o640)).unwrap();
        let wrong = write(&f, Some(b"older"), b"new", None, NewFile::Shared);
        assert!(matches!(wrong, Err(WriteError::Changed { .. })), "{wrong:?}");
        let wrong = write(&f, Some(b"ol"), b"new", None, NewFile::Shared);
        assert!(matches!(wrong, Err(WriteError::Changed { .. })), "{wrong:?}");
        let wrong = write(&f, None, b"new", None, NewFile::Shared);
        assert!(matches!(wrong, Err(WriteError::Changed { .. })), "{wrong:?}");
        let wrong = write(&d.path().join("g"), Some(b""), b"new", None, NewFile::Shared);
        assert!(matches!(wrong, Err(WriteError::Changed { .. })), "{wrong:?}");
        assert_eq!(fs::read(&f).unwrap(), b"old");
        write(&f, Some(b"old"), b"new", None, NewFile::Shared).unwrap();
        assert_eq!((fs::read(&f).unwrap(), mode(&f)), (b"new".to_vec(), 0o640));
        assert_eq!(names(d.path()), ["f"]);
    }

    #[test]
    fn makes_folders_of_a_new_file_and_private_ones_at_home() {
        let d = folder();
        let f = d.path().join(".mework/mcp.json");
        write(&f, None, b"{}", Some(d.path()), NewFile::Private).unwrap();
        assert_eq!((fs::read(&f).unwrap(), mode(&f), mode(f.parent().unwrap())), (b"{}".to_vec(), 0o600, 0o700));
        let g = d.path().join("ws/.mework/mcp.json");
        write(&g, None, b"{}", Some(d.path()), NewFile::Shared).unwrap();
        let plain = d.path().join("plain");
        fs::write(&plain, b"").unwrap();
        assert_eq!(mode(&g), mode(&plain), "as any other new file of this person");
    }

    #[test]
    fn follows_a_permitted_link_to_its_target_b17() {
        let d = folder();
        let (home, dotfiles) = (d.path().join("home"), d.path().join("dotfiles"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&dotfiles).unwrap();
        fs::write(dotfiles.join("mcp.json"), b"old").unwrap();
        let link = home.join("mcp.json");
        symlink("../dotfiles/mcp.json", &link).unwrap();
        let outside = write(&link, Some(b"old"), b"new", Some(&home), NewFile::Shared);
        assert!(matches!(&outside, Err(WriteError::LeadsOutside { path, within }) if *path == link && *within == home));
        assert_eq!(fs::read(dotfiles.join("mcp.json")).unwrap(), b"old");
        write(&link, Some(b"old"), b"new", None, NewFile::Shared).unwrap();
        assert_eq!(fs::read(dotfiles.join("mcp.json")).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(&home), ["mcp.json"]);
        assert_eq!(names(&dotfiles), ["mcp.json"]);
    }

    #[test]
    fn makes_nothing_through_a_link_row_27() {
        let d = folder();
        let (ws, other) = (d.path().join("ws"), d.path().join("other"));
        fs::create_dir(&ws).unwrap();
        fs::create_dir(&other).unwrap();
        for target in ["../other", "../missing"] {
            let mework = ws.join(".mework");
            symlink(target, &mework).unwrap();
            let r = write(&mework.join("mcp.json"), None, b"{}", Some(&ws), NewFile::Shared);
            assert!(matches!(r, Err(WriteError::LeadsOutside { .. })), "{target}: {r:?}");
            fs::remove_file(&mework).unwrap();
        }
        symlink("../missing.json", ws.join("mcp.json")).unwrap();
        let r = write(&ws.join("mcp.json"), None, b"{}", Some(&ws), NewFile::Shared);
        assert!(matches!(r, Err(WriteError::LeadsOutside { .. })), "{r:?}");
        assert_eq!(names(&other), Vec::<String>::new());
        assert_eq!(names(d.path()), ["other", "ws"]);
    }

    #[test]
    fn a_read_only_file_stays_as_it_is() {
        let d = folder();
        let f = d.path().join("f");
        fs::write(&f, b"old").unwrap();
        fs::set_permissions(&f, fs::Permissions::from_mode(0o444)).unwrap();
        let r = write(&f, Some(b"old"), b"new", None, NewFile::Shared);
        assert!(matches!(&r, Err(WriteError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied), "{r:?}");
        assert_eq!(fs::read(&f).unwrap(), b"old");
        assert_eq!(names(d.path()), ["f"]);
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let d = folder();
        let f = d.path().join("fifo");
        fifo(&f);
        let r = write(&f, Some(b""), b"new", None, NewFile::Shared);
        assert!(matches!(&r, Err(WriteError::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidInput), "{r:?}");
        assert_eq!(names(d.path()), ["fifo"]);
    }
}
