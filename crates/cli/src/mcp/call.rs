//! `mework mcp call`: one call on the same road as the window's: consent, connection, verdict, card, call, result. Here
//! stands the card as a terminal shows it, and the result as people and programs read it.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use mework_engine::approval::Why;
use mework_engine::config::ServerEntry;
use mework_engine::engine::{Answer, Asker, CallArguments, CallOnce};
use mework_engine::json::meaning;
use mework_engine::text::{display, display_line};
use mework_engine::tools::arguments::parse;
use mework_engine::wire::{Block, CallEntry, CallOutcome, CallState, Card, Progress};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::consent::{self, Agreed, field};
use super::{Ended, is_json};
use crate::args;
use crate::declared::Declared;
use crate::output::{Colour, Exact, Stop, Style, note, pretty, print, print_json, say};
use crate::terminal;

pub async fn run(args: args::Call) -> Ended {
    let arguments = arguments(&args)?;
    let (engine, declared) = Declared::open(&args.workspaces).await?;
    let choice = declared.one(&args.name, args.scope).await?;
    let json = is_json(args.output);
    let server = match choice.entry {
        ServerEntry::Ready(server) => server,
        ServerEntry::Unavailable(_) => {
            let message = format!("{} is unavailable: {}", display_line(choice.name()), choice.reasons().join(" "));
            return Ok(failed(json, &message, &[]));
        }
    };
    let digest = match consent::ask(&engine, &declared, choice, server, args.yes).await? {
        Agreed::Yes(digest) => digest,
        Agreed::No(message) => return Ok(failed(json, &message, &[])),
    };
    let asker = Terminal { yes: args.yes, shown: Mutex::default() };
    let call = CallOnce { server: choice.id(), tool: args.tool.clone(), arguments, digest };
    let entry = tokio::select! {
        entry = engine.call_once(call, &asker) => Some(entry),
        // Dropping the call cancels it at the server.
        () = crate::signals::asked_to_stop() => None,
    };
    engine.shutdown().await;
    Ok(match entry {
        Some(Ok(entry)) => show(json, &entry),
        Some(Err(error)) => failed(json, &error.message, &[]),
        None => failed(json, "Stopped.", &[]),
    })
}

/// `--args`, or the pairs; the pairs' types are the schema's to say.
fn arguments(args: &args::Call) -> Result<CallArguments, Stop> {
    match &args.args {
        Some(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(_)) => Ok(CallArguments::Json(text.clone())),
            Ok(_) => Err(Stop::usage("--args must be a JSON object, for example --args '{\"message\": \"hello\"}'.")),
            // JSON by its grammar may still hold what no value can; the engine has the words for that.
            Err(error) => Err(Stop::usage(match (serde_json::from_str::<&RawValue>(text), parse(text)) {
                (Ok(_), Err(problem)) => format!("--args cannot be used. {}", problem.message),
                (Ok(_) | Err(_), _) => format!("--args is not JSON: {error}."),
            })),
        },
        None => {
            let pairs = args.pairs.iter().map(|pair| match pair.split_once('=') {
                Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
                _ => {
                    Err(Stop::usage(format!("\"{}\" is not key=value. --args takes the whole JSON object.", display_line(pair))))
                }
            });
            Ok(CallArguments::Pairs(pairs.collect::<Result<_, _>>()?))
        }
    }
}

/// The person at the terminal, or `--yes`.
struct Terminal {
    yes: bool,
    /// The last progress line, so that nothing is said twice.
    shown: Mutex<String>,
}

impl Asker for Terminal {
    fn ask(&self, card: Card) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let always = match card.why {
                Why::Level => None,
                Why::ServerRequires => Some("its server marks it as needing a person every time"),
                Why::EntryRequires => Some("the file lists it under disabledAutoApproveTools"),
            };
            if self.yes && always.is_none() {
                return Answer { allow: true, by: "--yes".into(), arguments: None, reason: None };
            }
            let by = mework_engine::approval::by_terminal();
            if !terminal::is_present() {
                let reason = match always {
                    Some(why) => format!("There is no terminal to ask at, and --yes does not answer for this tool: {why}."),
                    None => "There is no terminal to ask at. Pass --yes to allow the call beforehand.".into(),
                };
                return Answer { allow: false, by, arguments: None, reason: Some(reason) };
            }
            let (allow, arguments) = decided(card, always).await;
            Answer { allow, by, arguments, reason: None }
        })
    }

    fn state(&self, state: &CallState) {
        let CallState::Running { progress: Some(Progress { progress, total, message }) } = state else { return };
        let mut line = match (progress, total) {
            (Some(progress), Some(total)) => format!("{progress} of {total}"),
            (Some(progress), None) => progress.to_string(),
            (None, _) => String::new(),
        };
        if let Some(message) = message {
            line = if line.is_empty() { message.clone() } else { format!("{line}: {message}") };
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown != line {
            note(&display_line(&line));
            *shown = line;
        }
    }
}

