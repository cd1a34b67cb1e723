//! The program `mework-desktop`: the engine in a window.
//!
//! In reading order:
//! - [`start`]: what must be right before there can be a window, and saying so when it is not
//! - [`host`]: what the engine asks of a desktop
//! - [`attention`]: what the desktop is told while the window is not in front
//! - [`wire`]: requests and events between the page and the engine
//! - [`window`]: the one window: its guards, its place, its title
//! - [`place`]: where it stood, held against the screens that are there
//! - [`closing`]: what would be lost by closing it, and asking first
//! - [`zoom`]: how large the page is drawn
//! - [`kept`]: small files of the window's own
//! - [`links`]: which addresses may leave the window, to the system's browser
//! - [`words`]: all that it says
//!
//! It knows no feature of the product: those are the engine's and the page's.

#![cfg_attr(all(windows, not(debug_assertions)), windows_subsystem = "windows")]

mod attention;
mod closing;
mod host;
mod kept;
mod links;
mod place;
mod start;
mod window;
mod wire;
mod words;
mod zoom;

use std::process::ExitCode;
use std::sync::Arc;

use mework_engine::engine::Engine;
use mework_engine::machine::Surroundings;
use tauri::{Manager, RunEvent};

fn main() -> ExitCode {
    mework_engine::machine::panics_to_stderr();
    mework_engine::machine::process::supervise_if_asked();
    mework_engine::machine::warnings_to_stderr();
    if let Err(problem) = start::display() {
        return start::refuse(&problem);
    }
    let (surroundings, notice) = match Surroundings::of_desktop() {
        Ok((surroundings, notice)) => (surroundings.supervised_by(host::command_line().as_deref()), notice),
        Err(error) => return start::refuse(&error.to_string()),
    };
    let data = surroundings.data.clone();

    let app = tauri::Builder::default()
        // First: a second start ends inside this plugin, before it opens anything.
        .plugin(window::single_instance(&data))
        .plugin(window::remembered_place(&data))
        .plugin(tauri_plugin_dialog::init())
        .invoke_handler(tauri::generate_handler![wire::rpc, wire::subscribe, zoom::zoom, closing::unsaved])
        .build(tauri::generate_context!());
    let app = match app {
        Ok(app) => app,
        Err(error) => return start::refuse(&words::start::no_system(&error)),
    };
    let attention = attention::Attention::begin(app.handle(), window::show_call);
    let host = Arc::new(host::Desktop::new(app.handle().clone(), attention.clone(), notice.into_iter().collect()));
    let engine = match tauri::async_runtime::block_on(Engine::open(surroundings, host, words::CLIENT)) {
        Ok(engine) => engine,
        Err(error) => return start::refuse_in_a_dialog(app, &error.to_string()),
    };
    app.manage(engine.clone());
    app.manage(closing::Closing::follow(engine));
    app.manage(zoom::Zoom::in_folder(&data));
    start::end_on_signals(app.handle().clone());
    if let Err(error) = window::open(&app, &data, attention) {
        return start::refuse(&words::start::no_window(&error));
    }
    let code = app.run_return(|app, event| {
        if let RunEvent::Exit = event {
            // Ends calls and every server's whole tree, in bounded time.
            tauri::async_runtime::block_on(app.state::<Arc<Engine>>().shutdown());
        }
    });
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
