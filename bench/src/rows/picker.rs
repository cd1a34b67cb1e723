//! The picker over 2,048 tools in a real browser: what the page's thread does at one go while somebody types.

use std::path::Path;
use std::process::Stdio;

use mework_tests::programs::command;
use serde_json::Value;

use super::Rows;
use crate::measure::{Measured, Rounds};

pub async fn picker(rounds: Rounds) -> Rows {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("picker.mjs");
    let mut node = command("node");
    node.arg(script).arg(rounds.of(5).to_string()).stdin(Stdio::null()).stderr(Stdio::inherit());
    let out = node.output().expect("node");
    assert!(out.status.success(), "the browser's part broke off");
    let found: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    let figures = |key: &str| -> Vec<f64> { found[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect() };
    let (longest, processor) = (figures("longest_ms"), figures("cpu_ms"));
    assert!(longest.len() == rounds.of(5) && processor.len() == rounds.of(5), "{}", String::from_utf8_lossy(&out.stdout));
    vec![("picker", Measured::ours(longest)), ("picker-cpu", Measured::ours(processor))]
}
