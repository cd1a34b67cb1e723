//! Which workspaces count, what their files and the global one declare, and which server a name means.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mework_engine::config::{FileState, Level, Listing, Scope, ServerEntry, Transport};
use mework_engine::conversation::BadFolder;
use mework_engine::engine::{Engine, Look};
use mework_engine::machine::{Machine, Surroundings};
use mework_engine::text::display_line;

use crate::args::{self, Workspaces};
use crate::output::{Stop, note};
use crate::{surroundings, terminal};

/// The levels as they were read once at the start of the command.
pub struct Declared {
    pub levels: Vec<(Level, Listing)>,
    home: PathBuf,
}

/// One declared server and the level it stands in.
#[derive(Clone, Copy)]
pub struct Choice<'d> {
    pub level: &'d Level,
    pub listing: &'d Listing,
    pub entry: &'d ServerEntry,
}

impl Declared {
    /// For a command that only shows.
    pub async fn look(workspaces: &Workspaces) -> Result<(Look, Self), Stop> {
        let surroundings = surroundings::surroundings()?;
        let home = surroundings.home.clone();
        let folders = folders(workspaces, &home)?;
        let look = Look::at(surroundings, folders).await?;
        look.notices().iter().for_each(|notice| note(notice));
        let levels = look.listings().await;
        Ok((look, Self { levels, home }))
    }

    /// For a command that has no use for what is kept.
    pub async fn read(workspaces: &Workspaces, surroundings: Surroundings) -> Result<Self, Stop> {
        let home = surroundings.home.clone();
        let folders = folders(workspaces, &home)?;
        let levels = Look::declared(&Machine::local(surroundings), &folders).await;
        Ok(Self { levels, home })
    }

    /// For a command that changes, starts or calls something; the engine is to be shut down afterwards.
    pub async fn open(workspaces: &Workspaces) -> Result<(Arc<Engine>, Self), Stop> {
        let surroundings = surroundings::surroundings()?;
        let home = surroundings.home.clone();
        let folders = folders(workspaces, &home)?;
        // Servers are named by ids, which are text, when they are started or changed.
        if home.to_str().is_none() {
            return Err(Stop::usage(format!(
                "The path of the home folder {} is not UTF-8, so its servers can only be listed. Set MEWORK_HOME to another folder.",
                display_line(&home.display().to_string())
            )));
        }
        let engine = surroundings::engine(surroundings, "the command line").await?;
        engine.notices().iter().for_each(|notice| note(notice));
        engine.bring_workspaces(folders);
        let levels = engine.listings().await;
        Ok((engine, Self { levels, home }))
    }

    /// Every server of every file, in the order of levels and files.
    pub fn all(&self) -> impl Iterator<Item = Choice<'_>> {
        self.levels
            .iter()
            .flat_map(|(level, listing)| listing.servers.values().map(move |entry| Choice { level, listing, entry }))
    }

    /// Every server that a name or an id means.
    pub fn named(&self, name: &str) -> Result<Vec<Choice<'_>>, Stop> {
        let found: Vec<_> = self.all().filter(|choice| choice.is(name)).collect();
        if found.is_empty() { Err(self.unknown(name)) } else { Ok(found) }
    }

    /// The one server that is meant: by its scope, or by asking when the name is in several files.
    pub async fn one(&self, name: &str, scope: Option<args::Scope>) -> Result<Choice<'_>, Stop> {
        if let Some(scope) = scope {
            native(scope)?;
        }
        let found: Vec<_> =
            self.named(name)?.into_iter().filter(|choice| scope.is_none_or(|scope| fits(choice.level, scope))).collect();
        match found.as_slice() {
            [] => Err(self.unknown(name)),
            [one] => Ok(*one),
            several => {
                let mut question = format!("{} is in several files:\n", display_line(name));
                for (number, choice) in several.iter().enumerate() {
                    question += &format!("  {}  {}\n", number + 1, self.tilde(&choice.listing.file));
                }
                if !terminal::is_present() {
                    question += "Choose one with --scope, with -w, or by its id (`mework mcp list -o json`).";
                    return Err(Stop::Usage(question));
                }
                let answer = terminal::ask(format!("{question}Which one? ")).await;
                answer
                    .and_then(|answer| answer.parse::<usize>().ok())
                    .and_then(|number| several.get(number.checked_sub(1)?))
                    .copied()
                    .ok_or_else(|| Stop::failed("None of them was chosen; nothing was done."))
            }
        }
    }

    fn unknown(&self, name: &str) -> Stop {
        let mut message = format!("No server \"{}\" is declared.", display_line(name));
        let mut names: Vec<&str> = self.all().map(Choice::name).collect();
        names.dedup();
        if names.is_empty() {
            message += " No file declares any; `mework mcp add` writes one.";
        } else if names.len() <= 12 {
            message += &format!(" These are: {}.", display_line(&names.join(", ")));
        } else {
            message += " `mework mcp list` shows all.";
        }
        for (_, listing) in &self.levels {
            if let FileState::Ignored { message: why } = &listing.state {
                message += &format!("\n{} is ignored: {why}", self.tilde(&listing.file));
            }
        }
        Stop::failed(message)
    }

    /// The level an entry is added to.
    pub fn level_of(&self, scope: args::Scope) -> Result<(&Level, &Listing), Stop> {
        native(scope)?;
        let mut fitting = self.levels.iter().filter(|(level, _)| fits(level, scope));
        match (fitting.next(), fitting.next()) {
            (Some((level, listing)), None) => Ok((level, listing)),
            (Some(_), Some(_)) => Err(Stop::usage("There are several workspaces. Give only the one that is meant with -w.")),
            (None, _) => Err(Stop::usage("There is no workspace here. Give its folder with -w.")),
        }
    }

    /// A path as people write it.
    pub fn tilde(&self, path: &Path) -> String {
        tilde(path, &self.home)
    }
}

