//! Cuts a stdio server's output into lines of protocol messages. Everything is bounded while it is read (B21, rows 23, 24, 37):
//! one message, the lines that are no message, and how many come in a second. Past a bound the stream ends at once, with
//! an error that names it.
//!
//! It knows lines, not MCP: whether a JSON object is a protocol message is decided by its reader, which hands back
//! what is not.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::time::Instant;

use super::http::Fault;
use super::log::{ServerLog, Source};
use crate::limits;

/// Lines of noise that are kept to be shown.
const SAMPLE_LINES: usize = 5;
/// Bytes kept of each.
const SAMPLE_BYTES: usize = 300;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Why nothing more comes from a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    #[error("It sent a message longer than {} MiB, the limit for one message.", limits::STDIO_MESSAGE_BYTES >> 20)]
    TooLong,
    #[error(
        "It wrote more than {} MiB to stdout that is no protocol message. A server has to keep stdout for the protocol and log to stderr.",
        limits::STDOUT_NOISE_BYTES >> 20
    )]
    TooMuchNoise,
    #[error("It sent more than {} messages a second for {} seconds.", limits::FLOOD_MESSAGES_PER_SECOND, limits::FLOOD_SECONDS)]
    Flood,
    #[error("It sent {} requests without reading an answer.", limits::UNANSWERED_REQUESTS)]
    Unanswered,
    #[error("It closed its stdout.")]
    Closed,
    #[error("It closed its stdin, so nothing can be asked of it.")]
    Unwritable,
    #[error("Reading from it failed: {0}.")]
    Io(String),
    #[error(transparent)]
    Http(#[from] Fault),
}

/// Lines on stdout that were no protocol message.
#[derive(Debug)]
pub struct Noise {
    kept: Mutex<Kept>,
    log: ServerLog,
}

#[derive(Debug, Default)]
struct Kept {
    lines: usize,
    bytes: usize,
    sample: Vec<String>,
}

impl Noise {
    pub fn new(log: ServerLog) -> Self {
        Self { kept: Mutex::default(), log }
    }

    /// Counts a line (`bytes` long, `start` is how it begins); an error when that was too much.
    pub fn line(&self, start: &[u8], bytes: usize) -> Result<(), Ended> {
        let text = String::from_utf8_lossy(start);
        let mut text = text.trim_start_matches('\u{feff}').trim().to_owned();
        if bytes > start.len() {
            text.push('…');
        }
        self.log.write(Source::Stdout, &text);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.lines += 1;
        if kept.sample.len() < SAMPLE_LINES {
            let line = self.log.scrubber().show_cut(&text, SAMPLE_BYTES);
            kept.sample.push(line);
        }
        kept.bytes += bytes;
        if kept.bytes > limits::STDOUT_NOISE_BYTES { Err(Ended::TooMuchNoise) } else { Ok(()) }
    }

    /// White space counts, but there is nothing to show of it.
    fn blank(&self, bytes: usize) -> Result<(), Ended> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += bytes;
        if kept.bytes > limits::STDOUT_NOISE_BYTES { Err(Ended::TooMuchNoise) } else { Ok(()) }
    }

    /// What a person should know of it, if there is any.
    pub fn notice(&self) -> Option<String> {
        let (lines, sample) = self.seen();
        let what = if lines == 1 { "1 line to stdout that is".into() } else { format!("{lines} lines to stdout that are") };
        Some(format!(
            "It wrote {what} no MCP message, such as `{}`. That was ignored; a server should log to stderr.",
            crate::text::cut(sample.first()?, 120)
        ))
    }

    /// How many lines, and the first few, scrubbed and safe to show.
    pub fn seen(&self) -> (usize, Vec<String>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.lines, kept.sample.clone())
    }
}

/// The lines of a stream that begin like a JSON object, or like a list of them.
pub struct Framer<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Bytes of the current line, those that were not kept included.
    length: usize,
    /// Bytes of white space that it began with and that were not kept.
    blank: usize,
    /// As much of `line` as is a bracket and white space; what that begins is not known yet.
    open: usize,
    /// `line` was handed out; the next read starts a new one.
    taken: bool,
    flood: Gauge,
}

