//! One entry into a file or out of it, every other byte as it was (B17): [`remove`], [`add`] and [`replace`] work on
//! bytes; [`remove_server`] and [`add_server`] on a level's file, refused when it changed since it was shown.
//!
//! Where members stand comes from a second parser that keeps ranges; what they are from the strict one. Both must agree
//! before anything is cut, and the outcome is parsed again before it is handed on.

use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::json::{self, FileProblem, Json, quoted};
use super::list::{self, Found, unreadable};
use super::{Level, ServerId, Source, digest, entry};
use crate::machine::{FileRead, WriteError};

/// Why an edit was not made; the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditProblem {
    #[error("{0}")]
    File(#[from] FileProblem),
    #[error("{0}")]
    Unreadable(String),
    #[error("{} is not in the file any more.", quoted(.name))]
    NotThere { name: String },
    #[error("{} is in the file already. Choose another name, or replace it.", quoted(.name))]
    Exists { name: String },
    #[error("{} is declared twice in the file, so it is unclear which one is meant. Edit the file by hand.", quoted(.name))]
    Twice { name: String },
    #[error("{0}")]
    Name(&'static str),
    #[error("The entry must be an object, {{ … }}; it is {found}.")]
    NotAnEntry { found: &'static str },
    #[error("The entry cannot be used: {0}")]
    BadEntry(FileProblem),
    #[error("The file is written in a way that cannot be edited safely. Edit it by hand.")]
    Unclear,
    #[error("The file changed since it was shown, so nothing was written. Look at it again, then repeat.")]
    Changed,
    #[error("{0}. Nothing was written.")]
    Write(WriteError),
}

/// Where a member stands: the text from its key's first quote to its value's end, and the value alone.
#[derive(Debug, Clone)]
struct Member {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

/// `mcpServers` and its members, in bytes of the text behind a byte-order mark.
#[derive(Debug)]
struct Layout<'a> {
    bom: &'a [u8],
    text: &'a str,
    /// From its `{` to behind its `}`.
    object: Range<usize>,
    members: Vec<Member>,
}

impl<'a> Layout<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, EditProblem> {
        let servers = json::servers(bytes)?;
        let text = json::text(bytes)?;
        let bom = &bytes[..bytes.len() - text.len()];
        let strict = ParseOptions {
            allow_comments: false,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict).map_err(|_| EditProblem::Unclear)?;
        let Some(Value::Object(top)) = parsed.value else { return Err(EditProblem::Unclear) };
        let Some(Value::Object(object)) = top.properties.iter().find(|p| p.name.as_str() == "mcpServers").map(|p| &p.value)
        else {
            return Err(EditProblem::Unclear);
        };
        let span = |range: jsonc_parser::common::Range| range.start..range.end;
        let members: Vec<Member> = object
            .properties
            .iter()
            .map(|p| Member { name: p.name.as_str().to_string(), key: span(p.name.range()), value: span(p.value.range()) })
            .collect();
        if !members.iter().map(|m| &m.name).eq(servers.iter().map(|(name, _)| name)) {
            return Err(EditProblem::Unclear);
        }
        Ok(Self { bom, text, object: span(object.range), members })
    }

    fn only(&self, name: &str) -> Result<usize, EditProblem> {
        let mut found = self.members.iter().enumerate().filter(|(_, m)| m.name == name).map(|(i, _)| i);
        match (found.next(), found.next()) {
            (Some(index), None) => Ok(index),
            (Some(_), Some(_)) => Err(EditProblem::Twice { name: name.into() }),
            (None, _) => Err(EditProblem::NotThere { name: name.into() }),
        }
    }

    fn spliced(&self, range: Range<usize>, with: &str) -> Vec<u8> {
        let text = self.text.as_bytes();
        [self.bom, &text[..range.start], with.as_bytes(), &text[range.end..]].concat()
    }

    /// What stands between the start of the line and `at`, when that is white space only.
    fn indent(&self, at: usize) -> Option<&'a str> {
        let start = self.text[..at].rfind('\n').map_or(0, |i| i + 1);
        let before = &self.text[start..at];
        (is_blank(before) && start > 0).then_some(before)
    }

    /// The white space the line that holds `at` begins with.
    fn line_indent(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |i| i + 1);
        let line = &self.text[start..at];
        &line[..line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len())]
    }

    fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// One step of indentation, as far as the file shows one.
    fn unit(&self) -> String {
        let outer = self.line_indent(self.object.start);
        let inner = self.members.first().and_then(|m| self.indent(m.key.start));
        let step = inner.and_then(|inner| inner.strip_prefix(outer)).filter(|step| !step.is_empty());
        let step = step.or((!outer.is_empty()).then_some(outer));
        step.filter(|step| step.len() <= 16).unwrap_or("  ").to_string()
    }

    /// What stands between a key and its value in this file.
    fn colon(&self) -> &'a str {
        let existing = self.members.first().map(|m| &self.text[m.key.end..m.value.start]);
        match existing {
            Some(colon) if !colon.contains('\n') => colon,
            None if !self.text.contains('\n') => ":",
            _ => ": ",
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Takes one entry out, with the comma and white space that set it apart.
pub fn remove(bytes: &[u8], name: &str) -> Result<Vec<u8>, EditProblem> {
    let layout = Layout::of(bytes)?;
    let index = layout.only(name)?;
    let (members, object) = (&layout.members, &layout.object);
    let member = &members[index];
    let cut = match (index.checked_sub(1).map(|i| &members[i]), members.get(index + 1)) {
        // The next entry takes its place, white space before it included.
        (_, Some(next)) => member.key.start..next.key.start,
        (Some(previous), None) => previous.value.end..member.value.end,
        (None, None) => object.start + 1..object.end - 1,
    };
    checked(bytes, layout.spliced(cut, ""), |servers| servers.retain(|(n, _)| n != name))
}

/// Puts one entry in, last, in the file's own style; without a file, makes one.
pub fn add(bytes: Option<&[u8]>, name: &str, entry: &Json) -> Result<Vec<u8>, EditProblem> {
    check_entry(name, entry)?;
    let Some(bytes) = bytes else {
        let style = Style { multiline: true, newline: "\n", unit: "  " };
        let mut out = String::from("{\n  \"mcpServers\": {\n    ");
        write(&Json::String(name.into()), &style, "", &mut out);
        out.push_str(": ");
        write(entry, &style, "    ", &mut out);
        out.push_str("\n  }\n}\n");
        let made = out.into_bytes();
        return match json::servers(&made)?.as_slice() {
            [(n, e)] if n == name && e == entry => Ok(made),
            _ => Err(EditProblem::Unclear),
        };
    };
    let layout = Layout::of(bytes)?;
    if layout.members.iter().any(|m| m.name == name) {
        return Err(EditProblem::Exists { name: name.into() });
    }
    let (object, newline, unit) = (&layout.object, layout.newline(), layout.unit());
    // What separates the last two entries separates the new one; or what stands before the only one does.
    let separator = match layout.members.as_slice() {
        [] => None,
        [only] => Some(format!(",{}", &layout.text[object.start + 1..only.key.start])),
        [.., before, last] => Some(layout.text[before.value.end..last.key.start].to_string()),
    };
    let multiline = separator.as_deref().map_or(layout.text.contains('\n'), |s| s.contains('\n'));
    let style = Style { multiline, newline, unit: &unit };
    let outer = layout.line_indent(object.start);
    let inner = match &separator {
        Some(separator) => separator[separator.trim_end_matches([' ', '\t']).len()..].to_string(),
        None => format!("{outer}{unit}"),
    };
    let mut out = separator.clone().unwrap_or_default();
    if separator.is_none() && multiline {
        out.push_str(newline);
        out.push_str(&inner);
    }
    write(&Json::String(name.into()), &style, "", &mut out);
    out.push_str(layout.colon());
    write(entry, &style, if multiline { &inner } else { "" }, &mut out);
    if separator.is_none() && multiline {
        out.push_str(newline);
        out.push_str(outer);
    }
    let place = match layout.members.last() {
        Some(last) => last.value.end..last.value.end,
        None => object.start + 1..object.end - 1,
    };
    checked(bytes, layout.spliced(place, &out), |servers| servers.push((name.to_string(), entry.clone())))
}

/// Exchanges one entry's value; its key and place stay.
pub fn replace(bytes: &[u8], name: &str, entry: &Json) -> Result<Vec<u8>, EditProblem> {
    check_entry(name, entry)?;
    let layout = Layout::of(bytes)?;
    let index = layout.only(name)?;
    let member = &layout.members[index];
    let indent = layout.indent(member.key.start);
    let multiline = indent.is_some() || layout.text[member.value.clone()].contains('\n');
    let unit = layout.unit();
    let mut out = String::new();
    let indent = indent.unwrap_or_else(|| layout.line_indent(member.key.start));
    write(entry, &Style { multiline, newline: layout.newline(), unit: &unit }, indent, &mut out);
    checked(bytes, layout.spliced(member.value.clone(), &out), |servers| servers[index].1 = entry.clone())
}

fn check_entry(name: &str, entry: &Json) -> Result<(), EditProblem> {
    entry::check_name(name).map_err(EditProblem::Name)?;
    match entry {
        Json::Object(_) => Ok(()),
        other => Err(EditProblem::NotAnEntry { found: other.kind() }),
    }
}

/// Hands an edited file on only when it means what was intended.
fn checked(before: &[u8], after: Vec<u8>, edit: impl FnOnce(&mut Vec<(String, Json)>)) -> Result<Vec<u8>, EditProblem> {
    let mut expected = json::servers(before)?;
    edit(&mut expected);
    if json::servers(&after)? == expected { Ok(after) } else { Err(EditProblem::Unclear) }
}

struct Style<'a> {
    multiline: bool,
    newline: &'a str,
    unit: &'a str,
}

