//! Reading what a server answers to `tools/list`, page by page: each tool by itself, so that a malformed one is set
//! aside with its reason and costs the others nothing; bounded before anything is built from it (B21, B22, B36).

use std::collections::HashSet;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{ServerTools, SetAside, Tool, naming};
use crate::config::Server;
use crate::json::{compact_size, items, reckonable, string};
use crate::limits;
use crate::text::display_capped;

/// How many set-aside tools are kept by name; the rest are counted.
const SET_ASIDE_KEPT: usize = 100;
/// How much of a tool's name is shown in a message.
const SHOWN_NAME_CHARS: usize = 80;

/// Why a server's list is refused whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error("It lists two tools with the name `{0}`. A call by that name could mean either, so none of its tools are used.")]
    Duplicate(String),
    #[error(
        "It lists more than {} tools, the limit of a turn. Leave some of them out with `disabledTools`.",
        limits::TOOLS_PER_TURN
    )]
    TooManyTools,
    #[error("It lists more than {} tools, hidden and malformed ones included.", limits::LISTED_TOOLS)]
    TooManyListed,
    #[error(
        "Its tool schemas are larger than 512 KiB together ({0} bytes by the tool that passed it). Leave some of its tools out with \
         `disabledTools`."
    )]
    TooManyBytes(usize),
    #[error("Its answer to `tools/list` is not what the protocol says: {0}.")]
    Malformed(String),
    #[error("It answered more than {} pages of tools.", limits::TOOL_PAGES)]
    TooManyPages,
    #[error("It sent a page cursor twice, so its list of tools would never end.")]
    CursorLoop,
    #[error("It sent a page cursor longer than {} KiB.", limits::CURSOR_BYTES / 1024)]
    CursorTooLong,
}

/// Collects the pages of one listing.
pub struct Listing<'a> {
    server: &'a Server,
    parts: [String; 5],
    listed: usize,
    offered: usize,
    bytes: usize,
    pages: usize,
    cursors: HashSet<[u8; 32]>,
    names: HashSet<String>,
    more_set_aside: usize,
    /// The first tool whose schema holds a number that is too large, and how many there are.
    too_large: (Option<String>, usize),
    tools: ServerTools,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "nextCursor")]
    next_cursor: Option<&'a RawValue>,
}

/// One tool as written. Raw, so that nothing is built from it before its size is known.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputSchema")]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "outputSchema")]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "anthropic/requiresUserInteraction", deserialize_with = "present")]
    requires_user_interaction: Option<&'a RawValue>,
}

/// Keeps a written `null` apart from an absent key.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// B21's object whose compact length is a tool's schema size; also what its digest covers, with `_meta`.
#[derive(Serialize)]
struct Sized<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(rename = "inputSchema")]
    input_schema: &'a RawValue,
    #[serde(rename = "outputSchema", skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a RawValue>,
}

impl<'a> Listing<'a> {
    pub fn new(server: &'a Server) -> Self {
        Self {
            server,
            parts: server.id.parts(),
            listed: 0,
            offered: 0,
            bytes: 0,
            pages: 0,
            cursors: HashSet::new(),
            names: HashSet::new(),
            more_set_aside: 0,
            too_large: (None, 0),
            tools: ServerTools::default(),
        }
    }

