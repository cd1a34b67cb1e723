//! The protocol's own conformance suite against our client: the suite's released version and its next one, each scenario in
//! each protocol version it knows. Only `auth/…` is left out: Mework runs no sign-in flows.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use mework_engine::wire::{Block, CallState};
use mework_tests::engine::program;
use mework_tests::programs::{command, conformance};
use serde_json::Value;
use tempfile::TempDir;

/// Whose server asks for what Mework offers no server (security row 31), so that the suite cannot be satisfied; each has a
/// test of its own below that says what happens instead.
const REFUSED: [&str; 2] = [
    // Its server asks the person something while a call runs.
    "elicitation-sep1034-client-defaults",
    // Its server does so although no client said it could, which the protocol forbids, and never asks for anything else.
    "sep-2322-client-request-state",
];

/// About skills, an extension that Mework does not know: it never asks for any, so there is nothing to judge.
const SKILLS: [&str; 4] = [
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
];

/// What must pass, in each edition of the suite: a test of its own for each scenario, with the protocol versions it is about.
macro_rules! scenarios {
    ($($edition:ident: $($test:ident $name:literal $versions:tt)*;)*) => {
        $(mod $edition {
            pub const MUST_PASS: &[(&str, &[&str])] = &[$(($name, &$versions)),*];
            $(#[test]
            fn $test() {
                super::must_pass(stringify!($edition), $name, &$versions);
            })*
        })*
    };
}

scenarios! {
    latest:
        initialize "initialize" ["2025-06-18", "2025-11-25"]
        tools_call "tools_call" ["2025-06-18", "2025-11-25"]
        sse_retry "sse-retry" ["2025-11-25"];
    next:
        initialize "initialize" ["2025-06-18", "2025-11-25"]
        tools_call "tools_call" ["2025-06-18", "2025-11-25", "2026-07-28"]
        sse_retry "sse-retry" ["2025-11-25"]
        request_metadata "request-metadata" ["2026-07-28"]
        http_standard_headers "http-standard-headers" ["2026-07-28"]
        http_custom_headers "http-custom-headers" ["2026-07-28"]
        http_invalid_tool_headers "http-invalid-tool-headers" ["2026-07-28"]
        json_schema_ref_no_deref "json-schema-ref-no-deref" ["2026-07-28"]
        json_schema_2020_12_preservation "json-schema-2020-12-preservation" ["2025-11-25", "2026-07-28"];
}

/// One of the two editions of the suite with these arguments.
fn suite(edition: &str, arguments: &[&str]) -> Output {
    let program = conformance().join("node_modules").join(format!("conformance-{edition}")).join("dist/index.js");
    command("node").arg(program).args(arguments).output().expect("Node, which `make setup` installs")
}

