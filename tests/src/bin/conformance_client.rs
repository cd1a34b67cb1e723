//! The client that the official conformance suite tests: `conformance-client URL`. It does what a window does, in a home of
//! its own: declares a server at this address, ticks it, lists its tools, calls each of them and allows the call on its card.
//! What came of each call is printed, one line of JSON a call.

use std::process::ExitCode;

use mework_engine::wire::{CallState, Event, ServerStatus};
use mework_tests::engine::{Home, Window, id};
use serde_json::{Map, Value, json};

/// The tool that wants to be given another tool's schema as it arrived here.
const SCHEMA_ECHO: &str = "json_schema_echo";
/// Its server lists a tool that nobody can call.
const ONLY_LISTED: &str = "json-schema-ref-no-deref";

#[tokio::main]
async fn main() -> ExitCode {
    let url = std::env::args().nth(1).expect("the address of a server");
    let home = Home::new();
    let file = home.global(json!({ "suite": { "type": "http", "url": url } }));
    let server = id(&file, "suite");
    let mut window = home.window().await;
    let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
    window.ok("conversation.open", json!({ "id": conversation })).await;
    window.ok("server.tick", json!({ "conversation": conversation, "server": server, "ticked": true })).await;
    let connected = window
        .wait(|event| match event {
            Event::ServerStatus { status: ServerStatus::Connected(_), .. } => Some(Ok(())),
            Event::ServerStatus { status: ServerStatus::Failed(failure), .. } => Some(Err(failure.message)),
            _ => None,
        })
        .await;
    let mut well = connected.is_ok();
    if let Err(message) = connected {
        eprintln!("not connected: {message}");
    } else {
        for (tool, arguments) in calls(&window, &conversation, &server).await {
            let state = window.call(&conversation, &server, &tool, &arguments).await;
            well &= matches!(&state, CallState::Done(outcome) if !outcome.is_error);
            println!("{}", json!({ "tool": tool, "state": state }));
        }
    }
    window.engine.shutdown().await;
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The calls that a scenario wishes for, or one of every tool there is.
async fn calls(window: &Window, conversation: &str, server: &str) -> Vec<(String, Value)> {
    let context: Value =
        std::env::var("MCP_CONFORMANCE_CONTEXT").map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"));
    if std::env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|scenario| scenario == ONLY_LISTED) {
        return Vec::new();
    }
    if let Some(wishes) = context["toolCalls"].as_array() {
        return wishes
            .iter()
            .map(|wish| (wish["name"].as_str().expect("a name").to_owned(), wish["arguments"].clone()))
            .collect();
    }
    let listed = window.ok("tools.list", json!({ "id": conversation })).await;
    let mut tools = Vec::new();
    for tool in listed["tools"].as_array().expect("tools") {
        let params = json!({ "conversation": conversation, "server": server, "tool": tool["name"] });
        tools.push((
            tool["name"].as_str().expect("a name").to_owned(),
            window.ok("tools.get", params).await["input_schema"].take(),
        ));
    }
    match tools.iter().find(|(name, _)| name != SCHEMA_ECHO) {
        Some((_, schema)) if tools.iter().any(|(name, _)| name == SCHEMA_ECHO) => {
            vec![(SCHEMA_ECHO.to_owned(), json!({ "schema": schema }))]
        }
        _ => tools.into_iter().map(|(name, schema)| (name, arguments(&schema))).collect(),
    }
}

/// The least that a plain schema asks for.
fn arguments(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let of = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("word"),
    };
    Value::Object(required.map(|name| (name.to_owned(), of(name))).collect::<Map<_, _>>())
}
