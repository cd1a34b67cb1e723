//! What end-to-end tests share: a home folder of their own, the programs under test, waiting for things to happen.

pub mod calling;
pub mod engine;
pub mod http_faults;
pub mod http_server;
#[cfg(target_os = "linux")]
pub mod notifications;
pub mod programs;
pub mod proxy;
pub mod servers;
pub mod tls;
#[cfg(target_os = "linux")]
pub mod window;

use std::time::{Duration, Instant};

/// Waits until `what` holds, for things that give no event to wait for (processes of others, files). Fails the test
/// with `why` when it takes longer than any healthy machine needs.
pub async fn eventually(why: &str, mut what: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !what() {
        assert!(Instant::now() < give_up, "{why}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A mark a test puts into the environment of what it starts, to find what is left of it afterwards.
#[derive(Debug, Clone)]
pub struct Tag(String);

impl Tag {
    pub const NAME: &str = "MEWORK_TEST_TAG";

    pub fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let started = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        Self(format!("{started}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }
    pub fn value(&self) -> &str {
        &self.0
    }
    /// The living processes that carry the mark.
    pub fn processes(&self) -> Vec<i32> {
        let mark = format!("{}={}", Self::NAME, self.0);
        let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
        all.flatten()
            .filter_map(|e| e.file_name().to_str()?.parse().ok())
            .filter(|pid: &i32| {
                // A dead process that was not asked for its exit status yet has no environment any more.
                std::fs::read(format!("/proc/{pid}/environ"))
                    .is_ok_and(|env| env.split(|b| *b == 0).any(|v| v == mark.as_bytes()))
            })
            .collect()
    }
}

impl Default for Tag {
    fn default() -> Self {
        Self::new()
    }
}
