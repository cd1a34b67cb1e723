//! Calls through the wire on a real server process: the road, its cards, what is kept and told of it.

use mework_engine::approval::Why;
use mework_engine::approval::queue::sha256;
use mework_engine::error::ErrorCode;
use mework_engine::wire::{ApprovalRecord, CallState, EntryBody, Event};
use mework_tests::calling::{Calling, text};
use mework_tests::engine::{Window, id};
use serde_json::json;

/// The whole road once, as a person sees it: every state in order, the card whole, the record of who approved.
#[tokio::test]
async fn b34_a_call_asks_runs_and_is_kept() {
    let mut c = Calling::new(&[]).await;
    c.connected().await;
    c.window.so_far().await;
    let arguments = "{\"exactly\":  1.50, \"\u{202e}\":\"b\"}";
    let entry = c.start("exact", arguments).await;
    let card = c.waiting(&entry).await;
    let [shown] = &c.cards().await[..] else { panic!("one card") };
    assert_eq!(
        (&shown.id, &shown.entry, shown.server_name.as_str(), shown.tool.as_str(), shown.arguments.as_str(), shown.why),
        (&card, &entry, "fake", "exact", arguments, Why::Level)
    );
    assert_eq!((shown.machine.as_str(), shown.cwd.as_str()), ("This computer", c.home.path().to_str().unwrap()));
    assert_eq!(shown.description.as_deref(), Some("The tool exact"));
    assert_eq!(c.sent("tools/call"), 0, "nothing was sent yet");
    assert!(c.answer(&card, true).await);
    assert!(!c.answer(&card, true).await, "nobody waits any more");
    let ended = c.ended(&entry).await;
    let line = text(&ended.state);
    assert!(line.contains(arguments), "what was shown is what was sent, to the byte: {line}");
    let ApprovalRecord { by, arguments_digest, .. } = ended.approval.clone().unwrap();
    assert_eq!((by.as_str(), arguments_digest), ("a person in the window", sha256(arguments.as_bytes())));
    assert!(ended.started_at.unwrap() <= ended.ended_at.unwrap());
    assert_eq!(c.cards().await, []);
    let kept = c.transcript().await;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].body, EntryBody::Call(Box::new(ended)));
}

/// The exact states at Full access, where nothing asks (B33), and what lists are told.
#[tokio::test]
async fn b33_at_full_access_a_call_runs_without_a_card() {
    let mut c = Calling::new(&[]).await;
    c.connected().await;
    c.level("full_access").await;
    c.window.so_far().await;
    let entry = c.start("echo", "").await;
    let ended = c.ended(&entry).await;
    assert_eq!(text(&ended.state), "{}");
    assert_eq!(ended.approval.unwrap().by, "the level Full access");
    let mut told = vec![];
    let entry = c.start("echo", "{}").await;
    loop {
        let event = c.window.next().await;
        let over =
            matches!(&event, Event::Conversations { conversations } if conversations[0].running_calls == 0) && !told.is_empty();
        match event {
            Event::Entry { entry: found, .. } if found.id == entry => {
                let EntryBody::Call(call) = found.body else { panic!() };
                told.push(serde_json::to_value(&call.state).unwrap()["kind"].as_str().unwrap().to_owned());
            }
            Event::Conversations { conversations } => told.push(format!("{} running", conversations[0].running_calls)),
            Event::Cards { .. } => panic!("no card shows"),
            _ => {}
        }
        if over && told.len() > 2 {
            break;
        }
    }
    let start = told.iter().position(|state| state == "connecting").unwrap();
    assert_eq!(told[start..], ["connecting", "1 running", "running", "done", "0 running"]);
}

/// Row 5: what a server says of its own tool loosens nothing.
#[tokio::test]
async fn row_5_a_tool_that_calls_itself_harmless_asks_all_the_same() {
    let harmless = r#"--tool={"name":"harmless","inputSchema":{"type":"object"},
        "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},
        "_meta":{"anthropic/requiresUserInteraction":false}}"#;
    let mut c = Calling::new(&[&harmless.replace('\n', "")]).await;
    for level in ["manual", "accept_edits"] {
        c.level(level).await;
        let entry = c.start("harmless", "{}").await;
        let card = c.waiting(&entry).await;
        assert_eq!(c.cards().await[0].why, Why::Level, "{level}");
        c.answer(&card, false).await;
        c.ended(&entry).await;
    }
    assert_eq!(c.sent("tools/call"), 0);
}

