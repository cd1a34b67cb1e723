//! What is not needed is not built in.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail by panicking, and asks cargo")]

use std::process::Command;

fn cargo(args: &[&str]) -> String {
    // The one that runs this test.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran =
        Command::new(cargo).args(args).args(["--offline", "--locked"]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The packages of this workspace.
fn members() -> Vec<String> {
    let metadata: serde_json::Value = serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    metadata["packages"].as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}

/// The features of rmcp that this package is built with; nothing where it is built without rmcp.
fn rmcp_features(package: &str) -> Option<Vec<String>> {
    let tree = cargo(&["tree", "-p", package, "-e", "all", "-f", "{p}|{f}", "--prefix", "none"]);
    let rmcp: Vec<&str> = tree.lines().filter(|line| line.starts_with("rmcp v")).collect();
    let words = rmcp.iter().filter_map(|line| line.split('|').nth(1)?.split_whitespace().next());
    let features = words.flat_map(|features| features.split(',')).map(str::to_owned).collect();
    (!rmcp.is_empty()).then_some(features)
}

/// Security row 43: rmcp's server answers whoever reaches it. Only the command line has one, the sample server; the window,
/// which holds a person's secrets, has none. And row 32: nothing of rmcp's logs in anywhere.
#[test]
fn rows_32_43_only_the_command_line_holds_an_mcp_server_and_nothing_logs_in() {
    let mut with_server = Vec::new();
    let mut with_rmcp = 0;
    for package in members() {
        let Some(features) = rmcp_features(&package) else { continue };
        with_rmcp += 1;
        assert!(!features.iter().any(|feature| feature.starts_with("auth")), "{package}: {features:?}");
        if features.iter().any(|feature| feature == "server") {
            with_server.push(package);
        }
    }
    assert!(with_rmcp > 3, "the engine and all that stand on it");
    assert_eq!(with_server, ["mework"]);
}
