//! The mark every server and all it starts carry in their environment, by which leftovers of an app that died are
//! found at the next start (row 26, B41).
//!
//! Where the operating system keeps trees together (the supervisor, job objects) this is only the second line.

use std::time::{Duration, Instant};

/// The one `MEWORK_` variable a server gets (B11).
pub const COOKIE: &str = "MEWORK_RUN";

/// Which start of which server, and whose it is: `UUID.NAMESPACE.PID.START` of the app. The last three say whether the
/// app still lives; process numbers mean nothing outside their namespace, so a container's servers are left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cookie(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    namespace: u64,
    pid: u32,
    start: u64,
}

impl Cookie {
    pub(super) fn new() -> Self {
        let id = uuid::Uuid::new_v4().simple();
        let Owner { namespace, pid, start } = platform::own();
        Self(format!("{id}.{namespace}.{pid}.{start}"))
    }
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn owner(cookie: &str) -> Option<Owner> {
    let mut parts = cookie.split('.');
    let _id = parts.next()?;
    let owner =
        Owner { namespace: parts.next()?.parse().ok()?, pid: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? };
    parts.next().is_none().then_some(owner)
}

/// Ends what servers of dead apps left running, and says how many processes that were. For the start of a program;
/// it blocks for a few milliseconds, seconds at worst. What belongs to an app that lives is never touched.
pub fn sweep() -> usize {
    let own = platform::own();
    // Started by a leftover ourselves: ending its tree would end us.
    let inside = platform::cookie_of(own.pid);
    end(|cookie| {
        Some(cookie) != inside.as_deref()
            && owner(cookie).is_some_and(|o| o.namespace == own.namespace && o != own && !platform::lives(o))
    })
}

/// Ends every process that carries this cookie.
#[cfg_attr(windows, expect(dead_code, reason = "a job object leaves nothing to look for"))]
pub(super) fn end_marked(cookie: &Cookie) -> usize {
    end(|found| found == cookie.as_str())
}

/// Kills until a look around finds nothing more: what it finds may start others while it looks.
fn end(wanted: impl Fn(&str) -> bool) -> usize {
    let give_up = Instant::now() + Duration::from_secs(2);
    let mut ended = std::collections::HashSet::new();
    loop {
        let marked = platform::marked(&wanted);
        if marked.is_empty() || Instant::now() > give_up {
            return ended.len();
        }
        for process in marked {
            platform::kill(process, &wanted);
            ended.insert(process);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use super::super::procfs::{self, Proc};
    use super::{COOKIE, Owner};

    pub(super) fn own() -> Owner {
        let namespace = std::fs::read_link("/proc/self/ns/pid")
            .ok()
            .and_then(|l| l.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok())
            .unwrap_or(0);
        let pid = std::process::id();
        Owner { namespace, pid, start: start(pid).unwrap_or(0) }
    }
    fn start(pid: u32) -> Option<u64> {
        procfs::entry(pid as i32).filter(|e| !e.zombie).map(|e| e.proc.start)
    }
    pub(super) fn lives(owner: Owner) -> bool {
        start(owner.pid) == Some(owner.start)
    }
    pub(super) fn cookie_of(pid: u32) -> Option<String> {
        procfs::started_with(pid as i32, COOKIE)
    }
    pub(super) fn marked(wanted: &dyn Fn(&str) -> bool) -> Vec<Proc> {
        let own = std::process::id() as i32;
        procfs::all()
            .into_iter()
            .filter(|e| !e.zombie && e.proc.pid != own)
            .filter(|e| procfs::started_with(e.proc.pid, COOKIE).is_some_and(|c| wanted(&c)))
            .map(|e| e.proc)
            .collect()
    }
    /// [`procfs::signal`] pins the process by its start time, and the cookie was read from that very process.
    pub(super) fn kill(process: Proc, _wanted: &dyn Fn(&str) -> bool) {
        procfs::signal(process, libc::SIGKILL);
    }
}

#[cfg(target_os = "macos")]
mod platform {
    use super::{COOKIE, Owner};

    type Proc = i32;

    pub(super) fn own() -> Owner {
        let pid = std::process::id();
        Owner { namespace: 0, pid, start: start(pid).unwrap_or(0) }
    }
    fn start(pid: u32) -> Option<u64> {
        let mut info = std::mem::MaybeUninit::<libc::proc_bsdinfo>::zeroed();
        let size = size_of::<libc::proc_bsdinfo>() as i32;
        let got = unsafe { libc::proc_pidinfo(pid as i32, libc::PROC_PIDTBSDINFO, 0, info.as_mut_ptr().cast(), size) };
        if got != size {
            return None;
        }
        let info = unsafe { info.assume_init() };
        Some(info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec)
    }
    pub(super) fn lives(owner: Owner) -> bool {
        start(owner.pid) == Some(owner.start)
    }
    /// The arguments area the kernel keeps: count, program, padding, arguments, environment, each ended by NUL.
    pub(super) fn cookie_of(pid: u32) -> Option<String> {
        let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid as i32];
        let mut size = 0;
        let sysctl = |name: &mut [i32; 3], to: *mut libc::c_void, size: &mut usize| unsafe {
            libc::sysctl(name.as_mut_ptr(), 3, to, size, std::ptr::null_mut(), 0) == 0
        };
        if !sysctl(&mut name, std::ptr::null_mut(), &mut size) {
            return None;
        }
        let mut area = vec![0_u8; size];
        if !sysctl(&mut name, area.as_mut_ptr().cast(), &mut size) {
            return None;
        }
        area.truncate(size);
        let count = i32::from_ne_bytes(area.get(..4)?.try_into().ok()?) as usize;
        area.get(4..)?
            .split(|b| *b == 0)
            .filter(|s| !s.is_empty())
            .skip(1 + count)
            .find_map(|s| String::from_utf8(s.strip_prefix(COOKIE.as_bytes())?.strip_prefix(b"=")?.to_vec()).ok())
    }
    pub(super) fn marked(wanted: &dyn Fn(&str) -> bool) -> Vec<Proc> {
        let mut pids = vec![0_i32; 16 * 1024];
        let bytes = (pids.len() * size_of::<i32>()) as i32;
        let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
        pids.truncate(count.max(0) as usize);
        let own = std::process::id() as i32;
        pids.retain(|pid| *pid > 0 && *pid != own && cookie_of(*pid as u32).is_some_and(|c| wanted(&c)));
        pids
    }
    /// The cookie is looked at again right before: the number may have been given to another process.
    pub(super) fn kill(process: Proc, wanted: &dyn Fn(&str) -> bool) {
        if cookie_of(process as u32).is_some_and(|c| wanted(&c)) {
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
    }
}

/// Windows' job objects leave nothing to sweep, and other systems show no environment.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod platform {
    use super::Owner;

    pub(super) fn own() -> Owner {
        Owner { namespace: 0, pid: std::process::id(), start: 0 }
    }
    pub(super) fn lives(_owner: Owner) -> bool {
        true
    }
    pub(super) fn cookie_of(_pid: u32) -> Option<String> {
        None
    }
    pub(super) fn marked(_wanted: &dyn Fn(&str) -> bool) -> Vec<u32> {
        Vec::new()
    }
    pub(super) fn kill(_process: u32, _wanted: &dyn Fn(&str) -> bool) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_says_whose_it_is() {
        let cookie = Cookie::new();
        assert_ne!(cookie, Cookie::new());
        let owner = owner(cookie.as_str()).unwrap();
        assert_eq!(owner, platform::own());
        assert!(platform::lives(owner));
        assert!(
            cfg!(not(any(target_os = "linux", target_os = "macos")))
                || !platform::lives(Owner { start: owner.start + 1, ..owner })
        );
        for odd in ["", "x", "a.1.2", "a.1.2.x", "a.1.2.3.4", "a.-1.2.3"] {
            assert_eq!(super::owner(odd), None, "{odd}");
        }
    }
}
