//! The queue of cards waiting for a person, and what an answer is worth (B33–B35, security row 7).
//!
//! One waiter per card, keyed by id. An answer tells whether anyone was still waiting; dropping the waiter takes the card
//! down; an answer that gets lost means no. A yes is for one call: whoever holds it must show it the call again right before
//! sending, and anything that differs voids it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use sha2::{Digest, Sha256};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::{Level, Verdict, Why, verdict};
use crate::limits;
use crate::tools::arguments::Arguments;

/// The one call a yes is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The conversation, or none for a call of the command line.
    pub conversation: Option<String>,
    /// The server's id.
    pub server: String,
    /// The digest of its entry as written.
    pub digest: String,
    /// The fingerprint of its entry as expanded; of its first instance, when it has several.
    pub fingerprint: String,
    /// The folder of the instance that is called, when it has several (B28).
    pub instance: Option<PathBuf>,
    /// As the server spells it.
    pub tool: String,
    /// The digest of the tool's definition as it was listed: another description or schema is another tool (row 6).
    pub definition: String,
    /// SHA-256 of the exact bytes of the arguments, hex.
    pub arguments: String,
}

/// SHA-256, hex.
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// What a card shows. Server and tool text is made safe to show already; the arguments are raw.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub id: String,
    /// The transcript entry of the call.
    pub entry: String,
    pub binding: Binding,
    pub server_name: String,
    pub machine: String,
    /// The folder its server runs in, or the origin it is reached at.
    pub cwd: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub arguments: Arc<str>,
    /// The folders that a `workspace` in the arguments chooses from (B28); empty when the tool was not given that parameter.
    pub folders: Vec<PathBuf>,
    pub why: Why,
    /// Milliseconds since the Unix epoch.
    pub at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Allow {
        /// Who or what said yes, for the record.
        by: String,
        /// What a person made of the arguments on the card; none when the call is allowed as it was asked for.
        edited: Option<Arguments>,
    },
    Deny {
        reason: Option<String>,
    },
}

/// A yes, and what it is for.
#[derive(Debug, Clone)]
pub struct Approval {
    binding: Binding,
    given: Instant,
    pub by: String,
}

/// Why a yes is worth nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Void {
    #[error("The approval was for another call: the server's entry, the tool or the arguments changed since. Call again.")]
    Differs,
    #[error("The approval lapsed: the call did not start within {} seconds of it. Call again.", limits::APPROVAL_LAPSE.as_secs())]
    Lapsed,
}

impl Approval {
    /// A yes given now.
    pub fn new(binding: Binding, by: String) -> Self {
        Self { binding, given: Instant::now(), by }
    }
    /// Uses the yes up for the call that is about to be sent.
    pub fn spend(self, call: &Binding) -> Result<(), Void> {
        if self.binding != *call {
            Err(Void::Differs)
        } else if self.given.elapsed() > limits::APPROVAL_LAPSE {
            Err(Void::Lapsed)
        } else {
            Ok(())
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} calls wait for an answer already. Answer some of them first.", limits::WAITING_CARDS)]
pub struct Full;

/// Cheap to clone; all clones are the same queue.
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    /// Oldest first.
    waiting: Mutex<IndexMap<String, Waiting>>,
    /// Counts changes, for whoever shows the queue.
    changes: watch::Sender<u64>,
}

struct Waiting {
    card: Card,
    answer: oneshot::Sender<Answer>,
}

impl Default for Queue {
    fn default() -> Self {
        Self(Arc::new(Inner { waiting: Mutex::default(), changes: watch::Sender::new(0) }))
    }
}

/// Holds a place in the queue. Dropping it takes the card down.
pub struct Place {
    queue: Queue,
    id: String,
    answered: oneshot::Receiver<Answer>,
}

impl Queue {
    /// Puts a card up. It is visible when this returns.
    pub fn put(&self, card: Card) -> Result<Place, Full> {
        let (answer, answered) = oneshot::channel();
        let id = card.id.clone();
        {
            let mut waiting = self.waiting();
            if waiting.len() >= limits::WAITING_CARDS {
                return Err(Full);
            }
            waiting.insert(id.clone(), Waiting { card, answer });
        }
        self.changed();
        Ok(Place { queue: self.clone(), id, answered })
    }

