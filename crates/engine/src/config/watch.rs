//! Tells when a level's file says something new (B16): saved in place, replaced by rename, made with its folder, gone,
//! or reached through a link whose target changed. Native watching of the few folders that matter, with a slow look of
//! its own where the system cannot watch.
//!
//! Only folders of this computer are watched; what stands in a file is read through the level's machine alone. What a
//! change means is the caller's to find out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::{Level, Scope, digest, json, list};
use crate::machine::FileRead;

/// Events that follow one another closer than this are one change.
const QUIET: Duration = Duration::from_millis(150);
/// A stream of events without such a pause is looked at after this long anyway.
const BUSY: Duration = Duration::from_millis(500);
/// A file that just became unreadable, or went away, must stay so for this long before it is told: it may be half saved.
const SETTLE: Duration = Duration::from_millis(600);
/// A file that is being changed all the time is told as it is after this long.
const LATEST: Duration = Duration::from_millis(1200);
/// How often a file that has not settled is looked at.
const AGAIN: Duration = Duration::from_millis(100);
/// How often everything is looked at while some folder cannot be watched.
const POLL: Duration = Duration::from_secs(1);
/// Links followed one after another.
const LINKS: usize = 40;

/// Watches levels until it is dropped.
pub struct Watcher {
    commands: mpsc::UnboundedSender<Command>,
    task: tokio::task::JoinHandle<()>,
}

struct Command {
    levels: Vec<Level>,
    armed: oneshot::Sender<()>,
}

