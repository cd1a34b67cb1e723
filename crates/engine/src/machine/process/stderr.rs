//! What a server writes to stderr: always read, so that it never blocks, and bounded however much it writes (row 23).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{broadcast, watch};

use crate::limits::{LOG_LINE_BYTES, STDERR_RING_BYTES};

/// Lines a subscriber may fall behind before it misses some.
const BEHIND: usize = 1024;

/// Always drained, the last [`STDERR_RING_BYTES`] kept, lines cut at [`LOG_LINE_BYTES`], raw text (whoever shows it
/// scrubs it and makes control characters visible).
#[derive(Debug, Clone)]
pub struct Stderr {
    ring: Arc<Mutex<Ring>>,
    lines: broadcast::Sender<String>,
    /// Waits for the first reader since before the first byte was read, so that it misses nothing.
    first: Arc<Mutex<Option<broadcast::Receiver<String>>>>,
    ended: watch::Receiver<bool>,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<String>,
    /// Of all `lines` together.
    bytes: usize,
    /// The line that has no end yet: a question, or last words.
    open: Vec<u8>,
    /// The open line is longer than what is kept of it.
    cut: bool,
}

impl Ring {
    /// Takes what was read and gives back the lines that it completed.
    fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            let (text, ends) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            let room = LOG_LINE_BYTES - self.open.len();
            self.open.extend_from_slice(&text[..text.len().min(room)]);
            self.cut |= text.len() > room;
            if ends {
                complete.extend(self.close());
            }
        }
        complete
    }
    /// Ends the open line.
    fn close(&mut self) -> Option<String> {
        let line = self.open_line();
        self.open.clear();
        self.cut = false;
        let line = line?;
        self.bytes += line.len();
        self.lines.push_back(line.clone());
        while self.bytes > STDERR_RING_BYTES
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len();
        }
        Some(line)
    }
    /// `None` for an empty line: it says nothing and would push out one that does.
    fn open_line(&self) -> Option<String> {
        let text = self.open.strip_suffix(b"\r").unwrap_or(&self.open);
        let mut line = String::from_utf8_lossy(text).into_owned();
        if self.cut {
            line.push('…');
        }
        (!line.trim().is_empty()).then_some(line)
    }
}

impl Stderr {
    pub(super) fn drain(mut from: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let (end, ended) = watch::channel(false);
        let (lines, first) = broadcast::channel(BEHIND);
        let this = Self { ring: Arc::default(), lines, first: Arc::new(Mutex::new(Some(first))), ended };
        let (ring, lines) = (this.ring.clone(), this.lines.clone());
        tokio::spawn(async move {
            let mut buffer = vec![0; 8 * 1024];
            // Nobody listening is no error: the ring is read at any time.
            let tell = |complete: Vec<String>| {
                for line in complete {
                    let _ = lines.send(line);
                }
            };
            while let Ok(n) = from.read(&mut buffer).await
                && n > 0
            {
                tell(lock(&ring).take(&buffer[..n]));
            }
            tell(lock(&ring).close().into_iter().collect());
            let _ = end.send(true);
        });
        this
    }
    /// The last `n` lines that are not empty, one that was not ended included.
    pub fn tail(&self, n: usize) -> Vec<String> {
        let ring = lock(&self.ring);
        let open = ring.open_line();
        let complete = n.saturating_sub(usize::from(open.is_some()));
        let skip = ring.lines.len().saturating_sub(complete);
        ring.lines.iter().skip(skip).cloned().chain(open.filter(|_| n > 0)).collect()
    }
    /// Each line, for the server's log: from the very first for the first who asks, from now on for others. A reader that
    /// falls far behind misses lines and is told so.
    pub fn subscribe(&self) -> broadcast::Receiver<String> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.lines.subscribe())
    }
    /// Resolves when stderr was read to its end, or after `limit`, so that a message about a dead server has its last words.
    pub async fn settled(&self, limit: Duration) {
        let mut ended = self.ended.clone();
        // A drain that is gone has read all it ever will.
        let _ = tokio::time::timeout(limit, ended.wait_for(|ended| *ended)).await;
    }
}

fn lock(ring: &Mutex<Ring>) -> std::sync::MutexGuard<'_, Ring> {
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    async fn of(text: impl AsRef<[u8]>) -> Stderr {
        let (mut write, read) = tokio::io::duplex(1 << 20);
        let stderr = Stderr::drain(read);
        write.write_all(text.as_ref()).await.unwrap();
        drop(write);
        stderr.settled(Duration::from_secs(10)).await;
        stderr
    }

    #[tokio::test]
    async fn keeps_the_last_lines() {
        let stderr = of("a\n\nb\r\nc \u{fffd}\nlast").await;
        assert_eq!(stderr.tail(9), ["a", "b", "c \u{fffd}", "last"]);
        assert_eq!(stderr.tail(2), ["c \u{fffd}", "last"]);
        assert_eq!(stderr.tail(0), Vec::<String>::new());
        assert_eq!(of(b"\xff\xfe").await.tail(1), ["\u{fffd}\u{fffd}"]);
    }

    #[tokio::test]
    async fn a_line_without_an_end_counts_while_the_server_waits() {
        let (mut write, read) = tokio::io::duplex(64);
        let stderr = Stderr::drain(read);
        let mut lines = stderr.subscribe();
        write.write_all(b"one\nPassword: ").await.unwrap();
        assert_eq!(lines.recv().await.unwrap(), "one");
        assert_eq!(stderr.tail(5), ["one", "Password: "]);
        assert_eq!(stderr.tail(1), ["Password: "]);
        drop(write);
        assert_eq!(lines.recv().await.unwrap(), "Password: ");
    }

    #[tokio::test]
    async fn the_first_reader_misses_nothing_however_late_it_comes() {
        let stderr = of("one\ntwo\n").await;
        let mut lines = stderr.subscribe();
        assert_eq!((lines.recv().await.unwrap(), lines.recv().await.unwrap()), ("one".into(), "two".into()));
    }

    #[tokio::test]
    async fn is_bounded_whatever_is_written_row_23() {
        let stderr = of(vec![b'x'; 1 << 20]).await;
        let tail = stderr.tail(9);
        assert_eq!(tail.len(), 1);
        assert_eq!(tail[0].len(), LOG_LINE_BYTES + '…'.len_utf8());
        let text: String = (0..100_000).map(|i| format!("line {i}\n")).collect();
        let stderr = of(text).await;
        assert_eq!(stderr.tail(2), ["line 99998", "line 99999"]);
        let kept: usize = stderr.tail(usize::MAX).iter().map(String::len).sum();
        assert!(kept <= STDERR_RING_BYTES && kept > STDERR_RING_BYTES - 20, "{kept}");
    }

    #[tokio::test(start_paused = true)]
    async fn does_not_wait_for_ever_for_last_words() {
        let (_write, read) = tokio::io::duplex(64);
        Stderr::drain(read).settled(Duration::from_millis(200)).await;
    }
}
