//! What must be right before there can be a window, and saying so when it is not. Also how it ends when it is
//! asked to from outside.

use std::process::ExitCode;

use mework_engine::machine::environment::Environment;
use mework_engine::machine::{Surroundings, SurroundingsError};
use tauri::{App, AppHandle};
use tauri_plugin_dialog::{DialogExt, MessageDialogKind};

/// The home, data folder and environment this process was given.
pub fn surroundings() -> Result<Surroundings, SurroundingsError> {
    Surroundings::of_process(Environment::of_process())
}

/// Whether there is a display to open a window on. GTK would end the process with a panic instead of a sentence.
#[cfg(target_os = "linux")]
pub fn display() -> Result<(), String> {
    const INSTEAD: &str = "Run `mework serve` to use the same app in a browser.";
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    if !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
        return Err(format!("There is no display to open a window on: neither DISPLAY nor WAYLAND_DISPLAY is set. {INSTEAD}"));
    }
    gtk::init().map_err(|_| {
        let name = ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().find(|n| set(n)).unwrap_or("DISPLAY");
        let value = std::env::var(name).unwrap_or_default();
        format!("The display {value:?} (from {name}) cannot be opened. Start the app inside the desktop's session. {INSTEAD}")
    })
}

#[cfg(not(target_os = "linux"))]
pub fn display() -> Result<(), String> {
    Ok(())
}

/// Says why there is no window. 1: the thing asked for failed.
pub fn refuse(problem: &str) -> ExitCode {
    eprintln!("mework-desktop: {problem}");
    ExitCode::FAILURE
}

/// The same, also in a dialog: whoever clicked an icon sees no terminal.
pub fn refuse_in_a_dialog(app: App, problem: &str) -> ExitCode {
    let handle = app.handle().clone();
    app.dialog().message(problem).title("Mework cannot start").kind(MessageDialogKind::Error).show(move |_| handle.exit(1));
    app.run_return(|_, _| {});
    refuse(problem)
}

/// Ends the app in order when the system or a terminal asks it to: a logout, a shutdown, Ctrl+C.
pub fn end_on_signals(app: AppHandle) {
    tauri::async_runtime::spawn(async move {
        asked_to_end().await;
        app.exit(0);
    });
}

#[cfg(unix)]
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()))
    else {
        // The system's own handling stays: the process ends at once, and its servers with it.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
}

#[cfg(not(unix))]
async fn asked_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
