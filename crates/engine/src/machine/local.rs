//! This computer.

use std::path::Path;

use super::environment::Environment;
use super::process::{Process, Program, ResolveError, SpawnError, Spec};
use super::{FileRead, Surroundings, WriteError};

#[derive(Debug)]
pub struct Local {
    surroundings: Surroundings,
}

impl Local {
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings }
    }
    pub fn home(&self) -> &Path {
        &self.surroundings.home
    }
    pub fn environment(&self) -> &Environment {
        &self.surroundings.environment
    }
    pub async fn read(&self, _path: &Path, _limit: usize, _within: Option<&Path>) -> FileRead {
        todo!()
    }
    pub async fn write(
        &self,
        _path: &Path,
        _expected: Option<&[u8]>,
        _new: &[u8],
        _within: Option<&Path>,
    ) -> Result<(), WriteError> {
        todo!()
    }
    pub async fn is_dir(&self, _path: &Path) -> bool {
        todo!()
    }
    pub fn resolve(&self, _command: &str, _cwd: &Path, _env: &Environment) -> Result<Program, ResolveError> {
        todo!()
    }
    pub async fn spawn(&self, _spec: Spec) -> Result<Process, SpawnError> {
        todo!()
    }
}
