//! The environment the person's login shell exports, for an app started from a desktop: the PATH of nvm, Homebrew, mise
//! and the like stands in files only a shell reads (B47, row 41).
//!
//! Those files may print, wait, loop, start things or hand over to another program. The shell gets a session of its own,
//! nothing to read, a limit in time and size; the answer stands between two markers nobody can foresee; and whatever of
//! its session still runs afterwards is killed. What a file puts into a session of its own (an ssh-agent) stays.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::environment::Environment;
use crate::limits::LOGIN_SHELL_BYTES;

/// What a capture gave: the login shell's environment, or this program's own and why it must do.
#[derive(Debug)]
pub struct Captured {
    pub environment: Environment,
    /// A sentence for the person when the shell could not be asked.
    pub notice: Option<String>,
}

/// Why a shell gave no environment.
#[derive(Debug, thiserror::Error)]
enum CaptureError {
    #[error("none is set for you")]
    NoShell,
    #[error("{0} could not be started: {1}")]
    NotStarted(PathBuf, io::Error),
    #[error("{0} was not ready after {1:?}")]
    TimedOut(PathBuf, Duration),
    #[error("{0} printed more than {mib} MiB", mib = LOGIN_SHELL_BYTES >> 20)]
    TooMuch(PathBuf),
    #[error("{0} ended without running what it was asked to")]
    NoAnswer(PathBuf),
    #[error("{0} could not be listened to: {1}")]
    Lost(PathBuf, io::Error),
}

/// Whether this process seems to be started from a desktop rather than from a shell, whose environment it would have
/// already. Programs ask this before they ask the shell.
pub fn started_from_desktop() -> bool {
    use std::io::IsTerminal;
    !io::stdin().is_terminal() && !io::stdout().is_terminal() && !io::stderr().is_terminal()
}

/// Asks the login shell, in `home`, and blocks for at most `limit` (usually [`crate::limits::LOGIN_SHELL_TIMEOUT`]).
/// `own` is what the shell starts with, and what is given back when it does not answer. Folders that only the own PATH
/// names come after the shell's: many systems' `/etc/profile` writes PATH anew, and who started the app from a script
/// or an editor's task put them there for a reason.
pub fn environment(own: &Environment, home: &Path, limit: Duration) -> Captured {
    match shell(own).and_then(|shell| ask(&shell, own, home, limit)) {
        Ok(mut environment) => {
            if let Some(path) = joined(environment.get("PATH"), own.get("PATH")) {
                environment.set("PATH", path);
            }
            Captured { environment, notice: None }
        }
        Err(e) => Captured {
            environment: own.clone(),
            notice: Some(format!(
                "Mework could not ask your login shell for its environment: {e}. Servers get the environment Mework itself \
                 was started with, so programs that only your shell finds may not be found. Look into the shell's start-up \
                 files, then restart Mework."
            )),
        },
    }
}

/// The folders of the shell's PATH, then those that only the own one has. `None` where there is nothing to add.
fn joined(shells: Option<&OsStr>, own: Option<&OsStr>) -> Option<OsString> {
    let shells: Vec<_> = shells.map(std::env::split_paths).into_iter().flatten().collect();
    let mut all = shells.clone();
    for folder in own.map(std::env::split_paths).into_iter().flatten() {
        // A relative one would be another folder for each server.
        if folder.is_absolute() && !all.contains(&folder) {
            all.push(folder);
        }
    }
    (all.len() > shells.len()).then(|| std::env::join_paths(all).ok())?
}

/// `SHELL`, or what the user database says; absolute only.
fn shell(own: &Environment) -> Result<PathBuf, CaptureError> {
    let usable = |shell: &PathBuf| shell.is_absolute() && shell.is_file();
    own.get("SHELL")
        .map(PathBuf::from)
        .filter(usable)
        .or_else(|| {
            let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok()??;
            Some(user.shell).filter(usable)
        })
        .ok_or(CaptureError::NoShell)
}

/// First as an interactive login shell, because most people set their PATH in the file for those; when that gives
/// nothing, once more without `-i`, which leaves out the file with the surprises. Both together keep to the limit.
fn ask(shell: &Path, own: &Environment, home: &Path, limit: Duration) -> Result<Environment, CaptureError> {
    let deadline = Instant::now() + limit;
    let first = run(shell, interactive(shell), own, home, limit * 3 / 4);
    first.or_else(|first| match deadline.checked_duration_since(Instant::now()) {
        // The first reason is the better one: it is about the files people write.
        Some(rest) if !matches!(first, CaptureError::NotStarted(..)) => {
            run(shell, plain(shell), own, home, rest).map_err(|_| first)
        }
        _ => Err(first),
    })
}

