//! Arguments edited on the card, through the wire on a real server process that writes down what it got (B34, B35, row 7);
//! and what was sent to a tool, to be picked again.

use mework_engine::approval::queue::sha256;
use mework_engine::error::{Error, ErrorCode};
use mework_engine::wire::{CallState, EntryBody};
use mework_tests::calling::{Calling, text};
use mework_tests::engine::Window;
use serde_json::{Value, json};

const ASKED: &str = "{\"a\": 1}";

async fn edit(window: &Window, card: &str, arguments: &str) -> Result<Value, Error> {
    window.rpc("card.answer", json!({ "card": card, "allow": true, "arguments": arguments })).await
}

/// The whole road with an edit: what is sent is what the person made of it, to the byte; both are kept, also over a restart.
#[tokio::test]
async fn b35_an_edited_call_is_sent_as_edited_and_both_are_kept() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("exact", ASKED).await;
    let card = c.waiting(&entry).await;
    let edited = "{\n  \"exactly\":  1.50,\n  \"\u{202e}\": \"\\u0062\"\n}";
    assert_eq!(edit(&c.window, &card, edited).await.unwrap()["was_waiting"], json!(true));
    let ended = c.ended(&entry).await;
    let line = text(&ended.state);
    // Between two lines of a server's input there is no room for a line break.
    assert!(line.contains("1.50") && line.contains("\"\\u0062\"") && !line.contains("\"a\""), "{line}");
    assert_eq!((ended.arguments.as_str(), ended.arguments_before.as_deref()), (edited, Some(ASKED)));
    let approval = ended.approval.clone().unwrap();
    assert_eq!(approval.arguments_digest, sha256(edited.as_bytes()));
    let change = approval.edit.unwrap();
    assert_eq!((change.by.as_str(), change.digest_before), ("a person in the window", sha256(ASKED.as_bytes())));
    assert_eq!(c.sent("request tools/call"), 1);

    c.window.engine.shutdown().await;
    let Calling { home, window, conversation, .. } = c;
    drop(window);
    let again = home.window().await;
    let open = again.ok("conversation.open", json!({ "id": conversation })).await;
    assert_eq!(open["transcript"][0]["body"], json!(EntryBody::Call(Box::new(ended))));
}

/// What cannot be sent is refused in words, the card goes on waiting, and nothing reached the server.
#[tokio::test]
async fn b35_what_cannot_be_sent_is_refused_and_the_card_waits_on() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("echo", ASKED).await;
    let card = c.waiting(&entry).await;
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20));
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    for (arguments, words) in [
        ("[1]", "JSON object"),
        ("{\"a\": }", "line 1, column 7"),
        ("{\"a\": 1, \"a\": 2}", "`a` is written twice"),
        ("{\"a\": 1} {}", "trailing characters"),
        (deep.as_str(), "deeper than 127 levels"),
        (large.as_str(), "2097152"),
    ] {
        let error = edit(&c.window, &card, arguments).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::BadRequest);
        assert!(error.message.contains(words), "{}", error.message);
        assert_eq!(c.cards().await[0].arguments, ASKED);
    }
    assert_eq!(c.sent("request tools/call"), 0);
    // Blank is what it is for a call: no arguments.
    assert_eq!(edit(&c.window, &card, " \n").await.unwrap()["was_waiting"], json!(true));
    let ended = c.ended(&entry).await;
    assert_eq!((text(&ended.state).as_str(), ended.arguments.as_str()), ("{}", "{}"));
}

/// Two windows show one card: the first answer counts, and the other window learns that its own did not.
#[tokio::test]
async fn b35_of_two_windows_the_first_answer_counts() {
    let mut c = Calling::new(&[]).await;
    let other = Window::on(c.window.engine.clone());
    let entry = c.start("echo", ASKED).await;
    let card = c.waiting(&entry).await;
    assert_eq!(edit(&other, &card, "{\"other\": 2}").await.unwrap()["was_waiting"], json!(true));
    assert_eq!(edit(&c.window, &card, "{\"late\": 3}").await.unwrap()["was_waiting"], json!(false));
    assert!(!c.answer(&card, false).await);
    let ended = c.ended(&entry).await;
    assert_eq!((text(&ended.state).as_str(), ended.arguments.as_str()), ("{\"other\":2}", "{\"other\": 2}"));
    assert_eq!(c.sent("request tools/call"), 1);
}

/// B33: a level that is raised answers the card as it was asked; an edit that comes after finds nobody waiting.
#[tokio::test]
async fn b33_a_raised_level_runs_what_was_asked_and_no_edit() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("echo", ASKED).await;
    let card = c.waiting(&entry).await;
    c.level("full_access").await;
    assert_eq!(edit(&c.window, &card, "{\"late\": 3}").await.unwrap()["was_waiting"], json!(false));
    let ended = c.ended(&entry).await;
    assert_eq!((ended.arguments.as_str(), ended.arguments_before), (ASKED, None));
    let approval = ended.approval.unwrap();
    assert_eq!((approval.by.as_str(), approval.edit), ("the level Full access", None));
}

/// A no says nothing about arguments: what was asked for stays.
#[tokio::test]
async fn b34_a_no_keeps_what_was_asked() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("echo", ASKED).await;
    let card = c.waiting(&entry).await;
    c.window.ok("card.answer", json!({ "card": card, "allow": false, "arguments": "{\"b\": 2}" })).await;
    let ended = c.ended(&entry).await;
    assert_eq!(ended.state, CallState::Denied { reason: None });
    assert_eq!((ended.arguments.as_str(), ended.arguments_before, ended.approval), (ASKED, None, None));
}

