//! B44: what the desktop is told while the window is not in front, and where a click on it goes. The real window, with a
//! notification service of the test's own on the test's own session bus.
#![cfg(target_os = "linux")]

use mework_tests::engine::program;
use mework_tests::notifications::{Notification, Notifications};
use mework_tests::programs::{Home, eventually};
use mework_tests::window::{Desktop, Window};
use serde_json::{Value, json};

struct Calling {
    window: Window,
    conversation: Value,
    server: String,
}

impl Calling {
    /// A window that is not in front and shows one conversation, and another with a server whose calls ask.
    async fn in_another_conversation(desktop: &Desktop, home: &Home) -> Self {
        home.declare(json!({ "waits": { "command": program("fake-server") } }));
        let window = desktop.open_window(home).await;
        let conversation = window.ok("conversation.create", json!({ "workspaces": [] })).await["id"].clone();
        let server = format!("native:local:{}#waits", home.global_file().display());
        let view = window.ok("server.review", json!({ "conversation": conversation, "server": server })).await;
        let tick = json!({ "conversation": conversation, "server": server, "ticked": true, "digest": view["digest"] });
        window.ok("server.tick", tick).await;
        let calling = Self { window, conversation, server };
        calling.turn_away(desktop).await;
        calling
    }
    /// Something else has the keyboard, and the window knows.
    async fn turn_away(&self, desktop: &Desktop) {
        desktop.turn_away();
        self.window.until("the window to have lost the keyboard", "return !document.hasFocus()").await;
    }
    async fn start(&self, tool: &str, arguments: Value) -> Value {
        let call =
            json!({ "conversation": self.conversation, "server": self.server, "tool": tool, "arguments": arguments.to_string() });
        self.window.ok("call.start", call).await["id"].clone()
    }
    async fn stop(&self, entry: &Value) {
        self.window.ok("call.stop", json!({ "conversation": self.conversation, "entry": entry })).await;
    }
}

/// Waits until exactly this one stands.
async fn stands(desktop: &Notifications, summary: &str) -> Notification {
    eventually(&format!("the one notification {summary:?}"), || match &desktop.standing()[..] {
        [one] if one.summary == summary => Some(one.clone()),
        _ => None,
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn b44_waiting_calls_are_told_to_the_desktop_and_a_click_goes_to_the_card() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let told = desktop.notifications().await;
    let calling = Calling::in_another_conversation(&desktop, &home).await;
    let window = &calling.window;

    let first = calling.start("echo", json!({ "token": "s3cret-argument" })).await;
    let one = stands(&told, "waits wants to run echo").await;
    assert_eq!((one.body.as_str(), one.clickable), ("Click to look at the call and answer.", true), "no word of the arguments");
    eventually("the count on the icon", || (told.count() == Some(1)).then_some(())).await;

    // However many more there are, they are one notification.
    let mut more = Vec::new();
    for _ in 0..9 {
        more.push(calling.start("never", json!({})).await);
    }
    let ten = stands(&told, "10 calls wait for you").await;
    assert_eq!((ten.id, told.ever()), (one.id, 1));
    eventually("the new count", || (told.count() == Some(10)).then_some(())).await;

    // From off the screen to the card.
    desktop.hide_window("(10) Mework").await;
    told.click(ten.id).await.unwrap();
    eventually("the window in front", || (desktop.window_titles() == ["(10) Mework"]).then_some(())).await;
    let at_the_card =
        "const card = document.activeElement; return card.id.startsWith('card-') && card.innerText.includes('s3cret-argument')";
    window.until("the keyboard at the first card", at_the_card).await;
    desktop.turn_to("(10) Mework").await;
    window.until("the window to have the keyboard", "return document.hasFocus()").await;
    assert_eq!(told.standing(), []);

    // Nothing is told of what comes while the window is in front: what comes after it is told of alone.
    more.push(calling.start("never", json!({})).await);
    eventually("the card's count", || (told.count() == Some(11)).then_some(())).await;
    calling.turn_away(&desktop).await;
    let last = calling.start("progress", json!({})).await;
    stands(&told, "waits wants to run progress").await;
    assert_eq!(told.ever(), 2);

    // Withdrawn when there is nothing to answer any more.
    for entry in more.iter().chain([&first, &last]) {
        calling.stop(entry).await;
    }
    eventually("the notification to go", || told.standing().is_empty().then_some(())).await;
    eventually("the count to go", || told.count().is_none().then_some(())).await;
    calling.window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b44_a_long_calls_end_is_told_and_a_click_goes_to_its_result() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let told = desktop.notifications().await;
    let calling = Calling::in_another_conversation(&desktop, &home).await;
    calling.window.ok("conversation.set_level", json!({ "id": calling.conversation, "level": "full_access" })).await;
    // Both run; the one that ends soon is not worth a word.
    let long = calling.start("after", json!({ "ms": 10_500 })).await;
    calling.start("echo", json!({})).await;
    let one = stands(&told, "after on waits is done").await;
    assert_eq!(told.ever(), 1);
    told.click(one.id).await.unwrap();
    let at_the_call = "return document.activeElement.id === 'entry-' + arguments[0]";
    calling.window.until_with("the keyboard at the call", at_the_call, vec![long]).await;
    calling.window.close().await;
}
