//! The words for a server that could not be found, started, reached or listed: what happened, and what to do. Everything
//! a server said goes through the scrubber and is made safe to show; nothing here decides what happens next.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::framer::Ended;
use super::http::Fault;
use super::wire::Wire;
use super::{Era, Failure, Stage};
use crate::config::resolve::StartProblem;
use crate::limits;
use crate::machine::Machine;
use crate::machine::environment::{Environment, is_refused};
use crate::machine::process::{Exit, Exits, ResolveError, SpawnError, Stderr};
use crate::machine::resolve::interpreter_problem;
use crate::text::{Scrubber, cut};

/// How many of the last lines of stderr are searched for a variable's name.
const SEARCHED_LINES: usize = 200;
/// Shown of the protocol versions that a server speaks, and of each.
const SHOWN_VERSIONS: usize = 8;
const VERSION_BYTES: usize = 40;

/// What was started, for as long as something about it may have to be said.
#[derive(Debug)]
pub(super) struct Started {
    pub program: PathBuf,
    pub env: Environment,
    pub machine: Machine,
    pub scrubber: Scrubber,
}

/// What a server left behind when it failed.
#[derive(Debug, Default)]
pub(super) struct Traces {
    pub exit: Option<Exit>,
    /// The last lines of stderr, as they came.
    pub stderr: Vec<String>,
    /// Lines on stdout that were no message, and the first few, safe to show.
    pub noise: (usize, Vec<String>),
}

/// Why a handshake did not come to an end.
#[derive(Debug)]
pub(super) enum HandshakeEnd {
    /// The server answered with an error.
    Refused(String),
    /// The process ended.
    Exited,
    /// Nothing came in this time.
    Silent(Duration),
    /// What came was no handshake, and what is wrong with it, if that can be said.
    Malformed(Option<String>),
    /// The protocol versions it speaks, none of which is known.
    WrongVersion(Vec<String>),
    /// The stream ended, or broke a bound.
    Ended(Ended),
}

impl Failure {
    pub(super) fn plain(stage: Stage, message: impl Into<String>) -> Self {
        Self { stage, message: message.into(), exit_code: None, stderr: Vec::new(), stdout_noise: 0, stdout_sample: Vec::new() }
    }

    pub(super) fn of_config(problem: &StartProblem) -> Self {
        Self::plain(Stage::Config, problem.to_string())
    }

    pub(super) fn of_program(error: &ResolveError, command: &str, scrubber: &Scrubber) -> Self {
        let split = split_advice(command);
        let message = match error {
            ResolveError::NotOnPath { .. } | ResolveError::NoSuchFile { .. } if split.is_some() => {
                format!("`{command}` was not found. {}", split.unwrap_or_default())
            }
            ResolveError::NotOnPath { command, path } if path.is_empty() => {
                format!(
                    "`{command}` was not found: the server's PATH holds no absolute folder to search. Write its absolute path as `command`."
                )
            }
            ResolveError::NotOnPath { command, path } => {
                let searched: Vec<String> = path.iter().map(|folder| folder.display().to_string()).collect();
                format!(
                    "`{command}` was not found. The server's PATH was searched: {}. Install it, or write its absolute path as `command`.",
                    searched.join(", ")
                )
            }
            ResolveError::NoSuchFile { path } => {
                format!("{} does not exist. Check `command` in the entry.", path.display())
            }
            ResolveError::NotExecutable { path } => format!(
                "Permission denied: {} is not a file that may be executed. Make it executable (`chmod +x`), or start it with its \
                 interpreter as `command`.",
                path.display()
            ),
        };
        Self::plain(Stage::Program, scrubber.show(&message))
    }

    pub(super) fn of_spawn(error: &SpawnError, scrubber: &Scrubber) -> Self {
        let message = match error {
            SpawnError::Exec { program, source, hint } => {
                let what = format!("{} could not be started: {source}.", program.display());
                match hint {
                    Some(hint) => format!("{what} {hint}"),
                    None if source.kind() == std::io::ErrorKind::PermissionDenied => {
                        format!("{what} Make it executable (`chmod +x`), or start it with its interpreter as `command`.")
                    }
                    None => what,
                }
            }
            other => format!("The server was not started: {other}."),
        };
        Self::plain(Stage::Start, scrubber.show(&message))
    }

