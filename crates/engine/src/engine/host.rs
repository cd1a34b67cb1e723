//! The little an engine needs from what it runs in: a window, a browser's server, a terminal.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;

use crate::error::{Error, Result};

/// What the host can do; a window draws only the buttons that work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A native folder picker.
    pub pick_folder: bool,
    /// A file manager on this computer.
    pub reveal: bool,
    /// The desktop's notifications.
    pub notify: bool,
}

/// A call that wants a person's eye. Its words are safe to show anywhere, short, and hold nothing of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noteworthy {
    pub conversation: String,
    /// Its transcript entry.
    pub entry: String,
    pub server: String,
    pub tool: String,
}

pub trait Host: Send + Sync + 'static {
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    /// Shows a file selected in the file manager. Only paths the engine computed itself get here, and they are revealed,
    /// never opened (security row 11).
    fn reveal(&self, _file: &Path) -> Result<()> {
        Err(Error::failed("Folders cannot be shown from here."))
    }
    /// Opens a folder in the file manager.
    fn open_folder(&self, _folder: &Path) -> Result<()> {
        Err(Error::failed("Folders cannot be shown from here."))
    }
    /// The native folder picker; `None` when the person cancelled.
    fn pick_folder(&self) -> BoxFuture<'static, Result<Option<PathBuf>>> {
        Box::pin(async { Err(Error::failed("There is no folder picker here. Type the folder's path.")) })
    }
    /// The `mework` program, which is also the sample server; absent when it is not installed beside the host.
    fn mework_program(&self) -> Option<PathBuf> {
        None
    }
    /// What a person should know about how the host itself started; shown with the engine's own.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
    /// The calls that wait for a person now, oldest first (B44).
    fn attention(&self, _waiting: Vec<Noteworthy>) {}
    /// A call came to its end by itself, after so long that whoever asked for it may be elsewhere (B44).
    fn call_ended(&self, _call: Noteworthy, _well: bool) {}
}

/// A host that can do nothing but run the engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headless;

impl Host for Headless {}
