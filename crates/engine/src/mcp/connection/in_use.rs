//! Whether a connection is in use, and when it ends because nobody uses it any more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Whether a connection is in use, and whether it is to end. One that is to end takes no new calls, and ends when those
/// that run side by side are over.
pub(super) struct Use {
    state: Mutex<UseState>,
    stop: watch::Sender<bool>,
}

#[derive(Default)]
pub(super) struct UseState {
    pub(super) running: usize,
    pub(super) retired: bool,
}

impl Use {
    /// `stop` is told when it is to end.
    pub(super) fn new(stop: watch::Sender<bool>) -> Self {
        Self { state: Mutex::default(), stop }
    }
    pub(super) fn state(&self) -> MutexGuard<'_, UseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(super) fn retire(&self) {
        let mut state = self.state();
        state.retired = true;
        if state.running == 0 {
            self.stop.send_replace(true);
        }
    }
    /// Ends now, whatever runs.
    pub(super) fn end(&self) {
        self.stop.send_replace(true);
    }
    pub(super) fn begin(self: &Arc<Self>) -> Running {
        self.state().running += 1;
        Running(self.clone())
    }
}

pub(super) struct Running(Arc<Use>);

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        if state.running == 0 && state.retired {
            self.0.stop.send_replace(true);
        }
    }
}
