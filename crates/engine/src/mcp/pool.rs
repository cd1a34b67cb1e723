//! The connections of all conversations (B20, B24): what is wanted against what is running. One that hangs delays no
//! other; an entry that changed closes its old connection and starts afresh; idle ones are closed.
//!
//! It starts only what it is handed. Whether a server may start at all, consent, is decided above.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant as Clock};

use futures_util::future::join_all;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::connection::{CallError, Connection, Prepared, ToolLists, expand};
use super::log::{Logs, Source};
use super::result::CallResult;
use super::wire::Progress;
use super::{Era, Failure, Health, Stage};
use crate::config::{Server, ServerId};
use crate::limits;
use crate::machine::process::Tally;
use crate::tools::ServerTools;
use crate::tools::arguments::Arguments;

/// A start that failed is not tried again in the background for this long; a turn or a call tries at once.
const QUIET_RETRY: Duration = Duration::from_secs(30);
/// How long closing everything may take when the app ends; what is left then ends with the app.
const SHUTDOWN: Duration = Duration::from_secs(8);
/// A process that nobody holds is asked, terminated and killed within this time; one that is left then hangs in the kernel.
const ENDING: Duration = limits::STDIN_CLOSE_GRACE.saturating_add(limits::TERMINATE_GRACE).saturating_add(Duration::from_secs(5));

/// Which greeting a server answered to last time, kept from run to run.
pub trait Eras: Send + Sync {
    fn remembered(&self, server: &ServerId) -> Option<Era>;
    fn remember(&self, server: &ServerId, era: Era);
}

/// A server to be connected, and the folder it starts in when its entry names none.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub server: Server,
    pub cwd: PathBuf,
}

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// In the background: connect what is not connected, list again what says that it changed, leave a fresh failure alone.
    Quiet,
    /// A turn begins: also list again, and retry failures.
    Turn,
    /// A call: retry a failure; the list is known.
    Call,
}

/// A connection's state changed. They come in order, none is left out.
#[derive(Debug, Clone)]
pub struct Change {
    pub conversation: String,
    pub server: ServerId,
    pub health: Health,
}

/// The pool's numbers; the product's are the default, tests shorten them.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// B24: how long without use until a connection closes.
    pub idle: Duration,
    /// B24: live connections in the app.
    pub live: usize,
    /// For one start in the background, the download of a package included. A turn waits as long as it likes.
    pub start: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { idle: limits::IDLE_CLOSE, live: limits::LIVE_CONNECTIONS, start: limits::START_TIMEOUT }
    }
}

/// Cheap to clone; all clones are one pool.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    logs: Logs,
    eras: Arc<dyn Eras>,
    bounds: Bounds,
    changes: mpsc::UnboundedSender<Change>,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<Key, Slot>,
    generation: u64,
    /// Nothing starts any more.
    shut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    conversation: String,
    server: ServerId,
}

struct Slot {
    /// Which start this state belongs to; what an older one still reports is not heard.
    generation: u64,
    connection: Option<Arc<Connection>>,
    /// Of the connection, or of the start that is running.
    fingerprint: Option<String>,
    /// The lists of tools that its own list goes by, or that of the start or listing that is running.
    lists: ToolLists,
    work: Option<AbortHandle>,
    /// The processes of the newest start, and what it waits for: they may outlive the work and the connection.
    tally: Tally,
    state: watch::Sender<State>,
    used: Instant,
    failed: Option<Instant>,
    /// Tools once seen to need a person: that stays, whatever the server says later (row 6).
    need_person: HashSet<String>,
    /// It was listed again of its own accord since it was last asked for: once is enough, however often it says that its
    /// tools changed (row 24).
    relisted: bool,
}

/// What a slot held before something newer took its place; what it was doing has been aborted.
struct Old {
    connection: Option<Arc<Connection>>,
    tally: Tally,
}

impl Old {
    /// Returns when nothing is left of it.
    async fn close(self) {
        if let Some(connection) = self.connection {
            connection.close().await;
        }
        // A start that was given up, and what had been closed before, end by themselves.
        let _ = timeout(ENDING, self.tally.empty()).await;
    }
}

#[derive(Clone)]
struct State {
    health: Health,
    /// Requests to connect or list that are not answered yet.
    pending: usize,
}

impl Slot {
    fn new() -> Self {
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
            relisted: false,
        }
    }
    /// Ends what it is doing; what it held is for the caller to close.
    fn take(&mut self) -> Old {
        if let Some(work) = self.work.take() {
            work.abort();
        }
        Old { connection: self.connection.take(), tally: self.tally.clone() }
    }
    /// The connection, if it takes calls.
    fn open(&self) -> Option<&Arc<Connection>> {
        self.connection.as_ref().filter(|connection| connection.is_open())
    }
}

