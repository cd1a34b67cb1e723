//! What a start really uses: variables replaced, the environment put together, checks that need values made (B9–B11,
//! rows 3, 14, 34). Called at the moment of starting only, with the entry whose digest was agreed to.
//!
//! It finds no program and connects to nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use ::url::Url;
use http::{HeaderName, HeaderValue};
use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use super::entry::{header_reasons, url_reason};
use super::url::{UrlProblem, check_url};
use super::{HttpLaunch, Launch, Resolved, Server, StdioLaunch, digest, expand};
use crate::machine::environment::Environment;

/// Why a ready entry cannot be started after all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartProblem {
    #[error("{} not set. Set what is missing and restart Mework, or give a default: ${{NAME:-default}}.", are(.names))]
    Unset { names: Vec<String> },
    #[error("The value of the variable {name} is not text, so it cannot be used.")]
    NotText { name: String },
    #[error("`command` is empty once its variables are replaced.")]
    EmptyCommand,
    #[error("`{place}` holds a NUL character once its variables are replaced, which no program can be given.")]
    Nul { place: String },
    #[error("The folder the server would run in, {path}, does not exist.")]
    NoFolder { path: PathBuf },
    #[error("{}", url_reason("url", .0))]
    Url(UrlProblem),
    #[error("{}", .0.join(" "))]
    Headers(Vec<String>),
    #[error("This server is reached by its address; it has no program to start.")]
    NotStdio,
    #[error("This server is a program to start; it has no address.")]
    NotHttp,
}

fn are(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

/// Shows names only: values may be secrets (row 16).
impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command: _, args, cwd, env, secrets: _, fingerprint } = self;
        f.debug_struct("Resolved")
            .field("args", &args.len())
            .field("cwd", cwd)
            .field("env", env)
            .field("fingerprint", fingerprint)
            .finish_non_exhaustive()
    }
}

/// Everything a connection to an HTTP server needs, expanded. Header values are marked sensitive.
pub struct ResolvedHttp {
    pub url: Url,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Values that must not be shown anywhere: every header's, and every expanded variable's (B45).
    pub secrets: Vec<String>,
    /// Changes with the entry and with any expanded value (B24).
    pub fingerprint: String,
}

/// Shows counts only: values may be secrets, and so may the address's query (row 16).
impl fmt::Debug for ResolvedHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url: _, headers, secrets: _, fingerprint } = self;
        f.debug_struct("ResolvedHttp").field("headers", &headers.len()).field("fingerprint", fingerprint).finish_non_exhaustive()
    }
}

/// Replaces variables and remembers what it used.
struct Expander<'a> {
    environment: &'a Environment,
    secrets: Vec<String>,
    unset: BTreeSet<String>,
    not_text: Option<String>,
}

impl<'a> Expander<'a> {
    fn new(environment: &'a Environment) -> Self {
        Self { environment, secrets: Vec::new(), unset: BTreeSet::new(), not_text: None }
    }
    fn expand(&mut self, text: &str) -> String {
        let Self { environment, secrets, unset, not_text } = self;
        let expanded = expand::expand(text, |name| {
            let value = environment.get(name)?;
            let Some(value) = value.to_str() else {
                not_text.get_or_insert_with(|| name.to_string());
                return Some(String::new());
            };
            if !value.is_empty() {
                secrets.push(value.to_string());
            }
            Some(value.to_string())
        });
        expanded.unwrap_or_else(|names| {
            unset.extend(names.into_iter().map(String::from));
            String::new()
        })
    }
    /// Every problem met so far, unset variables first: all of them, sorted.
    fn check(&self) -> Result<(), StartProblem> {
        if !self.unset.is_empty() {
            return Err(StartProblem::Unset { names: self.unset.iter().cloned().collect() });
        }
        match &self.not_text {
            Some(name) => Err(StartProblem::NotText { name: name.clone() }),
            None => Ok(()),
        }
    }
}

/// A command's base name, lower-cased, without `.exe`, `.cmd` and `.bat` (B10).
pub fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_ascii_lowercase();
    [".exe", ".cmd", ".bat"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name).to_string()
}

/// The variables that point a launcher at a package registry (B10); none when the command is no such launcher.
pub fn registry_variables(command: &str) -> &'static [&'static str] {
    match program_name(command).as_str() {
        "npx" | "npm" | "bun" | "bunx" | "pnpm" | "yarn" => &["npm_config_registry"],
        "uv" | "uvx" | "pip" | "pipx" | "python" | "python3" => &["UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"],
        _ => &[],
    }
}

/// Whether a variable's value is a secret by its name (B45).
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASS", "AUTH"].iter().any(|part| name.contains(part))
}

