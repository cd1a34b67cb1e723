//! One connection to a real process that breaks every rule: what is understood, what ends it, and in which words.
#![cfg(target_os = "linux")]

use std::future::pending;
use std::time::Duration;

use mework_engine::machine::process::Tally;
use mework_engine::mcp::connection::{CallError, Connection, prepare};
use mework_engine::mcp::result::{Block, CallResult, ResultError};
use mework_engine::mcp::wire::Progress;
use mework_engine::mcp::{Era, Failure, Peer, Stage};
use mework_engine::tools::ServerTools;
use mework_tests::eventually;
use mework_tests::servers::{Bench, arguments};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(400);

async fn open_as(bench: &Bench, entry: Value, era: Option<Era>, limit: Duration) -> Result<Connection, Failure> {
    let server = bench.server("fake", entry).await;
    let log = bench.logs.of(&server.id);
    let resolved = prepare(&server, bench.path(), &log).await?;
    Connection::open(&server, resolved, era, &log, limit, &mut |_| {}, &Tally::default()).await
}

async fn open(bench: &Bench, flags: &[&str]) -> Connection {
    open_as(bench, bench.fake(flags), None, PATIENCE).await.unwrap()
}

async fn fails(bench: &Bench, entry: Value) -> Failure {
    open_as(bench, entry, None, PATIENCE).await.unwrap_err()
}

fn peer(era: Era, protocol: &str) -> Peer {
    Peer { era, protocol: protocol.into(), name: "fake".into(), version: "1.2.3".into() }
}

async fn list(connection: &Connection) -> Result<ServerTools, Failure> {
    connection.list_tools(PATIENCE).await
}

async fn call(connection: &Connection, tool: &str, given: Value) -> Result<CallResult, CallError> {
    connection.call(tool, &arguments(given), PATIENCE, None, pending()).await
}

fn text_of(result: &CallResult) -> &str {
    match &result.content[..] {
        [Block::Text { text }] => text,
        other => panic!("{other:?}"),
    }
}

/// What is running of a bench's servers.
async fn gone(bench: &Bench) {
    eventually("the server is still there", || bench.tag.processes().is_empty()).await;
}

#[tokio::test]
async fn both_eras_are_spoken_and_a_refused_greeting_is_followed_by_the_other_one() {
    let bench = Bench::new();
    assert_eq!(*open(&bench, &[]).await.peer(), peer(Era::Initialize, "2025-11-25"));
    for how in ["error", "exit"] {
        let newer = open(&bench, &[&format!("--not=initialize:{how}")]).await;
        assert_eq!(*newer.peer(), peer(Era::Discover, "2026-07-28"), "{how}");
        assert_eq!(text_of(&call(&newer, "echo", json!({ "a": 1 })).await.unwrap()), r#"{"a":1}"#);
        assert_eq!(list(&newer).await.unwrap().tools.len(), 12);
    }
}

#[tokio::test]
async fn a_remembered_era_is_tried_first_and_may_be_wrong() {
    let bench = Bench::new();
    let log = format!("--log={}", bench.file("log").display());
    let right = open_as(&bench, bench.fake(&[&log]), Some(Era::Discover), PATIENCE).await.unwrap();
    assert_eq!(*right.peer(), peer(Era::Discover, "2026-07-28"));
    assert_eq!(bench.noted("log"), ["started", "request server/discover"]);
    for how in ["error", "exit"] {
        let flag = format!("--not=server/discover:{how}");
        let wrong = open_as(&bench, bench.fake(&[&flag]), Some(Era::Discover), PATIENCE).await.unwrap();
        assert_eq!(wrong.peer().era, Era::Initialize, "{how}");
    }
    let silent = bench.fake(&["--not=server/discover:silent"]);
    let silent = open_as(&bench, silent, Some(Era::Discover), Duration::from_secs(2)).await.unwrap();
    assert_eq!(silent.peer().era, Era::Initialize);
}

/// A launcher that has to download its server first is silent and not another server.
#[tokio::test]
async fn a_remembered_era_is_asked_for_again_if_the_other_one_is_refused() {
    let bench = Bench::new();
    let file = bench.path().join("started");
    let slow = bench.fake(&[&format!("--first-start-hangs={}", file.display()), "--not=initialize:error"]);
    let connection = open_as(&bench, slow, Some(Era::Discover), Duration::from_secs(4)).await.unwrap();
    assert_eq!(connection.peer(), &peer(Era::Discover, "2026-07-28"));
}

#[tokio::test]
async fn every_known_version_is_spoken_and_no_other() {
    let bench = Bench::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        assert_eq!(open(&bench, &[&format!("--version={version}")]).await.peer().protocol, version);
    }
    for flags in [&["--version=1.0"][..], &["--version=1.0", "--not=initialize:error"]] {
        let failure = fails(&bench, bench.fake(flags)).await;
        assert_eq!(
            (failure.stage, failure.message.as_str()),
            (
                Stage::Handshake,
                "It speaks version 1.0 of the protocol, and Mework knows 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28. \
                 Update the server or Mework."
            ),
            "{flags:?}"
        );
    }
    gone(&bench).await;
}

