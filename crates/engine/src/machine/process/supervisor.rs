//! The process supervisor of Linux: what runs when a program of ours starts itself again with [`SUPERVISE_FLAG`]. That
//! process forks a supervisor for each server, and knows nothing of any.
//!
//! A supervisor starts one server, is subreaper of everything the server starts, and ends all of it when the server's own process
//! ends, when it is told to, or when the lifeline (a socket to the app) closes for whatever reason. It stays single-threaded,
//! holds no file but the lifeline, and its arguments and environment say nothing about the server: what to start comes
//! over the lifeline.
//!
//! The app's end of the lifeline is [`super::linux`].

use std::collections::HashSet;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};

use super::procfs::{self, Proc};
use super::{Exit, Spec};
use crate::limits::TERMINATE_GRACE;
use crate::machine::environment::Environment;

/// The hidden first argument, by which a program of ours knows that it is not to be itself.
pub const SUPERVISE_FLAG: &str = "--mework-supervise";
/// The second argument; the third is the number of the socket over which it is asked to fork.
pub(super) const FORK: &str = "fork";

/// What a supervisor gets: its lifeline, and the server's three streams.
pub(super) type Handed<'a> = [BorrowedFd<'a>; 4];

/// More than any argument list the kernel takes: what comes over the lifeline is ours, but it is counted all the same.
const SPEC_BYTES: usize = 64 << 20;

/// How often processes that came meanwhile are told to end, and those that should be dead are looked for again.
const ROUND: Duration = Duration::from_millis(20);

/// What cannot be killed for this long (it belongs to another user, or hangs in the kernel) is left behind.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Call first in `main`. When this process was started to supervise servers it does that, and never returns.
pub fn supervise_if_asked() {
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref() != Some(OsStr::new(SUPERVISE_FLAG)) {
        return;
    }
    let forks = args.next().as_deref() == Some(OsStr::new(FORK));
    let socket = args.next().and_then(|fd| fd.to_str()?.parse::<RawFd>().ok()).filter(|fd| forks && *fd > 2);
    let Some(socket) = socket.filter(|fd| is_socket(*fd)) else {
        eprintln!("{SUPERVISE_FLAG} is how Mework starts itself; it is of no use by hand.");
        std::process::exit(2);
    };
    // The number is ours: whoever started us says so, and nothing else here has opened anything yet.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(socket) });
    end(fork_when_asked(&socket))
}

fn end(result: io::Result<()>) -> ! {
    std::process::exit(i32::from(result.is_err()))
}

/// The fork server: a new supervisor for whatever comes over the socket, until that closes.
fn fork_when_asked(socket: &UnixStream) -> io::Result<()> {
    keep_only(socket.as_raw_fd());
    let _ = prctl::set_name(c"mework-superv");
    // Usually done already by the app between fork and exec.
    let _ = nix::unistd::setsid();
    // Nobody asks how a supervisor ended; its lifeline says all there is to know.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    while let Some(handed) = handed(socket)? {
        let Ok([lifeline, stdin, stdout, stderr]) = <[OwnedFd; 4]>::try_from(handed) else { continue };
        // Where no process can be had, the lifeline closes here, and the app hears that.
        if unsafe { libc::fork() } == 0 {
            for (number, stream) in [stdin, stdout, stderr].iter().enumerate() {
                unsafe { libc::dup2(stream.as_raw_fd(), number as RawFd) };
            }
            end(supervise(lifeline.into()));
        }
    }
    Ok(())
}

/// What was handed over next; `None` when the app is gone.
fn handed(socket: &UnixStream) -> io::Result<Option<Vec<OwnedFd>>> {
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!([RawFd; 4]);
    let message = loop {
        match recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC) {
            Err(nix::Error::EINTR) => {}
            other => break other?,
        }
    };
    if message.bytes == 0 {
        return Ok(None);
    }
    let mut handed = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = control {
            // Ours from here on.
            handed.extend(descriptors.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    Ok(Some(handed))
}

fn is_socket(fd: RawFd) -> bool {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    unsafe { libc::fstat(fd, stat.as_mut_ptr()) == 0 && stat.assume_init().st_mode & libc::S_IFMT == libc::S_IFSOCK }
}

/// What the supervisor says over the lifeline, one line each. Nothing after `Gone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// The supervisor is there, and waits to be told what to run.
    Forked,
    /// The server runs, as this process.
    Pid(u32),
    /// The folder to start in could not be entered.
    Folder(i32),
    /// The system refused to run the program.
    Refused(i32),
    /// The server's own process ended.
    Exited(Exit),
    /// Nothing of it is left.
    Gone,
}

