//! What the engine asks of a desktop: the file manager, the folder picker, telling of waiting calls, and where the command
//! line's program is.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use mework_engine::engine::{Capabilities, Host, Noteworthy};
use mework_engine::error::{Error, Result};
use tauri::AppHandle;
use tauri_plugin_dialog::DialogExt;

use crate::attention::Attention;
use crate::words::folder as words;

pub struct Desktop {
    app: AppHandle,
    attention: Attention,
    notices: Vec<String>,
}

impl Desktop {
    pub fn new(app: AppHandle, attention: Attention, notices: Vec<String>) -> Self {
        Self { app, attention, notices }
    }
}

impl Host for Desktop {
    fn capabilities(&self) -> Capabilities {
        Capabilities { pick_folder: true, reveal: true, notify: true }
    }

    /// The file manager shows the file selected. It is never opened: what a file opens with is the system's choice, and an
    /// attacker's file may be a program (security row 11).
    fn reveal(&self, file: &Path) -> Result<()> {
        tauri_plugin_opener::reveal_item_in_dir(file).or_else(|problem| match file.parent() {
            // No file manager that can select: its folder, then.
            Some(folder) => self.open_folder(folder),
            None => Err(no_file_manager(file, &problem)),
        })
    }

    fn open_folder(&self, folder: &Path) -> Result<()> {
        // A bundle is a folder to the file system and a program to the desktop.
        if !folder.is_dir() || folder.extension().is_some_and(|e| e.eq_ignore_ascii_case("app")) {
            return Err(Error::failed(words::is_none(folder)));
        }
        open::that_detached(folder).map_err(|problem| no_file_manager(folder, &problem))
    }

    fn pick_folder(&self) -> BoxFuture<'static, Result<Option<PathBuf>>> {
        let app = self.app.clone();
        Box::pin(async move {
            let (send, receive) = tokio::sync::oneshot::channel();
            let mut dialog = app.dialog().file().set_title(words::CHOOSE);
            if let Some(window) = crate::window::main(&app) {
                dialog = dialog.set_parent(&window);
            }
            dialog.pick_folder(move |folder| {
                // The request may have been given up while the dialog stood open.
                let _ = send.send(folder);
            });
            match receive.await {
                Ok(Some(folder)) => folder.into_path().map(Some).map_err(|_| Error::failed(words::ELSEWHERE)),
                Ok(None) => Ok(None),
                Err(_) => Err(Error::failed(words::NO_PICKER)),
            }
        })
    }

    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    fn attention(&self, waiting: Vec<Noteworthy>) {
        self.attention.waiting(waiting);
    }

    fn call_ended(&self, call: Noteworthy, well: bool) {
        self.attention.ended(call, well);
    }

    fn mework_program(&self) -> Option<PathBuf> {
        command_line()
    }
}

/// The command line's program, which is installed beside this one.
pub fn command_line() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name(format!("mework{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

fn no_file_manager(path: &Path, problem: &dyn std::fmt::Display) -> Error {
    Error::failed(words::no_manager(path)).with_detail(problem.to_string())
}
