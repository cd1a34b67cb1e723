//! `mework mcp test`: connects, lists tools, and says why a server failed, stage by stage. All servers side by side; each
//! one is printed when it is done, so that one that hangs delays no other's lines.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mework_engine::config::ServerEntry;
use mework_engine::engine::Engine;
use mework_engine::mcp::Stage;
use mework_engine::text::{display, display_line};
use mework_engine::wire::{Consent, ServerTest, StageInfo, TestReport, ToolInfo};
use serde_json::{Value, json};

use super::consent::{self, Agreed};
use super::{Ended, is_json};
use crate::args;
use crate::declared::{Choice, Declared};
use crate::output::{Colour, Stop, Style, Table, note, print, print_json};

pub async fn run(args: args::Test) -> Ended {
    let (engine, declared) = &Declared::open(&args.workspaces).await?;
    let tests = if args.names.is_empty() { agreed(engine, declared).await? } else { named(engine, declared, &args).await? };
    if tests.is_empty() {
        note("There is no server to test. `mework mcp list` shows what is declared.");
    }
    let json = is_json(args.output);
    let style = Style::stdout();
    let choices: Vec<Choice<'_>> = tests.iter().map(|test| test.choice).collect();
    let mut running: FuturesUnordered<_> =
        tests.into_iter().enumerate().map(|(place, test)| async move { (place, test.run(engine).await) }).collect();
    let mut reports: Vec<(usize, TestReport)> = Vec::new();
    let mut stopped = false;
    loop {
        tokio::select! {
            done = running.next() => match done {
                Some((place, report)) => {
                    if !json {
                        let gap = if reports.is_empty() { "" } else { "\n" };
                        print(&format!("{gap}{}", text(&report, style)));
                    }
                    reports.push((place, report));
                }
                None => break,
            },
            () = crate::signals::asked_to_stop() => {
                note("Stopped.");
                stopped = true;
                break;
            }
        }
    }
    drop(running);
    engine.shutdown().await;
    let ok = !stopped && reports.iter().all(|(_, report)| report.ok);
    if json {
        // Those that were not done are told of too.
        for (place, choice) in choices.into_iter().enumerate() {
            if !reports.iter().any(|(done, _)| *done == place) {
                reports.push((place, not_started(choice, "Stopped.".into(), None)));
            }
        }
        reports.sort_by_key(|(place, _)| *place);
        let servers: Vec<Value> = reports.into_iter().map(|(_, report)| json!(report)).collect();
        print_json(&json!({ "servers": servers }));
    }
    Ok(ok)
}

/// One server to test, or why it is not started.
struct Test<'d> {
    choice: Choice<'d>,
    agreed: Agreed,
}

impl Test<'_> {
    async fn run(self, engine: &Engine) -> TestReport {
        let digest = match self.agreed {
            Agreed::Yes(digest) => digest,
            Agreed::No(message) => {
                // An entry that cannot be used fails at the first stage; one nobody agreed to reaches none.
                let stage = matches!(self.choice.entry, ServerEntry::Unavailable(_)).then_some(Stage::Config);
                return not_started(self.choice, message, stage);
            }
        };
        let test = ServerTest { conversation: None, server: self.choice.id(), digest };
        match engine.test_once(test, &|_| {}).await {
            Ok(report) => report,
            Err(error) => not_started(self.choice, error.message, None),
        }
    }
}

/// Every server that a person agreed to.
async fn agreed<'d>(engine: &Engine, declared: &'d Declared) -> Result<Vec<Test<'d>>, Stop> {
    let ready = declared.all().filter_map(|choice| match choice.entry {
        ServerEntry::Ready(server) => Some(server),
        ServerEntry::Unavailable(_) => None,
    });
    let mut consents = engine.consents(ready).await?.into_iter();
    let (mut tests, mut left_out) = (Vec::new(), Vec::new());
    for choice in declared.all() {
        match choice.entry {
            ServerEntry::Ready(_) => match consents.next() {
                Some(Consent::Given) => tests.push(Test { choice, agreed: Agreed::Yes(None) }),
                Some(Consent::Needed | Consent::Changed) | None => left_out.push(display_line(choice.name())),
            },
            ServerEntry::Unavailable(_) => note(&format!(
                "Left out, because its entry cannot be used: {}. {}",
                display_line(choice.name()),
                choice.reasons().join(" ")
            )),
        }
    }
    consent::left_out(&left_out);
    Ok(tests)
}

