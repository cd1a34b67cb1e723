//! The reader finds the same events however a stream arrives, as the WHATWG's rules have it; what an event may hold and how
//! long a reconnection is put off is bounded.

use std::time::Duration;

use mework_engine::limits::HTTP_MESSAGE_BYTES;
use mework_engine::mcp::http::sse::{Event, Place, Reader, TooLong};

use crate::stream::Stream;

/// Ids and names longer than this are not kept.
const WORD_BYTES: usize = 4096;

pub fn law(data: &[u8]) {
    let Some(stream) = Stream::of(data) else { return };
    let (pieces, too_long) = events(stream.pieces());
    let mut place = Place::default();
    let mut last_id = None;
    for event in &pieces {
        let words = [&event.id, &event.name];
        assert!(event.data.len() <= HTTP_MESSAGE_BYTES && words.into_iter().flatten().all(|word| word.len() <= WORD_BYTES));
        place.saw(event);
        if let Some(id) = &event.id {
            let sendable = !id.is_empty() && id.bytes().all(|byte| byte == b'\t' || byte >= b' ' && byte != 0x7F);
            last_id = sendable.then_some(id.as_bytes());
        }
        let pauses = [0, 1, 6, u32::MAX].map(|fruitless| place.pause(fruitless));
        assert!(pauses.iter().all(|pause| (Duration::from_millis(50)..=Duration::from_secs(30)).contains(pause)));
    }
    assert_eq!(place.last_id.as_ref().map(|id| id.as_bytes()), last_id);

    let (expected, longest, rest) = expected(&stream.bytes);
    if longest.max(rest) <= HTTP_MESSAGE_BYTES {
        assert_eq!((&pieces, too_long), (&expected, false));
    } else {
        // Which of two long events breaks the bound may depend on the pieces; nothing is made up, and nothing is left out.
        assert!(expected.starts_with(&pieces));
        assert!(too_long || pieces == expected);
        assert!(too_long || expected.iter().all(|event| event.data.len() <= HTTP_MESSAGE_BYTES));
    }
}

fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Event>, bool) {
    let (mut reader, mut events) = (Reader::default(), Vec::new());
    for piece in pieces {
        reader.buffer.extend_from_slice(piece);
        loop {
            match reader.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(TooLong) => return (events, true),
            }
        }
        assert!(reader.buffer.len() <= HTTP_MESSAGE_BYTES, "{} bytes are kept", reader.buffer.len());
    }
    (events, false)
}

/// The same in a simple way, for a stream that is there as a whole; with how many bytes the longest event takes, and what
/// is there of an event that has no end yet.
fn expected(bytes: &[u8]) -> (Vec<Event>, usize, usize) {
    let (mut lines, mut line, mut bytes) = (Vec::new(), Vec::new(), bytes.iter().copied().peekable());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if_eq(&b'\n');
                lines.push(std::mem::take(&mut line));
            }
            b'\n' => lines.push(std::mem::take(&mut line)),
            _ => line.push(byte),
        }
    }
    if let Some(first) = lines.first_mut()
        && first.starts_with(b"\xEF\xBB\xBF")
    {
        first.drain(..3);
    }
    let (mut events, mut longest, mut length) = (Vec::new(), 0, 0);
    let (mut event, mut data, mut touched) = (Event::default(), Vec::new(), false);
    for line in lines {
        length += line.len() + 5;
        longest = longest.max(length);
        if line.is_empty() {
            length = 0;
            event.data = data.join(&b'\n');
            data.clear();
            let event = std::mem::take(&mut event);
            if std::mem::take(&mut touched) {
                events.push(event);
            }
            continue;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let field = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let word = String::from_utf8(value.to_vec()).ok().filter(|word| word.len() <= WORD_BYTES);
        let digits = word.as_ref().filter(|word| word.chars().all(|c| c.is_ascii_digit()));
        match field {
            b"data" => data.push(value.to_vec()),
            b"event" => event.name = word,
            b"id" if !value.contains(&0) => event.id = word,
            b"retry" => match digits.and_then(|digits| digits.parse().ok()) {
                Some(millis) => event.retry = Some(Duration::from_millis(millis)),
                None => continue,
            },
            _ => continue,
        }
        touched = true;
    }
    (events, longest, length + line.len())
}
