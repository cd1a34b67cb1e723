//! What agreeing to a server binds to (row 1): the entry in canonical form, and a digest over it and where it stands.
//! The form does not depend on the order of keys nor on white space; the order of arguments counts.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::entry::Meaning;
use super::{HttpLaunch, Launch, ServerId, StdioLaunch};
use crate::limits;

/// The entry, unexpanded, as pretty JSON: every key that acts, in a fixed order, none at its default. It is an entry
/// itself and means the same.
pub fn canonical(meaning: &Meaning) -> String {
    let Meaning { launch, call_timeout, description, hidden_tools, always_ask } = meaning;
    let mut out = Map::new();
    match launch {
        Launch::Stdio(StdioLaunch { command, args, env, env_passthrough, cwd, workspace, registry_url }) => {
            out.insert("type".into(), "stdio".into());
            if let Some(url) = registry_url {
                out.insert("registryUrl".into(), url.as_str().into());
            }
            out.insert("command".into(), command.as_str().into());
            list(&mut out, "args", args);
            map(&mut out, "env", env);
            list(&mut out, "envPassthrough", env_passthrough);
            if let Some(cwd) = cwd {
                out.insert("cwd".into(), cwd.to_string_lossy().into());
            }
            if *workspace {
                out.insert("workspace".into(), true.into());
            }
        }
        Launch::Http(HttpLaunch { url, headers }) => {
            out.insert("type".into(), "http".into());
            out.insert("url".into(), url.as_str().into());
            map(&mut out, "headers", headers);
        }
    }
    if *call_timeout != limits::CALL_TIMEOUT {
        out.insert("timeoutSeconds".into(), call_timeout.as_secs().into());
    }
    if let Some(description) = description {
        out.insert("description".into(), description.as_str().into());
    }
    list(&mut out, "disabledTools", hidden_tools);
    list(&mut out, "disabledAutoApproveTools", always_ask);
    format!("{:#}", Value::Object(out))
}

/// The entry without its lists of tools, in the same form.
pub fn canonical_connection(meaning: &Meaning) -> String {
    canonical(&Meaning { hidden_tools: vec![], always_ask: vec![], ..meaning.clone() })
}

fn list(out: &mut Map<String, Value>, key: &str, items: &[String]) {
    if !items.is_empty() {
        out.insert(key.into(), items.into());
    }
}

fn map(out: &mut Map<String, Value>, key: &str, members: &indexmap::IndexMap<String, String>) {
    if members.is_empty() {
        return;
    }
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort();
    let members = sorted.into_iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect();
    out.insert(key.into(), Value::Object(members));
}

/// SHA-256, hex, over the server's id and its canonical entry. Every part is preceded by its length, so that no two
/// lists of parts look alike.
pub fn digest(id: &ServerId, canonical: &str) -> String {
    let mut sha = Sha256::new();
    for part in id.parts().iter().map(String::as_str).chain([canonical]) {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part);
    }
    hex(&sha.finalize())
}

/// SHA-256 of bytes, hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).filter_map(|n| char::from_digit(n.into(), 16)).collect()
}
