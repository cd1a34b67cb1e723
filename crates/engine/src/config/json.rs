//! The one parser of configuration files: listing, consent, start and editing all see a file through it (row 25).
//! Bytes become an ordered tree that keeps members written twice, or one sentence that says why the whole file is
//! ignored (B2). It knows where `mcpServers` stands and nothing of what an entry means.
//!
//! No message holds content of the file beyond the offending key.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::limits::{CONFIG_DEPTH, CONFIG_FILE_BYTES};

/// A UTF-8 byte-order mark; one at the start of a file is fine.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A JSON value whose objects keep their members' order, and members written twice.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Why a whole file is ignored. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    #[error("The file is larger than {} KiB, so it is ignored.", CONFIG_FILE_BYTES / 1024)]
    TooLarge,
    #[error("The file is empty. It needs at least {{ \"mcpServers\": {{}} }}.")]
    Empty,
    #[error("The file is not UTF-8 text: line {line}, column {column} holds a byte that cannot be read. Save it as UTF-8.")]
    NotUtf8 { line: usize, column: usize },
    #[error("The file is not valid JSON: line {line}, column {column}: {problem}.")]
    NotJson { line: usize, column: usize, problem: String },
    #[error(
        "The file has a comment in line {line}, column {column}. JSON has no comments: remove it, and the servers are read again."
    )]
    Comment { line: usize, column: usize },
    #[error(
        "The file has a comma too many before line {line}, column {column}: JSON allows none after the last item. Remove it."
    )]
    TrailingComma { line: usize, column: usize },
    #[error("The file is nested deeper than {CONFIG_DEPTH} levels in line {line}, column {column}, so it is ignored.")]
    TooDeep { line: usize, column: usize },
    /// It is valid JSON all the same.
    #[error("The file has a number in line {line}, column {column} that is too large to be read. Write a smaller one.")]
    NumberTooLarge { line: usize, column: usize },
    #[error("The file's top level is {found}, not an object. It must look like {{ \"mcpServers\": {{ … }} }}.")]
    NotAnObject { found: &'static str },
    #[error("The file has no `mcpServers`. Servers are declared under this key: {{ \"mcpServers\": {{ … }} }}.")]
    NoServers,
    #[error("The file has its servers under {}. Mework reads them under `mcpServers`: rename that key.", quoted(.key))]
    OtherKey { key: String },
    #[error("`mcpServers` is {found}, not an object of servers by name.")]
    ServersNotAnObject { found: &'static str },
    #[error("`mcpServers` is written twice in this file, so it is unclear which one counts. Join the two.")]
    ServersTwice,
}

/// Keys under which other programs keep their servers.
const OTHER_KEYS: [&str; 5] = ["servers", "mcp.servers", "context_servers", "mcp_servers", "mcp-servers"];

impl Json {
    /// With an article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::String(_) => "text",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
    pub fn as_object(&self) -> Option<&[(String, Json)]> {
        match self {
            Self::Object(members) => Some(members),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }
}

/// A key as messages show it: in quotes, control and invisible characters escaped, at most 80 characters.
pub fn quoted(key: &str) -> String {
    let mut shown: String = key.chars().take(80).flat_map(char::escape_debug).collect();
    if key.chars().nth(80).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The members of a file's `mcpServers`, in order, names written twice kept.
pub fn servers(bytes: &[u8]) -> Result<Vec<(String, Json)>, FileProblem> {
    let top = match parse(bytes)? {
        Json::Object(members) => members,
        other => return Err(FileProblem::NotAnObject { found: other.kind() }),
    };
    let keys: Vec<String> = top.iter().map(|(k, _)| k.clone()).collect();
    let nested = top.iter().any(|(k, v)| k == "mcp" && v.as_object().is_some_and(|m| m.iter().any(|(k, _)| k == "servers")));
    let mut found = top.into_iter().filter(|(k, _)| k == "mcpServers").map(|(_, v)| v);
    match (found.next(), found.next()) {
        (Some(Json::Object(members)), None) => Ok(members),
        (Some(other), None) => Err(FileProblem::ServersNotAnObject { found: other.kind() }),
        (Some(_), Some(_)) => Err(FileProblem::ServersTwice),
        (None, _) => {
            let other = keys.iter().find(|k| OTHER_KEYS.contains(&k.as_str()) || k.eq_ignore_ascii_case("mcpServers"));
            match other {
                Some(key) => Err(FileProblem::OtherKey { key: key.clone() }),
                None if nested => Err(FileProblem::OtherKey { key: "mcp.servers".into() }),
                None => Err(FileProblem::NoServers),
            }
        }
    }
}

/// Parses strict JSON: one byte-order mark allowed, at most [`CONFIG_FILE_BYTES`] and [`CONFIG_DEPTH`].
pub fn parse(bytes: &[u8]) -> Result<Json, FileProblem> {
    if bytes.len() > CONFIG_FILE_BYTES {
        return Err(FileProblem::TooLarge);
    }
    let text = text(bytes)?;
    if text.trim_ascii().is_empty() {
        return Err(FileProblem::Empty);
    }
    check_depth(text)?;
    serde_json::from_str(text).map_err(|e| not_json(text, &e))
}

/// The file's text without its byte-order mark.
pub fn text(bytes: &[u8]) -> Result<&str, FileProblem> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| {
        let good = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
        let (line, column) = position(good, good.len());
        FileProblem::NotUtf8 { line, column }
    })
}

/// Counted before parsing, so that no parser recurses further than this.
fn check_depth(text: &str) -> Result<(), FileProblem> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > CONFIG_DEPTH {
                    let (line, column) = position(text, at);
                    return Err(FileProblem::TooDeep { line, column });
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Line and column (in characters) of a byte offset, both from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    // A column counts characters: bytes that do not continue one.
    let column = before[start..].iter().filter(|&&b| b & 0xC0 != 0x80).count() + 1;
    (line, column)
}

/// The parser's words for a number that is larger than any.
const OUT_OF_RANGE: &str = "number out of range";

fn not_json(text: &str, error: &serde_json::Error) -> FileProblem {
    let bytes = text.as_bytes();
    let start = match error.line() {
        0 | 1 => 0,
        line => bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(line - 2).map_or(0, |(i, _)| i + 1),
    };
    // The parser's column counts the bytes it read of that line, the offending one included.
    let at = (start + error.column().saturating_sub(1)).min(text.len());
    let (line, column) = position(text, at);
    let words = error.to_string();
    if bytes.get(at) == Some(&b'/') || bytes.get(at) == Some(&b'#') {
        return FileProblem::Comment { line, column };
    }
    if words.starts_with("trailing comma") {
        return FileProblem::TrailingComma { line, column };
    }
    let problem = match words.split(" at line ").next().unwrap_or_default() {
        OUT_OF_RANGE => {
            let is_in_number = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
            let first = bytes[..at].iter().rposition(|b| !is_in_number(b)).map_or(0, |before| before + 1);
            let (line, column) = position(text, first);
            return FileProblem::NumberTooLarge { line, column };
        }
        "expected `,` or `}`" => "a `,` or `}` is missing",
        "expected `,` or `]`" => "a `,` or `]` is missing",
        "expected `:`" => "a `:` is missing",
        "key must be a string" => "a key must stand in double quotes",
        "invalid number" => "a number is not written as JSON wants it",
        "invalid escape" => "a `\\` in text is followed by something JSON does not know; write a single backslash as `\\\\`",
        "control character (\\u0000-\\u001F) found while parsing a string" => "text in quotes may not hold a line break or tab",
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => "a `\\u` escape is incomplete",
        "trailing characters" => "something follows after the end of the JSON",
        words if words.starts_with("EOF") => "it ends too early; a closing quote, `}` or `]` is missing",
        _ => "something else was expected here",
    };
    FileProblem::NotJson { line, column, problem: problem.into() }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tree;
        impl<'de> Visitor<'de> for Tree {
            type Value = Json;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("any JSON value")
            }
            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }
            fn visit_bool<E>(self, v: bool) -> Result<Json, E> {
                Ok(Json::Bool(v))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Json, E> {
                Ok(Json::Number(v.into()))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Json, E> {
                Ok(Json::Number(v.into()))
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Json, E> {
                Number::from_f64(v).map(Json::Number).ok_or_else(|| E::custom(OUT_OF_RANGE))
            }
            fn visit_str<E>(self, v: &str) -> Result<Json, E> {
                Ok(Json::String(v.into()))
            }
            fn visit_string<E>(self, v: String) -> Result<Json, E> {
                Ok(Json::String(v))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Json::Array(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Json::Object(members))
            }
        }
        deserializer.deserialize_any(Tree)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(text: impl AsRef<[u8]>) -> String {
        servers(text.as_ref()).unwrap_err().to_string()
    }

    #[test]
    fn b2_a_file_keeps_order_and_what_is_written_twice() {
        let found =
            servers(br#"{"x": [1, -2, 0.5, true, null], "mcpServers": {"b": {"k": 1, "k": 2}, "a": "t", "b": {}}}"#).unwrap();
        let number = |n: u64| Json::Number(n.into());
        assert_eq!(
            found,
            [
                ("b".to_string(), Json::Object(vec![("k".into(), number(1)), ("k".into(), number(2))])),
                ("a".to_string(), Json::String("t".into())),
                ("b".to_string(), Json::Object(vec![])),
            ]
        );
    }

    #[test]
    fn b2_one_byte_order_mark_is_fine_two_are_not() {
        assert_eq!(servers(b"\xEF\xBB\xBF{\"mcpServers\":{}}"), Ok(vec![]));
        assert!(matches!(
            servers(b"\xEF\xBB\xBF\xEF\xBB\xBF{\"mcpServers\":{}}"),
            Err(FileProblem::NotJson { line: 1, column: 1, .. })
        ));
    }

    #[test]
    fn b2_says_why_and_where() {
        let table: &[(&[u8], &str)] = &[
            (b"", "The file is empty. It needs at least { \"mcpServers\": {} }."),
            (b" \r\n", "The file is empty. It needs at least { \"mcpServers\": {} }."),
            (
                b"{\n \"a\xC3\xA4\xFF",
                "The file is not UTF-8 text: line 2, column 5 holds a byte that cannot be read. Save it as UTF-8.",
            ),
            (b"[]", "The file's top level is an array, not an object. It must look like { \"mcpServers\": { … } }."),
            (b"{}", "The file has no `mcpServers`. Servers are declared under this key: { \"mcpServers\": { … } }."),
            (b"{\"mcpServers\":[]}", "`mcpServers` is an array, not an object of servers by name."),
            (
                b"{\"mcpServers\":{},\"mcpServers\":{}}",
                "`mcpServers` is written twice in this file, so it is unclear which one counts. Join the two.",
            ),
            (
                b"{\n  \"mcpServers\": {\n}",
                "The file is not valid JSON: line 3, column 1: it ends too early; a closing quote, `}` or `]` is missing.",
            ),
            (b"{\"secret\" 1}", "The file is not valid JSON: line 1, column 11: a `:` is missing."),
            (
                b"{\"mcpServers\":{\"a\":{\"x\":1e999}}}",
                "The file has a number in line 1, column 25 that is too large to be read. Write a smaller one.",
            ),
            (
                b"{\"mcpServers\":{\"a\":{\"x\":[\n -1e400, 2]}}}",
                "The file has a number in line 2, column 2 that is too large to be read. Write a smaller one.",
            ),
            (
                b"{\"mcpServers\":{}} secret",
                "The file is not valid JSON: line 1, column 19: something follows after the end of the JSON.",
            ),
            (
                b"{\"a\":\"C:\\Users\"}",
                "The file is not valid JSON: line 1, column 10: a `\\` in text is followed by something JSON does not know; write a single backslash as `\\\\`.",
            ),
        ];
        for (bytes, expected) in table {
            assert_eq!(message(bytes), *expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    /// Complaint 20: a comment or a comma too many is named, at its line.
    #[test]
    fn b2_comments_and_trailing_commas_are_named() {
        assert_eq!(servers(b"{\n  /* mine */\n  \"mcpServers\": {}\n}"), Err(FileProblem::Comment { line: 2, column: 3 }));
        assert_eq!(servers(b"{\n  \"mcpServers\": {} // mine\n}"), Err(FileProblem::Comment { line: 2, column: 20 }));
        for text in
            ["{\"a\": /* x */ 1}", "{\"a\":1 // x\n}", "{\"a\":[1, # x\n2]}", "// x\n{}", "{} // x", "{\"a\":1, // x\n\"b\":2}"]
        {
            let found = servers(text.as_bytes());
            assert!(matches!(found, Err(FileProblem::Comment { line: 1, .. })), "{text}: {found:?}");
        }
        assert_eq!(servers(b"{\"mcpServers\": {\"a\": {},\n}}"), Err(FileProblem::TrailingComma { line: 2, column: 1 }));
        assert_eq!(
            servers(b"{\"mcpServers\": {\"a\": {\"args\": [1,]}}}"),
            Err(FileProblem::TrailingComma { line: 1, column: 34 })
        );
    }

    /// Complaint 24: the key that was used is named.
    #[test]
    fn b2_servers_under_another_programs_key() {
        for key in ["servers", "mcp.servers", "context_servers", "mcp_servers", "mcpservers"] {
            assert_eq!(
                message(format!(r#"{{"theme": 1, "{key}": {{"a": {{}}}}}}"#)),
                format!("The file has its servers under `{key}`. Mework reads them under `mcpServers`: rename that key.")
            );
        }
        assert_eq!(servers(br#"{"mcp": {"servers": {}}}"#), Err(FileProblem::OtherKey { key: "mcp.servers".into() }));
        assert_eq!(servers(br#"{"servers": {"a": 1}, "mcpServers": {}}"#), Ok(vec![]));
    }

    #[test]
    fn b2_size_and_depth() {
        let mut large = br#"{"mcpServers":{}}"#.to_vec();
        large.resize(CONFIG_FILE_BYTES, b' ');
        assert_eq!(servers(&large), Ok(vec![]));
        large.push(b' ');
        assert_eq!(servers(&large), Err(FileProblem::TooLarge));

        let nested = |n: usize| format!("{{\"mcpServers\":{{}},\"x\":\n{}\"[[\"{}}}", "[".repeat(n), "]".repeat(n));
        assert_eq!(servers(nested(CONFIG_DEPTH - 1).as_bytes()), Ok(vec![]));
        assert_eq!(servers(nested(CONFIG_DEPTH).as_bytes()), Err(FileProblem::TooDeep { line: 2, column: 64 }));
        assert!(matches!(servers("[".repeat(CONFIG_FILE_BYTES).as_bytes()), Err(FileProblem::TooDeep { .. })));
    }

    #[test]
    fn a_key_in_a_message_is_harmless() {
        assert_eq!(quoted("a\u{202E}\u{1B}[31m\n"), r"`a\u{202e}\u{1b}[31m\n`");
        assert_eq!(quoted(&"x".repeat(81)), format!("`{}…`", "x".repeat(80)));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = servers(&bytes);
        }
        /// Text made of JSON's own pieces gets further than random bytes.
        #[test]
        fn agrees_with_the_plain_parser(pieces in prop::collection::vec(prop::sample::select(
            vec!["{", "}", "[", "]", ",", ":", "\"a\"", "\"é\\n\"", "1", "-0.5e3", "true", "null", " ", "\r\n", "\t", "/", "\"", "\\"]), 0..24)) {
            let text = pieces.concat();
            let plain = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert_eq!(parse(text.as_bytes()).is_ok(), plain.is_ok());
        }
    }
}