    pub(super) fn of_handshake(end: &HandshakeEnd, era: Era, started: &Started, traces: Traces) -> Self {
        let asked = asked(era);
        let (noise, sample) = (&traces.noise.0, traces.noise.1.first().map(String::as_str).unwrap_or_default());
        let not_mcp = format!(
            "It wrote {} to stdout that {} no MCP message, such as `{}`. Is this an MCP server, and are these the arguments that start it as one?",
            count(*noise, "line", "lines"),
            if *noise == 1 { "is" } else { "are" },
            cut(sample, 120),
        );
        let message = match end {
            HandshakeEnd::Refused(_) | HandshakeEnd::Malformed(_) | HandshakeEnd::WrongVersion(_) => answered(end, asked),
            HandshakeEnd::Exited => {
                let mut message = format!("It {} before it answered.", how(traces.exit));
                if *noise > 0 {
                    message += &format!(" {not_mcp}");
                } else if traces.stderr.is_empty() {
                    message +=
                        " It wrote nothing to stdout or stderr. Start the same command in a terminal to see what it needs.";
                }
                message
            }
            HandshakeEnd::Silent(limit) => {
                let mut message = format!("It did not answer `{asked}` within {} s.", limit.as_secs_f64().ceil());
                message += &if *noise > 0 {
                    format!(" {not_mcp}")
                } else {
                    " It is running but wrote nothing to stdout: it hangs, waits for something, or is no MCP server.".into()
                };
                message
            }
            HandshakeEnd::Ended(Ended::Closed) => {
                format!("It closed its stdout before it answered `{asked}`, and went on running.")
            }
            HandshakeEnd::Ended(ended) if *noise > 0 => format!("{ended} {not_mcp}"),
            HandshakeEnd::Ended(ended) => ended.to_string(),
        };
        Self::with_traces(Stage::Handshake, message, started, traces)
    }

    /// An HTTP server that could not be reached, or did not take a greeting.
    pub(super) fn of_http(end: &HandshakeEnd, era: Era, scrubber: &Scrubber) -> Self {
        let asked = asked(era);
        let (stage, message) = match end {
            HandshakeEnd::Ended(Ended::Http(fault @ Fault::Network(_))) => (Stage::Start, fault.to_string()),
            HandshakeEnd::Ended(Ended::Closed) | HandshakeEnd::Exited => {
                (Stage::Handshake, "The connection ended before it answered.".into())
            }
            HandshakeEnd::Ended(ended) => (Stage::Handshake, ended.to_string()),
            HandshakeEnd::Silent(limit) => {
                let seconds = limit.as_secs_f64().ceil();
                let message = format!("It did not answer `{asked}` within {seconds} s. It hangs, or is no MCP server.");
                (Stage::Handshake, message)
            }
            HandshakeEnd::Refused(_) | HandshakeEnd::Malformed(_) | HandshakeEnd::WrongVersion(_) => {
                (Stage::Handshake, answered(end, asked))
            }
        };
        Self::plain(stage, scrubber.show(&message))
    }

    pub(super) fn with_traces(stage: Stage, mut message: String, started: &Started, traces: Traces) -> Self {
        if matches!(traces.exit, Some(Exit::Code(126 | 127)))
            && let Some(problem) = interpreter_problem(&started.program, &started.env)
        {
            message += &format!(" {problem}");
        }
        message += &missing_variables(&traces, started);
        let tail = traces.stderr.len().saturating_sub(limits::STDERR_TAIL_LINES);
        Self {
            stage,
            message: started.scrubber.show(&message),
            exit_code: match traces.exit {
                Some(Exit::Code(code)) => Some(code),
                Some(Exit::Signal(_) | Exit::Unknown) | None => None,
            },
            stderr: traces.stderr[tail..].iter().map(|line| started.scrubber.show_cut(line, usize::MAX)).collect(),
            stdout_noise: traces.noise.0,
            stdout_sample: traces.noise.1,
        }
    }
}

