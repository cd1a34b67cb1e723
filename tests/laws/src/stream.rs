//! Streams made of a few bytes: long ones, in pieces of changing size.

/// Followed by a byte, says that the byte before comes so often: that many, squared; or, for the greatest, more often than
/// any limit for one message allows.
const REPEAT: u8 = 0xFE;
/// A stream that breaks a limit takes a second. The kept inputs do; a fuzzer, to which a minute is to be many thousands of inputs,
/// would try nothing else. What it tries is longer than any buffer and any line that is kept.
const STREAM_BYTES: usize = if cfg!(fuzzing) { 20 << 10 } else { 9 << 20 };
/// Nor does it learn anything from ten thousand empty lines, each of which is as much work as a long one.
const LINE_ENDS: usize = if cfg!(fuzzing) { 64 } else { STREAM_BYTES };
/// Millions of tiny pieces would only take long.
const PIECES: usize = if cfg!(fuzzing) { 256 } else { 4096 };

/// A stream, and how it arrives.
pub struct Stream {
    pub bytes: Vec<u8>,
    sizes: Sizes,
}

impl Stream {
    /// The first two bytes decide how it is cut into pieces.
    pub fn of(data: &[u8]) -> Option<Self> {
        let ([size, seed], data) = data.split_first_chunk::<2>()?;
        let mut bytes = Vec::new();
        let mut data = data.iter();
        while let Some(&byte) = data.next() {
            if byte != REPEAT {
                bytes.push(byte);
            } else if let (Some(&last), Some(&times)) = (bytes.last(), data.next()) {
                let times = if times == u8::MAX { STREAM_BYTES } else { usize::from(times).pow(2) };
                let times = if matches!(last, b'\n' | b'\r') { times.min(LINE_ENDS) } else { times };
                bytes.resize((bytes.len() + times).min(STREAM_BYTES), last);
            }
        }
        bytes.truncate(STREAM_BYTES);
        let least = bytes.len() / PIECES;
        Some(Self { sizes: Sizes { state: u32::from(*seed) << 8 | 1, most: 1 << (size % 18), least }, bytes })
    }

    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> + Unpin {
        let (mut rest, mut sizes) = (self.bytes.as_slice(), self.sizes);
        std::iter::from_fn(move || {
            let (piece, after) = rest.split_at(sizes.next().min(rest.len()));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        })
    }
}

#[derive(Clone, Copy)]
struct Sizes {
    state: u32,
    most: usize,
    least: usize,
}

impl Sizes {
    /// Xorshift.
    fn next(&mut self) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        1 + self.least + self.state as usize % self.most
    }
}
