//! What the pool keeps of each conversation's servers: the state of each, under one lock, and what is told of it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::super::Health;
use super::super::connection::{Connection, ToolLists};
use super::super::log::{Logs, Source};
use super::{Bounds, Change, Eras};
use crate::config::ServerId;
use crate::limits;
use crate::machine::process::Tally;

/// A process that nobody holds is asked, terminated and killed within this time; one that is left then hangs in the kernel.
const ENDING: Duration = limits::STDIN_CLOSE_GRACE.saturating_add(limits::TERMINATE_GRACE).saturating_add(Duration::from_secs(5));

pub(super) struct Shared {
    pub(super) logs: Logs,
    pub(super) eras: Arc<dyn Eras>,
    pub(super) bounds: Bounds,
    pub(super) changes: mpsc::UnboundedSender<Change>,
    pub(super) slots: Mutex<Slots>,
}

#[derive(Default)]
pub(super) struct Slots {
    pub(super) by_key: HashMap<Key, Slot>,
    pub(super) generation: u64,
    /// Nothing starts any more.
    pub(super) shut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) conversation: String,
    pub(super) server: ServerId,
}

pub(super) struct Slot {
    /// Which start this state belongs to; what an older one still reports is not heard.
    pub(super) generation: u64,
    pub(super) connection: Option<Arc<Connection>>,
    /// Of the connection, or of the start that is running.
    pub(super) fingerprint: Option<String>,
    /// The lists of tools that its own list goes by, or that of the start or listing that is running.
    pub(super) lists: ToolLists,
    pub(super) work: Option<AbortHandle>,
    /// The processes of the newest start, and what it waits for: they may outlive the work and the connection.
    pub(super) tally: Tally,
    pub(super) state: watch::Sender<State>,
    pub(super) used: Instant,
    pub(super) failed: Option<Instant>,
    /// Tools once seen to need a person: that stays, whatever the server says later (row 6).
    pub(super) need_person: HashSet<String>,
    /// How often it was shut: what was asked for before that is not started after it.
    closings: u64,
    /// It was listed again of its own accord since it was last asked for: once is enough, however often it says that its
    /// tools changed (row 24).
    pub(super) relisted: bool,
}

/// What a slot held before something newer took its place; what it was doing has been aborted.
pub(super) struct Old {
    pub(super) connection: Option<Arc<Connection>>,
    pub(super) tally: Tally,
}

impl Old {
    /// Returns when nothing is left of it.
    pub(super) async fn close(self) {
        if let Some(connection) = self.connection {
            connection.close().await;
        }
        // A start that was given up, and what had been closed before, end by themselves.
        let _ = timeout(ENDING, self.tally.empty()).await;
    }
}

#[derive(Clone)]
pub(super) struct State {
    pub(super) health: Health,
    /// Requests to connect or list that are not answered yet.
    pub(super) pending: usize,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self {
            generation: 0,
            connection: None,
            fingerprint: None,
            lists: ToolLists::default(),
            work: None,
            tally: Tally::default(),
            state: watch::channel(State { health: Health::Idle, pending: 0 }).0,
            used: Instant::now(),
            failed: None,
            need_person: HashSet::new(),
            closings: 0,
            relisted: false,
        }
    }
    /// Ends what it is doing; what it held is for the caller to close.
    pub(super) fn take(&mut self) -> Old {
        if let Some(work) = self.work.take() {
            work.abort();
        }
        Old { connection: self.connection.take(), tally: self.tally.clone() }
    }
    /// Ends it on behalf of whoever does not want it any more.
    pub(super) fn shut(&mut self) -> Old {
        self.closings += 1;
        self.fingerprint = None;
        self.failed = None;
        self.take()
    }
    /// It was not shut since this was asked for.
    pub(super) fn still_wants(&self, asked: &Pending) -> bool {
        self.closings == asked.closings
    }
    /// Nothing is, runs or is asked for here.
    pub(super) fn is_unused(&self) -> bool {
        self.connection.is_none() && self.work.is_none() && self.state.borrow().pending == 0
    }
    /// The connection, if it takes calls.
    pub(super) fn open(&self) -> Option<&Arc<Connection>> {
        self.connection.as_ref().filter(|connection| connection.is_open())
    }
}

/// Counts as an unanswered request until it is dropped, however its task ends.
pub(super) struct Pending {
    state: watch::Sender<State>,
    closings: u64,
}

impl Pending {
    pub(super) fn new(slot: &Slot) -> Self {
        slot.state.send_modify(|state| state.pending += 1);
        Self { state: slot.state.clone(), closings: slot.closings }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.state.send_modify(|state| state.pending -= 1);
    }
}

impl Shared {
    pub(super) fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something is asked for this slot; nothing when the pool is shut.
    pub(super) fn begin(&self, key: &Key) -> Option<Pending> {
        let mut slots = self.slots();
        if slots.shut {
            return None;
        }
        Some(Pending::new(slots.by_key.entry(key.clone()).or_insert_with(Slot::new)))
    }

    /// What is wanted is what is connected.
    pub(super) fn runs(&self, key: &Key, fingerprint: &str) -> bool {
        self.slots().by_key.get(key).is_some_and(|slot| slot.fingerprint.as_deref() == Some(fingerprint) && slot.open().is_some())
    }

    /// Changes a slot's state and tells everybody; called under the lock, so that changes come in order.
    pub(super) fn tell(&self, key: &Key, slot: &Slot, health: Health) {
        slot.state.send_modify(|state| state.health = health.clone());
        // Nobody reads any more when the app ends.
        let _ = self.changes.send(Change { conversation: key.conversation.clone(), server: key.server.clone(), health });
    }

    pub(super) fn used(&self, key: &Key, connection: &Arc<Connection>, asked: bool) {
        if let Some(slot) = self.slots().by_key.get_mut(key)
            && slot.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection))
        {
            slot.used = Instant::now();
            slot.relisted &= !asked;
        }
    }

    /// Takes a connection that is no longer of use out of its slot, if it is still there.
    pub(super) fn let_go(&self, key: &Key, connection: &Arc<Connection>, health: Health) {
        let mut slots = self.slots();
        if let Some(slot) = slots.by_key.get_mut(key)
            && slot.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection))
        {
            slot.connection = None;
            slot.failed = None;
            if slot.work.is_none() {
                self.tell(key, slot, health);
            }
        }
    }

    /// Makes room for one more live connection: the longest idle go first, busy ones never (B24).
    pub(super) fn make_room(&self) {
        let mut slots = self.slots();
        loop {
            let live = slots.by_key.values().filter(|slot| slot.connection.is_some() || slot.work.is_some()).count();
            if live <= self.bounds.live {
                return;
            }
            let idle = slots
                .by_key
                .iter()
                .filter(|(_, slot)| slot.work.is_none() && slot.connection.as_ref().is_some_and(|c| !c.is_busy()));
            let Some(key) = idle.min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone()) else { return };
            self.close_slot(&mut slots, &key, "too many servers are running, and this one was idle longest");
        }
    }

    pub(super) fn close_slot(&self, slots: &mut Slots, key: &Key, why: &str) {
        let Some(slot) = slots.by_key.get_mut(key) else { return };
        if let Some(connection) = slot.connection.take() {
            self.logs.of(&key.server).write(Source::Mework, &format!("Closing: {why}"));
            tokio::spawn(async move { connection.close().await });
            self.tell(key, slot, Health::Idle);
        }
    }
}