/// Complaint 10: a server that is slow to answer is not dropped.
#[tokio::test]
async fn a_slow_greeting_is_waited_for() {
    let bench = Bench::new();
    assert_eq!(open(&bench, &["--delay=initialize:1500"]).await.peer().era, Era::Initialize);
}

#[tokio::test]
async fn a_server_that_never_answers_is_ended_and_said_to_hang() {
    let bench = Bench::new();
    let failure = open_as(&bench, bench.fake(&["--hang=initialize"]), None, SHORT).await.unwrap_err();
    assert_eq!(
        failure.message,
        "It did not answer `initialize` within 1 s. It is running but wrote nothing to stdout: it hangs, waits for something, or is no \
         MCP server."
    );
    let noisy =
        open_as(&bench, bench.fake(&["--hang=initialize", "--noise=listening on port 80"]), None, SHORT).await.unwrap_err();
    assert!(
        noisy.message.contains("It wrote 1 line to stdout that is no MCP message, such as `listening on port 80`."),
        "{noisy:?}"
    );
    assert_eq!((noisy.stdout_noise, noisy.stdout_sample), (1, vec!["listening on port 80".to_string()]));
    gone(&bench).await;
}

#[tokio::test]
async fn a_program_that_is_no_server_is_said_to_be_none() {
    let bench = Bench::new();
    let failure = fails(&bench, bench.fake(&["--noise=usage: tool [--port N]", "--stderr=bad", "--exit=2"])).await;
    assert_eq!(
        failure,
        Failure {
            stage: Stage::Handshake,
            message: "It exited with code 2 before it answered. It wrote 1 line to stdout that is no MCP message, such as `usage: tool \
                      [--port N]`. Is this an MCP server, and are these the arguments that start it as one?"
                .into(),
            exit_code: Some(2),
            stderr: vec!["bad".into()],
            stdout_noise: 1,
            stdout_sample: vec!["usage: tool [--port N]".into()],
        }
    );
    // Complaint 12.
    let silent = fails(&bench, json!({ "command": "false" })).await;
    assert_eq!(silent.exit_code, Some(1));
    assert_eq!(
        silent.message,
        "It exited with code 1 before it answered. It wrote nothing to stdout or stderr. Start the same command in a terminal to see what \
         it needs."
    );
    let killed = fails(&bench, json!({ "command": "sh", "args": ["-c", "kill -9 $$"] })).await;
    assert_eq!(killed.exit_code, None);
    assert!(killed.message.starts_with("It was ended by signal 9 (SIGKILL) before it answered."), "{killed:?}");
}

