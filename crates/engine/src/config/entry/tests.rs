use std::fs;

use super::*;
use crate::config::{FileState, Listing, list};
use crate::machine::environment::Environment;
use crate::machine::{Machine, Surroundings};

mod same;

/// A home folder with a global file; `SET` and `EMPTY` are the only variables that are set.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn path(&self) -> &Path {
        self.0.path()
    }
    fn machine(&self) -> Machine {
        Machine::local(Surroundings {
            home: self.path().into(),
            data: self.path().join("data"),
            environment: Environment::from_iter([("SET", "s3cret"), ("EMPTY", "")]),
            supervisor: vec![],
        })
    }
    fn global(&self) -> Level {
        Level { machine: self.machine(), scope: Scope::Global }
    }
    fn workspace(&self, name: &str) -> Level {
        let folder = self.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        Level { machine: self.machine(), scope: Scope::Workspace(folder) }
    }
}

fn put(file: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

async fn listing(text: impl AsRef<[u8]>) -> Listing {
    let home = Home::new();
    let level = home.global();
    put(&level.new_file(), text);
    list(&level).await
}

/// An entry whose `cwd` is `/`, for a platform where that is not absolute.
fn here(entry: &str) -> String {
    if cfg!(windows) { entry.replace("\"/\"", "\"C:/\"") } else { entry.to_string() }
}

/// The one entry of a global file.
async fn one(entry: &str) -> ServerEntry {
    let found = listing(format!(r#"{{"mcpServers": {{"it": {}}}}}"#, here(entry))).await;
    assert!(matches!(found.state, FileState::Read { .. }), "{:?}", found.state);
    found.servers.get("it").unwrap().clone()
}

async fn reasons(entry: &str) -> Vec<String> {
    match one(entry).await {
        ServerEntry::Unavailable(u) => u.reasons,
        ServerEntry::Ready(s) => panic!("ready: {s:?}"),
    }
}

async fn ready(entry: &str) -> Server {
    match one(entry).await {
        ServerEntry::Ready(s) => s,
        ServerEntry::Unavailable(u) => panic!("unavailable: {:?}", u.reasons),
    }
}

fn strings<const N: usize>(items: [&str; N]) -> Vec<String> {
    items.map(String::from).to_vec()
}

#[tokio::test]
async fn an_entry_means_what_it_says() {
    let server = ready(
        r#"{"command": "npx", "args": ["-y", "p"], "env": {"A": "${SET}", "B": "b"}, "envPassthrough": ["LANG"], "workspace": true,
            "registryUrl": "https://r.example/", "timeoutSeconds": 60, "description": "d", "disabledTools": ["x"],
            "disabledAutoApproveTools": ["y"], "autoApprove": ["*"], "alwaysAllow": true, "disabled": true, "enableAllProjectMcpServers": true}"#,
    )
    .await;
    let launch = StdioLaunch {
        command: "npx".into(),
        args: strings(["-y", "p"]),
        env: IndexMap::from_iter([("A".into(), "${SET}".into()), ("B".into(), "b".into())]),
        env_passthrough: strings(["LANG"]),
        cwd: None,
        workspace: true,
        registry_url: Some("https://r.example/".into()),
    };
    assert_eq!(server.launch, Launch::Stdio(launch));
    assert_eq!(server.call_timeout, Duration::from_secs(60));
    assert_eq!(server.description.as_deref(), Some("d"));
    assert_eq!((server.hidden_tools, server.always_ask), (strings(["x"]), strings(["y"])));
    assert_eq!(server.notes, strings([]));

    let server =
        ready(r#"{"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${SET}"}}"#).await;
    let launch = HttpLaunch {
        url: "https://example.com/mcp".into(),
        headers: IndexMap::from_iter([("Authorization".into(), "Bearer ${SET}".into())]),
    };
    assert_eq!(server.launch, Launch::Http(launch));
}

/// B1: the old name's file counts only when no other stands there, whatever that one holds.
#[tokio::test]
async fn b1_which_file_counts() {
    let home = Home::new();
    let level = home.workspace("w");
    let absent = list(&level).await;
    assert_eq!((absent.state, absent.file), (FileState::Absent, level.new_file()));

    put(&level.legacy_file(), r#"{"mcpServers": {"old": {"command": "a"}}}"#);
    let legacy = list(&level).await;
    assert_eq!(legacy.file, level.legacy_file());
    assert_eq!(legacy.servers["old"].id().file, level.legacy_file());

    put(&level.new_file(), "{ broken");
    let broken = list(&level).await;
    assert_eq!(broken.file, level.new_file());
    assert!(matches!(broken.state, FileState::Ignored { .. }), "{:?}", broken.state);
    assert!(broken.servers.is_empty());
}

#[tokio::test]
async fn b2_what_is_no_file_is_said_and_nothing_is_rewritten() {
    let home = Home::new();
    let level = home.workspace("w");
    fs::create_dir_all(level.new_file()).unwrap();
    assert_eq!(
        list(&level).await.state,
        FileState::Ignored { message: "This is not a regular file (a folder, a pipe or a device), so it is ignored.".into() }
    );

    // Complaint 19 and 20: reading never writes.
    for text in ["\u{FEFF}{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}", "{ /* mine */ \"mcpServers\": {}, }"] {
        let level = home.global();
        put(&level.new_file(), text);
        let before = fs::metadata(level.new_file()).unwrap().modified().unwrap();
        let found = list(&level).await;
        assert_eq!(found.servers.len(), usize::from(text.starts_with('\u{FEFF}')));
        assert_eq!(fs::read_to_string(level.new_file()).unwrap(), text);
        assert_eq!(fs::metadata(level.new_file()).unwrap().modified().unwrap(), before);
    }
}

async fn server_summary(entry: &str) -> String {
    match one(entry).await {
        ServerEntry::Ready(s) => s.summary(),
        ServerEntry::Unavailable(u) => u.summary,
    }
}

/// Row 27.
#[cfg(unix)]
#[tokio::test]
async fn b2_a_workspace_link_may_not_lead_outside_and_a_pipe_does_not_hang() {
    let home = Home::new();
    let outside = home.path().join("outside.json");
    put(&outside, r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let level = home.workspace("w");
    fs::create_dir(level.new_file().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&outside, level.new_file()).unwrap();
    let found = list(&level).await;
    let FileState::Ignored { message } = &found.state else { panic!("{:?}", found.state) };
    assert!(message.starts_with("The file is a link that leads outside the workspace, to "), "{message}");
    assert!(found.servers.is_empty());

    // The global file may be a link (dotfiles kept elsewhere).
    let global = home.global();
    fs::create_dir(global.new_file().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&outside, global.new_file()).unwrap();
    assert_eq!(list(&global).await.servers.len(), 1);

    let level = home.workspace("p");
    fs::create_dir(level.new_file().parent().unwrap()).unwrap();
    nix::unistd::mkfifo(&level.new_file(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let found = tokio::time::timeout(Duration::from_secs(10), list(&level)).await.unwrap();
    assert!(matches!(found.state, FileState::Ignored { .. }));
}

#[tokio::test]
async fn b3_names() {
    let long = "n".repeat(129);
    let found = listing(format!(
        r#"{{"mcpServers": {{"ok_-9": {{"command": "x"}}, "": {{"command": "x"}}, "a b": {{"command": "x"}}, "ä": {{"command": "x"}},
            "__proto__": {{"command": "x"}}, "constructor": 5, "{long}": {{"command": "x"}}, "{}": {{"command": "x"}}}}}}"#,
        &long[1..]
    ))
    .await;
    let characters = "The name may hold only letters A–Z and a–z, digits, `-` and `_`, 1 to 128 of them.";
    let reserved = "The name is reserved and cannot be used. Choose another one.";
    let expected: Vec<(&str, Vec<&str>)> = vec![
        ("ok_-9", vec![]),
        ("", vec![characters]),
        ("a b", vec![characters]),
        ("ä", vec![characters]),
        ("__proto__", vec![reserved]),
        ("constructor", vec![reserved, "The entry must be an object, { … }; it is a number."]),
        (&long, vec![characters]),
        (&long[1..], vec![]),
    ];
    let rows: Vec<(&str, Vec<&str>)> = found
        .servers
        .iter()
        .map(|(name, entry)| match entry {
            ServerEntry::Ready(_) => (name.as_str(), vec![]),
            ServerEntry::Unavailable(u) => (name.as_str(), u.reasons.iter().map(String::as_str).collect()),
        })
        .collect();
    assert_eq!(rows, expected);
}

/// Row 25: neither of two runs.
#[tokio::test]
async fn b3_declared_twice() {
    let found = listing(r#"{"mcpServers": {"a": {"command": "good"}, "b": {"command": "x"}, "a": {"command": "evil"}}}"#).await;
    assert_eq!(found.servers.keys().collect::<Vec<_>>(), ["a", "b"]);
    let ServerEntry::Unavailable(a) = &found.servers["a"] else { panic!() };
    assert_eq!(a.reasons, ["`a` is declared twice in this file, so neither is used. Rename or remove one."]);
    assert!(matches!(found.servers["b"], ServerEntry::Ready(_)));

    let twice = |key: &str| format!("`{key}` is declared twice. Remove one of the two.");
    assert_eq!(reasons(r#"{"command": "a", "command": "b"}"#).await, [twice("command")]);
    assert_eq!(reasons(r#"{"command": "a", "env": {"T": "1", "T": "2", "T": "3"}}"#).await, [twice("env.T")]);
    assert_eq!(reasons(r#"{"command": "a", "x": [{"y": {"z": 1, "z": 1}}]}"#).await, [twice("x.y.z")]);
    assert_eq!(
        reasons(r#"{"type": "http", "url": "https://e.example", "headers": {"X-A": "1", "x-a": "2"}}"#).await,
        [twice("headers.x-a")]
    );
}

/// A hostile file may be large; what is said about it may not.
#[tokio::test]
async fn reasons_stay_short() {
    let long = "k".repeat(300_000);
    let twice = r#""a": 1, "a": 1,"#.repeat(200);
    let found = reasons(&format!(r#"{{"command": "x", "{long}": {{{twice} "b": {{"c": 1, "c": 1}}}}, "{long}": 1}}"#)).await;
    let shown = format!("`{}…` is declared twice. Remove one of the two.", &long[..80]);
    assert_eq!(found, [shown.as_str(); 3]);

    let many: String = (0..25).map(|n| format!("${{V{n:02}}}")).collect();
    let found = reasons(&format!(r#"{{"command": "x", "args": ["{many}"]}}"#)).await;
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("`V00`, `V01`, "), "{}", found[0]);
    assert!(found[0].contains(", `V19`, … and 5 more are not set in Mework's environment."), "{}", found[0]);
}

#[tokio::test]
async fn b4_every_failed_check_is_named_and_no_value_shown() {
    let entry = r#"{"command": "", "args": [1], "env": {"TOKEN": 5, "A=B": "s3cret"}, "oauth": {"k": "s3cret"}, "headersHelper": "x",
        "timeout": -1, "envPassthrough": ["AWS_KEY", "1x"], "cwd": "rel", "description": 7}"#;
    assert_eq!(
        reasons(entry).await,
        [
            "`args[0]` must be text in quotes; it is a number.",
            "`env.TOKEN` must be text in quotes; it is a number.",
            "`description` must be text in quotes; it is a number.",
            "`oauth` is not supported: Mework runs no sign-in flows. Put a token in `headers` and remove `oauth`.",
            "`headersHelper` is not supported: Mework runs no header scripts. Put a token in `headers` and remove `headersHelper`.",
            "`timeout` must be a whole number of milliseconds, 0 or more.",
            "`command` is empty: it must name the program to start.",
            "`envPassthrough` refuses `AWS_KEY`, which may hold a credential. To hand it on on purpose, write it in `env`: \"NAME\": \"${NAME}\".",
            "`envPassthrough` holds `1x`, which is no variable's name: letters, digits and `_` only, no digit first.",
            "`cwd` must be an absolute path.",
        ]
    );
    let http =
        r#"{"url": "http://me:s3cret@example.com/?k=s3cret", "headers": {"Host": "s3cret", "a b": "s3cret", "X": "s3cret\n"}}"#;
    let found = one(http).await;
    let ServerEntry::Unavailable(u) = found else { panic!() };
    assert_eq!(
        u.reasons,
        [
            "`url` needs a type: add \"type\": \"http\".",
            "`url` cannot be used: an address may not hold a user name or password; put a token in `headers`.",
            "`headers.Host` cannot be set: HTTP or MCP manages this header.",
            "`headers.a b` is no name HTTP allows for a header.",
            "`headers.X` holds characters HTTP does not allow in a header (a line break, perhaps).",
        ]
    );
    assert_eq!((u.summary.as_str(), u.transport), ("http://example.com/", Some(Transport::Http)));
}

#[tokio::test]
async fn b5_which_transport() {
    // `command` with `url` and no type is stdio; the other transport's keys are only checked for their type.
    let both = ready(r#"{"command": "x", "url": "not an address", "headers": {"Host": "h"}}"#).await;
    assert!(matches!(both.launch, Launch::Stdio(_)));
    assert_eq!(reasons(r#"{"command": "x", "url": 5}"#).await, ["`url` must be text in quotes; it is a number."]);
    let http = ready(r#"{"type": "streamable_http", "command": "x", "cwd": "rel", "url": "http://localhost:1/"}"#).await;
    assert!(matches!(http.launch, Launch::Http(_)));

    let table = [
        ("{}", "The entry has neither `command` nor `url`, so there is nothing to start or reach."),
        (
            r#"{"type": "sse", "url": "https://e.example"}"#,
            "`type` is \"sse\", which is not supported. If the server also speaks Streamable HTTP, use \"type\": \"http\".",
        ),
        (r#"{"type": "ws", "url": "https://e.example"}"#, "`type` is \"ws\", which is not supported. Use \"stdio\" or \"http\"."),
        (r#"{"type": "sdk"}"#, "`type` is \"sdk\", which is not supported. Use \"stdio\" or \"http\"."),
        (r#"{"type": "HTTP", "url": "https://e.example"}"#, "`type` is unknown. Use \"stdio\" or \"http\"."),
        (r#"{"type": null, "command": "x"}"#, "`type` must be text in quotes; it is null."),
        (r#"{"type": "stdio", "url": "https://e.example"}"#, "`command` is missing: a stdio server needs the program to start."),
        (r#"{"type": "http", "command": "x"}"#, "`url` is missing: an http server needs its address."),
        (
            r#"{"type": "http", "url": ""}"#,
            "`url` cannot be used: it is not a complete address; it must begin with https:// and name a host.",
        ),
        (
            r#"{"type": "http", "url": "http://example.com"}"#,
            "`url` cannot be used: http:// works only for this computer and private networks; use https://.",
        ),
        (r#"{"command": ["npx"]}"#, "`command` must be text in quotes; it is an array."),
        (r#"{"command": "x", "args": "-y"}"#, "`args` must be an array of texts; it is text."),
        (r#"{"command": "x", "env": []}"#, "`env` must be an object of texts; it is an array."),
        (r#"{"command": "x", "longRunning": "yes"}"#, "`longRunning` must be true or false; it is text."),
        (r#"{"command": "x", "workspace": 1}"#, "`workspace` must be true or false; it is a number."),
        (r#"{"command": "x", "timeout": "60s"}"#, "`timeout` must be a number; it is text."),
        (
            r#"{"command": "x", "oauth": null}"#,
            "`oauth` is not supported: Mework runs no sign-in flows. Put a token in `headers` and remove `oauth`.",
        ),
        ("[]", "The entry must be an object, { … }; it is an array."),
    ];
    for (entry, expected) in table {
        assert_eq!(reasons(entry).await, [expected], "{entry}");
    }
}

/// Unset variables: all of them, sorted, once each; their values are never used.
#[tokio::test]
async fn b5_unset_variables() {
    let entry = r#"{"command": "${Z}", "args": ["${SET} ${A} ${Z}", "${D:-x}"], "env": {"E": "${EMPTY}${M}"}, "cwd": "/"}"#;
    assert_eq!(
        reasons(entry).await,
        ["`A`, `M`, `Z` are not set in Mework's environment. Set them and restart Mework, or give a default: ${NAME:-default}."]
    );
    // Complaint 22: the row says so instead of sending it literally.
    assert_eq!(
        reasons(r#"{"type": "http", "url": "https://e.example", "headers": {"Authorization": "Bearer ${T}"}}"#).await,
        ["`T` is not set in Mework's environment. Set it and restart Mework, or give a default: ${NAME:-default}."]
    );
    // An address or header with a variable is checked when the server starts, whatever the variable holds now.
    ready(r#"{"type": "http", "url": "${SET}", "headers": {"X": "${SET}"}}"#).await;
    // The other transport's keys are not looked at.
    ready(r#"{"command": "x", "url": "${NO}", "headers": {"X": "${NO}"}}"#).await;
}

#[tokio::test]
async fn b5_cwd() {
    let home = Home::new();
    let level = home.global();
    put(&level.new_file(), "x");
    let entry = |cwd: &Path| {
        Json::Object(vec![
            ("command".into(), Json::String("x".into())),
            ("cwd".into(), Json::String(cwd.to_str().unwrap().into())),
        ])
    };
    let check = async |cwd: &Path| match check(&level, &level.new_file(), "a", &entry(cwd), false).await {
        ServerEntry::Ready(_) => vec![],
        ServerEntry::Unavailable(u) => u.reasons,
    };
    assert_eq!(check(home.path()).await, strings([]));
    assert_eq!(check(&level.new_file()).await, ["`cwd` is not an existing folder."]);
    assert_eq!(check(&home.path().join("${SET}")).await, ["`cwd` is not an existing folder; variables are not replaced in it."]);
    assert_eq!(check(Path::new("${SET}")).await, ["`cwd` must be an absolute path; variables are not replaced in it."]);
}

#[tokio::test]
async fn b6_reserved_headers_in_any_case() {
    // B6's own list: the constant is what is tested.
    let listed = "host content-length connection transfer-encoding accept content-type mcp-session-id mcp-protocol-version \
                  mcp-method mcp-name last-event-id te upgrade trailer keep-alive";
    for name in listed.split_whitespace() {
        let odd: String = name.chars().enumerate().map(|(i, c)| if i % 2 == 0 { c.to_ascii_uppercase() } else { c }).collect();
        assert_eq!(
            reasons(&format!(r#"{{"type": "http", "url": "https://e.example", "headers": {{"{odd}": "v"}}}}"#)).await,
            [format!("`headers.{odd}` cannot be set: HTTP or MCP manages this header.")]
        );
    }
}

#[tokio::test]
async fn b8_time_limits() {
    let seconds = async |keys: &str| {
        let s = ready(&format!(r#"{{"command": "x", {keys}}}"#)).await;
        (s.call_timeout.as_secs(), s.notes.len())
    };
    let table = [
        (r#""x": 1"#, (45, 0)),
        (r#""timeoutSeconds": 0"#, (45, 0)),
        (r#""timeoutSeconds": -0.0"#, (45, 0)),
        (r#""timeoutSeconds": 1"#, (1, 0)),
        (r#""timeoutSeconds": 45.0"#, (45, 0)),
        (r#""timeoutSeconds": 3e2"#, (300, 0)),
        (r#""timeoutSeconds": 301"#, (300, 1)),
        (r#""timeoutSeconds": 1e300"#, (300, 1)),
        (r#""timeout": 999"#, (45, 0)),
        (r#""timeout": 1000"#, (1, 0)),
        (r#""timeout": 1e3"#, (1, 0)),
        (r#""timeout": 1001"#, (2, 0)),
        (r#""timeout": 300001"#, (300, 1)),
        (r#""timeout": 60000, "timeoutSeconds": 5"#, (5, 0)),
        (r#""timeout": 60000, "timeoutSeconds": 0"#, (60, 0)),
        (r#""longRunning": true"#, (300, 0)),
        (r#""longRunning": false"#, (45, 0)),
        (r#""longRunning": true, "timeoutSeconds": 60"#, (60, 0)),
    ];
    for (keys, expected) in table {
        assert_eq!(seconds(keys).await, expected, "{keys}");
    }
    for bad in [
        r#""timeoutSeconds": -1"#,
        r#""timeoutSeconds": 1.5"#,
        r#""timeout": -1000"#,
        r#""timeout": 1000.5, "timeoutSeconds": 5"#,
    ] {
        assert_eq!(reasons(&format!(r#"{{"command": "x", {bad}}}"#)).await.len(), 1, "{bad}");
    }
    let clamped = ready(r#"{"command": "x", "timeoutSeconds": 301}"#).await;
    assert_eq!(clamped.notes, ["`timeoutSeconds` is more than 300 seconds; 300 are used."]);
}

/// Row 35: https, or http by B7; no user info.
#[tokio::test]
async fn b10_registry_addresses() {
    ready(r#"{"command": "npx", "registryUrl": "http://registry.lan:4873/"}"#).await;
    let of = async |url: &str| reasons(&format!(r#"{{"command": "npx", "registryUrl": "{url}"}}"#)).await;
    assert_eq!(
        of("http://example.com").await,
        ["`registryUrl` cannot be used: http:// works only for this computer and private networks; use https://."]
    );
    assert_eq!(
        of("https://me:s3cret@example.com").await,
        ["`registryUrl` cannot be used: an address may not hold a user name or password; put a token in `headers`."]
    );
    assert_eq!(of("ftp://example.com").await, ["`registryUrl` cannot be used: only https:// and http:// addresses work."]);
    let idle = ready(r#"{"command": "node", "registryUrl": "https://r.example"}"#).await;
    assert_eq!(idle.notes.len(), 1);
}

/// B11, row 14.
#[tokio::test]
async fn b11_passthrough_refuses_credentials_in_any_case() {
    for name in [
        "MEWORK_X",
        "ANTHROPIC_API_KEY",
        "openai_api_key",
        "Claude_X",
        "CODEX_",
        "aws_secret",
        "AZURE_X",
        "GOOGLE_X",
        "GEMINI_X",
        "DEEPSEEK_X",
        " AWS_X",
    ] {
        let found = reasons(&format!(r#"{{"command": "x", "envPassthrough": ["{name}"]}}"#)).await;
        assert!(found.len() == 1 && found[0].starts_with("`envPassthrough` refuses"), "{name}: {found:?}");
    }
    for name in ["LANG", "_x1", "AWSX", "MY_AWS_KEY"] {
        ready(&format!(r#"{{"command": "x", "envPassthrough": ["{name}"]}}"#)).await;
    }
    for name in ["", "A-B", "A=B", "ä"] {
        let found = reasons(&format!(r#"{{"command": "x", "envPassthrough": ["{name}"]}}"#)).await;
        assert!(found[0].contains("no variable's name"), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn limits_of_an_entry() {
    let array = |n: usize| vec!["\"a\""; n].join(",");
    let object = |n: usize| (0..n).map(|i| format!("\"k{i}\":\"v\"")).collect::<Vec<_>>().join(",");
    ready(&format!(r#"{{"command": "x", "args": [{}], "env": {{{}}}}}"#, array(1024), object(256))).await;
    assert_eq!(
        reasons(&format!(r#"{{"command": "x", "args": [{}], "env": {{{}}}}}"#, array(1025), object(257))).await,
        ["`args` holds 1025 arguments; at most 1024 are allowed.", "`env` holds 257 variables; at most 256 are allowed."]
    );
    let http = |headers: String| format!(r#"{{"type": "http", "url": "https://e.example", "headers": {{{headers}}}}}"#);
    ready(&http(object(128))).await;
    assert_eq!(reasons(&http(object(129))).await, ["`headers` holds 129 headers; at most 128 are allowed."]);
    // Row 34.
    ready(&http(format!("\"x\": \"{}\"", "v".repeat(16 * 1024 - 1)))).await;
    assert_eq!(
        reasons(&http(format!("\"x\": \"{}\"", "v".repeat(16 * 1024)))).await,
        ["`headers` holds 16385 bytes; at most 16384 are allowed."]
    );
    let many = (0..60).map(|i| format!("\"k{i}\": 1")).collect::<Vec<_>>().join(",");
    let found = reasons(&format!(r#"{{"command": "x", "env": {{{many}}}}}"#)).await;
    assert_eq!((found.len(), found[50].as_str()), (51, "… and 10 more."));
}

/// B4: what is nearly a key of ours is said, and hides nothing of what works or fails.
#[tokio::test]
async fn a_misspelt_key_has_a_note_and_the_entry_stays_what_it_is() {
    let server =
        ready(r#"{"command": "x", "ARGS": ["a"], "env": {}, "enviroment": {}, "disabled": true, "autoApprove": [], "zzz": 1}"#)
            .await;
    let note = |key: &str, meant: &str| format!("Unknown key `{key}` is ignored; did you mean `{meant}`?");
    assert_eq!(server.notes, [note("ARGS", "args"), note("enviroment", "env")]);
    assert!(matches!(&server.launch, Launch::Stdio(launch) if launch.args.is_empty() && launch.env.is_empty()));

    let ServerEntry::Unavailable(nothing) = one(r#"{"Command": "npx", "header": {"a": "s3cretvalue"}}"#).await else { panic!() };
    assert_eq!(nothing.reasons, ["The entry has neither `command` nor `url`, so there is nothing to start or reach."]);
    assert_eq!(nothing.notes, [note("Command", "command"), note("header", "headers")]);

    // Another program's name beside ours is that program's.
    let both =
        ready(r#"{"type": "http", "url": "https://e.example", "transport": "http", "httpUrl": "https://e.example"}"#).await;
    assert_eq!(both.notes, strings([]));

    let many: Vec<String> = (0..10).map(|n| format!("\"arg{n}\": 1")).collect();
    let many = ready(&format!(r#"{{"command": "x", {}, "envs": 1, "URL": 1}}"#, many.join(","))).await;
    assert_eq!((many.notes.len(), many.notes[10].as_str()), (11, "… and 2 more."));
}

#[tokio::test]
async fn notes_and_summaries() {
    // Complaint 11.
    let whole = ready(r#"{"command": "npx -y pkg"}"#).await;
    assert_eq!(
        whole.notes,
        [
            "`command` looks like a whole command line. Split it into command and args: \"command\": \"npx\", \"args\": [\"-y\", \"pkg\"]."
        ]
    );
    let hidden = split_hint("npx\u{7f} -y \u{202e}gkp").unwrap();
    assert!(hidden.ends_with("\"command\": \"npx⟨U+007F⟩\", \"args\": [\"-y\", \"⟨U+202E⟩gkp\"]."), "{hidden}");
    assert_eq!(split_hint("C:\\Program Files\\node\\node.exe"), None);
    assert_eq!(split_hint("/opt/my tools/run"), None);
    assert_eq!(split_hint("npx"), None);
    assert!(split_hint("/usr/bin/npx -y pkg").is_some());
    // Complaint 23.
    let foreign = ready(r#"{"command": "x", "env": {"T": "${env:SET}"}}"#).await;
    assert_eq!(
        foreign.notes,
        ["`env.T` holds a variable in a syntax Mework does not know; it is used as it stands. Write ${NAME}."]
    );
    let home = Home::new();
    let level = home.workspace("w");
    put(&level.new_file(), r#"{"mcpServers": {"a": {"command": "x", "workspace": true}}}"#);
    let ServerEntry::Ready(server) = &list(&level).await.servers["a"] else { panic!() };
    assert_eq!(server.notes, ["`workspace` is read only in the global file; it is ignored here."]);
    assert!(matches!(&server.launch, Launch::Stdio(l) if !l.workspace));

    assert_eq!(
        server_summary(r#"{"command": "${BIN}", "args": ["a b", "--url=https://me:s3cret@e.example/x?k=s3cret", ""]}"#).await,
        "${BIN} 'a b' --url=https://e.example/x ''"
    );
    assert_eq!(server_summary(r#"{"type": "http", "url": "https://e.example/mcp?k=${K}"}"#).await, "https://e.example/mcp");
}

/// Row 2: listing, reviewing and proposing start nothing, reach nothing and use no variable's value.
#[tokio::test]
async fn row_2_looking_at_servers_does_nothing_to_them() {
    let home = Home::new();
    let level = home.workspace("w");
    let canary = home.path().join("canary");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = serde_json::json!({"mcpServers": {
        "touch": {"command": "touch", "args": [canary, "${SET}"], "env": {"T": "${SET}"}},
        "http": {"type": "http", "url": format!("http://localhost:{port}/?k=${{SET}}"), "headers": {"X": "${SET}"}},
        "registry": {"command": "npx", "args": ["-y", "p"], "registryUrl": format!("http://localhost:{port}/")},
    }})
    .to_string();
    put(&level.new_file(), &text);
    let found = list(&level).await;
    let mut shown = format!("{found:?}");
    for entry in found.servers.values() {
        let ServerEntry::Ready(server) = entry else { panic!("{entry:?}") };
        shown.push_str(&format!("{:?}", crate::config::consent::review(server, &level.scope, level.root())));
    }
    shown.push_str(&format!("{:?}", crate::config::paste::propose(&level, &text).await.unwrap()));
    assert!(!shown.contains("s3cret"));
    assert!(!canary.exists());
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}
