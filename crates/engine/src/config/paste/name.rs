//! A server's name when the pasted text gives none: from its package, its file or its address.

use crate::config::consent::package;
use crate::config::{entry, resolve};

/// When nothing better is there.
pub const FALLBACK: &str = "server";
/// Derived names are no longer than this.
const CHARS: usize = 40;

/// Made of the characters a name may have.
pub fn fitting(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name: String = name.trim_matches(['-', '_']).chars().take(CHARS).collect();
    let name = name.trim_end_matches(['-', '_']);
    if entry::check_name(name).is_ok() { name.to_string() } else { FALLBACK.to_string() }
}

/// `npx -y @scope/server-x@1` is `x`.
pub fn of_command(command: &str, args: &[&str]) -> String {
    if let Some(package) = package(command, args) {
        return of_package(package);
    }
    let program = resolve::program_name(command);
    let word = match program.as_str() {
        "docker" | "podman" => docker_image(args),
        "node" | "python" | "python3" | "deno" | "bun" | "uv" | "ruby" | "php" | "java" | "sh" | "bash" | "tsx" | "ts-node" => {
            args.iter()
                .copied()
                .rev()
                .find(|arg| !arg.starts_with('-') && arg.contains(['/', '\\', '.']))
                .or_else(|| args.iter().copied().skip_while(|arg| *arg != "-m").nth(1))
        }
        _ => None,
    };
    match word {
        Some(word) => of_path(word),
        None if command.contains(['/', '\\']) => of_path(command),
        None => stripped(&program),
    }
}

/// The image is the first word after `run` that is no flag and no flag's value.
fn docker_image<'a>(args: &[&'a str]) -> Option<&'a str> {
    const VALUED: [&str; 12] =
        ["-e", "--env", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "-w", "--workdir", "-u"];
    let mut words = args.iter().skip_while(|word| **word != "run").skip(1);
    while let Some(word) = words.next() {
        if VALUED.contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// The last part of a package's name, without its version and without words that say only that it is a server.
fn of_package(package: &str) -> String {
    let scope = package.strip_prefix('@').and_then(|p| p.split_once('/')).map(|(scope, _)| scope);
    let last = package.rsplit('/').next().unwrap_or(package);
    let bare = last.split(['@', '=', '<', '>', '~', '[', '#']).next().unwrap_or(last);
    match (stripped(bare), scope) {
        (name, Some(scope)) if name == FALLBACK => fitting(scope),
        (name, _) => name,
    }
}

/// A file's name, or its folder's when the file's says nothing.
fn of_path(path: &str) -> String {
    let parts = path.split(['/', '\\']).rev();
    for (index, part) in parts.enumerate() {
        let stem = if index == 0 { part.split(['.', ':', '@']).next().unwrap_or(part) } else { part };
        let dull = [
            "", "index", "main", "server", "cli", "app", "build", "dist", "src", "out", "lib", "bin", "run", "target", "release",
            "mcp",
        ];
        if !dull.contains(&stem.to_ascii_lowercase().as_str()) && !stem.starts_with('.') {
            return stripped(stem);
        }
    }
    FALLBACK.into()
}

fn stripped(name: &str) -> String {
    let mut rest = name;
    loop {
        let before = rest;
        for word in ["mcp", "server"] {
            rest = rest.strip_prefix(word).and_then(|r| r.strip_prefix(['-', '_'])).unwrap_or(rest);
            rest = rest.strip_suffix(word).and_then(|r| r.strip_suffix(['-', '_'])).unwrap_or(rest);
        }
        if rest == before {
            break;
        }
    }
    if rest == "mcp" { FALLBACK.into() } else { fitting(rest) }
}

/// `https://mcp.example.com/mcp` is `example`.
pub fn of_url(url: &str) -> String {
    let Ok(url) = url::Url::parse(url) else { return FALLBACK.into() };
    match url.host() {
        Some(url::Host::Domain(host)) => {
            let labels: Vec<&str> = host.trim_end_matches('.').split('.').collect();
            let known = if labels.len() > 1 { &labels[..labels.len() - 1] } else { &labels[..] };
            let named = known.iter().rev().find(|label| !["mcp", "www", "api", "co", "com"].contains(label));
            fitting(named.or(known.first()).copied().unwrap_or(FALLBACK))
        }
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) | None => FALLBACK.into(),
    }
}