#[tokio::test]
async fn the_last_five_lines_of_stderr_are_kept() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=7).map(|n| format!("--stderr=line {n}")).collect();
    let mut flags: Vec<&str> = lines.iter().map(String::as_str).collect();
    flags.push("--exit=3");
    let failure = fails(&bench, bench.fake(&flags)).await;
    assert_eq!(failure.stderr, ["line 3", "line 4", "line 5", "line 6", "line 7"]);
    let connection = open(&bench, &["--stderr-flood"]).await;
    assert_eq!(connection.stderr_tail().len(), 5);
}

/// B11.
#[tokio::test]
async fn b11_a_variable_that_was_not_passed_is_named() {
    let mut bench = Bench::new();
    bench.set("FAKE_API_TOKEN", "value-of-it");
    let flags = ["--stderr=FAKE_API_TOKEN is not set, nor is OTHER_TOKEN", "--exit=1"];
    let failure = fails(&bench, bench.fake(&flags)).await;
    assert!(
        failure.message.ends_with(
            "Its words mention FAKE_API_TOKEN, which is set on this machine but not passed to the server. Name it in `envPassthrough`, or \
             set it in `env`."
        ),
        "{failure:?}"
    );
    let mut passed = bench.fake(&flags);
    passed["envPassthrough"] = json!(["FAKE_API_TOKEN"]);
    assert!(!fails(&bench, passed).await.message.contains("envPassthrough"));
    // What the advice says works: this one cannot be named there.
    bench.set("OPENAI_API_KEY", "value-of-it");
    let flags = ["--stderr=OPENAI_API_KEY is missing", "--exit=1"];
    let advice = "`envPassthrough` does not take it; set it in `env`, as in `\"OPENAI_API_KEY\": \"${OPENAI_API_KEY}\"`.";
    assert!(fails(&bench, bench.fake(&flags)).await.message.ends_with(advice));
    let mut set = bench.fake(&flags);
    set["env"] = json!({ "OPENAI_API_KEY": "${OPENAI_API_KEY}" });
    assert_eq!(fails(&bench, set).await.message, "It exited with code 1 before it answered.");
}

/// A program that panics proposes a variable; that this machine has it set is nothing to the server.
#[tokio::test]
async fn b11_what_a_panic_proposes_to_set_is_not_missing() {
    let mut bench = Bench::new();
    bench.set("RUST_BACKTRACE", "1");
    let panic = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
    let failure = fails(&bench, bench.fake(&[&format!("--stderr={panic}"), "--exit=101"])).await;
    assert_eq!(failure.message, "It exited with code 101 before it answered.");
    assert_eq!(failure.stderr, [panic]);
}

/// Row 16.
#[tokio::test]
async fn row_16_secrets_and_control_characters_reach_no_message_and_no_log() {
    let bench = Bench::new();
    let mut entry = bench.fake(&["--stderr=token s3cret-value-1 \u{1b}[31m", "--noise=s3cret-value-1", "--exit=1"]);
    entry["env"]["API_TOKEN"] = "s3cret-value-1".into();
    let failure = fails(&bench, entry).await;
    assert_eq!(failure.stderr, ["token ••• ⟨U+001B⟩[31m"]);
    assert_eq!(failure.stdout_sample, ["•••"]);
    let mut calls = bench.fake(&[]);
    calls["env"]["API_TOKEN"] = "s3cret-value-1".into();
    let connection = open_as(&bench, calls, None, PATIENCE).await.unwrap();
    let refused = call(&connection, "error", json!({ "message": "bad s3cret-value-1" })).await.unwrap_err();
    assert_eq!(refused, CallError::Refused("bad ••• (code -32000)".into()));
    let log = bench.logs.lines(&connection.server().id);
    assert!(log.iter().any(|line| line.text.contains("•••")), "{log:?}");
    let shown = format!("{failure:?} {refused:?} {log:?}");
    assert!(!shown.contains("s3cret") && !shown.contains('\u{1b}'), "{shown}");
}