/// Counts as an unanswered request until it is dropped, however its task ends.
struct Pending(watch::Sender<State>);

impl Pending {
    fn new(state: &watch::Sender<State>) -> Self {
        state.send_modify(|state| state.pending += 1);
        Self(state.clone())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.pending -= 1);
    }
}

impl Pool {
    /// Changes are to be read for as long as the pool lives.
    pub fn new(logs: Logs, eras: Arc<dyn Eras>, bounds: Bounds) -> (Self, mpsc::UnboundedReceiver<Change>) {
        let (changes, receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared { logs, eras, bounds, changes, slots: Mutex::default() });
        tokio::spawn(close_idle(Arc::downgrade(&shared), bounds.idle));
        (Self(shared), receiver)
    }

    pub fn logs(&self) -> &Logs {
        &self.0.logs
    }

    /// Connects what is wanted, all side by side, and returns at once; [`Pool::settled`] waits.
    pub fn ensure(&self, conversation: &str, wanted: Vec<Wanted>, effort: Effort) {
        for wanted in wanted {
            let key = Key { conversation: conversation.into(), server: wanted.server.id.clone() };
            if let Some(pending) = self.0.begin(&key) {
                tokio::spawn(reconcile(self.0.clone(), key, wanted, effort, pending));
            }
        }
    }

    /// Waits until everything that was asked for this server so far is answered. How long is up to the caller.
    pub async fn settled(&self, conversation: &str, server: &ServerId) -> Health {
        let key = Key { conversation: conversation.into(), server: server.clone() };
        let Some(mut state) = self.0.slots().by_key.get(&key).map(|slot| slot.state.subscribe()) else { return Health::Idle };
        match state.wait_for(|state| state.pending == 0).await {
            Ok(state) => state.health.clone(),
            Err(_) => Health::Idle,
        }
    }

    pub fn health(&self, conversation: &str, server: &ServerId) -> Health {
        let key = Key { conversation: conversation.into(), server: server.clone() };
        self.0.slots().by_key.get(&key).map_or(Health::Idle, |slot| slot.state.borrow().health.clone())
    }

    /// A server's connections: the conversation of each, and whether something runs on it.
    pub fn live(&self, server: &ServerId) -> Vec<(String, bool)> {
        let slots = self.0.slots();
        let of_it = slots.by_key.iter().filter(|(key, _)| key.server == *server);
        let live = of_it.filter(|(_, slot)| slot.connection.is_some() || slot.work.is_some());
        live.map(|(key, slot)| (key.conversation.clone(), slot.connection.as_ref().is_some_and(|c| c.is_busy()))).collect()
    }

    /// An entry's lists of tools changed and nothing else: its open connections go on, and list their tools again.
    pub fn relist(&self, server: &Server) {
        let lists = ToolLists::of(server);
        let mut slots = self.0.slots();
        let Slots { by_key, generation, shut } = &mut *slots;
        if *shut {
            return;
        }
        for (key, slot) in by_key.iter_mut().filter(|(key, _)| key.server == server.id) {
            let connection = slot.open().filter(|c| c.server().connection_digest == server.connection_digest).cloned();
            if let Some(connection) = connection.filter(|_| slot.lists != lists) {
                let pending = Pending::new(&slot.state);
                *generation += 1;
                list_again(&self.0, key, slot, connection, *generation, lists.clone(), pending);
            }
        }
    }

    /// Calls a tool by the server's name for it, connecting first when that is needed. The call's time limit begins
    /// when it is sent; connecting has [`limits::LISTING_TIMEOUT`].
    pub async fn call(
        &self,
        conversation: &str,
        wanted: Wanted,
        tool: &str,
        arguments: &Arguments,
        progress: Option<mpsc::Sender<Progress>>,
        cancel: impl Future<Output = ()>,
    ) -> Result<CallResult, CallError> {
        let limit = wanted.server.call_timeout;
        let key = Key { conversation: conversation.into(), server: wanted.server.id.clone() };
        tokio::pin!(cancel);
        let connection = tokio::select! {
            connection = self.connected(&key, wanted) => connection.map_err(CallError::NotConnected)?,
            () = &mut cancel => return Err(CallError::Cancelled),
        };
        self.0.used(&key, &connection, true);
        let answer = connection.call(tool, arguments, limit, progress, cancel).await;
        self.0.used(&key, &connection, false);
        relist_if_changed(&self.0, &key, &connection);
        if !connection.is_open() {
            let health = match &answer {
                Err(CallError::Broken(failure)) => Health::Failed { failure: failure.clone() },
                _ => Health::Idle,
            };
            self.0.let_go(&key, &connection, health);
        }
        answer
    }