/// The servers that were named, each in every file that declares it; asks about those nobody agreed to.
async fn named<'d>(engine: &Engine, declared: &'d Declared, args: &args::Test) -> Result<Vec<Test<'d>>, Stop> {
    let mut tests: Vec<Test<'d>> = Vec::new();
    for name in &args.names {
        for choice in declared.named(name)? {
            if tests.iter().any(|test| test.choice.entry.id() == choice.entry.id()) {
                continue;
            }
            let agreed = match choice.entry {
                ServerEntry::Ready(server) => consent::ask(engine, declared, choice, server, args.yes).await?,
                // Nothing can start; the test says why.
                ServerEntry::Unavailable(_) => Agreed::No(choice.reasons().join(" ")),
            };
            tests.push(Test { choice, agreed });
        }
    }
    Ok(tests)
}

/// The report of a server that was not started, or not tested to the end.
fn not_started(choice: Choice<'_>, message: String, stage: Option<Stage>) -> TestReport {
    let failed = |stage| StageInfo { stage, ms: 0, ok: false, message: Some(message.clone()) };
    TestReport {
        id: choice.id(),
        name: choice.name().to_owned(),
        ok: false,
        protocol: None,
        server: None,
        elapsed_ms: 0,
        stages: stage.into_iter().map(failed).collect(),
        tools: Vec::new(),
        set_aside: Vec::new(),
        error: Some(message),
        exit_code: None,
        stderr: Vec::new(),
        stdout_noise: 0,
    }
}

fn text(report: &TestReport, style: Style) -> String {
    let (word, colour) = if report.ok { ("ok", Colour::Good) } else { ("failed", Colour::Bad) };
    let mut out = format!("{} {}", style.paint(colour, word), style.paint(Colour::Strong, &display_line(&report.name)));
    if let Some(server) = &report.server {
        out += &format!(" ({} {}", display_line(&server.name), display_line(&server.version));
        if let Some(protocol) = &report.protocol {
            out += &format!(", protocol {}", display_line(protocol));
        }
        out += ")";
    }
    if report.stages.len() > 1 {
        out += &format!(" in {} ms", report.elapsed_ms);
    }
    out.push('\n');

    let mut stages = Table::default();
    for StageInfo { stage, ms, ok, message } in &report.stages {
        let (word, colour) = if *ok { ("ok", Colour::Good) } else { ("failed", Colour::Bad) };
        // A failure's message is long and follows below.
        let message = message.as_deref().filter(|_| *ok).unwrap_or_default();
        stages.row().cell(stage_name(*stage)).painted(colour, word).cell(format!("{ms} ms")).cell(display_line(message));
    }
    for line in stages.lines(style, 2) {
        out += &format!("{line}\n");
    }
    if let Some(error) = &report.error {
        out += &indented(error);
    }
    // A failure's own message says so, with an example.
    if report.stdout_noise > 0 && report.error.is_none() {
        let lines = if report.stdout_noise == 1 { "line on stdout was" } else { "lines on stdout were" };
        out += &format!("  {} {lines} no protocol message.\n", report.stdout_noise);
    }
    if !report.stderr.is_empty() {
        out += "  Last lines on stderr:\n";
        for line in &report.stderr {
            out += &format!("    {}\n", style.paint(Colour::Faint, &display_line(line)));
        }
    }
    let mut tools = Table::default();
    for ToolInfo { name, title, always_asks, disabled, .. } in &report.tools {
        let mut what = Vec::new();
        what.extend(title.as_deref().map(display_line));
        what.extend(always_asks.then(|| "always asks".to_owned()));
        what.extend(disabled.then(|| "left out by disabledTools".to_owned()));
        tools.row().cell(display_line(name)).painted(Colour::Faint, what.join(", "));
    }
    if !report.tools.is_empty() {
        out += "  Tools:\n";
        for line in tools.lines(style, 4) {
            out += &format!("{line}\n");
        }
    }
    for tool in &report.set_aside {
        let name = tool.name.as_deref().map_or_else(|| "A tool without a name".to_owned(), display_line);
        out += &format!("  {name} was set aside: {}\n", display_line(&tool.reason));
    }
    out
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Config => "config",
        Stage::Program => "program",
        Stage::Start => "start",
        Stage::Handshake => "handshake",
        Stage::List => "list",
    }
}

fn indented(message: &str) -> String {
    display(message).lines().map(|line| format!("  {line}\n")).collect()
}
