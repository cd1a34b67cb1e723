//! A conversation: its workspaces, the levels it draws servers from, what it may start and what it may not. Derived things
//! (Dangling, whether a person agreed) are worked out here from what is on disk and what is stored; nothing here starts,
//! connects or writes.

pub mod call;
mod review;
mod servers;
pub mod shown;

use std::path::{Component, Path, PathBuf};

use crate::config::{Level, Listing, Scope, Server};
use crate::store::{ConsentRow, ConversationRow};
use crate::text;
use crate::wire::{Consent, Review};

pub use review::{changed_tools, lines_beside, proposal, view};
pub use servers::{Ticks, servers, summary};

/// A level of a conversation and its file as it was read.
#[derive(Debug, Clone)]
pub struct Placed {
    /// `global`, or the workspace's id.
    pub key: String,
    pub level: Level,
    pub listing: Listing,
}

/// The key of the global level.
pub const GLOBAL: &str = "global";

/// Whether a person agreed to what this entry would start, as it stands now (row 1, decision 1). Only the digest decides:
/// no name, no path and no key in a file can grant it (row 2).
pub fn consent(server: &Server, scope: &Scope, agreed: Option<&ConsentRow>, review: Review) -> Consent {
    match agreed {
        None => Consent::Needed,
        Some(row) if row.digest == server.digest => Consent::Given,
        Some(_) => match (review, scope) {
            (Review::Never, _) | (Review::Workspaces, Scope::Global) => Consent::Given,
            (Review::Always, _) | (Review::Workspaces, Scope::Workspace(_)) => Consent::Changed,
        },
    }
}

/// The folder a server without `cwd` starts in: a workspace's in that workspace, a global one in the conversation's first
/// workspace on this computer, else in its scratch folder, else at home (B20b).
pub fn folder(scope: &Scope, workspaces: &[PathBuf], scratch: Option<&Path>, home: &Path) -> PathBuf {
    match scope {
        Scope::Workspace(folder) => folder.clone(),
        Scope::Global => workspaces.first().map(PathBuf::as_path).or(scratch).unwrap_or(home).to_owned(),
    }
}

/// What a conversation is called: by the title a person gave it, else by its first call.
pub fn name(row: &ConversationRow) -> String {
    let first_call = row.first_call.as_deref().map(title).unwrap_or_default();
    [&row.title, &first_call].into_iter().find(|name| !name.is_empty()).map_or("New conversation", String::as_str).into()
}

/// What an untitled conversation is called after a call.
pub fn named_after(server: &str, tool: &str) -> String {
    title(&format!("{server} · {tool}"))
}

/// A title as it is kept: one line, nothing that hides, not too long. Empty: none.
pub fn title(wanted: &str) -> String {
    const TITLE_CHARS: usize = 120;
    let one_line = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
    text::display_capped(&one_line, TITLE_CHARS)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFolder {
    #[error("{0:?} is not the whole path of a folder. Write it from its root on, as in /home/me/project.")]
    NotAbsolute(String),
    #[error("This is your home folder. Its servers are the global ones already: choose a folder below it.")]
    Home,
    #[error("The path is longer than any folder's.")]
    TooLong,
}

/// A workspace's path as a person typed it: absolute, `~` for home, without `.` and needless separators. Links are not
/// resolved: the path is part of its servers' identity, and people know it by this one.
pub fn workspace_path(typed: &str, home: &Path) -> Result<PathBuf, BadFolder> {
    const PATH_BYTES: usize = 4096;
    let typed = typed.trim();
    if typed.len() > PATH_BYTES {
        return Err(BadFolder::TooLong);
    }
    let path = match typed.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with(std::path::is_separator) => home.join(rest.trim_start_matches(std::path::is_separator)),
        Some(_) | None => PathBuf::from(typed),
    };
    let shown = || text::display_capped(typed, 200);
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) || typed.contains('\0') {
        return Err(BadFolder::NotAbsolute(shown()));
    }
    // Putting the parts together again drops `.`, doubled and trailing separators.
    let path: PathBuf = path.components().collect();
    if path == home { Err(BadFolder::Home) } else { Ok(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_paths_are_absolute_and_never_the_home_folder() {
        // `~R` is what an absolute path begins with here.
        let here = |path: &str| path.replace("~R", if cfg!(windows) { "C:" } else { "" });
        let home = PathBuf::from(here("~R/home/me"));
        let path = |typed: &str| workspace_path(&here(typed), &home);
        assert_eq!(path(" ~R/home/me//a/./b/ "), Ok(home.join("a").join("b")));
        assert_eq!(path("~/a"), Ok(home.join("a")));
        assert_eq!(path("~"), Err(BadFolder::Home));
        assert_eq!(path("~R/home/me/"), Err(BadFolder::Home));
        for wrong in ["", "a", "./a", "~other/a", "~R/a/../b", "~R/a\0b"] {
            assert!(matches!(path(wrong), Err(BadFolder::NotAbsolute(_))), "{wrong:?}");
        }
        assert_eq!(path(&format!("~R/{}", "a".repeat(5000))), Err(BadFolder::TooLong));
    }

    #[test]
    fn titles_are_one_line() {
        assert_eq!(title("  a\n b\t"), "a b");
        assert_eq!(title(" "), "");
        assert_eq!(title("a\u{202e}b"), "a⟨U+202E⟩b");
    }

    #[test]
    fn b20b_where_a_server_without_cwd_starts() {
        let home = Path::new("/home/me");
        let (a, b) = (PathBuf::from("/a"), PathBuf::from("/b"));
        let own = Scope::Workspace(b.clone());
        assert_eq!(folder(&own, &[a.clone(), b.clone()], None, home), b);
        assert_eq!(folder(&Scope::Global, &[a.clone(), b], None, home), a);
        assert_eq!(folder(&Scope::Global, &[], Some(Path::new("/scratch")), home), Path::new("/scratch"));
        assert_eq!(folder(&Scope::Global, &[], None, home), home);
    }
}
