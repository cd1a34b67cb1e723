//! What holds of everything that reads hostile bytes, whatever the bytes are. Each law is a function of made-up bytes that
//! panics where it does not hold. Fuzzing (`make fuzz`) looks for such bytes; those that are kept in `fuzz/corpus` are tried
//! by `make test` too.

pub mod config;
pub mod edit;
pub mod expansion;
pub mod framer;
pub mod paste;
pub mod result;
pub mod sse;
pub mod stream;
pub mod text;

/// What is tried with made-up bytes.
pub type Law = fn(&[u8]);

/// The laws, by the name of their target and of their folder in `fuzz/corpus`.
pub const LAWS: [(&str, Law); 8] = [
    ("config", config::law),
    ("edit", edit::law),
    ("expansion", expansion::law),
    ("framer", framer::law),
    ("paste", paste::law),
    ("result", result::law),
    ("sse", sse::law),
    ("text", text::law),
];
