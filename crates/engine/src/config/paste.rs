//! Pasted text becomes servers to add: JSON as other programs and READMEs write it, an `… mcp add …` line, a plain
//! command line, or an address. It proposes and checks; nothing is written, started or expanded.

mod lines;
mod name;

use std::collections::HashSet;

use jsonc_parser::ast::Value;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::json::{self, FileProblem, Json};
use super::{FileState, Level, ServerEntry, edit, entry, list};
use crate::limits;
use crate::machine::environment::Environment;

/// A server found in pasted text.
#[derive(Debug, Clone, PartialEq)]
pub struct Pasted {
    pub name: String,
    pub entry: Json,
}

/// A server that could be added to a level, checked by the level's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub name: String,
    /// The entry as it would be written, pretty-printed JSON.
    pub entry: String,
    /// Why it would be unavailable.
    pub reasons: Vec<String>,
    pub notes: Vec<String>,
    /// An entry of that name stands in the file already.
    pub exists: bool,
}

/// Why nothing usable was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PasteProblem {
    #[error("There is nothing to add yet. Paste a server's JSON, its command line or its address.")]
    Empty,
    #[error("The text is larger than {} KiB.", limits::CONFIG_FILE_BYTES / 1024)]
    TooLarge,
    #[error("{}", of_text(.0))]
    Json(FileProblem),
    #[error("{} is declared twice in this text, so it is unclear which one is meant. Rename or remove one.", json::quoted(.name))]
    Twice { name: String },
    #[error("This JSON declares no server. A server has a `command` or a `url`, under its name.")]
    NoServer,
    #[error("The quotes in this command line do not match.")]
    Quotes,
    #[error("This looks like neither JSON nor a command line nor an address of a server.")]
    NotUsable,
    #[error("This `mcp add` line is incomplete: it needs a name, then a command or an address.")]
    AddIncomplete,
}

/// What is wrong with JSON, of a text that is no file.
fn of_text(problem: &FileProblem) -> String {
    problem.to_string().replacen("The file", "The text", 1)
}

/// What pasted text would add to a level. A name that cannot be used is no reason here: whoever adds it can write another.
pub async fn propose(level: &Level, text: &str) -> Result<Vec<Proposal>, PasteProblem> {
    let machine = &level.machine;
    let path: Environment = machine.environment().get("PATH").map(|path| ("PATH", path)).into_iter().collect();
    let found = parse(text, |command| machine.resolve(command, level.root(), &path).is_ok())?;
    let listing = list(level).await;
    let standing = |name: &str| match listing.state {
        FileState::Read { .. } => listing.servers.contains_key(name),
        FileState::Absent | FileState::Ignored { .. } => false,
    };
    let mut proposals = Vec::with_capacity(found.len());
    for Pasted { name, entry } in &found {
        let (reasons, notes) = match entry::check(level, &listing.file, name, entry, false).await {
            ServerEntry::Ready(server) => (Vec::new(), server.notes),
            ServerEntry::Unavailable(mut unavailable) => {
                unavailable.reasons.retain(|reason| entry::check_name(name) != Err(reason.as_str()));
                (unavailable.reasons, unavailable.notes)
            }
        };
        proposals.push(Proposal { name: name.clone(), entry: edit::pretty(entry), reasons, notes, exists: standing(name) });
    }
    Ok(proposals)
}

/// The servers a text declares, each under a name of its own. `is_program`: whether a word names a program on this machine.
pub fn parse(text: &str, is_program: impl Fn(&str) -> bool) -> Result<Vec<Pasted>, PasteProblem> {
    if text.len() > limits::CONFIG_FILE_BYTES {
        return Err(PasteProblem::TooLarge);
    }
    let text = without_fence(text.trim_start_matches('\u{FEFF}').trim());
    if text.is_empty() {
        return Err(PasteProblem::Empty);
    }
    if text.starts_with('{') {
        return of_json(&lenient(text)?);
    }
    // Members without the braces around them, as they are cut out of a file.
    if text.starts_with('"') && text.contains(':') {
        let wrapped = format!("{{{text}}}");
        let members = lenient(&wrapped).or_else(|e| {
            // The end of the object they were cut out of may have come along.
            let cut = text.trim_end().trim_end_matches(['}', ' ', '\n', '\r', '\t']);
            let open = cut.matches('{').count().saturating_sub(cut.matches('}').count());
            lenient(&format!("{{{cut}{}}}", "}".repeat(open))).map_err(|_| e)
        })?;
        return of_json(&members);
    }
    lines::parse(text, &is_program)
}

/// Text out of a Markdown code block.
fn without_fence(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("```") else { return text };
    let body = rest.split_once('\n').map_or("", |(_, body)| body);
    body.rsplit_once("```").map_or(body, |(body, _)| body).trim()
}

/// JSON as people paste it: comments and commas too many are no matter here, because it is written anew.
fn lenient(text: &str) -> Result<Json, PasteProblem> {
    let strict = json::parse(text.as_bytes());
    match strict {
        Ok(json) => return Ok(json),
        Err(FileProblem::TrailingComma { .. } | FileProblem::Comment { .. } | FileProblem::NotJson { .. }) => {}
        Err(problem) => return Err(PasteProblem::Json(problem)),
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options).ok().and_then(|p| p.value);
    // Through strict JSON again, so that only what a file may hold comes out.
    match (parsed, strict) {
        (Some(value), _) => {
            let mut plain = String::new();
            if write_plain(&value, &mut plain) {
                json::parse(plain.as_bytes()).map_err(PasteProblem::Json)
            } else {
                Err(PasteProblem::NotUsable)
            }
        }
        (None, Err(problem)) => Err(PasteProblem::Json(problem)),
        (None, Ok(json)) => Ok(json),
    }
}

