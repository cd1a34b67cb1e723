//! What a newcomer does, in the real window: from an empty home to an allowed call on a server of npm's and one of PyPI's.
#![cfg(target_os = "linux")]

use mework_tests::programs::{Home, servers};
use mework_tests::window::{Desktop, Window};
use serde_json::{Value, json};

/// Chooses a tool in the composer by what a person types to find it.
async fn choose_tool(window: &Window, opener: &str, query: &str, tool: &str) {
    window.press(opener).await;
    window.write("combobox", "Search tools", query).await;
    window.click("option", &format!("{tool}*")).await;
    window.sees("still to fill in").await;
}

async fn write_arguments(window: &Window, arguments: &Value) {
    window.press("JSON").await;
    window.write("textbox", "Arguments as JSON", &arguments.to_string()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_an_empty_home_to_allowed_calls_on_real_servers() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let window = desktop.open_window(&home).await;
    window.sees("Welcome to Mework").await;
    window.shot("window-1-welcome").await;

    // Adding: what a README gives, pasted.
    window.press("Add a server").await;
    let pasted = json!({ "mcpServers": {
        "everything": { "command": servers().join("node_modules/.bin/mcp-server-everything"), "args": ["stdio"] },
        "time": { "command": servers().join("venv/bin/mcp-server-time"), "args": ["--local-timezone", "Europe/Berlin"] },
    } });
    window.paste("textbox", "Paste a server", &pasted.to_string()).await;
    window.shot("window-2-paste").await;
    for name in ["everything", "time"] {
        window.press("Add").await;
        window.find("checkbox", &format!("Use {name} in this conversation")).await;
    }
    let written: Value = serde_json::from_slice(&std::fs::read(home.global_file()).unwrap()).unwrap();
    assert_eq!(written, pasted);
    window.sees("time: 2 tools").await;
    // B15: a box is ticked when its server is, here as in other browsers' engines.
    let ticked = "const box = document.querySelector('input[aria-label=\"Use time in this conversation\"]'); \
        return box.checked === arguments[0] && (box.parentElement.querySelector('.box svg') !== null) === arguments[0]";
    window.until_with("the added server to be ticked", ticked, vec![true.into()]).await;
    for (after, count) in [(false, "1 / 2 selected"), (true, "2 / 2 selected")] {
        window.click("checkbox", "Use time in this conversation").await;
        window.sees(count).await;
        window.until_with("the box to follow", ticked, vec![after.into()]).await;
    }
    window.sees("time: 2 tools").await;
    window.shot("window-3-added").await;

    // Testing: the plug says who answered.
    window.press("Test connection to everything").await;
    window.press("everything: 13 tools. Details").await;
    window.sees("mcp-servers/everything 2.0.0").await;
    window.shot("window-4-tested").await;

    // Calling: the card shows what would be sent, and nothing is sent before it is allowed.
    window.press("Back to the conversation").await;
    choose_tool(&window, "Choose a tool to call*", "echo", "echo").await;
    window.write("textbox", "message", "hello from the window").await;
    window.sees("The arguments fit the schema").await;
    window.press("Call*").await;
    window.sees("everything wants to run echo").await;
    window.until("the page's title to count the card", "return document.title === '(1) Mework'").await;
    assert_eq!(desktop.window_titles(), ["(1) Mework"]);
    window.shot("window-5-card").await;
    window.does_not_see("Echo: hello from the window").await;
    window.press("Allow once").await;
    window.sees("Echo: hello from the window").await;
    window.does_not_see("wants to run").await;

    choose_tool(&window, "Tool:*", "convert", "convert_time").await;
    write_arguments(&window, &json!({ "source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata" }))
        .await;
    window.press("Call*").await;
    window.sees("time wants to run convert_time").await;
    let armed = "return document.querySelector('.ask footer .primary')?.getAttribute('aria-disabled') === 'false'";
    window.until("the card's buttons to be ready", armed).await;
    window.shot("window-6-waiting").await;
    window.press("Allow once").await;
    window.sees("-3.5h").await;
    window.shot("window-7-result").await;

    // What was called, and who allowed it, is there after a restart.
    window.end_in_order().await;
    let again = desktop.open_window(&home).await;
    again.sees("Echo: hello from the window").await;
    again.sees("-3.5h").await;
    again.close().await;
}
