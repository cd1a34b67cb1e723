//! One entry: what was written becomes what it means, or every reason why it cannot be used (B3–B6, B8, B10, B11).
//! It uses no variable's value, resolves no name and starts nothing: whether a variable is set is all it asks (row 2).
//! Checks that need values run in `resolve`.

mod misspelt;
mod written;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Number;

use self::written::{Field, Findings, Written, find_twice, read, under};
use super::digest;
use super::expand;
use super::json::{Json, quoted};
use super::url::{UrlProblem, check_url, shown_url};
use super::{HttpLaunch, Launch, Level, Scope, Server, ServerEntry, ServerId, StdioLaunch, Transport, Unavailable};
use crate::limits;
use crate::machine::environment;
use crate::text::display_line;

/// More failed checks than this are counted, not listed.
const REASONS: usize = 50;
/// More variables that are not set than this are counted, not named.
const UNSET_NAMES: usize = 20;
/// A longer summary is cut.
const SUMMARY_CHARS: usize = 500;

/// Headers that HTTP or MCP manages (B6).
const RESERVED_HEADERS: [&str; 15] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "accept",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "last-event-id",
    "te",
    "upgrade",
    "trailer",
    "keep-alive",
];

/// What an entry means apart from where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    pub launch: Launch,
    pub call_timeout: Duration,
    pub description: Option<String>,
    pub hidden_tools: Vec<String>,
    pub always_ask: Vec<String>,
}

/// Everything that can be said about an entry without a machine.
struct Judged {
    findings: Findings,
    transport: Option<Transport>,
    meaning: Option<Meaning>,
    description: Option<String>,
    /// Of what has no meaning; that of a meaning is its launch's.
    summary: String,
    cwd: Option<String>,
}

/// A server's name (B3).
pub fn check_name(name: &str) -> Result<(), &'static str> {
    let fits = (1..=limits::SERVER_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !fits {
        return Err("The name may hold only letters A–Z and a–z, digits, `-` and `_`, 1 to 128 of them.");
    }
    if ["__proto__", "constructor", "prototype"].contains(&name) {
        return Err("The name is reserved and cannot be used. Choose another one.");
    }
    Ok(())
}

/// Checks one entry of a level's file. `twice`: another entry has the same name.
pub async fn check(level: &Level, file: &Path, name: &str, json: &Json, twice: bool) -> ServerEntry {
    let id = ServerId {
        source: super::Source::Native,
        machine: level.machine.id(),
        file: file.to_path_buf(),
        place: None,
        name: name.to_string(),
    };
    let mut first = Vec::new();
    if twice {
        first.push(format!("{} is declared twice in this file, so neither is used. Rename or remove one.", quoted(name)));
    }
    if let Err(reason) = check_name(name) {
        first.push(reason.into());
    }
    let Judged { mut findings, transport, meaning, description, summary, cwd } =
        judge(&level.scope, json, |variable| level.machine.environment().get(variable).is_some());
    findings.reasons.splice(0..0, first);
    if let Some(cwd) = cwd {
        let path = Path::new(&cwd);
        if !path.is_absolute() {
            findings.reason(if expand::is_literal(&cwd) {
                "`cwd` must be an absolute path."
            } else {
                "`cwd` must be an absolute path; variables are not replaced in it."
            });
        } else if cwd.contains('\0') || !level.machine.is_dir(path).await {
            findings.reason(if expand::is_literal(&cwd) {
                "`cwd` is not an existing folder."
            } else {
                "`cwd` is not an existing folder; variables are not replaced in it."
            });
        }
    }
    if findings.reasons.len() > REASONS {
        let more = findings.reasons.len() - REASONS;
        findings.reasons.truncate(REASONS);
        findings.reason(format!("… and {more} more."));
    }
    let Findings { reasons, notes } = findings;
    match meaning {
        Some(meaning) if reasons.is_empty() => {
            let canonical = digest::canonical(&meaning);
            let digest = digest::digest(&id, &canonical);
            // Most entries have nothing else, and what is left out of nothing is nothing.
            let connection_digest = if digest::is_connection_alone(&meaning) {
                digest.clone()
            } else {
                digest::digest(&id, &digest::canonical_connection(&meaning))
            };
            let Meaning { launch, call_timeout, description, hidden_tools, always_ask } = meaning;
            let machine = level.machine.clone();
            ServerEntry::Ready(Server {
                id,
                machine,
                launch,
                call_timeout,
                description,
                hidden_tools,
                always_ask,
                notes,
                digest,
                connection_digest,
                canonical,
            })
        }
        meaning => {
            let summary = meaning.map_or(summary, |meaning| meaning.launch.summary());
            ServerEntry::Unavailable(Unavailable { id, reasons, notes, transport, description, summary })
        }
    }
}

