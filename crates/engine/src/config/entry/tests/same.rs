//! When two entries are the same: ids, digests, what stands for an entry (B13).

use super::*;

/// B13: the id is source, machine, file and name, and survives its text form.
#[tokio::test]
async fn b13_ids() {
    let home = Home::new();
    let level = home.global();
    put(&level.new_file(), r#"{"mcpServers": {"a-1": {"command": "x"}}}"#);
    let found = list(&level).await;
    let id = found.servers["a-1"].id();
    let text = format!("native:local:{}#a-1", level.new_file().display());
    assert_eq!(id.to_string(), text);
    assert_eq!(&text.parse::<ServerId>().unwrap(), id);
    let odd = ServerId { file: "/a#b/c:d/mcp.json".into(), ..id.clone() };
    assert_eq!(odd.to_string().parse::<ServerId>().unwrap(), odd);
}

/// Row 1: each single change changes the digest, the order of keys and white space do not.
#[tokio::test]
async fn digests() {
    let base = r#"{"command": "npx", "args": ["-y", "p"], "env": {"A": "1", "B": "2"}, "cwd": "/", "registryUrl": "https://r.example/"}"#;
    let digest = async |entry: &str| ready(entry).await.digest;
    // The file is part of a digest, so compare within one.
    let home = Home::new();
    let level = home.global();
    let of = async |level: &Level, name: &str, entry: &str| {
        let json = crate::config::json::parse(here(entry).as_bytes()).unwrap();
        match check(level, &level.new_file(), name, &json, false).await {
            ServerEntry::Ready(s) => s.digest,
            ServerEntry::Unavailable(u) => panic!("{:?}", u.reasons),
        }
    };
    let first = of(&level, "a", base).await;
    assert_eq!(first.len(), 64);
    assert_ne!(digest(base).await, first, "another file");
    for same in [
        r#"{"registryUrl":"https://r.example/","cwd":"/","env":{"B":"2","A":"1"},"args":["-y","p"],"command":"npx"}"#,
        r#"{"type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"A": "1", "B": "2"}, "cwd": "/", "registryUrl": "https://r.example/",
            "disabled": true, "timeoutSeconds": 45, "workspace": false, "disabledTools": [], "url": "https://ignored.example"}"#,
    ] {
        assert_eq!(of(&level, "a", same).await, first, "{same}");
    }
    let mut seen = BTreeSet::from([first]);
    for other in [
        base.replace("npx", "npm"),
        base.replace("\"p\"", "\"q\""),
        base.replace(r#"["-y", "p"]"#, r#"["p", "-y"]"#),
        base.replace(r#"["-y", "p"]"#, r#"["-y p"]"#),
        base.replace("\"1\"", "\"3\""),
        base.replace("\"A\"", "\"C\""),
        base.replace(r#""cwd": "/""#, &format!(r#""cwd": {:?}"#, home.path())),
        base.replace("r.example", "s.example"),
        base.replacen('{', r#"{"envPassthrough": ["LANG"], "#, 1),
        base.replacen('{', r#"{"workspace": true, "#, 1),
        base.replacen('{', r#"{"timeoutSeconds": 46, "#, 1),
        base.replacen('{', r#"{"longRunning": true, "#, 1),
        base.replacen('{', r#"{"description": "d", "#, 1),
        base.replacen('{', r#"{"disabledTools": ["t"], "#, 1),
        base.replacen('{', r#"{"disabledAutoApproveTools": ["t"], "#, 1),
        r#"{"type": "http", "url": "https://e.example/"}"#.into(),
        r#"{"type": "http", "url": "https://e.example/x"}"#.into(),
        r#"{"type": "http", "url": "https://e.example/", "headers": {"X": "1"}}"#.into(),
        r#"{"type": "http", "url": "https://e.example/", "headers": {"X": "2"}}"#.into(),
    ] {
        assert!(seen.insert(of(&level, "a", &other).await), "{other}");
    }
    assert!(seen.insert(of(&level, "b", base).await), "another name");
    // Row 36: the machine and the file are part of it.
    assert!(seen.insert(of(&home.workspace("w"), "a", base).await), "another file");
    let id = ServerId {
        source: crate::config::Source::Native,
        machine: crate::machine::MachineId::local(),
        file: "/f".into(),
        place: None,
        name: "a".into(),
    };
    let other = ServerId { machine: crate::machine::MachineId("ssh:x".into()), ..id.clone() };
    assert_ne!(digest::digest(&id, "x"), digest::digest(&other, "x"));
}

/// The canonical form is an entry that means the same.
#[tokio::test]
async fn a_canonical_entry_means_the_same() {
    for entry in [
        r#"{"command": "npx", "args": ["-y", "${SET}"], "env": {"B": "2", "A": "1"}, "cwd": "/", "registryUrl": "https://r.example/", "workspace": true, "timeout": 60500}"#,
        r#"{"type": "streamable-http", "url": "https://e.example/?${SET}", "headers": {"x-b": "1", "X-A": "2"}, "disabledTools": ["b", "a"], "description": "d"}"#,
    ] {
        let server = ready(entry).await;
        let meaning = meaning_of_canonical(&server.canonical).unwrap();
        assert_eq!(digest::canonical(&meaning), server.canonical);
        assert_eq!((meaning.launch, meaning.call_timeout), (server.launch, server.call_timeout));
    }
    assert_eq!(meaning_of_canonical("not json"), None);
}
