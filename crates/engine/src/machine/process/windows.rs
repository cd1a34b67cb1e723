//! A server on Windows: started suspended, put into a job object that ends everything in it when its last handle
//! closes (also when this program is killed), then let run (row 26).

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};
use tokio::sync::watch;
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

use super::cookie::Cookie;
use super::{Exit, Life, SpawnError, Spec, Started, hint};
use crate::machine::Surroundings;

/// The job: the tree ends with this, and by the system's hand when this program ends in any way.
#[derive(Debug)]
pub(super) struct Tree(OwnedHandle);

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Tree {
    /// Windows has no polite word for a process without a window: terminating and killing are the same.
    pub(super) fn terminate(&mut self) {
        self.kill();
    }
    pub(super) fn kill(&mut self) {
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

pub(super) async fn start(_surroundings: &Surroundings, spec: Spec, _cookie: Cookie) -> Result<Started, SpawnError> {
    if let Err(source) = std::fs::read_dir(&spec.cwd) {
        return Err(SpawnError::Folder { folder: spec.cwd, source });
    }
    let batch = is_batch(&spec.program);
    if batch && let Some(index) = spec.args.iter().position(|a| unsafe_for_batch(&a.to_string_lossy())) {
        return Err(SpawnError::UnsafeBatchArgument { program: spec.program, index });
    }
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let mut command = Command::new(&spec.program);
    command.args(&spec.args).current_dir(&spec.cwd).env_clear().envs(spec.env.iter());
    if batch {
        // Or cmd.exe would look for what the batch file calls in the current folder first (row 13).
        command.env("NoDefaultCurrentDirectoryInExePath", "1");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW);
    let job = job().map_err(SpawnError::Supervisor)?;
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(source) => {
            let hint = hint::hint(&spec, &source);
            return Err(SpawnError::Exec { program: spec.program, source, hint });
        }
    };
    let run = child.raw_handle().zip(child.id()).ok_or_else(|| io::Error::other("the process ended at once"));
    let run = run.and_then(|(handle, pid)| {
        if unsafe { AssignProcessToJobObject(job.as_raw_handle(), handle) } == 0 {
            return Err(io::Error::last_os_error());
        }
        resume(pid).map(|()| pid)
    });
    let pid = match run {
        Ok(pid) => pid,
        Err(e) => {
            // Suspended, so it has done nothing yet.
            let _ = child.start_kill();
            return Err(SpawnError::Supervisor(e));
        }
    };
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
        return Err(SpawnError::Supervisor(io::Error::other("the process has no streams")));
    };
    let (tell, life) = watch::channel(Life::Running);
    let end = job.try_clone().map_err(SpawnError::Supervisor)?;
    tokio::spawn(watch_over(child, end, tell));
    Ok(Started { pid, stdin, stdout, stderr, life, tree: Tree(job) })
}

/// `.bat` and `.cmd` are run by cmd.exe, which reads arguments in its own way.
fn is_batch(program: &Path) -> bool {
    program.extension().is_some_and(|e| e.eq_ignore_ascii_case("bat") || e.eq_ignore_ascii_case("cmd"))
}

/// What the standard library cannot escape for cmd.exe and refuses: said here with the argument's number.
fn unsafe_for_batch(arg: &str) -> bool {
    arg.contains(['\r', '\n', '\0'])
}

fn job() -> io::Result<OwnedHandle> {
    let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
    if job.is_null() {
        return Err(io::Error::last_os_error());
    }
    let job = unsafe { OwnedHandle::from_raw_handle(job) };
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let set = unsafe {
        SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size_of_val(&limits) as u32,
        )
    };
    if set == 0 { Err(io::Error::last_os_error()) } else { Ok(job) }
}

/// Lets the one thread of a process that was started suspended run; the standard library keeps its handle to itself.
fn resume(pid: u32) -> io::Result<()> {
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..Default::default() };
    let mut more = unsafe { Thread32First(snapshot.as_raw_handle(), &mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == pid {
            let thread = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) };
            if thread.is_null() {
                return Err(io::Error::last_os_error());
            }
            let thread = unsafe { OwnedHandle::from_raw_handle(thread) };
            return match unsafe { ResumeThread(thread.as_raw_handle()) } {
                u32::MAX => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
        }
        more = unsafe { Thread32Next(snapshot.as_raw_handle(), &mut entry) };
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "the process has no thread"))
}

/// Ends the rest of the tree with the server itself. The job's second handle does not keep a dropped
/// [`super::Handle`]'s tree alive, because [`Tree`] ends it by itself.
async fn watch_over(mut child: Child, job: OwnedHandle, tell: watch::Sender<Life>) {
    let exit = match child.wait().await {
        Ok(status) => status.code().map_or(Exit::Unknown, Exit::Code),
        Err(_) => Exit::Unknown,
    };
    tell.send_replace(Life::Exited(exit));
    unsafe { TerminateJobObject(job.as_raw_handle(), 1) };
    tell.send_replace(Life::Gone(exit));
}
