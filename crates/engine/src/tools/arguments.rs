//! The arguments of a call as a person or a model wrote them: JSON text whose exact tokens are shown on the card and
//! sent to the server (row 7). Checked here for being an object, small enough, and free of keys written twice.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::json::DEPTH;
use crate::limits;
use crate::text::display_capped;

/// How much of a key or value a message shows.
const SHOWN_CHARS: usize = 200;

/// Arguments that are a JSON object.
#[derive(Debug, Clone)]
pub struct Arguments {
    text: Arc<str>,
    value: Arc<Map<String, Value>>,
}

/// The same bytes; texts that only mean the same are different arguments (row 7).
impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for Arguments {}

impl Arguments {
    /// The exact text; this and nothing else is sent.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// What the text means, for checking it. Numbers are rounded here, not in the text.
    pub fn value(&self) -> &Map<String, Value> {
        &self.value
    }
}

/// Why arguments cannot be used, or where they do not fit the tool's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer into the arguments; empty for the whole. It may name a member that is missing.
    pub pointer: String,
    pub message: String,
    /// Where the text is not JSON: one-based line and column.
    pub position: Option<(u32, u32)>,
}

impl Problem {
    fn whole(message: String) -> Self {
        Self { pointer: String::new(), message, position: None }
    }
}

/// Reads arguments. Blank text stands for no arguments, `{}`.
pub fn parse(text: &str) -> Result<Arguments, Problem> {
    if text.len() > limits::ARGUMENTS_BYTES {
        return Err(Problem::whole(format!(
            "The arguments are {} bytes long; the limit is {} bytes.",
            text.len(),
            limits::ARGUMENTS_BYTES
        )));
    }
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Unique.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(Value::Object(value)) => Ok(Arguments { text: text.into(), value: Arc::new(value) }),
        Ok(_) => Err(Problem::whole("The arguments must be a JSON object, `{ … }`.".into())),
        Err(error) => {
            let words = error.to_string();
            let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
            let message = match words {
                // JSON all three, that no value can hold.
                "number out of range" => {
                    format!("A number in the arguments is greater than {:e}, the greatest there is.", f64::MAX)
                }
                "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
                    "A string in the arguments holds half a surrogate pair, which is no character: write both halves, or \
                     the character itself."
                        .into()
                }
                "recursion limit exceeded" => format!("The arguments are nested deeper than {DEPTH} levels."),
                _ => format!("The arguments are not valid JSON: {}.", display_capped(words, SHOWN_CHARS)),
            };
            Err(Problem { pointer: String::new(), message, position: Some((error.line() as u32, error.column() as u32)) })
        }
    }
}

/// Builds a value and refuses a key written twice: servers disagree which of the two counts, and a person sees both.
#[derive(Clone, Copy)]
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(items.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if members.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{}` is written twice", display_capped(&key, SHOWN_CHARS))));
            }
            let value = map.next_value_seed(self)?;
            members.insert(key, value);
        }
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn row_7_the_text_is_kept_as_written() {
        let text = "{ \"n\": 1.50e2,\n \"big\": 123456789012345678901234567890 }";
        assert_eq!(parse(text).unwrap().text(), text);
        assert_eq!(parse(" \n").unwrap().text(), "{}");
    }

    #[test]
    fn row_7_only_the_same_bytes_are_equal() {
        let same = |a: &str, b: &str| parse(a).unwrap() == parse(b).unwrap();
        assert!(same("{\"a\":1}", "{\"a\":1}"));
        assert!(!same("{\"a\":1}", "{\"a\": 1}"));
        assert!(!same("{\"a\":1}", "{\"a\":1.0}"));
    }

    #[test]
    fn errors_have_a_place() {
        let at = |text: &str| {
            let problem = parse(text).unwrap_err();
            (problem.message, problem.position)
        };
        assert_eq!(at("{\n  \"a\": }"), ("The arguments are not valid JSON: expected value.".into(), Some((2, 8))));
        assert_eq!(at("[1]"), ("The arguments must be a JSON object, `{ … }`.".into(), None));
        let (message, place) = at("{\"a\": {\"b\": 1,\n\"b\": 2}}");
        assert_eq!(message, "The arguments are not valid JSON: the key `b` is written twice.");
        assert_eq!(place.unwrap().0, 2);
        assert!(at("{} x").0.contains("trailing characters"));
        // JSON all of these, and no value holds them.
        let message = |text: &str| at(text).0;
        assert_eq!(
            message(r#"{"a":-1e999}"#),
            "A number in the arguments is greater than 1.7976931348623157e308, the greatest there is."
        );
        for text in [r#"{"a":"\ud83d"}"#, r#"{"a":"\udd80"}"#, r#"{"a":"\ud83d\u0041"}"#, r#"{"\ud83dx":1}"#] {
            assert!(message(text).starts_with("A string in the arguments holds half a surrogate pair"), "{text}");
        }
        let deep = |levels: usize| format!("{}{}", "{\"a\":".repeat(levels) + "1", "}".repeat(levels));
        assert_eq!(message(&deep(128)), "The arguments are nested deeper than 127 levels.");
        assert!(parse(&deep(127)).is_ok());
    }

    #[test]
    fn b21_two_mib_is_the_limit() {
        let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(limits::ARGUMENTS_BYTES - 8));
        assert_eq!(fits.len(), limits::ARGUMENTS_BYTES);
        assert!(parse(&fits).is_ok());
        assert_eq!(
            parse(&(fits + " ")).unwrap_err().message,
            "The arguments are 2097153 bytes long; the limit is 2097152 bytes."
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,60}|[{}\\[\\]\":,0-9a\\\\ ]{0,60}") {
            let _ = parse(&text);
        }
    }
}
