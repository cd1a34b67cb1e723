//! When a server is asked again for a stream that ended and on which it says things by itself: later each time, and not at
//! all after some that were no use.

use std::time::Duration;

/// Streams in a row that ended soon and brought nothing, before there is no other.
const FRUITLESS: u32 = 5;
/// One that lived this long did not fail: what stands between may end streams that are quiet for a while.
const LIVED: Duration = Duration::from_secs(30);
/// The pause before the next one, whatever the server wishes; it doubles with each fruitless one.
const PAUSE: Duration = Duration::from_secs(1);
/// A server may ask to be left alone for this long.
const LONGEST: Duration = Duration::from_secs(30);

/// Counts one connection's streams.
#[derive(Debug, Clone)]
pub(super) struct Again {
    fruitless: u32,
    /// The shortest pause; tests shorten it.
    pub pause: Duration,
}

impl Default for Again {
    fn default() -> Self {
        Self { fruitless: 0, pause: PAUSE }
    }
}

impl Again {
    /// How long to wait before the next stream, after one that lived this long, brought news or did not, and said how long to
    /// wait; none when it was the last one.
    pub fn after(&mut self, lived: Duration, news: bool, wish: Option<Duration>) -> Option<Duration> {
        self.fruitless = if news || lived >= LIVED { 1 } else { self.fruitless + 1 };
        let pause = self.pause * 2u32.pow(self.fruitless.min(FRUITLESS) - 1);
        (self.fruitless <= FRUITLESS).then(|| pause.max(wish.unwrap_or_default().min(LONGEST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    fn seconds(pauses: [Option<Duration>; 6]) -> [Option<u64>; 6] {
        pauses.map(|pause| pause.map(|pause| pause.as_secs()))
    }

    #[test]
    fn pauses_grow_and_end() {
        let mut again = Again::default();
        let after = |again: &mut Again, wish: Option<Duration>| [(); 6].map(|()| again.after(SOON, false, wish));
        assert_eq!(seconds(after(&mut again, None)), [Some(1), Some(2), Some(4), Some(8), Some(16), None]);
        for (lived, news) in [(LIVED, false), (SOON, true)] {
            assert_eq!(again.after(lived, news, None), Some(PAUSE), "the count begins anew");
            assert_eq!(again.after(SOON, false, None), Some(PAUSE * 2));
        }
        // A server's wish makes a pause longer and never shorter.
        assert_eq!(seconds(after(&mut Again::default(), Some(SOON))), [Some(1), Some(2), Some(4), Some(8), Some(16), None]);
        assert_eq!(
            seconds(after(&mut Again::default(), Some(LONGEST * 9))),
            [Some(30), Some(30), Some(30), Some(30), Some(30), None]
        );
    }
}
