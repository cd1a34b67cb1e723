//! Arguments written as `key=value`, as on a command line: each value is read by the type that the tool's schema gives
//! its property. What the schema does not say is read as JSON if it is JSON, else as text.
//!
//! It reads types only. Whether the arguments fit the schema in every other respect is checked where all arguments are.

use indexmap::IndexMap;
use serde_json::{Map, Value};

/// How far `$ref`, `anyOf` and the like are followed.
const DEPTH: usize = 16;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PairError {
    #[error("`{key}` must be {wanted}, and {given:?} is not.")]
    WrongType { key: String, wanted: String, given: String },
    #[error("`{key}` was given twice, and is no list.")]
    Twice { key: String },
}

/// The arguments as the compact JSON object that is sent. Keys keep the order in which they were first given; numbers
/// keep their digits.
pub fn arguments(schema: &Map<String, Value>, pairs: &[(String, String)]) -> Result<String, PairError> {
    let root = Value::Object(schema.clone());
    let mut given: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (key, value) in pairs {
        given.entry(key).or_default().push(value);
    }
    let mut members = Vec::new();
    for (key, values) in given {
        let property = schema.get("properties").and_then(|p| p.get(key));
        let types = property.map(|p| Types::of(p, &root, DEPTH)).unwrap_or_default();
        let text = match values.as_slice() {
            [value] if !types.is_list() || is(value, Value::is_array) => types.read(key, value)?,
            values if types.is_list() => {
                let items = property.and_then(|p| items(p, &root, DEPTH));
                let items = items.map(|i| Types::of(i, &root, DEPTH)).unwrap_or_default();
                let all = values.iter().map(|value| items.read(key, value)).collect::<Result<Vec<_>, _>>()?;
                format!("[{}]", all.join(","))
            }
            _ => return Err(PairError::Twice { key: key.to_owned() }),
        };
        members.push(format!("{}:{text}", Value::from(key)));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

/// The JSON types a schema allows; none at all means anything.
#[derive(Debug, Default, PartialEq, Eq)]
struct Types(Vec<&'static str>);

impl Types {
    fn of(schema: &Value, root: &Value, depth: usize) -> Self {
        let mut types = Self::default();
        types.collect(schema, root, depth);
        types
    }

    fn collect(&mut self, schema: &Value, root: &Value, depth: usize) {
        if depth == 0 {
            return;
        }
        if let Some(target) = referred(schema, root) {
            self.collect(target, root, depth - 1);
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.add(name),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).for_each(|name| self.add(name)),
            _ => {
                let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
                values.for_each(|value| self.add(type_of(value)));
            }
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.collect(part, root, depth - 1);
            }
        }
    }

    fn add(&mut self, name: &str) {
        let known = ["string", "integer", "number", "boolean", "array", "object", "null"];
        if let Some(name) = known.into_iter().find(|known| *known == name)
            && !self.0.contains(&name)
        {
            self.0.push(name);
        }
    }

    fn is_list(&self) -> bool {
        self.0.contains(&"array")
    }

    /// One value as JSON text.
    fn read(&self, key: &str, value: &str) -> Result<String, PairError> {
        let json = serde_json::from_str::<Value>(value).ok();
        let fits = json.as_ref().is_some_and(|json| {
            self.0.iter().any(|name| match *name {
                "integer" => json.as_f64().is_some_and(|n| n.fract() == 0.0),
                "string" => false,
                name => name == type_of(json) || (name == "number" && json.is_number()),
            })
        });
        let anything = self.0.is_empty();
        if fits || (anything && json.is_some()) {
            Ok(value.trim().to_owned())
        } else if anything || self.0.contains(&"string") {
            Ok(Value::from(value).to_string())
        } else {
            let wanted = self.0.iter().map(|name| match *name {
                "integer" => "a whole number",
                "number" => "a number",
                "boolean" => "true or false",
                "array" => "a list, written as JSON",
                "object" => "an object, written as JSON",
                other => other,
            });
            Err(PairError::WrongType {
                key: key.to_owned(),
                wanted: wanted.collect::<Vec<_>>().join(" or "),
                given: value.chars().take(80).collect(),
            })
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is(text: &str, kind: fn(&Value) -> bool) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| kind(&value))
}

/// What a `$ref` within the same schema leads to; any other reference is not followed (row 33).
fn referred<'s>(schema: &Value, root: &'s Value) -> Option<&'s Value> {
    root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}

