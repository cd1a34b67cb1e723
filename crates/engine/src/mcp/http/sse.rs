//! Reads server-sent events out of a body, piece by piece (the WHATWG's event stream). One event is bounded while it is
//! read (B21, row 23); comments are dropped and counted.

use std::time::Duration;

use http::HeaderValue;

use crate::limits;

/// Ids and names of events longer than this are not kept.
const WORD_BYTES: usize = 4 * 1024;
const BOM: &[u8] = b"\xEF\xBB\xBF";
/// The pause before a reconnection, where the server names none, and its bounds.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: Option<String>,
    pub name: Option<String>,
    pub data: Vec<u8>,
    /// How long the server wants to be left alone before a reconnection.
    pub retry: Option<Duration>,
}

impl Event {
    /// A protocol message, as opposed to a control event.
    pub fn is_message(&self) -> bool {
        self.name.as_deref().is_none_or(|name| name.is_empty() || name == "message") && !self.data.is_empty()
    }
}

/// One event is longer than [`limits::HTTP_MESSAGE_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

#[derive(Debug, Default)]
pub struct Reader {
    /// What came; what was read of it is taken out now and then.
    pub buffer: Vec<u8>,
    /// How much of it was read.
    read: usize,
    /// How much of it was searched for a line's end.
    searched: usize,
    begun: bool,
    /// The line before ended with CR; an LF that follows belongs to it.
    after_cr: bool,
    event: Event,
    has_data: bool,
    touched: bool,
    ignored: usize,
}

impl Reader {
    /// The next whole event, or none until more was put into `buffer`.
    pub fn next_event(&mut self) -> Result<Option<Event>, TooLong> {
        loop {
            if self.after_cr && self.read < self.buffer.len() {
                self.after_cr = false;
                self.read += usize::from(self.buffer[self.read] == b'\n');
            }
            let from = self.read.max(self.searched);
            let Some(end) = self.buffer[from..].iter().position(|byte| matches!(byte, b'\r' | b'\n')).map(|n| n + from) else {
                break;
            };
            let line = self.read..end;
            self.after_cr = self.buffer[end] == b'\r';
            self.read = end + 1;
            if let Some(event) = self.line(line) {
                return Ok(Some(event));
            }
            if self.event.data.len() > limits::HTTP_MESSAGE_BYTES {
                return Err(TooLong);
            }
        }
        // Not after each event: thousands of small ones may have come at once.
        self.buffer.drain(..self.read);
        self.read = 0;
        self.searched = self.buffer.len();
        if self.event.data.len() + self.buffer.len() > limits::HTTP_MESSAGE_BYTES {
            return Err(TooLong);
        }
        if self.buffer.is_empty() {
            // A large event must not keep its memory for as long as the stream lives.
            self.buffer.shrink_to(64 * 1024);
        }
        Ok(None)
    }

    /// Lines since this was last asked that are part of no event: comments, unknown fields. They cost time too (row 24).
    pub fn ignored(&mut self) -> usize {
        std::mem::take(&mut self.ignored)
    }

    fn line(&mut self, range: std::ops::Range<usize>) -> Option<Event> {
        let mut line = &self.buffer[range];
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            if self.has_data && self.event.data.last() == Some(&b'\n') {
                self.event.data.pop();
            }
            self.has_data = false;
            let touched = std::mem::take(&mut self.touched);
            self.ignored += usize::from(!touched);
            return touched.then(|| std::mem::take(&mut self.event));
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            // A comment.
            Some(0) => {
                self.ignored += 1;
                return None;
            }
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &[][..]),
        };
        let word = || std::str::from_utf8(value).ok().filter(|text| text.len() <= WORD_BYTES).map(str::to_string);
        match field {
            b"data" => {
                self.event.data.extend_from_slice(value);
                self.event.data.push(b'\n');
                self.has_data = true;
            }
            b"event" => self.event.name = word(),
            b"id" if !value.contains(&0) => self.event.id = word(),
            // Digits only; Rust would take a plus sign too.
            b"retry" => match word().filter(|text| text.bytes().all(|b| b.is_ascii_digit())).map(|text| text.parse()) {
                Some(Ok(millis)) => self.event.retry = Some(Duration::from_millis(millis)),
                Some(Err(_)) | None => return None,
            },
            _ => {
                self.ignored += 1;
                return None;
            }
        }
        self.touched = true;
        None
    }
}

