//! How one slot gets to what is wanted: started afresh, listed again, or left alone; and what is done for it later by itself.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant as Clock};

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::super::connection::{Connection, Prepared, ToolLists, expand};
use super::super::log::Source;
use super::super::{Failure, Health};
use super::slot::{Key, Old, Pending, Shared, Slot};
use super::{Effort, Wanted};
use crate::config::Server;
use crate::machine::process::Tally;
use crate::tools::ServerTools;

/// A start that failed is not tried again in the background for this long; a turn or a call tries at once.
const QUIET_RETRY: Duration = Duration::from_secs(30);

/// Brings one slot to what is wanted: leaves it, lists again, or starts afresh.
pub(super) async fn reconcile(shared: Arc<Shared>, key: Key, wanted: Wanted, effort: Effort, pending: Pending) {
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
    let Some(slot) = slots.by_key.get_mut(&key).filter(|slot| slot.still_wants(&pending)) else { return };
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
pub(super) fn list_again(
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
            connection.list_tools(shared.bounds.list).await.map(|tools| (connection, tools))
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
    let listed = connection.list_tools(shared.bounds.list).await.map(|tools| (connection.clone(), tools));
    finish(&shared, &key, generation, listed);
    drop(pending);
    // It may have changed again while it was listed.
    relist_if_changed(&shared, &key, &connection);
}

/// Lists again what said that its tools changed, between calls: who calls has seen the tools as they were.
pub(super) fn relist_if_changed(shared: &Arc<Shared>, key: &Key, connection: &Arc<Connection>) {
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
        let pending = Pending::new(slot);
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

pub(super) async fn close_idle(shared: Weak<Shared>, idle: Duration) {
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
