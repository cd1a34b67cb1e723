//! What a person sees before a server starts for the first time, or after its entry changed (rows 3, 15, 35): what would
//! start, in full and unexpanded, with the names of the variables it uses and where each goes; and old beside new.
//!
//! It only describes: whether consent is needed, given or out of date is decided above. No variable's value is used.

use std::path::Path;

use super::entry::{self, Meaning};
use super::{HttpLaunch, Launch, Scope, Server, StdioLaunch, Transport, expand, resolve, url};
use crate::machine::environment;

/// One entry, as it would start. Text is unfiltered: whoever shows it makes control characters visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub transport: Transport,
    /// Where a launcher would fetch packages from; shown first.
    pub registry_url: Option<String>,
    pub command: Option<String>,
    /// Every argument, untruncated.
    pub args: Vec<String>,
    /// Where it runs: the entry's folder, or the one that stands for it.
    pub cwd: Option<String>,
    pub url_origin: Option<String>,
    pub variables: Vec<VariableUse>,
    /// What else a person should know: an unpinned package and the like.
    pub notes: Vec<String>,
}

/// A variable or header that is set, handed on, or used by a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableUse {
    pub name: String,
    /// `env`, `passed on`, `header`, or where a `${NAME}` goes: `command`, `args[1]`, `env TOKEN`, `url`, `header X`.
    pub place: String,
    /// Why it is marked.
    pub warning: Option<String>,
}

/// A line of the old and the new entry, side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub old: Option<String>,
    pub new: Option<String>,
    pub changed: bool,
}

/// What a server would start. `scope`: whose file it stands in; `cwd_default`: where it runs when it names no folder.
pub fn review(server: &Server, scope: &Scope, cwd_default: &Path) -> Review {
    of_launch(&server.launch, scope, cwd_default)
}

/// The same for what was agreed to before, from its canonical form; nothing when that is no canonical entry.
pub fn review_canonical(canonical: &str, scope: &Scope, cwd_default: &Path) -> Option<Review> {
    let Meaning { launch, .. } = entry::meaning_of_canonical(canonical)?;
    Some(of_launch(&launch, scope, cwd_default))
}

fn of_launch(launch: &Launch, scope: &Scope, cwd_default: &Path) -> Review {
    let mut variables = Vec::new();
    let used = |text: &str, place: &str, uses: &mut Vec<VariableUse>| {
        for (name, _) in expand::variables(text) {
            let it = VariableUse { name: name.into(), place: place.into(), warning: used_warning(name, scope) };
            if !uses.contains(&it) {
                uses.push(it);
            }
        }
    };
    let mut uses = Vec::new();
    match launch {
        Launch::Stdio(StdioLaunch { command, args, env, env_passthrough, cwd, workspace, registry_url }) => {
            for name in env.keys() {
                variables.push(VariableUse { name: name.clone(), place: "env".into(), warning: loader_warning(name) });
            }
            for name in env_passthrough {
                variables.push(VariableUse { name: name.clone(), place: "passed on".into(), warning: loader_warning(name) });
            }
            used(command, "command", &mut uses);
            for (index, arg) in args.iter().enumerate() {
                used(arg, &format!("args[{index}]"), &mut uses);
            }
            for (name, value) in env {
                used(value, &format!("env {name}"), &mut uses);
            }
            variables.extend(uses);
            let mut notes = Vec::new();
            if let Some(url) = registry_url
                && !resolve::registry_variables(command).is_empty()
            {
                notes.push(format!("Its packages come from {}, not from the usual registry.", url::shown_url(url)));
            }
            notes.extend(unpinned(command, args));
            if *workspace {
                notes.push("It works in a workspace: with several on this computer, one copy starts in each.".into());
            }
            Review {
                transport: Transport::Stdio,
                registry_url: registry_url.clone(),
                command: Some(command.clone()),
                args: args.clone(),
                cwd: Some(cwd.as_deref().unwrap_or(cwd_default).to_string_lossy().into_owned()),
                url_origin: None,
                variables,
                notes,
            }
        }
        Launch::Http(HttpLaunch { url: address, headers }) => {
            for name in headers.keys() {
                variables.push(VariableUse { name: name.clone(), place: "header".into(), warning: None });
            }
            used(address, "url", &mut uses);
            for (name, value) in headers {
                used(value, &format!("header {name}"), &mut uses);
            }
            variables.extend(uses);
            Review {
                transport: Transport::Http,
                registry_url: None,
                command: None,
                args: Vec::new(),
                cwd: None,
                url_origin: Some(url::origin(address)),
                variables,
                notes: Vec::new(),
            }
        }
    }
}

/// Row 3: a workspace's file is someone else's; a name that is never passed on by itself deserves a look there.
fn used_warning(name: &str, scope: &Scope) -> Option<String> {
    match scope {
        Scope::Workspace(_) if environment::is_refused(name) || resolve::is_secret_name(name) => {
            Some("This variable of yours may hold a credential, and the workspace's file hands it to this server.".into())
        }
        Scope::Workspace(_) | Scope::Global => None,
    }
}

