//! The app's end of a server on Linux: has a supervisor forked, tells it what to run, and hears what became of it.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::cookie::{self, Cookie};
use super::supervisor::{FORK, Handed, KILL, Said, TERMINATE, encode};
use super::{Exit, Life, SpawnError, Spec, Started, hint};
use crate::machine::Surroundings;

/// A supervisor that has not said by then whether the server runs is not one of ours, or the machine is stuck.
const ANSWER: Duration = Duration::from_secs(20);
/// A fork server that forked before and does not by then is stopped, or stuck. A new one costs milliseconds; one that is
/// only starting may have to be read from a slow disk, and gets [`ANSWER`].
const FORKED: Duration = Duration::from_secs(2);

/// Longer than anything a supervisor says.
const LINE_BYTES: u64 = 64;

/// The write half of the lifeline: when it closes, the supervisor ends the tree.
#[derive(Debug)]
pub(super) struct Tree(OwnedWriteHalf);

impl Tree {
    pub(super) fn terminate(&mut self) {
        self.tell(TERMINATE);
    }
    pub(super) fn kill(&mut self) {
        self.tell(KILL);
    }
    /// One byte always fits, unless the supervisor is gone, and then its watcher ends what is left.
    fn tell(&mut self, what: u8) {
        let _ = self.0.try_write(&[what]);
    }
}

/// Where supervisors come from: a process of ours that forks one for each server. It is started with the first server.
/// Starting the program anew for each would take some milliseconds, and a mebibyte for what its start writes, every time.
#[derive(Debug, Default)]
pub(crate) struct Supervisors(Mutex<Option<Arc<ForkServer>>>);

#[derive(Debug)]
struct ForkServer {
    socket: std::os::unix::net::UnixStream,
    /// It forked once, so it can.
    forked: AtomicBool,
    /// When nobody uses it any more it is killed: one that is stopped does not see that its socket closed.
    _in_use: oneshot::Sender<Infallible>,
}

impl Supervisors {
    fn server(&self, surroundings: &Surroundings) -> io::Result<Arc<ForkServer>> {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*server {
            return Ok(known.clone());
        }
        Ok(server.insert(Arc::new(fork_server(surroundings)?)).clone())
    }
    /// The next start takes another one.
    fn give_up(&self, stuck: &Arc<ForkServer>) {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        server.take_if(|known| Arc::ptr_eq(known, stuck));
    }

    async fn fork(&self, surroundings: &Surroundings) -> io::Result<Forked> {
        let first = self.server(surroundings)?;
        let forked_before = first.forked.load(Ordering::Relaxed);
        let patience = if forked_before { FORKED } else { ANSWER };
        match first.fork(patience).await {
            Err(_) if forked_before => self.give_up(&first),
            Err(e) => {
                self.give_up(&first);
                return Err(e);
            }
            forked => return forked,
        }
        drop(first);
        let second = self.server(surroundings)?;
        second.fork(ANSWER).await.inspect_err(|_| self.give_up(&second))
    }
}

/// A supervisor that waits to be told what to run, and our ends of the server's streams.
struct Forked {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    stdin: io::PipeWriter,
    stdout: io::PipeReader,
    stderr: io::PipeReader,
}

