//! The app's end of a server on Linux: starts the supervisor, tells it what to run, and hears what became of it.

use std::io;
use std::os::fd::AsRawFd;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::cookie::{self, Cookie};
use super::supervisor::{KILL, Said, TERMINATE, encode};
use super::{Exit, Life, SpawnError, Spec, Started, hint};
use crate::machine::Surroundings;

/// A supervisor that has not said by then whether the server runs is not one of ours, or the machine is stuck.
const ANSWER: Duration = Duration::from_secs(20);

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

pub(super) async fn start(surroundings: &Surroundings, spec: Spec, cookie: Cookie) -> Result<Started, SpawnError> {
    let (ours, theirs) = UnixStream::pair().map_err(SpawnError::Supervisor)?;
    let theirs = theirs.into_std().and_then(|s| s.set_nonblocking(false).map(|()| s)).map_err(SpawnError::Supervisor)?;
    let mut child = supervisor(surroundings, theirs.as_raw_fd()).map_err(SpawnError::Supervisor)?;
    // Only the supervisor may hold its end, or we would never see that it is gone.
    drop(theirs);
    let (read, mut write) = ours.into_split();
    let mut read = BufReader::new(read);
    let answer = async {
        write.write_all(&encode(&spec)).await?;
        next(&mut read).await
    };
    let answer = timeout(ANSWER, answer).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let pid = match answer {
        Ok(Some(Said::Pid(pid))) => pid,
        other => {
            // It has started nothing, or it would have said so.
            let _ = child.start_kill();
            return Err(match other {
                Ok(Some(Said::Folder(errno))) => {
                    SpawnError::Folder { folder: spec.cwd, source: io::Error::from_raw_os_error(errno) }
                }
                Ok(Some(Said::Refused(errno))) => {
                    let source = io::Error::from_raw_os_error(errno);
                    let hint = hint::hint(&spec, &source);
                    SpawnError::Exec { program: spec.program, source, hint }
                }
                Ok(_) => SpawnError::Supervisor(io::Error::other("it ended without saying whether the server runs")),
                Err(e) => SpawnError::Supervisor(e),
            });
        }
    };
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
        return Err(SpawnError::Supervisor(io::Error::other("it has no streams")));
    };
    let (tell, life) = watch::channel(Life::Running);
    tokio::spawn(watch_over(read, child, cookie, tell));
    Ok(Started { pid, stdin, stdout, stderr, life, tree: Tree(write) })
}

/// The one place where the engine starts a process of its own on Linux. Its environment is empty but for where our own
/// program finds its libraries: an entry's loader variables are for the server alone (row 15).
fn supervisor(surroundings: &Surroundings, lifeline: i32) -> io::Result<Child> {
    let (program, args) = surroundings
        .supervisor
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no program is named for it"))?;
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let mut command = Command::new(program);
    command.args(args).arg(lifeline.to_string()).current_dir("/").env_clear();
    if let Some(libraries) = surroundings.environment.get("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Killing it would leave its tree: the lifeline alone ends it.
    command.kill_on_drop(false);
    unsafe {
        command.pre_exec(move || {
            // Away from the terminal's Ctrl-C before anything else can happen.
            libc::setsid();
            match libc::fcntl(lifeline, libc::F_SETFD, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        });
    }
    command.spawn()
}

/// What the supervisor says next; `None` when the lifeline closed.
async fn next(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Said>> {
    let mut line = String::new();
    match read.take(LINE_BYTES).read_line(&mut line).await? {
        0 => Ok(None),
        _ => Ok(Some(Said::parse(&line).ok_or(io::ErrorKind::InvalidData)?)),
    }
}

async fn watch_over(mut read: BufReader<OwnedReadHalf>, mut child: Child, cookie: Cookie, tell: watch::Sender<Life>) {
    let mut exit = Exit::Unknown;
    loop {
        match next(&mut read).await {
            Ok(Some(Said::Exited(how))) => {
                exit = how;
                tell.send_replace(Life::Exited(exit));
            }
            Ok(Some(Said::Gone)) => break,
            Ok(Some(Said::Pid(_) | Said::Folder(_) | Said::Refused(_))) => {}
            Ok(None) | Err(_) => {
                // The supervisor was killed: the server went with it, and the cookie finds the rest.
                let _ = tokio::task::spawn_blocking(move || cookie::end_marked(&cookie)).await;
                break;
            }
        }
    }
    let _ = child.wait().await;
    tell.send_replace(Life::Gone(exit));
}
