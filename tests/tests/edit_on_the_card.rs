//! In the real window: a server over HTTP and one over stdio, one of them changed and looked at again, a call edited before
//! it is allowed, and a record that shows what was asked for beside what was sent.
#![cfg(target_os = "linux")]

use std::net::TcpListener;

use mework_engine::approval::queue::sha256;
use mework_tests::programs::{Home, everything_over_http, servers};
use mework_tests::window::{Desktop, Window};
use serde_json::{Value, json};

async fn choose_tool(window: &Window, opener: &str, query: &str, tool: &str) {
    window.press(opener).await;
    window.write("combobox", "Search tools", query).await;
    window.click("option", &format!("{tool}*")).await;
    // Once the schema is there, nothing else is put in.
    let there = "return document.querySelector('button[aria-label=\"Start again from the schema\"]:enabled') !== null";
    window.until("the schema to be there", there).await;
}

async fn write_arguments(window: &Window, arguments: &str) {
    window.press("JSON").await;
    window.write("textbox", "Arguments as JSON", arguments).await;
}

/// The entries of the only conversation.
async fn record(window: &Window) -> Vec<Value> {
    let snapshot = window.ok("snapshot", json!({})).await;
    let open = window.ok("conversation.open", json!({ "id": snapshot["conversations"][0]["id"] })).await;
    let entries = open["transcript"].as_array().expect("a transcript").iter();
    entries.map(|entry| entry["body"].clone()).filter(|body| body["kind"] == "call").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_one_changed_and_reviewed_a_call_edited_and_both_in_the_record() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _web = everything_over_http(port);
    let (desktop, home) = (Desktop::new(), Home::empty());
    let declared = |zone: &str| {
        json!({
            "web": { "type": "http", "url": format!("http://localhost:{port}/mcp") },
            "time": { "command": servers().join("venv/bin/mcp-server-time"), "args": ["--local-timezone", zone] },
        })
    };
    home.declare(declared("Europe/Berlin"));
    let window = desktop.open_window(&home).await;

    // Both are ticked.
    window.press("Choose among 2 servers").await;
    for (name, badge) in [("web", "web: 13 tools. Details"), ("time", "time: 2 tools. Details")] {
        window.click("checkbox", &format!("Use {name} in this conversation")).await;
        window.find("button", badge).await;
    }
    window.sees("2 / 2 selected").await;
    window.shot("window-edit-1-ticked").await;

    // One is edited, and asks for review: it does not start before old and new were seen.
    home.declare(declared("Asia/Tokyo"));
    window.press("time: Changed – review. Details").await;
    window.sees("time changed since you agreed to it").await;
    window.sees("Europe/Berlin").await;
    window.sees("Asia/Tokyo").await;
    window.shot("window-edit-2-review").await;
    window.press("Agree to the change").await;
    window.find("button", "time: 2 tools. Details").await;

    // A call's arguments are edited on the card.
    window.press("Back to the conversation").await;
    choose_tool(&window, "Choose a tool to call*", "echo", "echo").await;
    let asked = json!({ "message": "as it was asked for" }).to_string();
    write_arguments(&window, &asked).await;
    window.press("Call*").await;
    window.sees("web wants to run echo").await;
    window.press("Edit arguments").await;
    let edited = "{ \"message\":   \"as it was edited\" }";
    window.write("textbox", "Arguments of echo on the card, as JSON", edited).await;
    window.find("region", "What differs from what was asked for").await;
    window.shot("window-edit-3-card").await;
    window.press("Allow once").await;
    window.sees("Echo: as it was edited").await;
    window.does_not_see("Echo: as it was asked for").await;

    // The server that was reviewed runs as it stands now.
    choose_tool(&window, "Tool:*", "current", "get_current_time").await;
    write_arguments(&window, &json!({ "timezone": "Asia/Kolkata" }).to_string()).await;
    window.press("Call*").await;
    window.sees("time wants to run get_current_time").await;
    window.press("Allow once").await;
    window.sees("+05:30").await;

    // The record shows both, to the byte; and so does the window, after a restart too.
    let calls = record(&window).await;
    assert_eq!((&calls[0]["arguments"], &calls[0]["arguments_before"]), (&json!(edited), &json!(asked)));
    let approval = &calls[0]["approval"];
    assert_eq!(approval["arguments_digest"], json!(sha256(edited.as_bytes())));
    let edit = json!({ "by": "a person in the window", "digest_before": sha256(asked.as_bytes()) });
    assert_eq!((&approval["by"], &approval["edit"]), (&edit["by"], &edit));
    assert_eq!((&calls[1]["arguments_before"], &calls[1]["approval"]["edit"]), (&Value::Null, &Value::Null));
    window.end_in_order().await;
    let again = desktop.open_window(&home).await;
    let call = again.find("article", "Call of echo on web").await;
    again.find_in(Some(&call), "button", "Arguments*Edited").await.click().await.unwrap();
    let table = again.find("region", "What was edited before it was allowed").await;
    let shown = table.text().await.unwrap();
    for words in ["Asked for", "Sent", "as it was asked for", "as it was edited"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    again.shot("window-edit-4-record").await;
    again.close().await;
}
