//! Asking the person at the terminal. Questions go to stderr, so that stdout stays the result; whatever was typed before a
//! question was shown does not answer it; anything but a clear yes is a no.

use std::io::{IsTerminal, Write};

use mework_engine::text::display;

/// Someone is there to ask: they see stderr and type on stdin.
pub fn is_present() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Shows `text` (colours of our own allowed; foreign text must have passed [`display`]) without a line end, and reads one
/// line. `None` when the input ended.
pub async fn ask(text: String) -> Option<String> {
    // A read of a terminal cannot be given up; the thread that waits for it ends with the program.
    tokio::task::spawn_blocking(move || {
        let mut out = std::io::stderr().lock();
        forget_typed_ahead();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        drop(out);
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_owned()),
        }
    })
    .await
    .ok()
    .flatten()
}

pub async fn confirm(question: &str) -> bool {
    let answer = ask(format!("{} [y/N] ", display(question))).await;
    answer.is_some_and(|answer| matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(unix)]
fn forget_typed_ahead() {
    use nix::sys::termios::{FlushArg, tcflush};
    // Not a terminal after all: then there is nothing to forget.
    let _ = tcflush(std::io::stdin(), FlushArg::TCIFLUSH);
}

#[cfg(windows)]
fn forget_typed_ahead() {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::System::Console::FlushConsoleInputBuffer;
    // SAFETY: the handle is this process's own and stays open; what is no console is refused.
    unsafe { FlushConsoleInputBuffer(std::io::stdin().as_raw_handle()) };
}
