//! Whether arguments fit a tool's `inputSchema`. The schema is a server's: nothing is fetched for it, its patterns run
//! in linear time, and one that is too large, too deep or could multiply work is not used at all (row 33). A check
//! that is skipped costs nothing: the server checks its arguments itself.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::arguments::{Arguments, Problem};
use crate::text::display_capped;

/// A larger schema is not used.
const SCHEMA_BYTES: usize = 256 * 1024;
/// Larger arguments are not checked.
const CHECKED_BYTES: usize = 256 * 1024;
/// Subschemas that one value may be held against, in all.
const IN_PLACE: u64 = 1_000;
/// Visits of subschemas in one check.
const STEPS: u64 = 2_000_000;
/// Schemas within schemas, references followed: whoever goes through them stands one call deeper each time.
const NESTED: usize = 256;
/// Compiled size of one pattern.
const PATTERN_BYTES: usize = 1024 * 1024;
/// Compiled size of all patterns of a schema together; each gets an equal part.
const PATTERNS_BYTES: usize = 8 * 1024 * 1024;
/// Problems that are reported.
const PROBLEMS: usize = 50;
const MESSAGE_CHARS: usize = 300;

/// What a check came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Every misfit, or none.
    Checked(Vec<Problem>),
    /// Not checked, and why.
    Skipped(String),
}

/// Holds arguments against a tool's schema.
pub fn check(schema: &Map<String, Value>, arguments: &Arguments) -> Check {
    if arguments.text().len() > CHECKED_BYTES {
        return Check::Skipped("the arguments are too large to be checked".into());
    }
    let schema = Value::Object(schema.clone());
    let cost = match Cost::of(&schema) {
        Ok(cost) => cost,
        Err(why) => return Check::Skipped(why.into()),
    };
    let instance = Value::Object(arguments.value().clone());
    let (nodes, depth) = extent(&instance);
    // In a schema that refers to itself every level of the instance may multiply the visits again.
    let per_node = if cost.recursive { cost.in_place.saturating_pow(depth) } else { cost.in_place };
    if per_node.max(cost.total).saturating_mul(nodes) > STEPS {
        return Check::Skipped("its schema would need too many steps".into());
    }
    let validator = match compile(&schema) {
        Ok(validator) => validator,
        Err(why) => return Check::Skipped(why),
    };
    let problems = validator.iter_errors(&instance).take(PROBLEMS).map(|error| Problem {
        pointer: place(&error),
        message: display_capped(&error.to_string(), MESSAGE_CHARS),
        position: None,
    });
    Check::Checked(problems.collect())
}

/// Where a misfit stands, as a JSON pointer. For a member that is missing or not allowed it is the member's place, not
/// that of the object around it: a form says it at the field.
fn place(error: &jsonschema::ValidationError<'_>) -> String {
    use jsonschema::error::ValidationErrorKind;
    let at = error.instance_path().to_string();
    let member = match error.kind() {
        ValidationErrorKind::Required { property } => property.as_str(),
        ValidationErrorKind::AdditionalProperties { unexpected } | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            match unexpected.as_slice() {
                [one] => Some(one.as_str()),
                _ => None,
            }
        }
        _ => None,
    };
    match member {
        Some(name) => format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
        None => at,
    }
}

/// Whether arguments could be checked against this schema; if not, why.
pub fn usable(schema: &Map<String, Value>) -> Result<(), String> {
    let schema = Value::Object(schema.clone());
    Cost::of(&schema)?;
    compile(&schema).map(|_| ())
}

/// Refuses every reference that leaves the schema.
struct Nowhere;

impl jsonschema::Retrieve for Nowhere {
    fn retrieve(&self, _uri: &jsonschema::Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("references to other documents are not followed".into())
    }
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    let bytes = PATTERN_BYTES.min(PATTERNS_BYTES / patterns(schema).max(1));
    jsonschema::options()
        .with_retriever(Nowhere)
        .with_pattern_options(jsonschema::PatternOptions::regex().size_limit(bytes).dfa_size_limit(bytes))
        .build(schema)
        .map_err(|error| format!("its schema cannot be used: {}", display_capped(&error.to_string(), MESSAGE_CHARS)))
}

