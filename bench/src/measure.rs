//! Rounds that take turns, medians, and what the system says of processes.

use std::time::{Duration, Instant};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    Full,
    /// One of each: whether everything still runs.
    Smallest,
}

impl Rounds {
    pub fn of(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Smallest => 1,
        }
    }
}

/// What came of a row's rounds, in the row's unit.
#[derive(Debug, Default)]
pub struct Measured {
    pub ours: Vec<f64>,
    /// Empty where there is nothing to compare with.
    pub floor: Vec<f64>,
}

impl Measured {
    pub fn ours(ours: Vec<f64>) -> Self {
        Self { ours, floor: Vec::new() }
    }
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Ours and the floor by turns, each first as often as the other. One of each is not counted: it warms up files, code and
/// connections.
pub async fn by_turns(rounds: usize, mut ours: impl AsyncFnMut() -> f64, mut floor: impl AsyncFnMut() -> f64) -> Measured {
    let mut measured = Measured::default();
    ours().await;
    floor().await;
    for round in 0..rounds {
        if round % 2 == 0 {
            measured.ours.push(ours().await);
            measured.floor.push(floor().await);
        } else {
            measured.floor.push(floor().await);
            measured.ours.push(ours().await);
        }
    }
    measured
}

/// The same without anything to compare with.
pub async fn alone(rounds: usize, mut ours: impl AsyncFnMut() -> f64) -> Measured {
    ours().await;
    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(ours().await);
    }
    Measured::ours(measured)
}

/// How long something takes.
pub async fn timed(work: impl Future<Output = ()>) -> Duration {
    let begun = Instant::now();
    work.await;
    begun.elapsed()
}

/// One figure of a process in KiB, by its name in a file of its folder in `/proc`.
fn kib(pid: i32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// A process's memory, what it shares with others divided among them.
pub fn share_mib(pid: i32) -> f64 {
    kib(pid, "smaps_rollup", "Pss") as f64 / 1024.0
}

pub fn resident_mib(pid: i32) -> f64 {
    kib(pid, "status", "VmRSS") as f64 / 1024.0
}

/// The most a process had at once since [`forget_peak`].
pub fn peak_mib(pid: i32) -> f64 {
    kib(pid, "status", "VmHWM") as f64 / 1024.0
}

pub fn forget_peak(pid: i32) {
    // proc(5): 5 resets the peak resident set size.
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("a process of ours");
}

fn stat(pid: i32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let rest = text.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    rest.split_whitespace().map(str::to_owned).collect()
}

/// What a process was started with, the program first.
pub fn arguments(pid: i32) -> Vec<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split_terminator('\0').map(str::to_owned).collect()
}

fn children(parent: i32) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| stat(*pid).get(1).and_then(|ppid| ppid.parse().ok()) == Some(parent)).collect()
}

/// A process and everything below it.
pub fn tree(root: i32) -> Vec<i32> {
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(pid) = tree.get(next).copied() {
        tree.extend(children(pid));
        next += 1;
    }
    tree
}

/// How long ago a process began, to a hundredth of a second: the kernel keeps no more.
pub fn age(pid: i32) -> Duration {
    const TICKS_PER_SECOND: f64 = 100.0;
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let now: f64 = uptime.split(' ').next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.0);
    let began: f64 = stat(pid).get(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0);
    Duration::from_secs_f64((now - began / TICKS_PER_SECOND).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn the_system_knows_this_process() {
        let own = std::process::id() as i32;
        assert!(resident_mib(own) > 0.0 && share_mib(own) > 0.0);
        forget_peak(own);
        assert!(peak_mib(own) > 0.0);
        assert!(tree(std::os::unix::process::parent_id() as i32).contains(&own));
        assert_eq!(arguments(own), std::env::args().collect::<Vec<_>>());
        assert!(age(own) < Duration::from_secs(3600));
    }
}
