use super::*;
use crate::config::Scope;
use crate::machine::{Machine, Surroundings};

/// Name and entry, as one line of JSON each.
fn found(text: &str) -> Vec<(String, String)> {
    let found = parse(text, |word| word == "my-server").unwrap_or_else(|e| panic!("{text}: {e}"));
    found.into_iter().map(|p| (p.name, edit::pretty(&p.entry).split_whitespace().collect::<Vec<_>>().join(" "))).collect()
}
fn one(text: &str) -> (String, String) {
    let all = found(text);
    assert_eq!(all.len(), 1, "{text}");
    all.into_iter().next().unwrap()
}
fn pair(name: &str, entry: &str) -> (String, String) {
    (name.into(), entry.into())
}

#[test]
fn json_in_every_common_shape() {
    let x = r#"{ "command": "x" }"#;
    let table: &[(&str, &str)] = &[
        (r#"{"mcpServers": {"a": {"command": "x"}}}"#, "a"),
        ("```json\n{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n```", "a"),
        (r#"{"servers": {"a": {"command": "x"}}, "inputs": []}"#, "a"),
        (r#"{"mcp": {"servers": {"a": {"command": "x"}}}}"#, "a"),
        (r#"{"mcp": {"a": {"command": "x"}}}"#, "a"),
        (r#"{"mcp.servers": {"a": {"command": "x"}}}"#, "a"),
        (r#"{"context_servers": {"a": {"command": "x"}}}"#, "a"),
        (r#"{"a": {"command": "x"}}"#, "a"),
        (r#""a": {"command": "x"}"#, "a"),
        (r#""a": {"command": "x"},"#, "a"),
        ("\"mcpServers\": {\n \"a\": {\n  \"command\": \"x\",\n }\n}", "a"),
        ("\"a\": {\n \"command\": \"x\"\n }\n}\n}", "a"),
        (r#"{"name": "my server!", "command": "x"}"#, "my-server"),
        (r#"{"command": "x"}"#, "x"),
        ("{ // what it is\n \"mcpServers\": { /* one */ \"a\": {\"command\": \"x\",}, }, }", "a"),
    ];
    for (text, name) in table {
        assert_eq!(one(text), pair(name, x), "{text}");
    }
    assert_eq!(
        found(r#"{"mcpServers": {"b": {"command": "x"}, "a": {"url": "https://e.example"}, "c": 5}}"#),
        [pair("b", x), pair("a", r#"{ "type": "http", "url": "https://e.example" }"#), pair("c", "5")]
    );
    // Other programs' spellings of an address.
    for key in ["url", "httpUrl", "serverUrl"] {
        assert_eq!(
            one(&format!(r#"{{"{key}": "https://mcp.context7.com/mcp"}}"#)),
            pair("context7", r#"{ "type": "http", "url": "https://mcp.context7.com/mcp" }"#)
        );
    }
    // What was written twice stays so, and is said later.
    assert_eq!(one(r#"{"a": {"command": "x", "command": "y"}}"#).1, r#"{ "command": "x", "command": "y" }"#);
}

/// B3: of two servers of one name neither is taken, and the sentence names them.
#[test]
fn b3_a_name_that_stands_twice_is_said() {
    let said = |text: &str| parse(text, |_| false).map_err(|e| e.to_string());
    for text in [
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "z"}, "a": {"command": "y"}}}"#,
        r#"{"mcpServers": {"a": {"command": "x"}, "a": 5}}"#,
        r#"{"mcp": {"servers": {"a": {"command": "x"}, "a": {"command": "x"}}}}"#,
        r#""a": {"command": "x"}, "a": {"command": "y"},"#,
        r#"{"a": {"command": "x"}, /* again */ "a": {"command": "y"}}"#,
    ] {
        let sentence = "`a` is declared twice in this text, so it is unclear which one is meant. Rename or remove one.";
        assert_eq!(said(text), Err(sentence.into()), "{text}");
    }
    for (text, name) in [
        (r#"{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "y"}}}"#, "mcpServers"),
        (r#"{"mcp": {"servers": {"a": {"command": "x"}}, "servers": {"b": {"command": "y"}}}}"#, "servers"),
        (r#"{"mcp": {"a": {"command": "x"}}, "mcp": {"b": {"command": "y"}}}"#, "mcp"),
    ] {
        assert!(said(text).unwrap_err().starts_with(&format!("`{name}` is declared twice")), "{text}");
    }
    // What is no server may stand as it likes.
    assert_eq!(one(r#"{"inputs": [], "inputs": [], "mcpServers": {"a": {"command": "x"}}}"#).0, "a");
}

#[test]
fn lines_whose_names_are_the_same_are_numbered() {
    let names = |text: &str| found(text).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(
        names("https://a.example.com/x\nhttps://b.example.com/y\nhttps://c.example.com/z"),
        ["example", "example-2", "example-3"]
    );
    assert_eq!(names("claude mcp add a -- x\nclaude mcp add a-2 -- y\nclaude mcp add a -- z"), ["a", "a-2", "a-3"]);
}

#[test]
fn add_lines_of_other_programs() {
    let everything = pair(
        "everything",
        r#"{ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"], "env": { "API_KEY": "secret" } }"#,
    );
    for line in [
        "pw code mcp add -e API_KEY=secret everything -- npx -y @modelcontextprotocol/server-everything",
        "mework mcp add --env API_KEY=secret --scope workspace everything -- npx -y @modelcontextprotocol/server-everything",
        "claude mcp add everything --env=API_KEY=secret -- npx -y @modelcontextprotocol/server-everything",
        "$ claude mcp add everything \\\n  -e API_KEY=secret \\\n  -- npx -y @modelcontextprotocol/server-everything",
        "claude mcp add everything -s user -e API_KEY=secret npx -y @modelcontextprotocol/server-everything",
    ] {
        assert_eq!(one(line), everything, "{line}");
    }
    let context7 = r#"{ "type": "http", "url": "https://mcp.context7.com/mcp", "headers": { "Authorization": "Bearer token" } }"#;
    for line in [
        r#"pw code mcp add --transport http -H "Authorization: Bearer token" --scope project context7 https://mcp.context7.com/mcp"#,
        r#"claude mcp add -t http context7 https://mcp.context7.com/mcp --header "Authorization: Bearer token""#,
    ] {
        assert_eq!(one(line), pair("context7", context7), "{line}");
    }
    assert_eq!(
        one("codex mcp add x -- my-server --flag -- y"),
        pair("x", r#"{ "command": "my-server", "args": ["--flag", "--", "y"] }"#)
    );
    assert_eq!(one("claude mcp add -e A=1 B=2 x -- y").1, r#"{ "command": "y", "env": { "A": "1", "B": "2" } }"#);
    assert_eq!(one(r#"claude mcp add-json w '{"command": "x"}'"#), pair("w", r#"{ "command": "x" }"#));
    assert_eq!(
        found("# both\nclaude mcp add a -- x\n\nclaude mcp add --transport sse b https://e.example"),
        [pair("a", r#"{ "command": "x" }"#), pair("b", r#"{ "type": "sse", "url": "https://e.example" }"#)]
    );
}

#[test]
fn command_lines_and_addresses() {
    let table = [
        ("npx -y @scope/server-x@1", "x", r#"{ "command": "npx", "args": ["-y", "@scope/server-x@1"] }"#),
        (
            "A=1 B='two words' uvx mcp-server-time",
            "time",
            r#"{ "command": "uvx", "args": ["mcp-server-time"], "env": { "A": "1", "B": "two words" } }"#,
        ),
        ("env A=1 my-server", "my", r#"{ "command": "my-server", "env": { "A": "1" } }"#),
        ("./run.sh --x", "server", r#"{ "command": "./run.sh", "args": ["--x"] }"#),
        (r"C:\tools\weather.exe --x", "weather", r#"{ "command": "C:\\tools\\weather.exe", "args": ["--x"] }"#),
        ("https://docs.example.com/mcp", "example", r#"{ "type": "http", "url": "https://docs.example.com/mcp" }"#),
    ];
    for (text, name, entry) in table {
        assert_eq!(one(text), pair(name, entry), "{text}");
    }
}

#[test]
fn names() {
    let table = [
        ("npx -y @modelcontextprotocol/server-filesystem /tmp", "filesystem"),
        ("npx -y @upstash/context7-mcp@latest", "context7"),
        ("npx @playwright/mcp@latest", "playwright"),
        ("uvx --from git+https://e.example/x mcp-server-git", "x"),
        ("uvx mcp-server-fetch==1.0", "fetch"),
        ("docker run -i --rm -e KEY mcp/time", "time"),
        ("docker run -i ghcr.io/github/github-mcp-server:latest", "github"),
        ("node /opt/weather/build/index.js", "weather"),
        ("python -m my_tool", "my_tool"),
        ("uv --directory /opt/weather run server.py", "server"),
        ("/usr/local/bin/mcp-grafana", "grafana"),
    ];
    for (text, name) in table {
        assert_eq!(one(text).0, name, "{text}");
    }
    assert_eq!(name::fitting("__proto__"), "proto");
    assert_eq!(name::fitting("ärger über"), "rger-ber");
    assert_eq!(name::fitting("…"), "server");
    assert_eq!(name::of_url("http://127.0.0.1:3000/mcp"), "server");
    assert_eq!(name::of_url("http://localhost:3000/mcp"), "localhost");
}

#[test]
fn what_is_of_no_use_says_so() {
    let problem = |text: &str| parse(text, |_| false).unwrap_err();
    assert_eq!(problem(" \n"), PasteProblem::Empty);
    assert_eq!(problem("please add the weather server"), PasteProblem::NotUsable);
    assert_eq!(problem("# only a comment"), PasteProblem::NotUsable);
    assert_eq!(problem("npx 'unfinished"), PasteProblem::Quotes);
    assert_eq!(problem("{}"), PasteProblem::NoServer);
    assert_eq!(problem(r#"{"mcpServers": {}}"#), PasteProblem::NoServer);
    assert_eq!(problem(r#"{"theme": "dark"}"#), PasteProblem::NoServer);
    assert_eq!(problem("claude mcp add"), PasteProblem::AddIncomplete);
    assert_eq!(problem("claude mcp add name"), PasteProblem::AddIncomplete);
    assert_eq!(problem("claude mcp add name -e"), PasteProblem::AddIncomplete);
    assert!(matches!(problem(r#"{"a": {"command" "x"}}"#), PasteProblem::Json(FileProblem::NotJson { line: 1, .. })));
    assert!(matches!(problem(&"[".repeat(70)), PasteProblem::NotUsable));
    assert!(problem(r#"{"a": {"command" "x"}}"#).to_string().starts_with("The text is not valid JSON: line 1, column "));
    assert!(matches!(problem(&format!("{{\"a\":{}", "[".repeat(70))), PasteProblem::Json(FileProblem::TooDeep { .. })));
    assert_eq!(problem(&"x".repeat(limits::CONFIG_FILE_BYTES + 1)), PasteProblem::TooLarge);
}

#[tokio::test]
async fn proposals_are_checked_by_the_level() {
    let home = tempfile::tempdir().unwrap();
    let surroundings = Surroundings {
        home: home.path().into(),
        data: home.path().join("data"),
        environment: Default::default(),
        supervisor: vec![],
    };
    let level = Level { machine: Machine::local(surroundings), scope: Scope::Global };
    edit::add_server(&level, "a", r#"{"command": "x"}"#, None, false).await.unwrap();
    let text = r#"{"mcpServers": {"a": {"command": "npx -y p"}, "b c": {"type": "sse", "url": "https://e.example"}}}"#;
    assert_eq!(
        propose(&level, text).await.unwrap(),
        [
            Proposal {
                name: "a".into(),
                entry: "{\n  \"command\": \"npx -y p\"\n}".into(),
                reasons: vec![],
                notes: vec![entry::split_hint("npx -y p").unwrap()],
                exists: true,
            },
            Proposal {
                // The name is for whoever adds it to change; it is no reason against the entry.
                name: "b c".into(),
                entry: "{\n  \"type\": \"sse\",\n  \"url\": \"https://e.example\"\n}".into(),
                reasons: vec![
                    "`type` is \"sse\", which is not supported. If the server also speaks Streamable HTTP, use \"type\": \"http\".".into()
                ],
                notes: vec![],
                exists: false,
            },
        ]
    );
}

proptest::proptest! {
    #[test]
    fn never_panics(text in r#"([{}\[\]":,'=\\$#\n -]|claude mcp add|-e|--|a|npx|https://|é){0,24}"#) {
        let _ = parse(&text, |_| true);
    }
}
