//! The event stream: every event gets the next number, every reader gets every event or is told to take a new snapshot.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::wire::{Envelope, Event};

/// A reader that is further behind than this takes a new snapshot.
const BACKLOG: usize = 1024;

pub struct Events {
    /// Held while numbering and sending, so that numbers arrive in order.
    sending: Mutex<broadcast::Sender<Envelope>>,
    seq: AtomicU64,
}

impl Default for Events {
    fn default() -> Self {
        Self { sending: Mutex::new(broadcast::channel(BACKLOG).0), seq: AtomicU64::new(0) }
    }
}

impl Events {
    pub fn send(&self, event: Event) {
        let sender = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = self.seq.fetch_add(1, Ordering::SeqCst) + 1;
        // Nobody listening is no error: a snapshot brings a later reader up to date.
        let _ = sender.send(Envelope::Event { seq, event });
    }
    /// The number of the last event. Whoever builds a snapshot reads this first: events sent while it is being built are then
    /// applied on top of it, which changes nothing, since events carry whole values.
    pub fn seq(&self) -> u64 {
        self.seq.load(Ordering::SeqCst)
    }
    pub fn subscribe(&self) -> Subscription {
        Subscription(self.sending.lock().unwrap_or_else(PoisonError::into_inner).subscribe())
    }
}

/// One reader of the event stream.
pub struct Subscription(broadcast::Receiver<Envelope>);

impl Subscription {
    /// The next event, [`Envelope::Resync`] when events were missed, `None` when the engine is gone. Cancel-safe.
    pub async fn next(&mut self) -> Option<Envelope> {
        match self.0.recv().await {
            Ok(envelope) => Some(envelope),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Envelope::Resync),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(text: &str) -> Event {
        Event::Notice { text: text.into() }
    }

    #[tokio::test]
    async fn every_reader_gets_every_event_numbered_from_one() {
        let events = Events::default();
        events.send(notice("before anyone listened"));
        let mut reader = events.subscribe();
        events.send(notice("a"));
        events.send(notice("b"));
        assert_eq!(events.seq(), 3);
        assert_eq!(reader.next().await, Some(Envelope::Event { seq: 2, event: notice("a") }));
        assert_eq!(reader.next().await, Some(Envelope::Event { seq: 3, event: notice("b") }));
        drop(events);
        assert_eq!(reader.next().await, None);
    }

    #[tokio::test]
    async fn a_reader_that_fell_behind_is_told_to_take_a_new_snapshot_and_goes_on() {
        let events = Events::default();
        let mut slow = events.subscribe();
        for n in 0..=BACKLOG {
            events.send(notice(&n.to_string()));
        }
        assert_eq!(slow.next().await, Some(Envelope::Resync));
        assert_eq!(slow.next().await, Some(Envelope::Event { seq: 2, event: notice("1") }));
    }
}