/// How many patterns a schema holds, wherever they stand.
fn patterns(schema: &Value) -> usize {
    let of_member = |(key, value): (&String, &Value)| match (key.as_str(), value) {
        ("pattern", Value::String(_)) => 1,
        ("patternProperties", Value::Object(named)) => named.len() + patterns(value),
        _ => patterns(value),
    };
    match schema {
        Value::Array(items) => items.iter().map(patterns).sum(),
        Value::Object(members) => members.iter().map(of_member).sum(),
        _ => 0,
    }
}

/// Values in the instance, and how deep they are nested.
fn extent(value: &Value) -> (u64, u32) {
    let (nodes, depth) = match value {
        Value::Array(items) => items.iter().map(extent).fold((0, 0), join),
        Value::Object(members) => members.values().map(extent).fold((0, 0), join),
        _ => (0, 0),
    };
    (nodes + 1, depth + 1)
}

fn join((nodes, depth): (u64, u32), (more, deeper): (u64, u32)) -> (u64, u32) {
    (nodes + more, depth.max(deeper))
}

/// How much work a schema can make, found without running it.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Subschemas that the same value is held against, at most.
    in_place: u64,
    /// Subschemas in all, references counted each time they are used.
    total: u64,
    recursive: bool,
}

/// Keywords whose subschemas are held against the same value.
const SAME_VALUE: [&str; 10] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "propertyNames"];
/// Keywords whose value is a map from names to schemas.
const MAPS: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "dependencies"];
/// Keywords that hold data, where `$ref` means nothing.
const DATA: [&str; 5] = ["enum", "const", "default", "examples", "example"];

impl Cost {
    fn of(schema: &Value) -> Result<Self, &'static str> {
        if serde_json::to_string(schema).map_or(usize::MAX, |text| text.len()) > SCHEMA_BYTES {
            return Err("its schema is too large to be checked against");
        }
        let mut walk = Walk { root: schema, known: HashMap::new(), open: Vec::new(), depth: 0, recursive: false };
        let (in_place, total) = walk.visit(schema, 0)?;
        if in_place > IN_PLACE || total > STEPS {
            return Err("its schema would need too many steps");
        }
        Ok(Self { in_place: walk.known.values().map(|cost| cost.0).fold(in_place, u64::max), total, recursive: walk.recursive })
    }
}

