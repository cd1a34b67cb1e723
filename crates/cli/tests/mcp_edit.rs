//! `mework mcp add` and `remove`: what is written, what stays, what is asked (B17, sources' S6).
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use harness::{Home, Ran};
use serde_json::json;

fn ran(code: i32, out: &str, err: &str) -> Ran {
    Ran { code, out: out.into(), err: err.into() }
}

#[test]
fn s6_add_writes_a_new_file_and_then_into_it() {
    let home = Home::new();
    let add = ["mcp", "add", "sample", "--", "mework", "sample-server"];
    assert_eq!(home.run(&add), ran(0, "Added sample in ~/.mework/mcp.json.\n", ""));
    let file = || serde_json::from_str::<serde_json::Value>(&home.read(".mework/mcp.json")).unwrap();
    assert_eq!(file(), json!({ "mcpServers": { "sample": { "command": "mework", "args": ["sample-server"] } } }));
    let http =
        ["mcp", "add", "--transport", "http", "-H", "X-Key: ${KEY:-none}", "--timeout", "60s", "docs", "http://localhost:1/mcp"];
    assert_eq!(home.run(&http), ran(0, "Added docs in ~/.mework/mcp.json.\n", ""));
    assert_eq!(
        file()["mcpServers"]["docs"],
        json!({ "type": "http", "url": "http://localhost:1/mcp", "headers": { "X-Key": "${KEY:-none}" }, "timeoutSeconds": 60 })
    );

    // A name that is taken: only with --force.
    let before = home.read(".mework/mcp.json");
    assert_eq!(home.run(&add), ran(1, "", "sample stands in ~/.mework/mcp.json already. --force replaces it.\n"));
    assert_eq!(home.read(".mework/mcp.json"), before);
    let other = ["mcp", "add", "--force", "-e", "A=1", "sample", "--", "other"];
    assert_eq!(home.run(&other), ran(0, "Replaced sample in ~/.mework/mcp.json.\n", ""));
    assert_eq!(file()["mcpServers"]["sample"], json!({ "command": "other", "env": { "A": "1" } }));
}

#[test]
fn s6_a_workspace_that_is_named_gets_the_entry() {
    let home = Home::new();
    home.write("ws/readme", "");
    let ws = home.path("ws");
    let added = home.run(&["mcp", "add", "-w", ws.to_str().unwrap(), "a", "-o", "json", "--", "x"]);
    assert_eq!(
        (added.code, added.json()),
        (
            0,
            json!({ "id": "native:local:~/ws/.mework/mcp.json#a", "name": "a", "scope": "workspace", "file": "~/ws/.mework/mcp.json",
                "replaced": false, "state": "ready", "reasons": [], "notes": [] })
        )
    );
    assert!(home.path("ws/.mework/mcp.json").exists() && !home.path(".mework/mcp.json").exists());
    // Standing in it is not naming it, but --scope is.
    assert_eq!(home.run_in("ws", &["mcp", "add", "b", "--", "x"]).out, "Added b in ~/.mework/mcp.json.\n");
    assert_eq!(
        home.run_in("ws", &["mcp", "add", "--scope", "workspace", "c", "--", "x"]).out,
        "Added c in ~/ws/.mework/mcp.json.\n"
    );
}

#[test]
fn an_entry_that_cannot_be_used_yet_is_written_and_said() {
    let home = Home::new();
    let added = home.run(&["mcp", "add", "a", "-e", "TOKEN=${NO_SUCH_VARIABLE}", "--", "x"]);
    assert_eq!((added.code, added.out.as_str()), (0, "Added a in ~/.mework/mcp.json.\n"));
    assert!(added.err.starts_with("It is unavailable as it stands: `NO_SUCH_VARIABLE` is not set"), "{}", added.err);
}

