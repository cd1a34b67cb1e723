//! Test connection on real processes: the stages it reports, what it finds, and that nothing is left afterwards.
#![cfg(target_os = "linux")]

use std::time::Duration;

use mework_engine::config::Server;
use mework_engine::limits;
use mework_engine::mcp::pool::Eras;
use mework_engine::mcp::probe::{Report, probe};
use mework_engine::mcp::{Era, Stage};
use mework_tests::eventually;
use mework_tests::servers::{Bench, Memory};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

async fn run(bench: &Bench, server: &Server, memory: &Memory, limit: Duration) -> Report {
    let mut told = Vec::new();
    let report = probe(server, bench.path(), &bench.logs, memory, limit, &mut |stage| told.push(stage.clone())).await;
    assert_eq!(told, report.stages, "each stage is told as it ends");
    report
}

async fn tested(bench: &Bench, entry: Value) -> Report {
    run(bench, &bench.server("fake", entry).await, &Memory::default(), PATIENCE).await
}

fn stages(report: &Report) -> Vec<(Stage, bool)> {
    report.stages.iter().map(|stage| (stage.stage, stage.ok)).collect()
}

fn words(report: &Report, stage: Stage) -> &str {
    let found = report.stages.iter().find(|s| s.stage == stage).unwrap();
    found.message.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn a_good_server_passes_every_stage_once_and_is_closed() {
    let bench = Bench::new();
    let log = format!("--log={}", bench.file("log").display());
    let mut entry = bench.fake(&[&log, "--noise=hello", "--stderr=warm", "--tool={\"name\":\"bad\"}"]);
    entry["disabledTools"] = json!(["raw", "gone"]);
    let report = tested(&bench, entry).await;
    assert!(report.ok());
    assert_eq!(
        stages(&report),
        [(Stage::Config, true), (Stage::Program, true), (Stage::Start, true), (Stage::Handshake, true), (Stage::List, true)]
    );
    assert!(words(&report, Stage::Program).ends_with("fake-server"), "{report:?}");
    assert!(words(&report, Stage::Start).starts_with("process "), "{report:?}");
    assert_eq!(words(&report, Stage::Handshake), "fake 1.2.3, protocol 2025-11-25 (initialize)");
    assert!(words(&report, Stage::List).starts_with("11 tools, "), "{report:?}");
    assert!(words(&report, Stage::List).ends_with("1 hidden by `disabledTools`, 1 malformed"), "{report:?}");
    assert_eq!((report.stdout_noise, report.stderr.as_slice()), (1, &["warm".to_string()][..]));
    assert_eq!(report.tools.set_aside[0].name.as_deref(), Some("bad"));
    assert_eq!(
        report.tools.notices,
        [
            "`disabledTools` names `gone`, and the server lists no tool of that name.",
            // Complaint 29.
            "It wrote 1 line to stdout that is no MCP message, such as `hello`. That was ignored; a server should log to stderr."
        ]
    );
    eventually("it was not closed", || bench.tag.processes().is_empty()).await;
    assert_eq!(bench.noted("log").iter().filter(|line| *line == "started").count(), 1);
}

#[tokio::test]
async fn a_program_on_the_path_says_where_it_was_found() {
    let bench = Bench::new();
    let server = bench.server("cat", json!({ "command": "cat" })).await;
    let report = run(&bench, &server, &Memory::default(), Duration::from_secs(1)).await;
    assert!(words(&report, Stage::Program).ends_with("/cat, found in /usr/bin of the server's PATH"), "{report:?}");
}

#[tokio::test]
async fn a_failed_stage_is_the_last_one() {
    let bench = Bench::new();
    let unset =
        tested(&bench, json!({ "command": "x", "args": ["${NOT_SET_ANYWHERE:-}", "${HOME}"], "cwd": bench.path() })).await;
    assert_eq!(stages(&unset), [(Stage::Config, true), (Stage::Program, false)]);
    let program = tested(&bench, json!({ "command": "no-such-program-x" })).await;
    assert_eq!(stages(&program), [(Stage::Config, true), (Stage::Program, false)]);
    assert_eq!(program.failure.as_ref().map(|f| f.message.as_str()), program.stages[1].message.as_deref());
    let handshake = tested(&bench, json!({ "command": "sh", "args": ["-c", "echo oops >&2; exit 4"] })).await;
    assert_eq!(stages(&handshake).last(), Some(&(Stage::Handshake, false)));
    assert_eq!(handshake.failure.as_ref().and_then(|f| f.exit_code), Some(4));
    assert_eq!(handshake.stderr, ["oops"]);
    let list = tested(&bench, bench.fake(&["--cursor=loop"])).await;
    assert_eq!(stages(&list).last(), Some(&(Stage::List, false)));
    assert_eq!(list.peer.map(|peer| peer.name), Some("fake".into()));
    let mut public = Bench::new();
    public.set("HOST_OF_DOCS", "example.com");
    let config = tested(&public, json!({ "type": "http", "url": "http://${HOST_OF_DOCS}/mcp" })).await;
    assert_eq!(stages(&config), [(Stage::Config, false)]);
    eventually("something is left", || bench.tag.processes().is_empty()).await;
}

/// Row 16: whatever a server says of itself, its report holds no secret of its entry, whole or begun.
#[tokio::test]
async fn row_16_a_report_holds_no_secret() {
    const SECRET: &str = "s3cret-0123456789-abcdef";
    let bench = Bench::new();
    let told = json!({ "name": "told", "title": SECRET, "description": format!("say {SECRET}"), "inputSchema": {} });
    let mut entry = bench.fake(&[
        &format!("--name={SECRET}"),
        &format!("--tool={told}"),
        &format!("--tool={}", json!({ "name": SECRET })),
        &format!("--noise={SECRET}"),
        &format!("--stderr={SECRET}"),
        &format!("--stderr={}{SECRET}", "x".repeat(limits::LOG_LINE_BYTES - 10)),
    ]);
    entry["env"] = json!({ "TOKEN": SECRET });
    let report = tested(&bench, entry.clone()).await;
    assert!(report.ok(), "{report:?}");
    assert_eq!(report.peer.as_ref().map(|peer| peer.name.as_str()), Some("•••"));
    let tool = report.tools.tools.last().unwrap();
    assert_eq!((tool.title.as_deref(), tool.description.as_deref()), (Some("•••"), Some("say •••")));
    assert_eq!(report.tools.set_aside[0].name.as_deref(), Some("•••"));
    assert_eq!(report.stderr, ["•••".to_string(), format!("{}•••…", "x".repeat(limits::LOG_LINE_BYTES - 10))]);
    let server = bench.server("fake", entry).await;
    let all = format!("{report:?} {:?}", bench.logs.lines(&server.id));
    assert!(!all.contains(&SECRET[..6]), "{all}");
}

#[tokio::test]
async fn the_era_is_remembered() {
    let bench = Bench::new();
    let server = bench.server("fake", bench.fake(&["--not=initialize:exit"])).await;
    let memory = Memory::default();
    run(&bench, &server, &memory, PATIENCE).await;
    assert_eq!(memory.remembered(&server.id), Some(Era::Discover));
}

/// Row 33: a tool whose schema cannot be used is usable; its arguments are just not checked.
#[tokio::test]
async fn row_33_a_schema_that_cannot_be_used_is_noticed() {
    let bench = Bench::new();
    let tool = r#"--tool={"name":"x","inputSchema":{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/x"}}}}"#;
    let report = tested(&bench, bench.fake(&["--tools=1", tool])).await;
    assert_eq!(
        report.tools.notices,
        ["Arguments of `x` are not checked before they are sent: its schema has references that are not followed."]
    );
    assert_eq!(report.tools.tools.len(), 2);
}
