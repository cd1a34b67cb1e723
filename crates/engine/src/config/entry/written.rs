//! An entry as it was written: every key we know with its type checked, and keys written twice (B3, B5). What the keys
//! mean together is the parent's.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::Number;

use super::misspelt;
use crate::config::json::{Json, quoted};
use crate::text::cut;

/// More than [`quoted`] shows of a key.
const SHOWN_BYTES: usize = 512;

/// A key of an entry as it was written.
#[derive(Debug, Default)]
pub enum Field<T> {
    #[default]
    Absent,
    /// Present with the wrong type, which is a failed check already.
    Wrong,
    Is(T),
}

impl<T> Field<T> {
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Wrong => None,
        }
    }
    pub fn as_ref(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Wrong => None,
        }
    }
}

/// Every key we know, as written.
#[derive(Debug, Default)]
pub struct Written {
    pub kind: Field<String>,
    pub command: Field<String>,
    pub args: Field<Vec<String>>,
    pub env: Field<IndexMap<String, String>>,
    pub env_passthrough: Field<Vec<String>>,
    pub cwd: Field<String>,
    pub workspace: Field<bool>,
    pub registry_url: Field<String>,
    pub url: Field<String>,
    pub headers: Field<IndexMap<String, String>>,
    pub timeout_seconds: Field<Number>,
    pub timeout: Field<Number>,
    pub long_running: Field<bool>,
    pub description: Field<String>,
    pub disabled_tools: Field<Vec<String>>,
    pub disabled_auto_approve_tools: Field<Vec<String>>,
    pub oauth: bool,
    pub headers_helper: bool,
}

/// The failed checks and the notes of one entry.
#[derive(Debug, Default)]
pub struct Findings {
    pub reasons: Vec<String>,
    pub notes: Vec<String>,
}

impl Findings {
    pub fn reason(&mut self, reason: impl Into<String>) {
        self.reasons.push(reason.into());
    }
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
    fn wrong<T>(&mut self, key: &str, value: &Json, expected: &str) -> Field<T> {
        self.reason(format!("`{key}` must be {expected}; it is {}.", value.kind()));
        Field::Wrong
    }
    fn text(&mut self, key: &str, value: &Json) -> Field<String> {
        match value {
            Json::String(text) => Field::Is(text.clone()),
            other => self.wrong(key, other, "text in quotes"),
        }
    }
    fn texts(&mut self, key: &str, value: &Json) -> Field<Vec<String>> {
        let Json::Array(items) = value else { return self.wrong(key, value, "an array of texts") };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item {
                Json::String(text) => texts.push(text.clone()),
                other => return self.wrong(&format!("{key}[{index}]"), other, "text in quotes"),
            }
        }
        Field::Is(texts)
    }
    /// Members written twice are the caller's to find; the last one stands here, and the entry is unavailable anyway.
    fn map(&mut self, key: &str, value: &Json) -> Field<IndexMap<String, String>> {
        let Json::Object(members) = value else { return self.wrong(key, value, "an object of texts") };
        let mut map = IndexMap::with_capacity(members.len());
        let mut wrong = false;
        for (name, value) in members {
            match value {
                Json::String(text) => {
                    map.insert(name.clone(), text.clone());
                }
                other => {
                    wrong = true;
                    self.reason(format!("{} must be text in quotes; it is {}.", under(key, name), other.kind()));
                }
            }
        }
        if wrong { Field::Wrong } else { Field::Is(map) }
    }
    fn flag(&mut self, key: &str, value: &Json) -> Field<bool> {
        match value {
            Json::Bool(flag) => Field::Is(*flag),
            other => self.wrong(key, other, "true or false"),
        }
    }
    fn number(&mut self, key: &str, value: &Json) -> Field<Number> {
        match value {
            Json::Number(number) => Field::Is(number.clone()),
            other => self.wrong(key, other, "a number"),
        }
    }
}

/// `env.NAME` as messages show it.
pub fn under(key: &str, name: &str) -> String {
    // Only the beginning is shown, and there may be thousands of names under a key that is as long as a file may be.
    quoted(&format!("{}.{}", cut(key, SHOWN_BYTES), cut(name, SHOWN_BYTES)))
}

pub fn read(members: &[(String, Json)], f: &mut Findings) -> Written {
    let mut w = Written::default();
    let mut unknown = Vec::new();
    for (key, value) in members {
        match key.as_str() {
            "type" => w.kind = f.text(key, value),
            "command" => w.command = f.text(key, value),
            "args" => w.args = f.texts(key, value),
            "env" => w.env = f.map(key, value),
            "envPassthrough" => w.env_passthrough = f.texts(key, value),
            "cwd" => w.cwd = f.text(key, value),
            "workspace" => w.workspace = f.flag(key, value),
            "registryUrl" => w.registry_url = f.text(key, value),
            "url" => w.url = f.text(key, value),
            "headers" => w.headers = f.map(key, value),
            "timeoutSeconds" => w.timeout_seconds = f.number(key, value),
            "timeout" => w.timeout = f.number(key, value),
            "longRunning" => w.long_running = f.flag(key, value),
            "description" => w.description = f.text(key, value),
            "disabledTools" => w.disabled_tools = f.texts(key, value),
            "disabledAutoApproveTools" => w.disabled_auto_approve_tools = f.texts(key, value),
            "oauth" => w.oauth = true,
            "headersHelper" => w.headers_helper = true,
            other => unknown.push(other),
        }
    }
    let there = |key: &str| members.iter().any(|(written, _)| written == key);
    f.notes.extend(misspelt::notes(unknown.into_iter(), there));
    w
}

/// B3: a key written twice anywhere in an entry; header names in any case.
pub fn find_twice(members: &[(String, Json)], path: &mut String, f: &mut Findings) {
    let mut seen = BTreeSet::new();
    let mut told = BTreeSet::new();
    for (key, value) in members {
        let name = if path == "headers" { key.to_ascii_lowercase() } else { key.clone() };
        if !seen.insert(name.clone()) && told.insert(name) {
            let shown = if path.is_empty() { quoted(key) } else { under(path, key) };
            f.reason(format!("{shown} is declared twice. Remove one of the two."));
        }
        let length = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        find_twice_in(value, path, f);
        path.truncate(length);
    }
}

fn find_twice_in(value: &Json, path: &mut String, f: &mut Findings) {
    match value {
        Json::Object(members) => find_twice(members, path, f),
        Json::Array(items) => items.iter().for_each(|item| find_twice_in(item, path, f)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
