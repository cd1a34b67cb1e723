use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::config::{FileState, Level, Scope, ServerEntry, ServerId, digest, list as list_level};
use crate::machine::{Machine, Surroundings};

fn text(bytes: Result<Vec<u8>, EditProblem>) -> String {
    String::from_utf8(bytes.unwrap_or_else(|e| panic!("{e}"))).unwrap()
}
fn entry(text: &str) -> Json {
    json::parse(text.as_bytes()).unwrap()
}
fn plain() -> Json {
    entry(r#"{"command": "npx", "args": ["-y", "p"], "env": {"T": "${T}"}}"#)
}

const FILE: &str = r#"{
  "theme":   "dark",
  "mcpServers": {
    "a": { "command": "x" },

    "b": {"command":"y"},
    "c" : [ 1,2 ]
  }, "mcp": {"b": 1}
}
"#;

/// B17, complaint 21: only the entry and what sets it apart goes.
#[test]
fn b17_removing() {
    assert_eq!(text(remove(FILE.as_bytes(), "a")), FILE.replace("\"a\": { \"command\": \"x\" },\n\n    ", ""));
    assert_eq!(text(remove(FILE.as_bytes(), "b")), FILE.replace("\"b\": {\"command\":\"y\"},\n    ", ""));
    assert_eq!(text(remove(FILE.as_bytes(), "c")), FILE.replace(",\n    \"c\" : [ 1,2 ]", ""));
    let table = [
        ("{\"mcpServers\":{\"a\":{}}}", "{\"mcpServers\":{}}"),
        ("\u{FEFF}{\"mcpServers\": {\r\n  \"a\": {}\r\n}}\r\n", "\u{FEFF}{\"mcpServers\": {}}\r\n"),
        ("{\"mcpServers\":{\"a\":{},\"b\":{}}}", "{\"mcpServers\":{\"b\":{}}}"),
        ("{\"mcpServers\":{\"b\":{} , \"a\":{} }}", "{\"mcpServers\":{\"b\":{} }}"),
        // A key may be spelled with escapes, a value may hold anything.
        ("{\"mcpServers\":{\"\\u0061\":{\"x\":\"}\\\"{\"},\"b\":{\"ü\":\"\\\\\"}}}", "{\"mcpServers\":{\"b\":{\"ü\":\"\\\\\"}}}"),
    ];
    for (before, after) in table {
        assert_eq!(text(remove(before.as_bytes(), "a")), after, "{before}");
    }
    assert!(matches!(remove(FILE.as_bytes(), "theme"), Err(EditProblem::NotThere { .. })));
    assert!(matches!(remove(br#"{"mcpServers":{"a":1,"a":2}}"#, "a"), Err(EditProblem::Twice { .. })));
    assert!(matches!(remove(b"{ // mine\n\"mcpServers\":{\"a\":1}}", "a"), Err(EditProblem::File(FileProblem::Comment { .. }))));
}

#[test]
fn adding_follows_the_files_style() {
    let table = [
        (
            "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"n\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"p\"],\n      \"env\": {\n        \"T\": \"${T}\"\n      }\n    }\n  }\n}\n",
        ),
        (
            "\u{FEFF}{\r\n\t\"mcpServers\" : {\r\n\t}\r\n}",
            "\u{FEFF}{\r\n\t\"mcpServers\" : {\r\n\t\t\"n\": {\r\n\t\t\t\"command\": \"npx\",\r\n\t\t\t\"args\": [\"-y\", \"p\"],\r\n\t\t\t\"env\": {\r\n\t\t\t\t\"T\": \"${T}\"\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n}",
        ),
        (
            "{\"mcpServers\":{}}",
            "{\"mcpServers\":{\"n\":{\"command\":\"npx\",\"args\":[\"-y\",\"p\"],\"env\":{\"T\":\"${T}\"}}}}",
        ),
        (
            "{\"mcpServers\": {\"a\": {}, \"b\": {}}}",
            "{\"mcpServers\": {\"a\": {}, \"b\": {}, \"n\": {\"command\":\"npx\",\"args\":[\"-y\",\"p\"],\"env\":{\"T\":\"${T}\"}}}}",
        ),
        (
            "{\"mcpServers\": {\"a\": {}}}",
            "{\"mcpServers\": {\"a\": {},\"n\": {\"command\":\"npx\",\"args\":[\"-y\",\"p\"],\"env\":{\"T\":\"${T}\"}}}}",
        ),
    ];
    for (before, after) in table {
        assert_eq!(text(add(Some(before.as_bytes()), "n", &plain())), after, "{before:?}");
    }
    assert_eq!(
        text(add(None, "n", &entry(r#"{"command": "x"}"#))),
        "{\n  \"mcpServers\": {\n    \"n\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"
    );
    assert!(matches!(add(Some(FILE.as_bytes()), "a", &plain()), Err(EditProblem::Exists { .. })));
    assert!(matches!(add(None, "a b", &plain()), Err(EditProblem::Name(_))));
    assert!(matches!(add(None, "a", &Json::Null), Err(EditProblem::NotAnEntry { found: "null" })));
}

#[test]
fn replacing_keeps_key_and_place() {
    let new = entry(r#"{"command": "z", "args": []}"#);
    assert_eq!(
        text(replace(FILE.as_bytes(), "b", &new)),
        FILE.replace(r#"{"command":"y"}"#, "{\n      \"command\": \"z\",\n      \"args\": []\n    }")
    );
    assert_eq!(
        text(replace(b"{\"mcpServers\":{\"a\" :{}}}", "a", &new)),
        "{\"mcpServers\":{\"a\" :{\"command\":\"z\",\"args\":[]}}}"
    );
    assert!(matches!(replace(FILE.as_bytes(), "n", &new), Err(EditProblem::NotThere { .. })));
}

/// An editor's text goes in letter for letter; lines that were left alone keep their bytes.
#[test]
fn b17_changing_writes_what_was_written() {
    let file = "\u{FEFF}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"command\":  \"x\",\n\r\n\t\t\"n\": 1e2\r\n\t\t},\r\n\t\t\"b\": {}\r\n\t}\r\n}";
    let shown = "{\n\t\"command\":  \"x\",\n\n\"n\": 1e2\n}";
    assert_eq!(text_of(file.as_bytes(), "a").unwrap(), shown);
    assert_eq!(text(change(file.as_bytes(), "a", "a", shown)), file, "nothing was changed");
    let edited = shown.replace("\"n\": 1e2", "\"n\": 1e2,\n\t\"m\": [ 1 ,2 ]");
    assert_eq!(
        text(change(file.as_bytes(), "a", "a", &edited)),
        file.replace("\"n\": 1e2", "\"n\": 1e2,\r\n\t\t\t\"m\": [ 1 ,2 ]")
    );
    // Renamed, it keeps its place.
    assert_eq!(text(change(file.as_bytes(), "a", "z-1", shown)), file.replace("\"a\":", "\"z-1\":"));
    assert_eq!(
        text(change(FILE.as_bytes(), "b", "b2", " \r\n{ \"command\":\"y\" }\n")),
        FILE.replace(r#""b": {"command":"y"}"#, r#""b2": { "command":"y" }"#)
    );
    // On one line, and over several, in a file that knows no indentation.
    let minified = br#"{"mcpServers":{"a":{"x":1},"b":2}}"#;
    assert_eq!(text(change(minified, "a", "a", "{\n  \"x\": 2\n}")), "{\"mcpServers\":{\"a\":{\n  \"x\": 2\n},\"b\":2}}");
    // Whatever an entry is, it is shown; only an object is written.
    assert_eq!(text_of(FILE.as_bytes(), "c").unwrap(), "[ 1,2 ]");
    assert_eq!(text(change(FILE.as_bytes(), "c", "c", "{}")), FILE.replace("[ 1,2 ]", "{}"));
}

#[test]
fn b17_changing_refuses() {
    let refused = |name: &str, new: &str, text: &str| change(FILE.as_bytes(), name, new, text).unwrap_err();
    assert!(matches!(refused("a", "b", "{}"), EditProblem::Exists { .. }));
    assert!(matches!(refused("n", "n", "{}"), EditProblem::NotThere { .. }));
    for name in ["", "a b", "ä", "__proto__", &"x".repeat(129)] {
        assert!(matches!(refused("a", name, "{}"), EditProblem::Name(_)), "{name}");
    }
    assert!(matches!(refused("a", "a", "[]"), EditProblem::NotAnEntry { found: "an array" }));
    assert_eq!(refused("a", "a", "").to_string(), "The entry cannot be used: it is empty. It needs at least {}.");
    assert_eq!(
        refused("a", "a", "{\n\"x\" 1}").to_string(),
        "The entry cannot be used: the text is not valid JSON: line 2, column 5: a `:` is missing."
    );
    let words = refused("a", "a", &format!("{{\"secret\": {}", "[".repeat(70))).to_string();
    assert!(words.contains("nested deeper") && !words.contains("secret"), "{words}");
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(1024 * 1024 - 20));
    assert!(matches!(refused("a", "a", &large), EditProblem::TooLarge));
    // By itself it is not too deep, in the file it is.
    let deep = format!("{{\"x\": {}{}}}", "[".repeat(62), "]".repeat(62));
    assert!(matches!(refused("a", "a", &deep), EditProblem::File(FileProblem::TooDeep { .. })));
    assert!(matches!(change(br#"{"mcpServers":{"a":1,"a":2}}"#, "a", "a", "{}"), Err(EditProblem::Twice { .. })));
    assert!(matches!(text_of(br#"{"mcpServers":{"a":1,"a":2}}"#, "a"), Err(EditProblem::Twice { .. })));
    assert!(matches!(text_of(b"{}", "a"), Err(EditProblem::File(FileProblem::NoServers))));
}

/// One name in, one name out, in the style of what stands there; names that match nothing stay.
#[test]
fn a_tool_is_listed_and_taken_off() {
    let in_file = |entry: &str| format!("{{\n  \"mcpServers\": {{\n    \"s\": {entry}\n  }}\n}}\n");
    let table = [
        ("{}", "{\n      \"disabledTools\": [\"t\"]\n    }"),
        (r#"{ "command": "x" }"#, r#"{ "command": "x", "disabledTools": ["t"] }"#),
        (r#"{"command":"x"}"#, r#"{"command":"x","disabledTools":["t"]}"#),
        ("{\n      \"command\": \"x\"\n    }", "{\n      \"command\": \"x\",\n      \"disabledTools\": [\"t\"]\n    }"),
        (r#"{ "disabledTools": ["gone"] }"#, r#"{ "disabledTools": ["gone", "t"] }"#),
        (r#"{"disabledTools":["gone"]}"#, r#"{"disabledTools":["gone","t"]}"#),
        (r#"{ "disabledTools": ["a","b"] }"#, r#"{ "disabledTools": ["a","b","t"] }"#),
        ("{ \"disabledTools\": [\n  \"a\"\n] }", "{ \"disabledTools\": [\n  \"a\",\n  \"t\"\n] }"),
    ];
    for (before, after) in table {
        let (before, after) = (in_file(before), in_file(after));
        let listed = text(list_tool(before.as_bytes(), "s", ToolList::Disabled, "t", true));
        assert_eq!(listed, after);
        assert_eq!(text(list_tool(after.as_bytes(), "s", ToolList::Disabled, "t", true)), after, "once is enough");
        assert_eq!(text(list_tool(before.as_bytes(), "s", ToolList::Disabled, "t", false)), before, "it is not there");
        let back = text(list_tool(after.as_bytes(), "s", ToolList::Disabled, "t", false));
        if before.contains("{}") { assert!(back.contains("\"s\": {}"), "{back}") } else { assert_eq!(back, before) }
    }
    // Every spelling of it goes, and only it; the other list is not looked at.
    let file = in_file(r#"{ "disabledTools": [ "t" , "a",  "\u0074","b" , "t" ], "disabledAutoApproveTools": ["t"] }"#);
    assert_eq!(
        text(list_tool(file.as_bytes(), "s", ToolList::Disabled, "t", false)),
        in_file(r#"{ "disabledTools": [ "a","b" ], "disabledAutoApproveTools": ["t"] }"#)
    );
    // Names are the server's own, whatever is in them.
    let odd = "t\"\\\n\u{202e}";
    let listed = list_tool(file.as_bytes(), "s", ToolList::AlwaysAsk, odd, true).unwrap();
    let Json::Object(entry) = &json::servers(&listed).unwrap()[0].1 else { panic!() };
    assert_eq!(entry[1].1, Json::Array(vec![Json::String("t".into()), Json::String(odd.into())]));
    let refused = |entry: &str| list_tool(in_file(entry).as_bytes(), "s", ToolList::Disabled, "t", true).unwrap_err();
    assert!(matches!(refused(r#"{"disabledTools": "t"}"#), EditProblem::NotAList { key: "disabledTools" }));
    assert!(matches!(refused(r#"{"disabledTools": ["t", 1]}"#), EditProblem::NotAList { .. }));
    assert!(matches!(refused(r#"{"disabledTools": [], "disabledTools": ["t"]}"#), EditProblem::KeyTwice { .. }));
    assert!(matches!(refused("[]"), EditProblem::NotAnEntry { .. }));
}

#[test]
fn long_arrays_are_broken() {
    let long = format!(r#"{{"args": ["{}", "b"], "x": [[], {{}}, [1]]}}"#, "a".repeat(90));
    assert_eq!(
        pretty(&entry(&long)),
        format!(
            "{{\n  \"args\": [\n    \"{}\",\n    \"b\"\n  ],\n  \"x\": [\n    [],\n    {{}},\n    [1]\n  ]\n}}",
            "a".repeat(90)
        )
    );
}

// Random files: a tree, written with random white space, escapes, line ends and byte-order mark.

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i32>().prop_map(|n| Json::Number(n.into())),
        "[\"\\\\/a-zé\u{1F600}{}\\[\\]:,\n\t]{0,8}".prop_map(Json::String),
    ];
    leaf.prop_recursive(6, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec(("[a-c\"\\\\é]{0,3}", inner), 0..4).prop_map(Json::Object),
        ]
    })
}

/// Writes a tree, taking its white space and escapes from a tape of choices.
struct Writer<'a> {
    tape: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    out: String,
}

impl Writer<'_> {
    fn blank(&mut self) {
        let blank = match self.tape.next().copied().unwrap_or(0) % 12 {
            0..=4 => "",
            5 | 6 => " ",
            7 => "\n",
            8 => "\r\n  ",
            9 => "\t",
            10 => "\n\n    ",
            _ => "\r",
        };
        self.out.push_str(blank);
    }
    fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            let escape = self.tape.next().copied().unwrap_or(0) % 5 == 0;
            if escape || c == '"' || c == '\\' || c < ' ' {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    self.out.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                self.out.push(c);
            }
        }
        self.out.push('"');
    }
    fn list<T>(&mut self, open: char, close: char, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.out.push(open);
        for (index, it) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.blank();
            item(self, it);
            self.blank();
        }
        if items.is_empty() {
            self.blank();
        }
        self.out.push(close);
    }
    fn value(&mut self, value: &Json) {
        match value {
            Json::Null => self.out.push_str("null"),
            Json::Bool(flag) => self.out.push_str(&flag.to_string()),
            Json::Number(number) => self.out.push_str(&number.to_string()),
            Json::String(text) => self.text(text),
            Json::Array(items) => self.list('[', ']', items, |w, item| w.value(item)),
            Json::Object(members) => self.list('{', '}', members, |w, (name, value)| {
                w.text(name);
                w.blank();
                w.out.push(':');
                w.blank();
                w.value(value);
            }),
        }
    }
}

prop_compose! {
    /// A file's bytes and its servers.
    fn file()(
        servers in prop::collection::btree_map("[a-zA-Z_-]{1,6}", value(), 0..5),
        before in prop::collection::vec(("[d-f]{1,3}", value()), 0..3),
        after in prop::collection::vec(("[d-f]{1,3}", value()), 0..3),
        tape in prop::collection::vec(any::<u8>(), 1..64),
        bom in any::<bool>(),
        minified in any::<bool>(),
    ) -> (Vec<u8>, Vec<(String, Json)>) {
        let servers: Vec<_> = servers.into_iter().collect();
        let mut top = before;
        top.push(("mcpServers".into(), Json::Object(servers.clone())));
        top.extend(after);
        let tape = if minified { vec![1] } else { tape };
        let mut writer = Writer { tape: tape.iter().cycle(), out: String::from(if bom { "\u{FEFF}" } else { "" }) };
        writer.blank();
        writer.value(&Json::Object(top));
        writer.blank();
        (writer.out.into_bytes(), servers)
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The bytes of `long` that are not in `short`, when `short` is `long` with one piece cut out that begins at or before
/// `at`; `None` when it is not.
fn cut_out<'a>(long: &'a [u8], short: &[u8]) -> Option<&'a [u8]> {
    let length = long.len().checked_sub(short.len())?;
    let start = common_prefix(long, short);
    (long[start + length..] == short[start..]).then(|| &long[start..start + length])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn b17_removing_touches_nothing_else((bytes, servers) in file(), pick in any::<prop::sample::Index>()) {
        if servers.is_empty() {
            return Ok(());
        }
        let index = pick.index(servers.len());
        let name = &servers[index].0;
        let layout = Layout::of(&bytes).unwrap();
        let member = layout.members[index].clone();
        let bom = layout.bom.len();
        let after = remove(&bytes, name).unwrap();
        // What is left stands in the old order, and what is gone is one piece: the entry, one comma at most, white space.
        prop_assert!(cut_out(&bytes, &after).is_some());
        let mut left = servers.clone();
        left.remove(index);
        prop_assert_eq!(json::servers(&after).unwrap(), left);
        let text = std::str::from_utf8(&bytes[bom..]).unwrap();
        let own = &text[member.key.start..member.value.end];
        let gone = bytes.len() - after.len() - own.len();
        let around_before = text[..member.key.start].trim_end_matches([' ', '\t', '\r', '\n', ',']).len();
        let around_after = text[member.value.end..].trim_start_matches([' ', '\t', '\r', '\n', ',']).len();
        let most = (member.key.start - around_before) + (text.len() - around_after - member.value.end);
        prop_assert!(gone <= most, "{} bytes beside the entry, at most {}", gone, most);
        // Every byte before and after that stretch is where it was.
        prop_assert!(after.starts_with(&bytes[..bom + around_before]));
        prop_assert!(after.ends_with(&bytes[bytes.len() - around_after..]));
    }

    #[test]
    fn b17_adding_and_removing_again_gives_the_same_bytes((bytes, servers) in file(), entry in value()) {
        let entry = Json::Object(vec![("command".into(), Json::String("x".into())), ("more".into(), entry)]);
        let name = "new9";
        let after = add(Some(&bytes), name, &entry).unwrap();
        let mut expected = servers.clone();
        expected.push((name.into(), entry));
        prop_assert_eq!(json::servers(&after).unwrap(), expected);
        let back = remove(&after, name).unwrap();
        if servers.is_empty() {
            // Blanks between the braces are the only thing that may be lost.
            let strip = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap().replace([' ', '\t', '\r', '\n'], "");
            prop_assert_eq!(strip(&back), strip(&bytes));
        } else {
            prop_assert_eq!(back, bytes);
        }
    }

    #[test]
    fn b17_replacing_touches_the_value_only((bytes, servers) in file(), pick in any::<prop::sample::Index>()) {
        if servers.is_empty() {
            return Ok(());
        }
        let index = pick.index(servers.len());
        let layout = Layout::of(&bytes).unwrap();
        let value = layout.members[index].value.clone();
        let bom = layout.bom.len();
        let after = replace(&bytes, &servers[index].0, &plain()).unwrap();
        prop_assert!(after.starts_with(&bytes[..bom + value.start]));
        prop_assert!(after.ends_with(&bytes[bom + value.end..]));
        let mut expected = servers.clone();
        expected[index].1 = plain();
        prop_assert_eq!(json::servers(&after).unwrap(), expected);
    }

    #[test]
    fn b17_changing_touches_that_member_only(
        (bytes, servers) in file(), pick in any::<prop::sample::Index>(), renamed in any::<bool>(), with in value(), tape in prop::collection::vec(any::<u8>(), 1..32)
    ) {
        if servers.is_empty() {
            return Ok(());
        }
        let index = pick.index(servers.len());
        let name = &servers[index].0;
        let new_name = if renamed { "new9" } else { name.as_str() };
        let entry = Json::Object(vec![("command".into(), Json::String("x".into())), ("more".into(), with)]);
        let mut writer = Writer { tape: tape.iter().cycle(), out: String::new() };
        writer.value(&entry);
        let layout = Layout::of(&bytes).unwrap();
        let (member, bom) = (layout.members[index].clone(), layout.bom.len());
        let after = change(&bytes, name, new_name, &writer.out).unwrap();
        let (before, behind) = (&bytes[..bom + member.key.start], &bytes[bom + member.value.end..]);
        prop_assert!(after.starts_with(before) && after.ends_with(behind));
        let colon = &bytes[bom + member.key.end..bom + member.value.start];
        let middle = &after[before.len()..after.len() - behind.len()];
        let key = if renamed { b"\"new9\"".to_vec() } else { bytes[bom + member.key.start..bom + member.key.end].to_vec() };
        prop_assert!(middle.starts_with(&[key.as_slice(), colon].concat()));
        let mut expected = servers.clone();
        expected[index] = (new_name.to_string(), entry);
        prop_assert_eq!(json::servers(&after).unwrap(), expected);
        // What was written is shown again, and saved again it is the same file.
        let shown = text_of(&after, new_name).unwrap();
        prop_assert_eq!(&change(&after, new_name, new_name, &shown).unwrap(), &after);
        prop_assert!(!shown.contains('\r'));
    }

    #[test]
    fn b17_showing_and_saving_changes_nothing((bytes, servers) in file()) {
        for (name, entry) in &servers {
            let shown = text_of(&bytes, name).unwrap();
            prop_assert_eq!(&json::parse(shown.as_bytes()).unwrap(), entry);
            if let Json::Object(_) = entry {
                prop_assert_eq!(&change(&bytes, name, name, &shown).unwrap(), &bytes);
            }
        }
    }

    #[test]
    fn a_tools_switch_goes_there_and_back(
        (bytes, mut servers) in file(), pick in any::<prop::sample::Index>(), ask in any::<bool>(), names in prop::collection::vec("[a-c\"\\\\]{1,2}", 0..4), tape in prop::collection::vec(any::<u8>(), 1..32)
    ) {
        if servers.is_empty() {
            return Ok(());
        }
        let list = if ask { ToolList::AlwaysAsk } else { ToolList::Disabled };
        let index = pick.index(servers.len());
        let mut members = vec![("command".to_string(), Json::String("x".into()))];
        if !names.is_empty() {
            members.push((list.key().into(), Json::Array(names.iter().cloned().map(Json::String).collect())));
        }
        servers[index].1 = Json::Object(members);
        let mut writer = Writer { tape: tape.iter().cycle(), out: String::new() };
        writer.value(&servers[index].1);
        let name = servers[index].0.clone();
        let bytes = change(&bytes, &name, &name, &writer.out).unwrap();
        let on = list_tool(&bytes, &name, list, "tool", true).unwrap();
        prop_assert!(cut_out(&on, &bytes).is_some(), "one piece was put in");
        let mut expected = servers.clone();
        let mut all = names.clone();
        all.push("tool".into());
        expected[index].1 = Json::Object(vec![
            ("command".into(), Json::String("x".into())),
            (list.key().into(), Json::Array(all.into_iter().map(Json::String).collect())),
        ]);
        prop_assert_eq!(json::servers(&on).unwrap(), expected);
        prop_assert_eq!(&list_tool(&on, &name, list, "tool", true).unwrap(), &on);
        prop_assert_eq!(list_tool(&on, &name, list, "tool", false).unwrap(), bytes);
    }

    #[test]
    fn editing_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80), name in ".{0,5}") {
        let _ = remove(&bytes, &name);
        let _ = add(Some(&bytes), &name, &plain());
        let _ = replace(&bytes, &name, &plain());
        let _ = text_of(&bytes, &name);
        let _ = change(&bytes, &name, "n", "{}");
        let _ = list_tool(&bytes, &name, ToolList::Disabled, "t", true);
    }
}

// On real files.

fn level(home: &Path, scope: Scope) -> Level {
    let surroundings =
        Surroundings { home: home.into(), data: home.join("data"), environment: Default::default(), supervisor: vec![] };
    Level { machine: Machine::local(surroundings), scope }
}

async fn shown(level: &Level) -> (String, ServerId) {
    let found = list_level(level).await;
    let FileState::Read { hash } = found.state else { panic!("{:?}", found.state) };
    let id = found.servers.values().next().map(ServerEntry::id).cloned();
    (hash, id.unwrap())
}

#[tokio::test]
async fn b17_a_server_goes_and_comes() {
    let home = tempfile::tempdir().unwrap();
    let level = level(home.path(), Scope::Global);
    let id = add_server(&level, "a", r#"{"command": "x"}"#, None, false).await.unwrap().id;
    assert_eq!(id.file, level.new_file());
    let (hash, listed) = shown(&level).await;
    assert_eq!(listed, id);
    let twice = add_server(&level, "a", r#"{"command": "y"}"#, Some(&hash), false).await;
    assert!(matches!(twice, Err(EditProblem::Exists { .. })));
    add_server(&level, "a", r#"{"command": "y"}"#, Some(&hash), true).await.unwrap();
    let stale = remove_server(&level, &id, &hash).await;
    assert!(matches!(stale, Err(EditProblem::Changed)), "{stale:?}");
    assert_eq!(
        fs::read_to_string(level.new_file()).unwrap(),
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"y\"\n    }\n  }\n}\n"
    );
    let (hash, _) = shown(&level).await;
    remove_server(&level, &id, &hash).await.unwrap();
    assert_eq!(fs::read_to_string(level.new_file()).unwrap(), "{\n  \"mcpServers\": {}\n}\n");
    let again = remove_server(&level, &id, &digest::sha256(&fs::read(level.new_file()).unwrap())).await;
    assert!(matches!(again, Err(EditProblem::NotThere { .. })));
}

/// What was shown and what stands there differ: nothing is written, and an ignored file says what is wrong with it.
#[tokio::test]
async fn b17_refusals_leave_the_file_alone() {
    let home = tempfile::tempdir().unwrap();
    let level = level(home.path(), Scope::Global);
    let id = add_server(&level, "a", r#"{"command": "x"}"#, None, false).await.unwrap().id;
    let unseen = add_server(&level, "b", r#"{"command": "x"}"#, None, false).await;
    assert!(matches!(unseen, Err(EditProblem::Changed)), "{unseen:?}");
    for bad in ["{", "[]", "{} x"] {
        let (hash, _) = shown(&level).await;
        let refused = add_server(&level, "b", bad, Some(&hash), false).await;
        assert!(matches!(refused, Err(EditProblem::BadEntry(_) | EditProblem::NotAnEntry { .. })), "{refused:?}");
    }
    let broken = "{\"mcpServers\": {},}";
    fs::write(level.new_file(), broken).unwrap();
    let refused = add_server(&level, "b", r#"{"command": "x"}"#, None, false).await;
    assert!(matches!(refused, Err(EditProblem::File(FileProblem::TrailingComma { .. }))), "{refused:?}");
    let refused = remove_server(&level, &id, &digest::sha256(broken.as_bytes())).await;
    assert!(matches!(refused, Err(EditProblem::File(FileProblem::TrailingComma { .. }))), "{refused:?}");
    assert_eq!(fs::read_to_string(level.new_file()).unwrap(), broken);
}

/// B1: a level that only has the old name's file is edited there; a new file would hide it.
#[tokio::test]
async fn b1_the_file_that_counts_is_edited() {
    let home = tempfile::tempdir().unwrap();
    let level = level(home.path(), Scope::Global);
    fs::create_dir(home.path().join(".naiword")).unwrap();
    fs::write(level.legacy_file(), r#"{"mcpServers":{"a":{"command":"x"}}}"#).unwrap();
    let (hash, _) = shown(&level).await;
    let id = add_server(&level, "b", r#"{"command":"y"}"#, Some(&hash), false).await.unwrap().id;
    assert_eq!(id.file, level.legacy_file());
    assert_eq!(fs::read_to_string(level.legacy_file()).unwrap(), r#"{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}"#);
    assert!(!level.new_file().exists());
}

/// Row 27: the global file's link is followed, a workspace's that leads outside is refused; mode bits stay.
#[cfg(unix)]
#[tokio::test]
async fn b17_links_and_mode_bits() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("dotfiles.json");
    fs::write(&target, "\u{FEFF}{\"mcpServers\":{\"a\":{\"command\":\"x\"},\r\n \"b\":{\"command\":\"y\"}}}").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let global = level(home.path(), Scope::Global);
    fs::create_dir(home.path().join(".mework")).unwrap();
    symlink(&target, global.new_file()).unwrap();
    let (hash, id) = shown(&global).await;
    remove_server(&global, &id, &hash).await.unwrap();
    assert!(fs::symlink_metadata(global.new_file()).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "\u{FEFF}{\"mcpServers\":{\"b\":{\"command\":\"y\"}}}");
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);

    let folder = home.path().join("w");
    fs::create_dir_all(folder.join(".mework")).unwrap();
    let workspace = level(home.path(), Scope::Workspace(folder));
    symlink(&target, workspace.new_file()).unwrap();
    let before = fs::read(&target).unwrap();
    let id = ServerId { file: workspace.new_file(), name: "b".into(), ..id };
    let refused = remove_server(&workspace, &id, &digest::sha256(&before)).await;
    assert!(matches!(refused, Err(EditProblem::Unreadable(_))), "{refused:?}");
    let refused = add_server(&workspace, "c", r#"{"command": "x"}"#, None, false).await;
    assert!(matches!(refused, Err(EditProblem::Unreadable(_))), "{refused:?}");
    assert_eq!(fs::read(&target).unwrap(), before);
}
