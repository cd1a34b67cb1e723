//! What a mistake of our own writes: never a secret (security row 16).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test starts itself again, and may fail by panicking")]

use std::process::Command;

use mework_engine::machine::panics_to_stderr;
use mework_engine::text::Scrubber;

/// Runs in a process of its own: the hook is the whole process's.
#[test]
fn row_16_a_panic_says_no_secret() {
    const SECRET: &str = "PANICS_WITH";
    if let Ok(secret) = std::env::var(SECRET) {
        panics_to_stderr();
        let scrubber = Scrubber::default();
        scrubber.add([&secret]);
        let quoted = secret.clone();
        std::thread::spawn(move || panic!("the token {quoted} (once more: {quoted:?})\u{1b}[2K")).join().unwrap_err();
        // One that is no text at all.
        std::thread::spawn(|| std::panic::panic_any(7)).join().unwrap_err();
        return;
    }
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "row_16_a_panic_says_no_secret", "--nocapture"])
        .env(SECRET, "s3cret \"of\" the server")
        .env_remove("RUST_BACKTRACE")
        .output()
        .unwrap();
    assert!(again.status.success());
    let said = String::from_utf8(again.stderr).unwrap();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("mework: ")).collect();
    let words = |line: &str| line.split_once(": ").and_then(|(_, rest)| rest.split_once(": ")).map(|(_, words)| words.to_owned());
    assert_eq!(words(lines[0]).unwrap(), "the token ••• (once more: \"•••\")⟨U+001B⟩[2K");
    assert!(lines[0].contains(" at crates/engine/tests/panics.rs:") || lines[0].contains(" at tests/panics.rs:"), "{said}");
    assert_eq!(words(lines[1]).unwrap(), "(no words)");
    assert_eq!((lines.len(), said.contains("s3cret")), (2, false), "{said}");
}

/// Both programs, before anything else can fail.
#[test]
fn row_16_both_programs_begin_with_it() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for main in ["crates/cli/src/main.rs", "src-tauri/main.rs"] {
        let source = std::fs::read_to_string(root.join(main)).unwrap();
        let body = source.split("fn main() -> ExitCode {\n").nth(1).unwrap();
        assert_eq!(body.lines().next().unwrap().trim(), "mework_engine::machine::panics_to_stderr();", "{main}");
    }
}
