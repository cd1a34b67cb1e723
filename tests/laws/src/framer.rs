//! The framer hands out the same messages, counts the same noise and ends for the same reason however a stream arrives and
//! however often waiting for it is given up; bounds hold to the byte.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use mework_engine::limits::{LOG_LINE_BYTES, STDIO_MESSAGE_BYTES, STDOUT_NOISE_BYTES};
use mework_engine::mcp::framer::{Ended, Framer, Noise};
use mework_engine::mcp::log::Logs;
use mework_engine::text::Scrubber;
use tokio::io::{AsyncRead, ReadBuf};

use crate::stream::Stream;

/// What the framer showed of a stream.
struct Seen {
    messages: Vec<Vec<u8>>,
    end: Ended,
    noise: usize,
    sample: Vec<String>,
}

pub fn law(data: &[u8]) {
    let Some(stream) = Stream::of(data) else { return };
    let (whole, pieces) = (seen([stream.bytes.as_slice()].into_iter()), seen(stream.pieces()));
    let lines = || stream.bytes.split(|byte| *byte == b'\n');
    // A slow machine may take long enough for a flood, and where white space alone breaks a bound, it depends on the
    // pieces which bound that is.
    let floods = [&whole, &pieces].iter().any(|seen| seen.end == Ended::Flood);
    let blank = |line: &[u8]| line.len() - line.trim_ascii_start().len();
    let after_bracket = |line: &[u8]| line.iter().position(|byte| *byte == b'[').map_or(0, |at| blank(&line[at + 1..]));
    if floods || lines().any(|line| blank(line).max(after_bracket(line)) > STDOUT_NOISE_BYTES / 2) {
        return;
    }
    assert_eq!((&whole.messages, whole.noise, &whole.end), (&pieces.messages, pieces.noise, &pieces.end));
    // What is kept of a line that is too long to keep depends on the pieces, too.
    if lines().all(|line| line.len() <= LOG_LINE_BYTES) {
        assert_eq!(whole.sample, pieces.sample);
    }
    assert_eq!((whole.messages, whole.noise, whole.end), expected(&stream.bytes));
}

/// The same in a simple way, for a stream that is there as a whole.
fn expected(bytes: &[u8]) -> (Vec<Vec<u8>>, usize, Ended) {
    let (mut messages, mut noise, mut noise_bytes) = (Vec::new(), 0, 0);
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let last = lines.pop().filter(|last| !last.is_empty());
    for line in lines.into_iter().chain(last) {
        // The beginning of a byte-order mark is as good as nothing.
        let text = match line {
            b"\xEF" | b"\xEF\xBB" => b"",
            _ => line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii_start(),
        };
        // A list of messages, or what may become one.
        let list = text.first() == Some(&b'[') && matches!(text[1..].trim_ascii_start().first(), None | Some(b'{'));
        match text.first() {
            Some(b'{' | b'[') if (list || text[0] == b'{') && line.len() > STDIO_MESSAGE_BYTES => {
                return (messages, noise, Ended::TooLong);
            }
            Some(b'{') => messages.push(text.trim_ascii_end().to_vec()),
            Some(b'[') if list => messages.push(text.trim_ascii_end().to_vec()),
            Some(_) => {
                noise += usize::from(noise_bytes + line.len() - text.len() <= STDOUT_NOISE_BYTES);
                noise_bytes += line.len();
            }
            None => noise_bytes += line.len() + 1,
        }
        if noise_bytes > STDOUT_NOISE_BYTES {
            return (messages, noise, Ended::TooMuchNoise);
        }
    }
    (messages, noise, Ended::Closed)
}

fn seen<'a>(pieces: impl Iterator<Item = &'a [u8]> + Unpin) -> Seen {
    let id = "native:local:/mcp.json#server".parse().expect("a server's id");
    let noise = Noise::new(Logs::new(Scrubber::default()).of(&id));
    let mut framer = Framer::new(Pieces { pieces, rest: &[], waited: false });
    let mut messages = Vec::new();
    let end = loop {
        // Whoever waits for a message may stop waiting at any time, and ask again.
        match pin!(framer.next(&noise)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(message)) => messages.push(message.to_vec()),
            Poll::Ready(Err(end)) => break end,
            Poll::Pending => {}
        }
    };
    let (noise, sample) = noise.seen();
    Seen { messages, end, noise, sample }
}

/// Has nothing yet before each piece.
struct Pieces<'a, I> {
    pieces: I,
    rest: &'a [u8],
    waited: bool,
}

impl<'a, I: Iterator<Item = &'a [u8]> + Unpin> AsyncRead for Pieces<'a, I> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            self.waited = !self.waited;
            if self.waited {
                return Poll::Pending;
            }
            self.rest = self.pieces.next().unwrap_or_default();
        }
        let (now, later) = self.rest.split_at(buffer.remaining().min(self.rest.len()));
        self.rest = later;
        buffer.put_slice(now);
        Poll::Ready(Ok(()))
    }
}