#[tokio::test]
async fn a_command_that_is_not_found_says_where_it_was_searched_and_how_to_split_it() {
    let bench = Bench::new();
    let missing = fails(&bench, json!({ "command": "no-such-program-x" })).await;
    assert_eq!(
        (missing.stage, missing.message.as_str()),
        (
            Stage::Program,
            "`no-such-program-x` was not found. The server's PATH was searched: /usr/bin, /bin. Install it, or write its absolute path as \
             `command`."
        )
    );
    // Complaint 11.
    assert_eq!(
        fails(&bench, json!({ "command": "npx -y pkg" })).await.message,
        "`npx -y pkg` was not found. The entry gives a whole command line as one word. Split it: \"command\": \"npx\", \"args\": [\"-y\", \
         \"pkg\"]."
    );
    assert!(fails(&bench, json!({ "command": "/usr/bin/node server.js" })).await.message.contains("\"args\": [\"server.js\"]"));
    assert_eq!(
        fails(&bench, json!({ "command": "/no/such/file" })).await.message,
        "/no/such/file does not exist. Check `command` in the entry."
    );
    let plain = bench.script("plain", "#!/bin/sh\n", 0o644);
    let denied = fails(&bench, json!({ "command": plain })).await;
    assert_eq!(denied.stage, Stage::Program);
    assert!(denied.message.starts_with("Permission denied") && denied.message.contains("chmod +x"), "{denied:?}");
}

/// Complaint 14 and its neighbours.
#[tokio::test]
async fn scripts_that_cannot_run_say_why() {
    let bench = Bench::new();
    let node = bench.script("node-script", "#!/usr/bin/env no-such-node\n", 0o755);
    let failure = fails(&bench, json!({ "command": node })).await;
    assert_eq!(failure.exit_code, Some(127));
    assert!(failure.message.contains("no-such-node"), "{failure:?}");
    let bare = bench.script("bare", "echo hello\n", 0o755);
    let failure = fails(&bench, json!({ "command": bare })).await;
    assert_eq!(failure.stage, Stage::Start);
    assert!(failure.message.contains("#!"), "{failure:?}");
    let gone = bench.script("interpreter", "#!/no/such/interpreter\n", 0o755);
    let failure = fails(&bench, json!({ "command": gone })).await;
    assert!(failure.message.contains("/no/such/interpreter"), "{failure:?}");
}

/// Rows 23 and 37.
#[tokio::test]
async fn row_23_an_endless_line_ends_the_connection_at_once() {
    let bench = Bench::new();
    let failure = fails(&bench, bench.fake(&["--endless={\"a\":\""])).await;
    assert_eq!(failure.message, "It sent a message longer than 4 MiB, the limit for one message.");
    let failure = fails(&bench, bench.fake(&["--endless=noise"])).await;
    assert!(failure.message.starts_with("It wrote more than 4 MiB to stdout that is no protocol message."), "{failure:?}");
    gone(&bench).await;
}

#[tokio::test]
async fn a_server_that_closes_its_input_is_said_to() {
    let bench = Bench::new();
    let connection = open(&bench, &["--closes-input"]).await;
    list(&connection).await.unwrap();
    let error = call(&connection, "echo", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "It closed its stdin, so nothing can be asked of it.");
    gone(&bench).await;
}

/// Complaint 29.
#[tokio::test]
async fn noise_on_stdout_is_counted_and_costs_nothing() {
    let bench = Bench::new();
    let connection = open(&bench, &["--noise=hello", "--noise={\"level\":30}"]).await;
    assert_eq!(list(&connection).await.unwrap().tools.len(), 12);
    assert_eq!(connection.noise(), (2, vec!["hello".to_string(), "{\"level\":30}".to_string()]));
}

/// Complaint 27.
#[tokio::test]
async fn all_pages_are_listed() {
    let bench = Bench::new();
    let connection = open(&bench, &["--tools=101", "--page=50"]).await;
    let tools = list(&connection).await.unwrap();
    let names: Vec<String> = (0..101).map(|n| format!("tool{n}")).collect();
    assert_eq!(tools.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>(), names);
}

