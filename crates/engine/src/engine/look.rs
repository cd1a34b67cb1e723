//! What a command that only shows needs: the servers that are declared, and what a person agreed to. No engine is opened for
//! it, because that takes part in the data folder: a process is registered, leftovers are swept, files are watched.

use std::path::PathBuf;

use super::conversations::{REVIEW, settings};
use super::servers::{levels, scope_of};
use crate::config::{self, Level, Listing, Server};
use crate::conversation;
use crate::error::Result;
use crate::machine::{Machine, Surroundings};
use crate::store::{self, Kept, StoreError};
use crate::wire::{Consent, ConsentView, Review};

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
                     asks first. When no Mework has it open, the next one that starts, the window or `mework serve`, sets it aside \
                     and begins a new one.",
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