impl Watcher {
    /// `on_change` is called, one call at a time, for each level whose file changed; it must not block. Needs a runtime.
    pub fn new(on_change: impl Fn(&Level) + Send + Sync + 'static) -> Self {
        Self::with(on_change, true)
    }
    /// `native`: whether the system is asked to watch; without, everything is looked at every [`POLL`].
    fn with(on_change: impl Fn(&Level) + Send + Sync + 'static, native: bool) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let task = tokio::spawn(run(receiver, Box::new(on_change), native));
        Self { commands, task }
    }
    /// Watches these levels and no others from now on; those that were watched before stay as they are. When it
    /// returns, every later change is told: list a level after this, not before.
    pub async fn set_levels(&self, levels: Vec<Level>) {
        let (armed, wait) = oneshot::channel();
        if self.commands.send(Command { levels, armed }).is_ok() {
            // An error means the task ended, with the runtime: nothing is left to wait for.
            let _ = wait.await;
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type OnChange = Box<dyn Fn(&Level) + Send + Sync>;

/// What a level's file said when it was last looked at.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    file: PathBuf,
    content: Content,
}

#[derive(Debug, Clone, PartialEq)]
enum Content {
    Absent,
    /// SHA-256 of the bytes, and whether they are a configuration file.
    Bytes {
        hash: String,
        readable: bool,
    },
    Other(FileRead),
}

impl Seen {
    async fn of(level: &Level) -> Self {
        let list::Found { file, read } = list::read(level).await;
        let content = match read {
            FileRead::Absent => Content::Absent,
            FileRead::Bytes(bytes) => Content::Bytes { hash: digest::sha256(&bytes), readable: json::servers(&bytes).is_ok() },
            other => Content::Other(other),
        };
        Self { file, content }
    }
    /// Whether this is no state a save passes through.
    fn is_settled(&self) -> bool {
        matches!(self.content, Content::Bytes { readable: true, .. })
    }
}

struct Tracked {
    level: Level,
    told: Seen,
    /// Something else was seen that may be half a save: what, since when it is exactly this, since when it is anything.
    pending: Option<(Seen, Instant, Instant)>,
}

fn same(a: &Level, b: &Level) -> bool {
    a.machine.id() == b.machine.id() && a.scope == b.scope
}

/// Names that occur in the paths that matter, lower-cased; written by the task, read by the system's thread.
type Names = Arc<RwLock<HashSet<String>>>;

fn lower(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

async fn run(mut commands: mpsc::UnboundedReceiver<Command>, on_change: OnChange, native: bool) {
    let names = Names::default();
    let wake = Arc::new(Notify::new());
    let mut folders = if native { Folders::new(names, wake.clone()) } else { Folders::unwatched(names) };
    let mut tracked: Vec<Tracked> = Vec::new();
    loop {
        let unsettled = tracked.iter().any(|t| t.pending.is_some());
        let next = match (unsettled, folders.unwatched) {
            (true, _) => Some(AGAIN),
            (false, true) => Some(POLL),
            (false, false) => None,
        };
        tokio::select! {
            command = commands.recv() => {
                let Some(Command { levels, armed }) = command else { return };
                let mut before = std::mem::take(&mut tracked);
                folders.arm(&levels).await;
                for level in levels {
                    match before.iter().position(|t| same(&t.level, &level)) {
                        Some(index) => tracked.push(before.swap_remove(index)),
                        None if tracked.iter().any(|t| same(&t.level, &level)) => {}
                        None => {
                            let told = Seen::of(&level).await;
                            tracked.push(Tracked { level, told, pending: None });
                        }
                    }
                }
                // Folders that came between the two are watched now, and what came with them is read below.
                look(&mut tracked, &mut folders, &on_change).await;
                let _ = armed.send(());
            }
            () = wake.notified() => {
                let busy = Instant::now() + BUSY;
                while Instant::now() < busy && tokio::time::timeout(QUIET, wake.notified()).await.is_ok() {}
                look(&mut tracked, &mut folders, &on_change).await;
            }
            () = tokio::time::sleep(next.unwrap_or_default()), if next.is_some() => {
                look(&mut tracked, &mut folders, &on_change).await;
            }
        }
    }
}

/// Reads every file and tells what is new and settled.
async fn look(tracked: &mut [Tracked], folders: &mut Folders, on_change: &OnChange) {
    let levels: Vec<Level> = tracked.iter().map(|t| t.level.clone()).collect();
    // Watched first, read then: what comes after the reading raises an event.
    folders.arm(&levels).await;
    for it in tracked {
        let seen = Seen::of(&it.level).await;
        if seen == it.told {
            it.pending = None;
            continue;
        }
        let now = Instant::now();
        let tell = seen.is_settled()
            || match it.pending.take() {
                Some((before, since, first)) => {
                    let since = if before == seen { since } else { now };
                    let long_enough = now - since >= SETTLE || now - first >= LATEST;
                    it.pending = (!long_enough).then(|| (seen.clone(), since, first));
                    long_enough
                }
                None => {
                    it.pending = Some((seen.clone(), now, now));
                    false
                }
            };
        if tell {
            it.pending = None;
            it.told = seen;
            on_change(&it.level);
        }
    }
}

/// The folders that are watched, none of them with what is below it.
struct Folders {
    /// Nothing when the system offers no watching at all.
    native: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, Identity>,
    names: Names,
    /// What the system said went away or was renamed; a watch of such a folder is a watch of nothing, even when another
    /// one stands at its path by now.
    gone: Gone,
    /// Some folder could not be watched.
    unwatched: bool,
}

type Gone = Arc<Mutex<HashSet<PathBuf>>>;

/// Tells a folder from another one at the same path.
type Identity = (u64, u64);

impl Folders {
    fn new(names: Names, wake: Arc<Notify>) -> Self {
        let of_interest = names.clone();
        let gone = Gone::default();
        let went = gone.clone();
        let native = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let matters = match event {
                Err(_) => true,
                Ok(event) => {
                    let matters = match event.kind {
                        EventKind::Access(AccessKind::Close(AccessMode::Write)) => matters(&event, &of_interest),
                        // Reading is no change; our own reading would never end.
                        EventKind::Access(_) => false,
                        _ => event.need_rescan() || matters(&event, &of_interest),
                    };
                    if matters && matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))) {
                        went.lock().unwrap_or_else(PoisonError::into_inner).extend(event.paths);
                    }
                    matters
                }
            };
            if matters {
                wake.notify_one();
            }
        });
        if let Err(e) = &native {
            tracing::warn!(error = %e, "files cannot be watched; they are looked at every second instead");
        }
        match native {
            Ok(native) => Self { native: Some(native), watched: BTreeMap::new(), names, gone, unwatched: false },
            Err(_) => Self::unwatched(names),
        }
    }
    fn unwatched(names: Names) -> Self {
        Self { native: None, watched: BTreeMap::new(), names, gone: Gone::default(), unwatched: true }
    }

    /// Watches the folders these levels need as things stand now, and no others.
    async fn arm(&mut self, levels: &[Level]) {
        // A folder may come into being while its parent is being watched: once more until nothing changes.
        for _ in 0..4 {
            let places: Vec<(PathBuf, Scope, PathBuf, PathBuf)> =
                levels.iter().map(|l| (l.root().to_path_buf(), l.scope.clone(), l.new_file(), l.legacy_file())).collect();
            let Ok(wanted) = tokio::task::spawn_blocking(move || {
                let mut wanted = Wanted::default();
                for (root, scope, new_file, legacy_file) in &places {
                    wanted.level(root, scope, [new_file, legacy_file]);
                }
                wanted
            })
            .await
            else {
                return;
            };
            *self.names.write().unwrap_or_else(PoisonError::into_inner) = wanted.names;
            if !self.watch(wanted.folders) {
                return;
            }
        }
    }

    /// Answers whether something was not watched before.
    fn watch(&mut self, wanted: BTreeMap<PathBuf, Identity>) -> bool {
        let Some(native) = &mut self.native else { return false };
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        let stale = |(path, id): &(&PathBuf, &Identity)| wanted.get(*path) != Some(id) || gone.contains(*path);
        let stale: Vec<PathBuf> = self.watched.iter().filter(stale).map(|(path, _)| path.clone()).collect();
        for path in stale {
            // It may be gone already, and its watch with it.
            let _ = native.unwatch(&path);
            self.watched.remove(&path);
        }
        let mut added = false;
        self.unwatched = false;
        for (path, identity) in wanted {
            if self.watched.contains_key(&path) {
                continue;
            }
            match native.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(path, identity);
                    added = true;
                }
                Err(e) => {
                    tracing::debug!(folder = %path.display(), error = %e, "a folder cannot be watched");
                    self.unwatched = true;
                }
            }
        }
        added
    }
}