/// The words for a connection that worked once and broke.
pub(super) fn broken(ended: Option<Ended>, exit: Option<Exit>) -> String {
    match (ended, exit) {
        (Some(ended), None) => ended.to_string(),
        (Some(ended), Some(_)) if !matches!(ended, Ended::Closed | Ended::Unwritable) => ended.to_string(),
        (_, Some(exit)) => format!("The server {}.", how(Some(exit))),
        // Neither the server nor the stream ended: it was us.
        (None, None) => "Mework ended the server while this ran: it was unticked, or its entry was taken out of its file.".into(),
    }
}

/// What is asked of a server first, in the protocol's words.
pub(super) fn asked(era: Era) -> &'static str {
    match era {
        Era::Initialize => "initialize",
        Era::Discover => "server/discover",
    }
}

/// What a server's answer to a greeting was, if it was none to go on with.
fn answered(end: &HandshakeEnd, asked: &str) -> String {
    match end {
        HandshakeEnd::Refused(words) => format!("It refused to begin. Its answer to `{asked}` was: {words}"),
        HandshakeEnd::WrongVersion(theirs) => wrong_version(theirs),
        HandshakeEnd::Malformed(Some(why)) => format!("What it answered to `{asked}` is no answer to it: {why}."),
        HandshakeEnd::Malformed(None) | HandshakeEnd::Exited | HandshakeEnd::Silent(_) | HandshakeEnd::Ended(_) => {
            format!("What it answered to `{asked}` is no answer to it.")
        }
    }
}

pub(super) fn wrong_version(theirs: &[String]) -> String {
    let mut shown: Vec<&str> = theirs.iter().take(SHOWN_VERSIONS).map(|version| cut(version, VERSION_BYTES)).collect();
    let more = format!("{} more", theirs.len().saturating_sub(SHOWN_VERSIONS));
    if theirs.len() > SHOWN_VERSIONS {
        shown.push(&more);
    }
    format!(
        "It speaks {} of the protocol, and Mework knows {}. Update the server or Mework.",
        if shown.is_empty() { "no version".into() } else { format!("version {}", shown.join(", ")) },
        known_versions().join(", ")
    )
}

/// What can be seen of a server by now.
pub(super) fn traces(exits: &Exits, stderr: &Stderr, wire: &Wire) -> Traces {
    Traces { exit: exits.now(), stderr: stderr.tail(SEARCHED_LINES), noise: wire.noise.seen() }
}

pub(super) fn known_versions() -> Vec<&'static str> {
    rmcp::model::ProtocolVersion::KNOWN_VERSIONS.iter().map(rmcp::model::ProtocolVersion::as_str).collect()
}

fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

fn how(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("exited with code {code}"),
        Some(Exit::Signal(signal)) => format!("was ended by signal {}", signal_name(signal)),
        Some(Exit::Unknown) | None => "ended".into(),
    }
}

fn signal_name(signal: i32) -> String {
    #[cfg(unix)]
    if let Ok(known) = nix::sys::signal::Signal::try_from(signal) {
        return format!("{signal} ({})", known.as_str());
    }
    signal.to_string()
}

/// For a whole command line written as `command` (complaint 11).
fn split_advice(command: &str) -> Option<String> {
    let words = shell_words::split(command).ok().filter(|words| words.len() > 1)?;
    let (program, args) = words.split_first()?;
    Some(format!(
        "The entry gives a whole command line as one word. Split it: \"command\": {}, \"args\": {}.",
        serde_json::to_string(program).ok()?,
        serde_json::to_string(args).ok()?.replace("\",\"", "\", \"")
    ))
}

/// The advice about variables that the server's last words name, that the machine has, and that the server did not get (B11).
fn missing_variables(traces: &Traces, started: &Started) -> String {
    let lines = traces.stderr.iter().rev().take(SEARCHED_LINES).chain(&traces.noise.1);
    let missing: BTreeSet<&str> = lines
        .flat_map(|line| names(line))
        .filter(|name| started.machine.environment().get(name).is_some() && started.env.get(name).is_none())
        // Ours are nobody else's business.
        .filter(|name| !name.starts_with("MEWORK_"))
        .take(5)
        .collect();
    let (refused, passable): (Vec<&str>, Vec<&str>) = missing.into_iter().partition(|name| is_refused(name));
    let mut advice = String::new();
    for (missing, refused) in [(passable, false), (refused, true)] {
        let Some(first) = missing.first() else { continue };
        let (are, them) = if missing.len() == 1 { ("is", "it") } else { ("are", "them") };
        let what_to_do = if refused {
            format!("`envPassthrough` does not take {them}; set {them} in `env`, as in `\"{first}\": \"${{{first}}}\"`.")
        } else {
            format!("Name {them} in `envPassthrough`, or set {them} in `env`.")
        };
        advice += &format!(
            " Its words mention {}, which {are} set on this machine but not passed to the server. {what_to_do}",
            missing.join(", ")
        );
    }
    advice
}