/// Writes a parsed value as strict JSON; false when it holds what strict JSON has not.
fn write_plain(value: &Value, out: &mut String) -> bool {
    let text = |text: &str, out: &mut String| out.push_str(&serde_json::Value::from(text).to_string());
    match value {
        Value::StringLit(lit) => text(&lit.value, out),
        Value::NumberLit(lit) => out.push_str(lit.value),
        Value::BooleanLit(lit) => out.push_str(if lit.value { "true" } else { "false" }),
        Value::NullKeyword(_) => out.push_str("null"),
        Value::Array(array) => {
            out.push('[');
            for (index, element) in array.elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                if !write_plain(element, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (index, property) in object.properties.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                text(property.name.as_str(), out);
                out.push(':');
                if !write_plain(&property.value, out) {
                    return false;
                }
            }
            out.push('}');
        }
    }
    true
}

fn member<'a>(members: &'a [(String, Json)], key: &str) -> Option<&'a Json> {
    members.iter().find(|(k, _)| k == key).map(|(_, v)| v)
}

/// Whether an object is one server's entry by its keys.
fn is_entry(members: &[(String, Json)]) -> bool {
    ["command", "url", "httpUrl", "serverUrl"].iter().any(|key| matches!(member(members, key), Some(Json::String(_))))
}

fn of_json(json: &Json) -> Result<Vec<Pasted>, PasteProblem> {
    let members = json.as_object().ok_or(PasteProblem::NoServer)?;
    for key in ["mcpServers", "servers", "mcp.servers", "context_servers", "mcp_servers"] {
        if let Some(Json::Object(map)) = member(members, key) {
            once(members, |name| name == key)?;
            return of_map(map);
        }
    }
    if let Some(Json::Object(inner)) = member(members, "mcp") {
        once(members, |name| name == "mcp")?;
        if let Some(Json::Object(map)) = member(inner, "servers") {
            once(inner, |name| name == "servers")?;
            return of_map(map);
        }
        if !is_entry(inner) && !inner.is_empty() && inner.iter().all(|(_, v)| v.as_object().is_some_and(is_entry)) {
            return of_map(inner);
        }
    }
    if is_entry(members) {
        return Ok(vec![of_entry(None, members)]);
    }
    if members.iter().any(|(_, value)| value.as_object().is_some_and(is_entry)) {
        return of_map(members);
    }
    Err(PasteProblem::NoServer)
}

/// Refuses a name that is written twice, of a server or of what holds them (B3): taking one of the two would be a guess.
fn once<'a>(members: &'a [(String, Json)], which: impl Fn(&str) -> bool) -> Result<(), PasteProblem> {
    let mut seen: HashSet<&'a str> = HashSet::new();
    match members.iter().map(|(name, _)| name.as_str()).find(|name| which(name) && !seen.insert(name)) {
        Some(name) => Err(PasteProblem::Twice { name: name.into() }),
        None => Ok(()),
    }
}

/// Every member is a server, whatever it holds: what is wrong with it is said with it.
fn of_map(map: &[(String, Json)]) -> Result<Vec<Pasted>, PasteProblem> {
    if map.is_empty() {
        return Err(PasteProblem::NoServer);
    }
    once(map, |_| true)?;
    Ok(map
        .iter()
        .map(|(name, value)| match value.as_object() {
            Some(members) => of_entry(Some(name), members),
            None => Pasted { name: name.clone(), entry: value.clone() },
        })
        .collect())
}

/// One entry, other programs' spellings of an address made ours.
fn of_entry(name: Option<&str>, members: &[(String, Json)]) -> Pasted {
    let mut entry: Vec<(String, Json)> = members.to_vec();
    let mut name = name.map(String::from);
    // Some programs put the name inside.
    if name.is_none()
        && let Some(index) = entry.iter().position(|(k, v)| k == "name" && v.as_str().is_some())
    {
        name = entry.remove(index).1.as_str().map(name::fitting);
    }
    for other in ["httpUrl", "serverUrl"] {
        if member(&entry, "url").is_none()
            && let Some((key, _)) = entry.iter_mut().find(|(k, _)| k == other)
        {
            *key = "url".into();
        }
    }
    if member(&entry, "type").is_none() && member(&entry, "command").is_none() && member(&entry, "url").is_some() {
        entry.insert(0, ("type".into(), Json::String("http".into())));
    }
    let name = name.unwrap_or_else(|| {
        let text = |key: &str| member(&entry, key).and_then(Json::as_str);
        match (text("command"), text("url")) {
            (Some(command), _) => {
                let args: Vec<&str> = match member(&entry, "args") {
                    Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
                    _ => Vec::new(),
                };
                name::of_command(command, &args)
            }
            (None, Some(url)) => name::of_url(url),
            (None, None) => name::FALLBACK.into(),
        }
    });
    Pasted { name, entry: Json::Object(entry) }
}

#[cfg(test)]
mod tests;