/// The schema of a list's items, directly or in one of its alternatives.
fn items<'s>(schema: &'s Value, root: &'s Value, depth: usize) -> Option<&'s Value> {
    if depth == 0 {
        return None;
    }
    let here = schema.get("items").filter(|items| items.is_object());
    here.or_else(|| items(referred(schema, root)?, root, depth - 1)).or_else(|| {
        ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .filter_map(|key| schema.get(key)?.as_array())
            .flatten()
            .find_map(|part| items(part, root, depth - 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(properties: Value, pairs: &[(&str, &str)]) -> Result<String, String> {
        let schema = json!({ "type": "object", "properties": properties,
            "$defs": { "size": { "type": "integer" }, "loop": { "$ref": "#/$defs/loop" } } });
        let pairs: Vec<_> = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        arguments(schema.as_object().unwrap(), &pairs).map_err(|e| e.to_string())
    }

    #[test]
    fn the_schema_says_what_a_value_is() {
        for (schema, value, expected) in [
            (json!({"type": "string"}), "42", r#""42""#),
            (json!({"type": "string"}), "", r#""""#),
            (json!({"type": "number"}), "42", "42"),
            (json!({"type": "number"}), "1e2", "1e2"),
            (json!({"type": "number"}), "12345678901234567890123", "12345678901234567890123"),
            (json!({"type": "integer"}), " 3 ", "3"),
            (json!({"type": "boolean"}), "true", "true"),
            (json!({"type": "object"}), r#"{"a": [1]}"#, r#"{"a": [1]}"#),
            (json!({"type": "array"}), "[1, 2]", "[1, 2]"),
            (json!({"type": ["string", "null"]}), "null", "null"),
            (json!({"type": ["string", "integer"]}), "x", r#""x""#),
            (json!({"enum": ["1", "2"]}), "1", r#""1""#),
            (json!({"const": 5}), "5", "5"),
            (json!({"$ref": "#/$defs/size"}), "7", "7"),
            (json!({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/size"}]}), "7", "7"),
            // Nothing is known: JSON if it is JSON, else text.
            (json!({}), "7", "7"),
            (json!({}), "seven", r#""seven""#),
            (json!({"$ref": "https://example.com/x"}), "a=b", r#""a=b""#),
            (json!({"$ref": "#/$defs/loop"}), "7", "7"),
        ] {
            assert_eq!(read(json!({"k": schema}), &[("k", value)]), Ok(format!(r#"{{"k":{expected}}}"#)), "{schema} {value}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named() {
        let problem = |schema: Value, value: &str| read(json!({"k": schema}), &[("k", value)]).unwrap_err();
        assert_eq!(problem(json!({"type": "integer"}), "1.5"), "`k` must be a whole number, and \"1.5\" is not.");
        assert_eq!(problem(json!({"type": "boolean"}), "yes"), "`k` must be true or false, and \"yes\" is not.");
        assert_eq!(
            problem(json!({"type": ["number", "null"]}), "\u{1b}[31m"),
            "`k` must be a number or null, and \"\\u{1b}[31m\" is not."
        );
    }

    #[test]
    fn a_repeated_key_makes_a_list_where_the_schema_wants_one() {
        let list = json!({"k": {"type": "array", "items": {"type": "string"}}});
        assert_eq!(read(list.clone(), &[("k", "1"), ("k", "b")]), Ok(r#"{"k":["1","b"]}"#.into()));
        assert_eq!(read(list.clone(), &[("k", "1")]), Ok(r#"{"k":["1"]}"#.into()));
        assert_eq!(read(list, &[("k", r#"["a"]"#)]), Ok(r#"{"k":["a"]}"#.into()));
        assert_eq!(
            read(json!({"k": {"type": "string"}}), &[("k", "1"), ("k", "2")]),
            Err("`k` was given twice, and is no list.".into())
        );
        assert_eq!(read(json!({}), &[("b", "x"), ("a", "1")]), Ok(r#"{"b":"x","a":1}"#.into()));
    }

    #[test]
    fn whatever_is_given_the_result_is_an_object_with_those_keys() {
        for hostile in ["", "\"", "}", "\u{0}", "{", "1 2", "nul", "\u{202e}"] {
            let text = read(json!({}), &[(hostile, hostile)]).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({ hostile: hostile }));
        }
    }
}
