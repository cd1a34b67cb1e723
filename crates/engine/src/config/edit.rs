//! One entry into a file, changed in it, or out of it, every other byte as it was (B17): the functions here work on bytes,
//! those of [`file`] on a level's file, refused when it changed since it was shown.
//!
//! Where members stand comes from a second parser that keeps ranges; what they are from the strict one. Both must agree
//! before anything is cut, and the outcome is parsed again before it is handed on.

mod file;
mod layout;
mod lists;
mod shown;
mod style;

pub use file::{Edited, Standing, add_server, edit_server, remove_server, set_tool, standing, would_add, would_edit};
pub use lists::{ToolList, list_tool};
pub use style::pretty;

use layout::Layout;
use style::{Style, write, written};

use super::entry;
use super::json::{self, FileProblem, Json, quoted};
use crate::limits;
use crate::machine::WriteError;

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
    #[error("The entry cannot be used: {}", of_text(.0))]
    BadEntry(FileProblem),
    #[error("`{key}` is declared twice in the entry, so it is unclear which one counts. Remove one of the two.")]
    KeyTwice { key: &'static str },
    #[error("`{key}` is not an array of texts, so no tool can be listed in it. Edit the entry.")]
    NotAList { key: &'static str },
    #[error(
        "With this the file would be larger than {} KiB and be ignored whole. Nothing was written.",
        limits::CONFIG_FILE_BYTES / 1024
    )]
    TooLarge,
    #[error("The file is written in a way that cannot be edited safely. Edit it by hand.")]
    Unclear,
    #[error("The file changed since it was shown, so nothing was written. Look at it again, then repeat.")]
    Changed,
    #[error("{0}. Nothing was written.")]
    Write(WriteError),
}

/// What is wrong with JSON that is an entry's text and no file.
fn of_text(problem: &FileProblem) -> String {
    match problem {
        FileProblem::Empty => "it is empty. It needs at least {}.".into(),
        problem => problem.to_string().replacen("The file", "the text", 1),
    }
}

fn parse_entry(text: &str) -> Result<Json, EditProblem> {
    json::parse(text.as_bytes()).map_err(EditProblem::BadEntry)
}

/// Takes one entry out, with the comma and white space that set it apart.
pub fn remove(bytes: &[u8], name: &str) -> Result<Vec<u8>, EditProblem> {
    let layout = Layout::of(bytes)?;
    let index = layout.only(name)?;
    checked(bytes, layout.spliced(&[(layout.cut(index), "")]), |servers| drop(servers.remove(index)))
}

/// Puts one entry in, last, in the file's own style; without a file, makes one.
pub fn add(bytes: Option<&[u8]>, name: &str, entry: &Json) -> Result<Vec<u8>, EditProblem> {
    check_entry(name, entry)?;
    let Some(bytes) = bytes else {
        let style = Style { multiline: true, newline: "\n", unit: "  " };
        let mut out = String::from("{\n  \"mcpServers\": {\n    ");
        out.push_str(&written(name));
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
    let (place, text) = layout.appended(name, entry);
    checked(bytes, layout.spliced(&[(place, &text)]), |servers| servers.push((name.to_string(), entry.clone())))
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
    checked(bytes, layout.spliced(&[(member.value.clone(), &out)]), |servers| servers[index].1 = entry.clone())
}

/// One entry's text as an editor shows it: as it stands there, without the indentation of its own line.
pub fn text_of(bytes: &[u8], name: &str) -> Result<String, EditProblem> {
    let layout = Layout::of(bytes)?;
    let member = &layout.members[layout.only(name)?];
    Ok(shown::shown(&layout.text[member.value.clone()], layout.line_indent(member.key.start)))
}

/// Gives one entry the text an editor holds, letter for letter, and the name it gives it; the place stays. Lines that are
/// as [`text_of`] showed them keep their bytes.
pub fn change(bytes: &[u8], name: &str, new_name: &str, text: &str) -> Result<Vec<u8>, EditProblem> {
    let entry = parse_entry(text)?;
    check_entry(new_name, &entry)?;
    let layout = Layout::of(bytes)?;
    let index = layout.only(name)?;
    if new_name != name && layout.members.iter().any(|m| m.name == new_name) {
        return Err(EditProblem::Exists { name: new_name.into() });
    }
    let member = &layout.members[index];
    let raw = &layout.text[member.value.clone()];
    let value = shown::restored(raw, layout.line_indent(member.key.start), layout.newline(), text);
    let key = if new_name == name { layout.text[member.key.clone()].to_string() } else { written(new_name) };
    let after = layout.spliced(&[(member.key.clone(), &key), (member.value.clone(), &value)]);
    checked(bytes, after, |servers| servers[index] = (new_name.to_string(), entry))
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
    match json::servers(&after) {
        Ok(servers) if servers == expected => Ok(after),
        Err(FileProblem::TooLarge) => Err(EditProblem::TooLarge),
        Err(problem @ FileProblem::TooDeep { .. }) => Err(problem.into()),
        Ok(_) | Err(_) => Err(EditProblem::Unclear),
    }
}

#[cfg(test)]
mod tests;
