//! Command lines: `claude mcp add …` and its like, a plain command, an address.

use std::collections::{HashMap, HashSet};

use super::{Json, PasteProblem, Pasted, lenient, name, of_entry};
use crate::config::expand::is_variable_name;

/// Programs people paste command lines of, whether or not they are installed here.
const KNOWN: [&str; 22] = [
    "npx", "npm", "pnpm", "yarn", "bun", "bunx", "node", "deno", "tsx", "uv", "uvx", "pip", "pipx", "python", "python3",
    "docker", "podman", "java", "dotnet", "go", "cargo", "ruby",
];

/// One server a line; lines that end in a backslash go on, and lines that begin with `#` are skipped.
pub fn parse(text: &str, is_program: &impl Fn(&str) -> bool) -> Result<Vec<Pasted>, PasteProblem> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let line = line.strip_prefix("$ ").or_else(|| line.strip_prefix("> ")).unwrap_or(line);
        found.push(one(line, is_program)?);
    }
    numbered(&mut found);
    if found.is_empty() { Err(PasteProblem::NotUsable) } else { Ok(found) }
}

/// Gives every line's server a name of its own: most of these names are our guess, which two lines may share.
fn numbered(found: &mut [Pasted]) {
    let mut taken: HashSet<String> = found.iter().map(|one| one.name.clone()).collect();
    let mut times: HashMap<String, usize> = HashMap::new();
    for one in found {
        let time = times.entry(one.name.clone()).or_insert(0);
        *time += 1;
        if *time == 1 {
            continue;
        }
        let name = loop {
            let name = format!("{}-{time}", one.name);
            if taken.insert(name.clone()) {
                break name;
            }
            *time += 1;
        };
        one.name = name;
    }
}

fn one(line: &str, is_program: &impl Fn(&str) -> bool) -> Result<Pasted, PasteProblem> {
    let words = split(line)?;
    let [first, rest @ ..] = words.as_slice() else { return Err(PasteProblem::NotUsable) };
    if is_url(first) && rest.is_empty() {
        return Ok(of_entry(None, &[("url".into(), Json::String(first.clone()))]));
    }
    if let Some(at) = words.windows(2).position(|pair| pair[0] == "mcp" && (pair[1] == "add" || pair[1] == "add-json"))
        && at <= 3
    {
        return if words[at + 1] == "add-json" { add_json(&words[at + 2..]) } else { add(&words[at + 2..]) };
    }
    plain(&words, is_program)
}

/// Splits as a shell does, but leaves the backslashes of Windows paths alone.
fn split(line: &str) -> Result<Vec<String>, PasteProblem> {
    let windows = line.as_bytes().windows(3).any(|w| w[0].is_ascii_alphabetic() && w[1] == b':' && w[2] == b'\\');
    let line = if windows { line.replace('\\', "\\\\") } else { line.to_string() };
    shell_words::split(&line).map_err(|_| PasteProblem::Quotes)
}