#[test]
fn what_cannot_be_added_is_wrong_usage_and_touches_nothing() {
    let home = Home::new();
    for (args, message) in [
        (vec!["mcp", "add"], "Give a name, and a URL or after -- a command: mework mcp add NAME -- COMMAND [ARGUMENTS]."),
        (vec!["mcp", "add", "a b", "--", "x"], "The name may hold only letters A–Z and a–z, digits, `-` and `_`"),
        (vec!["mcp", "add", "--transport", "sse", "a", "https://h/sse"], "Mework's own files know stdio and http servers;"),
        (vec!["mcp", "add", "--scope", "project", "a", "--", "x"], "This version handles Mework's own files only."),
        (vec!["mcp", "add", "--scope", "user", "a", "--", "x"], "This version handles Mework's own files only."),
        (vec!["mcp", "add", "--scope", "workspace", "a", "--", "x"], "There is no workspace here. Give its folder with -w."),
        (vec!["mcp", "add", "--timeout", "soon", "a", "--", "x"], "\"soon\" is no time limit"),
    ] {
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.starts_with(message), "{args:?}: {}", ran.err);
    }
    assert!(!home.path(".mework").exists());
    // A file that is ignored as it is would be replaced by guesswork; it is left alone.
    home.write(".mework/mcp.json", "{ not json");
    let refused = home.run(&["mcp", "add", "a", "--", "x"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.starts_with("Nothing was written, because ~/.mework/mcp.json is ignored as it is: "), "{}", refused.err);
    assert_eq!(home.read(".mework/mcp.json"), "{ not json");
}

#[test]
fn b17_remove_takes_one_entry_and_leaves_every_other_byte() {
    let home = Home::new();
    let text = "\u{feff}{\r\n\t\"other\": [1,  2],\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"},\r\n\t\t\"b\" :{ \"command\":\"y\" }\r\n\t}\r\n}";
    home.write(".mework/mcp.json", text);
    assert_eq!(home.run(&["mcp", "remove", "a"]), ran(0, "Removed a from ~/.mework/mcp.json.\n", ""));
    assert_eq!(home.read(".mework/mcp.json"), text.replace("\r\n\t\t\"a\": {\"command\": \"x\"},", ""));
    assert_eq!(home.run(&["mcp", "rm", "a"]), ran(1, "", "No server \"a\" is declared. These are: b.\n"));
    let removed = home.run(&["mcp", "rm", "b", "-o", "json"]);
    assert_eq!(
        (removed.code, removed.json()),
        (
            0,
            json!({ "removed": "native:local:~/.mework/mcp.json#b", "name": "b", "scope": "global", "file": "~/.mework/mcp.json" })
        )
    );
}

/// Root may write everywhere, so run by root the program runs as somebody else.
#[cfg(unix)]
#[test]
fn b17_a_folder_that_may_not_be_written_says_so_and_keeps_the_file() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;

    const NOBODY: u32 = 65534;
    let home = Home::new();
    home.global(json!({ "a": { "command": "true" } }));
    let before = home.read(".mework/mcp.json");
    let mut command = home.command(&["mcp", "remove", "a"]);
    if std::fs::metadata(home.root()).unwrap().uid() == 0 {
        // The build's folder may be closed to others.
        std::fs::copy(harness::program(), home.path("mework")).unwrap();
        for path in ["", "mework", "elsewhere", ".mework", ".mework/mcp.json"] {
            chown(home.path(path), Some(NOBODY), None).unwrap();
        }
        command = std::process::Command::new(home.path("mework"));
        command.args(["mcp", "remove", "a"]).env("MEWORK_HOME", home.root()).current_dir(home.root()).uid(NOBODY);
    }
    set_permissions(home.path(".mework"), Permissions::from_mode(0o500)).unwrap();
    let removed = command.output().unwrap();
    set_permissions(home.path(".mework"), Permissions::from_mode(0o700)).unwrap();
    let said = String::from_utf8(removed.stderr).unwrap();
    let file = home.path(".mework/mcp.json");
    assert_eq!(
        (removed.status.code(), said),
        (Some(1), format!("{} cannot be written: Permission denied (os error 13). Nothing was written.\n", file.display()))
    );
    assert_eq!(home.read(".mework/mcp.json"), before);
    assert_eq!(std::fs::read_dir(home.path(".mework")).unwrap().count(), 1);
}

/// The same name in two files.
fn twice() -> Home {
    let home = Home::new();
    home.global(json!({ "a": { "command": "x" } }));
    home.write("ws/.mework/mcp.json", &json!({ "mcpServers": { "a": { "command": "y" } } }).to_string());
    home
}

