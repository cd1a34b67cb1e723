//! Telling Windows and macOS: their notifications, the Dock's number, a dot on the task bar's button. Neither system lets a
//! notification be taken back this way; it goes when its time is over.

use notify_rust::{Notification, NotificationResponse};
use tauri::WebviewWindow;
use tokio::sync::mpsc;

use super::{Note, Response};

pub struct Desktop {
    /// Which one of those shown, and what was done with it.
    responses: mpsc::UnboundedReceiver<(u64, Response)>,
    respond: mpsc::UnboundedSender<(u64, Response)>,
    /// Counts what was shown; answers to older ones do not matter.
    shown: u64,
}

impl Desktop {
    pub fn new() -> Self {
        let (respond, responses) = mpsc::unbounded_channel();
        Self { responses, respond, shown: 0 }
    }

    pub async fn show(&mut self, note: &Note, app: &str) {
        self.shown += 1;
        let (number, respond) = (self.shown, self.respond.clone());
        let mut notification = Notification::new();
        notification.summary(&note.title).body(note.text);
        #[cfg(windows)]
        notification.app_id(app);
        #[cfg(target_os = "macos")]
        // Set once; a second time says so, which is no failure.
        let _ = notify_rust::set_application(app);
        // Waiting for an answer blocks a thread for as long as the notification stands.
        std::thread::spawn(move || {
            let answered = notification.show().map_err(|problem| problem.to_string()).and_then(|handle| {
                handle
                    .wait_for_response(|response: &NotificationResponse| {
                        let response = match response {
                            NotificationResponse::Default | NotificationResponse::Action(_) => Response::Clicked,
                            _ => Response::Gone,
                        };
                        // The app may be ending.
                        let _ = respond.send((number, response));
                    })
                    .map_err(|problem| problem.to_string())
            });
            if let Err(problem) = answered {
                tracing::warn!(problem, "the desktop did not take a notification");
            }
        });
    }

    pub async fn withdraw(&mut self) {
        self.shown += 1;
    }

    pub async fn response(&mut self) -> Response {
        loop {
            match self.responses.recv().await {
                Some((number, response)) if number == self.shown => return response,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    pub async fn count(&mut self, window: Option<&WebviewWindow>, waiting: usize) {
        let Some(window) = window else { return };
        #[cfg(not(windows))]
        let told = window.set_badge_count(i64::try_from(waiting).ok().filter(|n| *n > 0));
        #[cfg(windows)]
        let told = window.set_overlay_icon((waiting > 0).then(dot));
        if let Err(problem) = told {
            tracing::warn!(%problem, "the count on the icon could not be told");
        }
    }
}

/// Windows has no number there, only room for a small picture: a dot in the colour of what waits.
#[cfg(windows)]
fn dot() -> tauri::image::Image<'static> {
    const SIDE: i32 = 16;
    let pixels = (0..SIDE * SIDE).flat_map(|at| {
        let (x, y) = (2 * (at % SIDE) + 1 - SIDE, 2 * (at / SIDE) + 1 - SIDE);
        if x * x + y * y <= SIDE * SIDE { [0xd9, 0x77, 0x06, 0xff] } else { [0; 4] }
    });
    tauri::image::Image::new_owned(pixels.collect(), SIDE as u32, SIDE as u32)
}
