//! The connections of all conversations (B20, B24): what is wanted against what is running. One that hangs delays no
//! other; an entry that changed closes its old connection and starts afresh; idle ones are closed.
//!
//! It starts only what it is handed. Whether a server may start at all, consent, is decided above.

mod slot;
mod work;

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::connection::{CallError, Connection, ToolLists};
use super::log::Logs;
use super::result::CallResult;
use super::wire::Progress;
use super::{Era, Failure, Health, Stage};
use crate::config::{Server, ServerId};
use crate::limits;
use crate::tools::ServerTools;
use crate::tools::arguments::Arguments;

use slot::{Key, Pending, Shared, Slot, Slots};
use work::{close_idle, list_again, reconcile, relist_if_changed};

/// How long closing everything may take when the app ends; what is left then ends with the app.
const SHUTDOWN: Duration = Duration::from_secs(8);

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
    /// B20: for one listing, and how long a call waits for a server that still starts.
    pub list: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            idle: limits::IDLE_CLOSE,
            live: limits::LIVE_CONNECTIONS,
            start: limits::START_TIMEOUT,
            list: limits::LISTING_TIMEOUT,
        }
    }
}

/// Cheap to clone; all clones are one pool.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

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
                let pending = Pending::new(slot);
                *generation += 1;
                list_again(&self.0, key, slot, connection, *generation, lists.clone(), pending);
            }
        }
    }

    /// Calls a tool by the server's name for it, connecting first when that is needed. The call's time limit begins
    /// when it is sent; connecting has [`Bounds::list`].
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

    /// Connects what a call needs, and waits for its tools, [`Bounds::list`] at most.
    pub async fn ready(&self, conversation: &str, wanted: Wanted) -> Result<Arc<ServerTools>, Failure> {
        let server = wanted.server.id.clone();
        self.ensure(conversation, vec![wanted], Effort::Call);
        match timeout(self.0.bounds.list, self.settled(conversation, &server)).await {
            Ok(Health::Connected { tools, .. }) => Ok(tools),
            waited => Err(self.not_ready(waited)),
        }
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
        let waited = timeout(self.0.bounds.list, self.settled(&key.conversation, &key.server)).await;
        open().ok_or_else(|| self.not_ready(waited))
    }

    /// Why there is nothing to call after this was waited for.
    fn not_ready(&self, waited: Result<Health, Elapsed>) -> Failure {
        match waited {
            Ok(Health::Failed { failure }) => failure,
            Ok(Health::Idle | Health::Connecting { .. } | Health::Connected { .. }) => {
                Failure::plain(Stage::Start, "The server was closed before the call could be sent.")
            }
            Err(_) => {
                let patience = self.0.bounds.list.as_secs_f64().ceil();
                let message = format!("The server was not ready within {patience} s. It is still starting; try again.");
                Failure::plain(Stage::Handshake, message)
            }
        }
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
        // The slots stay until nothing is left of what they held: what is asked for meanwhile waits for that.
        let (keys, closing): (Vec<Key>, Vec<_>) = {
            let mut slots = self.0.slots();
            let closing = slots.by_key.iter_mut().filter(|(key, _)| which(key));
            let closing = closing.map(|(key, slot)| {
                let old = slot.shut();
                self.0.tell(key, slot, Health::Idle);
                (key.clone(), old.close())
            });
            closing.unzip()
        };
        join_all(closing).await;
        let mut slots = self.0.slots();
        for key in keys {
            if slots.by_key.get(&key).is_some_and(Slot::is_unused) {
                slots.by_key.remove(&key);
            }
        }
    }
}