/// What a canonical entry means (the text a digest was made of); nothing when it is no such text.
pub fn meaning_of_canonical(canonical: &str) -> Option<Meaning> {
    let json = super::json::parse(canonical.as_bytes()).ok()?;
    // The global rules read every key; a canonical entry holds only those that act.
    judge(&Scope::Global, &json, |_| true).meaning
}

fn judge(scope: &Scope, json: &Json, is_set: impl Fn(&str) -> bool) -> Judged {
    let mut f = Findings::default();
    let Json::Object(members) = json else {
        f.reason(format!("The entry must be an object, {{ … }}; it is {}.", json.kind()));
        return Judged { findings: f, transport: None, meaning: None, description: None, summary: String::new(), cwd: None };
    };
    find_twice(members, &mut String::new(), &mut f);
    // Every key that is known is read and checked for its type; every other one is ignored, with a note if it is nearly known.
    let Written {
        kind,
        command,
        args,
        env,
        env_passthrough,
        cwd,
        workspace,
        registry_url,
        url,
        headers,
        timeout_seconds,
        timeout,
        long_running,
        description,
        disabled_tools,
        disabled_auto_approve_tools,
        oauth,
        headers_helper,
    } = read(members, &mut f);

    let transport = transport(&kind, &command, &url, &mut f);
    if oauth {
        f.reason("`oauth` is not supported: Mework runs no sign-in flows. Put a token in `headers` and remove `oauth`.");
    }
    if headers_helper {
        f.reason(
            "`headersHelper` is not supported: Mework runs no header scripts. Put a token in `headers` and remove `headersHelper`.",
        );
    }
    let call_timeout = call_timeout(timeout_seconds, timeout, long_running, &mut f);
    let description = description.ok().filter(|d| !d.trim().is_empty());

    let launch = match transport {
        Some(Transport::Stdio) => {
            if command.as_ref().is_some_and(|c| c.trim().is_empty()) {
                f.reason("`command` is empty: it must name the program to start.");
            }
            let launch = StdioLaunch {
                command: command.as_ref().cloned().unwrap_or_default(),
                args: args.as_ref().cloned().unwrap_or_default(),
                env: env.ok().unwrap_or_default(),
                env_passthrough: env_passthrough.ok().unwrap_or_default(),
                cwd: cwd.as_ref().map(PathBuf::from),
                workspace: match (scope, workspace.ok()) {
                    (Scope::Global, declared) => declared.unwrap_or(false),
                    (Scope::Workspace(_), Some(true)) => {
                        f.note("`workspace` is read only in the global file; it is ignored here.");
                        false
                    }
                    (Scope::Workspace(_), _) => false,
                },
                registry_url: registry_url.ok(),
            };
            check_stdio(&launch, &mut f);
            Some(Launch::Stdio(launch))
        }
        Some(Transport::Http) => {
            // An address with variables is checked when the server starts.
            if let Some(url) = url.as_ref()
                && expand::is_literal(url)
                && let Err(problem) = check_url(url)
            {
                f.reason(url_reason("url", &problem));
            }
            let launch = HttpLaunch { url: url.as_ref().cloned().unwrap_or_default(), headers: headers.ok().unwrap_or_default() };
            header_reasons(&launch.headers, expand::is_literal).into_iter().for_each(|reason| f.reason(reason));
            Some(Launch::Http(launch))
        }
        None => None,
    };

    let expanded = launch.as_ref().map(expanded).unwrap_or_default();
    let unset: BTreeSet<&str> = expanded
        .iter()
        .flat_map(|(_, text)| expand::variables(text))
        .filter(|(name, has_default)| !has_default && !is_set(name))
        .map(|(name, _)| name)
        .collect();
    if !unset.is_empty() {
        let (verb, them) = if unset.len() == 1 { ("is", "it") } else { ("are", "them") };
        let more = unset.len().saturating_sub(UNSET_NAMES);
        let mut names: Vec<String> = unset.into_iter().take(UNSET_NAMES).map(quoted).collect();
        if more > 0 {
            names.push(format!("… and {more} more"));
        }
        f.reason(format!(
            "{} {verb} not set in Mework's environment. Set {them} and restart Mework, or give a default: ${{NAME:-default}}.",
            names.join(", "),
        ));
    }
    for (place, text) in &expanded {
        if expand::has_foreign_syntax(text) {
            f.note(format!(
                "{place} holds a variable in a syntax Mework does not know; it is used as it stands. Write ${{NAME}}."
            ));
        }
    }

    let cwd = if transport == Some(Transport::Stdio) { cwd.ok() } else { None };
    let meaning = launch.map(|launch| Meaning {
        launch,
        call_timeout,
        description: description.clone(),
        hidden_tools: disabled_tools.ok().unwrap_or_default(),
        always_ask: disabled_auto_approve_tools.ok().unwrap_or_default(),
    });
    let meaning = if f.reasons.is_empty() { meaning } else { None };
    let summary = match &meaning {
        Some(_) => String::new(),
        None => summary(transport, command.as_ref(), args.as_ref(), url.as_ref()),
    };
    Judged { findings: f, transport, meaning, description, summary, cwd }
}

