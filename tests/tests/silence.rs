//! Servers that say nothing where an answer is due while they start: each is waited for as long as the limit says and no longer, and
//! in the end a person reads which question it was. With a limit shorter than the product's.
#![cfg(target_os = "linux")]

use std::time::Duration;

use mework_engine::mcp::probe::{Report, probe};
use mework_engine::mcp::{Stage, StageReport};
use mework_tests::engine::PATIENCE;
use mework_tests::eventually;
use mework_tests::http_faults::HttpFault;
use mework_tests::http_server::{HttpServer, Reply, Step};
use mework_tests::servers::{Bench, Memory};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(4);
const HANGS: &str = " It is running but wrote nothing to stdout: it hangs, waits for something, or is no MCP server.";
const HANGS_FAR: &str = " It hangs, or is no MCP server.";

async fn tested(bench: &Bench, entry: Value) -> Report {
    let server = bench.server("silent", entry).await;
    let memory = Memory::default();
    let mut told = |_: &StageReport| {};
    let report = probe(&server, bench.path(), &bench.logs, &memory, LIMIT, &mut told);
    tokio::time::timeout(PATIENCE, report).await.expect("it is waited for without end")
}

/// It failed at this stage, in these words around a number of seconds, which is at most `bound`: what the greeting took is
/// not there for the list.
fn waited(report: &Report, stage: Stage, bound: u64, (before, after): (&str, &str)) {
    let failure = report.failure.as_ref().unwrap_or_else(|| panic!("{report:?}"));
    let seconds =
        failure.message.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).and_then(|n| n.parse::<u64>().ok());
    assert!(seconds.is_some_and(|seconds| (1..=bound).contains(&seconds)), "{bound} s at most: {failure:?}");
    assert_eq!((failure.stage, report.stages.last().map(|last| (last.stage, last.ok))), (stage, Some((stage, false))));
}

const INITIALIZE: &str = "It did not answer `initialize` within ";
const LIST: (&str, &str) = ("It did not list its tools within ", " s.");

async fn program(flags: &[&str], judge: impl FnOnce(&Report, usize)) {
    let bench = Bench::new();
    let log = format!("--log={}", bench.file("log").display());
    let mut all = flags.to_vec();
    all.push(&log);
    let report = tested(&bench, bench.fake(&all)).await;
    judge(&report, bench.noted("log").iter().filter(|line| *line == "started").count());
    eventually("it was left running", || bench.tag.processes().is_empty()).await;
}

#[tokio::test]
async fn a_program_that_never_answers_is_given_up() {
    let limit = LIMIT.as_secs();
    let hangs = ["--not=initialize:error", "--hang=server/discover"];
    let says_nothing = ["--not=initialize:error", "--not=server/discover:silent"];
    let refused = |report: &Report, starts: usize| {
        // What it said to the first greeting is what a person can act on.
        let failure = report.failure.as_ref().unwrap();
        assert_eq!(failure.message, "It refused to begin. Its answer to `initialize` was: Method not found");
        assert_eq!((failure.stage, starts), (Stage::Handshake, 2));
    };
    tokio::join!(
        program(&["--hang=initialize"], |report, starts| {
            waited(report, Stage::Handshake, limit, (INITIALIZE, &format!(" s.{HANGS}")));
            assert_eq!(starts, 1, "silence is no refusal");
        }),
        program(&hangs, refused),
        program(&says_nothing, refused),
        program(&["--hang=tools/list"], |report, starts| {
            waited(report, Stage::List, limit, LIST);
            assert_eq!(starts, 1);
        }),
    );
}

async fn address(fault: HttpFault, judge: impl FnOnce(&Report, &HttpServer)) {
    let server = fault.server().await;
    let report = tested(&Bench::new(), server.entry()).await;
    judge(&report, &server);
}

fn message(report: &Report, stage: Stage) -> &str {
    report.stages.iter().find(|known| known.stage == stage).and_then(|known| known.message.as_deref()).unwrap_or_default()
}

#[tokio::test]
async fn an_address_that_never_answers_is_given_up() {
    let (limit, half) = (LIMIT.as_secs(), LIMIT.as_secs() / 2);
    tokio::join!(
        // Half of the time was the other greeting's.
        address(HttpFault::Hang(""), |report, server| {
            waited(report, Stage::Handshake, half, (INITIALIZE, &format!(" s.{HANGS_FAR}")));
            assert_eq!(server.log(), ["POST server/discover", "POST initialize"]);
        }),
        address(HttpFault::SlowHead("initialize"), |report, _| {
            waited(report, Stage::Handshake, limit, (INITIALIZE, &format!(" s.{HANGS_FAR}")));
        }),
        address(HttpFault::Hang("tools/list"), |report, server| {
            waited(report, Stage::List, limit, LIST);
            assert_eq!(server.count("tools/list"), 1);
        }),
    );
}

/// Silence about the newer greeting is a refusal, and the stage that took so long says so.
#[tokio::test]
async fn an_address_that_does_not_answer_the_newer_greeting_is_asked_the_older_one() {
    address(HttpFault::Hang("server/discover"), |report, server| {
        assert!(report.ok(), "{report:?}");
        let start = format!(
            "127.0.0.1:{} answers; it did not answer `server/discover` within {} s, so it was asked `initialize`",
            server.port(),
            LIMIT.as_secs() / 2
        );
        assert_eq!(message(report, Stage::Start), start);
        assert_eq!(message(report, Stage::Handshake), "http 2.0, protocol 2025-11-25 (initialize)");
        assert_eq!(server.log()[..2], ["POST server/discover", "POST initialize"]);
    })
    .await;
}

/// That the greeting is over need not be heard; who waits is told what was waited for.
#[tokio::test]
async fn an_address_that_does_not_take_that_the_greeting_is_over_works() {
    address(HttpFault::Hang("notifications/initialized"), |report, server| {
        assert!(report.ok(), "{report:?}");
        let handshake = "http 2.0, protocol 2025-11-25 (initialize); it did not take `notifications/initialized` within 2 s";
        assert_eq!(message(report, Stage::Handshake), handshake);
        assert_eq!(server.count("tools/list"), 1);
    })
    .await;
}

/// Where it began to answer and then fell silent, it is the handshake that took long.
#[tokio::test]
async fn an_address_that_only_begins_to_answer_the_newer_greeting_is_asked_the_older_one() {
    let server = HttpServer::start(|seen, _| (seen.method() == "server/discover").then(|| Reply::Events(vec![Step::Hold]))).await;
    let report = tested(&Bench::new(), server.entry()).await;
    assert_eq!(message(&report, Stage::Start), format!("127.0.0.1:{} answers", server.port()));
    let handshake = format!(
        "http 2.0, protocol 2025-11-25 (initialize); it did not answer `server/discover` within {} s, so it was asked `initialize`",
        LIMIT.as_secs() / 2
    );
    assert_eq!(message(&report, Stage::Handshake), handshake);
}

/// What the greetings took is not there for the list.
#[tokio::test]
async fn greeting_and_listing_share_one_limit() {
    let silent =
        HttpServer::start(|seen, _| matches!(seen.method(), "server/discover" | "tools/list").then_some(Reply::Silence)).await;
    let report = tested(&Bench::new(), silent.entry()).await;
    waited(&report, Stage::List, LIMIT.as_secs() / 2, LIST);
}