fn name(shell: &Path) -> String {
    shell.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn interactive(shell: &Path) -> &'static [&'static str] {
    match name(shell).as_str() {
        // They take `-l` only alone.
        "tcsh" | "csh" => &["-i", "-c"],
        "pwsh" => &["-Login", "-Command"],
        "elvish" => &["-c"],
        "rc" | "nu" => &["-l", "-c"],
        _ => &["-i", "-l", "-c"],
    }
}

fn plain(shell: &Path) -> &'static [&'static str] {
    match name(shell).as_str() {
        "tcsh" | "csh" | "elvish" => &["-c"],
        "pwsh" => &["-Command"],
        _ => &["-l", "-c"],
    }
}

/// Every shell reads these three words alike; what is to be run stands in a variable.
const QUESTION: &str = "/bin/sh -c 'eval \"$MEWORK_CAPTURE\"'";

/// Variables of the asking itself, and those a shell sets for itself.
const NOT_EXPORTED: [&str; 7] =
    ["MEWORK_CAPTURE", "MEWORK_RESOLVING_ENVIRONMENT", "DISABLE_AUTO_UPDATE", "_", "SHLVL", "PWD", "OLDPWD"];

fn run(shell: &Path, args: &[&str], own: &Environment, home: &Path, limit: Duration) -> Result<Environment, CaptureError> {
    let mark = uuid::Uuid::new_v4().simple().to_string();
    // Markers are printed with octal escapes, so that an echo of this line is no marker.
    let capture = format!(
        "printf '\\036%s\\036' {mark}; /usr/bin/env -0 2>/dev/null || cat /proc/self/environ; printf '\\036%s\\036' {mark}"
    );
    #[expect(clippy::disallowed_methods, reason = "a shell of the person's own, not a server")]
    let mut command = Command::new(shell);
    command.args(args).arg(QUESTION).current_dir(home).env_clear().envs(own.iter());
    command.env("MEWORK_CAPTURE", capture);
    // For start-up files that want to do less then; and no question about updates.
    command.env("MEWORK_RESOLVING_ENVIRONMENT", "1").env("DISABLE_AUTO_UPDATE", "true");
    let has_terminal_type = own.get("TERM").is_some();
    if !has_terminal_type {
        command.env("TERM", "dumb");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    unsafe {
        command.pre_exec(|| {
            // No terminal to ask on, and a session to end.
            libc::setsid();
            Ok(())
        });
    }
    let child = command.spawn().map_err(|e| CaptureError::NotStarted(shell.into(), e))?;
    let mut session = Session(child);
    let answer = listen(shell, &mut session.0, format!("\x1e{mark}\x1e").as_bytes(), limit)?;
    let mut environment: Environment = answer
        .split(|b| *b == 0)
        .filter_map(|variable| {
            // A name may not be empty; Windows' odd ones beginning with `=` do not occur here.
            let equals = variable.iter().position(|b| *b == b'=').filter(|i| *i > 0)?;
            Some((os(&variable[..equals]), os(&variable[equals + 1..])))
        })
        .collect();
    for name in NOT_EXPORTED {
        environment.remove(name);
    }
    if !has_terminal_type && environment.get("TERM") == Some("dumb".as_ref()) {
        environment.remove("TERM");
    }
    Ok(environment)
}

fn os(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// What stands between the two markers. Returns at the second one: the end of the output may never come, because a
/// job in the background holds it open.
fn listen(shell: &Path, child: &mut Child, marker: &[u8], limit: Duration) -> Result<Vec<u8>, CaptureError> {
    let deadline = Instant::now() + limit;
    let lost = |e: io::Error| CaptureError::Lost(shell.into(), e);
    let mut stdout = child.stdout.take().ok_or_else(|| CaptureError::NoAnswer(shell.into()))?;
    let mut all = Vec::new();
    let mut first = None;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Some(rest) = deadline.checked_duration_since(Instant::now()) else {
            return Err(CaptureError::TimedOut(shell.into(), limit));
        };
        let mut ready = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        // At least a millisecond, or the last one would be spent spinning.
        let rest = PollTimeout::try_from(rest.max(Duration::from_millis(1))).unwrap_or(PollTimeout::MAX);
        match poll(&mut ready, rest) {
            Ok(0) | Err(nix::Error::EINTR) => continue,
            Err(e) => return Err(lost(e.into())),
            Ok(_) => {}
        }
        let n = match stdout.read(&mut buffer) {
            Ok(0) => return Err(CaptureError::NoAnswer(shell.into())),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(lost(e)),
        };
        // Look again only where the new bytes can have completed a marker.
        let from = first.unwrap_or(0).max(all.len().saturating_sub(marker.len()));
        all.extend_from_slice(&buffer[..n]);
        let mut from = from;
        while let Some(at) = find(&all[from..], marker) {
            match first {
                None => {
                    first = Some(from + at + marker.len());
                    from += at + marker.len();
                }
                Some(start) => return Ok(all[start..from + at].to_vec()),
            }
        }
        if all.len() > LOGIN_SHELL_BYTES {
            return Err(CaptureError::TooMuch(shell.into()));
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The shell and what it started. Ending it takes the whole session; the shell is reaped only after, so its number
/// cannot have become another session's.
struct Session(Child);

impl Drop for Session {
    fn drop(&mut self) {
        let id = self.0.id() as i32;
        for process in session_members(id) {
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        unsafe { libc::kill(-id, libc::SIGKILL) };
        let _ = self.0.wait();
    }
}

/// Jobs of an interactive shell have process groups of their own, so its own group is not all.
#[cfg(target_os = "linux")]
fn session_members(session: i32) -> Vec<i32> {
    let Ok(dir) = std::fs::read_dir("/proc") else { return Vec::new() };
    dir.flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter(|pid| unsafe { libc::getsid(*pid) } == session)
        .collect()
}

#[cfg(target_os = "macos")]
fn session_members(session: i32) -> Vec<i32> {
    let mut pids = vec![0_i32; 16 * 1024];
    let bytes = (pids.len() * size_of::<i32>()) as i32;
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(count.max(0) as usize);
    pids.retain(|pid| *pid > 0 && unsafe { libc::getsid(*pid) } == session);
    pids
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn session_members(_session: i32) -> Vec<i32> {
    Vec::new()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;

    use super::*;

    /// A home folder with one start-up file, asked through one shell.
    struct Home {
        folder: tempfile::TempDir,
        own: Environment,
    }

    /// Every shell's file for login or interactive shells.
    const FILES: [(&str, &str); 5] = [
        ("/bin/bash", ".bash_profile"),
        ("/usr/bin/zsh", ".zshrc"),
        ("/bin/dash", ".profile"),
        ("/usr/bin/fish", ".config/fish/config.fish"),
        ("/usr/bin/tcsh", ".tcshrc"),
    ];

    fn home(shell: &str, content: &str) -> Home {
        assert!(Path::new(shell).exists(), "this test needs {shell}: `make test` installs it");
        let file = FILES.iter().find(|(s, _)| *s == shell).unwrap().1;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        let own = [
            ("SHELL", shell),
            ("HOME", folder.path().to_str().unwrap()),
            ("PATH", "/usr/bin:/bin"),
            ("OWN", "kept"),
            // To find what is left.
            ("TEST_HOME", folder.path().to_str().unwrap()),
        ]
        .into_iter()
        .collect();
        Home { folder, own }
    }

    impl Home {
        fn ask(&self) -> Captured {
            self.ask_within(Duration::from_secs(30))
        }
        fn ask_within(&self, limit: Duration) -> Captured {
            environment(&self.own, self.folder.path(), limit)
        }
        /// What still runs of what the shell started, except in sessions of their own.
        fn left(&self) -> Vec<i32> {
            let mark = format!("TEST_HOME={}", self.folder.path().display());
            fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .filter_map(|e| e.file_name().to_str()?.parse().ok())
                .filter(|pid: &i32| {
                    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|env| env.split(|b| *b == 0).any(|v| v == mark.as_bytes()))
                })
                .collect()
        }
        /// What was killed is gone a moment later.
        #[track_caller]
        fn none_left(&self) {
            let give_up = Instant::now() + Duration::from_secs(10);
            while !self.left().is_empty() {
                assert!(Instant::now() < give_up, "{:?} left", self.left());
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        /// It answered, and this is the value of a variable.
        #[track_caller]
        fn value(&self, name: &str) -> String {
            let captured = self.ask();
            assert_eq!(captured.notice, None);
            self.none_left();
            assert_eq!(captured.environment.get("OWN"), Some("kept".as_ref()));
            captured.environment.get(name).unwrap_or_default().to_string_lossy().into_owned()
        }
        /// It did not answer: the own environment and a notice that says why.
        #[track_caller]
        fn fails(&self, limit: Duration, why: &str) {
            let captured = self.ask_within(limit);
            let notice = captured.notice.unwrap();
            assert!(notice.contains(why), "{notice}");
            assert!(captured.environment == self.own);
            self.none_left();
        }
    }

    #[test]
    fn every_shells_exports_arrive_b47() {
        for (shell, content) in [
            ("/bin/bash", "export FROM_RC=yes PATH=/nvm/bin:$PATH"),
            ("/usr/bin/zsh", "export FROM_RC=yes PATH=/nvm/bin:$PATH"),
            ("/bin/dash", "export FROM_RC=yes PATH=/nvm/bin:$PATH"),
            ("/usr/bin/fish", "set -gx FROM_RC yes; set -gx PATH /nvm/bin $PATH"),
            ("/usr/bin/tcsh", "setenv FROM_RC yes; setenv PATH /nvm/bin:$PATH"),
        ] {
            let captured = home(shell, content).ask();
            assert_eq!(captured.notice, None, "{shell}");
            let value = |name: &str| captured.environment.get(name).unwrap_or_default().to_string_lossy().into_owned();
            assert_eq!((value("FROM_RC"), value("OWN")), ("yes".into(), "kept".into()), "{shell}");
            assert!(value("PATH").starts_with("/nvm/bin:"), "{shell}: {}", value("PATH"));
            for name in NOT_EXPORTED.iter().chain(&["TERM"]) {
                assert_eq!(captured.environment.get(name), None, "{shell}: {name}");
            }
        }
    }

    #[test]
    fn folders_of_the_own_path_come_after_the_shells_b47() {
        let asked = |own: &str, file: &str| {
            let mut home = home("/bin/bash", file);
            home.own.set("PATH", own);
            home.value("PATH")
        };
        let anew = "export PATH=/nvm/bin:/usr/bin:/bin";
        assert_eq!(asked("/own/bin:/bin:/other", anew), "/nvm/bin:/usr/bin:/bin:/own/bin:/other");
        assert_eq!(asked("/usr/bin:/bin", anew), "/nvm/bin:/usr/bin:/bin");
        assert_eq!(asked("relative:.::/bin", anew), "/nvm/bin:/usr/bin:/bin");
        // What the shell says is left as it is, odd as it may be.
        assert_eq!(asked("/bin", "export PATH=/nvm/bin::/bin:/bin"), "/nvm/bin::/bin:/bin");
    }

    #[test]
    fn hostile_files_that_still_answer_row_41() {
        for (what, content) in [
            ("prints", "echo noise; printf '\\036'; printf '\\036x\\036'; env"),
            ("prints to stderr, traced", "set -x; echo noise >&2"),
            ("a job in the background holds the output", "sleep 1000 &"),
            ("reads", "read answer; read -t 1 other"),
            ("asks on the terminal", "read answer < /dev/tty"),
            ("changes folder and fails", "cd /none; false"),
        ] {
            for shell in ["/bin/bash", "/usr/bin/zsh"] {
                assert_eq!(home(shell, &format!("{content}\nexport FROM_RC=yes\n")).value("FROM_RC"), "yes", "{what}: {shell}");
            }
        }
        let many_lines = home("/bin/bash", "export LINES_3=$'a\\nFAKE=b\\n\\nc'");
        assert_eq!(many_lines.value("LINES_3"), "a\nFAKE=b\n\nc");
        let bytes = home("/bin/bash", "export RAW=$'\\xff='").ask().environment;
        assert_eq!(bytes.get("RAW"), Some(os(b"\xff=").as_os_str()));
    }

    #[test]
    fn an_interactive_file_that_fails_leaves_the_login_one_row_41() {
        let home = home("/usr/bin/zsh", "exit 3");
        fs::write(home.folder.path().join(".zprofile"), "export FROM_PROFILE=yes").unwrap();
        assert_eq!(home.value("FROM_PROFILE"), "yes");
    }

    #[test]
    fn hostile_files_that_do_not_answer_row_41() {
        let long = Duration::from_secs(30);
        home("/bin/bash", "exit 3").fails(long, "/bin/bash ended without running what it was asked to");
        home("/bin/bash", "exec /bin/dash").fails(long, "/bin/bash ended without running what it was asked to");
        home("/bin/bash", "head -c 10000000 /dev/zero").fails(long, "/bin/bash printed more than 4 MiB");
        let short = Duration::from_secs(2);
        home("/bin/bash", "while :; do :; done").fails(short, "/bin/bash was not ready after 1.5s");
        home("/bin/bash", "sleep 1000").fails(short, "/bin/bash was not ready after 1.5s");
    }

    #[test]
    fn a_daemon_the_file_starts_on_purpose_stays() {
        let home = home("/bin/bash", "setsid sleep 1000 & export FROM_RC=yes");
        let captured = home.ask();
        assert_eq!(captured.environment.get("FROM_RC"), Some("yes".as_ref()));
        let left = home.left();
        assert!(left.len() <= 1, "{left:?}");
        for pid in left {
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    #[test]
    fn only_an_absolute_shell_is_asked() {
        let of = |shell: &str| super::shell(&[("SHELL", shell)].into_iter().collect());
        assert_eq!(of("/bin/dash").unwrap(), Path::new("/bin/dash"));
        // What the user database says, which is absolute.
        for odd in ["dash", "./dash", "", "/none/shell"] {
            assert!(of(odd).is_ok_and(|s| s.is_absolute()), "{odd}");
        }
    }
}