    /// Takes the result of one `tools/list` request as JSON text; the cursor of the next page, if there is one.
    pub fn page(&mut self, result: &str) -> Result<Option<String>, ListError> {
        let malformed = |why: &str| ListError::Malformed(why.into());
        // Here and below: a list would be read member by member, in the order of ours.
        if !result.trim_start().starts_with('{') {
            return Err(malformed("it is not an object"));
        }
        let page: Page<'_> = serde_json::from_str(result).map_err(|error| malformed(&words(&error)))?;
        let tools = page.tools.and_then(|raw| items(raw.get(), limits::LISTED_TOOLS + 1));
        let tools = tools.ok_or_else(|| malformed("its `tools` is missing or not a list"))?;
        let cursor = page.next_cursor.map(|raw| string(raw).ok_or_else(|| malformed("its `nextCursor` is not a string")));
        let cursor = cursor.transpose()?;
        self.pages += 1;
        for raw in tools {
            self.listed += 1;
            if self.listed > limits::LISTED_TOOLS {
                return Err(ListError::TooManyListed);
            }
            self.tool(raw.get())?;
        }
        // An empty cursor is how some servers say "no more".
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
        if cursor.len() > limits::CURSOR_BYTES {
            return Err(ListError::CursorTooLong);
        }
        if !self.cursors.insert(Sha256::digest(&cursor).into()) {
            return Err(ListError::CursorLoop);
        }
        if self.pages == limits::TOOL_PAGES {
            return Err(ListError::TooManyPages);
        }
        Ok(Some(cursor))
    }

    /// What all pages came to.
    pub fn finish(mut self) -> ServerTools {
        if self.more_set_aside > 0 {
            self.tools
                .set_aside
                .push(SetAside { name: None, reason: format!("{} more tools are malformed too", self.more_set_aside) });
        }
        if let (Some(name), tools) = self.too_large {
            let others = if tools > 1 { format!(" (and of {} more)", tools - 1) } else { String::new() };
            self.tools.notices.push(format!(
                "The `inputSchema` of `{name}`{others} holds a number that is too large to be used; {:e} stands for it.",
                f64::MAX
            ));
        }
        for (key, wanted) in [("disabledTools", &self.server.hidden_tools), ("disabledAutoApproveTools", &self.server.always_ask)]
        {
            for name in wanted.iter().filter(|name| !self.names.contains(*name)) {
                let name = display_capped(name, SHOWN_NAME_CHARS);
                self.tools.notices.push(format!("`{key}` names `{name}`, and the server lists no tool of that name."));
            }
        }
        self.tools
    }

    fn tool(&mut self, raw: &str) -> Result<(), ListError> {
        match self.read(raw)? {
            Ok(tool) => self.tools.tools.push(tool),
            Err(aside) if self.tools.set_aside.len() < SET_ASIDE_KEPT => self.tools.set_aside.push(aside),
            Err(_) => self.more_set_aside += 1,
        }
        Ok(())
    }