#[tokio::test]
async fn row_24_a_list_that_cannot_be_read_ends_the_connection_with_its_reason() {
    let bench = Bench::new();
    for (flags, expected) in [
        (&["--cursor=loop"][..], "It sent a page cursor twice, so its list of tools would never end."),
        (&["--cursor=new"], "It answered more than 128 pages of tools."),
        (&["--tools=2049"], "It lists more than 2048 tools, the limit of a turn. Leave some of them out with `disabledTools`."),
        (
            &["--tool={\"name\":\"echo\",\"inputSchema\":{}}"],
            "It lists two tools with the name `echo`. A call by that name could mean either, so none of its tools are used.",
        ),
        (&["--string-error=tools/list"], "It refused to list its tools: boom"),
    ] {
        let connection = open(&bench, flags).await;
        let failure = list(&connection).await.unwrap_err();
        assert_eq!((failure.stage, failure.message.as_str()), (Stage::List, expected));
        assert!(!connection.is_open());
    }
    let connection = open(&bench, &["--hang=tools/list"]).await;
    let failure = connection.list_tools(SHORT).await.unwrap_err();
    assert_eq!(failure.message, "It did not list its tools within 1 s.");
    gone(&bench).await;
}

#[tokio::test]
async fn one_malformed_tool_costs_the_others_nothing() {
    let bench = Bench::new();
    let connection = open(&bench, &["--tools=2", "--tool={\"name\":\"bad\",\"inputSchema\":5}", "--tool=7"]).await;
    let tools = list(&connection).await.unwrap();
    assert_eq!(tools.tools.len(), 2);
    let aside: Vec<(Option<&str>, &str)> = tools.set_aside.iter().map(|a| (a.name.as_deref(), a.reason.as_str())).collect();
    assert_eq!(aside, [(Some("bad"), "its `inputSchema` is not an object"), (None, "it is not an object")]);
}

/// Row 7: what was shown is what is sent, to the last digit.
#[tokio::test]
async fn row_7_arguments_arrive_token_by_token() {
    let bench = Bench::new();
    let connection = open(&bench, &[]).await;
    let given = mework_engine::tools::arguments::parse("{\"n\": 1.50e2,\n\"big\": 123456789012345678901234567890}").unwrap();
    let result = connection.call("exact", &given, PATIENCE, None, pending()).await.unwrap();
    assert!(text_of(&result).contains("\"arguments\":{\"n\": 1.50e2, \"big\": 123456789012345678901234567890}"), "{result:?}");
}

/// B24: an answer that is an error is an answer.
#[tokio::test]
async fn b24_a_refused_call_leaves_the_connection() {
    let bench = Bench::new();
    let connection = open(&bench, &[]).await;
    let refused = call(&connection, "error", json!({ "message": "no such file" })).await.unwrap_err();
    assert_eq!(refused.to_string(), "The server refused the call: no such file (code -32000)");
    let failed = call(&connection, "raw", json!({ "result": { "content": [], "isError": true } })).await.unwrap();
    assert!(failed.is_error);
    let large = call(&connection, "big", json!({ "bytes": 70_000 })).await.unwrap_err();
    assert!(matches!(large, CallError::Result(ResultError::TooLarge { bytes: 70_055 })), "{large:?}");
    assert_eq!(text_of(&call(&connection, "echo", json!({})).await.unwrap()), "{}");
    assert!(connection.is_open());
}

/// B24: an answer that is none is a protocol error.
#[tokio::test]
async fn b24_a_malformed_result_ends_the_connection() {
    let bench = Bench::new();
    let connection = open(&bench, &[]).await;
    let broken = call(&connection, "raw", json!({ "result": 5 })).await.unwrap_err();
    assert_eq!(broken, CallError::Result(ResultError::Malformed("it is not an object".into())));
    assert!(!connection.is_open());
    gone(&bench).await;
}

#[tokio::test]
async fn an_error_that_is_a_string_is_an_answer() {
    let bench = Bench::new();
    let connection = open(&bench, &["--string-error=tools/call"]).await;
    assert_eq!(call(&connection, "echo", json!({})).await.unwrap_err(), CallError::Refused("boom (code -32603)".into()));
    assert!(connection.is_open());
}