/// Where a stream stands, to go on there after it broke off.
#[derive(Debug, Default)]
pub struct Place {
    pub last_id: Option<HeaderValue>,
    /// How long the server wants to be left alone before a reconnection.
    pub pause: Option<Duration>,
    /// Events since the last (re)connection.
    pub news: bool,
}

impl Place {
    pub fn saw(&mut self, event: &Event) {
        self.news = true;
        self.pause = event.retry.or(self.pause);
        if let Some(id) = &event.id {
            // An empty id takes the last one back.
            self.last_id = HeaderValue::from_str(id).ok().filter(|id| !id.is_empty());
        }
    }
    /// How long to wait before the next attempt, after so many that brought nothing.
    pub fn pause(&self, fruitless: u32) -> Duration {
        let pause = self.pause.unwrap_or(PAUSE * 2u32.pow(fruitless.saturating_sub(1).min(8)));
        pause.clamp(PAUSES.0, PAUSES.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All events, when the stream comes in pieces of `size` bytes.
    fn events(stream: &[u8], size: usize) -> Vec<Event> {
        let mut reader = Reader::default();
        let mut all = Vec::new();
        for piece in stream.chunks(size) {
            reader.buffer.extend_from_slice(piece);
            while let Some(event) = reader.next_event().unwrap() {
                all.push(event);
            }
        }
        all
    }

    fn message(data: &str) -> Event {
        Event { data: data.into(), ..Event::default() }
    }

    #[test]
    fn events_in_pieces_of_any_size() {
        let stream = "\u{feff}: hello\n\ndata: {\"a\":1}\r\n\r\nid: 7\nevent: message\ndata:x\ndata: y\n\n\n\nretry: 50\nid\n\ndata\rdata\r\r\
                      event: endpoint\ndata: /messages\n\nunknown: 1\ndata: never ended";
        let expected = [
            message("{\"a\":1}"),
            Event { id: Some("7".into()), name: Some("message".into()), ..message("x\ny") },
            Event { id: Some(String::new()), retry: Some(Duration::from_millis(50)), ..Event::default() },
            message("\n"),
            Event { name: Some("endpoint".into()), ..message("/messages") },
        ];
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(events(stream.as_bytes(), size), expected, "{size}");
        }
        assert_eq!(expected.map(|event| event.is_message()), [true, true, false, true, false]);
    }

    #[test]
    fn only_digits_are_a_time() {
        let retry = |text: &str| events(format!("data: x\nretry: {text}\n\n").as_bytes(), 100).remove(0).retry;
        assert_eq!(retry("1500"), Some(Duration::from_millis(1500)));
        for text in ["+5", "-5", "5 ", "5.0", "", "x", "99999999999999999999999"] {
            assert_eq!(retry(text), None, "{text}");
        }
        let again = events(b"retry: 70\nretry: soon\n\n", 100);
        assert_eq!(again[0].retry, Some(Duration::from_millis(70)), "what is no time changes nothing");
    }

    #[test]
    fn row_23_one_event_is_8_mib_at_most() {
        let read = |stream: Vec<u8>| {
            let mut reader = Reader::default();
            for piece in stream.chunks(64 * 1024) {
                reader.buffer.extend_from_slice(piece);
                if let Some(event) = reader.next_event()? {
                    return Ok(event.data.len());
                }
            }
            Ok(0)
        };
        let line = |bytes: usize| [b"data:", vec![b'x'; bytes].as_slice(), b"\n\n"].concat();
        assert_eq!(read(line(limits::HTTP_MESSAGE_BYTES - 5)), Ok(limits::HTTP_MESSAGE_BYTES - 5));
        assert_eq!(read(line(limits::HTTP_MESSAGE_BYTES + 1)), Err(TooLong));
        assert_eq!(read(b"data: many lines\n".repeat(1024 * 1024)), Err(TooLong));
        assert_eq!(read(vec![b':'; limits::HTTP_MESSAGE_BYTES + 64 * 1024]), Err(TooLong));
    }
}