    /// The outer error refuses the server, the inner one sets this tool aside.
    fn read(&mut self, raw: &str) -> Result<Result<Tool, SetAside>, ListError> {
        let unnamed = |reason: String| Ok(Err(SetAside { name: None, reason }));
        if !raw.starts_with('{') {
            return unnamed("it is not an object".into());
        }
        let written: Written<'_> = match serde_json::from_str(raw) {
            Ok(written) => written,
            Err(error) => return unnamed(words(&error)),
        };
        let Some(name) = written.name.and_then(string) else {
            return unnamed("its `name` is missing or not a string".into());
        };
        let aside =
            |reason: &str| Ok(Err(SetAside { name: Some(display_capped(&name, SHOWN_NAME_CHARS)), reason: reason.to_string() }));
        if name.is_empty() {
            return aside("its name is empty");
        }
        if name.len() > limits::TOOL_NAME_BYTES {
            return aside(&format!("its name is longer than {} bytes", limits::TOOL_NAME_BYTES));
        }
        if !self.names.insert(name.clone()) {
            return Err(ListError::Duplicate(display_capped(&name, SHOWN_NAME_CHARS)));
        }
        let (title, description) = (written.title.map(string), written.description.map(string));
        let (Some(title), Some(description)) = (transpose(title), transpose(description)) else {
            return aside("its `title` or `description` is not a string");
        };
        let Some(input) = written.input_schema else { return aside("it has no `inputSchema`") };
        for (key, value) in
            [("inputSchema", Some(input)), ("outputSchema", written.output_schema), ("annotations", written.annotations)]
        {
            if value.is_some_and(|value| !value.get().starts_with('{')) {
                return aside(&format!("its `{key}` is not an object"));
            }
        }
        let sized = Sized {
            name: &name,
            title: title.as_deref(),
            description: description.as_deref(),
            input_schema: input,
            output_schema: written.output_schema,
            annotations: written.annotations,
        };
        let text = to_raw_value(&sized).map_err(|error| ListError::Malformed(words(&error)))?;
        let schema_bytes = match compact_size(&text) {
            Ok(bytes) => bytes,
            Err(why) => return aside(&why.to_string()),
        };
        let disabled = self.server.hidden_tools.iter().any(|hidden| *hidden == *name);
        if !disabled {
            self.offered += 1;
            self.bytes += schema_bytes;
            if self.offered > limits::TOOLS_PER_TURN {
                return Err(ListError::TooManyTools);
            }
            if self.bytes > limits::SERVER_SCHEMA_BYTES {
                return Err(ListError::TooManyBytes(self.bytes));
            }
        }
        let (input_schema, replaced) = if disabled { (Map::new(), false) } else { object(input) };
        if let Some(reason) = unusable_schema(&input_schema) {
            self.offered -= 1;
            self.bytes -= schema_bytes;
            return aside(reason);
        }
        let mut digest = Sha256::new();
        digest.update(text.get());
        digest.update(written.meta.map_or("", RawValue::get));
        let requires_user_interaction = written.meta.is_some_and(requires_user_interaction);
        if replaced {
            self.too_large.0.get_or_insert_with(|| display_capped(&name, SHOWN_NAME_CHARS));
            self.too_large.1 += 1;
        }
        let shown = |raw: Option<&RawValue>| raw.filter(|_| !disabled).map(|raw| object(raw).0);
        // Its bytes do not count, so no more of them is kept than is shown.
        let title = title.map(|title| if disabled { title.chars().take(limits::TITLE_CHARS + 1).collect() } else { title });
        Ok(Ok(Tool {
            model_name: naming::model_name(&self.parts, &name),
            title,
            description: description.filter(|_| !disabled),
            input_schema,
            output_schema: shown(written.output_schema),
            annotations: shown(written.annotations),
            requires_user_interaction,
            schema_bytes,
            disabled,
            always_asks: requires_user_interaction || self.server.always_ask.iter().any(|asks| *asks == *name),
            digest: digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
            name,
        }))
    }
}

/// B36: true, or anything that is not a boolean; also a `_meta` that says it twice.
fn requires_user_interaction(meta: &RawValue) -> bool {
    match serde_json::from_str::<Meta<'_>>(meta.get()) {
        Ok(meta) => meta.requires_user_interaction.is_some_and(|value| value.get() != "false"),
        Err(_) => meta.get().starts_with('{'),
    }
}

/// Why no client could offer this schema, or nothing. Whether arguments can be checked against it is another question.
fn unusable_schema(schema: &Map<String, Value>) -> Option<&'static str> {
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => return Some("its `inputSchema` must have `\"type\": \"object\"`"),
        None if schema.keys().any(|key| matches!(key.as_str(), "oneOf" | "anyOf" | "allOf" | "$ref" | "enum" | "const")) => {
            return Some("its `inputSchema` must have `\"type\": \"object\"`, not only alternatives");
        }
        None => {}
    }
    match schema.get("properties") {
        None => None,
        Some(Value::Object(properties)) if properties.values().all(|p| p.is_object() || p.is_boolean()) => None,
        Some(Value::Object(_)) => Some("a member of its `properties` is not a schema"),
        Some(_) => Some("its `properties` is not an object"),
    }
}

/// A schema as it is reckoned with, and whether that took replacing a number. Its size is known.
fn object(raw: &RawValue) -> (Map<String, Value>, bool) {
    let (text, replaced) = reckonable(raw).unwrap_or_default();
    (serde_json::from_str(&text).unwrap_or_default(), replaced)
}