/// Row 15: variables that make a harmless-looking command run other code.
fn loader_warning(name: &str) -> Option<String> {
    const NAMES: [&str; 22] = [
        "PATH",
        "PATHEXT",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "PYTHONHOME",
        "BASH_ENV",
        "ENV",
        "SHELLOPTS",
        "PS4",
        "PERL5OPT",
        "PERL5LIB",
        "PERL5DB",
        "RUBYOPT",
        "RUBYLIB",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
        "DOTNET_STARTUP_HOOKS",
        "COMSPEC",
        "GIT_SSH_COMMAND",
    ];
    let name = name.to_ascii_uppercase();
    let prefixed = name.starts_with("LD_") || name.starts_with("DYLD_") || name.starts_with("NPM_CONFIG_");
    (prefixed || NAMES.contains(&name.as_str()))
        .then(|| "This variable can make the command load or run other code than it seems to.".into())
}

/// The package a launcher runs, as its arguments spell it; nothing when the command is no launcher.
pub(super) fn package<'a>(command: &str, args: &[&'a str]) -> Option<&'a str> {
    match (resolve::program_name(command).as_str(), args) {
        ("npx" | "bunx", rest)
        | ("npm", ["exec" | "x", rest @ ..])
        | ("pnpm" | "yarn", ["dlx", rest @ ..])
        | ("bun", ["x", rest @ ..]) => {
            package_of(rest, &["-p", "--package"], &["-c", "--call", "--registry", "--cache", "--prefix"])
        }
        ("uvx", rest) | ("uv", ["tool", "run", rest @ ..]) => package_of(
            rest,
            &["--from"],
            &["-p", "--python", "--with", "-i", "--index", "--index-url", "--default-index", "--cache-dir", "--directory"],
        ),
        ("pipx", ["run", rest @ ..]) => package_of(rest, &["--spec"], &["--python", "-i", "--index-url", "--pip-args"]),
        _ => None,
    }
}

/// Row 35: a package launcher that takes whatever version is newest.
fn unpinned(command: &str, args: &[String]) -> Option<String> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let package = package(command, &args)?;
    let python = ["uv", "uvx", "pipx"].contains(&resolve::program_name(command).as_str());
    let exact = if python { exact_python(package) } else { exact_npm(package) };
    let local = package.starts_with(['.', '/', '~']) || package.contains('\\');
    (!local && !package.contains("${") && !exact)
        .then(|| format!("The package {package} is not pinned to a version: each start may fetch and run a newer one."))
}

/// The package a launcher's arguments name: after one of `named` flags, or the first word that is no flag and no value
/// of one of the `valued` flags.
fn package_of<'a>(args: &[&'a str], named: &[&str], valued: &[&str]) -> Option<&'a str> {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if let Some((flag, value)) = word.split_once('=')
            && named.contains(&flag)
        {
            return Some(value);
        }
        if named.contains(word) {
            return words.next().copied();
        }
        if valued.contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// `name@1.2.3`
fn exact_npm(package: &str) -> bool {
    let name_end = package.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(i, _)| i);
    name_end.is_some_and(|at| {
        let version = &package[at + 1..];
        let core = version.split(['-', '+']).next().unwrap_or_default();
        let parts: Vec<&str> = core.split('.').collect();
        parts.len() == 3 && parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// `name==1.2` or `name@1.2`
fn exact_python(package: &str) -> bool {
    let version = package.split_once("==").or_else(|| package.split_once('@')).map(|(_, v)| v.trim());
    version.is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()) && !v.contains(['*', ',', '<', '>']))
}

