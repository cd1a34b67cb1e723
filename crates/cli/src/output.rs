//! What a person at a terminal, or a program reading our output, gets to see: aligned text, colour only on a terminal,
//! control characters of foreign text made visible (security row 28), one JSON document with `-o json`. And how a command
//! ends that cannot go on.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use mework_engine::error::Error;
use mework_engine::text::display;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::args::Format;

/// Why a command ends before its work is done.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// What was asked for is not possible to ask (exit code 2).
    #[error("{0}")]
    Usage(String),
    /// It was tried, or could not be tried (exit code 1).
    #[error("{0}")]
    Failed(#[from] Error),
}

impl Stop {
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(Error::failed(message))
    }
    /// Says why on stderr; with `-o json`, stdout still gets its one document.
    pub fn end(&self, format: Format) -> ExitCode {
        note(&self.to_string());
        if format == Format::Json {
            print_refusal(&self.to_string());
        }
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}

/// The document of a command that cannot be carried out.
pub fn print_refusal(why: &str) {
    print_json(&json!({ "ok": false, "error": display(why) }));
}

/// Writes to stdout. A reader that went away (`| head`) wants no more and no complaint.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if written.is_err() {
        std::process::exit(1);
    }
}

/// One JSON document. What would act on a terminal is written as JSON's own escapes, so that it means the same.
pub fn print_json(value: &impl Serialize) {
    print(&format!("{}\n", escaped(&pretty(value))));
}

/// JSON over several lines.
pub fn pretty(value: &impl Serialize) -> String {
    // What is printed here has string keys and fails nowhere.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// JSON text as a part of a document, laid out like the rest of it. Each number keeps its digits, each key its place, also
/// one that stands there twice.
pub struct Exact<'a>(pub &'a RawValue);

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.get();
        if text.starts_with('[')
            && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text)
        {
            return serializer.collect_seq(items.into_iter().map(Exact));
        }
        if text.starts_with('{')
            && let Ok(Members(members)) = serde_json::from_str(text)
        {
            let mut map = serializer.serialize_map(Some(members.len()))?;
            for (key, value) in members {
                map.serialize_entry(&key, &Exact(value))?;
            }
            return map.end();
        }
        self.0.serialize(serializer)
    }
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> serde::de::Visitor<'de> for All {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(All).map(Members)
    }
}

fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // serde_json has escaped C0; above it, only strings hold anything but ASCII.
        if c >= '\u{7f}' && display(c.encode_utf8(&mut [0; 4])).chars().ne([c]) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out += &format!("\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Text of our own for stderr, colours and all; foreign text in it has passed [`display`].
pub fn say(text: &str) {
    let mut out = std::io::stderr().lock();
    // Without a stderr there is nobody to tell.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Progress, warnings, questions: a line on stderr, with nothing in it that would act on the terminal.
pub fn note(text: &str) {
    say(&format!("{}\n", display(text)));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Good,
    Bad,
    Attention,
    Faint,
    Strong,
}

/// Whether escape sequences may be used on a stream: it is a terminal, and nobody set NO_COLOR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    pub fn stdout() -> Self {
        Self::of(std::io::stdout().is_terminal())
    }
    pub fn stderr() -> Self {
        Self::of(std::io::stderr().is_terminal())
    }
    #[cfg(test)]
    pub fn plain() -> Self {
        Self { colour: false }
    }
    fn of(terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colour: terminal && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb") }
    }
    pub fn paint(self, colour: Colour, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Good => 32,
            Colour::Bad => 31,
            Colour::Attention => 33,
            Colour::Faint => 2,
            Colour::Strong => 1,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Rows of cells as aligned columns; a colour does not count as width.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<(String, Option<Colour>)>>,
}

impl Table {
    pub fn row(&mut self) -> &mut Self {
        self.rows.push(Vec::new());
        self
    }
    pub fn cell(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(text.into(), None)
    }
    pub fn painted(&mut self, colour: Colour, text: impl Into<String>) -> &mut Self {
        self.push(text.into(), Some(colour))
    }
    fn push(&mut self, text: String, colour: Option<Colour>) -> &mut Self {
        if let Some(row) = self.rows.last_mut() {
            row.push((text, colour));
        }
        self
    }
    /// One line per row, without a line end, in the rows' order.
    pub fn lines(&self, style: Style, indent: usize) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|(text, _)| text.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
        self.rows
            .iter()
            .map(|row| {
                let mut line = " ".repeat(indent);
                let last = row.iter().rposition(|(text, _)| !text.is_empty());
                for (column, (text, colour)) in row.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
                    line += &colour.map_or_else(|| text.clone(), |colour| style.paint(colour, text));
                    if Some(column) != last {
                        line += &" ".repeat(widths[column] - text.chars().count() + 2);
                    }
                }
                line
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn exact_text_is_laid_out_and_keeps_its_characters() {
        let text = r#"{"b":[12345678901234567890.10,{}],"a":"\u00e4\"","b":1e999,"c":[]}"#;
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        let expected = "{\n  \"b\": [\n    12345678901234567890.10,\n    {}\n  ],\n  \"a\": \"\\u00e4\\\"\",\n  \"b\": 1e999,\n  \"c\": []\n}";
        assert_eq!(pretty(&Exact(raw)), expected);
    }

    #[test]
    fn row_28_json_means_the_same_with_nothing_that_acts_on_a_terminal() {
        let value = json!({ "a": "é\u{1b}[31m\u{9b}31m\u{202e}\u{e0041}\u{7f}\n" });
        let text = escaped(&format!("{value:#}"));
        assert_eq!(text, "{\n  \"a\": \"é\\u001b[31m\\u009b31m\\u202e\\udb40\\udc41\\u007f\\n\"\n}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn columns_align_whatever_is_painted_and_no_line_ends_in_spaces() {
        let mut table = Table::default();
        table.row().cell("a").painted(Colour::Good, "ready").cell("x");
        table.row().cell("längér").painted(Colour::Bad, "unavailable").cell("");
        assert_eq!(table.lines(Style { colour: false }, 2), ["  a       ready        x", "  längér  unavailable"]);
        let painted = table.lines(Style { colour: true }, 0);
        assert_eq!(painted[0], "a       \u{1b}[32mready\u{1b}[0m        x");
    }
}
