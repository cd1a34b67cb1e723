//! `mework mcp get`: one server as written and as meant; values of variables appear only where the file holds them.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use harness::{Home, short};
use serde_json::json;

fn home() -> Home {
    let home = Home::new();
    home.global(json!({
        "files": {
            "command": "npx", "args": ["-y", "server-files@1.2.3", "a b", "--token=${SECRET_OF_MINE}"],
            "env": { "API_KEY": "${SECRET_OF_MINE}", "LD_PRELOAD": "x.so" }, "envPassthrough": ["LANG"],
            "disabledTools": ["write"], "disabledAutoApproveTools": ["move"], "description": "Reads files", "timeout": 60000, "other": 1
        },
        "bad": { "url": "https://example.com/mcp", "enviroment": { "A": "hidden" } },
    }));
    home
}

const TEXT: &str = "\
files
             Reads files
  scope      global
  file       ~/.mework/mcp.json
  state      asks before its first start
  transport  stdio
  command    npx
  arguments  -y
             server-files@1.2.3
             \"a b\"
             \"--token=${SECRET_OF_MINE}\"
  folder     ~
  variables  API_KEY (env)
             LD_PRELOAD (env) ! This variable can make the command load or run other code than it seems to.
             LANG (passed on)
             SECRET_OF_MINE (args[3])
             SECRET_OF_MINE (env API_KEY)
  call limit 60 s
  left out   write
  always ask move
";

#[test]
fn a_summary_as_text() {
    let home = home();
    let mut command = home.command(&["mcp", "get", "files", "-o", "text"]);
    let output = command.env("SECRET_OF_MINE", "hunter2hunter2").output().unwrap();
    assert_eq!(short(&String::from_utf8(output.stdout).unwrap(), &home.root()), TEXT);
    let bad = home.run(&["mcp", "get", "bad", "-o", "text"]);
    assert_eq!(
        bad.out,
        "bad\n  scope      global\n  file       ~/.mework/mcp.json\n  state      unavailable\n             `url` needs a type: add \"type\": \"http\".\n  transport  http\n  entry      https://example.com/mcp\n  note       Unknown key `enviroment` is ignored; did you mean `env`?\n"
    );
}

#[test]
fn json_by_default_as_written_and_as_meant_with_no_variables_value() {
    let home = home();
    let output = home.command(&["mcp", "get", "files"]).env("SECRET_OF_MINE", "hunter2hunter2").output().unwrap();
    let text = short(&String::from_utf8(output.stdout).unwrap(), &home.root());
    assert!(!text.contains("hunter2"), "{text}");
    let variable = |name: &str, place: &str| json!({ "name": name, "place": place });
    let mut preload = variable("LD_PRELOAD", "env");
    preload["warning"] = "This variable can make the command load or run other code than it seems to.".into();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap(),
        json!({
            "id": "native:local:~/.mework/mcp.json#files", "name": "files", "source": "native", "scope": "global",
            "file": "~/.mework/mcp.json", "machine": "local", "transport": "stdio", "state": "ready", "reasons": [], "notes": [],
            "description": "Reads files", "consent": "needed",
            "entry": {
                "command": "npx", "args": ["-y", "server-files@1.2.3", "a b", "--token=${SECRET_OF_MINE}"],
                "env": { "API_KEY": "${SECRET_OF_MINE}", "LD_PRELOAD": "x.so" }, "envPassthrough": ["LANG"],
                "disabledTools": ["write"], "disabledAutoApproveTools": ["move"], "description": "Reads files", "timeout": 60000, "other": 1
            },
            "resolved": {
                "transport": "stdio", "command": "npx", "args": ["-y", "server-files@1.2.3", "a b", "--token=${SECRET_OF_MINE}"],
                "cwd": "~",
                "variables": [
                    variable("API_KEY", "env"), preload, variable("LANG", "passed on"),
                    variable("SECRET_OF_MINE", "args[3]"), variable("SECRET_OF_MINE", "env API_KEY"),
                ],
                "notes": [], "call_timeout_ms": 60000, "disabled_tools": ["write"], "always_ask": ["move"],
            },
        })
    );
    let bad = home.run(&["mcp", "get", "bad"]).json();
    assert_eq!(
        (&bad["entry"], &bad["resolved"]),
        (&json!({ "url": "https://example.com/mcp", "enviroment": { "A": "hidden" } }), &json!(null))
    );
}

#[test]
fn an_unknown_name_says_what_there_is() {
    let home = home();
    let ran = home.run(&["mcp", "get", "fles"]);
    let message = "No server \"fles\" is declared. These are: files, bad.";
    assert_eq!((ran.code, ran.json(), ran.err.as_str()), (1, json!({ "ok": false, "error": message }), &*format!("{message}\n")));
    home.write(".mework/mcp.json", "{");
    let ran = home.run(&["mcp", "get", "files", "-o", "text"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("No server \"files\" is declared. No file declares any; `mework mcp add` writes one.\n~/.mework/mcp.json is ignored: The file is not valid JSON: line 1, column "), "{}", ran.err);
}
