//! Other processes on the same data folder: what they write shows here too, and nothing is lost (B41).

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Engine;
use crate::error::Result;
use crate::machine::process::sweep;
use crate::store::{Lease, now};
use crate::wire::{CallState, Entry, EntryBody, Event};

/// How often to look whether another process wrote. Looking is one read of one number.
const LOOK: Duration = Duration::from_millis(500);
/// How long a conversation stays with this process after it was changed without being opened. Longer than any change takes.
const KEPT: Duration = Duration::from_secs(30);
/// The same after it was opened: who looks at it without touching it holds nobody up for ever.
const KEPT_OPEN: Duration = Duration::from_secs(10 * 60);

impl Engine {
    /// `seen`: what [`crate::store::Store::changed_by_others`] said before the state was read that windows start from.
    pub(super) fn watch_others(self: &Arc<Self>, mut seen: i64) {
        let engine = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut held = Vec::new();
            loop {
                tokio::time::sleep(LOOK).await;
                let Some(engine) = engine.upgrade() else { return };
                engine.give_back_idle().await;
                let Ok(now) = engine.store.changed_by_others().await else { continue };
                // A process that was killed writes nothing, but its conversations are free.
                let holds = engine.store.held_by_others().await.unwrap_or_default();
                if now == seen && holds == held {
                    continue;
                }
                (seen, held) = (now, holds);
                if let Err(e) = engine.see_others().await {
                    tracing::warn!("what another process wrote could not be read: {e}");
                }
            }
        });
    }

    async fn see_others(&self) -> Result<()> {
        self.publish_lists().await?;
        self.publish_settings().await?;
        for id in self.open_ones().await {
            if !self.is_mine(&id) {
                self.publish_entries(&id).await?;
            }
            self.publish_conversation(&id).await?;
        }
        Ok(())
    }

    pub(super) fn mine(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.mine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A conversation that nobody changes or calls in is free for other processes again, sooner if nobody looks at it. It
    /// comes back with the next change made here, unless another process has it by then.
    async fn give_back_idle(&self) {
        let open = self.open_ones().await;
        let kept = |id: &String| if open.contains(id) { KEPT_OPEN } else { KEPT };
        let is_idle = |(id, used): (&String, &Instant)| used.elapsed() > kept(id) && !self.calls_in(id);
        let idle: Vec<String> = self.mine().iter().filter(|one| is_idle(*one)).map(|(id, _)| id.clone()).collect();
        for conversation in idle {
            let _taking = self.taking.lock().await;
            // It may have been used while others were given back.
            if self.mine().get_key_value(&conversation).is_some_and(is_idle) {
                self.give_back(&conversation).await;
            }
        }
    }

    /// For who holds [`Engine::taking`].
    pub(super) async fn give_back(&self, conversation: &str) {
        self.mine().remove(conversation);
        if let Err(e) = self.store.give_back(conversation).await {
            tracing::warn!("a conversation could not be given back: {e}");
        }
    }

    pub(super) fn is_mine(&self, conversation: &str) -> bool {
        self.mine().contains_key(conversation)
    }

    /// What processes that died left behind: servers that still run, and calls that say they are under way (B35, B41).
    pub(super) async fn clear_up(&self) -> Result<()> {
        // It can take seconds, and nothing that starts now is touched by it.
        tokio::task::spawn_blocking(sweep);
        for conversation in self.store.counts().await?.into_keys() {
            let _taking = self.taking.lock().await;
            if self.store.take(&conversation).await? == Lease::Taken {
                let ended = self.end_leftovers(&conversation).await;
                self.give_back(&conversation).await;
                ended?;
            }
        }
        Ok(())
    }

    /// This process has the conversation now. Calls that its last owner left under way are over: that process is gone, and
    /// everything it started with it. For who holds [`Engine::taking`]: no call of ours is under way in it yet.
    pub(super) async fn end_leftovers(&self, conversation: &str) -> Result<()> {
        self.publish_entries(conversation).await?;
        for mut entry in self.store.under_way(conversation).await? {
            let EntryBody::Call(call) = &mut entry.body else { continue };
            call.state = match call.state {
                CallState::Running { .. } => CallState::Failed {
                    message: "Mework ended while the call ran. Whether the server finished it is not known.".into(),
                    stderr: vec![],
                    elapsed_ms: None,
                },
                _ => CallState::NotRun { reason: "Mework ended before the call started.".into() },
            };
            call.ended_at = Some(now());
            self.put_entry(conversation, &entry).await?;
        }
        self.mine().insert(conversation.to_owned(), Instant::now());
        self.publish_lists().await
    }

    /// Keeps an entry and tells everyone.
    pub(super) async fn put_entry(&self, conversation: &str, entry: &Entry) -> Result<()> {
        self.store.put_entry(conversation, entry).await?;
        self.events.send(Event::Entry { conversation: conversation.to_owned(), entry: Box::new(entry.clone()) });
        Ok(())
    }
}
