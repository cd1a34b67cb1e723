//! Processes as Linux shows them in `/proc`: who started whom, and signals that cannot hit a process that took over a
//! dead one's number.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A process: its number alone may be given to another one later, with its start time it is unique until the next boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Proc {
    pub pid: i32,
    /// Clock ticks since the machine started.
    pub start: u64,
}

/// One process's line in `/proc`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub proc: Proc,
    pub parent: i32,
    /// Dead, only not asked for its exit status yet.
    pub zombie: bool,
}

pub(super) fn entry(pid: i32) -> Option<Entry> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything, parentheses too.
    let after_name = stat.iter().rposition(|b| *b == b')')? + 1;
    let fields = std::str::from_utf8(&stat[after_name..]).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    // Field 22 of proc(5); the state was the third.
    let start = fields.nth(17)?.parse().ok()?;
    Some(Entry { proc: Proc { pid, start }, parent, zombie })
}

/// Every process that can be seen.
pub(super) fn all() -> Vec<Entry> {
    let Ok(dir) = std::fs::read_dir("/proc") else { return Vec::new() };
    dir.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).filter_map(entry).collect()
}

/// Every living process below `root`.
pub(super) fn descendants(root: i32) -> Vec<Proc> {
    // A server may have started thousands.
    let mut children: HashMap<i32, Vec<Entry>> = HashMap::new();
    for entry in all().into_iter().filter(|e| e.proc.pid != root) {
        children.entry(entry.parent).or_default().push(entry);
    }
    let mut tree = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for entry in children.remove(&parent).unwrap_or_default() {
            parents.push(entry.proc.pid);
            if !entry.zombie {
                tree.push(entry.proc);
            }
        }
    }
    tree
}

/// Signals this very process, or nobody: the file descriptor pins it, so the look at its start time stays true.
pub(super) fn signal(proc: Proc, signal: i32) {
    let same = || entry(proc.pid).is_some_and(|e| e.proc == proc);
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, proc.pid, 0) };
    if fd >= 0 {
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        if same() {
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd.as_raw_fd(), signal, std::ptr::null::<libc::siginfo_t>(), 0) };
        }
    } else if std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) && same() {
        // Kernels before 5.3.
        unsafe { libc::kill(proc.pid, signal) };
    }
}

/// A variable of the environment a process was started with, when it is readable (ours are).
pub(super) fn started_with(pid: i32, name: &str) -> Option<String> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    environ.split(|b| *b == 0).find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one_with_its_number() {
        let own = entry(std::process::id() as i32).unwrap();
        assert!(!own.zombie);
        assert_eq!(own.parent, std::os::unix::process::parent_id() as i32);
        // A signal to someone who had our number before us must not reach us: it would end this test.
        signal(Proc { start: own.proc.start - 1, ..own.proc }, libc::SIGKILL);
        assert!(all().iter().any(|e| e.proc == own.proc));
    }
}