/// Where in an entry a text stands, as messages say it.
enum Place<'a> {
    Key(&'static str),
    Argument(usize),
    Under(&'static str, &'a str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "`{key}`"),
            Self::Argument(index) => write!(f, "`args[{index}]`"),
            Self::Under(key, name) => f.write_str(&under(key, name)),
        }
    }
}

/// Every text of an entry in which variables are replaced.
fn expanded(launch: &Launch) -> Vec<(Place<'_>, &str)> {
    match launch {
        Launch::Stdio(StdioLaunch { command, args, env, env_passthrough: _, cwd: _, workspace: _, registry_url: _ }) => {
            let args = args.iter().enumerate().map(|(index, text)| (Place::Argument(index), text.as_str()));
            let env = env.iter().map(|(name, text)| (Place::Under("env", name), text.as_str()));
            std::iter::once((Place::Key("command"), command.as_str())).chain(args).chain(env).collect()
        }
        Launch::Http(HttpLaunch { url, headers }) => {
            let headers = headers.iter().map(|(name, text)| (Place::Under("headers", name), text.as_str()));
            std::iter::once((Place::Key("url"), url.as_str())).chain(headers).collect()
        }
    }
}

fn transport(kind: &Field<String>, command: &Field<String>, url: &Field<String>, f: &mut Findings) -> Option<Transport> {
    match kind {
        Field::Is(kind) => match kind.as_str() {
            "stdio" => {
                if !command.is_present() {
                    f.reason("`command` is missing: a stdio server needs the program to start.");
                }
                Some(Transport::Stdio)
            }
            "http" | "streamable-http" | "streamable_http" => {
                if !url.is_present() {
                    f.reason("`url` is missing: an http server needs its address.");
                }
                Some(Transport::Http)
            }
            "sse" => {
                f.reason("`type` is \"sse\", which is not supported. If the server also speaks Streamable HTTP, use \"type\": \"http\".");
                None
            }
            "ws" | "sdk" => {
                f.reason(format!("`type` is \"{kind}\", which is not supported. Use \"stdio\" or \"http\"."));
                None
            }
            _ => {
                f.reason("`type` is unknown. Use \"stdio\" or \"http\".");
                None
            }
        },
        Field::Wrong => None,
        Field::Absent if command.is_present() => Some(Transport::Stdio),
        Field::Absent if url.is_present() => {
            f.reason("`url` needs a type: add \"type\": \"http\".");
            Some(Transport::Http)
        }
        Field::Absent => {
            f.reason("The entry has neither `command` nor `url`, so there is nothing to start or reach.");
            None
        }
    }
}

