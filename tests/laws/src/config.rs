//! A file is read as strict JSON reads it, or ignored whole for a reason that tells nothing of it. Each entry means one
//! thing, however it is written, or has reasons, which are short and name keys, never values.

use std::path::Path;
use std::sync::LazyLock;

use mework_engine::config::entry::{check, meaning_of_canonical};
use mework_engine::config::json::{self, BOM, FileProblem, Json};
use mework_engine::config::url::shown_url;
use mework_engine::config::{Level, Scope, Server, ServerEntry, digest, edit};
use mework_engine::limits::{CONFIG_DEPTH, CONFIG_FILE_BYTES};
use mework_engine::machine::environment::Environment;
use mework_engine::machine::{Machine, Surroundings};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use url::Url;

pub fn law(data: &[u8]) {
    let parsed = json::parse(data);
    let plain = plain(data);
    match &parsed {
        Ok(tree) => {
            assert_eq!(Some(of_tree(tree)), plain);
            assert_eq!(json::parse(edit::pretty(tree).as_bytes()).as_ref(), Ok(tree));
        }
        Err(problem) => assert!(plain.is_none(), "{problem}"),
    }
    match json::servers(data) {
        Ok(servers) => {
            for (name, entry) in &servers {
                let twice = servers.iter().filter(|(other, _)| other == name).count() > 1;
                judged(name, entry, twice);
            }
        }
        Err(FileProblem::OtherKey { .. }) => {}
        Err(problem) => {
            let masked = json::servers(&masked(data)).expect_err("as it was");
            assert_eq!(masked.to_string(), problem.to_string(), "it depends on a value");
        }
    }
}

/// What the plain parser has, where the limits of a file are kept.
fn plain(data: &[u8]) -> Option<Value> {
    let text = data.strip_prefix(BOM).unwrap_or(data);
    let value = serde_json::from_slice(text).ok().filter(|_| data.len() <= CONFIG_FILE_BYTES)?;
    (depth(&value) <= CONFIG_DEPTH).then_some(value)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The plain parser keeps the last of two.
fn of_tree(tree: &Json) -> Value {
    match tree {
        Json::Null => Value::Null,
        Json::Bool(flag) => (*flag).into(),
        Json::Number(number) => number.clone().into(),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(of_tree).collect(),
        Json::Object(members) => members.iter().map(|(key, value)| (key.clone(), of_tree(value))).collect(),
    }
}

/// Other letters and digits in every text that is no key.
fn masked(data: &[u8]) -> Vec<u8> {
    let mut out = data.to_vec();
    let mut at = 0;
    while let Some(begin) = out[at..].iter().position(|byte| *byte == b'"').map(|n| at + n + 1) {
        let (mut end, mut words) = (begin, Vec::new());
        while end < out.len() && out[end] != b'"' {
            match (out[end], out.get(end + 1)) {
                (b'\\', Some(b'u')) => end += 5,
                (b'\\', _) => end += 1,
                (byte, _) if byte.is_ascii_alphanumeric() => words.push(end),
                _ => {}
            }
            end += 1;
        }
        let is_key = out.get(end + 1..).is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b':'));
        if !is_key {
            words.into_iter().for_each(|at| out[at] = b'x');
        }
        at = (end + 1).min(out.len());
    }
    out
}

static HERE: LazyLock<(Runtime, Machine)> = LazyLock::new(|| {
    let environment = Environment::from_iter([("SET", "a value that is set"), ("EMPTY", "")]);
    let nowhere = || Path::new("/nowhere").to_path_buf();
    let surroundings = Surroundings { home: nowhere(), data: nowhere(), environment, supervisor: vec![] };
    (Builder::new_current_thread().build().expect("a runtime"), Machine::local(surroundings))
});

/// One entry as a level of its scope has it.
fn entry(scope: Scope, name: &str, entry: &Json, twice: bool) -> ServerEntry {
    let (runtime, machine) = &*HERE;
    let level = Level { machine: machine.clone(), scope };
    runtime.block_on(check(&level, Path::new("/nowhere/.mework/mcp.json"), name, entry, twice))
}

fn judged(name: &str, json: &Json, twice: bool) {
    for scope in [Scope::Global, Scope::Workspace("/nowhere".into())] {
        let entry = entry(scope, name, json, twice);
        match &entry {
            ServerEntry::Ready(server) => {
                assert!(!twice);
                means_one_thing(server);
                said(&server.notes);
            }
            ServerEntry::Unavailable(unavailable) => {
                assert!(!unavailable.reasons.is_empty());
                said(&unavailable.reasons);
                said(&unavailable.notes);
                names_no_value(json, &unavailable.notes);
                names_no_value(json, &unavailable.reasons);
            }
        }
        if let Some((_, Json::String(url))) = json.as_object().unwrap_or_default().iter().find(|(key, _)| key == "url") {
            shows_no_secret(url);
        }
    }
}

/// What stands for the entry in a digest means what the entry means, and is written one way.
fn means_one_thing(server: &Server) {
    let meaning = meaning_of_canonical(&server.canonical).expect("it was ready");
    assert_eq!((&meaning.launch, meaning.call_timeout), (&server.launch, server.call_timeout));
    assert_eq!((&meaning.description, &meaning.hidden_tools), (&server.description, &server.hidden_tools));
    assert_eq!((&meaning.always_ask, digest::canonical(&meaning)), (&server.always_ask, server.canonical.clone()));
    assert_eq!(server.digest.len(), 64);
}

fn said(words: &[String]) {
    assert!(words.len() <= 60);
    for words in words {
        assert!(!words.chars().any(char::is_control), "{words:?}");
    }
}

fn names_no_value(json: &Json, reasons: &[String]) {
    assert!(reasons.len() <= 51 && reasons.iter().all(|reason| reason.len() <= 8 * 1024));
    let (mut keys, mut values) = (String::new(), Vec::new());
    walk(json, &mut keys, &mut values);
    for value in values {
        let (digit, letter) = (|b: u8| b.is_ascii_digit(), |b: u8| b.is_ascii_alphabetic());
        // Nothing that stands in a sentence by chance, and no name of a variable.
        let telling = value.len() >= 8 && value.bytes().any(digit) && value.bytes().any(letter);
        if telling && value.bytes().all(|b| digit(b) || letter(b)) && !keys.contains(value) {
            assert!(!reasons.iter().any(|reason| reason.contains(value)), "{value} is in {reasons:?}");
        }
    }
}

/// Keys and names of variables on one side, values on the other.
fn walk<'a>(json: &'a Json, keys: &mut String, values: &mut Vec<&'a str>) {
    match json {
        Json::String(text) => {
            if text.contains("${") {
                keys.push_str(text);
            }
            values.push(text);
        }
        Json::Array(items) => items.iter().for_each(|item| walk(item, keys, values)),
        Json::Object(members) => {
            for (key, value) in members {
                keys.push_str(key);
                keys.push('\n');
                if key == "envPassthrough" {
                    walk(value, keys, &mut Vec::new());
                    collect(value, keys);
                } else {
                    walk(value, keys, values);
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Values that are names.
fn collect(json: &Json, keys: &mut String) {
    if let Json::Array(items) = json {
        items.iter().filter_map(Json::as_str).for_each(|text| keys.push_str(text));
    }
}

/// B4: what a person would be reached with is not shown with the address.
fn shows_no_secret(text: &str) {
    let shown = shown_url(text);
    assert!(!shown.contains(['?', '#']));
    if let Ok(url) = Url::parse(&shown) {
        assert!(url.password().is_none() && url.username().is_empty(), "{shown:?} of {text:?}");
    }
}
