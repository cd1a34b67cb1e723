//! The whole road on Windows: a server is declared, tested, called and served, and nothing of it is left (B12, B25, row 26).
#![cfg(windows)]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use harness::{Home, Served, program};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite;
use tungstenite::client::IntoClientRequest;

/// The program once more, for the servers alone: Windows does not remove the file of a program that runs, which tells
/// whether one still does.
fn server(home: &Home) -> PathBuf {
    let copy = home.path("server.exe");
    std::fs::copy(program(), &copy).unwrap();
    copy
}

/// No process runs this file any more; what ends a server when its app is gone needs a moment after the app's own end.
fn gone(server: &Path) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while let Err(still) = std::fs::remove_file(server) {
        assert!(Instant::now() < give_up, "the server still runs: {still}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn calls_it(home: &Home, name: &str) {
    let tested = home.run(&["mcp", "test", name, "--yes"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    let called = home.run(&["mcp", "call", name, "add", "a=2", "b=40", "--yes"]);
    assert_eq!((called.code, called.out.as_str(), called.err.as_str()), (0, "42\n{\n  \"sum\": 42\n}\n", ""));
    let echoed = home.run(&["mcp", "call", name, "echo", "message=grüße \"€\" & %PATH%", "--yes"]);
    assert_eq!((echoed.code, echoed.out.as_str()), (0, "grüße \"€\" & %PATH%\n"), "{echoed:?}");
}

#[test]
fn a_server_is_added_listed_tested_called_and_gone() {
    let home = Home::new();
    let server = server(&home);
    let added = home.run(&["mcp", "add", "sample", "--", server.to_str().unwrap(), "sample-server"]);
    assert_eq!((added.code, added.out.as_str()), (0, "Added sample in ~/.mework/mcp.json.\n"), "{added:?}");
    assert_eq!(home.run(&["mcp", "list", "-o", "json"]).json()["servers"][0]["state"], "ready");
    calls_it(&home, "sample");
    gone(&server);
}

/// As npm installs every program (B12): cmd.exe stands between the app and the server.
#[test]
fn a_batch_file_is_a_server_too() {
    let home = Home::new();
    let server = server(&home);
    home.write("bin/sample.cmd", "@echo off\r\n\"%~dp0..\\server.exe\" %*\r\n");
    home.global(json!({ "sample": { "command": home.path("bin").join("sample"), "args": ["sample-server"] } }));
    calls_it(&home, "sample");
    gone(&server);
}

/// The app is ended as the task manager ends it, so it cannot clean up: the job object does.
#[tokio::test]
async fn row_26_a_killed_app_leaves_no_server() {
    let home = Home::new();
    let server = server(&home);
    home.global(json!({ "sample": { "command": server, "args": ["sample-server"] } }));
    let mut served = Served::start(&home);
    let cookie = served.sign_in();
    let mut request = format!("ws://127.0.0.1:{}/events", served.port).into_client_request().unwrap();
    request.headers_mut().insert("origin", format!("http://127.0.0.1:{}", served.port).parse().unwrap());
    request.headers_mut().insert("cookie", cookie.parse().unwrap());
    let (mut tab, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let call = |id: &str, method: &str, params: Value| -> Value {
        let answer = served.rpc(&cookie, &json!({ "id": id, "method": method, "params": params }).to_string());
        serde_json::from_str::<Value>(&answer.body).unwrap()["ok"].take()
    };
    let made = call("1", "conversation.create", json!({ "workspaces": [] }));
    let conversation = made["id"].as_str().unwrap();
    let opened = call("2", "conversation.open", json!({ "id": conversation }));
    let row = opened["servers"]["sections"][0]["rows"][0]["id"].as_str().unwrap();
    // Ticking starts it (B20b).
    call("3", "server.tick", json!({ "conversation": conversation, "server": row, "ticked": true }));
    loop {
        let message = tab.next().await.unwrap().unwrap();
        let tungstenite::Message::Text(text) = message else { continue };
        let event: Value = serde_json::from_str(&text).unwrap();
        if event["event"]["status"]["kind"] == "connected" {
            assert_eq!(event["event"]["status"]["tools"], 6);
            break;
        }
    }
    assert!(std::fs::remove_file(&server).is_err(), "it runs, so its file stays");
    served.process.kill().unwrap();
    gone(&server);
}
