use super::*;
use crate::config::{FileState, list};
use crate::machine::{Machine, Surroundings};

const GOOD: &str = r#"{"mcpServers":{"a":{"command":"x"}}}"#;
const OTHER: &str = r#"{"mcpServers":{"b":{"command":"y"}}}"#;

struct Case {
    home: tempfile::TempDir,
    watcher: Watcher,
    told: mpsc::UnboundedReceiver<(Scope, Instant)>,
}

impl Case {
    fn new() -> Self {
        Self::with(true)
    }
    fn with(native: bool) -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let tell = move |level: &Level| {
            let _ = tell.send((level.scope.clone(), Instant::now()));
        };
        let watcher = Watcher::with(tell, native);
        let mut home = tempfile::tempdir().unwrap();
        // Until the end, which a test that fails does not reach.
        home.disable_cleanup(cfg!(windows));
        Self { home, watcher, told }
    }
    fn level(&self, scope: Scope) -> Level {
        let home = self.home.path();
        let surroundings =
            Surroundings { home: home.into(), data: home.join("data"), environment: Default::default(), supervisor: vec![] };
        Level { machine: Machine::local(surroundings), scope }
    }
    fn workspace(&self, name: &str) -> Level {
        self.level(Scope::Workspace(self.home.path().join(name)))
    }
    /// The next change that is told, and how long after the call it came; B16 allows 2 s. Not under Wine, whose own slowness
    /// may be more.
    async fn next(&mut self) -> Scope {
        let start = Instant::now();
        let (scope, at) = tokio::time::timeout(Duration::from_secs(10), self.told.recv()).await.unwrap().unwrap();
        assert!(cfg!(windows) || at.saturating_duration_since(start) < Duration::from_secs(2), "told after {:?}", at - start);
        scope
    }
    /// Nothing was told that was not asked for: another change comes next.
    async fn only(&mut self, level: &Level, text: &str) {
        assert_eq!(self.next().await, level.scope);
        let marker = self.workspace("marker");
        put(&marker.new_file(), "1");
        let mut levels = vec![marker.clone(), level.clone()];
        self.watcher.set_levels(levels.clone()).await;
        put(&marker.new_file(), GOOD);
        assert_eq!(self.next().await, marker.scope);
        levels.remove(0);
        self.watcher.set_levels(levels).await;
        fs::remove_dir_all(marker.root()).unwrap();
        assert_eq!(fs::read_to_string(list(level).await.file).unwrap(), text);
    }
    /// Lets go of what is watched before the home folder is removed: Windows watches folders by having them open, and
    /// Wine keeps an open one, which the standard library would go on removing for ever.
    async fn end(mut self) {
        self.watcher.set_levels(vec![]).await;
        self.home.disable_cleanup(false);
    }
}

fn put(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}
/// As many editors save: a new file beside it, then renamed over it.
fn replace(file: &Path, text: &str) {
    let beside = file.with_file_name(".mcp.json.swp~");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, file).unwrap();
}

#[tokio::test]
async fn b16_saved_in_place_replaced_and_removed() {
    let mut case = Case::new();
    let level = case.level(Scope::Global);
    put(&level.new_file(), GOOD);
    case.watcher.set_levels(vec![level.clone()]).await;
    fs::write(level.new_file(), OTHER).unwrap();
    case.only(&level, OTHER).await;
    replace(&level.new_file(), GOOD);
    case.only(&level, GOOD).await;
    // The watch survives the exchange.
    replace(&level.new_file(), OTHER);
    case.only(&level, OTHER).await;
    fs::write(level.new_file(), GOOD).unwrap();
    case.only(&level, GOOD).await;
    fs::remove_file(level.new_file()).unwrap();
    assert_eq!(case.next().await, Scope::Global);
    assert_eq!(list(&level).await.state, FileState::Absent);
    case.end().await;
}

#[tokio::test]
async fn b16_folders_that_come_later() {
    let mut case = Case::new();
    let level = case.workspace("not/yet");
    case.watcher.set_levels(vec![level.clone()]).await;
    put(&level.legacy_file(), GOOD);
    case.only(&level, GOOD).await;
    put(&level.new_file(), OTHER);
    case.only(&level, OTHER).await;
    case.end().await;
}

