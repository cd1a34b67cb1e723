//! Where the members of a file's `mcpServers`, and of one entry in it, stand: ranges of bytes, and what an edit puts there
//! or takes away. Nothing is decided here; every outcome is parsed again by whoever asked for it.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::style::{Style, write, written};
use super::{EditProblem, Json, json};

/// Where a member stands: the text from its key's first quote to its value's end, and the value alone.
#[derive(Debug, Clone)]
pub struct Member {
    pub name: String,
    pub key: Range<usize>,
    pub value: Range<usize>,
}

/// An object of a file and its members, in bytes of the text behind a byte-order mark.
#[derive(Debug)]
pub struct Layout<'a> {
    pub bom: &'a [u8],
    pub text: &'a str,
    /// From its `{` to behind its `}`.
    pub object: Range<usize>,
    pub members: Vec<Member>,
    /// One step of indentation as the object around this one has it.
    around: Option<String>,
}

/// An array of a file: from its `[` to behind its `]`, and its items.
#[derive(Debug)]
pub struct Items {
    array: Range<usize>,
    items: Vec<Range<usize>>,
}

fn strict(text: &str) -> Option<Value<'_>> {
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
    jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict).ok()?.value
}

fn span(range: jsonc_parser::common::Range, from: usize) -> Range<usize> {
    range.start + from..range.end + from
}

fn members(object: &Object<'_>, from: usize) -> Vec<Member> {
    let member = |name: &str, key, value| Member { name: name.to_string(), key: span(key, from), value: span(value, from) };
    object.properties.iter().map(|p| member(p.name.as_str(), p.name.range(), p.value.range())).collect()
}

impl<'a> Layout<'a> {
    /// Of a file's `mcpServers`.
    pub fn of(bytes: &'a [u8]) -> Result<Self, EditProblem> {
        let servers = json::servers(bytes)?;
        let text = json::text(bytes)?;
        let bom = &bytes[..bytes.len() - text.len()];
        let Some(Value::Object(top)) = strict(text) else { return Err(EditProblem::Unclear) };
        let Some(Value::Object(object)) = top.properties.iter().find(|p| p.name.as_str() == "mcpServers").map(|p| &p.value)
        else {
            return Err(EditProblem::Unclear);
        };
        let members = members(object, 0);
        if !members.iter().map(|m| &m.name).eq(servers.iter().map(|(name, _)| name)) {
            return Err(EditProblem::Unclear);
        }
        Ok(Self { bom, text, object: span(object.range, 0), members, around: None })
    }

    /// Of one member's value, which must be an object.
    pub fn inside(&self, index: usize) -> Result<Self, EditProblem> {
        let place = self.members[index].value.clone();
        match strict(&self.text[place.clone()]) {
            Some(Value::Object(object)) => {
                let members = members(&object, place.start);
                Ok(Self { bom: self.bom, text: self.text, members, object: place, around: Some(self.unit()) })
            }
            _ => Err(EditProblem::Unclear),
        }
    }

    /// The items of one member's value, which must be an array.
    pub fn items(&self, index: usize) -> Result<Items, EditProblem> {
        let array = self.members[index].value.clone();
        match strict(&self.text[array.clone()]) {
            Some(Value::Array(found)) => {
                Ok(Items { items: found.elements.iter().map(|item| span(item.range(), array.start)).collect(), array })
            }
            _ => Err(EditProblem::Unclear),
        }
    }

    /// The one member of that name.
    pub fn only(&self, name: &str) -> Result<usize, EditProblem> {
        let mut found = self.members.iter().enumerate().filter(|(_, m)| m.name == name).map(|(i, _)| i);
        match (found.next(), found.next()) {
            (Some(index), None) => Ok(index),
            (Some(_), Some(_)) => Err(EditProblem::Twice { name: name.into() }),
            (None, _) => Err(EditProblem::NotThere { name: name.into() }),
        }
    }

    /// The whole file with these pieces exchanged; they stand in order and apart.
    pub fn spliced(&self, pieces: &[(Range<usize>, &str)]) -> Vec<u8> {
        let mut out = self.bom.to_vec();
        let mut at = 0;
        for (range, with) in pieces {
            out.extend_from_slice(&self.text.as_bytes()[at..range.start]);
            out.extend_from_slice(with.as_bytes());
            at = range.end;
        }
        out.extend_from_slice(&self.text.as_bytes()[at..]);
        out
    }