/// A short array of plain values stays on one line, as people write `args`.
const INLINE_ARRAY: usize = 80;

/// Writes a value; lines after the first begin with `indent`.
fn write(value: &Json, style: &Style, indent: &str, out: &mut String) {
    let inner = format!("{indent}{}", style.unit);
    let line = |indent: &str, out: &mut String| {
        if style.multiline {
            out.push_str(style.newline);
            out.push_str(indent);
        }
    };
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Json::Number(number) => out.push_str(&number.to_string()),
        Json::String(text) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
        Json::Array(items) if items.is_empty() => out.push_str("[]"),
        Json::Object(members) if members.is_empty() => out.push_str("{}"),
        Json::Array(items) => {
            let plain = items.iter().all(|item| !matches!(item, Json::Array(_) | Json::Object(_)));
            if plain {
                let mut words = Vec::with_capacity(items.len());
                for item in items {
                    let mut word = String::new();
                    write(item, style, "", &mut word);
                    words.push(word);
                }
                let joined = words.join(if style.multiline { ", " } else { "," });
                if !style.multiline || joined.chars().count() <= INLINE_ARRAY {
                    out.push('[');
                    out.push_str(&joined);
                    out.push(']');
                    return;
                }
            }
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                line(&inner, out);
                write(item, style, &inner, out);
            }
            line(indent, out);
            out.push(']');
        }
        Json::Object(members) => {
            for (index, (name, value)) in members.iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                line(&inner, out);
                out.push_str(&serde_json::Value::from(name.as_str()).to_string());
                out.push_str(if style.multiline { ": " } else { ":" });
                write(value, style, &inner, out);
            }
            line(indent, out);
            out.push('}');
        }
    }
}