/// B35: an entry that changed voids an edited yes too, and what was edited is in the transcript all the same.
#[tokio::test]
async fn b35_an_edited_yes_is_void_when_the_entry_changed_meanwhile() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("echo", ASKED).await;
    let card = c.waiting(&entry).await;
    let tick = json!({ "conversation": c.conversation, "server": c.server, "ticked": true });
    c.home.global(json!({ "fake": Calling::entry(&c.log, &["--version=2025-06-18"], &json!({})) }));
    let mut agreed = tick.clone();
    agreed["digest"] = c.window.ok("server.tick", tick).await["needs"]["digest"].clone();
    c.window.ok("server.tick", agreed).await;
    edit(&c.window, &card, "{\"b\": 2}").await.unwrap();
    let ended = c.ended(&entry).await;
    let CallState::NotRun { reason } = &ended.state else { panic!("{:?}", ended.state) };
    assert!(reason.contains("for another call"), "{reason}");
    assert_eq!((ended.arguments.as_str(), ended.arguments_before.as_deref()), ("{\"b\": 2}", Some(ASKED)));
    assert_eq!((c.sent("request tools/call"), ended.approval), (0, None));
}

/// B28: the workspace is taken from what was edited; an unknown number is refused while the card waits.
#[tokio::test]
async fn b28_an_edited_workspace_number_goes_to_another_instance() {
    let mut c = Calling::with(&[], json!({ "workspace": true })).await;
    let folders = [c.home.folder("one"), c.home.folder("two")];
    let mut workspaces = vec![];
    for folder in &folders {
        workspaces.push(c.window.id("workspace.add", json!({ "path": folder })).await);
    }
    c.window.ok("conversation.set_workspaces", json!({ "id": c.conversation, "workspaces": workspaces })).await;
    let entry = c.start("place", "{}").await;
    let card = c.waiting(&entry).await;
    let shown = c.cards().await.remove(0);
    assert_eq!(shown.cwd, folders[0].to_str().unwrap());
    // What an edit would run in is known to whoever draws the card.
    assert_eq!(shown.folders, folders.each_ref().map(|folder| folder.to_str().unwrap()));
    // What is listed as defined otherwise than the card says would not be run by a yes.
    let of = json!({ "conversation": c.conversation, "server": c.server, "tool": "place" });
    assert_eq!(c.window.ok("tools.get", of).await["definition"], json!(shown.definition));
    for wrong in ["3", "0", "\"2\""] {
        let error = edit(&c.window, &card, &format!("{{\"workspace\": {wrong}}}")).await.unwrap_err();
        assert_eq!(error.message, "`workspace` must be one of these numbers: 1, 2.", "{wrong}");
    }
    assert_eq!(edit(&c.window, &card, "{\"workspace\": 2}").await.unwrap()["was_waiting"], json!(true));
    let place: Value = serde_json::from_str(&text(&c.ended(&entry).await.state)).unwrap();
    assert_eq!(place["cwd"], json!(folders[1]));
    assert_eq!(c.sent("request tools/call"), 1);
}

/// B44: whoever tells of a card elsewhere has names for it that hold no secret, a browser too.
#[tokio::test]
async fn b44_a_cards_brief_names_are_scrubbed() {
    let mut c = Calling::with(&[], json!({ "env": { "MEWORK_TEST_TOKEN": "progress" } })).await;
    c.connected().await;
    let entry = c.start("progress", "{}").await;
    c.waiting(&entry).await;
    let card = c.cards().await.remove(0);
    assert_eq!((card.tool.as_str(), card.brief.server.as_str(), card.brief.tool.as_str()), ("progress", "fake", "•••"));
}

/// What was sent, edited or not, can be picked again in every conversation; what was not sent cannot, nor what went with its
/// conversation.
#[tokio::test]
async fn what_was_sent_to_a_tool_can_be_picked_again() {
    let mut c = Calling::new(&[]).await;
    let server = c.server.clone();
    let of = |conversation: &str| json!({ "conversation": conversation, "server": server, "tool": "echo" });
    let (here, unknown) = (of(&c.conversation), of("nowhere"));
    let recent = async |window: &Window, of: &Value| -> Vec<String> {
        let reply = window.ok("arguments.recent", of.clone()).await;
        reply["recent"].as_array().unwrap().iter().map(|one| one["arguments"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(recent(&c.window, &here).await, [""; 0]);
    for (asked, answer) in [("{\"n\": 1}", Some(None)), ("{\"n\": 2}", Some(Some("{\"n\": 3}"))), ("{\"n\": 4}", None)] {
        let entry = c.start("echo", asked).await;
        let card = c.waiting(&entry).await;
        let arguments = answer.flatten();
        c.window.ok("card.answer", json!({ "card": card, "allow": answer.is_some(), "arguments": arguments })).await;
        c.ended(&entry).await;
    }
    assert_eq!(recent(&c.window, &here).await, ["{\"n\": 3}", "{\"n\": 1}"]);
    let other = c.window.id("conversation.create", json!({ "workspaces": [], "temporary": true })).await;
    let there = of(&other);
    assert_eq!(recent(&c.window, &there).await, ["{\"n\": 3}", "{\"n\": 1}"]);
    assert_eq!(c.window.rpc("arguments.recent", unknown).await.unwrap_err().code, ErrorCode::NotFound);
    c.window.ok("conversation.delete", json!({ "id": c.conversation })).await;
    assert_eq!(recent(&c.window, &there).await, [""; 0]);
}
