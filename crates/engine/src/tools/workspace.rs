//! The `workspace` parameter of servers that work in a workspace (B28): with two or more workspaces on the server's machine,
//! each of its tools gets one, an integer, and each call goes to an instance in that workspace's folder.
//!
//! It adds the parameter to a schema and takes it out of arguments. Which instances run is decided above.

use indexmap::IndexMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::arguments::{self, Arguments};

const PARAMETER: &str = "workspace";

/// The number of no workspace of the conversation; no server is reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`workspace` must be one of these numbers: {}.", (1..=*.count).map(|n| n.to_string()).collect::<Vec<_>>().join(", "))]
pub struct BadWorkspace {
    count: usize,
}

/// The tool's schema with the parameter, or nothing when the tool has a `workspace` property of its own: then its schema
/// stays as it is, and its calls go to the first workspace.
pub fn with_parameter(schema: &Map<String, Value>, folders: &[String]) -> Option<Map<String, Value>> {
    if has_own(schema) {
        return None;
    }
    let numbered: Vec<String> = folders.iter().enumerate().map(|(index, folder)| format!("{} = {folder}", index + 1)).collect();
    let parameter = json!({
        "type": "integer",
        "minimum": 1,
        "maximum": folders.len(),
        "default": 1,
        "description": format!("The workspace to work in: {}.", numbered.join(", ")),
    });
    let mut schema = schema.clone();
    match schema.get_mut("properties").and_then(Value::as_object_mut) {
        Some(properties) => {
            properties.insert(PARAMETER.into(), parameter);
        }
        None => {
            schema.insert("properties".into(), json!({ PARAMETER: parameter }));
        }
    }
    Some(schema)
}

pub fn has_own(schema: &Map<String, Value>) -> bool {
    schema.get("properties").and_then(Value::as_object).is_some_and(|properties| properties.contains_key(PARAMETER))
}

/// The number of the workspace a call names, counted from one, by default the first, and the arguments without it. What is
/// left keeps its exact tokens.
pub fn take(arguments: &Arguments, count: usize) -> Result<(usize, Arguments), BadWorkspace> {
    let bad = || BadWorkspace { count };
    let Some(given) = arguments.value().get(PARAMETER) else { return Ok((1, arguments.clone())) };
    // By value: 2.0 is 2.
    let number = given.as_u64().or_else(|| given.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64));
    let number = number.and_then(|n| usize::try_from(n).ok()).filter(|n| (1..=count).contains(n)).ok_or_else(bad)?;
    let mut members: IndexMap<String, Box<RawValue>> = serde_json::from_str(arguments.text()).map_err(|_| bad())?;
    members.shift_remove(PARAMETER);
    let left: Vec<String> = members.iter().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), value.get())).collect();
    let left = arguments::parse(&format!("{{{}}}", left.join(","))).map_err(|_| bad())?;
    Ok((number, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }
    fn folders() -> Vec<String> {
        vec!["/a".into(), "/b".into()]
    }

    #[test]
    fn b28_each_tool_gets_the_parameter_unless_it_has_its_own() {
        let schema =
            object(json!({ "type": "object", "properties": { "x": {} }, "required": ["x"], "additionalProperties": false }));
        let with = with_parameter(&schema, &folders()).unwrap();
        assert_eq!(
            Value::Object(with),
            json!({ "type": "object", "properties": { "x": {}, "workspace": {
                "type": "integer", "minimum": 1, "maximum": 2, "default": 1,
                "description": "The workspace to work in: 1 = /a, 2 = /b." } },
                "required": ["x"], "additionalProperties": false })
        );
        assert!(with_parameter(&object(json!({})), &folders()).unwrap()["properties"]["workspace"].is_object());
        assert_eq!(with_parameter(&object(json!({ "properties": { "workspace": { "type": "string" } } })), &folders()), None);
        // Only a property at the top counts (row 33).
        let nested = object(json!({ "oneOf": [{ "properties": { "workspace": {} } }] }));
        assert!(with_parameter(&nested, &folders()).is_some());
    }

    #[test]
    fn b28_the_parameter_is_taken_out_and_the_rest_keeps_its_tokens() {
        let taken = |text: &str| take(&arguments::parse(text).unwrap(), 2).map(|(n, left)| (n, left.text().to_owned()));
        assert_eq!(taken(r#"{"a": 1.50, "workspace": 2, "b\u0041": "\u00e9"}"#), Ok((2, r#"{"a":1.50,"bA":"\u00e9"}"#.into())));
        assert_eq!(taken("{ \"a\" :1 }"), Ok((1, "{ \"a\" :1 }".into())), "without it, nothing is touched");
        assert_eq!(taken(r#"{"workspace": 1}"#), Ok((1, "{}".into())));
        assert_eq!(taken(r#"{"workspace": 2.0}"#), Ok((2, "{}".into())));
        for wrong in ["0", "3", "-1", "1.5", "\"1\"", "null", "[1]", "99999999999999999999"] {
            let error = taken(&format!("{{\"workspace\": {wrong}}}")).unwrap_err();
            assert_eq!(error.to_string(), "`workspace` must be one of these numbers: 1, 2.", "{wrong}");
        }
    }
}