impl Said {
    fn line(self) -> String {
        match self {
            Self::Forked => "forked 0\n".into(),
            Self::Pid(pid) => format!("pid {pid}\n"),
            Self::Folder(errno) => format!("folder {errno}\n"),
            Self::Refused(errno) => format!("refused {errno}\n"),
            Self::Exited(Exit::Code(code)) => format!("code {code}\n"),
            Self::Exited(Exit::Signal(signal)) => format!("signal {signal}\n"),
            Self::Exited(Exit::Unknown) => "code ?\n".into(),
            Self::Gone => "gone 0\n".into(),
        }
    }
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, number) = line.trim_end().split_once(' ')?;
        Some(match word {
            "forked" => Self::Forked,
            "pid" => Self::Pid(number.parse().ok()?),
            "folder" => Self::Folder(number.parse().ok()?),
            "refused" => Self::Refused(number.parse().ok()?),
            "code" => Self::Exited(number.parse().map_or(Exit::Unknown, Exit::Code)),
            "signal" => Self::Exited(Exit::Signal(number.parse().ok()?)),
            "gone" => Self::Gone,
            _ => return None,
        })
    }
}

/// What the app says over the lifeline after the spec: one byte each.
pub(super) const TERMINATE: u8 = b'T';
pub(super) const KILL: u8 = b'K';

/// The spec as it crosses the lifeline: a length, then counted strings.
pub(super) fn encode(spec: &Spec) -> Vec<u8> {
    let mut out = vec![0; 4];
    let mut put = |bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    put(spec.program.as_os_str().as_bytes());
    put(spec.cwd.as_os_str().as_bytes());
    put(&(spec.args.len() as u32).to_le_bytes());
    for arg in &spec.args {
        put(arg.as_bytes());
    }
    for (name, value) in spec.env.iter() {
        put(name.as_bytes());
        put(value.as_bytes());
    }
    let length = (out.len() - 4) as u32;
    out[..4].copy_from_slice(&length.to_le_bytes());
    out
}

fn decode(mut bytes: &[u8]) -> Option<Spec> {
    fn number(bytes: &[u8]) -> Option<usize> {
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    }
    fn next(rest: &mut &[u8]) -> Option<OsString> {
        let (length, tail) = rest.split_at_checked(4)?;
        let (string, tail) = tail.split_at_checked(number(length)?)?;
        *rest = tail;
        Some(OsString::from_vec(string.to_vec()))
    }
    let program = PathBuf::from(next(&mut bytes)?);
    let cwd = PathBuf::from(next(&mut bytes)?);
    let count = number(next(&mut bytes)?.as_bytes())?;
    let mut args = Vec::new();
    for _ in 0..count {
        args.push(next(&mut bytes)?);
    }
    let mut env = Environment::default();
    while !bytes.is_empty() {
        let name = next(&mut bytes)?;
        env.set(name, next(&mut bytes)?);
    }
    Some(Spec { program, args, cwd, env })
}

