//! Errors and answers to a handshake as servers write them: what matters is read, whatever stands around it.

use std::collections::BTreeMap;

use rmcp::model::{
    DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, ServerResult,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::wire::WORD_BYTES;
use crate::json::{items, members, string};
use crate::text::{Scrubber, cut};

/// Bytes kept of a server's error message.
pub(super) const ERROR_BYTES: usize = 4 * 1024;
/// Of a server's protocol versions more are not looked at.
const VERSIONS: usize = 64;
/// A longer error is not looked into.
const READ_BYTES: usize = 64 * 1024;

/// An error as the protocol says, or anything else that stands in its place: `"error": "boom"`. Its message is empty when the
/// server gave none, and nothing else that says why.
pub(super) fn error(raw: &RawValue, scrubber: &Scrubber) -> ErrorData {
    let read = Some(raw.get()).filter(|text| text.len() <= READ_BYTES);
    let [code, message, data] = read.and_then(|text| members(text, ["code", "message", "data"])).unwrap_or_default();
    let known = code.and_then(error_code);
    let message = match message.and_then(string).or_else(|| string(raw)) {
        Some(message) if !message.trim().is_empty() => message,
        _ if string(raw).is_some() || known.is_some() && read.is_some_and(says_nothing) => String::new(),
        // What it says is in its data, or in some way of its own.
        _ => raw.get().to_string(),
    };
    let code = known.unwrap_or(ErrorCode::INTERNAL_ERROR);
    // The data of a version refusal is read in the handshake; it is small.
    let data = data.filter(|_| code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
    let data = data.and_then(|data| serde_json::from_str(data.get()).ok());
    ErrorData::new(code, scrubber.show_cut(&message, ERROR_BYTES), data)
}

/// Whether an error has nothing but its code.
fn says_nothing(error: &str) -> bool {
    let nothing =
        |raw: &RawValue| matches!(raw.get(), "null" | "{}" | "[]") || string(raw).is_some_and(|words| words.trim().is_empty());
    serde_json::from_str::<BTreeMap<String, &RawValue>>(error)
        .is_ok_and(|members| members.iter().all(|(name, value)| name == "code" || nothing(value)))
}

/// A whole number by value, as ids are.
fn error_code(raw: &RawValue) -> Option<ErrorCode> {
    let code: f64 = serde_json::from_str(raw.get()).ok()?;
    let whole = code.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&code);
    whole.then_some(ErrorCode(code as i32))
}

/// What an error says, for a sentence that ends with it.
pub(super) fn said(error: &ErrorData) -> String {
    match error.message.trim() {
        "" => format!("an error without a message (code {})", error.code.0),
        _ => error.message.to_string(),
    }
}

/// The answer to `initialize`, or what is wrong with it.
pub(super) fn initialize_result(raw: &str) -> Result<ServerResult, &'static str> {
    let names = ["protocolVersion", "capabilities", "serverInfo"];
    let [version, capabilities, server] = members(raw, names).ok_or("it is not an object")?;
    let version = version.and_then(string).ok_or("its `protocolVersion` is missing or not a string")?;
    let mut result = InitializeResult::new(self::capabilities(capabilities));
    result.protocol_version = version_of(&version).ok_or("its `protocolVersion` is no version")?;
    result.server_info = implementation(server);
    Ok(ServerResult::InitializeResult(result))
}

/// The answer to `server/discover`, or what is wrong with it.
pub(super) fn discover_result(raw: &str) -> Result<ServerResult, &'static str> {
    let names = ["supportedVersions", "capabilities", "_meta", "serverInfo"];
    let [versions, capabilities, meta, server] = members(raw, names).ok_or("it is not an object")?;
    let versions = versions.and_then(|raw| items(raw.get(), VERSIONS));
    let versions = versions.ok_or("its `supportedVersions` is missing or not a list")?;
    let versions: Vec<ProtocolVersion> = versions.into_iter().filter_map(|raw| version_of(&string(raw)?)).collect();
    let named = meta.and_then(|meta| members(meta.get(), ["io.modelcontextprotocol/serverInfo"]));
    let info = implementation(named.and_then(|[server]| server).or(server));
    let result: Option<DiscoverResult> = serde_json::from_value(json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": self::capabilities(capabilities),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": info.name, "version": info.version } },
    }))
    .ok();
    result.map(ServerResult::DiscoverResult).ok_or("its `supportedVersions` holds what is no version")
}

fn version_of(text: &str) -> Option<ProtocolVersion> {
    serde_json::from_value(Value::String(cut(text, 64).into())).ok()
}

/// Whether it offers tools, and whether it says when they change, is all that matters here.
fn capabilities(written: Option<&RawValue>) -> ServerCapabilities {
    let tools = written.and_then(|raw| members(raw.get(), ["tools"])).and_then(|[tools]| tools);
    let Some(tools) = tools else { return ServerCapabilities::default() };
    let changes = members(tools.get(), ["listChanged"]).and_then(|[changes]| changes).is_some_and(|raw| raw.get() == "true");
    serde_json::from_value(json!({ "tools": { "listChanged": changes } })).unwrap_or_default()
}

fn implementation(written: Option<&RawValue>) -> Implementation {
    let [name, version] = written.and_then(|raw| members(raw.get(), ["name", "version"])).unwrap_or_default();
    let word = |raw: Option<&RawValue>| raw.and_then(string).map_or_else(String::new, |word| cut(&word, WORD_BYTES).into());
    Implementation::new(word(name), word(version))
}