    async fn connected(&self, key: &Key, wanted: Wanted) -> Result<Arc<Connection>, Failure> {
        let open = || self.0.slots().by_key.get(key).and_then(|slot| slot.open().cloned());
        if let Some(pending) = self.0.begin(key) {
            reconcile(self.0.clone(), key.clone(), wanted, Effort::Call, pending).await;
        }
        // A listing that runs is no reason to wait.
        if let Some(connection) = open() {
            return Ok(connection);
        }
        let health = timeout(limits::LISTING_TIMEOUT, self.settled(&key.conversation, &key.server)).await;
        if let Some(connection) = open() {
            return Ok(connection);
        }
        Err(match health {
            Ok(Health::Failed { failure }) => failure,
            Ok(Health::Idle | Health::Connecting { .. } | Health::Connected { .. }) => {
                Failure::plain(Stage::Start, "The server was closed before the call could be sent.")
            }
            Err(_) => Failure::plain(
                Stage::Handshake,
                format!(
                    "The server was not ready within {} s. It is still starting; try again.",
                    limits::LISTING_TIMEOUT.as_secs()
                ),
            ),
        })
    }

    /// Ends one conversation's connection to a server, when it is unticked. It is gone when this returns.
    pub async fn close(&self, conversation: &str, server: &ServerId) {
        let key = Key { conversation: conversation.into(), server: server.clone() };
        self.close_where(|k| *k == key).await;
    }

    /// Ends a conversation's connections.
    pub async fn close_conversation(&self, conversation: &str) {
        self.close_where(|key| key.conversation == conversation).await;
    }

    /// Ends everything; nothing starts afterwards.
    pub async fn shutdown(&self) {
        self.0.slots().shut = true;
        let _ = timeout(SHUTDOWN, self.close_where(|_| true)).await;
    }

    async fn close_where(&self, which: impl Fn(&Key) -> bool) {
        let removed: Vec<(Key, Slot)> = {
            let mut slots = self.0.slots();
            let keys: Vec<Key> = slots.by_key.keys().filter(|key| which(key)).cloned().collect();
            keys.into_iter().filter_map(|key| slots.by_key.remove_entry(&key)).collect()
        };
        let closing = removed.into_iter().map(|(key, mut slot)| async move {
            slot.take().close().await;
            self.0.tell(&key, &slot, Health::Idle);
        });
        join_all(closing).await;
    }
}

impl Shared {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something is asked for this slot; nothing when the pool is shut.
    fn begin(&self, key: &Key) -> Option<Pending> {
        let mut slots = self.slots();
        if slots.shut {
            return None;
        }
        Some(Pending::new(&slots.by_key.entry(key.clone()).or_insert_with(Slot::new).state))
    }

    /// What is wanted is what is connected.
    fn runs(&self, key: &Key, fingerprint: &str) -> bool {
        self.slots().by_key.get(key).is_some_and(|slot| slot.fingerprint.as_deref() == Some(fingerprint) && slot.open().is_some())
    }

    /// Changes a slot's state and tells everybody; called under the lock, so that changes come in order.
    fn tell(&self, key: &Key, slot: &Slot, health: Health) {
        slot.state.send_modify(|state| state.health = health.clone());
        // Nobody reads any more when the app ends.
        let _ = self.changes.send(Change { conversation: key.conversation.clone(), server: key.server.clone(), health });
    }

