//! `mework doctor`: what is there, what is missing and what to do about it.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use harness::{Home, Ran, short};
use serde_json::json;

/// A PATH with `node`, and a `git` that may not be executed.
fn with_path<'c>(home: &Home, command: &'c mut Command) -> &'c mut Command {
    let node = home.write("bin/node", "#!/bin/sh\ntouch \"$0.ran\"\n");
    std::fs::set_permissions(node, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.write("bin/git", "");
    command.env("PATH", home.path("bin"))
}

/// A command that opens the data folder, and makes what is missing there.
fn start(home: &Home) -> Ran {
    home.run(&["mcp", "test"])
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
ok       database            There is none yet. The first start makes it.
ok       ~/.mework/mcp.json  There is no such file yet.
ok       leftovers           None.
"
    );
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    assert!(!home.path("bin/node.ran").exists(), "looking is not running");
    // It only looks.
    assert!(!home.path(".local").exists());
    // B46: the product's own data is nobody else's business.
    start(&home);
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
    assert_eq!(start(&home).code, 0);
    let ran = home.run(&["doctor"]);
    assert!(ran.code == 0 && ran.out.contains("It can be read and written.\n"), "{ran:?}");
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

/// Only a start does something about it, and says what it did, whichever command it is.
#[test]
fn b46_a_damaged_database_is_looked_at_by_doctor_and_said_by_the_start_that_sets_it_aside() {
    let home = Home::new();
    home.global(json!({ "a": {} }));
    assert_eq!(start(&home).code, 0);
    let folder = home.path(".local/share/mework");
    let path = folder.join("mework.db");
    let rows = [
        (vec!["mcp", "test", "-o", "json"], 0),
        (vec!["mcp", "call", "a", "tool", "-o", "json"], 1),
        (vec!["mcp", "add", "b", "-o", "json", "--", "x"], 0),
        (vec!["mcp", "remove", "b", "-o", "json"], 0),
    ];
    for (args, code) in rows {
        for journal in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.join(format!("mework.db{journal}")));
        }
        let noise = vec![0x5A; 8192];
        std::fs::write(&path, &noise).unwrap();
        let ran = home.run(&["doctor", "-o", "json"]);
        let lines = ran.json()["lines"].as_array().unwrap().clone();
        let line = lines.iter().find(|line| line["what"] == "database").unwrap();
        assert_eq!((ran.code, ran.err.as_str(), &line["ok"]), (1, "", &json!(false)), "{args:?}");
        let message = line["message"].as_str().unwrap();
        assert!(message.starts_with("The database ~/.local/share/mework/mework.db is damaged ("), "{message}");
        assert!(message.contains("the next start sets it aside"), "{message}");
        assert!(home.run(&["doctor"]).out.contains("\nproblem  database "));
        assert_eq!(std::fs::read(&path).unwrap(), noise, "{args:?}: nothing of it was touched");

        let ran = home.run(&args);
        assert_eq!(ran.code, code, "{ran:?}");
        let said = "The database was damaged and could not be read. It was set aside as ~/.local/share/mework/mework-damaged-";
        assert!(ran.err.starts_with(said), "{args:?}: {}", ran.err);
        assert!(ran.json().is_object() && !ran.out.contains("set aside as"), "{ran:?}");
        assert!(!home.run(&["mcp", "test"]).err.contains("set aside as"));
    }
}

/// B46: what an older version kept is brought forward by a start; `doctor` is none.
#[test]
fn b46_an_older_database_is_only_looked_at_by_doctor() {
    let home = Home::new();
    assert_eq!(start(&home).code, 0);
    let folder = home.path(".local/share/mework");
    let path = folder.join("mework.db");
    // The journal is written back when the last one leaves; the format's number then stands in the file's header.
    let mut bytes = std::fs::read(&path).unwrap();
    for journal in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.join(format!("mework.db{journal}")));
    }
    let format = u32::from_be_bytes(bytes[60..64].try_into().unwrap());
    assert!(format > 1);
    bytes[60..64].copy_from_slice(&1_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let ran = home.run(&["doctor"]);
    assert!(ran.code == 0 && ran.out.contains("It is of an older version. The next start brings it to"), "{ran:?}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing of it was touched");
}

#[test]
fn a_folder_in_the_databases_place_is_called_one() {
    let home = Home::new();
    std::fs::create_dir_all(home.path(".local/share/mework/mework.db")).unwrap();
    let said = "~/.local/share/mework/mework.db is a folder, and the database is kept in a file of that name.";
    for args in [["mcp", "list"].as_slice(), &["mcp", "test"]] {
        let ran = home.run(args);
        assert!(ran.code == 1 && ran.err.starts_with(said), "{ran:?}");
    }
    let ran = home.run(&["doctor"]);
    assert!(ran.code == 1 && ran.out.contains(said), "{ran:?}");
}