pub fn tilde(path: &Path, home: &Path) -> String {
    let shown = match path.strip_prefix(home) {
        Ok(below) if !below.as_os_str().is_empty() => Path::new("~").join(below).display().to_string(),
        _ => path.display().to_string(),
    };
    display_line(&shown)
}

impl<'d> Choice<'d> {
    pub fn name(self) -> &'d str {
        &self.entry.id().name
    }
    pub fn id(self) -> String {
        self.entry.id().to_string()
    }
    fn is(self, name: &str) -> bool {
        self.name() == name || self.id() == name
    }
    pub fn scope(self) -> &'static str {
        scope_name(self.level)
    }
    pub fn transport(self) -> Option<&'static str> {
        let transport = match self.entry {
            ServerEntry::Ready(server) => Some(server.transport()),
            ServerEntry::Unavailable(unavailable) => unavailable.transport,
        };
        transport.map(|transport| match transport {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        })
    }
    pub fn summary(self) -> String {
        match self.entry {
            ServerEntry::Ready(server) => server.summary(),
            ServerEntry::Unavailable(unavailable) => unavailable.summary.clone(),
        }
    }
    pub fn description(self) -> Option<&'d str> {
        match self.entry {
            ServerEntry::Ready(server) => server.description.as_deref(),
            ServerEntry::Unavailable(unavailable) => unavailable.description.as_deref(),
        }
    }
    pub fn state(self) -> &'static str {
        match self.entry {
            ServerEntry::Ready(_) => "ready",
            ServerEntry::Unavailable(_) => "unavailable",
        }
    }
    pub fn reasons(self) -> &'d [String] {
        match self.entry {
            ServerEntry::Ready(_) => &[],
            ServerEntry::Unavailable(unavailable) => &unavailable.reasons,
        }
    }
    pub fn notes(self) -> &'d [String] {
        match self.entry {
            ServerEntry::Ready(server) => &server.notes,
            ServerEntry::Unavailable(unavailable) => &unavailable.notes,
        }
    }
}

pub fn scope_name(level: &Level) -> &'static str {
    match level.scope {
        Scope::Global => "global",
        Scope::Workspace(_) => "workspace",
    }
}

fn fits(level: &Level, scope: args::Scope) -> bool {
    match scope {
        args::Scope::Global => level.scope == Scope::Global,
        args::Scope::Workspace => level.scope != Scope::Global,
        args::Scope::Local | args::Scope::Agents | args::Scope::Project | args::Scope::User => false,
    }
}

/// The scopes of other programs' files are known, so that the answer can say what they are.
fn native(scope: args::Scope) -> Result<(), Stop> {
    match scope {
        args::Scope::Global | args::Scope::Workspace => Ok(()),
        args::Scope::Local | args::Scope::Agents | args::Scope::Project | args::Scope::User => Err(Stop::usage(
            "This version handles Mework's own files only. Use --scope global (~/.mework/mcp.json) or --scope workspace (<workspace>/.mework/mcp.json).",
        )),
    }
}

/// The workspaces of a command: those it names, else the current folder if it declares servers. The home folder is none.
fn folders(named: &Workspaces, home: &Path) -> Result<Vec<PathBuf>, Stop> {
    let real_home = dunce::canonicalize(home).ok();
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in &named.workspaces {
        let found = dunce::canonicalize(folder).ok().filter(|found| found.is_dir());
        let found = found.ok_or_else(|| {
            Stop::usage(format!("The workspace {} is not an existing folder.", display_line(&folder.display().to_string())))
        })?;
        if real_home.as_ref() == Some(&found) {
            note(&format!("{}: {}", tilde(folder, home), BadFolder::Home));
            continue;
        }
        // The path is part of its servers' ids, and those are text: two such folders would have the same.
        if found.to_str().is_none() {
            return Err(Stop::usage(format!(
                "{} cannot be a workspace, because its path is not UTF-8. Rename the folder, or choose another.",
                tilde(&found, home)
            )));
        }
        if !folders.contains(&found) {
            folders.push(found);
        }
    }
    if named.workspaces.is_empty()
        && let Ok(current) = std::env::current_dir()
        && real_home.is_some_and(|home| dunce::canonicalize(&current).is_ok_and(|current| home != current))
        && [".mework", ".naiword"].iter().any(|folder| current.join(folder).join("mcp.json").symlink_metadata().is_ok())
    {
        if current.to_str().is_some() {
            folders.push(current);
        } else {
            note("The current folder does not count as a workspace, because its path is not UTF-8. Rename the folder.");
        }
    }
    Ok(folders)
}
