//! `mework mcp add`: writes one server into a file (B17), from the command line or, with no arguments in a terminal, by
//! asking for every value.

use mework_engine::config::entry::check_name;
use mework_engine::config::{FileState, Level, Listing, Scope, ServerEntry};
use mework_engine::text::display_line;
use mework_engine::wire::ServerAdd;
use serde_json::{Map, Value, json};

use super::{Ended, is_json};
use crate::args::{self, Transport};
use crate::declared::{Choice, Declared, scope_name};
use crate::output::{Stop, note, print, print_json};
use crate::terminal;

pub async fn run(mut args: args::Add) -> Ended {
    if args.name.is_none() {
        if !terminal::is_present() {
            return Err(Stop::usage(
                "Give a name, and a URL or after -- a command: mework mcp add NAME -- COMMAND [ARGUMENTS]. With a terminal, `mework mcp add` alone asks for every value.",
            ));
        }
        ask(&mut args).await?;
    }
    let name = args.name.clone().unwrap_or_default();
    check_name(&name).map_err(Stop::usage)?;
    let entry = entry(&args)?;
    let (engine, declared) = Declared::open(&args.workspaces).await?;
    let (level, listing) = declared.level_of(scope(&args))?;
    let file = declared.tilde(&listing.file);
    let replaces = listing.servers.contains_key(&name);
    let file_hash = match &listing.state {
        FileState::Absent => None,
        FileState::Read { hash } => Some(hash.clone()),
        FileState::Ignored { message } => {
            return Err(Stop::failed(format!("Nothing was written, because {file} is ignored as it is: {message}")));
        }
    };
    if replaces && !args.force {
        return Err(Stop::failed(format!("{name} stands in {file} already. --force replaces it.")));
    }
    let add = ServerAdd {
        conversation: None,
        level: match &level.scope {
            Scope::Global => "global".into(),
            Scope::Workspace(folder) => folder.display().to_string(),
        },
        name: name.clone(),
        entry: format!("{:#}", Value::Object(entry)),
        file_hash,
        replace: args.force,
    };
    let id = engine.server_add(add).await?.id;
    // What became of it is the file's to say, not ours.
    let levels = engine.listings().await;
    let written = levels.iter().find_map(|(level, listing)| find(level, listing, &id));
    engine.shutdown().await;
    if is_json(args.output) {
        print_json(&json!({
            "id": id,
            "name": name,
            "scope": scope_name(level),
            "file": written.map_or(&listing.file, |choice| &choice.entry.id().file).to_string_lossy(),
            "replaced": replaces,
            "state": written.map(Choice::state),
            "reasons": written.map(Choice::reasons).unwrap_or_default(),
            "notes": written.map(Choice::notes).unwrap_or_default(),
        }));
    } else {
        print(&format!("{} {name} in {file}.\n", if replaces { "Replaced" } else { "Added" }));
    }
    let Some(choice) = written else {
        note(&format!("{name} is not listed in {file} any more; something else changed the file."));
        return Ok(false);
    };
    if matches!(choice.entry, ServerEntry::Unavailable(_)) {
        note(&format!("It is unavailable as it stands: {}", choice.reasons().join(" ")));
    }
    choice.notes().iter().for_each(|text| note(text));
    Ok(true)
}

fn find<'d>(level: &'d Level, listing: &'d Listing, id: &str) -> Option<Choice<'d>> {
    let entry = listing.servers.values().find(|entry| entry.id().to_string() == id)?;
    Some(Choice { level, listing, entry })
}

/// A workspace that was named is meant; one that only happens to be the current folder is not.
fn scope(args: &args::Add) -> args::Scope {
    args.scope.unwrap_or(if args.workspaces.workspaces.is_empty() { args::Scope::Global } else { args::Scope::Workspace })
}