/// An entry as pretty JSON, as a new file would hold it.
pub fn pretty(entry: &Json) -> String {
    let mut out = String::new();
    write(entry, &Style { multiline: true, newline: "\n", unit: "  " }, "", &mut out);
    out
}

/// Removes a server's entry from its file. `shown_hash`: SHA-256 of the file as it was shown.
pub async fn remove_server(level: &Level, id: &ServerId, shown_hash: &str) -> Result<(), EditProblem> {
    let gone = || EditProblem::NotThere { name: id.name.clone() };
    if id.machine != level.machine.id() || (id.file != level.new_file() && id.file != level.legacy_file()) {
        return Err(gone());
    }
    let Found { file, read } = list::read(level).await;
    if file != id.file {
        return Err(EditProblem::Changed);
    }
    let bytes = match read {
        FileRead::Absent => return Err(gone()),
        FileRead::Bytes(bytes) => bytes,
        other => return Err(EditProblem::Unreadable(unreadable(&file, &other))),
    };
    if digest::sha256(&bytes) != shown_hash {
        return Err(EditProblem::Changed);
    }
    let after = remove(&bytes, &id.name)?;
    level.machine.write(&file, Some(&bytes), &after, level.within()).await.map_err(write_problem)
}

/// Adds an entry to the level's file that counts, or exchanges the one of that name. `shown_hash`: SHA-256 of the file
/// as it was shown, nothing when there was none.
pub async fn add_server(
    level: &Level,
    name: &str,
    entry_json: &str,
    shown_hash: Option<&str>,
    replace_it: bool,
) -> Result<ServerId, EditProblem> {
    let entry = json::parse(entry_json.as_bytes()).map_err(EditProblem::BadEntry)?;
    let Found { file, read } = list::read(level).await;
    let before = match read {
        FileRead::Absent => None,
        FileRead::Bytes(bytes) => Some(bytes),
        other => return Err(EditProblem::Unreadable(unreadable(&file, &other))),
    };
    if before.as_deref().map(digest::sha256).as_deref() != shown_hash {
        // A file that is ignored was shown without a hash: what is wrong with it says more than that it changed.
        if let (Some(bytes), None) = (&before, shown_hash) {
            json::servers(bytes)?;
        }
        return Err(EditProblem::Changed);
    }
    let after = match &before {
        Some(bytes) if replace_it && json::servers(bytes)?.iter().any(|(n, _)| n == name) => replace(bytes, name, &entry)?,
        other => add(other.as_deref(), name, &entry)?,
    };
    level.machine.write(&file, before.as_deref(), &after, level.within()).await.map_err(write_problem)?;
    Ok(ServerId { source: Source::Native, machine: level.machine.id(), file, place: None, name: name.into() })
}

fn write_problem(problem: WriteError) -> EditProblem {
    match problem {
        WriteError::Changed { .. } => EditProblem::Changed,
        other => EditProblem::Write(other),
    }
}

#[cfg(test)]
mod tests;
