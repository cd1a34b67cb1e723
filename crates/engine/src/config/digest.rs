//! What agreeing to a server binds to (row 1): the entry in canonical form, and a digest over it and where it stands.
//! The form does not depend on the order of keys nor on white space; the order of arguments counts.

use std::fmt::Display;

use indexmap::IndexMap;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::entry::Meaning;
use super::{HttpLaunch, Launch, ServerId, StdioLaunch};
use crate::limits;

/// The entry, unexpanded, as pretty JSON: every key that acts, in a fixed order, none at its default. It is an entry
/// itself and means the same.
pub fn canonical(meaning: &Meaning) -> String {
    form(meaning, true)
}

/// What a server is started or reached by, in the same form: the entry without its lists of tools, its time limit and its
/// description, which what runs needs not know.
pub fn canonical_connection(meaning: &Meaning) -> String {
    form(meaning, false)
}

/// There is nothing in the entry that [`canonical_connection`] leaves out.
pub fn is_connection_alone(meaning: &Meaning) -> bool {
    let Meaning { launch: _, call_timeout, description, hidden_tools, always_ask } = meaning;
    *call_timeout == limits::CALL_TIMEOUT && description.is_none() && hidden_tools.is_empty() && always_ask.is_empty()
}

/// `whole`: and not only what a connection is made of.
fn form(meaning: &Meaning, whole: bool) -> String {
    let Meaning { launch, call_timeout, description, hidden_tools, always_ask } = meaning;
    let mut form = Form(String::from("{"));
    match launch {
        Launch::Stdio(StdioLaunch { command, args, env, env_passthrough, cwd, workspace, registry_url }) => {
            form.text("type", "stdio");
            if let Some(url) = registry_url {
                form.text("registryUrl", url);
            }
            form.text("command", command);
            form.list("args", args);
            form.map("env", env);
            form.list("envPassthrough", env_passthrough);
            if let Some(cwd) = cwd {
                form.text("cwd", &cwd.to_string_lossy());
            }
            if *workspace {
                form.plain("workspace", true);
            }
        }
        Launch::Http(HttpLaunch { url, headers }) => {
            form.text("type", "http");
            form.text("url", url);
            form.map("headers", headers);
        }
    }
    if whole {
        if *call_timeout != limits::CALL_TIMEOUT {
            form.plain("timeoutSeconds", call_timeout.as_secs());
        }
        if let Some(description) = description {
            form.text("description", description);
        }
        form.list("disabledTools", hidden_tools);
        form.list("disabledAutoApproveTools", always_ask);
    }
    form.0 + "\n}"
}

/// Pretty JSON, written straight from the meaning: a file may hold a thousand entries, and each is judged again with every
/// look at it. There is nothing to it that could fail, so an entry never has the form of another because of that.
struct Form(String);

impl Form {
    fn key(&mut self, key: &str) {
        self.0 += if self.0.len() == 1 { "\n  " } else { ",\n  " };
        self.quoted(key);
        self.0 += ": ";
    }
    fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        self.quoted(text);
    }
    fn plain(&mut self, key: &str, value: impl Display) {
        self.key(key);
        self.0 += &value.to_string();
    }
    fn list(&mut self, key: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.key(key);
        for (at, item) in items.iter().enumerate() {
            self.0 += if at == 0 { "[\n    " } else { ",\n    " };
            self.quoted(item);
        }
        self.0 += "\n  ]";
    }
    fn map(&mut self, key: &str, members: &IndexMap<String, String>) {
        if members.is_empty() {
            return;
        }
        self.key(key);
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort();
        for (at, (name, value)) in sorted.into_iter().enumerate() {
            self.0 += if at == 0 { "{\n    " } else { ",\n    " };
            self.quoted(name);
            self.0 += ": ";
            self.quoted(value);
        }
        self.0 += "\n  }";
    }
    fn quoted(&mut self, text: &str) {
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            self.0 += &Value::from(text).to_string();
        } else {
            self.0.push('"');
            self.0 += text;
            self.0.push('"');
        }
    }
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
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn texts_are_written_as_json_writes_them() {
        for c in (0..0x3000).filter_map(char::from_u32).chain(['\u{feff}', '\u{ffff}', '🦀', '\u{10ffff}']) {
            let mut form = Form(String::new());
            let text = format!("a{c}é");
            form.quoted(&text);
            assert_eq!(form.0, serde_json::to_string(&text).unwrap());
        }
    }

    /// People agreed to digests of this form: another one would ask every one of them again.
    #[test]
    fn row_1_the_form_stays() {
        let map = |pairs: [(&str, &str); 2]| pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let stdio = StdioLaunch {
            command: "npx".into(),
            args: vec!["-y".into(), "a\"\u{1f}é".into()],
            env: map([("B", "2"), ("A", "1")]),
            env_passthrough: vec!["LANG".into()],
            cwd: Some("/w".into()),
            workspace: true,
            registry_url: Some("https://r.example/".into()),
        };
        let meaning = Meaning {
            launch: Launch::Stdio(stdio),
            call_timeout: Duration::from_secs(61),
            description: Some("d".into()),
            hidden_tools: vec!["x".into()],
            always_ask: vec!["y".into(), "z".into()],
        };
        let connection = r#"{
  "type": "stdio",
  "registryUrl": "https://r.example/",
  "command": "npx",
  "args": [
    "-y",
    "a\"\u001fé"
  ],
  "env": {
    "A": "1",
    "B": "2"
  },
  "envPassthrough": [
    "LANG"
  ],
  "cwd": "/w",
  "workspace": true"#;
        let rest = r#",
  "timeoutSeconds": 61,
  "description": "d",
  "disabledTools": [
    "x"
  ],
  "disabledAutoApproveTools": [
    "y",
    "z"
  ]"#;
        assert_eq!(canonical(&meaning), format!("{connection}{rest}\n}}"));
        assert_eq!(canonical_connection(&meaning), format!("{connection}\n}}"));
        assert!(!is_connection_alone(&meaning));
        let id = "native:local:/f#a".parse().unwrap();
        assert_eq!(digest(&id, &canonical(&meaning)), "aa0829c0e4616363aa0df57449dc6628b0a9dd51280608469fee1e6451057362");
        let launch =
            Launch::Http(HttpLaunch { url: "https://e.example/?${SET}".into(), headers: map([("x-b", "1"), ("X-A", "2")]) });
        let plain =
            Meaning { launch, call_timeout: limits::CALL_TIMEOUT, description: None, hidden_tools: vec![], always_ask: vec![] };
        let text = "{\n  \"type\": \"http\",\n  \"url\": \"https://e.example/?${SET}\",\n  \"headers\": {\n    \"X-A\": \"2\",\n    \"x-b\": \"1\"\n  }\n}";
        assert_eq!((canonical(&plain), canonical_connection(&plain)), (text.to_owned(), text.to_owned()));
        assert!(is_connection_alone(&plain));
    }
}
