//! What asks for a person's eye while the window is not in front (B44): one notification for all there is to tell, and the
//! number of waiting calls on the icon. Here is decided what is told and when; [`desktop`] knows how this system is told.
//!
//! A notification names a server and a tool, never an argument: it may stand on a locked screen.

#[cfg(target_os = "linux")]
#[path = "attention/linux.rs"]
mod desktop;
#[cfg(not(target_os = "linux"))]
#[path = "attention/other.rs"]
mod desktop;

use std::collections::HashSet;
use std::time::Duration;

use mework_engine::engine::Noteworthy;
use tauri::AppHandle;
use tokio::sync::mpsc;
use tokio::time::Instant;

use desktop::Desktop;

use crate::words::notification as words;

/// What comes within this time is told at once: ten calls that are put up together are one notification.
const BUNCH: Duration = Duration::from_millis(300);

/// Where news goes. Cheap to clone.
#[derive(Clone)]
pub struct Attention(mpsc::UnboundedSender<News>);

#[derive(Debug)]
enum News {
    /// All calls that wait now, oldest first.
    Waiting(Vec<Noteworthy>),
    /// A long call ended, well or not.
    Ended(Noteworthy, bool),
    /// The window came to the front, or left it.
    Front(bool),
}

/// What a person did with a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Response {
    Clicked,
    /// Put away, by the person or by time.
    Gone,
}

/// What stands on the desktop: a line, and one more that is always ours.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Note {
    title: String,
    text: &'static str,
    /// Where a click goes.
    about: Noteworthy,
}

impl Attention {
    /// Begins to listen; `clicked` gets the call that a clicked notification was about.
    pub fn begin(app: &AppHandle, clicked: impl Fn(&AppHandle, Noteworthy) + Send + 'static) -> Self {
        let (send, news) = mpsc::unbounded_channel();
        tauri::async_runtime::spawn(follow(app.clone(), news, clicked));
        Self(send)
    }
    pub fn waiting(&self, calls: Vec<Noteworthy>) {
        self.tell(News::Waiting(calls));
    }
    pub fn ended(&self, call: Noteworthy, well: bool) {
        self.tell(News::Ended(call, well));
    }
    pub fn in_front(&self, front: bool) {
        self.tell(News::Front(front));
    }
    fn tell(&self, news: News) {
        // Nobody listens any more: the app ends.
        let _ = self.0.send(news);
    }
}

async fn follow(app: AppHandle, mut news: mpsc::UnboundedReceiver<News>, clicked: impl Fn(&AppHandle, Noteworthy)) {
    let mut desktop = Desktop::new();
    let mut open = Open::default();
    let mut shown: Option<Note> = None;
    let mut counted = 0;
    let mut due: Option<Instant> = None;
    loop {
        tokio::select! {
            biased;
            came = news.recv() => {
                let Some(came) = came else { return };
                open.hear(came);
                due.get_or_insert_with(|| Instant::now() + BUNCH);
            }
            response = desktop.response() => {
                open.seen();
                if let (Response::Clicked, Some(note)) = (response, shown.take()) {
                    clicked(&app, note.about);
                }
                shown = None;
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                if counted != open.waiting.len() {
                    counted = open.waiting.len();
                    desktop.count(crate::window::main(&app).as_ref(), counted).await;
                }
                let wanted = open.note();
                if wanted != shown {
                    match &wanted {
                        Some(note) => desktop.show(note, &app.config().identifier).await,
                        None => desktop.withdraw().await,
                    }
                    shown = wanted;
                }
            }
        }
    }
}

/// What is there to tell.
#[derive(Default)]
struct Open {
    front: bool,
    waiting: Vec<Noteworthy>,
    /// Entries that the person knows of.
    known: HashSet<String>,
    /// Calls that ended while the window was elsewhere.
    ended: Vec<(Noteworthy, bool)>,
}

impl Open {
    fn hear(&mut self, news: News) {
        match news {
            News::Waiting(calls) => {
                self.known.retain(|known| calls.iter().any(|call| call.entry == *known));
                self.waiting = calls;
            }
            News::Ended(call, well) => self.ended.push((call, well)),
            News::Front(front) => self.front = front,
        }
        if self.front {
            self.seen();
        }
    }

    /// The person has seen, or put away, what there is.
    fn seen(&mut self) {
        self.known = self.waiting.iter().map(|call| call.entry.clone()).collect();
        self.ended.clear();
    }

    fn note(&self) -> Option<Note> {
        let new: Vec<&Noteworthy> = self.waiting.iter().filter(|call| !self.known.contains(&call.entry)).collect();
        match (&new[..], &self.ended[..]) {
            ([], []) => None,
            ([], [(call, well)]) => {
                Some(Note { title: words::ended(&call.tool, &call.server, *well), text: words::SEE, about: call.clone() })
            }
            ([], [.., (last, _)]) => {
                Some(Note { title: words::all_ended(self.ended.len()), text: words::SEE_LAST, about: last.clone() })
            }
            ([call], _) => {
                Some(Note { title: words::wants(&call.server, &call.tool), text: words::ANSWER, about: (*call).clone() })
            }
            ([first, ..], _) => Some(Note { title: words::wait(new.len()), text: words::ANSWER_FIRST, about: (*first).clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(entry: &str) -> Noteworthy {
        Noteworthy { conversation: "c".into(), entry: entry.into(), server: "files".into(), tool: "delete".into() }
    }
    fn title(open: &Open) -> Option<String> {
        open.note().map(|note| note.title)
    }

    #[test]
    fn b44_what_came_while_the_window_was_elsewhere_is_one_note() {
        let mut open = Open::default();
        open.hear(News::Waiting(vec![call("1")]));
        assert_eq!(title(&open).unwrap(), "files wants to run delete");
        open.hear(News::Waiting((0..10).map(|n| call(&n.to_string())).collect()));
        let note = open.note().unwrap();
        assert_eq!((note.title.as_str(), note.about.entry.as_str()), ("10 calls wait for you", "0"));
        // Answered elsewhere.
        open.hear(News::Waiting(vec![]));
        assert_eq!(open.note(), None);
    }

    #[test]
    fn b44_nothing_is_told_of_what_was_seen_or_put_away() {
        let mut open = Open::default();
        open.hear(News::Front(true));
        open.hear(News::Waiting(vec![call("1")]));
        open.hear(News::Ended(call("0"), true));
        assert_eq!(open.note(), None);
        // It still waits when the window leaves the front, and is known.
        open.hear(News::Front(false));
        assert_eq!(open.note(), None);
        open.hear(News::Waiting(vec![call("1"), call("2")]));
        assert_eq!(open.note().unwrap().about.entry, "2");
        open.seen();
        assert_eq!(open.note(), None);
    }

    #[test]
    fn b44_a_long_calls_end_is_told_after_what_waits() {
        let mut open = Open::default();
        open.hear(News::Ended(call("1"), true));
        assert_eq!(title(&open).unwrap(), "delete on files is done");
        open.hear(News::Ended(call("2"), false));
        assert_eq!(title(&open).unwrap(), "2 calls have ended");
        open.hear(News::Waiting(vec![call("3")]));
        assert_eq!(title(&open).unwrap(), "files wants to run delete");
        open.hear(News::Front(true));
        open.hear(News::Front(false));
        open.hear(News::Ended(call("4"), false));
        assert_eq!(title(&open).unwrap(), "delete on files failed");
    }
}
