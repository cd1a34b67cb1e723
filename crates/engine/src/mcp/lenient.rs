//! Errors and answers to a handshake as servers write them: what matters is read, whatever stands around it.

use rmcp::model::{
    DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, ServerResult,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire::WORD_BYTES;
use crate::text::{Scrubber, cut};

/// Bytes kept of a server's error message.
pub(super) const ERROR_BYTES: usize = 4 * 1024;

/// An error as the protocol says, or anything else that stands in its place: `"error": "boom"`.
pub(super) fn error(raw: &RawValue, scrubber: &Scrubber) -> ErrorData {
    let value: Value =
        if raw.get().len() > 64 * 1024 { Value::Null } else { serde_json::from_str(raw.get()).unwrap_or(Value::Null) };
    let code = value.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok()).unwrap_or(-32603);
    let message = match (&value, value.get("message")) {
        (_, Some(Value::String(message))) | (Value::String(message), _) => message.clone(),
        _ => raw.get().to_string(),
    };
    // The data of a version refusal is read in the handshake; it is small.
    let data = value.get("data").filter(|_| code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0).cloned();
    ErrorData::new(ErrorCode(code), scrubber.show_cut(&message, ERROR_BYTES), data)
}

pub(super) fn initialize_result(raw: &str) -> Option<ServerResult> {
    let written: Map<String, Value> = serde_json::from_str(raw).ok()?;
    let version = written.get("protocolVersion")?.as_str()?;
    let mut result = InitializeResult::new(capabilities(&written));
    result.protocol_version = version_of(version)?;
    result.server_info = implementation(written.get("serverInfo"));
    Some(ServerResult::InitializeResult(result))
}

pub(super) fn discover_result(raw: &str) -> Option<ServerResult> {
    let written: Map<String, Value> = serde_json::from_str(raw).ok()?;
    let versions = written.get("supportedVersions")?.as_array()?;
    let versions: Vec<ProtocolVersion> = versions.iter().filter_map(Value::as_str).filter_map(version_of).collect();
    let server = written.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
    let info = implementation(server.or(written.get("serverInfo")));
    let result: DiscoverResult = serde_json::from_value(json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": capabilities(&written),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": info.name, "version": info.version } },
    }))
    .ok()?;
    Some(ServerResult::DiscoverResult(result))
}

fn version_of(text: &str) -> Option<ProtocolVersion> {
    serde_json::from_value(Value::String(cut(text, 64).into())).ok()
}

/// Whether it offers tools, and whether it says when they change, is all that matters here.
fn capabilities(written: &Map<String, Value>) -> ServerCapabilities {
    let Some(tools) = written.get("capabilities").and_then(|c| c.get("tools")) else { return ServerCapabilities::default() };
    let changes = tools.get("listChanged").and_then(Value::as_bool).unwrap_or(false);
    serde_json::from_value(json!({ "tools": { "listChanged": changes } })).unwrap_or_default()
}

fn implementation(written: Option<&Value>) -> Implementation {
    let word =
        |key: &str| written.and_then(|info| info.get(key)).and_then(Value::as_str).map_or("", |word| cut(word, WORD_BYTES));
    Implementation::new(word("name"), word("version"))
}
