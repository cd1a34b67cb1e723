//! What this program hands to the engine of the real world. The engine reads none of it itself.

use std::path::PathBuf;
use std::sync::Arc;

use mework_engine::engine::{Engine, Host};
use mework_engine::error::{Error, Result};
use mework_engine::machine::Surroundings;
use mework_engine::machine::environment::Environment;

/// A terminal or a browser's server: no file manager and no folder picker, but the sample server is at hand.
struct Terminal;

impl Host for Terminal {
    fn mework_program(&self) -> Option<PathBuf> {
        std::env::current_exe().ok()
    }
}

/// A terminal's environment is the person's own already; no login shell is asked (B47).
pub fn surroundings() -> Result<Surroundings> {
    Surroundings::of_process(Environment::of_process()).map_err(|e| Error::failed(e.to_string()))
}

/// The engine on the person's real data. `client` is who has a conversation, as another window shows it (B41).
pub async fn engine(surroundings: Surroundings, client: &str) -> Result<Arc<Engine>> {
    Engine::open(surroundings, Arc::new(Terminal), client).await
}