    fn used(&self, key: &Key, connection: &Arc<Connection>, asked: bool) {
        if let Some(slot) = self.slots().by_key.get_mut(key)
            && slot.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection))
        {
            slot.used = Instant::now();
            slot.relisted &= !asked;
        }
    }

    /// Takes a connection that is no longer of use out of its slot, if it is still there.
    fn let_go(&self, key: &Key, connection: &Arc<Connection>, health: Health) {
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
    fn make_room(&self) {
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

    fn close_slot(&self, slots: &mut Slots, key: &Key, why: &str) {
        let Some(slot) = slots.by_key.get_mut(key) else { return };
        if let Some(connection) = slot.connection.take() {
            self.logs.of(&key.server).write(Source::Mework, &format!("Closing: {why}"));
            tokio::spawn(async move { connection.close().await });
            self.tell(key, slot, Health::Idle);
        }
    }
}

/// Brings one slot to what is wanted: leaves it, lists again, or starts afresh.
async fn reconcile(shared: Arc<Shared>, key: Key, wanted: Wanted, effort: Effort, pending: Pending) {
    let log = shared.logs.of(&key.server);
    let prepared = match expand(&wanted.server, &wanted.cwd, &log) {
        // It was found there when the server that runs was started.
        Ok(prepared) if shared.runs(&key, prepared.fingerprint()) => Ok(prepared),
        Ok(prepared) => prepared.checked(&wanted.server).await,
        Err(failure) => Err(failure),
    };
    let mut slots = shared.slots();
    if slots.shut {
        return;
    }
    slots.generation += 1;
    let generation = slots.generation;
    // Closed in the meantime.
    let Some(slot) = slots.by_key.get_mut(&key) else { return };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            let old = replace(slot, generation, None);
            slot.failed = Some(Instant::now());
            log.write(Source::Mework, &failure.message);
            shared.tell(&key, slot, Health::Failed { failure });
            tokio::spawn(old.close());
            return;
        }
    };
    let same = slot.fingerprint.as_deref() == Some(prepared.fingerprint());
    let lists = ToolLists::of(&wanted.server);
    let other_lists = slot.lists != lists;
    if same && slot.work.is_some() && !other_lists {
        // What is running already answers this request too: whoever waits, waits for it.
        return;
    }
    match slot.open().cloned().filter(|_| same) {
        Some(connection) => {
            let again = match effort {
                Effort::Turn => true,
                Effort::Quiet => *connection.tools_changed().borrow(),
                Effort::Call => false,
            };
            if again || other_lists {
                list_again(&shared, &key, slot, connection, generation, lists, pending);
            }
        }
        None => {
            let fresh_failure = slot.failed.is_some_and(|at| at.elapsed() < QUIET_RETRY);
            if same && !other_lists && effort == Effort::Quiet && fresh_failure {
                return;
            }
            let old = replace(slot, generation, Some(prepared.fingerprint().to_string()));
            slot.lists = lists;
            shared.tell(&key, slot, Health::Connecting { since: Clock::now() });
            slot.tally = Tally::default();
            let start = Start { server: wanted.server, prepared, old, tally: slot.tally.clone() };
            let work = tokio::spawn(connect(shared.clone(), key, start, generation, pending));
            slot.work = Some(work.abort_handle());
        }
    }
}

/// Asks a connection for its tools again, by these lists; a listing that runs goes by older ones and is not heard.
fn list_again(
    shared: &Arc<Shared>,
    key: &Key,
    slot: &mut Slot,
    connection: Arc<Connection>,
    generation: u64,
    lists: ToolLists,
    pending: Pending,
) {
    if let Some(work) = slot.work.take() {
        work.abort();
    }
    slot.generation = generation;
    slot.relisted = false;
    connection.set_lists(lists.clone());
    slot.lists = lists;
    let work = tokio::spawn(relist(shared.clone(), key.clone(), connection, generation, pending));
    slot.work = Some(work.abort_handle());
}

/// Ends what a slot was doing; what it held is for the caller to close.
fn replace(slot: &mut Slot, generation: u64, fingerprint: Option<String>) -> Old {
    slot.generation = generation;
    slot.fingerprint = fingerprint;
    slot.failed = None;
    slot.take()
}

/// What a connection is started from, and after what.
struct Start {
    server: Server,
    prepared: Prepared,
    old: Old,
    tally: Tally,
}

async fn connect(shared: Arc<Shared>, key: Key, start: Start, generation: u64, pending: Pending) {
    let Start { server, prepared, old, tally } = start;
    // The old one may hold what the new one needs: a port, a lock. It counts as this start's, so that whoever gives this
    // start up waits for it too.
    let counted = tally.count();
    let closing = tokio::spawn(async move {
        old.close().await;
        drop(counted);
    });
    let _ = closing.await;
    shared.make_room();
    let log = shared.logs.of(&key.server);
    let remembered = shared.eras.remembered(&key.server);
    let opened = Connection::open(&server, prepared, remembered, &log, shared.bounds.start, &mut |_| {}, &tally).await;
    let listed = match opened {
        Ok(connection) => {
            let era = connection.peer().era;
            if remembered != Some(era) {
                shared.eras.remember(&key.server, era);
            }
            let connection = Arc::new(connection);
            connection.subscribe().await;
            connection.list_tools(limits::LISTING_TIMEOUT).await.map(|tools| (connection, tools))
        }
        Err(failure) => Err(failure),
    };
    let connection = listed.as_ref().ok().map(|(connection, _)| connection.clone());
    finish(&shared, &key, generation, listed);
    drop(pending);
    if let Some(connection) = connection {
        relist_if_changed(&shared, &key, &connection);
    }
}