/// Absent is fine, present and wrong is not.
fn transpose<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(None) => None,
        Some(some) => Some(some),
    }
}

/// serde's words without a position: it would count inside a message that nobody sees.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    display_capped(text, 200)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Launch, StdioLaunch};
    use crate::machine::environment::Environment;
    use crate::machine::{Machine, Surroundings};

    fn server() -> Server {
        Server {
            id: "native:local:/h/.mework/mcp.json#s".parse().unwrap(),
            machine: Machine::local(Surroundings {
                home: "/h".into(),
                data: "/d".into(),
                environment: Environment::default(),
                supervisor: Vec::new(),
            }),
            launch: Launch::Stdio(StdioLaunch::default()),
            call_timeout: limits::CALL_TIMEOUT,
            description: None,
            hidden_tools: Vec::new(),
            always_ask: Vec::new(),
            notes: Vec::new(),
            digest: String::new(),
            connection_digest: String::new(),
            canonical: String::new(),
        }
    }

    fn list(server: &Server, pages: &[Value]) -> Result<ServerTools, ListError> {
        let mut listing = Listing::new(server);
        for page in pages {
            listing.page(&page.to_string())?;
        }
        Ok(listing.finish())
    }

    fn names(tools: &ServerTools) -> Vec<&str> {
        tools.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn plain(name: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    /// Complaint 32 among others: one malformed tool costs the others nothing.
    #[test]
    fn b21_each_malformed_tool_is_set_aside_with_its_reason() {
        let tools = list(
            &server(),
            &[json!({ "tools": [
                plain("good"),
                5,
                {},
                { "name": 3, "inputSchema": {} },
                plain(""),
                plain(&"n".repeat(513)),
                { "name": "no schema" },
                { "name": "text schema", "inputSchema": "x" },
                { "name": "title", "title": 5, "inputSchema": {} },
                { "name": "array", "inputSchema": { "type": "array" } },
                { "name": "oneOf", "inputSchema": { "oneOf": [{ "type": "object" }] } },
                { "name": "required inside", "inputSchema": { "type": "object", "properties": { "required": ["a"] } } },
                plain(&"m".repeat(512)),
            ] })],
        )
        .unwrap();
        assert_eq!(names(&tools), ["good", &"m".repeat(512)]);
        let aside: Vec<(Option<&str>, &str)> =
            tools.set_aside.iter().map(|aside| (aside.name.as_deref(), aside.reason.as_str())).collect();
        let cut = "n".repeat(80) + "…";
        assert_eq!(
            aside,
            [
                (None, "it is not an object"),
                (None, "its `name` is missing or not a string"),
                (None, "its `name` is missing or not a string"),
                (Some(""), "its name is empty"),
                (Some(cut.as_str()), "its name is longer than 512 bytes"),
                (Some("no schema"), "it has no `inputSchema`"),
                (Some("text schema"), "its `inputSchema` is not an object"),
                (Some("title"), "its `title` or `description` is not a string"),
                (Some("array"), "its `inputSchema` must have `\"type\": \"object\"`"),
                (Some("oneOf"), "its `inputSchema` must have `\"type\": \"object\"`, not only alternatives"),
                (Some("required inside"), "a member of its `properties` is not a schema"),
            ]
        );
    }

    #[test]
    fn b21_a_tool_that_writes_a_key_twice_is_set_aside() {
        let mut listing_of = server();
        listing_of.hidden_tools.clear();
        let mut listing = Listing::new(&listing_of);
        listing.page(r#"{"tools":[{"name":"a","name":"b","inputSchema":{}},{"name":"c","inputSchema":{}}]}"#).unwrap();
        let tools = listing.finish();
        assert_eq!((names(&tools), tools.set_aside[0].reason.as_str()), (vec!["c"], "duplicate field `name`"));
    }

    #[test]
    fn b21_the_schema_size_is_the_compact_object_of_six_keys() {
        let server = server();
        let mut listing = Listing::new(&server);
        listing
            .page(
                r#"{"tools":[{"_meta":{"x":1}, "icons":[], "annotations":{ "readOnlyHint":true },
                   "name":"a","description":"d\u00e4", "inputSchema":{ "type" : "object" }}]}"#,
            )
            .unwrap();
        let expected = r#"{"name":"a","description":"dä","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
        assert_eq!(listing.finish().tools[0].schema_bytes, expected.len());
    }

    #[test]
    fn b22_a_name_listed_twice_drops_the_server() {
        let pages = [json!({ "tools": [plain("a")], "nextCursor": "1" }), json!({ "tools": [plain("a")] })];
        let error = list(&server(), &pages).unwrap_err();
        assert_eq!(error, ListError::Duplicate("a".into()));
        assert!(error.to_string().contains("two tools with the name `a`"));
    }

    /// Complaints 27 and 28.
    #[test]
    fn b21_pages_cursors_and_counts_are_bounded() {
        let same = json!({ "tools": [], "nextCursor": "x" });
        assert_eq!(list(&server(), &[same.clone(), same]).unwrap_err(), ListError::CursorLoop);
        let pages: Vec<Value> = (0..200).map(|n| json!({ "tools": [], "nextCursor": n.to_string() })).collect();
        assert_eq!(list(&server(), &pages).unwrap_err(), ListError::TooManyPages);
        let long = json!({ "tools": [], "nextCursor": "c".repeat(limits::CURSOR_BYTES + 1) });
        assert_eq!(list(&server(), &[long]).unwrap_err(), ListError::CursorTooLong);
        let many = |n: usize| json!({ "tools": (0..n).map(|n| plain(&format!("t{n}"))).collect::<Vec<_>>() });
        assert_eq!(list(&server(), &[many(2048)]).unwrap().tools.len(), 2048);
        assert_eq!(list(&server(), &[many(2049)]).unwrap_err(), ListError::TooManyTools);
        let empty: Vec<Value> = (0..8193).map(|_| Value::Null).collect();
        assert_eq!(list(&server(), &[json!({ "tools": empty })]).unwrap_err(), ListError::TooManyListed);
        let by_place = list(&server(), &[json!({ "tools": [["t", null, null, { "type": "object" }]] })]).unwrap();
        assert_eq!((by_place.tools.len(), by_place.set_aside[0].reason.as_str()), (0, "it is not an object"));
    }

    #[test]
    fn what_is_wrong_with_a_page_is_named() {
        let why = |page: Value| match list(&server(), &[page]).unwrap_err() {
            ListError::Malformed(why) => why,
            other => other.to_string(),
        };
        for other in [json!([[], null]), json!(5), json!(null)] {
            assert_eq!(why(other), "it is not an object");
        }
        for other in [json!({}), json!({ "tools": null }), json!({ "tools": {} }), json!({ "tools": "t", "nextCursor": 5 })] {
            assert_eq!(why(other), "its `tools` is missing or not a list");
        }
        assert_eq!(why(json!({ "tools": [plain("a")], "nextCursor": 5 })), "its `nextCursor` is not a string");
        assert!(list(&server(), &[json!({ "tools": [], "nextCursor": null })]).unwrap().tools.is_empty());
        let server = server();
        let twice = Listing::new(&server).page(r#"{"tools":[],"tools":[]}"#).unwrap_err();
        assert_eq!(twice, ListError::Malformed("duplicate field `tools`".into()));
    }

    #[test]
    fn a_number_that_is_too_large_costs_no_tool() {
        let server = server();
        let mut listing = Listing::new(&server);
        let tool = r#"{"name":"a","inputSchema":{"properties":{"n":{"maximum":1e999}}},"outputSchema":{"x":-1e999},"annotations":{"y":1e999},"_meta":{"z":1e999},"q":1e999}"#;
        listing.page(&format!(r#"{{"tools":[{tool},{{"name":"b","inputSchema":{{}}}}],"x":1e999}}"#)).unwrap();
        let tools = listing.finish();
        assert_eq!((names(&tools), tools.set_aside.len()), (vec!["a", "b"], 0));
        assert_eq!(tools.tools[0].input_schema, *json!({ "properties": { "n": { "maximum": f64::MAX } } }).as_object().unwrap());
        assert_eq!(tools.tools[0].output_schema, json!({ "x": f64::MIN }).as_object().cloned());
        assert_eq!(
            tools.notices,
            ["The `inputSchema` of `a` holds a number that is too large to be used; 1.7976931348623157e308 stands for it."]
        );
    }

    #[test]
    fn b21_512_kib_of_schemas_is_the_limit_of_one_server_and_hidden_tools_do_not_count() {
        let big = |name: &str| json!({ "name": name, "description": "x".repeat(300_000), "inputSchema": {} });
        let pages = [json!({ "tools": [big("a"), big("b")] })];
        let error = list(&server(), &pages).unwrap_err();
        assert!(matches!(error, ListError::TooManyBytes(_)) && error.to_string().contains("disabledTools"));
        let mut hides = server();
        hides.hidden_tools = vec!["b".into()];
        let tools = list(&hides, &pages).unwrap();
        assert_eq!(tools.tools.iter().map(|t| t.disabled).collect::<Vec<_>>(), [false, true]);
        assert!(tools.tools[1].schema_bytes > 300_000 && tools.tools[1].description.is_none());
        let titled = json!({ "name": "b", "title": "ä".repeat(300_000), "inputSchema": {} });
        let titled = list(&hides, &[json!({ "tools": [titled] })]).unwrap().tools.remove(0);
        assert_eq!((titled.title.as_ref().unwrap().len(), titled.shown_title().unwrap()), (482, "ä".repeat(240) + "…"));
    }

    #[test]
    fn b36_anything_but_false_asks_every_time() {
        let asks = |meta: Value| {
            let tool = json!({ "name": "a", "inputSchema": {}, "_meta": meta });
            list(&server(), &[json!({ "tools": [tool] })]).unwrap().tools[0].always_asks
        };
        let key = "anthropic/requiresUserInteraction";
        for value in [json!(true), json!("false"), json!(0), json!(null), json!([])] {
            assert!(asks(json!({ key: value })), "{value}");
        }
        assert!(!asks(json!({ key: false })) && !asks(json!({})) && !asks(json!(null)));
        let server = server();
        let mut twice = Listing::new(&server);
        let raw = format!(r#"{{"tools":[{{"name":"a","inputSchema":{{}},"_meta":{{"{key}":true,"{key}":false}}}}]}}"#);
        twice.page(&raw).unwrap();
        assert!(twice.finish().tools[0].requires_user_interaction);
    }

    #[test]
    fn row_29_entries_that_match_nothing_are_noticed() {
        let mut server = server();
        server.hidden_tools = vec!["a".into(), "gone".into()];
        server.always_ask = vec!["b".into(), "renamed".into()];
        let tools = list(&server, &[json!({ "tools": [plain("a"), plain("b")] })]).unwrap();
        assert_eq!(
            tools.notices,
            [
                "`disabledTools` names `gone`, and the server lists no tool of that name.",
                "`disabledAutoApproveTools` names `renamed`, and the server lists no tool of that name."
            ]
        );
        assert!(tools.tools[0].disabled && tools.tools[1].always_asks && !tools.tools[1].requires_user_interaction);
    }

    #[test]
    fn row_6_a_changed_definition_has_another_digest() {
        let digest = |tool: Value| list(&server(), &[json!({ "tools": [tool] })]).unwrap().tools[0].digest.clone();
        let plain = digest(plain("a"));
        assert_ne!(plain, digest(json!({ "name": "a", "description": "new", "inputSchema": { "type": "object" } })));
        assert_ne!(plain, digest(json!({ "name": "a", "inputSchema": { "type": "object" }, "_meta": { "k": 1 } })));
    }
}