impl ForkServer {
    /// What is forked after we lost patience finds its lifeline closed, and was told of no server.
    async fn fork(&self, patience: Duration) -> io::Result<Forked> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let (its_stdin, stdin) = io::pipe()?;
        let (stdout, its_stdout) = io::pipe()?;
        let (stderr, its_stderr) = io::pipe()?;
        self.hand_over([theirs.as_fd(), its_stdin.as_fd(), its_stdout.as_fd(), its_stderr.as_fd()])?;
        // Only the supervisor may hold its ends, or we would never see that it is gone.
        drop((theirs, its_stdin, its_stdout, its_stderr));
        ours.set_nonblocking(true)?;
        let (read, write) = UnixStream::from_std(ours)?.into_split();
        let mut read = BufReader::new(read);
        match timeout(patience, next(&mut read)).await {
            Ok(Ok(Some(Said::Forked))) => {
                self.forked.store(true, Ordering::Relaxed);
                Ok(Forked { read, write, stdin, stdout, stderr })
            }
            Ok(Ok(_)) => Err(io::Error::other("no supervisor was forked")),
            Ok(Err(e)) => Err(e),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Has a supervisor forked that gets these, in their order.
    fn hand_over(&self, handed: Handed<'_>) -> io::Result<()> {
        let descriptors = handed.map(|fd| fd.as_raw_fd());
        let message = [IoSlice::new(b"f")];
        let rights = [ControlMessage::ScmRights(&descriptors)];
        // A server that does not take it at once is stuck: it does nothing but fork.
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        sendmsg::<()>(self.socket.as_raw_fd(), &message, &rights, flags, None)?;
        Ok(())
    }
}

pub(super) async fn start(
    surroundings: &Surroundings,
    supervisors: &Supervisors,
    spec: Spec,
    cookie: Cookie,
) -> Result<Started, SpawnError> {
    let forked = supervisors.fork(surroundings).await.map_err(SpawnError::Supervisor)?;
    let Forked { mut read, mut write, stdin, stdout, stderr } = forked;
    let answer = async {
        write.write_all(&encode(&spec)).await?;
        next(&mut read).await
    };
    let answer = timeout(ANSWER, answer).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    // In every other case it has started nothing, and it ends with the lifeline.
    let pid = match answer {
        Ok(Some(Said::Pid(pid))) => pid,
        Ok(Some(Said::Folder(errno))) => {
            return Err(SpawnError::Folder { folder: spec.cwd, source: io::Error::from_raw_os_error(errno) });
        }
        Ok(Some(Said::Refused(errno))) => {
            let source = io::Error::from_raw_os_error(errno);
            let hint = hint::hint(&spec, &source);
            return Err(SpawnError::Exec { program: spec.program, source, hint });
        }
        Ok(_) => return Err(SpawnError::Supervisor(io::Error::other("it ended without saying whether the server runs"))),
        Err(e) => return Err(SpawnError::Supervisor(e)),
    };
    let stdin = ChildStdin::from_std(OwnedFd::from(stdin).into()).map_err(SpawnError::Supervisor)?;
    let stdout = ChildStdout::from_std(OwnedFd::from(stdout).into()).map_err(SpawnError::Supervisor)?;
    let stderr = ChildStderr::from_std(OwnedFd::from(stderr).into()).map_err(SpawnError::Supervisor)?;
    let (tell, life) = watch::channel(Life::Running);
    tokio::spawn(watch_over(read, cookie, tell));
    Ok(Started { pid, stdin, stdout, stderr, life, tree: Tree(write) })
}

/// The one place where the engine starts a process of its own on Linux. Its environment is empty but for where our own
/// program finds its libraries: an entry's loader variables are for the server alone (row 15). It ends with the socket.
fn fork_server(surroundings: &Surroundings) -> io::Result<ForkServer> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    let (program, args) = surroundings
        .supervisor
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no program is named for it"))?;
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let mut command = Command::new(program);
    let socket = theirs.as_raw_fd();
    command.args(args).arg(FORK).arg(socket.to_string()).current_dir("/").env_clear();
    if let Some(libraries) = surroundings.environment.get("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    unsafe {
        command.pre_exec(move || {
            // Away from the terminal's Ctrl-C before anything else can happen.
            libc::setsid();
            match libc::fcntl(socket, libc::F_SETFD, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        });
    }
    let mut child = command.spawn()?;
    let (in_use, unused) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            _ = child.wait() => {}
            _ = unused => { let _ = child.kill().await; }
        }
    });
    Ok(ForkServer { socket: ours, forked: AtomicBool::new(false), _in_use: in_use })
}

/// What the supervisor says next; `None` when the lifeline closed.
async fn next(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Said>> {
    let mut line = String::new();
    match read.take(LINE_BYTES).read_line(&mut line).await? {
        0 => Ok(None),
        _ => Ok(Some(Said::parse(&line).ok_or(io::ErrorKind::InvalidData)?)),
    }
}

async fn watch_over(mut read: BufReader<OwnedReadHalf>, cookie: Cookie, tell: watch::Sender<Life>) {
    let mut exit = Exit::Unknown;
    loop {
        match next(&mut read).await {
            Ok(Some(Said::Exited(how))) => {
                exit = how;
                tell.send_replace(Life::Exited(exit));
            }
            Ok(Some(Said::Gone)) => break,
            Ok(Some(Said::Forked | Said::Pid(_) | Said::Folder(_) | Said::Refused(_))) => {}
            Ok(None) | Err(_) => {
                // The supervisor was killed: the server went with it, and the cookie finds the rest.
                let _ = tokio::task::spawn_blocking(move || cookie::end_marked(&cookie)).await;
                break;
            }
        }
    }
    tell.send_replace(Life::Gone(exit));
}