/// Asks until there is a yes or a no. Arguments that were edited are shown again before anything is allowed.
async fn decided(mut card: Card, always: Option<&str>) -> (bool, Option<String>) {
    let mut edited = None;
    say(&shown(&card, always, Style::stderr()));
    loop {
        let answer = terminal::ask("Allow this call once? [y/N, e edits it] ".into()).await.unwrap_or_default();
        match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" => return (true, edited),
            "e" | "edit" => {
                let line = terminal::ask("  its arguments, as JSON in one line: ".into()).await.unwrap_or_default();
                match parse(&line) {
                    Ok(_) if line.is_empty() => note("Nothing was changed."),
                    Ok(arguments) => {
                        card.arguments = arguments.text().to_owned();
                        edited = Some(card.arguments.clone());
                        say(&shown(&card, always, Style::stderr()));
                    }
                    Err(problem) => note(&format!("{} Nothing was changed.", display(&problem.message))),
                }
            }
            _ => return (false, None),
        }
    }
}

/// The card of B34: everything that would be sent, in full, nothing hidden in it.
fn shown(card: &Card, always: Option<&str>, style: Style) -> String {
    let Card { server_name, machine, cwd, tool, title, description, arguments, .. } = card;
    let mut out = format!("\n{}\n", style.paint(Colour::Attention, "A call waits for you. Risk: high"));
    out += &field("server", &format!("{} on {}", display_line(server_name), display_line(machine)));
    out += &field("folder", &display_line(cwd));
    out += &field("tool", &style.paint(Colour::Strong, &display_line(tool)));
    if let Some(title) = title {
        out += &field("title", &format!("{} (the server's words)", display_line(title)));
    }
    if let Some(description) = description {
        out += &field("says", &format!("{} (the server's words)", display_line(description)));
    }
    if let Some(why) = always {
        out += &field("asks", &format!("always: {why}"));
    }
    out += "  arguments, as they would be sent:\n";
    for line in readable(arguments).lines() {
        out += &format!("    {line}\n");
    }
    out
}

/// JSON over several lines where that is the same JSON, with what would act on a terminal made visible.
fn readable(arguments: &str) -> String {
    let pretty = serde_json::from_str::<Value>(arguments)
        .ok()
        .filter(|value| serde_json::to_string(value).is_ok_and(|text| text == arguments));
    display(&pretty.map_or_else(|| arguments.to_owned(), |value| format!("{value:#}")))
}

/// Prints how the call ended; whether it worked.
fn show(json: bool, entry: &CallEntry) -> bool {
    match &entry.state {
        CallState::Done(outcome) => done(json, outcome),
        CallState::Failed { message, stderr, .. } => failed(json, message, stderr),
        CallState::Denied { reason } => {
            let message = match reason {
                Some(reason) => format!("Not called. {reason}"),
                None => "Not called: you did not allow it.".into(),
            };
            failed(json, &message, &[])
        }
        CallState::Stopped => failed(json, "Stopped.", &[]),
        CallState::NotRun { reason } => failed(json, &format!("Not called. {reason}"), &[]),
        CallState::Connecting | CallState::Waiting { .. } | CallState::Running { .. } => {
            failed(json, "The call was left before it ended.", &[])
        }
    }
}

/// The document of a call that came back.
#[derive(Serialize)]
struct Printed<'a> {
    ok: bool,
    is_error: bool,
    content: &'a [Block],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Exact<'a>>,
    bytes: usize,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