fn cancellations(bench: &Bench) -> usize {
    bench.noted("log").iter().filter(|line| line.contains("notifications/cancelled")).count()
}

/// B27, complaint 30.
#[tokio::test]
async fn b27_a_time_out_a_stop_and_a_dropped_call_are_told_to_the_server_and_end_the_connection() {
    let log = |bench: &Bench| format!("--log={}", bench.file("log").display());

    let bench = Bench::new();
    let connection = open(&bench, &[&log(&bench)]).await;
    let error = connection.call("never", &arguments(json!({})), SHORT, None, pending()).await.unwrap_err();
    assert_eq!(error, CallError::TimedOut(SHORT));
    assert!(!connection.is_open());
    eventually("no cancellation came", || cancellations(&bench) == 1).await;
    gone(&bench).await;

    let bench = Bench::new();
    let connection = open(&bench, &[&log(&bench)]).await;
    let error = connection.call("never", &arguments(json!({})), PATIENCE, None, tokio::time::sleep(SHORT)).await.unwrap_err();
    assert_eq!(error, CallError::Cancelled);
    assert!(!connection.is_open());
    eventually("no cancellation came", || cancellations(&bench) == 1).await;

    let bench = Bench::new();
    let connection = open(&bench, &[&log(&bench)]).await;
    let given = arguments(json!({}));
    let dropped = tokio::time::timeout(SHORT, connection.call("never", &given, PATIENCE, None, pending())).await;
    assert!(dropped.is_err() && !connection.is_open());
    eventually("no cancellation came", || cancellations(&bench) == 1).await;
    gone(&bench).await;
}

#[tokio::test]
async fn calls_run_side_by_side_and_one_that_times_out_leaves_the_others() {
    let bench = Bench::new();
    let connection = open(&bench, &[]).await;
    let given = arguments(json!({}));
    let (timed_out, slow, quick) = tokio::join!(
        connection.call("never", &given, SHORT, None, pending()),
        call(&connection, "after", json!({ "ms": 1200 })),
        call(&connection, "echo", json!({})),
    );
    assert_eq!(timed_out.unwrap_err(), CallError::TimedOut(SHORT));
    assert_eq!((text_of(&slow.unwrap()), text_of(&quick.unwrap())), ("done", "{}"));
    gone(&bench).await;
}

/// A death during a call is told as what it is, not as a time-out.
#[tokio::test]
async fn a_death_during_a_call_has_its_code_or_signal_and_last_words() {
    let bench = Bench::new();
    let connection = open(&bench, &[]).await;
    let error = call(&connection, "die", json!({ "code": 3, "stderr": "out of cheese" })).await.unwrap_err();
    let CallError::Broken(failure) = error else { panic!("{error:?}") };
    assert_eq!(
        (failure.message.as_str(), failure.exit_code, failure.stderr),
        ("The server exited with code 3.", Some(3), vec!["out of cheese".to_string()])
    );
    let connection = open(&bench, &[]).await;
    let error = call(&connection, "die", json!({ "signal": 6 })).await.unwrap_err();
    assert_eq!(error.to_string(), "The server was ended by signal 6 (SIGABRT).");
    assert_eq!(error.failure().unwrap().exit_code, None);
}

/// Progress reaches the caller in order; an answer to nobody's request is ignored (row 39).
#[tokio::test]
async fn progress_reaches_the_caller() {
    let bench = Bench::new();
    let connection = open(&bench, &[]).await;
    let (to, mut from) = tokio::sync::mpsc::channel(16);
    let given = arguments(json!({ "steps": 3 }));
    let result = connection.call("progress", &given, PATIENCE, Some(to), pending()).await.unwrap();
    assert_eq!(text_of(&result), "done");
    let step = |n: u32| Progress { progress: Some(n.into()), total: Some(3.0), message: Some(format!("step {n}")) };
    let mut seen = Vec::new();
    while let Some(progress) = from.recv().await {
        seen.push(progress);
    }
    assert_eq!(seen, [step(1), step(2), step(3)]);
}

