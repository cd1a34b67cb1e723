//! `mework mcp list`: exact text and JSON, and that listing starts nothing (security row 2).
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use harness::{Home, Ran, Served};
use serde_json::{Value, json};

fn ran(code: i32, out: &str, err: &str) -> Ran {
    Ran { code, out: out.into(), err: err.into() }
}

#[test]
fn an_empty_home_says_how_to_begin() {
    let home = Home::new();
    assert_eq!(
        home.run(&["mcp", "list"]),
        ran(
            0,
            "Global  ~/.mework/mcp.json (no such file)\n\n\
             No server is declared yet. A small one to try: mework mcp add sample -- mework sample-server\n",
            ""
        )
    );
}

/// Every kind of row and file: usable, unusable, ignored, shadowed, deceptive.
fn mixed() -> Home {
    let home = Home::new();
    home.write(
        ".mework/mcp.json",
        r#"{ "mcpServers": {
            "files": { "command": "npx", "args": ["-y", "server-filesystem", "/tmp"], "description": "Reads files", "timeoutSeconds": 900 },
            "docs": { "url": "https://docs.example.com/mcp?key=hidden", "header": { "x": "hidden" }, "autoApprove": ["*"] },
            "od\u001b[31md\u202e": { "command": "x" }
        } }"#,
    );
    home.write(".naiword/mcp.json", "{}");
    home.write("one/.naiword/mcp.json", r#"{ "mcpServers": { "old": { "command": "./run.sh" } } }"#);
    home.write("two/.mework/mcp.json", r#"{ "servers": { "secret-looking": {} } }"#);
    home
}

#[test]
fn every_file_and_row_as_text() {
    let home = mixed();
    let expected = "\
Global  ~/.mework/mcp.json
  ~/.naiword/mcp.json is not read, because this file stands beside it.
  files                    stdio  asks first   npx -y server-filesystem /tmp
    `timeoutSeconds` is more than 300 seconds; 300 are used.
  docs                     http   unavailable  https://docs.example.com/mcp
    `url` needs a type: add \"type\": \"http\".
    Unknown key `header` is ignored; did you mean `headers`?
  od⟨U+001B⟩[31md⟨U+202E⟩  stdio  unavailable  x
    The name may hold only letters A–Z and a–z, digits, `-` and `_`, 1 to 128 of them.

Workspace 1  ~/one/.naiword/mcp.json
  old                      stdio  asks first   ./run.sh

Workspace 2  ~/two/.mework/mcp.json (ignored)
  The file has its servers under `servers`. Mework reads them under `mcpServers`: rename that key.
";
    let (one, two) = (home.path("one"), home.path("two"));
    let args = ["mcp", "list", "-w", one.to_str().unwrap(), "--workspace", two.to_str().unwrap()];
    assert_eq!(home.run(&args), ran(0, expected, ""));
    assert_eq!(home.run(&["mcp", "ls", "-w", one.to_str().unwrap(), "-w", two.to_str().unwrap()]).out, expected);
}

#[test]
fn every_file_and_row_as_json() {
    let home = mixed();
    let one = home.path("one");
    let ran = home.run(&["mcp", "list", "-o", "json", "-w", one.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let file = |path: &str, level: &str, state: &str| json!({ "path": path, "source": "native", "level": level, "state": state });
    let server = |name: &str, scope: &str, file: &str, transport: &str, state: &str, reasons: Value, notes: Value| {
        json!({
            "id": format!("native:local:{file}#{name}"), "name": name, "source": "native", "scope": scope, "file": file,
            "machine": "local", "transport": transport, "state": state, "reasons": reasons, "notes": notes, "consent": "needed",
        })
    };
    let mut shadowed = file("~/.naiword/mcp.json", "global", "shadowed");
    shadowed["message"] = "It is not read, because ~/.mework/mcp.json stands beside it.".into();
    let mut files = server(
        "files",
        "global",
        "~/.mework/mcp.json",
        "stdio",
        "ready",
        json!([]),
        json!(["`timeoutSeconds` is more than 300 seconds; 300 are used."]),
    );
    files["description"] = "Reads files".into();
    assert_eq!(
        ran.json(),
        json!({
            "files": [file("~/.mework/mcp.json", "global", "ok"), shadowed, file("~/one/.naiword/mcp.json", "workspace", "ok")],
            "servers": [
                files,
                server("docs", "global", "~/.mework/mcp.json", "http", "unavailable", json!(["`url` needs a type: add \"type\": \"http\"."]),
                    json!(["Unknown key `header` is ignored; did you mean `headers`?"])),
                server("od\u{1b}[31md\u{202e}", "global", "~/.mework/mcp.json", "stdio", "unavailable",
                    json!(["The name may hold only letters A–Z and a–z, digits, `-` and `_`, 1 to 128 of them."]), json!([])),
                server("old", "workspace", "~/one/.naiword/mcp.json", "stdio", "ready", json!([]), json!([])),
            ],
        })
    );
    // One document, and nothing a terminal would act on.
    assert!(!ran.out.contains('\u{1b}'));
}

#[test]
fn the_current_folder_is_a_workspace_only_where_it_declares_servers_and_is_not_the_home() {
    let home = mixed();
    let workspaces = |folder: &str| home.run_in(folder, &["mcp", "list"]).out.matches("Workspace ").count();
    assert_eq!(workspaces("one"), 1);
    assert_eq!(workspaces("two"), 1);
    assert_eq!(workspaces("elsewhere"), 0);
    assert_eq!(workspaces("."), 0);
    // Named ones replace it, and one that is named twice counts once.
    let two = home.path("two");
    let ran = home.run_in("one", &["mcp", "list", "-w", two.to_str().unwrap(), "-w", "../two"]);
    assert_eq!(ran.out.matches("Workspace ").count(), 1);
    assert!(ran.out.contains("Workspace 1  ~/two/"), "{}", ran.out);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let home = Home::new();
    for (args, message) in [
        (vec!["mcp", "list", "-w", "/no/such/folder"], "The workspace /no/such/folder is not an existing folder.\n"),
        (vec!["mcp", "list", "-o", "yaml"], "error: invalid value 'yaml'"),
        (vec!["mcp", "nonsense"], "error: unrecognized subcommand"),
        (vec!["mcp"], "See, test, call"),
    ] {
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.starts_with(message), "{args:?}: {}", ran.err);
    }
    // With -o json, or where JSON is what there is, what was not understood is a document too.
    for args in [
        ["mcp", "list", "-o", "json", "--nonsense"].as_slice(),
        &["mcp", "test", "--nonsense", "-ojson"],
        &["mcp", "remove", "--output=json"],
        &["mcp", "call", "--output", "json", "only-a-name"],
        &["mcp", "add", "a", "-o", "json", "--scope", "nowhere", "--", "x", "-o", "text"],
        &["mcp", "nonsense", "-o", "json"],
        &["doctor", "-o=json", "nonsense"],
        &["mcp", "get"],
    ] {
        let ran = home.run(args);
        let document = ran.json();
        let error = document["error"].as_str().unwrap();
        assert_eq!((ran.code, &document, document.as_object().unwrap().len()), (2, &json!({ "ok": false, "error": error }), 2));
        assert_eq!(ran.err.trim_end(), format!("error: {error}"), "{args:?}");
    }
    for args in [["mcp", "get", "-o", "text"].as_slice(), &["mcp", "add", "--nonsense", "--", "x", "-o", "json"]] {
        assert_eq!(home.run(args).out, "", "{args:?}");
    }
    assert!(home.run(&["mcp", "list", "-o", "json", "--help"]).out.starts_with("Every declared server"));
    // With -o json there is a document all the same.
    let ran = home.run(&["mcp", "list", "-o", "json", "-w", "/no/such/folder"]);
    assert_eq!(
        (ran.code, ran.json()),
        (2, json!({ "ok": false, "error": "The workspace /no/such/folder is not an existing folder." }))
    );
}

/// What strace would show: no program is started and no connection is made by listing (row 2).
#[cfg(unix)]
#[test]
fn row_2_listing_starts_and_reaches_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let canary = home.write("canary.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/touched\"\n");
    std::fs::set_permissions(&canary, std::fs::Permissions::from_mode(0o755)).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    home.global(json!({
        "local": { "command": canary },
        "remote": { "type": "http", "url": format!("http://{}/${{HOME}}", listener.local_addr().unwrap()) },
    }));
    for output in ["text", "json"] {
        assert_eq!(home.run(&["mcp", "list", "-o", output]).code, 0);
    }
    assert!(!home.path("touched").exists());
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// Showing takes no part in the data folder: where there is none, there is none afterwards; where there is one, no process
/// comes into it.
#[test]
fn showing_leaves_the_data_folder_as_it_was() {
    let home = Home::new();
    home.global(json!({ "a": { "command": "x" } }));
    for args in [["mcp", "list"].as_slice(), &["mcp", "get", "a"]] {
        assert_eq!(home.run(args).code, 0);
    }
    let top = home.data().split('/').next().unwrap();
    assert!(!home.path(top).exists());
    assert_eq!(home.run(&["doctor"]).code, 0);
    assert!(!home.path(top).exists());
    assert_eq!(home.run(&["mcp", "test"]).code, 0);
    let processes = || home.path(home.data()).join("run").read_dir().unwrap().count();
    assert_eq!(processes(), 0);
    for args in [["mcp", "list"].as_slice(), &["mcp", "get", "a"], &["doctor"]] {
        assert_eq!(home.run(args).code, 0);
    }
    assert_eq!(processes(), 0);
}

/// B46: whoever only shows says what is damaged, shows the rest, and leaves it to whoever has, or will have, it open.
#[test]
fn a_damaged_database_is_said_so_and_left_alone() {
    let home = Home::new();
    home.global(json!({ "a": { "command": "x" } }));
    let served = Served::start(&home);
    let file = home.path(home.data()).join("mework.db");
    let bytes = |name: &str| std::fs::read(file.with_file_name(name)).unwrap();
    // The journal beside it holds what was written last; all of it but its head, by which it is known.
    for (name, kept) in [("mework.db", 0), ("mework.db-wal", 32)] {
        let mut bytes = bytes(name);
        bytes[kept..].fill(0x5A);
        std::fs::write(file.with_file_name(name), bytes).unwrap();
    }
    let noise = bytes("mework.db");
    let words = format!("The database ~/{}/mework.db is damaged (", home.data());
    let listed = "Global  ~/.mework/mcp.json\n  a  stdio  asks first  x\n";
    for (args, shown) in [(["mcp", "list"].as_slice(), listed), (&["mcp", "get", "a"], "\"consent\": \"needed\"")] {
        let ran = home.run(args);
        assert!(ran.code == 0 && ran.out.contains(shown), "{ran:?}");
        assert!(ran.err.starts_with(&words) && ran.err.lines().count() == 1, "{}", ran.err);
    }
    // What needs the database cannot go on, and says what to do.
    let ran = home.run(&["mcp", "add", "b", "--", "y"]);
    let refused =
        format!("The database ~/{}/mework.db is damaged, and another Mework has it open. Quit every Mework", home.data());
    assert!(ran.code == 1 && ran.err.starts_with(&refused), "{ran:?}");
    assert_eq!(bytes("mework.db"), noise);

    drop(served);
    assert!(home.run(&["mcp", "list"]).err.starts_with(&words));
    assert_eq!(bytes("mework.db"), noise);
    let served = Served::start(&home);
    let cookie = served.sign_in();
    let snapshot = served.rpc(&cookie, r#"{ "method": "snapshot", "params": {} }"#).body;
    assert!(snapshot.contains("It was set aside as "), "{snapshot}");
    assert_eq!(home.run(&["mcp", "list"]).err, "");
}

/// A reader that goes away is no error worth a message.
#[test]
fn a_closed_pipe_ends_it_quietly() {
    let home = Home::new();
    let mut process =
        home.command(&["mcp", "list"]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(process.stdout.take());
    let output = process.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn help_shows_an_example_and_the_version_is_this_ones() {
    let home = Home::new();
    let help = home.run(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    assert!(help.out.contains("Example:\n  mework mcp list\n"), "{}", help.out);
    // Without a display there is no window to open: the same help.
    assert_eq!(home.run(&[]).out, help.out);
    assert_eq!(home.run(&["--version"]).out, format!("mework {}\n", env!("CARGO_PKG_VERSION")));
}

/// Colour is for terminals, and for those who did not refuse it.
#[cfg(unix)]
#[test]
fn no_color_is_respected() {
    let home = mixed();
    let shown = |no_color: &str| {
        let mut command = home.command(&["mcp", "list"]);
        command.env("TERM", "xterm").env("NO_COLOR", no_color);
        harness::Typist::of(&home, command, true).ends().err
    };
    assert!(shown("").contains("\u{1b}[31munavailable\u{1b}[0m"));
    let plain = shown("1");
    assert!(!plain.contains('\u{1b}') && plain.contains("unavailable"), "{plain}");
    // No terminal, no colour.
    assert!(!home.run(&["mcp", "list"]).out.contains('\u{1b}'));
}

/// The home folder's own servers are the global ones: listed once, and their names mean one.
#[test]
fn the_home_folder_is_no_workspace() {
    let home = Home::new();
    home.global(json!({ "a": { "command": "x" } }));
    let root = home.root();
    let words = "~: This is your home folder. Its servers are the global ones already: choose a folder below it.\n";
    let ran = home.run(&["mcp", "list", "-w", root.to_str().unwrap(), "-o", "json"]);
    let document = ran.json();
    assert_eq!((ran.code, ran.err.as_str()), (0, words));
    assert_eq!((document["servers"].as_array().unwrap().len(), document["files"].as_array().unwrap().len()), (1, 1));
    let ran = home.run(&["mcp", "get", "a", "-w", root.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, words));
    let ran = home.run(&["mcp", "add", "b", "-w", root.to_str().unwrap(), "--", "x"]);
    assert_eq!((ran.code, ran.err), (2, format!("{words}There is no workspace here. Give its folder with -w.\n")));
}

/// Systems other than these refuse such names, or have none.
#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_not_utf_8_is_shown_as_far_as_it_is_and_no_workspace() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    let odd = home.root().join(OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir_all(odd.join(".mework")).unwrap();
    std::fs::write(odd.join(".mework/mcp.json"), r#"{ "mcpServers": { "a": { "command": "x" } } }"#).unwrap();
    let run = |args: &[&str], change: &dyn Fn(&mut std::process::Command)| {
        let mut command = home.command(args);
        change(&mut command);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| harness::short(&String::from_utf8(bytes).unwrap(), &home.root());
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    };
    let words = "~/odd\u{fffd} cannot be a workspace, because its path is not UTF-8. Rename the folder, or choose another.";
    for args in [
        ["mcp", "list", "-o", "json"].as_slice(),
        &["mcp", "get", "a"],
        &["mcp", "test", "a", "-o", "json"],
        &["mcp", "call", "a", "tool", "-o", "json"],
        &["mcp", "add", "b", "--transport", "http", "http://localhost/", "-o", "json"],
        &["mcp", "remove", "a", "-o", "json"],
        &["doctor", "-o", "json"],
    ] {
        let ran = run(args, &|command| {
            command.arg("-w").arg(&odd);
        });
        assert_eq!((ran.code, ran.json(), ran.err.trim_end()), (2, json!({ "ok": false, "error": words }), words), "{args:?}");
    }
    // As the current folder it counts as none.
    let ran = run(&["mcp", "list", "-o", "json"], &|command| {
        command.current_dir(&odd);
    });
    assert_eq!((ran.code, ran.json()["servers"].clone()), (0, json!([])));
    assert!(ran.err.starts_with("The current folder does not count as a workspace"), "{}", ran.err);
    // As the home folder it is shown with the sign for what is no text, and its servers have no ids to start or change them by.
    let home_of = |args: &[&str]| {
        run(args, &|command| {
            command.env("MEWORK_HOME", &odd);
        })
    };
    for args in [["mcp", "list", "-o", "json"].as_slice(), &["mcp", "get", "a"]] {
        let ran = home_of(args);
        assert!(ran.code == 0 && ran.out.contains("odd\u{fffd}/.mework/mcp.json"), "{args:?}: {ran:?}");
    }
    assert_eq!(home_of(&["doctor", "-o", "json"]).code, 0);
    for args in [
        ["mcp", "test", "a", "--yes"].as_slice(),
        &["mcp", "call", "a", "tool", "--yes"],
        &["mcp", "add", "b", "--", "y"],
        &["mcp", "remove", "a"],
    ] {
        let ran = home_of(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.starts_with("The path of the home folder ~/odd\u{fffd} is not UTF-8"), "{}", ran.err);
    }
}
