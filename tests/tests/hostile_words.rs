//! Row 8 in the real window: whatever a file or a server says is drawn as text. Every place that shows foreign words gets
//! markup that would run or reach out if it were not.
#![cfg(target_os = "linux")]

use mework_tests::engine::program;
use mework_tests::programs::{Canary, Home};
use mework_tests::window::{Desktop, Window};
use serde_json::{Value, json};

fn corpus(canary: &Canary) -> Vec<String> {
    let out = canary.url("");
    vec![
        format!("<img src=\"{out}img\" onerror=\"window.ran=1\">"),
        format!("<script src=\"{out}script\"></script><script>window.ran=2</script>"),
        "<svg onload=\"window.ran=3\"><a xlink:href=\"javascript:window.ran=4\">x</a></svg>".into(),
        format!("<iframe srcdoc=\"<script>parent.ran=5</script>\" src=\"{out}frame\"></iframe>"),
        format!("<style>@import '{out}style'; * {{ background: url({out}css) }}</style>"),
        format!(
            "</textarea></title></style></script><base href=\"{out}base\"><form action=\"{out}form\"><button autofocus onfocus=\"window.ran=6\">"
        ),
        format!("![picture]({out}markdown) [link](javascript:window.ran=7) <{out}auto>"),
        format!("<link rel=stylesheet href={out}link><meta http-equiv=refresh content=\"0;url={out}refresh\">"),
        "{{constructor.constructor('window.ran=8')()}} ${window.ran=9} {@html '<b>'}".into(),
        format!("<object data=\"{out}object\"></object><embed src=\"{out}embed\"><video poster=\"{out}video\"></video>"),
    ]
}

/// Nothing ran, nothing was fetched, nothing of the corpus became an element.
async fn untouched(window: &Window, canary: &Canary, place: &str) {
    let found = window
        .run(
            "const foreign = 'iframe, object, embed, video, base, form, meta[http-equiv], script:not([src]), style[data-x], svg[onload], [onerror], [onload], [onfocus], a[href^=\"javascript:\"], img[src^=\"http://127\"]';
             return { ran: window.ran ?? null, foreign: [...document.querySelectorAll(foreign)].map((e) => e.outerHTML.slice(0, 200)) };",
            vec![],
        )
        .await;
    assert_eq!(found, json!({ "ran": null, "foreign": [] }), "{place}");
    assert_eq!(canary.visits(), 0, "{place}");
}

#[tokio::test(flavor = "multi_thread")]
async fn row_8_words_of_files_and_servers_are_drawn_as_text() {
    let (desktop, home, canary) = (Desktop::new(), Home::empty(), Canary::new());
    let corpus = corpus(&canary);
    let server = program("fake-server");
    let tools: Vec<String> = corpus
        .iter()
        .enumerate()
        .map(|(n, words)| {
            let schema = json!({ "type": "object", "title": words, "properties": { words.as_str(): { "type": "string", "description": words, "default": words } } });
            let tool = json!({ "name": format!("t{n} {words}"), "title": words, "description": words, "inputSchema": schema });
            format!("--tool={tool}")
        })
        .collect();
    let spoken: Vec<String> = corpus.iter().map(|words| format!("--stderr={words}")).collect();
    let failing: Vec<String> = spoken.iter().cloned().chain(["--exit=3".into()]).collect();
    home.declare(json!({
        "talks": { "command": server, "args": tools.iter().chain(&spoken).collect::<Vec<_>>(), "description": corpus.join(" ") },
        "fails": { "command": server, "args": failing, "description": corpus[0] },
        "wrong": { "command": corpus[0], "type": corpus[1], "cwd": corpus[2] },
    }));

    let window = desktop.open_window(&home).await;
    window.press("Choose among 3 servers").await;
    untouched(&window, &canary, "the list").await;
    window.click("checkbox", "Use talks in this conversation").await;
    window.find("button", "talks: * tools. Details").await;
    window.press("talks: * tools. Details").await;
    untouched(&window, &canary, "the tools of a row").await;
    window.press("Test connection to fails").await;
    window.press("fails: Connection failed. Details").await;
    window.sees("</textarea></title>").await;
    untouched(&window, &canary, "what a failed server wrote").await;
    window.press("Server log").await;
    untouched(&window, &canary, "the log").await;
    window.press("Close the log").await;
    window.press("Back to the conversation").await;

    window.press("Choose a tool to call*").await;
    window.write("combobox", "Search tools", "t0").await;
    window.sees("t0 <img src=").await;
    untouched(&window, &canary, "the picker").await;
    window.click("option", "t0 <img*").await;
    window.find("button", "Start again from the schema").await;
    untouched(&window, &canary, "the form").await;
    window.press("JSON").await;
    window.find("textbox", "Arguments as JSON").await;
    untouched(&window, &canary, "the schema").await;

    // A result whose every part is hostile, after a card whose arguments are.
    window.press("Tool:*").await;
    window.write("combobox", "Search tools", "raw").await;
    window.click("option", "raw*").await;
    let blocks: Vec<Value> = corpus
        .iter()
        .flat_map(|words| {
            [
                json!({ "type": "text", "text": words }),
                json!({ "type": "resource_link", "uri": "javascript:window.ran=10", "name": words, "mimeType": words }),
                json!({ "type": "image", "mimeType": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9IndpbmRvdy5yYW49MTEiLz4=" }),
                json!({ "type": words, "text": words }),
            ]
        })
        .collect();
    let arguments =
        json!({ "result": { "content": blocks, "structuredContent": { corpus[0].as_str(): corpus }, "isError": false } });
    window.paste("textbox", "Arguments as JSON", &arguments.to_string()).await;
    window.press("Call*").await;
    window.sees("talks wants to run raw").await;
    untouched(&window, &canary, "the card").await;
    window.press("Allow once").await;
    window.does_not_see("wants to run").await;
    window.sees("Structured content").await;
    untouched(&window, &canary, "the result").await;
    window.close().await;
}