/// What a stdio server's start uses. `cwd_default`: where it runs when the entry names no folder.
pub async fn resolve(server: &Server, cwd_default: &Path) -> Result<Resolved, StartProblem> {
    let resolved = expanded(server, cwd_default)?;
    check_folder(server, &resolved).await?;
    Ok(resolved)
}

/// Whether there is a folder to start in. Asking the file system costs more than all the rest.
pub async fn check_folder(server: &Server, resolved: &Resolved) -> Result<(), StartProblem> {
    match server.machine.is_dir(&resolved.cwd).await {
        true => Ok(()),
        false => Err(StartProblem::NoFolder { path: resolved.cwd.clone() }),
    }
}

/// What [`resolve`] answers, without a look at the folder.
pub fn expanded(server: &Server, cwd_default: &Path) -> Result<Resolved, StartProblem> {
    let Launch::Stdio(launch) = &server.launch else { return Err(StartProblem::NotStdio) };
    let StdioLaunch { command, args, env, env_passthrough, cwd, workspace: _, registry_url } = launch;
    let machine = server.machine.environment();
    let mut expander = Expander::new(machine);
    let command = expander.expand(command);
    let args: Vec<String> = args.iter().map(|arg| expander.expand(arg)).collect();
    let env: IndexMap<&String, String> = env.iter().map(|(name, value)| (name, expander.expand(value))).collect();
    expander.check()?;
    if command.trim().is_empty() {
        return Err(StartProblem::EmptyCommand);
    }
    // No variable of a process can hold NUL, so this is a second line only.
    let mut placed = std::iter::once(("command".to_string(), &command))
        .chain(args.iter().enumerate().map(|(i, arg)| (format!("args[{i}]"), arg)))
        .chain(env.iter().map(|(name, value)| (format!("env.{name}"), value)));
    if let Some((place, _)) = placed.find(|(_, value)| value.contains('\0')) {
        return Err(StartProblem::Nul { place });
    }
    let cwd = cwd.clone().unwrap_or_else(|| cwd_default.to_path_buf());

    // In the specification's order: later ones override earlier ones, in any case on Windows.
    let mut whole = machine.base();
    for name in env_passthrough {
        if let Some(value) = machine.get(name) {
            whole.set(name, value);
        }
    }
    if let Some(url) = registry_url {
        registry_variables(&command).iter().for_each(|name| whole.set(*name, url));
    }
    env.iter().for_each(|(name, value)| whole.set(name.as_str(), value));

    let mut secrets = expander.secrets;
    let named = env_passthrough.iter().filter_map(|name| Some((name, machine.get(name)?.to_str()?)));
    let named = named.chain(env.iter().map(|(name, value)| (*name, value.as_str())));
    secrets.extend(named.filter(|(name, value)| is_secret_name(name) && !value.is_empty()).map(|(_, value)| value.to_string()));
    let mut parts: Vec<&OsStr> = vec![server.connection_digest.as_ref(), command.as_ref(), cwd.as_os_str()];
    parts.extend(args.iter().map(OsStr::new));
    parts.extend(whole.iter().flat_map(|(name, value)| [name, value]));
    let fingerprint = fingerprint(&parts);
    Ok(Resolved { command, args, cwd, env: whole, secrets: distinct(secrets), fingerprint })
}

/// What a connection to an HTTP server uses. The address's name is not resolved here.
pub fn resolve_http(server: &Server) -> Result<ResolvedHttp, StartProblem> {
    let Launch::Http(HttpLaunch { url, headers }) = &server.launch else { return Err(StartProblem::NotHttp) };
    let mut expander = Expander::new(server.machine.environment());
    let url = expander.expand(url);
    let headers: IndexMap<String, String> = headers.iter().map(|(name, value)| (name.clone(), expander.expand(value))).collect();
    expander.check()?;
    let url = check_url(&url).map_err(StartProblem::Url)?;
    let reasons = header_reasons(&headers, |_| true);
    if !reasons.is_empty() {
        return Err(StartProblem::Headers(reasons));
    }
    let mut parts: Vec<&OsStr> = vec![server.connection_digest.as_ref(), url.as_str().as_ref()];
    parts.extend(headers.iter().flat_map(|(name, value)| [OsStr::new(name), OsStr::new(value)]));
    let fingerprint = fingerprint(&parts);
    let mut secrets = expander.secrets;
    // Keys are often written into an address's query.
    secrets.extend(url.query().map(str::to_string));
    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    let mut out = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        // Both were checked above.
        if let (Ok(name), Ok(mut header)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
            header.set_sensitive(true);
            out.push((name, header));
            secrets.push(value);
        }
    }
    Ok(ResolvedHttp { url, headers: out, secrets: distinct(secrets), fingerprint })
}