/// Row 31.
#[tokio::test]
async fn row_31_what_servers_ask_for_is_refused() {
    let bench = Bench::new();
    let connection = open(&bench, &[&format!("--log={}", bench.file("log").display())]).await;
    assert_eq!(text_of(&call(&connection, "ask", json!({})).await.unwrap()), "asked");
    let answers = || -> Vec<Value> {
        let noted = bench.noted("log");
        let mut answers: Vec<Value> = noted
            .iter()
            .filter_map(|line| line.strip_prefix("answer "))
            .map(|json| serde_json::from_str(json).unwrap())
            .collect();
        answers.sort_by_key(|answer| answer["id"].to_string());
        answers
    };
    eventually("the answers did not come", || answers().len() == 4).await;
    let codes: Vec<Value> = answers().iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(-32601), json!(-32601), json!(-32601), Value::Null]);
    assert_eq!(answers()[3]["result"], json!({}));
}

/// A server that does not read its input blocks whoever writes to it; the limits hold all the same.
#[tokio::test]
async fn a_server_that_stops_reading_holds_nobody_up() {
    let bench = Bench::new();
    let connection = open(&bench, &["--stops-reading", "--deaf"]).await;
    list(&connection).await.unwrap();
    let large = arguments(json!({ "a": "x".repeat(1_000_000) }));
    let error = connection.call("echo", &large, SHORT, None, pending()).await.unwrap_err();
    assert_eq!(error, CallError::TimedOut(SHORT));
    // Nothing of the message that it never read is waited for.
    tokio::time::timeout(PATIENCE, connection.close()).await.expect("closing hangs");
    assert_eq!(bench.tag.processes(), [0; 0]);
}

/// Row 24: what it is to be told waits for it, and that is bounded.
#[tokio::test]
async fn row_24_a_server_that_asks_and_reads_no_answer_is_ended() {
    let bench = Bench::new();
    let connection = open(&bench, &["--also=nag"]).await;
    list(&connection).await.unwrap();
    let error = call(&connection, "nag", json!({ "count": 1000 })).await.unwrap_err();
    let CallError::Broken(failure) = error else { panic!("{error:?}") };
    assert_eq!(failure.message, "It sent 256 requests without reading an answer.");
}

/// B25, complaint 3.
#[tokio::test]
async fn b25_close_and_drop_leave_nothing_of_a_server_that_ignores_both() {
    let bench = Bench::new();
    let connection = open(&bench, &["--deaf"]).await;
    assert_eq!(bench.tag.processes().len(), 1);
    connection.close().await;
    assert!(bench.tag.processes().is_empty());
    let connection = open(&bench, &["--deaf"]).await;
    assert_eq!(bench.tag.processes().len(), 1);
    drop(connection);
    gone(&bench).await;
}

/// B45: the server's log tells its life.
#[tokio::test]
async fn b45_the_log_holds_stderr_noise_and_our_own_lines() {
    use mework_engine::mcp::log::Source;
    let bench = Bench::new();
    let connection = open(&bench, &["--stderr=warming up", "--noise=hello"]).await;
    connection.close().await;
    let id = connection.server().id.clone();
    eventually("stderr did not reach the log", || bench.logs.lines(&id).iter().any(|line| line.source == Source::Stderr)).await;
    let of = |source: Source| -> Vec<String> {
        bench.logs.lines(&id).into_iter().filter(|line| line.source == source).map(|line| line.text).collect()
    };
    assert_eq!(of(Source::Stderr), ["warming up"]);
    assert_eq!(of(Source::Stdout), ["hello"]);
    let own = of(Source::Mework);
    assert!(own[0].starts_with("Started ") && own[1] == "Connected: fake 1.2.3, protocol 2025-11-25", "{own:?}");
    assert!(own[2].starts_with("Closed ("), "{own:?}");
}
