//! `mework doctor`: what is there, what is missing and what to do about it.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use harness::{Home, short};
use serde_json::json;

/// A PATH with `node`, and a `git` that may not be executed.
fn with_path<'c>(home: &Home, command: &'c mut Command) -> &'c mut Command {
    let node = home.write("bin/node", "#!/bin/sh\ntouch \"$0.ran\"\n");
    std::fs::set_permissions(node, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.write("bin/git", "");
    command.env("PATH", home.path("bin"))
}

#[test]
fn a_healthy_home() {
    let home = Home::new();
    let output = with_path(&home, &mut home.command(&["doctor"])).output().unwrap();
    let text = short(&String::from_utf8(output.stdout).unwrap(), &home.root());
    assert_eq!(
        text,
        "\
ok       node                ~/bin/node
missing  npx                 Not on the PATH. Servers from npm are started with it. It comes with Node.js (nodejs.org) or a package `npm`.
missing  uvx                 Not on the PATH. Servers from PyPI are usually started with it. It comes with uv (docs.astral.sh/uv).
missing  python3             Not on the PATH. Servers written in Python need it.
missing  git                 ~/bin/git may not be executed. Servers that work on repositories need it.
missing  docker              Not on the PATH. Servers that come as container images need it.
ok       data folder         ~/.local/share/mework
ok       database            It can be read and written.
ok       ~/.mework/mcp.json  There is no such file yet.
ok       leftovers           None.
"
    );
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    assert!(!home.path("bin/node.ran").exists(), "looking is not running");
    // B46: the product's own data is nobody else's business.
    let mode = |path: &str| home.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".local/share/mework"), mode(".local/share/mework/mework.db")), (0o700, 0o600));
}

#[test]
fn problems_are_named_and_decide_the_exit_code() {
    let home = Home::new();
    home.write("ws/.mework/mcp.json", "[]");
    home.global(json!({ "a": { "command": "x" }, "b": {} }));
    let ran = home.run_in("ws", &["doctor", "-o", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let document = ran.json();
    let line = |what: &str| document["lines"].as_array().unwrap().iter().find(|line| line["what"] == what).unwrap().clone();
    assert_eq!(
        line("~/.mework/mcp.json"),
        json!({ "what": "~/.mework/mcp.json", "ok": true, "message": "2 servers declared, 1 usable." })
    );
    assert_eq!(line("b")["ok"], false);
    assert_eq!(line("~/ws/.mework/mcp.json")["ok"], false);
}

#[test]
fn b46_a_database_of_a_newer_version_is_refused_in_words() {
    let home = Home::new();
    assert_eq!(home.run(&["doctor"]).code, 0);
    // The format's number stands in the file's header, where SQLite keeps `user_version`.
    let path = home.path(".local/share/mework/mework.db");
    let mut bytes = std::fs::read(&path).unwrap();
    for extra in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(home.path(&format!(".local/share/mework/mework.db{extra}")));
    }
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let ran = home.run(&["mcp", "list"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("was written by a newer version of Mework (its format is 9999, this version knows"), "{}", ran.err);
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("problem  database"), "{}", ran.out);
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing of it was touched");
}