    /// A member with the comma and white space that set it apart.
    pub fn cut(&self, index: usize) -> Range<usize> {
        let (members, object) = (&self.members, &self.object);
        let member = &members[index];
        match (index.checked_sub(1).map(|i| &members[i]), members.get(index + 1)) {
            // The next member takes its place, white space before it included.
            (_, Some(next)) => member.key.start..next.key.start,
            (Some(previous), None) => previous.value.end..member.value.end,
            (None, None) => object.start + 1..object.end - 1,
        }
    }

    /// Where a new last member goes, and its text in the object's own style.
    pub fn appended(&self, name: &str, value: &Json) -> (Range<usize>, String) {
        let (object, newline, unit) = (&self.object, self.newline(), self.unit());
        // What separates the last two members separates the new one; or what stands before the only one does.
        let separator = match self.members.as_slice() {
            [] => None,
            [only] => Some(format!(",{}", &self.text[object.start + 1..only.key.start])),
            [.., before, last] => Some(self.text[before.value.end..last.key.start].to_string()),
        };
        let multiline = separator.as_deref().map_or(self.text.contains('\n'), |s| s.contains('\n'));
        let style = Style { multiline, newline, unit: &unit };
        let outer = self.line_indent(object.start);
        let inner = match &separator {
            Some(separator) => separator[separator.trim_end_matches([' ', '\t']).len()..].to_string(),
            None => format!("{outer}{unit}"),
        };
        let mut out = separator.clone().unwrap_or_default();
        if separator.is_none() && multiline {
            out.push_str(newline);
            out.push_str(&inner);
        }
        out.push_str(&written(name));
        out.push_str(self.colon());
        write(value, &style, if multiline { &inner } else { "" }, &mut out);
        if separator.is_none() && multiline {
            out.push_str(newline);
            out.push_str(outer);
        }
        let place = match self.members.last() {
            Some(last) => last.value.end..last.value.end,
            None => object.start + 1..object.end - 1,
        };
        (place, out)
    }

    /// Where a new last item goes, and its text in the array's own style.
    pub fn with_item(&self, items: &Items, text: &str) -> (Range<usize>, String) {
        let Items { array, items } = items;
        let item = written(text);
        let separator = match items.as_slice() {
            [] => return (array.start + 1..array.end - 1, item),
            [only] => {
                let before = &self.text[array.start + 1..only.start];
                let spaced = !before.is_empty() || self.colon().ends_with(' ');
                let after_comma = if before.contains('\n') {
                    before
                } else if spaced {
                    " "
                } else {
                    ""
                };
                format!(",{after_comma}")
            }
            [.., before, last] => self.text[before.end..last.start].to_string(),
        };
        let end = items.last().map_or(array.end - 1, |last| last.end);
        (end..end, separator + &item)
    }

    /// The array without some of its items, at least one of which stays: what is kept stands as it stood.
    pub fn without_items(&self, items: &Items, gone: impl Fn(usize) -> bool) -> (Range<usize>, String) {
        let Items { array, items } = items;
        let first = items.first().map_or(array.end - 1, |item| item.start);
        let last = items.last().map_or(first, |item| item.end);
        let mut out = String::new();
        for (index, item) in items.iter().enumerate().filter(|(index, _)| !gone(*index)) {
            if !out.is_empty() {
                out.push_str(&self.text[items[index - 1].end..item.start]);
            }
            out.push_str(&self.text[item.clone()]);
        }
        (first..last, out)
    }

    /// What stands between the start of the line and `at`, when that is white space only.
    pub fn indent(&self, at: usize) -> Option<&'a str> {
        let start = self.text[..at].rfind('\n').map_or(0, |i| i + 1);
        let before = &self.text[start..at];
        (is_blank(before) && start > 0).then_some(before)
    }

    /// The white space the line that holds `at` begins with.
    pub fn line_indent(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |i| i + 1);
        let line = &self.text[start..at];
        &line[..line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len())]
    }

    pub fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// One step of indentation, as far as the file shows one.
    pub fn unit(&self) -> String {
        let outer = self.line_indent(self.object.start);
        let inner = self.members.first().and_then(|m| self.indent(m.key.start));
        let step = inner.and_then(|inner| inner.strip_prefix(outer)).filter(|step| !step.is_empty());
        let step = step.or(self.around.as_deref()).or((!outer.is_empty()).then_some(outer));
        step.filter(|step| step.len() <= 16).unwrap_or("  ").to_string()
    }

    /// What stands between a key and its value in this object.
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