#[derive(PartialEq)]
enum Kind {
    Blank,
    /// A bracket: a list of messages, or words, as most are of a log: `[info] ready`.
    Open,
    Message,
    Noise,
}

/// What a line is whose first `blank` bytes were white space and are gone. It is asked again with each piece that comes,
/// however small, so that what is known to be `open` is not looked through again.
fn kind(line: &[u8], blank: usize, open: usize) -> Kind {
    let word = |line: &[u8]| line.iter().position(|byte| !byte.is_ascii_whitespace());
    let after_bracket = |line: &[u8]| match word(line).map(|at| line[at]) {
        None => Kind::Open,
        Some(b'{') => Kind::Message,
        Some(_) => Kind::Noise,
    };
    if open > 0 {
        return after_bracket(&line[open..]);
    }
    // The mark may still be arriving.
    let line = if blank == 0 && BOM.starts_with(line) { &[] } else { content(line, blank) };
    match word(line).map(|at| (line[at], &line[at + 1..])) {
        None => Kind::Blank,
        Some((b'{', _)) => Kind::Message,
        Some((b'[', rest)) => after_bracket(rest),
        Some(_) => Kind::Noise,
    }
}

/// Without a byte-order mark, which may stand only where the line begins.
fn content(line: &[u8], blank: usize) -> &[u8] {
    line.strip_prefix(BOM).filter(|_| blank == 0).unwrap_or(line)
}

impl<R: AsyncRead + Unpin> Framer<R> {
    pub fn new(read: R) -> Self {
        Self {
            read: BufReader::with_capacity(16 * 1024, read),
            line: Vec::new(),
            length: 0,
            blank: 0,
            open: 0,
            taken: false,
            flood: Gauge::new(Instant::now()),
        }
    }

    /// Counts messages that came in the last line beside the first.
    pub fn count(&mut self, messages: usize) -> Result<(), Ended> {
        let now = Instant::now();
        (0..messages).try_for_each(|_| self.flood.count(now))
    }

    /// The next line that begins like a JSON object or a list of them, without its line end. Noise goes to `noise`. May be
    /// dropped and called again at any time: a partial line is kept.
    pub async fn next(&mut self, noise: &Noise) -> Result<&[u8], Ended> {
        loop {
            if self.taken {
                self.taken = false;
                (self.length, self.blank, self.open) = (0, 0, 0);
                self.line.clear();
                // A large message must not keep its memory for ever.
                self.line.shrink_to(64 * 1024);
            }
            let available = self.read.fill_buf().await.map_err(|error| Ended::Io(error.to_string()))?;
            let at_end = available.is_empty();
            if at_end && self.length == 0 {
                return Err(Ended::Closed);
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let part = newline.map_or(available, |at| &available[..at]);
            let used = newline.map_or(available.len(), |at| at + 1);
            self.length += part.len();
            let keep = match kind(&self.line, self.blank, self.open) {
                Kind::Noise => limits::LOG_LINE_BYTES.saturating_sub(self.line.len()).min(part.len()),
                Kind::Blank | Kind::Open | Kind::Message => part.len(),
            };
            self.line.extend_from_slice(&part[..keep]);
            self.read.consume(used);

            let kind = kind(&self.line, self.blank, self.open);
            if kind == Kind::Open {
                self.open = self.line.len();
            }
            if kind == Kind::Blank && (self.blank > 0 || !BOM.starts_with(&self.line)) {
                // White space before a message means nothing, however much of it comes.
                self.blank += self.line.len();
                self.line.clear();
            }
            match kind {
                Kind::Open | Kind::Message if self.length > limits::STDIO_MESSAGE_BYTES => return Err(Ended::TooLong),
                Kind::Noise | Kind::Blank if self.length > limits::STDOUT_NOISE_BYTES => {
                    self.noise(noise)?;
                    return Err(Ended::TooMuchNoise);
                }
                _ => {}
            }
            if newline.is_none() && !at_end {
                continue;
            }
            self.taken = true;
            self.flood.count(Instant::now())?;
            match kind {
                Kind::Open | Kind::Message => return Ok(content(&self.line, self.blank).trim_ascii()),
                Kind::Noise => self.noise(noise)?,
                Kind::Blank => noise.blank(self.length + 1)?,
            }
        }
    }

    fn noise(&self, noise: &Noise) -> Result<(), Ended> {
        let words = content(&self.line, self.blank).trim_ascii_start();
        let before = self.blank + self.line.len() - words.len();
        noise.blank(before)?;
        noise.line(&words[..words.len().min(limits::LOG_LINE_BYTES)], self.length - before)
    }
}

/// Ends a stream that sends too many messages for too long (row 24).
#[derive(Debug)]
pub(super) struct Gauge {
    second: Instant,
    messages: usize,
    loud_seconds: u32,
}

impl Gauge {
    pub fn new(now: Instant) -> Self {
        Self { second: now, messages: 0, loud_seconds: 0 }
    }

