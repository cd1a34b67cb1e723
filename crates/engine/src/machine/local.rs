//! This computer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::environment::Environment;
use super::http::{Client, ClientError, Roots, TlsSettings};
use super::process::{Process, Program, ResolveError, SpawnError, Spec, Tally};
use super::{FileRead, Surroundings, WriteError, files, process, resolve};

#[derive(Debug)]
pub struct Local {
    surroundings: Arc<Surroundings>,
    supervisors: Arc<process::Supervisors>,
    /// Everything that was started here.
    alive: Tally,
    /// Read for the first `https://` address.
    tls: Arc<OnceLock<TlsSettings>>,
}

impl Local {
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings: Arc::new(surroundings), supervisors: Arc::default(), alive: Tally::default(), tls: Arc::default() }
    }
    pub fn home(&self) -> &Path {
        &self.surroundings.home
    }
    pub fn environment(&self) -> &Environment {
        &self.surroundings.environment
    }
    pub async fn read(&self, path: &Path, limit: usize, within: Option<&Path>) -> FileRead {
        let (path, within) = owned(path, within);
        match tokio::task::spawn_blocking(move || files::read(&path, limit, within.as_deref())).await {
            Ok(read) => read,
            Err(e) => FileRead::Failed(e.to_string()),
        }
    }
    /// A file that did not exist is private (0600, its new folders 0700) below the home folder when no workspace holds
    /// it, and otherwise like any file the person makes: a workspace's file may be shared and committed.
    pub async fn write(&self, path: &Path, expected: Option<&[u8]>, new: &[u8], within: Option<&Path>) -> Result<(), WriteError> {
        let new_file = self.privacy(path, within);
        let shown = path.to_path_buf();
        let (path, within) = owned(path, within);
        let (expected, new) = (expected.map(<[u8]>::to_vec), new.to_vec());
        tokio::task::spawn_blocking(move || files::write(&path, expected.as_deref(), &new, within.as_deref(), new_file))
            .await
            .unwrap_or_else(|e| Err(WriteError::Io { path: shown, source: std::io::Error::other(e) }))
    }
    pub async fn make_folders(&self, file: &Path, within: Option<&Path>) -> Result<(), WriteError> {
        let new_file = self.privacy(file, within);
        let shown = file.to_path_buf();
        let (file, within) = owned(file, within);
        tokio::task::spawn_blocking(move || files::make_folders(&file, within.as_deref(), new_file))
            .await
            .unwrap_or_else(|e| Err(WriteError::Io { path: shown, source: std::io::Error::other(e) }))
    }
    fn privacy(&self, path: &Path, within: Option<&Path>) -> files::NewFile {
        if within.is_none() && path.starts_with(&self.surroundings.home) {
            files::NewFile::Private
        } else {
            files::NewFile::Shared
        }
    }
    pub async fn is_dir(&self, path: &Path) -> bool {
        tokio::fs::metadata(path).await.is_ok_and(|m| m.is_dir())
    }
    pub fn resolve(&self, command: &str, cwd: &Path, env: &Environment) -> Result<Program, ResolveError> {
        resolve::resolve(command, cwd, env)
    }
    pub async fn http(&self, url: &url::Url) -> Result<Client, ClientError> {
        match url.scheme() {
            "https" => Client::new(url, self.environment(), self.certificates().await?),
            _ => Client::new(url, self.environment(), &TlsSettings::none()),
        }
    }
    async fn certificates(&self) -> Result<&TlsSettings, ClientError> {
        if self.tls.get().is_none() {
            let (tls, roots) = (self.tls.clone(), Roots::of(self.environment()));
            let read = tokio::task::spawn_blocking(move || {
                tls.get_or_init(|| TlsSettings::read(&roots));
            })
            .await;
            read.map_err(|error| ClientError::Other(error.to_string()))?;
        }
        self.tls.get().ok_or_else(|| ClientError::Other("its settings could not be read".into()))
    }
    /// A start whose caller went away is seen to its end all the same: nobody holds the server then, so it ends.
    pub async fn spawn(&self, spec: Spec, tally: &Tally) -> Result<Process, SpawnError> {
        let counted = (self.alive.count(), tally.count());
        let (surroundings, supervisors) = (self.surroundings.clone(), self.supervisors.clone());
        let start = tokio::spawn(async move {
            let process = process::spawn(&surroundings, &supervisors, spec).await?;
            let exits = process.handle.exits();
            tokio::spawn(async move {
                exits.gone().await;
                drop(counted);
            });
            Ok(process)
        });
        start.await.unwrap_or_else(|e| Err(SpawnError::Supervisor(std::io::Error::other(e))))
    }
    pub async fn emptied(&self) {
        self.alive.empty().await;
    }
}

fn owned(path: &Path, within: Option<&Path>) -> (PathBuf, Option<PathBuf>) {
    (path.to_path_buf(), within.map(Path::to_path_buf))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading hundreds of certificates takes longer than reaching a server on this computer.
    #[tokio::test]
    async fn certificates_are_read_for_https_alone() {
        let surroundings =
            Surroundings { home: "/".into(), data: "/".into(), environment: Environment::default(), supervisor: vec![] };
        let local = Local::new(surroundings);
        let http = async |url: &str| local.http(&url.parse().unwrap()).await.unwrap();
        http("http://127.0.0.1:1/").await;
        assert!(local.tls.get().is_none());
        http("https://127.0.0.1:1/").await;
        assert!(local.tls.get().is_some());
    }
}