/// The entry as it is written.
fn entry(args: &args::Add) -> Result<Map<String, Value>, Stop> {
    let looks_like_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    let transport = args.transport.unwrap_or(match args.target.as_slice() {
        [url] if looks_like_url(url) => Transport::Http,
        _ => Transport::Stdio,
    });
    let mut entry = Map::new();
    match transport {
        Transport::Stdio => {
            let Some((command, arguments)) = args.target.split_first() else {
                return Err(Stop::usage(
                    "A stdio server needs its command after --, for example: mework mcp add NAME -- npx -y some-package.",
                ));
            };
            if !args.headers.is_empty() {
                return Err(Stop::usage("Headers are for http servers. A stdio server takes variables: -e KEY=VALUE."));
            }
            entry.insert("command".into(), command.as_str().into());
            if !arguments.is_empty() {
                entry.insert("args".into(), json!(arguments));
            }
            let env = pairs(&args.env, '=', "-e", "KEY=VALUE")?;
            if !env.is_empty() {
                entry.insert("env".into(), Value::Object(env));
            }
        }
        Transport::Http => {
            let [url] = args.target.as_slice() else {
                return Err(Stop::usage(
                    "An http server needs its URL, and nothing after it: mework mcp add NAME https://host/mcp.",
                ));
            };
            if !args.env.is_empty() {
                return Err(Stop::usage("Variables are for stdio servers. An http server takes headers: -H 'Key: Value'."));
            }
            entry.insert("type".into(), "http".into());
            entry.insert("url".into(), url.as_str().into());
            let headers = pairs(&args.headers, ':', "-H", "Key: Value")?;
            if !headers.is_empty() {
                entry.insert("headers".into(), Value::Object(headers));
            }
        }
        Transport::Sse => {
            return Err(Stop::usage(
                "Mework's own files know stdio and http servers; the older sse transport is not supported. Most such servers answer at an http address too.",
            ));
        }
    }
    if let Some(time) = &args.timeout {
        let milliseconds = milliseconds(time)?;
        // Whole seconds read better, and the file's own key is in seconds.
        if milliseconds.is_multiple_of(1000) {
            entry.insert("timeoutSeconds".into(), (milliseconds / 1000).into());
        } else {
            entry.insert("timeout".into(), milliseconds.into());
        }
    }
    Ok(entry)
}

fn pairs(given: &[String], separator: char, flag: &str, shape: &str) -> Result<Map<String, Value>, Stop> {
    let mut pairs = Map::new();
    for text in given {
        // Only the name is shown: what follows may be a secret.
        let (name, value) = match text.split_once(separator) {
            Some((name, value)) if !name.trim().is_empty() => (name.trim(), value),
            _ => return Err(Stop::usage(format!("A value of {flag} is not {shape}."))),
        };
        let value = if separator == ':' { value.trim() } else { value };
        if pairs.insert(name.to_owned(), value.into()).is_some() {
            return Err(Stop::usage(format!("{} is given twice with {flag}.", display_line(name))));
        }
    }
    Ok(pairs)
}

/// `60000`, `60s`, `2m`.
fn milliseconds(text: &str) -> Result<u64, Stop> {
    let (digits, unit) = match text.trim() {
        text if text.ends_with("ms") => (&text[..text.len() - 2], 1),
        text if text.ends_with('s') => (&text[..text.len() - 1], 1_000),
        text if text.ends_with('m') => (&text[..text.len() - 1], 60_000),
        text => (text, 1),
    };
    let time = digits.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|time| *time >= 1_000);
    time.ok_or_else(|| {
        Stop::usage(format!(
            "\"{}\" is no time limit of a second or more. Write milliseconds (60000), seconds (60s) or minutes (2m).",
            display_line(text)
        ))
    })
}