/// Lines of two texts side by side.
pub fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut lines = Vec::new();
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new) {
        let (tag, was, is) = op.as_tag_tuple();
        let changed = tag != similar::DiffTag::Equal;
        for index in 0..was.len().max(is.len()) {
            let line = |all: &[&str], range: &std::ops::Range<usize>| {
                range.clone().nth(index).and_then(|i| all.get(i)).map(|line| line.to_string())
            };
            lines.push(DiffLine { old: line(&old, &was), new: line(&new, &is), changed });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn workspace() -> Scope {
        Scope::Workspace(PathBuf::from("/w"))
    }
    fn of(entry: &str, scope: &Scope) -> Review {
        review_canonical(entry, scope, Path::new("/default")).unwrap()
    }
    fn uses(review: &Review) -> Vec<(&str, &str, bool)> {
        review.variables.iter().map(|v| (v.name.as_str(), v.place.as_str(), v.warning.is_some())).collect()
    }

    /// Rows 3, 15 and 35: everything that would start, nothing expanded, names only.
    #[test]
    fn row_3_a_stdio_server_in_full() {
        let long = "x".repeat(5000);
        let entry = format!(
            r#"{{"command": "npx", "args": ["-y", "@scope/pkg", "{long}", "${{OPENAI_API_KEY}} ${{A}} ${{A}}"],
                 "env": {{"LD_PRELOAD": "./evil.so", "TOKEN": "${{MY_TOKEN:-s3cret}}", "MODE": "${{A}}"}},
                 "envPassthrough": ["NODE_OPTIONS", "LANG"], "registryUrl": "https://r.example/npm?s3cret"}}"#
        );
        let review = of(&entry, &workspace());
        let credential = "This variable of yours may hold a credential, and the workspace's file hands it to this server.";
        let loader = "This variable can make the command load or run other code than it seems to.";
        let it = |name: &str, place: &str, warning: Option<&str>| VariableUse {
            name: name.into(),
            place: place.into(),
            warning: warning.map(String::from),
        };
        assert_eq!(
            review,
            Review {
                transport: Transport::Stdio,
                registry_url: Some("https://r.example/npm?s3cret".into()),
                command: Some("npx".into()),
                args: vec!["-y".into(), "@scope/pkg".into(), long, "${OPENAI_API_KEY} ${A} ${A}".into()],
                cwd: Some("/default".into()),
                url_origin: None,
                variables: vec![
                    it("LD_PRELOAD", "env", Some(loader)),
                    it("TOKEN", "env", None),
                    it("MODE", "env", None),
                    it("NODE_OPTIONS", "passed on", Some(loader)),
                    it("LANG", "passed on", None),
                    it("OPENAI_API_KEY", "args[3]", Some(credential)),
                    it("A", "args[3]", None),
                    it("MY_TOKEN", "env TOKEN", Some(credential)),
                    it("A", "env MODE", None),
                ],
                notes: vec![
                    "Its packages come from https://r.example/npm, not from the usual registry.".into(),
                    "The package @scope/pkg is not pinned to a version: each start may fetch and run a newer one.".into(),
                ],
            }
        );
        // The person's own file: their own variables are no surprise, loader variables still are.
        let own = of(&entry, &Scope::Global);
        let marked: Vec<&str> = own.variables.iter().filter(|v| v.warning.is_some()).map(|v| v.name.as_str()).collect();
        assert_eq!(marked, ["LD_PRELOAD", "NODE_OPTIONS"]);
    }

    #[test]
    fn row_3_an_http_server() {
        let entry = r#"{"type": "http", "url": "https://me.example/a?k=${ANTHROPIC_API_KEY}", "headers": {"X-Key": "${K}", "Y": "s3cret"}}"#;
        let review = of(entry, &workspace());
        assert_eq!(review.url_origin.as_deref(), Some("https://me.example"));
        assert_eq!((review.command.clone(), review.cwd.clone()), (None, None));
        assert_eq!(
            uses(&review),
            [
                ("X-Key", "header", false),
                ("Y", "header", false),
                ("ANTHROPIC_API_KEY", "url", true),
                ("K", "header X-Key", false)
            ]
        );
        assert!(!format!("{review:?}").contains("s3cret"));
    }

    #[test]
    fn row_35_unpinned_packages() {
        let note = |line: &str| {
            let words = shell_words::split(line).unwrap();
            unpinned(&words[0], &words[1..]).and_then(|n| n.split(' ').nth(2).map(String::from))
        };
        let table = [
            ("npx -y pkg", Some("pkg")),
            ("npx pkg@latest --flag x", Some("pkg@latest")),
            ("npx -y @s/pkg@^1.2.3", Some("@s/pkg@^1.2.3")),
            ("/usr/bin/npx -y @s/pkg@1.2.3", None),
            ("npx.cmd pkg@1.2.3-beta.1", None),
            ("npx --package=pkg -c run", Some("pkg")),
            ("npx -p pkg@1.0.0 tool", None),
            ("npx --registry https://r.example pkg", Some("pkg")),
            ("npx ./local", None),
            ("npx ${PKG}", None),
            ("npx", None),
            ("npm exec pkg", Some("pkg")),
            ("npm run start", None),
            ("pnpm dlx pkg", Some("pkg")),
            ("bun x pkg", Some("pkg")),
            ("uvx mcp-server-time", Some("mcp-server-time")),
            ("uvx mcp-server-time==2025.1", None),
            ("uvx mcp-server-time@1.0", None),
            ("uvx --from git tool", Some("git")),
            ("uvx --python 3.12 tool", Some("tool")),
            ("uv tool run tool", Some("tool")),
            ("uv run server.py", None),
            ("pipx run tool", Some("tool")),
            ("node server.js", None),
        ];
        for (line, expected) in table {
            assert_eq!(note(line).as_deref(), expected, "{line}");
        }
    }

    /// Decision 1: old and new side by side.
    #[test]
    fn row_1_old_and_new() {
        let line = |old: Option<&str>, new: Option<&str>, changed| DiffLine {
            old: old.map(String::from),
            new: new.map(String::from),
            changed,
        };
        assert_eq!(
            diff("{\n  a\n  b\n}", "{\n  a\n  c\n  d\n}"),
            [
                line(Some("{"), Some("{"), false),
                line(Some("  a"), Some("  a"), false),
                line(Some("  b"), Some("  c"), true),
                line(None, Some("  d"), true),
                line(Some("}"), Some("}"), false),
            ]
        );
        assert_eq!(diff("a\nb", "b"), [line(Some("a"), None, true), line(Some("b"), Some("b"), false)]);
        assert_eq!(diff("a", "a"), [line(Some("a"), Some("a"), false)]);
    }
}