fn matters(event: &notify::Event, names: &Names) -> bool {
    let names = names.read().unwrap_or_else(PoisonError::into_inner);
    // Compared by last name only: systems differ in how they spell the folders above (links, case).
    event.paths.is_empty() || event.paths.iter().any(|path| path.file_name().is_none_or(|name| names.contains(&lower(name))))
}

/// What has to be watched for some levels.
#[derive(Default)]
struct Wanted {
    folders: BTreeMap<PathBuf, Identity>,
    names: HashSet<String>,
}

impl Wanted {
    fn level(&mut self, root: &Path, scope: &Scope, files: [&Path; 2]) {
        // The root's own coming and going is seen from above it.
        self.existing(root);
        let real_root = match scope {
            Scope::Global => None,
            Scope::Workspace(_) => fs::canonicalize(root).ok(),
        };
        for file in files {
            let folder = file.parent().unwrap_or(root);
            self.folder(folder);
            for path in [folder, file] {
                self.name(path);
                self.links(path, scope, real_root.as_deref());
            }
        }
    }

    /// The folder at `path` and the one above it, or the nearest above that exists.
    fn existing(&mut self, path: &Path) {
        self.name(path);
        if self.folder(path) {
            if let Some(parent) = path.parent() {
                self.folder(parent);
            }
            return;
        }
        for above in path.ancestors().skip(1) {
            self.name(above);
            if self.folder(above) {
                return;
            }
        }
    }

    /// Everything a link at `path` leads through; not out of a workspace, where it is not followed either.
    fn links(&mut self, path: &Path, scope: &Scope, real_root: Option<&Path>) {
        let mut path = path.to_path_buf();
        let mut seen = BTreeSet::new();
        while let Ok(target) = fs::read_link(&path) {
            let Some(parent) = path.parent() else { return };
            path = parent.join(target);
            let real_parent = path.parent().and_then(|p| fs::canonicalize(p).ok());
            let inside = match scope {
                Scope::Global => true,
                Scope::Workspace(_) => real_parent.as_deref().zip(real_root).is_some_and(|(p, root)| p.starts_with(root)),
            };
            if !inside || seen.len() >= LINKS || !seen.insert(path.clone()) {
                return;
            }
            self.name(&path);
            match real_parent {
                Some(parent) => {
                    self.folder(&parent);
                }
                None => self.existing(path.parent().unwrap_or(&path)),
            }
        }
    }

    fn name(&mut self, path: &Path) {
        if let Some(name) = path.file_name() {
            self.names.insert(lower(name));
        }
    }

    fn folder(&mut self, path: &Path) -> bool {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                self.folders.insert(path.to_path_buf(), identity(&meta));
                true
            }
            _ => false,
        }
    }
}

#[cfg(unix)]
fn identity(meta: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino())
}

#[cfg(not(unix))]
fn identity(meta: &fs::Metadata) -> Identity {
    let created = meta.created().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    (created.as_secs(), created.subsec_nanos().into())
}

#[cfg(test)]
mod tests;