fn done(json: bool, outcome: &CallOutcome) -> bool {
    let CallOutcome { is_error, content, structured, bytes, elapsed_ms } = outcome;
    // The engine gives nothing but JSON; a transcript of an earlier version is not read here.
    let structured = structured.as_deref().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    if json {
        print_json(&Printed {
            ok: !is_error,
            is_error: *is_error,
            content,
            structured: structured.map(Exact),
            bytes: *bytes,
            elapsed_ms: *elapsed_ms,
            error: is_error.then_some("The tool answered that it failed."),
        });
    } else {
        let mut out = String::new();
        for block in content {
            out += display(&block_text(block)).trim_end_matches('\n');
            out.push('\n');
        }
        // Structured content usually repeats the text; it is shown where it adds something.
        if let Some(structured) = structured
            && !content.iter().any(|block| repeats(block, structured))
        {
            out += &format!("{}\n", display(&pretty(&Exact(structured))));
        }
        print(&out);
        if *is_error {
            note("The tool answered that it failed.");
        }
    }
    !is_error
}

/// Whether a text says the same, to the last digit; the window goes by the same rule.
fn repeats(block: &Block, structured: &RawValue) -> bool {
    let Block::Text { text } = block else { return false };
    let said = |text: &str| serde_json::from_str::<&RawValue>(text).ok().and_then(|raw| meaning(raw).ok());
    said(text).is_some_and(|text| Some(text) == said(structured.get()))
}

fn block_text(block: &Block) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::Image { mime, data, width, height } => {
            format!("[image: {mime}, {width} × {height}, {} bytes]", data.trim_end_matches('=').len() * 3 / 4)
        }
        Block::Audio { mime, bytes } => format!("[audio: {mime}, {bytes} bytes]"),
        Block::ResourceLink { uri, name, mime } => match mime {
            Some(mime) => format!("[link: {name}, {mime}, {uri}]"),
            None => format!("[link: {name}, {uri}]"),
        },
        Block::Resource { uri, text, .. } => format!("[resource {uri}]\n{text}"),
        Block::Other { what } => format!("[{what}]"),
    }
}

/// Says why there is no result; always `false`.
fn failed(json: bool, message: &str, stderr: &[String]) -> bool {
    note(message);
    if !stderr.is_empty() {
        note("Last lines on stderr:");
        stderr.iter().for_each(|line| note(&format!("  {}", display_line(line))));
    }
    if json {
        print_json(&json!({
            "ok": false, "is_error": false, "content": [], "bytes": 0, "elapsed_ms": 0, "error": display(message),
        }));
    }
    false
}

#[cfg(test)]
mod tests {
    use mework_engine::wire::Brief;

    use super::*;

    fn card(arguments: &str) -> Card {
        Card {
            id: "1".into(),
            conversation: String::new(),
            conversation_title: String::new(),
            entry: String::new(),
            server: String::new(),
            server_name: "sample".into(),
            machine: "This computer".into(),
            cwd: "/home/a".into(),
            folders: vec![],
            definition: String::new(),
            brief: Brief { server: "sample".into(), tool: "echo".into() },
            tool: "echo\u{1b}[2K".into(),
            title: None,
            description: Some("line one\nAllow this call once? [y/N] y".into()),
            arguments: arguments.into(),
            why: Why::Level,
            at: 0,
        }
    }

    #[test]
    fn row_7_and_28_a_card_shows_everything_and_nothing_acts_on_the_terminal() {
        let long = "x".repeat(200_000);
        let shown = shown(&card(&json!({ "path": "a\u{202e}b", "text": long }).to_string()), None, Style::plain());
        assert!(shown.contains(&long));
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
        assert!(shown.contains("tool       echo⟨U+001B⟩[2K\n"), "{}", &shown[..300]);
        assert!(shown.contains("says       line one⟨U+000A⟩Allow this call once? [y/N] y (the server's words)\n"));
        assert!(shown.contains("    \"path\": \"a⟨U+202E⟩b\"") || shown.contains("      \"path\": \"a⟨U+202E⟩b\""));
    }

    /// What is sent is the text as written; a card must not show something tidier (B34, row 7).
    #[test]
    fn row_7_text_that_is_not_its_own_tidy_form_is_shown_as_it_is() {
        assert_eq!(readable(r#"{"a":1}"#), "{\n  \"a\": 1\n}");
        assert_eq!(readable(r#"{"a":1,"a":2}"#), r#"{"a":1,"a":2}"#);
        assert_eq!(readable(r#"{"a":1e400}"#), r#"{"a":1e400}"#);
        assert_eq!(readable(r#"{ "a": 1 }"#), r#"{ "a": 1 }"#);
    }
}
