//! Headers that repeat what a request's body says, so that what stands between can route it (protocol version
//! 2026-07-28): the method, the tool's name, and arguments that a tool's schema marks with `x-mcp-header`.

use base64::Engine as _;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::wire::Request;
use crate::json::members;
use crate::limits;
use crate::tools::arguments::Arguments;

const WRAP: (&str, &str) = ("=?base64?", "?=");

/// Adds what the protocol version asks for beside the version itself.
pub(super) fn standard(request: &Request, headers: &mut HeaderMap) {
    if let Some(method) = value(&request.method) {
        headers.insert(HeaderName::from_static("mcp-method"), method);
    }
    if let Some(name) = request.name.as_deref().and_then(value) {
        headers.insert(HeaderName::from_static("mcp-name"), name);
    }
    for (name, value) in request.mirrored.iter() {
        headers.insert(name.clone(), value.clone());
    }
}

/// A value as a header carries it: as it is, or wrapped in base64 when a header could not.
fn value(text: &str) -> Option<HeaderValue> {
    let blank_edge = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let foreign = text.bytes().any(|byte| !(0x20..0x7F).contains(&byte));
    let looks_wrapped = text.starts_with(WRAP.0) && text.ends_with(WRAP.1);
    if !blank_edge && !foreign && !looks_wrapped {
        return HeaderValue::from_str(text).ok();
    }
    let wrapped = base64::engine::general_purpose::STANDARD.encode(text);
    HeaderValue::from_str(&format!("{}{wrapped}{}", WRAP.0, WRAP.1)).ok()
}

/// An argument that is repeated in a header: where it stands, and the header.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mcp) struct Mirror {
    path: Vec<String>,
    header: HeaderName,
}

/// The arguments a tool's input schema marks, or why its marks break the protocol's rules (the tool may not be used then).
pub(in crate::mcp) fn mirrors(schema: &Map<String, Value>) -> Result<Vec<Mirror>, String> {
    let mut found = Vec::new();
    object(schema, Some(&mut Vec::new()), 0, &mut found)?;
    Ok(found)
}

