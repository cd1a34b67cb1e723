//! The one window: opening it where it was, keeping its page where it belongs, and its title (B43, security row 8).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mework_engine::engine::{Engine, Noteworthy};
use tauri::plugin::TauriPlugin;
use tauri::webview::NewWindowResponse;
use tauri::{App, AppHandle, Manager, WebviewWindow, WebviewWindowBuilder, WindowEvent, Wry};
use tauri_plugin_window_state::StateFlags;

use crate::attention::Attention;
use crate::closing::Closing;
use crate::place::Kept;
use crate::{kept, links, zoom};

const MAIN: &str = "main";

/// The one window, while it exists.
pub fn main(app: &AppHandle) -> Option<WebviewWindow> {
    app.get_webview_window(MAIN)
}

/// A second start with the same data folder brings this window to the front and ends. Another data folder is another app.
pub fn single_instance(data: &Path) -> TauriPlugin<Wry> {
    tauri_plugin_single_instance::Builder::new()
        .dbus_id(format!("app.mework.desktop.d{:016x}", fingerprint(data)))
        .callback(|app, _arguments, _folder| bring_to_front(app))
        .build()
}

/// A number for a path that every build of the app computes the same way (FNV-1a).
fn fingerprint(path: &Path) -> u64 {
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// Goes to a call that the desktop was told of.
pub fn show_call(app: &AppHandle, call: Noteworthy) {
    bring_to_front(app);
    app.state::<Arc<Engine>>().show(call.conversation, call.entry);
}

fn bring_to_front(app: &AppHandle) {
    let Some(window) = main(app) else { return };
    for step in [window.show(), window.unminimize(), window.set_focus()] {
        if let Err(problem) = step {
            tracing::warn!(%problem, "the window could not be brought to the front");
        }
    }
}

/// Size, place and zoomed state, kept in the data folder. An absolute file name replaces the plugin's own folder.
pub fn remembered_place(data: &Path) -> TauriPlugin<Wry> {
    tauri_plugin_window_state::Builder::new()
        .with_filename(place_file(data).to_string_lossy())
        .with_state_flags(StateFlags::SIZE | StateFlags::POSITION | StateFlags::MAXIMIZED | StateFlags::FULLSCREEN)
        .build()
}

fn place_file(data: &Path) -> PathBuf {
    data.join("window.json")
}

pub fn open(app: &App, data: &Path, attention: Attention) -> tauri::Result<()> {
    let Some(config) = app.config().app.windows.iter().find(|w| w.label == MAIN) else {
        return Err(tauri::Error::WindowNotFound);
    };
    if let Err(problem) = kept::prepare(&place_file(data), "{}") {
        tracing::warn!(%problem, "the window's place could not be kept to oneself");
    }
    let place = Kept::read(&place_file(data), MAIN);
    let development = cfg!(dev).then(|| app.config().build.dev_url.clone()).flatten();
    let window = WebviewWindowBuilder::from_config(app, config)?
        .data_directory(data.join("webview"))
        .on_navigation(move |url| {
            let allowed = links::own(url, development.as_ref());
            if !allowed {
                tracing::warn!(scheme = url.scheme(), "the page tried to leave the app, and was kept");
            }
            allowed
        })
        .on_new_window(|url, _| {
            // No page of ours asks for a window: this is a link that a person confirmed.
            if let Some(url) = links::outside(&url)
                && let Err(problem) = open::that_detached(url.as_str())
            {
                tracing::warn!(%problem, "no browser could be started for a link");
            }
            NewWindowResponse::Deny
        })
        .on_download(|_, _| false)
        // The page counts waiting cards in its title, in a browser too.
        .on_document_title_changed(|window, title| {
            let _ = window.set_title(&title);
        })
        .initialization_script(zoom::KEYS)
        .build()?;

    if let Err(problem) = place.correct(&window) {
        tracing::warn!(%problem, "the window could not be put on a screen");
    }
    app.state::<zoom::Zoom>().apply(&window);
    let handle = window.clone();
    window.on_window_event(move |event| match event {
        WindowEvent::CloseRequested { api, .. } if !handle.state::<Closing>().allowed(&handle) => api.prevent_close(),
        WindowEvent::Focused(front) => attention.in_front(*front),
        _ => {}
    });
    window.show()
}
