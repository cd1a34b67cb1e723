//! What the engine warns of, for whoever reads a program's stderr. Only programs call this.

use std::io::Write;

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Warnings of our own crates, from now on. What other crates log may hold what servers and files say, so none of it is
/// written (security row 16).
pub fn warnings_to_stderr() {
    // Set already: then they go there.
    let _ = subscriber(std::io::stderr).try_init();
}

fn subscriber<W>(writer: W) -> impl tracing::Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w, Writer: Write> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false).without_time().with_target(false);
    // Every crate of ours begins with this word.
    tracing_subscriber::registry().with(Targets::new().with_target("mework", Level::WARN)).with(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn row_16_our_own_warnings_and_nothing_of_other_crates() {
        let written = Written::default();
        let writer = written.clone();
        tracing::subscriber::with_default(subscriber(move || writer.clone()), || {
            tracing::error!(target: "rmcp::service", "a message: {}", "its body");
            tracing::error!(target: "hyper", "a header");
            tracing::info!("not worth a line");
            tracing::warn!(target: "mework_desktop::links", scheme = "file", "kept");
            tracing::warn!("moves the cursor: \u{1b}[2K");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].trim(), "WARN kept scheme=\"file\"");
        assert_eq!(lines[1].trim(), r"WARN moves the cursor: \x1b[2K");
        assert_eq!(lines.len(), 2);
    }
}