    pub fn count(&mut self, now: Instant) -> Result<(), Ended> {
        let passed = now.duration_since(self.second);
        if passed >= Duration::from_secs(1) {
            let loud = self.messages > limits::FLOOD_MESSAGES_PER_SECOND && passed < Duration::from_secs(2);
            self.loud_seconds = if loud { self.loud_seconds + 1 } else { 0 };
            self.second = now;
            self.messages = 0;
        }
        self.messages += 1;
        if self.loud_seconds >= limits::FLOOD_SECONDS { Err(Ended::Flood) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncWriteExt, ReadBuf};

    use super::super::log::Logs;
    use super::*;
    use crate::text::Scrubber;

    fn noise() -> Noise {
        let id = "native:local:/h/mcp.json#a".parse().unwrap();
        Noise::new(Logs::new(Scrubber::default()).of(&id))
    }

    /// Everything the framer hands out, its end, and the noise it counted.
    async fn frames(input: Vec<u8>) -> (Vec<String>, Ended, (usize, Vec<String>)) {
        let (mut write, read) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            let _ = write.write_all(&input).await;
        });
        let noise = noise();
        let mut framer = Framer::new(read);
        let mut lines = Vec::new();
        loop {
            match framer.next(&noise).await {
                Ok(line) => lines.push(String::from_utf8(line.to_vec()).unwrap()),
                Err(end) => return (lines, end, noise.seen()),
            }
        }
    }

    /// Complaint 29, and the line ends of Windows.
    #[tokio::test]
    async fn noise_is_counted_and_messages_come_through() {
        let input = "\u{feff}{\"a\":1}\r\nhello\n\n  {\"b\":2}\n[1]\n [ {\"c\":3}]\n\u{feff}npm warn\r\n{\"last\":3}";
        let (lines, end, (count, sample)) = frames(input.into()).await;
        assert_eq!(lines, ["{\"a\":1}", "{\"b\":2}", "[ {\"c\":3}]", "{\"last\":3}"]);
        assert_eq!((end, count), (Ended::Closed, 3));
        assert_eq!(sample, ["hello", "[1]", "npm warn"]);
    }

    #[tokio::test]
    async fn row_23_one_message_is_4_mib_at_most() {
        let message = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        let (lines, end, _) = frames((message(limits::STDIO_MESSAGE_BYTES) + "\n").into()).await;
        assert_eq!((lines[0].len(), end), (limits::STDIO_MESSAGE_BYTES, Ended::Closed));
        let (lines, end, _) = frames(message(limits::STDIO_MESSAGE_BYTES + 1).into()).await;
        assert_eq!((lines.len(), end.clone()), (0, Ended::TooLong));
        assert_eq!(end.to_string(), "It sent a message longer than 4 MiB, the limit for one message.");
    }

