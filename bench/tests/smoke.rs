//! The bench cannot rot: its smallest round runs and every row has a figure. How large they are is not judged here.

#![cfg(target_os = "linux")]

use std::process::Command;

use serde_json::Value;

#[test]
#[allow(clippy::disallowed_methods, reason = "a program of this package, not a server")]
fn its_smallest_round_gives_every_row_a_figure() {
    let file = std::env::temp_dir().join(format!("mework-bench-{}.json", std::process::id()));
    let out = Command::new(env!("CARGO_BIN_EXE_mework-bench")).arg("--smallest").arg("--json").arg(&file).output().unwrap();
    let (table, progress) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let written = std::fs::read(&file);
    let _ = std::fs::remove_file(&file);
    assert!(out.status.success(), "{progress}");
    let report: Value = serde_json::from_slice(&written.unwrap()).unwrap();

    let machine = &report["machine"];
    assert!(machine["cores"].as_u64().unwrap() > 0 && machine["kernel"].as_str().unwrap().contains('.'), "{machine}");
    let mut with_goal = 0;
    for row in report["rows"].as_array().unwrap() {
        assert!(row["ours"].is_number(), "{row}");
        assert!(table.contains(row["what"].as_str().unwrap()), "{table}");
        assert_eq!(row["goal"].is_string(), row["met"].is_boolean(), "{row}");
        assert_eq!(row["ratio"].is_number(), row["floor"].is_number(), "{row}");
        with_goal += usize::from(row["goal"].is_string());
    }
    // One for each figure that a goal was set for.
    assert_eq!((report["rows"].as_array().unwrap().len(), with_goal), (24, 15));
}