#[tokio::test]
async fn b34_a_denied_call_reaches_no_server_and_keeps_the_reason() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("echo", "{}").await;
    let card = c.waiting(&entry).await;
    assert!(c.answer(&card, false).await);
    let ended = c.ended(&entry).await;
    assert_eq!(ended.state, CallState::Denied { reason: Some("because".into()) });
    assert_eq!((c.sent("tools/call"), ended.approval), (0, None));
}

/// B33: raising to Full access answers waiting cards, except those that always ask (B36); lowering asks again for the next.
#[tokio::test]
async fn b33_b36_raising_the_level_answers_what_no_longer_asks() {
    let strict =
        r#"--tool={"name":"strict","inputSchema":{"type":"object"},"_meta":{"anthropic/requiresUserInteraction":"yes"}}"#;
    let mut c = Calling::with(&[strict], json!({ "disabledAutoApproveTools": ["after"] })).await;
    let (level, server, entry) = (c.start("echo", "{}").await, c.start("strict", "{}").await, c.start("after", "{}").await);
    for id in [&level, &server, &entry] {
        // They may come in any order.
        let open = c.transcript().await;
        let waits = open
            .iter()
            .any(|e| &e.id == id && matches!(&e.body, EntryBody::Call(call) if matches!(call.state, CallState::Waiting { .. })));
        if !waits {
            c.waiting(id).await;
        }
    }
    c.level("accept_edits").await;
    assert_eq!(c.cards().await.len(), 3, "every MCP call asks at Accept edits");
    c.level("full_access").await;
    let ended = c.ended(&level).await;
    assert_eq!(ended.approval.unwrap().by, "the level Full access");
    let mut why: Vec<(String, Why)> = c.cards().await.into_iter().map(|card| (card.tool, card.why)).collect();
    why.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(why, [("after".to_owned(), Why::EntryRequires), ("strict".to_owned(), Why::ServerRequires)]);
    c.level("manual").await;
    assert_eq!(c.cards().await.len(), 2);
    let next = c.start("echo", "{}").await;
    c.waiting(&next).await;
}

/// Row 7, B35: what changes while a card waits voids the yes: the entry, or what it would start.
#[tokio::test]
async fn b35_a_yes_is_void_when_the_entry_changed_meanwhile() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("echo", "{}").await;
    let card = c.waiting(&entry).await;
    c.home.global(json!({ "fake": Calling::entry(&c.log, &["--version=2025-06-18"], &json!({})) }));
    assert!(c.answer(&card, true).await);
    let CallState::NotRun { reason } = c.ended(&entry).await.state else { panic!() };
    assert!(reason.contains("Review it first"), "{reason}");
    // Agreed to in between: it is another server all the same.
    let entry = {
        let tick = json!({ "conversation": c.conversation, "server": c.server, "ticked": true });
        let digest = c.window.ok("server.tick", tick.clone()).await["needs"]["digest"].clone();
        let mut agreed = tick.clone();
        agreed["digest"] = digest;
        c.window.ok("server.tick", agreed).await;
        let entry = c.start("echo", "{}").await;
        let card = c.waiting(&entry).await;
        c.home.global(json!({ "fake": Calling::entry(&c.log, &[], &json!({})) }));
        let mut agreed = tick.clone();
        agreed["digest"] = c.window.ok("server.tick", tick).await["needs"]["digest"].clone();
        c.window.ok("server.tick", agreed).await;
        assert!(c.answer(&card, true).await);
        entry
    };
    let CallState::NotRun { reason } = c.ended(&entry).await.state else { panic!() };
    assert!(reason.contains("for another call"), "{reason}");
    assert_eq!(c.sent("tools/call"), 0);
}