/// Asks for every value that was not given.
async fn ask(args: &mut args::Add) -> Result<(), Stop> {
    let name = loop {
        let name = line("Name: ").await?;
        match check_name(&name) {
            Ok(()) => break name,
            Err(problem) => note(problem),
        }
    };
    args.name = Some(name);
    let transport = match args.transport {
        Some(transport) => transport,
        None => loop {
            match line("Transport, stdio or http [stdio]: ").await?.as_str() {
                "" | "stdio" => break Transport::Stdio,
                "http" => break Transport::Http,
                "sse" => note("The older sse transport is not supported. Most such servers answer at an http address too."),
                _ => note("Write stdio or http."),
            }
        },
    };
    args.transport = Some(transport);
    match transport {
        Transport::Stdio => {
            while args.target.is_empty() {
                match shell_words::split(&line("Command with its arguments, quoted as in a shell: ").await?) {
                    Ok(words) => args.target = words,
                    Err(_) => note("A quote is not closed."),
                }
            }
            several(&mut args.env, "Variable as KEY=VALUE, empty to go on: ", |text| {
                pairs(text, '=', "-e", "KEY=VALUE").map(drop)
            })
            .await?;
        }
        Transport::Http | Transport::Sse => {
            while args.target.is_empty() {
                args.target.extend(Some(line("URL: ").await?).filter(|url| !url.is_empty()));
            }
            several(&mut args.headers, "Header as Key: Value, empty to go on: ", |text| {
                pairs(text, ':', "-H", "Key: Value").map(drop)
            })
            .await?;
        }
    }
    while args.timeout.is_none() {
        let time = line("Time limit of one call, for example 60s [45s]: ").await?;
        if time.is_empty() {
            break;
        }
        match milliseconds(&time) {
            Ok(_) => args.timeout = Some(time),
            Err(problem) => note(&problem.to_string()),
        }
    }
    while args.scope.is_none() {
        let default = scope(args);
        let word = if default == args::Scope::Global { "global" } else { "workspace" };
        args.scope = match line(&format!("File, global or workspace [{word}]: ")).await?.as_str() {
            "" => Some(default),
            "global" => Some(args::Scope::Global),
            "workspace" => Some(args::Scope::Workspace),
            _ => None,
        };
    }
    Ok(())
}

async fn several(values: &mut Vec<String>, question: &str, check: impl Fn(&[String]) -> Result<(), Stop>) -> Result<(), Stop> {
    loop {
        let value = line(question).await?;
        if value.is_empty() {
            return Ok(());
        }
        values.push(value);
        if let Err(problem) = check(values) {
            note(&problem.to_string());
            values.pop();
        }
    }
}

async fn line(question: &str) -> Result<String, Stop> {
    terminal::ask(question.to_owned()).await.ok_or_else(|| Stop::failed("The input ended; nothing was written."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, Mcp};
    use clap::Parser;

    fn written(line: &[&str]) -> Result<String, String> {
        let Some(Command::Mcp(Mcp::Add(args))) = Cli::parse_from(["mework", "mcp", "add"].iter().chain(line)).command else {
            panic!()
        };
        entry(&args).map(|entry| Value::Object(entry).to_string()).map_err(|stop| stop.to_string())
    }

    #[test]
    fn an_entry_is_written_as_the_flags_say() {
        for (line, expected) in [
            (vec!["a", "--", "npx", "-y", "pkg"], r#"{"command":"npx","args":["-y","pkg"]}"#),
            (vec!["a", "-e", "A=1=2", "-e", "B=", "--", "x"], r#"{"command":"x","env":{"A":"1=2","B":""}}"#),
            (vec!["a", "https://h/mcp"], r#"{"type":"http","url":"https://h/mcp"}"#),
            (
                vec!["--transport", "http", "-H", "Authorization: Bearer ${T}", "a", "http://localhost:1/mcp"],
                r#"{"type":"http","url":"http://localhost:1/mcp","headers":{"Authorization":"Bearer ${T}"}}"#,
            ),
            (vec!["--timeout", "2m", "a", "--", "x"], r#"{"command":"x","timeoutSeconds":120}"#),
            (vec!["--timeout", "1500", "a", "--", "x"], r#"{"command":"x","timeout":1500}"#),
            (vec!["--timeout", "30000ms", "a", "--", "x"], r#"{"command":"x","timeoutSeconds":30}"#),
        ] {
            assert_eq!(written(&line).as_deref(), Ok(expected), "{line:?}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_said_without_the_value() {
        for (line, expected) in [
            (vec!["a"], "A stdio server needs its command after --, for example: mework mcp add NAME -- npx -y some-package."),
            (vec!["a", "-e", "SECRET", "--", "x"], "A value of -e is not KEY=VALUE."),
            (vec!["a", "-e", "A=1", "-e", "A=2", "--", "x"], "A is given twice with -e."),
            (vec!["a", "-H", "A: b", "--", "x"], "Headers are for http servers. A stdio server takes variables: -e KEY=VALUE."),
            (
                vec!["--transport", "http", "a"],
                "An http server needs its URL, and nothing after it: mework mcp add NAME https://host/mcp.",
            ),
        ] {
            assert_eq!(written(&line), Err(expected.into()), "{line:?}");
        }
        for time in ["", "0", "999", "1h", "-5", "99999999999999999999", "5.5s"] {
            assert!(milliseconds(time).is_err(), "{time}");
        }
    }
}
