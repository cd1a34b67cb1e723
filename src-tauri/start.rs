//! What must be right before there can be a window, and saying so when it is not. Also how it ends when it is
//! asked to from outside.

use std::process::ExitCode;

use tauri::{App, AppHandle};
use tauri_plugin_dialog::{DialogExt, MessageDialogKind};

use crate::words::start as words;

/// Whether there is a display to open a window on. GTK would end the process with a panic instead of a sentence.
#[cfg(target_os = "linux")]
pub fn display() -> Result<(), String> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    if !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
        return Err(words::no_display());
    }
    gtk::init().map_err(|_| {
        let name = ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().find(|n| set(n)).unwrap_or("DISPLAY");
        let value = std::env::var(name).unwrap_or_default();
        words::closed_display(&value, name)
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
    app.dialog().message(problem).title(words::TITLE).kind(MessageDialogKind::Error).show(move |_| handle.exit(1));
    app.run_return(|_, _| {});
    refuse(problem)
}

/// Ends the app in order when the system or a terminal asks it to: a logout, a shutdown, Ctrl+C. From this call on, not
/// only from when a task first runs.
pub fn end_on_signals(app: AppHandle) {
    let runtime = tauri::async_runtime::handle();
    let _inside = runtime.inner().enter();
    let asked = asked_to_end();
    runtime.spawn(async move {
        if asked.await {
            app.exit(0);
        }
    });
}

#[cfg(unix)]
fn asked_to_end() -> impl Future<Output = bool> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    // Where one cannot be had, the system's own handling stays: the process ends at once, and its servers with it.
    let mut signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(|kind| signal(kind).ok());
    async move {
        let [terminate, interrupt, hangup] = signals.each_mut().map(|s| async move {
            match s {
                Some(s) => s.recv().await,
                None => std::future::pending().await,
            }
        });
        tokio::select! {
            came = terminate => came.is_some(),
            came = interrupt => came.is_some(),
            came = hangup => came.is_some(),
        }
    }
}

#[cfg(windows)]
fn asked_to_end() -> impl Future<Output = bool> + Send {
    let asked = tokio::signal::ctrl_c();
    async move { asked.await.is_ok() }
}
