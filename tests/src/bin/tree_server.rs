//! A server as far as processes are concerned: obeys or ignores being told to end, starts others that try to stay.
//! `tree-server KIND` says "ready" once all of it runs. It speaks no MCP.

#[cfg(unix)]
fn main() {
    unix::main();
}

/// What stays and how is Unix's own; Windows has the roles in the engine's `tests/windows.rs`.
#[cfg(not(unix))]
fn main() {
    eprintln!("tree-server: this is no Unix");
    std::process::exit(2);
}

#[cfg(unix)]
mod unix {
    use std::io::{Read, Write};

    pub fn main() {
        let args: Vec<String> = std::env::args().collect();
        match args.get(1).map(String::as_str) {
            Some("obeys-eof") => {}
            Some("ignores-eof") => stay(),
            Some("ignores-eof-and-term") => {
                ignore_term();
                stay();
            }
            Some("launcher") => with_child(|| {}),
            Some("setsid-child") => with_child(|| {
                unsafe { libc::setsid() };
            }),
            Some("double-fork") => with_child(|| unsafe {
                libc::setsid();
                match libc::fork() {
                    0 => {}
                    _ => libc::_exit(0),
                }
            }),
            // Ends by itself and leaves a child behind.
            Some("exits") => {
                with_child(|| {});
                std::process::exit(args[2].parse().unwrap_or(1));
            }
            Some("dies") => {
                with_child(|| {});
                unsafe { libc::kill(libc::getpid(), libc::SIGABRT) };
            }
            // Says what it was given: arguments, folder, environment, open files, ignored signals.
            Some("tells") => {
                let fds = std::fs::read_dir("/proc/self/fd").map(|d| d.flatten().map(|e| e.file_name()).collect::<Vec<_>>());
                let mut fds: Vec<u32> = fds.unwrap_or_default().iter().filter_map(|f| f.to_str()?.parse().ok()).collect();
                fds.sort_unstable();
                let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
                let signals = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("").trim().to_owned();
                let environment: std::collections::BTreeMap<String, String> = std::env::vars().collect();
                let told = serde_json::json!({
                    "args": &args[2..],
                    "cwd": std::env::current_dir().unwrap_or_default(),
                    "env": environment,
                    "fds": fds,
                    "blocked": signals("SigBlk:"),
                    "session": unsafe { libc::getsid(0) } == std::process::id() as i32,
                });
                println!("{told}");
                return;
            }
            other => {
                eprintln!("tree-server: no such kind: {other:?}");
                std::process::exit(2);
            }
        }
        ready();
        until_eof();
    }

    fn ready() {
        println!("ready");
        let _ = std::io::stdout().flush();
    }

    fn until_eof() {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    }

    fn stay() -> ! {
        ready();
        forever()
    }

    fn forever() -> ! {
        loop {
            unsafe { libc::pause() };
        }
    }

    fn ignore_term() {
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    }

    /// Starts a child that ignores everything but SIGKILL, after `leave` took it away, and waits until it stays.
    fn with_child(leave: impl FnOnce()) {
        let mut pipe = [0; 2];
        let mut byte = [0_u8];
        unsafe {
            libc::pipe(pipe.as_mut_ptr());
            match libc::fork() {
                0 => {
                    leave();
                    ignore_term();
                    libc::signal(libc::SIGHUP, libc::SIG_IGN);
                    libc::write(pipe[1], byte.as_ptr().cast(), 1);
                    libc::close(pipe[0]);
                    libc::close(pipe[1]);
                    forever()
                }
                _ => {
                    libc::close(pipe[1]);
                    libc::read(pipe[0], byte.as_mut_ptr().cast(), 1);
                    libc::close(pipe[0]);
                }
            }
        }
    }
}