    #[tokio::test]
    async fn row_37_noise_is_bounded_in_one_line_and_in_many() {
        let (_, end, (count, sample)) = frames(vec![b'x'; limits::STDOUT_NOISE_BYTES + 1]).await;
        assert_eq!((end, count, sample[0].len()), (Ended::TooMuchNoise, 1, SAMPLE_BYTES));
        let mut many = vec![b'x'; 1023];
        many.push(b'\n');
        let (_, end, (count, sample)) = frames(many.repeat(5000)).await;
        assert_eq!((end, count, sample.len()), (Ended::TooMuchNoise, 4101, SAMPLE_LINES));
        let (lines, end, (count, _)) = frames(b"[info] ready\n".repeat(3)).await;
        assert_eq!((lines.len(), end, count), (0, Ended::Closed, 3));
        let (_, end, (count, _)) = frames(vec![b'\n'; 500]).await;
        assert_eq!((end, count), (Ended::Closed, 0));
        let (_, end, _) = frames(vec![b' '; limits::STDOUT_NOISE_BYTES + 1]).await;
        assert_eq!(end, Ended::TooMuchNoise);
    }

    #[tokio::test]
    async fn memory_of_a_noise_line_is_bounded() {
        let (mut write, read) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            let _ = write.write_all(&vec![b'x'; 1024 * 1024]).await;
            let _ = write.write_all(b"\n{}\n").await;
        });
        let mut framer = Framer::new(read);
        let noise = noise();
        let _ = framer.next(&noise).await.unwrap();
        assert!(framer.line.capacity() <= 128 * 1024, "{}", framer.line.capacity());
    }

    /// What stands before a line's words arrives in pieces, or with them.
    #[tokio::test]
    async fn white_space_and_marks_mean_the_same_in_pieces() {
        let noise = noise();
        let (mut write, read) = tokio::io::duplex(1);
        tokio::spawn(async move {
            let _ = write.write_all("   hello\n  \u{feff}{\"a\":1}\n \u{feff}\n\u{feff} {\"b\":2}\n".as_bytes()).await;
        });
        let mut framer = Framer::new(read);
        assert_eq!(framer.next(&noise).await.unwrap(), b"{\"b\":2}");
        assert_eq!(noise.seen(), (3, vec!["hello".into(), "{\"a\":1}".into(), String::new()]));
    }

    struct ByteByByte<'a>(&'a [u8]);

    impl AsyncRead for ByteByByte<'_> {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
            let (now, later) = self.0.split_at(self.0.len().min(1));
            self.0 = later;
            buffer.put_slice(now);
            Poll::Ready(Ok(()))
        }
    }

    /// It comes byte by byte. Who looked through all of it again with each would need minutes for this, and hours for the
    /// longest message that is allowed.
    #[tokio::test]
    async fn what_is_known_of_a_line_is_not_looked_for_again() {
        let blank = " ".repeat(128 * 1024);
        for (line, is_message) in
            [(format!("[{blank}{{}}]"), true), (format!("{{{blank}}}"), true), (format!("[{blank}x"), false)]
        {
            let noise = noise();
            let sent = format!("{line}\n{{\"next\":1}}\n");
            let mut framer = Framer::new(ByteByByte(sent.as_bytes()));
            if is_message {
                assert!(framer.next(&noise).await.unwrap() == line.as_bytes());
            }
            assert_eq!(framer.next(&noise).await.unwrap(), b"{\"next\":1}");
            assert_eq!(noise.seen().0, usize::from(!is_message));
        }
    }

    #[tokio::test]
    async fn a_dropped_read_loses_nothing() {
        let (mut write, read) = tokio::io::duplex(64);
        let noise = noise();
        let mut framer = Framer::new(read);
        write.write_all(b"{\"a\"").await.unwrap();
        tokio::select! {
            biased;
            _ = framer.next(&noise) => panic!("the line is not complete"),
            () = std::future::ready(()) => {}
        }
        write.write_all(b":1}\n").await.unwrap();
        assert_eq!(framer.next(&noise).await.unwrap(), b"{\"a\":1}");
    }

    #[tokio::test(start_paused = true)]
    async fn row_24_a_flood_ends_after_five_seconds_and_a_burst_does_not() {
        let mut gauge = Gauge::new(Instant::now());
        let mut second = |messages: usize| {
            let mut result = Ok(());
            for _ in 0..messages {
                result = result.and(gauge.count(Instant::now()));
            }
            result
        };
        for _ in 0..4 {
            assert_eq!(second(1001), Ok(()));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(second(1000), Ok(()));
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..5 {
            assert_eq!(second(1001), Ok(()));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(second(1), Err(Ended::Flood));
    }
}