fn distinct(values: Vec<String>) -> Vec<String> {
    values.into_iter().filter(|v| !v.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// SHA-256, hex; every part is preceded by its length.
fn fingerprint(parts: &[&OsStr]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part.as_encoded_bytes());
    }
    digest::hex(&sha.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Level, Scope, ServerEntry, entry, json};
    use crate::machine::{Machine, Surroundings};

    const VARIABLES: [(&str, &str); 7] = [
        ("PATH", "/usr/bin"),
        ("HOME", "/home/me"),
        ("OPENAI_API_KEY", "sk-1"),
        ("A", "${B}"),
        ("B", "bee"),
        ("EMPTY", ""),
        ("PASSED_TOKEN", "passed"),
    ];

    /// What a `cwd` of `/` stands for here: on Windows that is not absolute.
    const ROOT: &str = if cfg!(windows) { "C:/" } else { "/" };

    async fn server_with(variables: &[(&str, &str)], entry: &str) -> Server {
        let home = std::env::temp_dir();
        let surroundings = Surroundings {
            home: home.clone(),
            data: home.clone(),
            environment: variables.iter().copied().collect(),
            supervisor: vec![],
        };
        let level = Level { machine: Machine::local(surroundings), scope: Scope::Global };
        let entry = entry.replace("\"/\"", &format!("{ROOT:?}"));
        match entry::check(&level, &level.new_file(), "a", &json::parse(entry.as_bytes()).unwrap(), false).await {
            ServerEntry::Ready(server) => server,
            ServerEntry::Unavailable(u) => panic!("{:?}", u.reasons),
        }
    }
    async fn server(entry: &str) -> Server {
        server_with(&VARIABLES, entry).await
    }
    fn variables(resolved: &Resolved) -> Vec<(String, String)> {
        let mut all: Vec<_> =
            resolved.env.iter().map(|(k, v)| (k.to_str().unwrap().to_string(), v.to_str().unwrap().to_string())).collect();
        all.sort();
        all
    }
    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    /// Rows 3 and 14: one pass, and nothing of our own environment but the base list.
    #[tokio::test]
    async fn b9_b11_what_a_start_uses() {
        let server = server(
            r#"{"command": "${B}x", "args": ["${A}", "${NO:-${B}}", "plain"], "envPassthrough": ["PASSED_TOKEN", "NOT_SET"],
                "env": {"E": "<${B}>", "MY_SECRET": "literal", "HOME": "/elsewhere", "OTHER": "open"}, "cwd": "/"}"#,
        )
        .await;
        let resolved = resolve(&server, Path::new("/nowhere")).await.unwrap();
        assert_eq!((resolved.command.as_str(), resolved.cwd.as_path()), ("beex", Path::new(ROOT)));
        assert_eq!(resolved.args, ["${B}", "${B}", "plain"]);
        let expected = [
            ("E", "<bee>"),
            ("HOME", "/elsewhere"),
            ("MY_SECRET", "literal"),
            ("OTHER", "open"),
            ("PASSED_TOKEN", "passed"),
            ("PATH", "/usr/bin"),
        ];
        assert_eq!(variables(&resolved), pairs(expected));
        // B45: expanded values and values of secret names, not the rest.
        assert_eq!(resolved.secrets, ["${B}", "bee", "literal", "passed"]);
        let debug = format!("{resolved:?}");
        assert!(!["bee", "literal", "passed"].iter().any(|secret| debug.contains(secret)), "{debug}");
    }

    /// Row 35.
    #[tokio::test]
    async fn b10_the_registry_of_each_launcher() {
        let npm = [("npm_config_registry", "https://r.example/")];
        let uv = [
            ("PIP_INDEX_URL", "https://r.example/"),
            ("UV_DEFAULT_INDEX", "https://r.example/"),
            ("UV_INDEX_URL", "https://r.example/"),
        ];
        let table: [(&str, &[(&str, &str)]); 15] = [
            ("npx", &npm),
            ("npm", &npm),
            ("bun", &npm),
            ("pnpm", &npm),
            ("uv", &uv),
            ("pip", &uv),
            ("pipx", &uv),
            ("python", &uv),
            ("/opt/node/bin/NPX", &npm),
            ("C:\\\\node\\\\npx.CMD", &npm),
            ("bunx.exe", &npm),
            ("yarn.bat", &npm),
            ("uvx", &uv),
            ("python3", &uv),
            ("npx2", &[]),
        ];
        for (command, expected) in table {
            let server = server_with(&[], &format!(r#"{{"command": "{command}", "registryUrl": "https://r.example/"}}"#)).await;
            let resolved = resolve(&server, Path::new("/")).await.unwrap();
            let expected: Vec<_> = expected.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            assert_eq!(variables(&resolved), expected, "{command}");
        }
        let own = server_with(
            &[],
            r#"{"command": "npx", "registryUrl": "https://r.example/", "env": {"npm_config_registry": "mine"}}"#,
        )
        .await;
        assert_eq!(variables(&resolve(&own, Path::new("/")).await.unwrap()), pairs([("npm_config_registry", "mine")]));
    }

    #[tokio::test]
    async fn what_a_start_refuses() {
        let all = VARIABLES;
        let problem = async |variables: &[(&str, &str)], entry: &str| {
            // Checked with the variables set, started without: they may change between the two.
            let mut server = server_with(&all, entry).await;
            server.machine = server_with(variables, r#"{"command": "x"}"#).await.machine;
            resolve(&server, Path::new("/nowhere")).await.unwrap_err()
        };
        let unset = problem(&[], r#"{"command": "${B}", "args": ["${A} ${B}"], "cwd": "/"}"#).await;
        assert_eq!(unset, StartProblem::Unset { names: vec!["A".into(), "B".into()] });
        assert_eq!(
            unset.to_string(),
            "A, B are not set. Set what is missing and restart Mework, or give a default: ${NAME:-default}."
        );
        assert_eq!(problem(&all, r#"{"command": "${EMPTY}", "cwd": "/"}"#).await, StartProblem::EmptyCommand);
        assert_eq!(problem(&all, r#"{"command": "x"}"#).await, StartProblem::NoFolder { path: "/nowhere".into() });
        let http = server(r#"{"type": "http", "url": "https://e.example"}"#).await;
        assert_eq!(resolve(&http, Path::new("/")).await.unwrap_err(), StartProblem::NotStdio);
    }

    /// B24: any expanded value, the folder and the entry itself count.
    #[tokio::test]
    async fn fingerprints() {
        let of = async |variables: &[(&str, &str)], entry: &str, cwd: &str| {
            resolve(&server_with(variables, entry).await, Path::new(cwd)).await.unwrap().fingerprint
        };
        let entry = r#"{"command": "x", "args": ["${V}"], "envPassthrough": ["P"]}"#;
        let first = of(&[("V", "1"), ("P", "p")], entry, "/").await;
        assert_eq!(of(&[("V", "1"), ("P", "p"), ("UNRELATED", "x")], entry, "/").await, first);
        let mut seen = BTreeSet::from([first]);
        assert!(seen.insert(of(&[("V", "2"), ("P", "p")], entry, "/").await));
        assert!(seen.insert(of(&[("V", "1"), ("P", "q")], entry, "/").await));
        assert!(seen.insert(of(&[("V", "1"), ("P", "p")], entry, std::env::temp_dir().to_str().unwrap()).await));
        let with = async |key: &str| of(&[("V", "1"), ("P", "p")], &entry.replacen('{', &format!("{{{key}, "), 1), "/").await;
        assert!(seen.insert(with(r#""env": {"A": "b"}"#).await));
        // A server is not restarted for what is said or used of it.
        assert!(!seen.insert(with(r#""description": "other", "timeoutSeconds": 7"#).await));
        assert!(!seen.insert(with(r#""disabledTools": ["t"], "disabledAutoApproveTools": ["u"]"#).await));
    }

    /// Row 34: headers are checked again with their values; B7 too.
    #[tokio::test]
    async fn http_values_are_checked_when_they_are_known() {
        let entry = r#"{"type": "http", "url": "${URL}", "headers": {"Authorization": "Bearer ${T}", "X": "open"}}"#;
        let with = async |url: &str, t: &str| resolve_http(&server_with(&[("URL", url), ("T", t)], entry).await);
        let good = with("http://localhost:1/mcp", "s3cret").await.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(good.url.as_str(), "http://localhost:1/mcp");
        assert_eq!(good.secrets, ["Bearer s3cret", "http://localhost:1/mcp", "open", "s3cret"]);
        assert_eq!(format!("{:?}", good.headers[0]), r#"("authorization", Sensitive)"#);
        let problem = async |url: &str, t: &str| with(url, t).await.err().unwrap();
        assert_eq!(problem("http://example.com", "x").await, StartProblem::Url(UrlProblem::PublicHttp));
        let injected = problem("https://e.example", "s3cret\r\nX-Evil: 1").await.to_string();
        assert_eq!(injected, "`headers.Authorization` holds characters HTTP does not allow in a header (a line break, perhaps).");
        let large = problem("https://e.example", &"v".repeat(17 * 1024)).await.to_string();
        assert!(large.starts_with("`headers` holds "), "{large}");
    }
}