async fn relist(shared: Arc<Shared>, key: Key, connection: Arc<Connection>, generation: u64, pending: Pending) {
    let listed = connection.list_tools(limits::LISTING_TIMEOUT).await.map(|tools| (connection.clone(), tools));
    finish(&shared, &key, generation, listed);
    drop(pending);
    // It may have changed again while it was listed.
    relist_if_changed(&shared, &key, &connection);
}

/// Lists again what said that its tools changed, between calls: who calls has seen the tools as they were.
fn relist_if_changed(shared: &Arc<Shared>, key: &Key, connection: &Arc<Connection>) {
    let mut slots = shared.slots();
    if slots.shut || !*connection.tools_changed().borrow() || connection.is_busy() || !connection.is_open() {
        return;
    }
    slots.generation += 1;
    let generation = slots.generation;
    let Some(slot) = slots.by_key.get_mut(key).filter(|slot| slot.work.is_none() && !slot.relisted) else { return };
    if slot.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
        slot.relisted = true;
        slot.generation = generation;
        let pending = Pending::new(&slot.state);
        let work = tokio::spawn(relist(shared.clone(), key.clone(), connection.clone(), generation, pending));
        slot.work = Some(work.abort_handle());
    }
}

/// Hears of changed tools for as long as a connection lives.
async fn follow(shared: Weak<Shared>, key: Key, connection: Weak<Connection>, mut changed: watch::Receiver<bool>) {
    while changed.wait_for(|changed| *changed).await.is_ok() {
        let (Some(shared), Some(connection)) = (shared.upgrade(), connection.upgrade()) else { return };
        relist_if_changed(&shared, &key, &connection);
        drop((shared, connection));
        if changed.wait_for(|changed| !*changed).await.is_err() {
            return;
        }
    }
}

/// Puts what came of a start or a listing into the slot, if nothing newer replaced it.
fn finish(shared: &Arc<Shared>, key: &Key, generation: u64, listed: Result<(Arc<Connection>, ServerTools), Failure>) {
    let mut slots = shared.slots();
    let Some(slot) = slots.by_key.get_mut(key).filter(|slot| slot.generation == generation) else { return };
    slot.work = None;
    slot.used = Instant::now();
    match listed {
        Ok((connection, mut tools)) => {
            for tool in &mut tools.tools {
                if tool.requires_user_interaction {
                    slot.need_person.insert(tool.name.clone());
                } else if slot.need_person.contains(&tool.name) {
                    tool.requires_user_interaction = true;
                    tool.always_asks = true;
                }
            }
            let since = match &slot.state.borrow().health {
                Health::Connected { since, .. } => *since,
                Health::Idle | Health::Connecting { .. } | Health::Failed { .. } => Clock::now(),
            };
            let health = Health::Connected { since, peer: connection.peer().clone(), tools: Arc::new(tools) };
            let new = !slot.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, &connection));
            slot.connection = Some(connection.clone());
            shared.tell(key, slot, health);
            if new {
                let (pool, weak) = (Arc::downgrade(shared), Arc::downgrade(&connection));
                tokio::spawn(watch_over(pool.clone(), key.clone(), weak.clone(), connection.until_broken()));
                tokio::spawn(follow(pool, key.clone(), weak, connection.tools_changed()));
            }
        }
        Err(failure) => {
            slot.connection = None;
            slot.failed = Some(Instant::now());
            shared.tell(key, slot, Health::Failed { failure });
        }
    }
}

/// Says at once when a server ends by itself, not only when it is called next.
async fn watch_over(
    shared: Weak<Shared>,
    key: Key,
    connection: Weak<Connection>,
    broken: impl Future<Output = Failure> + Send + 'static,
) {
    let failure = broken.await;
    let (Some(shared), Some(connection)) = (shared.upgrade(), connection.upgrade()) else { return };
    let health = if connection.is_retired() { Health::Idle } else { Health::Failed { failure } };
    shared.let_go(&key, &connection, health);
}

async fn close_idle(shared: Weak<Shared>, idle: Duration) {
    let pause = (idle / 20).clamp(Duration::from_millis(20), Duration::from_secs(30));
    loop {
        sleep(pause).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut slots = shared.slots();
        let old: Vec<Key> = slots
            .by_key
            .iter()
            .filter(|(_, slot)| slot.work.is_none() && slot.used.elapsed() >= idle)
            .filter(|(_, slot)| slot.connection.as_ref().is_some_and(|connection| !connection.is_busy()))
            .map(|(key, _)| key.clone())
            .collect();
        for key in old {
            shared.close_slot(&mut slots, &key, "nothing used it for a while");
        }
    }
}
