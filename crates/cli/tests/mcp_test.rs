//! `mework mcp test` on real processes: stages, reasons, consent, servers side by side.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use harness::{Home, Typist, gone, sample};
use serde_json::{Value, json};

const OK: &str = "\
ok sample (mework-sample 0.1.0, protocol 2025-11-25) in N ms
  config ok N ms
  program ok N ms mework
  start ok N ms process N in ~
  handshake ok N ms mework-sample 0.1.0, protocol 2025-11-25 (initialize)
  list ok N ms 6 tools, N bytes of schemas
  Tools:
    echo          Echo
    add           Add two numbers
    current_time  Current time
    slow          Slow, with progress
    big_result    Big result
    always_asks   Always asks, always asks
";

/// Every time set to nothing.
fn untimed(mut document: Value) -> Value {
    for server in document["servers"].as_array_mut().unwrap() {
        assert!(server["elapsed_ms"].is_u64());
        server["elapsed_ms"] = 0.into();
        for stage in server["stages"].as_array_mut().unwrap() {
            assert!(stage["ms"].is_u64());
            stage["ms"] = 0.into();
        }
    }
    document
}

#[test]
fn rows_1_to_3_nobody_agreed_so_nothing_starts() {
    let home = Home::new();
    home.global(json!({ "canary": { "command": "/bin/touch", "args": [home.path("touched")], "env": { "A": "b" } } }));
    let ran = home.run(&["mcp", "test", "canary"]);
    assert_eq!(
        ran.err,
        "\ncanary would start this, and nobody has agreed to it yet:\n  command    /bin/touch\n  arguments  ~/touched\n  folder     ~\n  variables  A (env)\n  file       ~/.mework/mcp.json\n"
    );
    let message = "canary was not started: nobody has agreed to it yet, and there is no terminal to ask at. If the above is what you want, pass --yes.";
    assert_eq!((ran.code, ran.out), (1, format!("failed canary\n  {message}\n")));
    assert!(!home.path("touched").exists());
    // Without a name nothing is asked and nothing is started.
    let ran = home.run(&["mcp", "test"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(
        ran.err,
        "Left out, because nobody agreed to what they start: canary. Name one to see it and agree.\nThere is no server to test. `mework mcp list` shows what is declared.\n"
    );
    assert!(!home.path("touched").exists());
}

#[test]
fn a_server_that_works_stage_by_stage() {
    let home = Home::new();
    home.global(json!({ "sample": sample("test-works") }));
    let ran = home.run(&["mcp", "test", "sample", "--yes"]).untimed();
    assert_eq!((ran.code, ran.out.as_str()), (0, OK));
    // Agreed to once: from now on it needs neither its name nor --yes, until the entry changes.
    let ran = home.run(&["mcp", "test", "-o", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let document = untimed(ran.json());
    let server = &document["servers"][0];
    let stages: Vec<&str> = server["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["config", "program", "start", "handshake", "list"]);
    let last = &server["tools"][5];
    assert!(last["model_name"].as_str().unwrap().starts_with("mcp__sample_"), "{last}");
    assert_eq!(
        (&last["name"], &last["title"], &last["always_asks"], &last["disabled"]),
        (&json!("always_asks"), &json!("Always asks"), &json!(true), &json!(false))
    );
    assert!(last["schema_bytes"].as_u64().unwrap() > 100);
    let mut rest = server.clone();
    rest.as_object_mut().unwrap().retain(|key, _| key != "tools" && key != "stages");
    assert_eq!(
        rest,
        json!({
            "id": "native:local:~/.mework/mcp.json#sample", "name": "sample", "ok": true, "protocol": "2025-11-25",
            "server": { "name": "mework-sample", "version": "0.1.0" }, "elapsed_ms": 0, "set_aside": [], "stderr": [], "stdout_noise": 0,
        })
    );
    gone("test-works");
}

#[test]
fn row_1_a_changed_entry_shows_what_changed_and_asks_again() {
    let home = Home::new();
    let mut entry = sample("test-changed");
    home.global(json!({ "sample": entry }));
    assert_eq!(home.run(&["mcp", "test", "sample", "--yes"]).code, 0);
    entry["args"] = json!(["sample-server", "--evil"]);
    home.global(json!({ "sample": entry }));
    assert!(home.run(&["mcp", "list"]).out.contains("changed, asks first"));
    let ran = home.run(&["mcp", "test", "sample"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("\nsample changed since it was agreed to; it would now start this:\n"), "{}", ran.err);
    assert!(ran.err.contains("+     \"--evil\""), "{}", ran.err);
    assert!(ran.out.contains("sample was not started: it changed since somebody agreed to it,"), "{}", ran.out);
}

#[test]
fn why_a_server_failed_and_at_which_stage() {
    let home = Home::new();
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = home.write(name, text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    home.global(json!({
        "missing": { "command": "no-such-program-here" },
        "joined": { "command": "npx -y some-package" },
        "usage": { "command": script("usage.sh", "#!/bin/sh\necho 'usage: tool [options]'\necho 'bad option' >&2\nexit 3\n") },
        "unset": { "command": "x", "args": ["${NOT_SET_ANYWHERE}"] },
    }));
    let ran = home.run(&["mcp", "test", "--yes", "-o", "json", "missing", "joined", "usage", "unset"]);
    assert_eq!(ran.code, 1);
    let document = ran.json();
    let failed = |place: usize| {
        let server = &document["servers"][place];
        assert_eq!(server["ok"], false);
        let last = server["stages"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["ok"], &last["message"]), (&json!(false), &server["error"]));
        (server["name"].as_str().unwrap(), last["stage"].as_str().unwrap(), server["error"].as_str().unwrap())
    };
    // In the order they were named, whichever was done first.
    let (name, stage, error) = failed(0);
    assert_eq!((name, stage), ("missing", "program"));
    assert!(error.starts_with("`no-such-program-here` was not found. The server's PATH was searched: /"), "{error}");
    let (name, stage, error) = failed(1);
    assert_eq!((name, stage), ("joined", "program"));
    assert!(error.contains("args"), "{error}");
    let (name, stage, error) = failed(2);
    assert_eq!((name, stage), ("usage", "handshake"));
    assert!(
        error.starts_with("It exited with code 3 before it answered. It wrote 1 line to stdout that is no MCP message, "),
        "{error}"
    );
    let usage = &document["servers"][2];
    assert_eq!((&usage["exit_code"], &usage["stderr"], &usage["stdout_noise"]), (&json!(3), &json!(["bad option"]), &json!(1)));
    let (name, stage, error) = failed(3);
    assert_eq!((name, stage), ("unset", "config"));
    assert!(error.starts_with("`NOT_SET_ANYWHERE` is not set"), "{error}");
    // Nothing but the document on stdout; text says the same in its own way.
    let ran = home.run(&["mcp", "test", "usage"]).untimed();
    assert!(ran.out.starts_with("failed usage in N ms\n  config ok N ms\n"), "{}", ran.out);
    assert!(ran.out.contains("\n  Last lines on stderr:\n    bad option\n"), "{}", ran.out);
    assert!(
        ran.out.contains("It wrote 1 line to stdout that is no MCP message, such as `usage: tool [options]`."),
        "{}",
        ran.out
    );
}

#[test]
fn a_server_that_hangs_delays_no_others_lines_and_ctrl_c_leaves_nothing() {
    let home = Home::new();
    let mark = "test-hangs";
    home.global(
        json!({ "hangs": { "command": "sleep", "args": ["1000"], "env": { "TEST_MARK": mark } }, "sample": sample(mark) }),
    );
    let mut process =
        home.command(&["mcp", "test", "--yes", "hangs", "sample"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("ok sample "));
    assert!(lines.any(|line| line.unwrap().starts_with("    always_asks")));
    assert!(std::process::Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(1));
    gone(mark);
}

#[test]
fn ctrl_c_leaves_no_server_out_of_the_document() {
    let home = Home::new();
    let mark = "test-stopped";
    let hangs = |name: &str| {
        let script = format!("touch {}; exec sleep 1000", home.path(name).display());
        json!({ "command": "sh", "args": ["-c", script], "env": { "TEST_MARK": mark } })
    };
    home.global(json!({ "first": hangs("first.up"), "wrong": {}, "last": hangs("last.up") }));
    let args = ["mcp", "test", "--yes", "-o", "json", "first", "wrong", "last"];
    let process = home.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !["first.up", "last.up"].iter().all(|file| home.path(file).exists()) {
        assert!(std::time::Instant::now() < give_up, "they never started");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(std::process::Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let servers = document["servers"].as_array().unwrap();
    let told = |at: usize| (servers[at]["name"].as_str().unwrap(), &servers[at]["ok"], servers[at]["error"].as_str().unwrap());
    assert_eq!((told(0), told(2)), (("first", &json!(false), "Stopped."), ("last", &json!(false), "Stopped.")));
    assert_eq!((servers.len(), told(1).0), (3, "wrong"));
    assert_ne!(told(1).2, "Stopped.");
    gone(mark);
}

#[test]
fn an_unknown_name_tests_nothing() {
    let home = Home::new();
    home.global(json!({ "sample": sample("test-unknown") }));
    let ran = home.run(&["mcp", "test", "--yes", "sample", "smaple"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(ran.err.lines().last(), Some("No server \"smaple\" is declared. These are: sample."));
}

#[test]
fn row_2_consent_is_asked_at_the_terminal_and_only_a_yes_is_one() {
    let home = Home::new();
    home.global(json!({ "sample": sample("test-asks") }));
    for no in ["", "n", " ", "yeah", "Start sample?"] {
        let mut typist = Typist::start(&home, &["mcp", "test", "sample"]);
        typist.sees("nobody has agreed to it yet:\r\n");
        typist.sees("Start sample? [y/N] ");
        typist.types(no);
        let ran = typist.ends();
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (1, "failed sample\n  sample was not started: you did not agree to it.\n"),
            "{no:?}"
        );
    }
    let mut typist = Typist::start(&home, &["mcp", "test", "sample"]);
    typist.sees("Start sample? [y/N] ");
    typist.types("y");
    assert_eq!(typist.ends().untimed().out, OK);
    // It was kept: no question now.
    let typist = Typist::start(&home, &["mcp", "test", "sample"]);
    let ran = typist.ends().untimed();
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, OK, ""));
}
