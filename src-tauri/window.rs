//! The one window: opening it where it was, keeping its page where it belongs, its title, and asking before calls that
//! run are ended with it (B43, security row 8).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mework_engine::engine::{Engine, Noteworthy};
use mework_engine::wire::{ConversationSummary, Empty, Envelope, Event};
use tauri::plugin::TauriPlugin;
use tauri::webview::NewWindowResponse;
use tauri::{App, AppHandle, Manager, WebviewWindow, WebviewWindowBuilder, WindowEvent, Wry};
use tauri_plugin_dialog::{DialogExt, MessageDialogButtons, MessageDialogKind};
use tauri_plugin_window_state::StateFlags;

use crate::attention::Attention;
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

/// What closing depends on.
#[derive(Default)]
struct Activity {
    running: AtomicUsize,
    /// The question stands on the screen.
    asking: AtomicBool,
    /// It was answered with yes.
    agreed: AtomicBool,
}

pub fn open(app: &App, data: &Path, engine: Arc<Engine>, attention: Attention) -> tauri::Result<()> {
    let Some(config) = app.config().app.windows.iter().find(|w| w.label == MAIN) else {
        return Err(tauri::Error::WindowNotFound);
    };
    if let Err(problem) = kept::prepare(&place_file(data), "{}") {
        tracing::warn!(%problem, "the window's place could not be kept to oneself");
    }
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

    app.state::<zoom::Zoom>().apply(&window);
    let activity = Arc::new(Activity::default());
    tauri::async_runtime::spawn(follow(engine, activity.clone()));
    let closing = window.clone();
    window.on_window_event(move |event| match event {
        WindowEvent::CloseRequested { api, .. } if !may_close(&closing, &activity) => api.prevent_close(),
        WindowEvent::Focused(front) => attention.in_front(*front),
        _ => {}
    });
    window.show()
}

/// Whether nothing would be lost, or the person agreed to it; asks if need be (B43).
fn may_close(window: &WebviewWindow, activity: &Arc<Activity>) -> bool {
    let running = activity.running.load(Ordering::SeqCst);
    if running == 0 || activity.agreed.load(Ordering::SeqCst) {
        return true;
    }
    if !activity.asking.swap(true, Ordering::SeqCst) {
        let question = match running {
            1 => "A call is running. Closing the window stops it.".to_owned(),
            n => format!("{n} calls are running. Closing the window stops them."),
        };
        let (closing, activity) = (window.clone(), activity.clone());
        window
            .dialog()
            .message(question)
            .title("Close Mework?")
            .kind(MessageDialogKind::Warning)
            .parent(window)
            .buttons(MessageDialogButtons::OkCancelCustom("Stop and close".into(), "Keep open".into()))
            .show(move |close| {
                activity.asking.store(false, Ordering::SeqCst);
                if close {
                    activity.agreed.store(true, Ordering::SeqCst);
                    if let Err(problem) = closing.close() {
                        tracing::warn!(%problem, "the window could not be closed");
                    }
                }
            });
    }
    false
}

/// Keeps the count of running calls current.
async fn follow(engine: Arc<Engine>, activity: Arc<Activity>) {
    let count = |conversations: &[ConversationSummary]| {
        activity.running.store(conversations.iter().map(|c| c.running_calls as usize).sum(), Ordering::SeqCst);
    };
    let mut events = engine.subscribe();
    let mut stale = true;
    loop {
        if stale && let Ok(snapshot) = engine.snapshot(Empty {}).await {
            count(&snapshot.conversations);
        }
        stale = match events.next().await {
            Some(Envelope::Event { event: Event::Conversations { conversations }, .. }) => {
                count(&conversations);
                false
            }
            Some(Envelope::Event { .. }) => false,
            Some(Envelope::Resync) => true,
            None => return,
        };
    }
}
