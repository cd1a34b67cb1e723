//! What a mistake of our own says when it ends a thread: to stderr, without the secrets of this process (security row 16).
//! Only programs call this.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::panic::PanicHookInfo;

use crate::text;

/// Panics from now on. Call it before anything else, so that no panic meets the standard library's words.
pub fn panics_to_stderr() {
    std::panic::set_hook(Box::new(|panic| {
        // Nowhere is left to say that stderr is gone.
        let _ = std::io::stderr().write_all(report(panic).as_bytes());
    }));
}

fn report(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let said = match said {
        // The thread that failed may hold a list of secrets; then nobody can say what is one.
        Some(said) => text::scrub_for_panic(said).map_or("(not shown: it may hold a secret)".into(), |said| text::display(&said)),
        None => "(no words)".into(),
    };
    let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    let trace = Backtrace::capture();
    let trace = if trace.status() == BacktraceStatus::Captured { format!("{trace}\n") } else { String::new() };
    format!("mework: Mework made a mistake{place}: {said}\n{trace}")
}