struct Walk<'a> {
    root: &'a Value,
    /// In-place and total cost of every referenced subschema, by where it lies: one may be referred to in several spellings.
    known: HashMap<*const Value, (u64, u64)>,
    /// Referenced subschemas being walked, each with the depth of values at which it was entered.
    open: Vec<(*const Value, u32)>,
    /// Subschemas that stand in each other up to here, references followed.
    depth: usize,
    recursive: bool,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Value, level: u32) -> Result<(u64, u64), &'static str> {
        let Value::Object(members) = schema else { return Ok((1, 1)) };
        if self.depth == NESTED {
            return Err("its schema is nested too deep");
        }
        self.depth += 1;
        let (mut in_place, mut total) = (1u64, 1u64);
        for (key, value) in members {
            let (here, all) = match (key.as_str(), value) {
                ("$ref", Value::String(target)) => self.follow(target, level)?,
                ("$dynamicRef" | "$recursiveRef" | "$ref", _) => return Err("its schema has references that are not followed"),
                ("$id" | "id", Value::String(_)) if !std::ptr::eq(schema, self.root) => {
                    return Err("its schema has references that are not followed");
                }
                (key, _) if DATA.contains(&key) => (0, 0),
                // Definitions cost nothing until something refers to them.
                ("$defs" | "definitions", _) => (0, 0),
                (key, value) if SAME_VALUE.contains(&key) => self.children(value, MAPS.contains(&key), level)?,
                (key, value) => (0, self.children(value, MAPS.contains(&key), level + 1)?.1),
            };
            in_place = in_place.saturating_add(here);
            total = total.saturating_add(all);
        }
        self.depth -= 1;
        Ok((in_place, total))
    }

    /// The value of a keyword: a schema, an array of schemas, or (`map`) schemas by name.
    fn children(&mut self, value: &'a Value, map: bool, level: u32) -> Result<(u64, u64), &'static str> {
        let mut sum = (0u64, 0u64);
        let mut add = |walk: &mut Self, schema| {
            let (here, all) = walk.visit(schema, level)?;
            sum = (sum.0.saturating_add(here), sum.1.saturating_add(all));
            Ok::<_, &'static str>(())
        };
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| add(self, item))?,
            Value::Object(members) if map => members.values().try_for_each(|member| add(self, member))?,
            Value::Object(_) => add(self, value)?,
            _ => {}
        }
        Ok(sum)
    }

    fn follow(&mut self, target: &'a str, level: u32) -> Result<(u64, u64), &'static str> {
        // A fragment is decoded before it is read as a pointer (RFC 6901, section 6).
        let schema = target
            .strip_prefix('#')
            .and_then(|fragment| percent_decode_str(fragment).decode_utf8().ok())
            .and_then(|pointer| self.root.pointer(&pointer))
            .ok_or("its schema has references that are not followed")?;
        let target = std::ptr::from_ref(schema);
        if let Some(&(_, entered)) = self.open.iter().find(|(open, _)| *open == target) {
            if entered == level {
                return Err("its schema refers to itself without end");
            }
            self.recursive = true;
            return Ok((1, 1));
        }
        if let Some(&cost) = self.known.get(&target) {
            return Ok(cost);
        }
        self.open.push((target, level));
        let cost = self.visit(schema, level);
        self.open.pop();
        let cost = cost?;
        self.known.insert(target, cost);
        Ok(cost)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::arguments::parse;
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("an object") };
        map
    }

    fn problems(schema: Value, arguments: &str) -> Vec<(String, String)> {
        match check(&object(schema), &parse(arguments).unwrap()) {
            Check::Checked(problems) => problems.into_iter().map(|p| (p.pointer, p.message)).collect(),
            Check::Skipped(why) => panic!("skipped: {why}"),
        }
    }

    fn skipped(schema: Value, arguments: &str) -> String {
        match check(&object(schema), &parse(arguments).unwrap()) {
            Check::Skipped(why) => why,
            Check::Checked(problems) => panic!("checked: {problems:?}"),
        }
    }

    #[test]
    fn misfits_have_their_place() {
        let schema = json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "string" }, "list": { "type": "array", "items": { "type": "integer" } } } });
        assert_eq!(problems(schema.clone(), r#"{"a":"x","list":[1]}"#), []);
        assert_eq!(problems(schema.clone(), "{}"), [("/a".into(), "\"a\" is a required property".into())]);
        let strict = json!({ "additionalProperties": false, "properties": { "a": {} } });
        let places = |text: &str| problems(strict.clone(), text).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!(places(r#"{"a":1,"x/~y":1}"#), ["/x~1~0y"]);
        assert_eq!(places(r#"{"x":1,"y":1}"#), [""]);
        let both = problems(schema, r#"{"a":1,"list":[1,"b"]}"#);
        assert_eq!(both.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>(), ["/a", "/list/1"]);
    }

    #[test]
    fn references_are_followed_in_every_spelling_of_a_pointer() {
        let defs = json!({ "a b": { "type": "string" }, "a/b": { "type": "string" }, "~1": { "type": "string" },
            "100%": { "type": "string" }, "京": { "type": "string" }, "deep": { "properties": { "x": { "type": "string" } } } });
        for target in [
            "#/$defs/a%20b",
            "#/%24defs/a%20b",
            "#/$defs/a~1b",
            "#/$defs/a%7E1b",
            "#/$defs/~01",
            "#/$defs/100%25",
            "#/$defs/%E4%BA%AC",
            "#/$defs/deep%2Fproperties/x",
        ] {
            let schema = json!({ "$defs": defs, "properties": { "a": { "$ref": target } } });
            assert_eq!(problems(schema.clone(), r#"{"a":"x"}"#), [], "{target}");
            assert_eq!(problems(schema, r#"{"a":1}"#).len(), 1, "{target}");
        }
        for target in ["#/$defs/a%2520b", "#/$defs/a%2Fb", "#/$defs/%FF", "#%", "%23/$defs/a%20b"] {
            let why = skipped(json!({ "$defs": defs, "properties": { "a": { "$ref": target } } }), r#"{"a":1}"#);
            assert_eq!(why, "its schema has references that are not followed", "{target}");
        }
        // Two spellings of one place are one place.
        let pair = json!({ "$ref": "#/$defs/a%20b", "$defs": { "a b": { "$ref": "#/%24defs/a%20b" } } });
        assert_eq!(skipped(pair, "{}"), "its schema refers to itself without end");
    }

    #[test]
    fn row_33_nothing_is_fetched() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        for target in [url.as_str(), "file:///etc/passwd", "other.json", "#anchor"] {
            let why = skipped(json!({ "properties": { "a": { "$ref": target } } }), r#"{"a":1}"#);
            assert_eq!(why, "its schema has references that are not followed");
        }
        assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }

    /// What only an engine that goes back can find is refused, so none that goes back is there; and one that does would not
    /// come to the end of this search in a lifetime.
    #[test]
    fn row_33_patterns_run_in_linear_time() {
        for pattern in [r"(a)\1", "(?=a)a", "(?<!a)b", "(?>a+)b"] {
            let schema = json!({ "properties": { "a": { "pattern": pattern } } });
            assert!(skipped(schema, r#"{"a":"x"}"#).starts_with("its schema cannot be used"), "{pattern}");
        }
        let schema = json!({ "properties": { "a": { "type": "string", "pattern": "^(a+)+$" } } });
        let found = problems(schema, &format!("{{\"a\":\"{}!\"}}", "a".repeat(100_000)));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn row_33_references_that_multiply_or_never_end_are_not_used() {
        let mut defs = Map::new();
        for n in 0..30 {
            let next = format!("#/$defs/d{}", n + 1);
            defs.insert(format!("d{n}"), json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }));
        }
        defs.insert("d30".into(), json!({ "type": "object" }));
        assert_eq!(skipped(json!({ "$defs": defs, "$ref": "#/$defs/d0" }), "{}"), "its schema would need too many steps");
        assert_eq!(skipped(json!({ "allOf": [{ "$ref": "#" }] }), "{}"), "its schema refers to itself without end");
        let pair = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } });
        assert_eq!(skipped(pair, "{}"), "its schema refers to itself without end");
    }

    /// Each step would be another call, until there is no stack left.
    #[test]
    fn row_33_a_long_way_of_references_is_not_gone() {
        let chain = |length: usize| {
            let to = |n: usize| json!({ "$ref": format!("#/$defs/{n}") });
            let defs: Map<String, Value> = (0..length).map(|n| (n.to_string(), to(n + 1))).collect();
            let mut schema = json!({ "$ref": "#/$defs/0", "$defs": defs });
            schema["$defs"][length.to_string()] = json!({ "required": ["a"] });
            schema
        };
        assert_eq!(problems(chain(NESTED - 2), "{}").len(), 1);
        assert_eq!(skipped(chain(NESTED - 1), "{}"), "its schema is nested too deep");
        let mut long = chain(8000);
        assert_eq!(skipped(long.clone(), "{}"), "its schema is nested too deep");
        long.as_object_mut().unwrap().remove("$ref");
        assert_eq!(problems(long, "{}"), [], "nothing uses it");
    }

    #[test]
    fn row_33_many_patterns_take_no_more_memory_than_few() {
        let with = |count: usize, pattern: &str| {
            let properties: Map<String, Value> =
                (0..count).map(|n| (format!("p{n}"), json!({ "pattern": format!("{pattern}{n}$") }))).collect();
            json!({ "properties": properties })
        };
        assert_eq!(problems(with(500, "^[a-z]+-"), r#"{"p7":"x-7","p8":"x-7"}"#).len(), 1);
        assert_eq!(problems(with(1, r"\p{L}{20}"), "{}"), []);
        assert!(skipped(with(500, r"\p{L}{20}"), "{}").starts_with("its schema cannot be used"));
    }

    #[test]
    fn a_recursive_schema_is_checked_as_long_as_it_cannot_multiply() {
        let tree = json!({ "$defs": { "node": { "type": "object", "properties": {
            "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/node" } } } } },
            "$ref": "#/$defs/node" });
        let found = problems(tree, r#"{"name":"a","children":[{"name":"b","children":[{"name":3}]}]}"#);
        assert_eq!(found.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>(), ["/children/0/children/0/name"]);
        let bomb = json!({ "$defs": { "n": { "anyOf": [
            { "items": { "$ref": "#/$defs/n" } }, { "items": { "$ref": "#/$defs/n" } }, { "items": { "$ref": "#/$defs/n" } } ] } },
            "properties": { "a": { "$ref": "#/$defs/n" } } });
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100));
        assert_eq!(skipped(bomb, &deep), "its schema would need too many steps");
    }

    #[test]
    fn a_broken_schema_skips_the_check() {
        assert!(usable(&object(json!({ "type": 5 }))).unwrap_err().starts_with("its schema cannot be used"));
        assert!(usable(&object(json!({ "type": "object" }))).is_ok());
        let large = json!({ "description": "x".repeat(300_000) });
        assert_eq!(skipped(large, "{}"), "its schema is too large to be checked against");
    }
}