#[test]
fn s6_a_name_in_several_files_takes_scope() {
    let home = twice();
    let which = "a is in several files:\n  1  ~/.mework/mcp.json\n  2  ~/ws/.mework/mcp.json\n\
                 Choose one with --scope, with -w, or by its id (`mework mcp list -o json`).\n";
    assert_eq!(home.run_in("ws", &["mcp", "remove", "a"]), ran(2, "", which));
    assert_eq!(
        home.run_in("ws", &["mcp", "remove", "a", "--scope", "workspace"]),
        ran(0, "Removed a from ~/ws/.mework/mcp.json.\n", "")
    );
    // Now it is in one file only.
    assert_eq!(home.run_in("ws", &["mcp", "remove", "a"]), ran(0, "Removed a from ~/.mework/mcp.json.\n", ""));
}

#[test]
fn an_id_means_exactly_one_server() {
    let home = twice();
    let id = format!("native:local:{}#a", home.path("ws").join(".mework").join("mcp.json").display());
    assert_eq!(home.run_in("ws", &["mcp", "remove", &id]), ran(0, "Removed a from ~/ws/.mework/mcp.json.\n", ""));
}

#[cfg(unix)]
mod at_a_terminal {
    use super::*;
    use harness::Typist;

    #[test]
    fn s6_a_name_in_several_files_asks_which() {
        let home = twice();
        let ws = home.path("ws");
        let mut typist = Typist::start(&home, &["mcp", "remove", "a", "-w", ws.to_str().unwrap()]);
        typist.sees("  2  ~/ws/.mework/mcp.json\r\nWhich one? ");
        typist.types("2");
        let ran = typist.ends();
        assert_eq!((ran.code, ran.out.as_str()), (0, "Removed a from ~/ws/.mework/mcp.json.\n"));

        let typist = Typist::start(&home, &["mcp", "remove", "a", "-w", ws.to_str().unwrap(), "--scope", "global"]);
        assert_eq!(typist.ends().out, "Removed a from ~/.mework/mcp.json.\n");
    }

    #[test]
    fn s6_add_alone_asks_for_every_value() {
        let home = Home::new();
        let mut typist = Typist::start(&home, &["mcp", "add"]);
        for (question, answer) in [
            ("Name: ", "not a name"),
            ("Name: ", "files"),
            ("Transport, stdio or http [stdio]: ", "sse"),
            ("Transport, stdio or http [stdio]: ", ""),
            ("Command with its arguments, quoted as in a shell: ", "npx -y 'open"),
            ("Command with its arguments, quoted as in a shell: ", "npx -y server-filesystem 'my folder'"),
            ("Variable as KEY=VALUE, empty to go on: ", "nonsense"),
            ("Variable as KEY=VALUE, empty to go on: ", "KEY=a b"),
            ("Variable as KEY=VALUE, empty to go on: ", ""),
            ("Time limit of one call, for example 60s [45s]: ", "never"),
            ("Time limit of one call, for example 60s [45s]: ", "2m"),
            ("File, global or workspace [global]: ", ""),
        ] {
            typist.sees(question);
            typist.types(answer);
        }
        let ran = typist.ends();
        assert_eq!((ran.code, ran.out.as_str()), (0, "Added files in ~/.mework/mcp.json.\n"));
        assert!(!ran.err.contains("a b\" is"), "{}", ran.err);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&home.read(".mework/mcp.json")).unwrap()["mcpServers"]["files"],
            json!({ "command": "npx", "args": ["-y", "server-filesystem", "my folder"], "env": { "KEY": "a b" }, "timeoutSeconds": 120 })
        );
    }

    #[test]
    fn an_input_that_ends_writes_nothing() {
        let home = Home::new();
        let mut typist = Typist::start(&home, &["mcp", "add"]);
        typist.sees("Name: ");
        typist.presses(4); // Ctrl-D
        let ran = typist.ends();
        assert_eq!(ran.code, 1);
        assert!(ran.err.ends_with("The input ended; nothing was written.\n"), "{}", ran.err);
        assert!(!home.path(".mework").exists());
    }
}
