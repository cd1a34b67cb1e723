//! A server on macOS and other Unix systems: its own session and process group, and the cookie for what left the group.
//! Without a subreaper an app that is killed leaves servers that ignore the end of their input to the next start's sweep.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::cookie::{self, Cookie};
use super::{Exit, Life, SpawnError, Spec, Started, hint};
use crate::limits::TERMINATE_GRACE;
use crate::machine::Surroundings;

/// What the watcher is to do next. Dropping the sender (a dropped [`super::Handle`]) means terminate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Run,
    Terminate,
    Kill,
}

#[derive(Debug)]
pub(super) struct Tree {
    order: watch::Sender<Order>,
    group: i32,
}

impl Tree {
    pub(super) fn terminate(&mut self) {
        self.order.send_replace(Order::Terminate);
    }
    pub(super) fn kill(&mut self) {
        self.order.send_replace(Order::Kill);
    }
}

impl Drop for Tree {
    /// The watcher dies with the async runtime, so the group is told here already.
    fn drop(&mut self) {
        if !self.order.is_closed() {
            signal_group(self.group, libc::SIGTERM);
        }
    }
}

pub(super) async fn start(_surroundings: &Surroundings, spec: Spec, cookie: Cookie) -> Result<Started, SpawnError> {
    if let Err(source) = std::fs::read_dir(&spec.cwd) {
        return Err(SpawnError::Folder { folder: spec.cwd, source });
    }
    let mut child = match command(&spec).and_then(|mut c| c.spawn()) {
        Ok(child) => child,
        Err(source) => {
            let hint = hint::hint(&spec, &source);
            return Err(SpawnError::Exec { program: spec.program, source, hint });
        }
    };
    let (Some(pid), Some(stdin), Some(stdout), Some(stderr)) =
        (child.id(), child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(SpawnError::Supervisor(io::Error::other("the process has no number or no streams")));
    };
    let (tell, life) = watch::channel(Life::Running);
    let (order, orders) = watch::channel(Order::Run);
    tokio::spawn(watch_over(child, pid as i32, cookie, tell, orders));
    Ok(Started { pid, stdin, stdout, stderr, life, tree: Tree { order, group: pid as i32 } })
}

fn command(spec: &Spec) -> io::Result<Command> {
    let c = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let program = c(spec.program.as_os_str().as_bytes())?;
    let mut args = vec![program.clone()];
    for arg in &spec.args {
        args.push(c(arg.as_bytes())?);
    }
    let mut env = Vec::new();
    for (name, value) in spec.env.iter() {
        env.push(c(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
    }
    // Addresses, because pointers may not cross threads; made before the fork, where memory may still be taken. What
    // they point to is moved into the closure and stays where it is.
    let addresses = |strings: &[CString]| -> Vec<usize> { strings.iter().map(|s| s.as_ptr() as usize).chain([0]).collect() };
    let (argv, envp) = (addresses(&args), addresses(&env));
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let mut command = Command::new(&spec.program);
    command.current_dir(&spec.cwd).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    unsafe {
        command.pre_exec(move || {
            let _owned = (&args, &env);
            libc::setsid();
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            // `execve` itself: what would come next is `execvp`, which hands a file without a `#!` line to a shell, and
            // commands never go through one.
            libc::execve(program.as_ptr(), argv.as_ptr().cast(), envp.as_ptr().cast());
            Err(io::Error::last_os_error())
        });
    }
    Ok(command)
}

fn signal_group(group: i32, signal: i32) {
    unsafe { libc::kill(-group, signal) };
}

fn group_lives(group: i32) -> bool {
    unsafe { libc::kill(-group, 0) == 0 }
}

async fn watch_over(mut child: Child, group: i32, cookie: Cookie, tell: watch::Sender<Life>, mut orders: watch::Receiver<Order>) {
    use std::os::unix::process::ExitStatusExt;
    let exit_of = |status: io::Result<std::process::ExitStatus>| match status {
        Ok(status) => status.code().map(Exit::Code).or(status.signal().map(Exit::Signal)).unwrap_or(Exit::Unknown),
        Err(_) => Exit::Unknown,
    };
    let mut exit = None;
    tokio::select! {
        status = child.wait() => exit = Some(exit_of(status)),
        _ = orders.wait_for(|o| *o != Order::Run) => {}
    }
    if let Some(exit) = exit {
        tell.send_replace(Life::Exited(exit));
    }
    if *orders.borrow() != Order::Kill && group_lives(group) {
        signal_group(group, libc::SIGTERM);
        let deadline = tokio::time::Instant::now() + TERMINATE_GRACE;
        let mut killed = false;
        while group_lives(group) && !killed && tokio::time::Instant::now() < deadline {
            tokio::select! {
                status = child.wait(), if exit.is_none() => {
                    let how = exit_of(status);
                    exit = Some(how);
                    tell.send_replace(Life::Exited(how));
                }
                ordered = async { orders.wait_for(|o| *o == Order::Kill).await.is_ok() } => {
                    // A dropped handle gives no more orders; the grace goes on without them.
                    killed = ordered;
                    if !killed {
                        tokio::time::sleep_until(deadline).await;
                    }
                }
                () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
            }
        }
    }
    signal_group(group, libc::SIGKILL);
    let exit = match exit {
        Some(exit) => exit,
        None => exit_of(child.wait().await),
    };
    tell.send_replace(Life::Exited(exit));
    let _ = tokio::task::spawn_blocking(move || cookie::end_marked(&cookie)).await;
    tell.send_replace(Life::Gone(exit));
}
