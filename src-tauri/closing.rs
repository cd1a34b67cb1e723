//! Closing the window asks once when something would be lost with it: calls that run, or text that was typed into a
//! server's entry and stands in no file yet (B43).
//!
//! The page says beforehand that it holds such text. Asked only when the window closes, a page that hangs would keep it open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mework_engine::engine::Engine;
use mework_engine::wire::{ConversationSummary, Empty, Envelope, Event};
use tauri::{State, WebviewWindow};
use tauri_plugin_dialog::{DialogExt, MessageDialogButtons, MessageDialogKind};

use crate::words::closing as words;

/// What closing depends on. Cheap to clone.
#[derive(Clone, Default)]
pub struct Closing(Arc<Activity>);

#[derive(Default)]
struct Activity {
    running: AtomicUsize,
    unsaved: AtomicBool,
    /// The question stands on the screen.
    asking: AtomicBool,
    /// It was answered with yes.
    agreed: AtomicBool,
}

/// The page holds typed text that no file holds, or does not any more.
#[tauri::command]
pub fn unsaved(closing: State<'_, Closing>, held: bool) {
    closing.0.unsaved.store(held, Ordering::SeqCst);
}

impl Closing {
    /// Keeps the count of running calls current from now on.
    pub fn follow(engine: Arc<Engine>) -> Self {
        let closing = Self::default();
        tauri::async_runtime::spawn(closing.clone().count(engine));
        closing
    }

    /// Whether nothing would be lost, or the person agreed to it; asks if need be.
    pub fn allowed(&self, window: &WebviewWindow) -> bool {
        let Activity { running, unsaved, asking, agreed } = &*self.0;
        let lost = lost(running.load(Ordering::SeqCst), unsaved.load(Ordering::SeqCst));
        let Some(Question { text, close, stay }) = lost else { return true };
        if agreed.load(Ordering::SeqCst) {
            return true;
        }
        if !asking.swap(true, Ordering::SeqCst) {
            let (this, handle) = (self.clone(), window.clone());
            window
                .dialog()
                .message(text)
                .title(words::TITLE)
                .kind(MessageDialogKind::Warning)
                .parent(window)
                .buttons(MessageDialogButtons::OkCancelCustom(close.into(), stay.into()))
                .show(move |yes| {
                    this.0.asking.store(false, Ordering::SeqCst);
                    if yes {
                        this.0.agreed.store(true, Ordering::SeqCst);
                        if let Err(problem) = handle.close() {
                            tracing::warn!(%problem, "the window could not be closed");
                        }
                    }
                });
        }
        false
    }

    async fn count(self, engine: Arc<Engine>) {
        let count = |conversations: &[ConversationSummary]| {
            self.0.running.store(conversations.iter().map(|c| c.running_calls as usize).sum(), Ordering::SeqCst);
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
}

/// One question for all that would be lost.
#[derive(Debug, PartialEq)]
struct Question {
    text: String,
    close: &'static str,
    stay: &'static str,
}

fn lost(running: usize, unsaved: bool) -> Option<Question> {
    let [close, stay] = if unsaved { words::ANSWERS_TO_UNSAVED } else { words::ANSWERS_TO_RUNNING };
    let all: Vec<String> = words::running(running).into_iter().chain(unsaved.then(|| words::UNSAVED.to_owned())).collect();
    (!all.is_empty()).then(|| Question { text: all.join("\n"), close, stay })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b43_one_question_names_all_that_would_be_lost() {
        assert_eq!(lost(0, false), None);
        let both = lost(2, true).unwrap();
        assert_eq!(
            both.text,
            "2 calls are running. Closing the window stops them.\n\
             What you typed about a server is not saved. Closing the window discards it."
        );
        assert_eq!([both.close, both.stay], ["Close anyway", "Keep editing"]);
        assert_eq!(lost(1, false).unwrap().close, "Stop and close");
        assert_eq!(lost(0, true).unwrap().stay, "Keep editing");
    }
}