/// Not on Windows, which renames no folder while one inside is open (Wine does not remove one either), as it is to be
/// watched.
#[cfg(unix)]
#[tokio::test]
async fn b16_a_workspace_that_comes_back_as_another_folder() {
    let mut case = Case::new();
    let level = case.workspace("w");
    put(&level.new_file(), OTHER);
    case.watcher.set_levels(vec![level.clone()]).await;
    fs::remove_dir_all(level.root()).unwrap();
    assert_eq!(case.next().await, level.scope);
    put(&level.new_file(), GOOD);
    case.only(&level, GOOD).await;
    let away = case.home.path().join("away");
    fs::rename(level.root(), &away).unwrap();
    assert_eq!(case.next().await, level.scope);
    put(&level.new_file(), OTHER);
    case.only(&level, OTHER).await;
    fs::write(level.new_file(), GOOD).unwrap();
    case.only(&level, GOOD).await;
    case.end().await;
}

/// A save that takes its time is told once, when it is whole; a broken file is told too, but not at once.
#[tokio::test]
async fn b16_a_half_written_file_is_no_error() {
    let mut case = Case::new();
    let level = case.level(Scope::Global);
    put(&level.new_file(), GOOD);
    case.watcher.set_levels(vec![level.clone()]).await;
    // An editor that empties the file, writes half of it, then the rest, slower than events are gathered.
    for text in ["", &OTHER[..10]] {
        fs::write(level.new_file(), text).unwrap();
        tokio::time::sleep(QUIET * 2).await;
    }
    fs::write(level.new_file(), OTHER).unwrap();
    case.only(&level, OTHER).await;
    // One that removes it first, and writes the same again: nothing to tell.
    fs::remove_file(level.new_file()).unwrap();
    tokio::time::sleep(QUIET * 2).await;
    fs::write(level.new_file(), OTHER).unwrap();
    tokio::time::sleep(QUIET * 2).await;
    fs::write(level.new_file(), "{ broken").unwrap();
    case.only(&level, "{ broken").await;
    case.end().await;
}

#[cfg(unix)]
#[tokio::test]
async fn b16_links() {
    use std::os::unix::fs::symlink;
    let mut case = Case::new();
    let dotfiles = case.home.path().join("dotfiles");
    put(&dotfiles.join("real.json"), GOOD);
    symlink("real.json", dotfiles.join("middle.json")).unwrap();
    let level = case.level(Scope::Global);
    fs::create_dir(case.home.path().join(".mework")).unwrap();
    symlink("../dotfiles/middle.json", level.new_file()).unwrap();
    case.watcher.set_levels(vec![level.clone()]).await;
    fs::write(dotfiles.join("real.json"), OTHER).unwrap();
    case.only(&level, OTHER).await;
    replace(&dotfiles.join("real.json"), GOOD);
    case.only(&level, GOOD).await;
    // The link is pointed elsewhere, to what is watched from then on.
    put(&dotfiles.join("second.json"), OTHER);
    symlink("../dotfiles/second.json", case.home.path().join(".mework/new")).unwrap();
    fs::rename(case.home.path().join(".mework/new"), level.new_file()).unwrap();
    case.only(&level, OTHER).await;
    fs::write(dotfiles.join("second.json"), GOOD).unwrap();
    case.only(&level, GOOD).await;
    case.end().await;
}

/// A system that cannot watch (a limit reached, a network drive) is no reason to miss a save.
#[tokio::test]
async fn b16_without_native_watching() {
    let mut case = Case::with(false);
    let level = case.workspace("w");
    case.watcher.set_levels(vec![level.clone()]).await;
    put(&level.new_file(), GOOD);
    case.only(&level, GOOD).await;
    replace(&level.new_file(), OTHER);
    case.only(&level, OTHER).await;
    case.end().await;
}

#[tokio::test]
async fn levels_come_and_go_and_metadata_is_no_change() {
    let mut case = Case::new();
    let (a, b) = (case.workspace("a"), case.workspace("b"));
    for level in [&a, &b] {
        put(&level.new_file(), GOOD);
    }
    case.watcher.set_levels(vec![a.clone(), b.clone()]).await;
    case.watcher.set_levels(vec![b.clone()]).await;
    fs::write(a.new_file(), OTHER).unwrap();
    fs::write(b.new_file(), GOOD).unwrap();
    put(&b.root().join("mcp.json"), OTHER);
    fs::write(b.new_file(), OTHER).unwrap();
    case.only(&b, OTHER).await;
    case.end().await;
}
