//! One method per thing a person can do.

mod calls;
mod connections;
mod conversations;
mod edit;
pub mod events;
mod files;
mod follow;
pub mod host;
mod logs;
mod look;
mod once;
mod others;
mod plan;
mod publish;
mod servers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::approval::queue::Queue;
use crate::config::{self, Level, Listing};
use crate::error::{Error, Result};
use crate::machine::{Machine, Surroundings};
use crate::mcp::log::Logs;
use crate::mcp::pool::{Bounds, Pool};
use crate::store::{Opened, Store, StoreError};
use crate::text::Scrubber;
use crate::wire::*;

pub use events::Subscription;
pub use host::{Capabilities, Headless, Host, Noteworthy};
pub use look::{Database, Look};

/// Who decides about one call when there is no window to show a card in: a terminal.
pub trait Asker: Send + Sync {
    /// Shows the card and waits. `card.why` says whether `--yes` may answer it: only [`crate::approval::Why::Level`].
    fn ask(&self, card: Card) -> BoxFuture<'_, Answer>;
    /// The call moved on (progress included).
    fn state(&self, _state: &CallState) {}
}

/// A person's answer to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub allow: bool,
    /// Kept in the record: "a person on the command line", "--yes".
    pub by: String,
    /// With a yes: what the person made of the arguments, as JSON text.
    pub arguments: Option<String>,
    /// Why not; reaches whoever asked for the call.
    pub reason: Option<String>,
}

/// One call without a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOnce {
    /// The server's id.
    pub server: String,
    pub tool: String,
    pub arguments: CallArguments,
    /// The digest of the consent view a person agreed to, when one was needed.
    pub digest: Option<String>,
}

/// The arguments of a call that is made outside a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallArguments {
    /// A JSON object; sent exactly as written.
    Json(String),
    /// `key=value`, read by [`crate::tools::pairs::arguments`] once the tool's schema is known.
    Pairs(Vec<(String, String)>),
}

pub struct Engine {
    data: PathBuf,
    host: Arc<dyn Host>,
    machine: Machine,
    client: String,
    store: Arc<Store>,
    pool: Pool,
    eras: Arc<connections::RememberedEras>,
    badges: connections::Badges,
    calls: calls::Calls,
    events: events::Events,
    queue: Queue,
    /// What windows were told last.
    published: tokio::sync::Mutex<publish::Published>,
    /// Conversations this process may change, and when it last wanted to.
    mine: Mutex<BTreeMap<String, Instant>>,
    /// Held while a conversation is taken or given back, so that nobody acts on an answer that holds no more.
    taking: tokio::sync::Mutex<()>,
    /// Set while the engine is open.
    follow: Mutex<Option<Arc<follow::Follow>>>,
    /// The command line's workspaces.
    brought: Mutex<Vec<PathBuf>>,
    /// Changing requests, each run once.
    pub(crate) once: once::Once,
    /// About the start itself.
    notices: Vec<String>,
    first_start: bool,
}

impl From<StoreError> for Error {
    fn from(e: StoreError) -> Self {
        let words = e.to_string();
        let mut chars = words.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        Self::failed(format!("{first}{}.", chars.as_str()))
    }
}

/// What opening the database found, in words.
fn notices(opened: Opened) -> Vec<String> {
    let Opened { set_aside, migrated } = opened;
    let set_aside = set_aside.map(|aside| {
        format!(
            "The database was damaged and could not be read. It was set aside as {}, and a new one was begun.",
            aside.display()
        )
    });
    let migrated = migrated
        .map(|copy| format!("The database was brought to this version's format. The old one is kept as {}.", copy.display()));
    set_aside.into_iter().chain(migrated).collect()
}

impl Engine {
    /// What a person should know about this start.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Opens the data folder and everything in it. `client` says who this is where people read it ("the window",
    /// "mework serve"): another process that finds a conversation taken shows it (B41).
    pub async fn open(surroundings: Surroundings, host: Arc<dyn Host>, client: &str) -> Result<Arc<Self>> {
        let (store, opened) = Store::open(&surroundings.data, client).await?;
        let notices = host.notices().into_iter().chain(self::notices(opened)).collect();
        let first_start = !store.has_conversations().await?;
        let store = Arc::new(store);
        let eras = Arc::new(connections::RememberedEras::load(store.clone()).await?);
        let (pool, changes) = Pool::new(Logs::new(Scrubber::default()), eras.clone(), Bounds::default());
        let engine = Arc::new(Self {
            data: surroundings.data.clone(),
            host,
            machine: Machine::local(surroundings),
            client: client.to_owned(),
            store,
            pool,
            eras,
            badges: connections::Badges::default(),
            calls: calls::Calls::default(),
            events: events::Events::default(),
            queue: Queue::default(),
            published: tokio::sync::Mutex::default(),
            mine: Mutex::default(),
            taking: tokio::sync::Mutex::default(),
            follow: Mutex::default(),
            brought: Mutex::default(),
            once: once::Once::default(),
            notices,
            first_start,
        });
        engine.clear_up().await?;
        let seen = engine.store.changed_by_others().await?;
        engine.publish_silently().await?;
        engine.watch_others(seen);
        engine.watch_cards();
        engine.watch_pool(changes);
        engine.watch_logs();
        *engine.follow.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Arc::new(follow::Follow::new(&Arc::downgrade(&engine))));
        Ok(engine)
    }

    /// Every event from now on. Subscribe first, then take a snapshot, then apply events with a greater number.
    pub fn subscribe(&self) -> Subscription {
        self.events.subscribe()
    }

    /// Stops calls, closes connections, gives conversations back; bounded in time. The engine is of no use afterwards.
    pub async fn shutdown(&self) {
        self.follow.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.end_calls().await;
        self.pool.shutdown().await;
        if tokio::time::timeout(calls::ENDING, self.machine.emptied()).await.is_err() {
            tracing::warn!("a server has not ended yet; its supervisor goes on ending it");
        }
        if let Err(e) = self.store.leave().await {
            tracing::warn!("the database was not left in order: {e}");
        }
    }

    /// The command line's workspaces, in order: known to this engine only, kept nowhere. Methods that are given no
    /// conversation look for servers in the global file and in these.
    pub fn bring_workspaces(&self, folders: Vec<PathBuf>) {
        *self.brought.lock().unwrap_or_else(PoisonError::into_inner) = folders;
    }

    /// The global level and those of [`Engine::bring_workspaces`], read now.
    pub async fn listings(&self) -> Vec<(Level, Listing)> {
        look::listings(&self.machine, &self.brought()).await
    }

    fn brought(&self) -> Vec<PathBuf> {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything a window needs first.
    pub async fn snapshot(&self, _: Empty) -> Result<Snapshot> {
        // Read first: what happens from here on comes as events too.
        let seq = self.events.seq();
        let capabilities = self.host.capabilities();
        Ok(Snapshot {
            seq,
            app: AppInfo {
                version: env!("CARGO_PKG_VERSION").into(),
                platform: std::env::consts::OS.into(),
                global_file: config::list(&self.global()).await.file.to_string_lossy().into_owned(),
                data_dir: self.data.to_string_lossy().into_owned(),
                first_start: self.first_start,
                can_pick_folder: capabilities.pick_folder,
                can_reveal: capabilities.reveal,
                notifies: capabilities.notify,
            },
            settings: self.settings().await?,
            workspaces: self.workspaces_now().await?,
            conversations: self.summaries().await?,
            cards: self.cards().await?,
            notices: self.notices.clone(),
        })
    }
}