    /// Oldest first.
    pub fn cards(&self) -> Vec<Card> {
        self.waiting().values().map(|waiting| waiting.card.clone()).collect()
    }

    /// A card that waits.
    pub fn card(&self, id: &str) -> Option<Card> {
        self.waiting().get(id).map(|waiting| waiting.card.clone())
    }

    /// Answers a card. False when nobody was waiting any more: then nothing happened.
    pub fn answer(&self, card: &str, answer: Answer) -> bool {
        let taken = self.waiting().shift_remove(card);
        let Some(waiting) = taken else { return false };
        let heard = waiting.answer.send(answer).is_ok();
        self.changed();
        heard
    }

    /// A conversation's level was changed while cards wait: those that no longer need asking are answered (B33), each as it
    /// was asked for: what somebody was about to edit on it, nobody agreed to. A lower level takes no answer back.
    pub fn level_changed(&self, conversation: &str, level: Level) {
        let answered: Vec<Waiting> = {
            let mut waiting = self.waiting();
            let ids: Vec<String> = waiting
                .values()
                .filter(|w| w.card.binding.conversation.as_deref() == Some(conversation))
                .filter(|w| {
                    let (server, entry) = (w.card.why == Why::ServerRequires, w.card.why == Why::EntryRequires);
                    verdict(level, server, entry) == Verdict::Run
                })
                .map(|w| w.card.id.clone())
                .collect();
            ids.iter().filter_map(|id| waiting.shift_remove(id)).collect()
        };
        if answered.is_empty() {
            return;
        }
        for waiting in answered {
            // Its asker may have gone at this very moment; then there is no call either.
            let _ = waiting.answer.send(Answer::Allow { by: super::by_level(level), edited: None });
        }
        self.changed();
    }

    /// Sees every change of the queue, bunched.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, IndexMap<String, Waiting>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn changed(&self) {
        self.0.changes.send_modify(|n| *n += 1);
    }
}