fn is_url(word: &str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

fn assignment(word: &str) -> Option<(String, Json)> {
    let (name, value) = word.split_once('=')?;
    is_variable_name(name).then(|| (name.to_string(), Json::String(value.into())))
}

/// A command, with variables set before it as a shell has them.
fn plain(words: &[String], is_program: &impl Fn(&str) -> bool) -> Result<Pasted, PasteProblem> {
    let words = if words.first().is_some_and(|w| w == "env") { &words[1..] } else { words };
    let env: Vec<(String, Json)> = words.iter().map_while(|word| assignment(word)).collect();
    let [command, args @ ..] = &words[env.len()..] else { return Err(PasteProblem::NotUsable) };
    let program = crate::config::resolve::program_name(command);
    let path_like = command.contains(['/', '\\']) && !is_url(command) || command.starts_with("${");
    if !(KNOWN.contains(&program.as_str()) || path_like || is_program(command)) {
        return Err(PasteProblem::NotUsable);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(Pasted { name: name::of_command(command, &args), entry: stdio(command, &args, env) })
}

fn stdio(command: &str, args: &[&str], env: Vec<(String, Json)>) -> Json {
    let mut entry = vec![("command".into(), Json::String(command.into()))];
    if !args.is_empty() {
        entry.push(("args".into(), Json::Array(args.iter().map(|a| Json::String((*a).into())).collect())));
    }
    if !env.is_empty() {
        entry.push(("env".into(), Json::Object(env)));
    }
    Json::Object(entry)
}

/// `add-json NAME '{…}'`
fn add_json(words: &[String]) -> Result<Pasted, PasteProblem> {
    let mut plain = words.iter().filter(|word| !word.starts_with('-'));
    let (Some(name), Some(json)) = (plain.next(), plain.find(|word| word.trim_start().starts_with('{'))) else {
        return Err(PasteProblem::AddIncomplete);
    };
    match lenient(json)? {
        Json::Object(members) => Ok(of_entry(Some(name), &members)),
        _ => Err(PasteProblem::NoServer),
    }
}

/// `add [flags] NAME (URL | [--] COMMAND …)`, flags before or after the name.
fn add(words: &[String]) -> Result<Pasted, PasteProblem> {
    let (mut env, mut headers) = (Vec::new(), Vec::new());
    let (mut transport, mut cwd): (Option<String>, Option<String>) = (None, None);
    let mut positional: Vec<&str> = Vec::new();
    let mut command: Vec<&str> = Vec::new();
    let mut rest = words.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            command.extend(rest.by_ref());
            break;
        }
        if word.starts_with('-') && word.len() > 1 {
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (word, None),
            };
            let mut value = || inline.or_else(|| rest.next()).ok_or(PasteProblem::AddIncomplete);
            match flag {
                "-e" | "--env" => {
                    env.push(assignment(value()?).ok_or(PasteProblem::AddIncomplete)?);
                    // Some programs take several after one flag.
                    while let Some(more) = rest.peek().and_then(|word| assignment(word)) {
                        env.push(more);
                        rest.next();
                    }
                }
                "-H" | "--header" => {
                    let (name, value) = value()?.split_once(':').ok_or(PasteProblem::AddIncomplete)?;
                    headers.push((name.trim().to_string(), Json::String(value.trim().into())));
                }
                "-t" | "--transport" | "--type" => transport = Some(value()?.to_string()),
                "--cwd" => cwd = Some(value()?.to_string()),
                "--url" => positional.push(value()?),
                // Where it is written and how long a connection may take are this program's own matter.
                "-s" | "--scope" | "--timeout" | "-w" | "--workspace" | "-o" | "--output" => {
                    value()?;
                }
                _ => {}
            }
            continue;
        }
        positional.push(word);
        // Behind the name, a word that is no address begins the command, whose flags are its own.
        if positional.len() == 2 && !is_url(word) {
            positional.pop();
            command.push(word);
            command.extend(rest.by_ref());
        }
    }
    let mut positional = positional.into_iter();
    let Some(name) = positional.next() else { return Err(PasteProblem::AddIncomplete) };
    let with_type = |mut entry: Vec<(String, Json)>| {
        if let Some(transport) = &transport {
            entry.insert(0, ("type".into(), Json::String(transport.clone())));
        }
        entry
    };
    if let [program, args @ ..] = command.as_slice() {
        let Json::Object(mut entry) = stdio(program, args, env) else { return Err(PasteProblem::AddIncomplete) };
        if let Some(cwd) = cwd {
            entry.push(("cwd".into(), Json::String(cwd)));
        }
        return Ok(of_entry(Some(name), &with_type(entry)));
    }
    let Some(url) = positional.next() else { return Err(PasteProblem::AddIncomplete) };
    let mut entry = vec![("url".into(), Json::String(url.into()))];
    if !headers.is_empty() {
        entry.push(("headers".into(), Json::Object(headers)));
    }
    Ok(of_entry(Some(name), &with_type(entry)))
}