/// The scenarios for clients that an edition lists, each with the protocol versions it is about.
fn listed(edition: &str) -> BTreeMap<String, Vec<String>> {
    let output = suite(edition, &["list", "--client"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let scenario = |line: &str| {
        let (name, versions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
        Some((name.to_owned(), versions.trim_end_matches(']').split(',').map(str::to_owned).collect()))
    };
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().filter_map(scenario).filter(|(name, _): &(String, _)| !name.starts_with("auth/")).collect()
}

/// What came of a scenario in one protocol version.
struct Run {
    /// The suite's own words.
    words: String,
    passed: bool,
    /// Id, status and the suite's reason of each check.
    checks: Vec<(String, String, String)>,
    /// What our client said about each call, by tool.
    calls: BTreeMap<String, CallState>,
}

impl Run {
    fn of(edition: &str, scenario: &str, version: &str) -> Self {
        let results = TempDir::new().unwrap();
        // The suite hands this to a shell.
        let client = format!("'{}'", program("conformance-client").display());
        let folder = results.path().to_str().unwrap();
        let mut arguments = vec!["client", "--command", &client, "--scenario", scenario, "--output-dir", folder];
        // An extension belongs to no version.
        if version != "extension" {
            arguments.extend(["--spec-version", version]);
        }
        let output = suite(edition, &arguments);
        let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let run = std::fs::read_dir(folder).unwrap().flatten().next().unwrap_or_else(|| panic!("it did not run: {words}")).path();
        let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
        let checks: Vec<Value> = serde_json::from_str(&read("checks.json")).unwrap();
        let word = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
        let checks = checks.iter().map(|c| (word(c, "id"), word(c, "status"), word(c, "errorMessage"))).collect();
        let call = |line: &str| {
            let mut call: Value = serde_json::from_str(line).unwrap();
            (call["tool"].as_str().unwrap().to_owned(), serde_json::from_value(call["state"].take()).unwrap())
        };
        Self { words, passed: output.status.success(), checks, calls: read("stdout.txt").lines().map(call).collect() }
    }
    fn with_status(&self, status: &str) -> BTreeSet<&str> {
        self.checks.iter().filter(|(_, s, _)| s == status).map(|(id, ..)| id.as_str()).collect()
    }
    /// The text that a call was answered with.
    fn text(&self, tool: &str) -> &str {
        match &self.calls[tool] {
            CallState::Done(outcome) => match outcome.content.as_slice() {
                [Block::Text { text }] => text,
                other => panic!("{tool} answered {other:?}"),
            },
            other => panic!("{tool} ended as {other:?}\n{}", self.words),
        }
    }
}

fn must_pass(edition: &str, scenario: &str, versions: &[&str]) {
    for version in versions {
        let run = Run::of(edition, scenario, version);
        assert!(run.passed, "{scenario} of {edition} for {version}:\n{}", run.words);
        assert!(!run.with_status("SUCCESS").is_empty(), "{scenario} for {version} checked nothing:\n{}", run.words);
    }
}

/// A newer suite's new scenario, or a protocol version that is new to one, has to be looked at: it belongs into a list.
#[test]
fn every_scenario_is_in_a_list() {
    for (edition, must_pass) in [("latest", latest::MUST_PASS), ("next", next::MUST_PASS)] {
        let listed = listed(edition);
        let others: BTreeSet<&str> =
            listed.keys().map(String::as_str).filter(|name| !must_pass.iter().any(|(n, _)| n == name)).collect();
        let known = match edition {
            "latest" => BTreeSet::from([REFUSED[0]]),
            _ => REFUSED.into_iter().chain(SKILLS).collect(),
        };
        assert_eq!(others, known, "{edition}");
        for (name, versions) in must_pass {
            assert_eq!(
                listed.get(*name).map(|v| v.iter().map(String::as_str).collect()),
                Some(versions.to_vec()),
                "{edition}: {name}"
            );
        }
    }
}

/// Row 31: a server that asks for a person's input gets "method not found", and nothing is shown.
#[test]
fn a_server_that_asks_the_person_is_refused() {
    for edition in ["latest", "next"] {
        let run = Run::of(edition, REFUSED[0], "2025-11-25");
        assert!(!run.passed, "{}", run.words);
        let refusal = run.text("test_client_elicitation_defaults");
        assert!(refusal.starts_with("Elicitation error: MCP error -32601:"), "{edition}: {refusal}");
        assert!(run.checks.iter().any(|(id, status, why)| {
            id == "client-elicitation-sep1034-general" && status == "FAILURE" && why.contains("-32601")
        }));
    }
}

/// Row 31 in the newer protocol, where a result asks: the call fails and says why, and nothing is sent again. Every check
/// that needs no answer to such a question passes.
#[test]
fn a_result_that_asks_the_person_ends_the_call() {
    let run = Run::of("next", REFUSED[1], "2026-07-28");
    assert!(!run.passed, "{}", run.words);
    for tool in ["test_mrtr_echo_state", "test_mrtr_no_state"] {
        match &run.calls[tool] {
            CallState::Failed { message, .. } => assert!(message.contains("asks for input of its own"), "{message}"),
            other => panic!("{tool} ended as {other:?}"),
        }
    }
    assert_eq!(run.text("test_mrtr_unrelated"), "unrelated-ok");
    assert_eq!(run.text("test_mrtr_no_result_type"), "no-result-type-test-ok");
    let unanswered =
        ["sep-2322-client-jsonrpc-id-different", "sep-2322-client-no-state-omitted", "sep-2322-client-request-state-echoed"];
    assert_eq!(run.with_status("FAILURE"), BTreeSet::from(unanswered), "{}", run.words);
    let answered = ["sep-2322-client-parallel-isolation", "sep-2322-default-result-type-complete"];
    assert!(run.with_status("SUCCESS").is_superset(&BTreeSet::from(answered)), "{}", run.words);
}

/// An extension that is neither declared nor used.
#[test]
fn skills_are_never_asked_for() {
    for scenario in SKILLS {
        let run = Run::of("next", scenario, "extension");
        assert!(run.with_status("SKIPPED").iter().any(|id| id.starts_with("sep-2640")), "{}", run.words);
        assert_eq!(run.with_status("FAILURE"), BTreeSet::new(), "{}", run.words);
    }
}