const MARK: &str = "x-mcp-header";
/// What lies deeper is not searched; [`crate::tools::listing`] reads no schema that deep.
const DEPTH: usize = 128;
/// Up to here a number in floating point is the whole number that was written.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Anything inside a schema that is not reached through `properties` alone: a mark is an error there.
fn elsewhere(value: &Value, depth: usize, found: &mut Vec<Mirror>) -> Result<(), String> {
    match value {
        Value::Object(schema) => object(schema, None, depth + 1, found),
        Value::Array(items) => items.iter().try_for_each(|item| elsewhere(item, depth + 1, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// `path`: from the root through `properties` alone, where marks may stand.
fn object(
    schema: &Map<String, Value>,
    mut path: Option<&mut Vec<String>>,
    depth: usize,
    found: &mut Vec<Mirror>,
) -> Result<(), String> {
    if depth > DEPTH {
        return Ok(());
    }
    if let Some(mark) = schema.get(MARK) {
        let Some(path) = path.as_deref().filter(|path| !path.is_empty()) else {
            return Err(format!("`{MARK}` stands where no argument is"));
        };
        found.push(mirror(mark, schema, path, found)?);
    }
    for (key, value) in schema {
        match (key.as_str(), value) {
            // Data, not schemas.
            ("default" | "const" | "enum" | "examples" | "dependentRequired" | "required", _) => {}
            ("properties", Value::Object(properties)) => {
                for (name, value) in properties {
                    match (&mut path, value) {
                        (Some(path), Value::Object(schema)) => {
                            path.push(name.clone());
                            object(schema, Some(path), depth + 1, found)?;
                            path.pop();
                        }
                        _ => elsewhere(value, depth, found)?,
                    }
                }
            }
            // Names of schemas, which may be called anything.
            ("$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "dependencies", Value::Object(named)) => {
                named.values().try_for_each(|schema| elsewhere(schema, depth, found))?;
            }
            _ => elsewhere(value, depth, found)?,
        }
    }
    Ok(())
}

fn mirror(mark: &Value, schema: &Map<String, Value>, path: &[String], others: &[Mirror]) -> Result<Mirror, String> {
    let place = path.join(".");
    let word = mark.as_str().filter(|word| !word.is_empty() && word.bytes().all(is_token));
    let word = word.ok_or_else(|| format!("`{MARK}` of `{place}` is no header name"))?;
    let header = HeaderName::from_bytes(format!("mcp-param-{word}").as_bytes()).map_err(|error| error.to_string())?;
    if others.iter().any(|other| other.header == header) {
        return Err(format!("`{MARK}` names `{word}` twice"));
    }
    if others.len() == limits::HEADERS {
        return Err(format!("`{MARK}` stands at more than {} arguments", limits::HEADERS));
    }
    if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(format!("`{MARK}` of `{place}` is on something that is no text, whole number or boolean"));
    }
    Ok(Mirror { path: path.to_vec(), header })
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The headers for these arguments. One that is not given, or is null, has none.
pub(in crate::mcp) fn mirrored(mirrors: &[Mirror], arguments: &Arguments) -> Vec<(HeaderName, HeaderValue)> {
    let header = |mirror: &Mirror| {
        let (first, rest) = mirror.path.split_first()?;
        let text = match rest.iter().try_fold(arguments.value().get(first)?, |value, key| value.get(key))? {
            Value::String(text) => text.clone(),
            Value::Bool(yes) => yes.to_string(),
            Value::Number(_) => number(written(&mirror.path, arguments.text())?),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let mut value = value(&text)?;
        value.set_sensitive(true);
        Some((mirror.header.clone(), value))
    };
    mirrors.iter().filter_map(header).collect()
}

/// What stands there in the text that is sent: a value keeps only as many digits as a number has room for.
fn written<'a>(path: &[String], arguments: &'a str) -> Option<&'a str> {
    path.iter().try_fold(arguments, |text, key| members(text, [key.as_str()])?[0].map(RawValue::get))
}

/// A whole number in decimal digits, as the protocol wants it, also where JSON writes it in another way (`1e3`, `5.0`).
fn number(token: &str) -> String {
    match token.parse::<f64>() {
        Ok(number) if token.contains(['.', 'e', 'E']) && number.fract() == 0.0 && number.abs() < EXACT => format!("{number:.0}"),
        _ => token.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::arguments::parse;

    fn read(schema: &Value) -> Result<Vec<Mirror>, String> {
        mirrors(schema.as_object().unwrap())
    }

    #[test]
    fn what_a_header_cannot_carry_is_wrapped() {
        let of = |text: &str| value(text).unwrap().to_str().unwrap().to_string();
        assert_eq!(of("us west"), "us west");
        assert_eq!(of("grün"), "=?base64?Z3LDvG4=?=");
        assert_eq!(of(" a"), "=?base64?IGE=?=");
        assert_eq!(of("a\r\nb"), "=?base64?YQ0KYg==?=");
        assert_eq!(of("=?base64?YQ==?="), "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
    }

    #[test]
    fn marked_arguments_become_headers() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "plain": { "type": "string" }
        } });
        let mirrors = read(&schema).unwrap();
        let of = |arguments: Value| {
            let all = mirrored(&mirrors, &parse(&arguments.to_string()).unwrap());
            all.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(of(json!({ "region": "eu", "deep": { "n": 4 }, "plain": "x" })), ["mcp-param-region: eu", "mcp-param-n: 4"]);
        assert_eq!(of(json!({ "region": null })), Vec::<String>::new());
        for (written, sent) in [
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("-7", "-7"),
            ("1e3", "1000"),
            ("5.0", "5"),
            ("1e300", "1e300"),
        ] {
            let headers = mirrored(&mirrors, &parse(&format!(r#"{{"deep": {{ "n" : {written} }}}}"#)).unwrap());
            assert_eq!(headers[0].1, sent, "{written}");
        }
    }

    #[test]
    fn marks_that_break_the_rules() {
        let bad = |property: Value| read(&json!({ "properties": { "a": property } })).unwrap_err();
        assert_eq!(bad(json!({ "type": "string", "x-mcp-header": "" })), "`x-mcp-header` of `a` is no header name");
        assert_eq!(bad(json!({ "type": "string", "x-mcp-header": "a b" })), "`x-mcp-header` of `a` is no header name");
        assert!(bad(json!({ "type": "number", "x-mcp-header": "A" })).contains("no text"));
        assert!(bad(json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "A" } })).contains("no argument"));
        let twice = json!({ "properties": { "a": { "type": "string", "x-mcp-header": "X" }, "b": { "type": "string", "x-mcp-header": "x" } } });
        assert_eq!(read(&twice).unwrap_err(), "`x-mcp-header` names `x` twice");
        assert_eq!(read(&json!({ "properties": { "a": { "enum": [{ "x-mcp-header": 1 }] } } })), Ok(vec![]));
        assert!(read(&json!({ "x-mcp-header": "A" })).is_err());
        let many = |count: usize| -> Value {
            let properties: Map<String, Value> =
                (0..count).map(|n| (format!("a{n}"), json!({ "type": "string", "x-mcp-header": format!("A{n}") }))).collect();
            json!({ "properties": properties })
        };
        assert_eq!(read(&many(128)).unwrap().len(), 128);
        assert_eq!(read(&many(129)).unwrap_err(), "`x-mcp-header` stands at more than 128 arguments");
    }
}