impl Place {
    /// Waits for the answer, however long a person takes. A lost answer means no.
    pub async fn answer(mut self) -> Answer {
        (&mut self.answered).await.unwrap_or(Answer::Deny { reason: None })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let gone = self.queue.waiting().shift_remove(&self.id).is_some();
        if gone {
            self.queue.changed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn binding() -> Binding {
        Binding {
            conversation: Some("c".into()),
            server: "s".into(),
            digest: "d".into(),
            fingerprint: "f".into(),
            instance: None,
            tool: "t".into(),
            definition: "def".into(),
            arguments: sha256(b"{}"),
        }
    }
    fn card(id: &str, why: Why) -> Card {
        Card {
            id: id.into(),
            entry: format!("entry of {id}"),
            binding: binding(),
            server_name: "s".into(),
            machine: "This computer".into(),
            cwd: "/".into(),
            title: None,
            description: None,
            arguments: "{}".into(),
            folders: vec![],
            why,
            at: 0,
        }
    }
    fn ids(queue: &Queue) -> Vec<String> {
        queue.cards().into_iter().map(|card| card.id).collect()
    }
    fn yes() -> Answer {
        Answer::Allow { by: "a person in the window".into(), edited: None }
    }

    /// B35: one waiter per card; the answer goes to it alone and says whether anyone waited.
    #[tokio::test]
    async fn an_answer_goes_to_its_own_card_and_says_whether_anyone_waited() {
        let queue = Queue::default();
        let (a, b) = (queue.put(card("a", Why::Level)).unwrap(), queue.put(card("b", Why::Level)).unwrap());
        assert_eq!(ids(&queue), ["a", "b"]);
        assert!(queue.answer("b", yes()));
        assert!(!queue.answer("b", Answer::Deny { reason: None }), "the second answer finds nobody");
        assert!(!queue.answer("never was", yes()));
        assert_eq!(b.answer().await, yes());
        assert_eq!(ids(&queue), ["a"]);
        assert!(queue.answer("a", Answer::Deny { reason: Some("not now".into()) }));
        assert_eq!(a.answer().await, Answer::Deny { reason: Some("not now".into()) });
        assert_eq!(ids(&queue), [""; 0]);
    }

    /// Dropping the asker takes the card down; nobody hears a later answer.
    #[tokio::test]
    async fn dropping_the_asker_takes_the_card_down() {
        let queue = Queue::default();
        let mut seen = queue.watch();
        let place = queue.put(card("a", Why::Level)).unwrap();
        let asking = tokio::spawn(place.answer());
        seen.wait_for(|n| *n == 1).await.unwrap();
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        assert_eq!(ids(&queue), [""; 0]);
        assert_eq!(*seen.borrow_and_update(), 2);
        assert!(!queue.answer("a", yes()));
        assert!(!seen.has_changed().unwrap(), "nothing happened, and nobody is told that something did");
    }

    /// A lost answer means no.
    #[tokio::test]
    async fn a_lost_answer_means_no() {
        let queue = Queue::default();
        let place = queue.put(card("a", Why::Level)).unwrap();
        queue.waiting().clear();
        assert_eq!(place.answer().await, Answer::Deny { reason: None });
    }

    /// B35: at most 256 wait; the next one is told, and there is room again once one is answered.
    #[tokio::test]
    async fn at_most_256_cards_wait() {
        let queue = Queue::default();
        let mut places: Vec<Place> = (0..256).map(|n| queue.put(card(&n.to_string(), Why::Level)).unwrap()).collect();
        assert_eq!(queue.put(card("one more", Why::Level)).err(), Some(Full));
        assert_eq!(queue.cards().len(), 256);
        places.pop();
        assert!(queue.put(card("now it fits", Why::Level)).is_ok());
    }

    /// B33: raising to Full access answers the cards that no longer need asking, in that conversation only; lowering answers none.
    #[tokio::test]
    async fn raising_the_level_answers_cards_that_no_longer_need_asking() {
        let queue = Queue::default();
        let by_level = queue.put(card("level", Why::Level)).unwrap();
        let _by_server = queue.put(card("server", Why::ServerRequires)).unwrap();
        let _by_entry = queue.put(card("entry", Why::EntryRequires)).unwrap();
        let mut other = card("elsewhere", Why::Level);
        other.binding.conversation = Some("another".into());
        let _other = queue.put(other).unwrap();
        let mut seen = queue.watch();
        queue.level_changed("c", Level::AcceptEdits);
        queue.level_changed("c", Level::Manual);
        assert!(!seen.has_changed().unwrap());
        queue.level_changed("c", Level::FullAccess);
        assert!(seen.has_changed().unwrap());
        assert_eq!(ids(&queue), ["server", "entry", "elsewhere"]);
        assert_eq!(by_level.answer().await, Answer::Allow { by: "the level Full access".into(), edited: None });
        seen.mark_unchanged();
        queue.level_changed("c", Level::Manual);
        assert!(!seen.has_changed().unwrap());
    }

    /// B35, row 7: whatever differs voids a yes.
    #[tokio::test(start_paused = true)]
    async fn a_yes_is_for_one_call_and_anything_that_differs_voids_it() {
        let same = |change: fn(&mut Binding)| {
            let mut call = binding();
            change(&mut call);
            Approval::new(binding(), "p".into()).spend(&call)
        };
        assert_eq!(same(|_| ()), Ok(()));
        let changes: [fn(&mut Binding); 9] = [
            |b| b.conversation = Some("other".into()),
            |b| b.conversation = None,
            |b| b.server = "other".into(),
            |b| b.digest = "other".into(),
            |b| b.fingerprint = "other".into(),
            |b| b.instance = Some("/other".into()),
            |b| b.tool = "other".into(),
            |b| b.definition = "other".into(),
            |b| b.arguments = sha256(b"{ }"),
        ];
        for change in changes {
            assert_eq!(same(change), Err(Void::Differs));
        }
    }

    /// B35: it lapses 90 s after it was given.
    #[tokio::test(start_paused = true)]
    async fn a_yes_lapses_after_90_seconds() {
        let (early, late) = (Approval::new(binding(), "p".into()), Approval::new(binding(), "p".into()));
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(early.spend(&binding()), Ok(()));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(late.spend(&binding()), Err(Void::Lapsed));
    }

    #[test]
    fn digests_are_of_the_exact_bytes() {
        assert_eq!(sha256(b"{}"), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }
}