fn check_stdio(launch: &StdioLaunch, f: &mut Findings) {
    let StdioLaunch { command, args, env, env_passthrough, cwd: _, workspace: _, registry_url } = launch;
    if args.len() > limits::ARGS {
        f.reason(format!("`args` holds {} arguments; at most {} are allowed.", args.len(), limits::ARGS));
    }
    if env.len() > limits::ENV_VARIABLES {
        f.reason(format!("`env` holds {} variables; at most {} are allowed.", env.len(), limits::ENV_VARIABLES));
    }
    if command.contains('\0') {
        f.reason("`command` holds a NUL character, which no program can be given.");
    }
    if let Some(index) = args.iter().position(|a| a.contains('\0')) {
        f.reason(format!("`args[{index}]` holds a NUL character, which no program can be given."));
    }
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            f.reason(format!("{} is no variable's name: it may not be empty nor hold `=`.", under("env", name)));
        }
        if value.contains('\0') {
            f.reason(format!("{} holds a NUL character, which no program can be given.", under("env", name)));
        }
    }
    for name in env_passthrough {
        if let Some(reason) = passthrough_problem(name) {
            f.reason(format!("`envPassthrough` {reason}"));
        }
    }
    if let Some(url) = registry_url {
        match check_url(url) {
            Ok(_) if super::resolve::registry_variables(command).is_empty() && expand::is_literal(command) => f.note(
                "`registryUrl` has no effect: the command is none of npx, npm, bun, bunx, pnpm, yarn, uv, uvx, pip, pipx, python, python3.",
            ),
            Ok(_) => {}
            Err(problem) => f.reason(url_reason("registryUrl", &problem)),
        }
    }
    if let Some(hint) = split_hint(command) {
        f.note(hint);
    }
}

/// Why a name may not stand in `envPassthrough` (B11).
fn passthrough_problem(name: &str) -> Option<String> {
    if environment::is_refused(name) {
        return Some(format!(
            "refuses {}, which may hold a credential. To hand it on on purpose, write it in `env`: \"NAME\": \"${{NAME}}\".",
            quoted(name)
        ));
    }
    if !expand::is_variable_name(name) {
        return Some(format!(
            "holds {}, which is no variable's name: letters, digits and `_` only, no digit first.",
            quoted(name)
        ));
    }
    None
}

pub(super) fn url_reason(key: &str, problem: &UrlProblem) -> String {
    format!("`{key}` cannot be used: {problem}.")
}

/// What is wrong with headers (B6, row 34); values that `checkable` turns down are left for later.
pub(super) fn header_reasons(headers: &IndexMap<String, String>, checkable: impl Fn(&str) -> bool) -> Vec<String> {
    let mut reasons = Vec::new();
    if headers.len() > limits::HEADERS {
        reasons.push(format!("`headers` holds {} headers; at most {} are allowed.", headers.len(), limits::HEADERS));
    }
    let bytes: usize = headers.iter().map(|(k, v)| k.len() + v.len()).sum();
    if bytes > limits::HEADERS_BYTES {
        reasons.push(format!("`headers` holds {bytes} bytes; at most {} are allowed.", limits::HEADERS_BYTES));
    }
    for (name, value) in headers {
        if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            reasons.push(format!("{} cannot be set: HTTP or MCP manages this header.", under("headers", name)));
        } else if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            reasons.push(format!("{} is no name HTTP allows for a header.", under("headers", name)));
        }
        if checkable(value) && http::HeaderValue::from_str(value).is_err() {
            reasons.push(format!(
                "{} holds characters HTTP does not allow in a header (a line break, perhaps).",
                under("headers", name)
            ));
        }
    }
    reasons
}

