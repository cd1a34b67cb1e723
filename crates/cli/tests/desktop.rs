//! `mework` alone opens the window that is installed with it, where there is a display.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use harness::{Home, program};

/// A window that only says that it was opened.
fn window(home: &Home, folder: &str) {
    let path = home.write(&format!("{folder}/mework-desktop"), &format!("#!/bin/sh\necho window from {folder}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn opened(program: &Path, display: Option<&str>, path: &Path) -> String {
    let mut command = Command::new(program);
    command.env_remove("WAYLAND_DISPLAY").env_remove("DISPLAY").env("PATH", path);
    if let Some(display) = display {
        command.env("DISPLAY", display);
    }
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_window_beside_the_program_wins_over_one_on_the_path() {
    let home = Home::new();
    // Not where the tests' own build puts a real window.
    let own = home.write("installed/mework", "");
    std::fs::copy(program(), &own).unwrap();
    window(&home, "path");
    let path = home.path("path");
    let help = opened(&own, None, &path);
    assert!(help.starts_with("Mework: declare MCP servers"), "{help}");
    assert_eq!(opened(&own, Some(""), &path), help);
    assert_eq!(opened(&own, Some(":77"), &home.path("elsewhere")), help);
    assert_eq!(opened(&own, Some(":77"), &path), "window from path\n");
    window(&home, "installed");
    assert_eq!(opened(&own, Some(":77"), &path), "window from installed\n");
}
