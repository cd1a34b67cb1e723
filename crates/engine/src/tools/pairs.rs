//! Arguments written as `key=value`, as on a command line: each value is read by the type that the tool's schema gives
//! its property. What the schema does not say is read as JSON if it is JSON, else as text.
//!
//! It reads types only. Whether the arguments fit the schema in every other respect is checked where all arguments are.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value};

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
        let property = root.get("properties").and_then(|p| p.get(key));
        let types = property.map(|p| Types::of(p, &root)).unwrap_or_default();
        let text = match values.as_slice() {
            [value] if !types.is_list() || is(value, Value::is_array) => types.read(key, value)?,
            values if types.is_list() => {
                let items = property.and_then(|p| items(p, &root));
                let items = items.map(|i| Types::of(i, &root)).unwrap_or_default();
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
    fn of(schema: &Value, root: &Value) -> Self {
        let mut types = Self::default();
        for schema in same_value(schema, root) {
            match schema.get("type") {
                Some(Value::String(name)) => types.add(name),
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).for_each(|name| types.add(name)),
                _ => {
                    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
                    values.for_each(|value| types.add(type_of(value)));
                }
            }
        }
        types
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

/// The schemas that say what one value is: this one, what it refers to, and its alternatives. Each once: references may lead
/// in circles, and to the same place on more ways than can be walked.
fn same_value<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s Value> {
    let mut found = vec![schema];
    let mut seen = HashSet::from([std::ptr::from_ref(schema)]);
    let mut next = 0;
    while let Some(&schema) = found.get(next) {
        next += 1;
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
        found.extend(referred(schema, root).into_iter().chain(parts).filter(|part| seen.insert(std::ptr::from_ref(*part))));
    }
    found
}

/// The schema of a list's items, directly or in one of its alternatives.
fn items<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s Value> {
    same_value(schema, root).into_iter().find_map(|schema| schema.get("items").filter(|items| items.is_object()))
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

    /// Row 33. Who walked every way would not come to an end in a lifetime.
    #[test]
    fn row_33_references_that_multiply_are_followed_once() {
        let again = json!({ "$ref": "#/properties/k" });
        let schema = json!({ "anyOf": vec![again; 20], "oneOf": [{ "type": "array" }] });
        assert_eq!(read(json!({ "k": schema }), &[("k", "1"), ("k", "b")]), Ok(r#"{"k":[1,"b"]}"#.into()));
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
