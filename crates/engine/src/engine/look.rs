//! What a command that only shows needs: the servers that are declared, and what a person agreed to. No engine is opened for
//! it, because that takes part in the data folder: a process is registered, leftovers are swept, files are watched.

use std::path::{Path, PathBuf};

use super::conversations::{REVIEW, settings};
use super::servers::{levels, scope_of};
use crate::config::{self, Level, Listing, Server};
use crate::conversation;
use crate::error::Result;
use crate::machine::{Machine, Surroundings};
use crate::store::{self, Condition, Kept, StoreError};
use crate::wire::{Consent, ConsentView, Review};

/// What becomes of a damaged database.
const NEXT_START: &str = "Once no Mework has it open, the next start sets it aside under another name and begins a new one: the \
                          window, `mework serve`, or a command that tests, calls or changes a server.";

/// A database as [`Look::database`] finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// There is none yet.
    Absent,
    Sound,
    /// Sound, in the format of an older version.
    Older,
    /// In words.
    Damaged(String),
}

pub struct Look {
    machine: Machine,
    /// Workspaces of the command line, in order.
    folders: Vec<PathBuf>,
    kept: Kept,
    review: Review,
    notices: Vec<String>,
}

impl Look {
    /// Reads what is kept in the data folder. Servers are looked for in the global file and in these workspaces.
    pub async fn at(surroundings: Surroundings, folders: Vec<PathBuf>) -> Result<Self> {
        let mut notices = Vec::new();
        let kept = match store::look(&surroundings.data).await {
            Ok(kept) => kept,
            Err(StoreError::Damaged { path, why }) => {
                notices.push(format!(
                    "The database {} is damaged ({why}), so what was agreed to is not known and every server is shown as one that \
                     asks first. {NEXT_START}",
                    path.display()
                ));
                Kept::default()
            }
            Err(e) => return Err(e.into()),
        };
        let review = settings(kept.settings.get(REVIEW).map(String::as_str)).review;
        Ok(Self { machine: Machine::local(surroundings), folders, kept, review, notices })
    }

    /// The levels as they are read now.
    pub async fn listings(&self) -> Vec<(Level, Listing)> {
        listings(&self.machine, &self.folders).await
    }

    /// The same for whoever has no use for what is kept.
    pub async fn declared(machine: &Machine, folders: &[PathBuf]) -> Vec<(Level, Listing)> {
        listings(machine, folders).await
    }

    /// How the database fares, all of it looked at and nothing done about it.
    pub async fn database(data: &Path) -> Result<Database> {
        Ok(match store::examine(data).await {
            Ok(Condition::Absent) => Database::Absent,
            Ok(Condition::Sound) => Database::Sound,
            Ok(Condition::Older) => Database::Older,
            Err(StoreError::Damaged { path, why }) => {
                Database::Damaged(format!("The database {} is damaged ({why}). {NEXT_START}", path.display()))
            }
            Err(e) => return Err(e.into()),
        })
    }

    /// Whether a person agreed to what this entry would start, as it stands now.
    pub fn consent(&self, server: &Server) -> Consent {
        let agreed = self.kept.consents.get(&server.id.to_string());
        conversation::consent(server, &scope_of(&self.machine, &server.id), agreed, self.review)
    }

    /// What would start, and what changed since it was agreed to.
    pub fn view(&self, level: &Level, server: &Server) -> ConsentView {
        let folder = conversation::folder(&level.scope, &self.folders, None, self.machine.home());
        conversation::view(server, &level.scope, &folder, self.kept.consents.get(&server.id.to_string()))
    }

    /// What a person should know about the data folder.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// The global level and those of these folders, read now.
pub(super) async fn listings(machine: &Machine, folders: &[PathBuf]) -> Vec<(Level, Listing)> {
    let mut listings = Vec::new();
    for level in levels(machine, folders) {
        let listing = config::list(&level).await;
        listings.push((level, listing));
    }
    listings
}