fn supervise(mut lifeline: UnixStream) -> io::Result<()> {
    keep_only(lifeline.as_raw_fd());
    prctl::set_child_subreaper(true)?;
    // Seen in `ps`; the file is `/proc/self/exe` to whoever started us.
    let _ = prctl::set_name(c"mework-superv");
    // Its own: a signal to the fork server's group is none to it.
    let _ = nix::unistd::setsid();
    let mut watched = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        watched.add(signal);
    }
    // Ignored, as in the fork server, it would make the kernel reap the server and lose its exit.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&watched), None)?;
    let signals = SignalFd::with_flags(&watched, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;

    // Whoever does not wait for us any more has closed the lifeline, and tells us nothing to start.
    say(&mut lifeline, Said::Forked)?;
    let mut length = [0; 4];
    lifeline.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > SPEC_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    lifeline.read_exact(&mut bytes)?;
    let spec = decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    drop(bytes);

    if let Err(e) = std::env::set_current_dir(&spec.cwd) {
        return say(&mut lifeline, Said::Folder(e.raw_os_error().unwrap_or(libc::ENOENT)));
    }
    let server = match start(&spec) {
        Ok(pid) => pid,
        Err(errno) => return say(&mut lifeline, Said::Refused(errno)),
    };
    drop(spec);
    // The server's streams are the server's alone: their ends must close when it closes them. And no folder is held.
    let null = OwnedFd::from(std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?);
    for stream in 0..3 {
        unsafe { libc::dup2(null.as_raw_fd(), stream) };
    }
    drop(null);
    std::env::set_current_dir("/")?;
    // An app that is gone by now shows in the loop.
    let _ = say(&mut lifeline, Said::Pid(server as u32));
    watch(lifeline, signals, server)
}

fn say(lifeline: &mut UnixStream, what: Said) -> io::Result<()> {
    lifeline.write_all(what.line().as_bytes())
}

/// Closes what the app let slip through: nothing of it may reach the server or be held open by us.
fn keep_only(lifeline: RawFd) {
    let close = |from: u32, to: u32| from > to || unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) } == 0;
    if close(3, lifeline as u32 - 1) && close(lifeline as u32 + 1, u32::MAX) {
        unsafe { libc::fcntl(lifeline, libc::F_SETFD, libc::FD_CLOEXEC) };
        return;
    }
    // Kernels before 5.9: mark what is open, to be closed at exec.
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        for fd in open.flatten().filter_map(|e| e.file_name().to_str()?.parse::<RawFd>().ok()).filter(|fd| *fd > 2) {
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// Starts the server's own process, or says with which error the system refused. `execve` itself: `execvp` would hand
/// a file without a `#!` line to a shell, and commands never go through one.
fn start(spec: &Spec) -> Result<libc::pid_t, i32> {
    let c = |bytes: &[u8]| CString::new(bytes).map_err(|_| libc::EINVAL);
    let program = c(spec.program.as_os_str().as_bytes())?;
    let mut args = vec![program.clone()];
    for arg in &spec.args {
        args.push(c(arg.as_bytes())?);
    }
    let mut env = Vec::new();
    for (name, value) in spec.env.iter() {
        env.push(c(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
    }
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, envp) = (pointers(&args), pointers(&env));
    let (read, write) = io::pipe().map_err(|e| e.raw_os_error().unwrap_or(libc::EMFILE))?;
    let us = std::process::id() as libc::pid_t;
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN)),
        0 => unsafe {
            // If the supervisor itself is killed, the server at least goes with it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != us {
                libc::_exit(127);
            }
            // Its own session: what it sends to its process group never reaches the supervisor.
            libc::setsid();
            for signal in 1..=libc::SIGRTMAX() {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            libc::execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr());
            let errno = *libc::__errno_location();
            libc::write(write.as_raw_fd(), (&raw const errno).cast(), size_of::<i32>());
            libc::_exit(127)
        },
        pid => {
            drop(write);
            let mut errno = [0; size_of::<i32>()];
            let mut read = read;
            match read.read_exact(&mut errno) {
                // The pipe closed with the exec.
                Err(_) => Ok(pid),
                Ok(()) => {
                    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
                    Err(i32::from_ne_bytes(errno))
                }
            }
        }
    }
}

