//! `mework` alone: the window, if it is installed and there is a display for it.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::CommandFactory;

use crate::args::Cli;
use crate::output::{note, print};

pub fn open() -> ExitCode {
    match program() {
        Some(program) if has_display() => start(program),
        _ => {
            print(&Cli::command().render_help().to_string());
            ExitCode::SUCCESS
        }
    }
}

/// Beside this program first: that is the one of the same version.
fn program() -> Option<PathBuf> {
    let name = format!("mework-desktop{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&name)));
    let on_path = std::env::var_os("PATH").into_iter().flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    beside
        .into_iter()
        .chain(on_path.filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name)))
        .find(|file| file.is_file())
}

fn has_display() -> bool {
    cfg!(not(all(unix, not(target_os = "macos"))))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

#[allow(clippy::disallowed_methods, reason = "our own window, not a server")]
fn start(program: PathBuf) -> ExitCode {
    let mut command = Command::new(&program);
    #[cfg(unix)]
    let problem = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let problem = match command.spawn() {
        Ok(_) => return ExitCode::SUCCESS,
        Err(problem) => problem,
    };
    note(&format!("{} could not be started: {problem}.", program.display()));
    ExitCode::FAILURE
}
