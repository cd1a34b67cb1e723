//! JSON as servers write it, read without loss: what cannot be understood costs itself and nothing around it, numbers keep
//! their digits, and a text's length in compact form is known before anything is built from it (security row 23).
//!
//! The text of a [`RawValue`] is JSON by its grammar, whatever it means: its numbers may be larger than any type holds, and
//! its strings may hold half a surrogate pair, unless it was [`mended`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Values stand in each other no deeper; the parsers of values stop there too.
pub const DEPTH: usize = 127;
const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// Why a text of JSON is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is nested deeper than {DEPTH} levels")]
    TooDeep,
    #[error("a string in it holds half a surrogate pair")]
    Half,
}

/// The text with `\ufffd` in place of each escape that is half a surrogate pair: JSON's grammar allows it, and no text can
/// hold it. Whatever else is in it stays, JSON or not, and so does its length.
pub fn mended(text: Cow<'_, str>) -> Cow<'_, str> {
    let (mut at, mut out, mut from) = (0, String::new(), 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        at += match surrogate(&text.as_bytes()[at..]) {
            // Whatever it escapes, a backslash included: what follows begins nothing.
            None => 2,
            Some(Half::High) if surrogate(&text.as_bytes()[at + 6..]) == Some(Half::Low) => 12,
            Some(Half::High | Half::Low) => {
                out.push_str(&text[from..at]);
                out.push_str("\\ufffd");
                from = at + 6;
                6
            }
        };
        // Outside of JSON anything may be escaped.
        while !text.is_char_boundary(at.min(text.len())) {
            at += 1;
        }
    }
    if from == 0 {
        return text;
    }
    out.push_str(&text[from..]);
    out.into()
}

#[derive(PartialEq)]
enum Half {
    High,
    Low,
}

/// Which half of a pair the escape is that stands here, if it is one.
fn surrogate(bytes: &[u8]) -> Option<Half> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let [b'd' | b'D', second, third, fourth] = digits else { return None };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match second {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::High),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Low),
        _ => None,
    }
}

/// An object's members of these names, as they are written; of one that stands there twice the last. None when it is no object.
pub fn members<'a, const N: usize>(object: &'a str, names: [&str; N]) -> Option<[Option<&'a RawValue>; N]> {
    let mut reader = serde_json::Deserializer::from_str(object);
    let found = reader.deserialize_map(Members(names)).ok()?;
    reader.end().ok().map(|()| found)
}

struct Members<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Members<'_, N> {
    type Value = [Option<&'de RawValue>; N];
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(place) = map.next_key_seed(Name(&self.0))? {
            let value: &RawValue = map.next_value()?;
            if let Some(place) = place {
                found[place] = Some(value);
            }
        }
        Ok(found)
    }
}

/// Reads a key; its place among the names.
struct Name<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

/// The first items of a list, so many at most, as they are written: a list may hold millions. None when it is no list.
pub fn items(list: &str, most: usize) -> Option<Vec<&RawValue>> {
    let mut reader = serde_json::Deserializer::from_str(list);
    let found = reader.deserialize_seq(Items(most)).ok()?;
    reader.end().ok().map(|()| found)
}

struct Items(usize);

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de RawValue>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while found.len() < self.0
            && let Some(item) = list.next_element()?
        {
            found.push(item);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}

/// A string's text, if it is a string.
pub fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Bytes of the text as compact UTF-8 JSON: without white space, strings in their shortest form, numbers as they are written.
pub fn compact_size(raw: &RawValue) -> Result<usize, Unreadable> {
    let mut bytes = 0;
    tokens(raw, |token| bytes += token.len())?;
    Ok(bytes)
}

/// The text that [`compact_size`] measures.
pub fn compact(raw: &RawValue) -> Result<String, Unreadable> {
    let mut text = String::new();
    tokens(raw, |token| text.push_str(token))?;
    Ok(text)
}

/// [`compact`], with the greatest number there is in place of each that is greater, and whether there was one. For what has to
/// be reckoned with; what is only shown keeps its digits.
pub fn reckonable(raw: &RawValue) -> Result<(String, bool), Unreadable> {
    let (mut text, mut replaced) = (String::new(), false);
    tokens(raw, |token| {
        let is_number = token.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if !is_number || serde_json::from_str::<f64>(token).is_ok() {
            return text.push_str(token);
        }
        replaced = true;
        let greatest = if token.starts_with('-') { f64::MIN } else { f64::MAX };
        text.push_str(&format!("{greatest:e}"));
    })?;
    Ok((text, replaced))
}

/// [`compact`], with each number in one way to write it (`1.50e2` and `150`): two texts that say the same, in the same order,
/// have the same one.
pub fn meaning(raw: &RawValue) -> Result<String, Unreadable> {
    let mut text = String::new();
    tokens(raw, |token| match amount(token) {
        Some(amount) => text.push_str(&amount),
        None => text.push_str(token),
    })?;
    Ok(text)
}

/// A number's sign, digits and magnitude. None for what is no number, or has a power that is a number beyond all use.
fn amount(token: &str) -> Option<String> {
    let (sign, rest) = token.strip_prefix('-').map_or(("", token), |rest| ("-", rest));
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (digits, power) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{whole}{part}");
    let digits = digits.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return Some("0".into());
    }
    let ends = i128::try_from(digits.len() - kept.len()).ok()? - i128::try_from(part.len()).ok()?;
    let power = power.parse::<i128>().ok()?.checked_add(ends)?;
    Some(format!("{sign}{kept}e{power}"))
}

/// Goes through the text token by token, strings in their shortest form.
fn tokens(raw: &RawValue, mut token: impl FnMut(&str)) -> Result<(), Unreadable> {
    let (mut rest, mut depth) = (raw.get(), 0_usize);
    loop {
        rest = rest.trim_start_matches(BLANK);
        let Some(first) = rest.chars().next() else { return Ok(()) };
        let end = match first {
            '"' => string_end(rest),
            '{' | '[' => {
                depth += 1;
                1
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                1
            }
            ',' | ':' => 1,
            _ => rest.find(|c: char| BLANK.contains(&c) || matches!(c, ',' | ']' | '}')).unwrap_or(rest.len()),
        };
        if depth > DEPTH {
            return Err(Unreadable::TooDeep);
        }
        let (this, after) = rest.split_at(end);
        if first == '"' && this.contains('\\') {
            let text: String = serde_json::from_str(this).map_err(|_| Unreadable::Half)?;
            token(&serde_json::to_string(&text).map_err(|_| Unreadable::Half)?);
        } else {
            token(this);
        }
        rest = after;
    }
}

/// Where the string ends that the text begins with, its quotes included.
fn string_end(text: &str) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['"', '\\'])) {
        at += found;
        if text.as_bytes()[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

#[cfg(test)]
mod tests;