/// Stop withdraws a card, or tells the server (B27); a stopped call is over and says so.
#[tokio::test]
async fn b27_stop_withdraws_the_card_or_tells_the_server() {
    let mut c = Calling::new(&[]).await;
    let entry = c.start("never", "{}").await;
    let card = c.waiting(&entry).await;
    c.window.ok("call.stop", json!({ "conversation": c.conversation, "entry": entry })).await;
    assert_eq!(c.ended(&entry).await.state, CallState::Stopped);
    assert_eq!(c.cards().await, []);
    assert!(!c.answer(&card, true).await);

    c.level("full_access").await;
    let entry = c.start("never", "{}").await;
    c.running(&entry).await;
    while c.sent("request tools/call") == 0 {
        tokio::task::yield_now().await;
    }
    c.window.ok("call.stop", json!({ "conversation": c.conversation, "entry": entry })).await;
    assert_eq!(c.ended(&entry).await.state, CallState::Stopped);
    while c.sent("notifications/cancelled") == 0 {
        tokio::task::yield_now().await;
    }
    // The next call starts a fresh connection.
    let entry = c.start("echo", "{}").await;
    assert_eq!(text(&c.ended(&entry).await.state), "{}");
    assert_eq!(c.sent("started"), 2);
}

/// Progress is told while the call runs; errors are errors, with the server's last words.
#[tokio::test]
async fn progress_failures_and_refusals_are_told_as_they_are() {
    let mut c = Calling::with(&[], json!({ "disabledTools": ["after"] })).await;
    c.level("full_access").await;
    let entry = c.start("progress", "{\"steps\": 2}").await;
    assert_eq!(text(&c.ended(&entry).await.state), "done");
    let entry = c.start("die", r#"{"code": 3, "stderr": "no more"}"#).await;
    let CallState::Failed { message, stderr, elapsed_ms } = c.ended(&entry).await.state else { panic!() };
    assert!(message.contains('3') && elapsed_ms.is_some(), "{message}");
    assert_eq!(stderr, ["no more"]);
    let entry = c.start("raw", r#"{"result": {"content": [], "isError": true}}"#).await;
    let CallState::Done(outcome) = c.ended(&entry).await.state else { panic!() };
    assert!(outcome.is_error);
    let entry = c.start("big", r#"{"bytes": 70000}"#).await;
    let CallState::Failed { message, .. } = c.ended(&entry).await.state else { panic!() };
    assert!(message.contains("65536"), "{message}");
    for (tool, words) in [("after", "disabledTools"), ("no such", "no tool named")] {
        let entry = c.start(tool, "{}").await;
        let CallState::NotRun { reason } = c.ended(&entry).await.state else { panic!() };
        assert!(reason.contains(words), "{reason}");
    }
    let counts = c.window.ok("snapshot", json!({})).await["conversations"][0].clone();
    assert_eq!((&counts["running_calls"], &counts["waiting_cards"]), (&json!(0), &json!(0)));
}

/// What cannot set out is refused before anything starts: arguments that are no object, servers that may not start.
#[tokio::test]
async fn b20a_a_call_that_cannot_set_out_is_refused_at_once() {
    let c = Calling::new(&[]).await;
    let unticked = id(&c.home.path().join(".mework/mcp.json"), "other");
    for (params, code, words) in [
        (c.params("echo", "[1]"), ErrorCode::BadRequest, "JSON object"),
        (c.params("echo", "{\"a\": }"), ErrorCode::BadRequest, "line 1, column 7"),
        (c.params("echo", "{\"a\": 1, \"a\": 2}"), ErrorCode::BadRequest, "a"),
        (c.params("", "{}"), ErrorCode::Failed, "name"),
        (
            json!({ "conversation": c.conversation, "server": unticked, "tool": "echo", "arguments": "{}" }),
            ErrorCode::Failed,
            "not ticked",
        ),
        (
            json!({ "conversation": "nowhere", "server": c.server, "tool": "echo", "arguments": "{}" }),
            ErrorCode::NotFound,
            "does not exist",
        ),
    ] {
        let error = c.window.rpc("call.start", params).await.unwrap_err();
        assert_eq!(error.code, code, "{}", error.message);
        assert!(error.message.contains(words), "{}", error.message);
    }
    c.home.global(json!({ "fake": { "command": "true" } }));
    assert_eq!(c.window.rpc("call.start", c.params("echo", "{}")).await.unwrap_err().code, ErrorCode::NeedsConsent);
    c.home.global(json!({ "fake": { "type": "ws" } }));
    assert!(c.window.rpc("call.start", c.params("echo", "{}")).await.unwrap_err().message.contains("unavailable"));
    c.home.global(json!({}));
    assert!(c.window.rpc("call.start", c.params("echo", "{}")).await.unwrap_err().message.contains("dangling"));
    assert_eq!(c.transcript().await, []);
}

/// B35: cards survive a reload of the window; a restart of the app shows their calls as not run, and running ones as failed.
#[tokio::test]
async fn b35_cards_survive_a_reload_and_a_restart_shows_them_as_not_run() {
    let mut c = Calling::new(&[]).await;
    let waits = c.start("echo", "{}").await;
    let card = c.waiting(&waits).await;
    let reloaded = Window::on(c.window.engine.clone());
    let snapshot = reloaded.ok("snapshot", json!({})).await;
    assert_eq!(snapshot["cards"][0]["id"], json!(card));
    assert_eq!(snapshot["conversations"][0]["waiting_cards"], json!(1));
    let runs = c.start("never", "{}").await;
    let second = c.waiting(&runs).await;
    c.answer(&second, true).await;
    c.running(&runs).await;
    drop(reloaded);
    c.window.engine.shutdown().await;
    let Calling { home, window, conversation, .. } = c;
    drop(window);

    let window = home.window().await;
    assert_eq!(window.ok("snapshot", json!({})).await["cards"], json!([]));
    let open = window.ok("conversation.open", json!({ "id": conversation })).await;
    let states: Vec<_> = open["transcript"].as_array().unwrap().iter().map(|e| e["body"]["state"]["kind"].clone()).collect();
    assert_eq!(states, [json!("not_run"), json!("failed")]);
}

/// The same when the app was killed and said nothing.
#[tokio::test]
async fn b35_a_killed_app_leaves_nothing_under_way() {
    let mut c = Calling::new(&[]).await;
    let waits = c.start("echo", "{}").await;
    c.waiting(&waits).await;
    let entry = c.transcript().await.remove(0);
    c.window.engine.shutdown().await;
    let Calling { home, window, conversation, .. } = c;
    drop(window);
    // As it stood in the database when the app was killed.
    let body = serde_json::to_string(&entry.body).unwrap();
    let database = rusqlite::Connection::open(home.data().join("mework.db")).unwrap();
    assert_eq!(database.execute("UPDATE entries SET phase = 'waiting', body = ?1", [body]).unwrap(), 1);
    drop(database);
    let window = home.window().await;
    assert_eq!(window.ok("snapshot", json!({})).await["conversations"][0]["waiting_cards"], json!(0));
    let open = window.ok("conversation.open", json!({ "id": conversation })).await;
    assert_eq!(open["transcript"][0]["body"]["state"]["kind"], json!("not_run"));
}

/// Deleting a conversation withdraws its cards, stops its calls and ends its servers.
#[tokio::test]
async fn deleting_a_conversation_ends_what_it_began() {
    let mut c = Calling::new(&[]).await;
    let waits = c.start("echo", "{}").await;
    let card = c.waiting(&waits).await;
    c.window.ok("conversation.delete", json!({ "id": c.conversation })).await;
    assert_eq!(c.cards().await, []);
    assert!(!c.answer(&card, true).await);
    while c.sent("end of input") == 0 {
        tokio::task::yield_now().await;
    }
}

/// Row 39, B24: every conversation has its own process.
#[tokio::test]
async fn row_39_two_conversations_never_share_a_server() {
    let mut c = Calling::new(&[]).await;
    c.level("full_access").await;
    let entry = c.start("place", "{}").await;
    let first = text(&c.ended(&entry).await.state);
    let other = c.window.id("conversation.create", json!({ "workspaces": [] })).await;
    c.window.ok("server.tick", json!({ "conversation": other, "server": c.server, "ticked": true })).await;
    c.window.ok("conversation.set_level", json!({ "id": other, "level": "full_access" })).await;
    let params = json!({ "conversation": other, "server": c.server, "tool": "place", "arguments": "{}" });
    let entry = c.window.id("call.start", params).await;
    let second = text(&c.ended(&entry).await.state);
    assert_ne!(first, second);
    assert_eq!(c.sent("started"), 2);
}

/// Row 7: long arguments reach the card whole, and the server to the byte; too long ones are refused before anything shows.
#[tokio::test]
async fn row_7_long_arguments_are_shown_and_sent_whole() {
    let mut c = Calling::new(&[]).await;
    let long = format!("{{\"a\": \"{}\u{1}end\"}}", "x".repeat(200 * 1024)).replace('\u{1}', "\\u0001");
    let entry = c.start("exact", &long).await;
    let card = c.waiting(&entry).await;
    assert_eq!(c.cards().await[0].arguments, long);
    c.answer(&card, true).await;
    // The tool answers with what it was sent, which is more than a result may have.
    let CallState::Failed { message, .. } = c.ended(&entry).await.state else { panic!() };
    assert!(message.contains("65536"), "{message}");
    let error =
        c.window.rpc("call.start", c.params("echo", &format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20)))).await.unwrap_err();
    assert!(error.message.contains("2097152"), "{}", error.message);
}

/// Several cards at once, in the order they came; each answer is its own.
#[tokio::test]
async fn b34_several_cards_wait_side_by_side() {
    let mut c = Calling::new(&[]).await;
    let mut entries = vec![];
    for n in 0..5 {
        let entry = c.start("echo", &format!("{{\"n\":{n}}}")).await;
        entries.push((entry.clone(), c.waiting(&entry).await));
    }
    let shown: Vec<String> = c.cards().await.into_iter().map(|card| card.arguments).collect();
    assert_eq!(shown, (0..5).map(|n| format!("{{\"n\":{n}}}")).collect::<Vec<_>>());
    let counts = c.window.ok("snapshot", json!({})).await["conversations"][0].clone();
    assert_eq!((&counts["waiting_cards"], &counts["running_calls"]), (&json!(5), &json!(0)));
    let (third, card) = entries[2].clone();
    assert!(c.answer(&card, true).await);
    assert_eq!(text(&c.ended(&third).await.state), "{\"n\":2}");
    let left: Vec<String> = c.cards().await.into_iter().map(|card| card.entry).collect();
    assert_eq!(left, [0, 1, 3, 4].map(|n: usize| entries[n].0.clone()));
    assert_eq!(c.sent("request tools/call"), 1);
}

/// Nobody named it: it is called after its first call, until somebody does.
#[tokio::test]
async fn an_untitled_conversation_is_called_after_its_first_call() {
    let mut calling = Calling::new(&[]).await;
    async fn title(calling: &mut Calling) -> String {
        let snapshot = calling.window.ok("snapshot", json!({})).await;
        snapshot["conversations"][0]["title"].as_str().unwrap().to_owned()
    }
    assert_eq!(title(&mut calling).await, "New conversation");
    calling.start("echo", "{}").await;
    assert_eq!(title(&mut calling).await, "fake · echo");
    let card = calling.window.wait(|event| match event {
        Event::Cards { cards } => cards.into_iter().next(),
        _ => None,
    });
    assert_eq!(card.await.conversation_title, "fake · echo");
    calling.start("after", r#"{"ms":1}"#).await;
    assert_eq!(title(&mut calling).await, "fake · echo");

    let rename = |title| json!({ "id": calling.conversation, "title": title });
    calling.window.ok("conversation.rename", rename("Mine")).await;
    calling.start("echo", "{}").await;
    assert_eq!(title(&mut calling).await, "Mine");
    let rename = json!({ "id": calling.conversation, "title": " " });
    calling.window.ok("conversation.rename", rename).await;
    assert_eq!(title(&mut calling).await, "fake · echo");
}

/// Where a call's time goes is written down: to the server, to a person, to the tool.
#[tokio::test]
async fn a_call_keeps_when_it_was_asked_about_and_answered() {
    let mut calling = Calling::new(&[]).await;
    calling.start("echo", "{}").await;
    let card = calling.window.wait(|event| match event {
        Event::Cards { cards } => cards.into_iter().next(),
        _ => None,
    });
    let card = card.await;
    calling.window.ok("card.answer", json!({ "card": card.id, "allow": true })).await;
    let (at, call) = calling
        .window
        .wait(|event| match event {
            Event::Entry { entry, .. } => match entry.body {
                EntryBody::Call(call) if matches!(call.state, CallState::Done(_)) => Some((entry.at, call)),
                _ => None,
            },
            _ => None,
        })
        .await;
    let moments = [Some(at), call.asked_at, call.answered_at, call.started_at, call.ended_at].map(Option::unwrap);
    assert!(moments.is_sorted(), "{moments:?}");
    assert_eq!(call.asked_at, Some(card.at));
    let kept = calling.window.ok("conversation.open", json!({ "id": calling.conversation })).await;
    let kept = &kept["transcript"][0]["body"];
    assert_eq!((&kept["asked_at"], &kept["answered_at"]), (&json!(call.asked_at), &json!(call.answered_at)));
}
