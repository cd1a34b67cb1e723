//! The files of conversations that windows look at are followed, so that their lists are never old (B16).

use std::sync::{Arc, PoisonError, Weak};

use tokio::sync::Notify;

use super::Engine;
use crate::config::watch::Watcher;

/// Started with the engine; set to follow what windows look at.
pub(super) struct Follow {
    watcher: Watcher,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follow {
    /// `engine` is told through a task of its own: the watcher must never wait for it.
    pub(super) fn new(engine: &Weak<Engine>) -> Self {
        let changed = Arc::new(Notify::new());
        let watcher = Watcher::new({
            let changed = changed.clone();
            move |_| changed.notify_one()
        });
        let engine = engine.clone();
        let task = tokio::spawn(async move {
            loop {
                changed.notified().await;
                let Some(engine) = engine.upgrade() else { return };
                if let Err(e) = engine.publish_open().await {
                    tracing::warn!("changed files could not be shown: {e}");
                }
            }
        });
        Self { watcher, task }
    }
}

impl Engine {
    /// Watches the levels of the open conversations and no others.
    pub(super) async fn follow(&self) {
        let mut levels = vec![self.global()];
        for id in self.open_ones().await {
            let Ok(Some(row)) = self.store.conversation(&id).await else { continue };
            for (_, level) in self.levels(&row).await.unwrap_or_default() {
                if !levels.iter().any(|known| known.scope == level.scope) {
                    levels.push(level);
                }
            }
        }
        let follow = self.follow.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(follow) = follow {
            follow.watcher.set_levels(levels).await;
        }
    }
}
