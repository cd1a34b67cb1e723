//! JSON as people write it into a file: its line ends, its indentation, short arrays on one line.

use crate::config::json::Json;

/// How a file is written.
pub struct Style<'a> {
    pub multiline: bool,
    pub newline: &'a str,
    pub unit: &'a str,
}

/// A short array of plain values stays on one line, as people write `args`.
const INLINE_ARRAY: usize = 80;

/// A string, quoted and escaped.
pub fn written(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a value; lines after the first begin with `indent`.
pub fn write(value: &Json, style: &Style, indent: &str, out: &mut String) {
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
        Json::String(text) => out.push_str(&written(text)),
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
                out.push_str(&written(name));
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