/// Waits until the tree is to end and ends it.
fn watch(mut lifeline: UnixStream, signals: SignalFd, server: libc::pid_t) -> io::Result<()> {
    let mut exited = false;
    let mut connected = true;
    let mut ending: Option<Ending> = None;
    loop {
        // As subreaper we are the parent of every orphan of the tree: no child left means nothing left.
        loop {
            let mut status = 0;
            match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
                0 => break,
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => {
                    let _ = say(&mut lifeline, Said::Gone);
                    return Ok(());
                }
                pid if pid == server => {
                    exited = true;
                    let exit = if libc::WIFEXITED(status) {
                        Exit::Code(libc::WEXITSTATUS(status))
                    } else {
                        Exit::Signal(libc::WTERMSIG(status))
                    };
                    let _ = say(&mut lifeline, Said::Exited(exit));
                }
                _ => {}
            }
        }
        if exited {
            ending.get_or_insert_with(Ending::politely);
        }
        let timeout = match &mut ending {
            None => PollTimeout::NONE,
            Some(ending) => PollTimeout::try_from(ending.round().ok_or(io::ErrorKind::TimedOut)?).unwrap_or(PollTimeout::ZERO),
        };
        // A closed lifeline would be ready for ever.
        let lifeline_fd = unsafe { BorrowedFd::borrow_raw(lifeline.as_raw_fd()) };
        let mut ready =
            [PollFd::new(std::os::fd::AsFd::as_fd(&signals), PollFlags::POLLIN), PollFd::new(lifeline_fd, PollFlags::POLLIN)];
        let waited = if connected { &mut ready[..] } else { &mut ready[..1] };
        match poll(waited, timeout) {
            Err(nix::Error::EINTR) | Ok(0) => continue,
            Err(e) => return Err(e.into()),
            Ok(_) => {}
        }
        let told = connected && ready[1].revents().is_some_and(|r| !r.is_empty());
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo != libc::SIGCHLD as u32 {
                ending.get_or_insert_with(Ending::politely);
            }
        }
        if told {
            let mut bytes = [0; 16];
            match lifeline.read(&mut bytes) {
                Ok(n) if n > 0 => {
                    for byte in &bytes[..n] {
                        let ending = ending.get_or_insert_with(Ending::politely);
                        if *byte == KILL {
                            ending.kill_at = Instant::now();
                        }
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                _ => {
                    connected = false;
                    ending.get_or_insert_with(Ending::politely);
                }
            }
        }
    }
}

/// The end of a tree: everything in it is told to terminate, and a moment later killed.
struct Ending {
    kill_at: Instant,
    /// Told to terminate already: twice means "now" to some programs.
    told: HashSet<Proc>,
}

impl Ending {
    fn politely() -> Self {
        Self { kill_at: Instant::now() + TERMINATE_GRACE, told: HashSet::new() }
    }
    /// One round; how long until the next, or `None` when there is no hope.
    fn round(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let tree = procfs::descendants(std::process::id() as i32);
        if now < self.kill_at {
            for process in tree {
                if self.told.insert(process) {
                    procfs::signal(process, libc::SIGTERM);
                }
            }
            return Some(ROUND.min(self.kill_at - now));
        }
        for process in tree {
            procfs::signal(process, libc::SIGKILL);
        }
        let trying = now - self.kill_at;
        (trying < GIVE_UP).then(|| ROUND.max(trying / 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_crosses_the_lifeline_whole() {
        let spec = Spec {
            program: "/usr/bin/x".into(),
            args: vec!["".into(), "a b".into(), OsString::from_vec(vec![0xff, b'\n'])],
            cwd: "/tmp/ö".into(),
            env: [("A", "1=2"), ("B", "")].into_iter().collect(),
        };
        let bytes = encode(&spec);
        let back = decode(&bytes[4..]).unwrap();
        assert_eq!((back.program, back.args, back.cwd), (spec.program, spec.args, spec.cwd));
        assert!(back.env == spec.env);
        for cut in 0..20 {
            assert!(decode(&bytes[4..][..cut]).is_none(), "{cut}");
        }
    }

    #[test]
    fn what_is_said_is_understood() {
        for said in [
            Said::Forked,
            Said::Pid(7),
            Said::Folder(2),
            Said::Refused(8),
            Said::Exited(Exit::Code(3)),
            Said::Exited(Exit::Signal(9)),
            Said::Exited(Exit::Unknown),
            Said::Gone,
        ] {
            assert_eq!(Said::parse(&said.line()), Some(said));
        }
        assert_eq!(Said::parse("hello world"), None);
        assert_eq!(Said::parse(""), None);
    }
}