/// B8.
fn call_timeout(seconds: Field<Number>, millis: Field<Number>, long_running: Field<bool>, f: &mut Findings) -> Duration {
    let default = if long_running.ok() == Some(true) { limits::CALL_TIMEOUT_MAX } else { limits::CALL_TIMEOUT };
    let mut whole = |key: &str, unit: &str, field: Field<Number>| {
        let number = field.ok()?;
        let value = whole_number(&number);
        if value.is_none() {
            f.reason(format!("`{key}` must be a whole number of {unit}, 0 or more."));
        }
        value
    };
    let seconds = whole("timeoutSeconds", "seconds", seconds).filter(|&s| s > 0);
    let millis = whole("timeout", "milliseconds", millis).filter(|&ms| ms >= 1000);
    let (key, wanted) = match (seconds, millis) {
        (Some(seconds), _) => ("timeoutSeconds", seconds),
        (None, Some(millis)) => ("timeout", millis.div_ceil(1000)),
        (None, None) => return default,
    };
    let max = limits::CALL_TIMEOUT_MAX.as_secs();
    if wanted > max {
        f.note(format!("`{key}` is more than {max} seconds; {max} are used."));
    }
    Duration::from_secs(wanted.min(max))
}

/// A number that is whole and not negative by value: `45`, `45.0`, `1e3`.
fn whole_number(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let value = number.as_f64()?;
        // The conversion saturates, which is what a limit that clamps needs.
        (value >= 0.0 && value.fract() == 0.0).then_some(value as u64)
    })
}

/// What to do about a command that is a whole command line in one string, such as `npx -y pkg`; nothing when it
/// looks like a program's name or path. For listings, and for the message when such a program was not found.
pub fn split_hint(command: &str) -> Option<String> {
    // A backslash is a Windows path's separator more often than a shell's escape.
    let words = if command.contains('\\') {
        command.split_whitespace().map(String::from).collect()
    } else {
        shell_words::split(command).ok()?
    };
    let (program, rest) = words.split_first()?;
    let path_with_blanks = program.contains(['/', '\\']) && !rest.iter().any(|word| word.starts_with('-'));
    if rest.is_empty() || path_with_blanks {
        return None;
    }
    // JSON leaves characters as they are that act on a screen.
    let text = |s: &str| display_line(&serde_json::Value::from(without_secrets(s)).to_string());
    let args: Vec<String> = rest.iter().map(|word| text(word)).collect();
    Some(format!(
        "`command` looks like a whole command line. Split it into command and args: \"command\": {}, \"args\": [{}].",
        text(program),
        args.join(", ")
    ))
}

/// A word of a command line, an address in it without user info and query (B4).
fn without_secrets(word: &str) -> String {
    if word.contains("://") { shown_url(word) } else { word.to_string() }
}

/// What a row shows beside the name: the command line or address as written (B4).
fn summary(transport: Option<Transport>, command: Option<&String>, args: Option<&Vec<String>>, url: Option<&String>) -> String {
    let shown = match (transport, command, url) {
        (Some(Transport::Stdio) | None, Some(command), _) => {
            let words = std::iter::once(command).chain(args.into_iter().flatten());
            words.map(|word| quote_word(&without_secrets(word))).collect::<Vec<_>>().join(" ")
        }
        (Some(Transport::Http) | None, _, Some(url)) => shown_url(url),
        _ => String::new(),
    };
    match shown.char_indices().nth(SUMMARY_CHARS) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}

impl Launch {
    fn summary(&self) -> String {
        match self {
            Self::Stdio(launch) => summary(Some(Transport::Stdio), Some(&launch.command), Some(&launch.args), None),
            Self::Http(launch) => summary(Some(Transport::Http), None, None, Some(&launch.url)),
        }
    }
}

impl Server {
    /// The command line or address as written, one line, without secrets (B4).
    pub fn summary(&self) -> String {
        self.launch.summary()
    }
    pub fn transport(&self) -> Transport {
        match self.launch {
            Launch::Stdio(_) => Transport::Stdio,
            Launch::Http(_) => Transport::Http,
        }
    }
}

/// Quotes only where blanks or quotes make it necessary, so that `${VAR}` stays readable.
fn quote_word(word: &str) -> String {
    let plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"' || c == '\'');
    if plain { word.to_string() } else { shell_words::quote(word).into_owned() }
}

#[cfg(test)]
mod tests;