/// The words of a line that may be variables' names. One with a value behind it, as in "run with `RUST_BACKTRACE=1`", is what
/// may be set to see more, not what is missing.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = line;
    let words = std::iter::from_fn(move || {
        rest = &rest[rest.find(is_part)?..];
        let (word, after) = rest.split_at(rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()));
        rest = after;
        Some((word, after))
    });
    words.filter_map(move |(word, after)| {
        let has_value = after.strip_prefix('=').is_some_and(|value| value.starts_with(is_part));
        let is_name = word.len() > 2 && (word.contains('_') || word.bytes().all(|b| b.is_ascii_uppercase()));
        (is_name && !has_value).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Surroundings;

    fn advice(stderr: &str) -> String {
        let set = ["RUST_BACKTRACE", "GITHUB_TOKEN", "GITLAB_TOKEN", "OPENAI_API_KEY", "MEWORK_HOME", "NODE_ENV", "PATH"];
        let machine = Machine::local(Surroundings {
            home: "/h".into(),
            data: "/d".into(),
            environment: set.map(|name| (name, "x")).into_iter().collect(),
            supervisor: Vec::new(),
        });
        let env = [("PATH", "x")].into_iter().collect();
        let started = Started { program: "/p".into(), env, machine, scrubber: Scrubber::default() };
        missing_variables(&Traces { stderr: stderr.lines().map(Into::into).collect(), ..Traces::default() }, &started)
    }

    #[test]
    fn b11_a_variable_that_was_not_passed_is_named_with_what_to_do() {
        assert_eq!(
            advice("GITHUB_TOKEN and PATH and SOME_OTHER_KEY are required"),
            " Its words mention GITHUB_TOKEN, which is set on this machine but not passed to the server. Name it in \
             `envPassthrough`, or set it in `env`."
        );
        assert!(advice("set $GITHUB_TOKEN, or\n`GITLAB_TOKEN=<token>`").contains("GITHUB_TOKEN, GITLAB_TOKEN, which are set"));
        // It would make the entry unavailable.
        assert_eq!(
            advice("OpenAIError: The OPENAI_API_KEY environment variable is missing"),
            " Its words mention OPENAI_API_KEY, which is set on this machine but not passed to the server. `envPassthrough` does \
             not take it; set it in `env`, as in `\"OPENAI_API_KEY\": \"${OPENAI_API_KEY}\"`."
        );
        assert_eq!(advice("GITHUB_TOKEN OPENAI_API_KEY").matches("Its words mention").count(), 2);
    }

    #[test]
    fn row_23_however_many_versions_a_server_lists_few_are_shown() {
        let speaks = |versions: &[String]| wrong_version(versions).split(" of the protocol").next().unwrap().to_owned();
        assert_eq!(speaks(&[]), "It speaks no version");
        assert_eq!(speaks(&["1".into(), "2".into()]), "It speaks version 1, 2");
        let many: Vec<String> = (1..=100_000).map(|n| n.to_string()).collect();
        assert_eq!(speaks(&many), "It speaks version 1, 2, 3, 4, 5, 6, 7, 8, 99992 more");
        assert_eq!(speaks(&["v".repeat(9000)]), format!("It speaks version {}", "v".repeat(40)));
    }

    #[test]
    fn what_a_program_proposes_to_set_is_not_missing() {
        for words in [
            "thread 'main' panicked at src/main.rs:1:2:\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
            "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.",
            "NODE_ENV=production",
            "MEWORK_HOME is not set",
            "",
            "=",
        ] {
            assert_eq!(advice(words), "", "{words}");
        }
    }
}
