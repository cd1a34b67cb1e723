//! Conversations and workspaces through the wire: what they keep, who may change them, what windows are told.

use mework_engine::error::ErrorCode;
use mework_engine::wire::Event;
use mework_tests::engine::{Home, Window, id};
use serde_json::{Value, json};

fn conversations(event: Event) -> Option<Vec<String>> {
    match event {
        Event::Conversations { conversations } => Some(conversations.into_iter().map(|c| c.title).collect()),
        _ => None,
    }
}

#[tokio::test]
async fn every_change_is_told_once_and_no_change_is_not_told() {
    let home = Home::new();
    let mut window = home.window().await;
    let folder = home.folder("project");
    let workspace = window.id("workspace.add", json!({ "path": folder })).await;
    let [Event::Workspaces { workspaces }] = &window.so_far().await[..] else { panic!() };
    assert_eq!(
        (workspaces[0].id.as_str(), workspaces[0].name.as_str(), workspaces[0].exists),
        (workspace.as_str(), "project", true)
    );

    assert_eq!(window.id("workspace.add", json!({ "path": format!("{}/", folder.display()) })).await, workspace);
    window.nothing_happened().await;

    let conversation = window.id("conversation.create", json!({ "workspaces": [workspace], "title": "First" })).await;
    assert_eq!(window.wait(conversations).await, ["First"]);
    window.ok("conversation.rename", json!({ "id": conversation, "title": "First" })).await;
    window.nothing_happened().await;
    window.ok("conversation.rename", json!({ "id": conversation, "title": "Renamed" })).await;
    assert_eq!(window.wait(conversations).await, ["Renamed"]);

    // Nobody looks at the conversation: its settings change without an event.
    window.ok("conversation.set_level", json!({ "id": conversation, "level": "accept_edits" })).await;
    window.nothing_happened().await;
    window.ok("conversation.open", json!({ "id": conversation })).await;
    window.nothing_happened().await;
    window.ok("conversation.set_level", json!({ "id": conversation, "level": "full_access" })).await;
    window.ok("conversation.set_level", json!({ "id": conversation, "level": "full_access" })).await;
    window.ok("conversation.set_discovery", json!({ "id": conversation, "discovery": false })).await;
    let changed = |level, discovery| Event::ConversationChanged { id: conversation.clone(), level, discovery };
    use mework_engine::approval::Level::FullAccess;
    assert_eq!(window.so_far().await, [changed(FullAccess, true), changed(FullAccess, false)]);

    window.ok("conversation.delete", json!({ "id": conversation })).await;
    assert_eq!(window.wait(conversations).await, [""; 0]);
    let gone = window.rpc("conversation.open", json!({ "id": conversation })).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
}

/// B39: what a new conversation has: no server, discovery on, Manual; a declared server is no ticked one.
#[tokio::test]
async fn b39_a_new_conversation_selects_nothing_and_asks_for_everything() {
    let home = Home::new();
    home.global(json!({ "a": { "command": "true" } }));
    let window = home.window().await;
    let conversation = window.id("conversation.create", json!({ "workspaces": [] })).await;
    let open = window.ok("conversation.open", json!({ "id": conversation })).await;
    assert_eq!((&open["level"], &open["discovery"]), (&json!("manual"), &json!(true)));
    assert_eq!((&open["servers"]["selected"], &open["servers"]["total"]), (&json!(0), &json!(1)));
}

/// A restart keeps everything: order of workspaces, level, discovery, draft, ticks.
#[tokio::test]
async fn everything_survives_a_restart() {
    let home = Home::new();
    let file = home.global(json!({ "a": { "command": "true" } }));
    let (one, two) = (home.folder("one"), home.folder("two"));
    let window = home.window().await;
    assert_eq!(window.ok("snapshot", json!({})).await["app"]["first_start"], json!(true));
    let one = window.id("workspace.add", json!({ "path": one })).await;
    let two = window.id("workspace.add", json!({ "path": two })).await;
    let conversation = window.id("conversation.create", json!({ "workspaces": [one, two], "title": "Kept" })).await;
    window.ok("conversation.set_workspaces", json!({ "id": conversation, "workspaces": [two, one] })).await;
    window.ok("conversation.set_level", json!({ "id": conversation, "level": "accept_edits" })).await;
    window.ok("conversation.set_discovery", json!({ "id": conversation, "discovery": false })).await;
    window.ok("conversation.set_draft", json!({ "id": conversation, "draft": "half a \u{1F980}" })).await;
    window.ok("server.tick", json!({ "conversation": conversation, "server": id(&file, "a"), "ticked": true })).await;
    let mut before = window.ok("conversation.open", json!({ "id": conversation })).await;
    // Connections do not survive, and opening starts none.
    before["servers"]["sections"][0]["rows"][0]["status"] = json!({ "kind": "idle" });
    window.engine.shutdown().await;
    drop(window);

    let window = home.window().await;
    assert_eq!(window.ok("snapshot", json!({})).await["app"]["first_start"], json!(false));
    let after = window.ok("conversation.open", json!({ "id": conversation })).await;
    assert_eq!(after["summary"]["workspaces"], json!([two, one]));
    assert_eq!(after["draft"], json!("half a \u{1F980}"));
    for key in ["summary", "level", "discovery", "servers", "transcript"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(after["servers"]["sections"][0]["rows"][0]["ticked"], json!(true));
}

/// The temporary conversation has a scratch folder under the data folder, which goes with it, and no level of its own.
#[tokio::test]
async fn a_temporary_conversation_has_a_scratch_folder_that_goes_with_it() {
    let home = Home::new();
    let window = home.window().await;
    let conversation = window.id("conversation.create", json!({ "workspaces": [], "temporary": true })).await;
    let open = window.ok("conversation.open", json!({ "id": conversation })).await;
    let scratch = std::path::PathBuf::from(open["scratch"].as_str().unwrap());
    assert!(scratch.starts_with(home.data()) && scratch.is_dir());
    home.declare(&scratch, json!({ "planted": { "command": "true" } }));
    let open = window.ok("conversation.open", json!({ "id": conversation })).await;
    let levels: Vec<&Value> = open["servers"]["sections"].as_array().unwrap().iter().map(|s| &s["level"]).collect();
    assert_eq!(levels, [&json!("global")]);
    window.ok("conversation.delete", json!({ "id": conversation })).await;
    assert!(!scratch.exists());
}

/// B41: the second process shows the conversation read-only, says who has it, and sees what the first one writes.
#[tokio::test]
async fn b41_one_process_owns_a_conversation_and_the_other_watches() {
    let home = Home::new();
    let first = home.window().await;
    let mut second = Window::on(home.engine("mework serve").await);
    let conversation = first.id("conversation.create", json!({ "workspaces": [], "title": "Shared" })).await;
    assert_eq!(second.wait(conversations).await, ["Shared"]);
    first.ok("conversation.open", json!({ "id": conversation })).await;

    let held = format!("the window, process {}", std::process::id());
    let held_by = |event| match event {
        Event::Conversations { conversations } => Some(conversations[0].held_by.clone()),
        _ => None,
    };
    assert_eq!(second.wait(held_by).await, Some(held.clone()));
    let open = second.ok("conversation.open", json!({ "id": conversation })).await;
    assert_eq!(open["summary"]["held_by"], json!(held));
    for (method, params) in [
        ("conversation.rename", json!({ "id": conversation, "title": "Mine" })),
        ("conversation.set_level", json!({ "id": conversation, "level": "full_access" })),
        ("conversation.set_draft", json!({ "id": conversation, "draft": "x" })),
        ("conversation.delete", json!({ "id": conversation })),
        ("server.tick", json!({ "conversation": conversation, "server": "native:local:/x#y", "ticked": false })),
    ] {
        let error = second.rpc(method, params).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ReadOnly, "{method}");
        assert!(error.message.contains(&held), "{}", error.message);
    }
    first.ok("conversation.set_level", json!({ "id": conversation, "level": "accept_edits" })).await;
    let level = second
        .wait(|event| match event {
            Event::ConversationChanged { level, .. } => Some(level),
            _ => None,
        })
        .await;
    assert_eq!(level, mework_engine::approval::Level::AcceptEdits);

    first.engine.shutdown().await;
    drop(first);
    assert_eq!(second.wait(held_by).await, None);
    second.ok("conversation.rename", json!({ "id": conversation, "title": "Mine" })).await;
    assert_eq!(second.wait(conversations).await, ["Mine"]);
}

/// B41: what a process changed from a list, without looking at it, is free again after a while; what it looks at later.
#[tokio::test]
async fn b41_a_conversation_that_nobody_looks_at_is_given_back() {
    let home = Home::new();
    let (first, mut second) = (home.window().await, Window::on(home.engine("mework serve").await));
    let create = json!({ "workspaces": [], "title": "x" });
    let (idle, looked_at) =
        (first.id("conversation.create", create.clone()).await, first.id("conversation.create", create).await);
    first.ok("conversation.open", json!({ "id": looked_at })).await;
    first.ok("conversation.set_level", json!({ "id": idle, "level": "full_access" })).await;
    let holders = |event| match event {
        Event::Conversations { conversations } => {
            let held = |id: &str| conversations.iter().find(|c| c.id == id).is_some_and(|c| c.held_by.is_some());
            Some((held(&idle), held(&looked_at)))
        }
        _ => None,
    };
    while second.wait(holders).await != (true, true) {}
    assert!(second.rpc("conversation.rename", json!({ "id": idle, "title": "Mine" })).await.is_err());

    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(31)).await;
    tokio::time::resume();
    while second.wait(holders).await != (false, true) {}
    second.ok("conversation.rename", json!({ "id": idle, "title": "Mine" })).await;
    let error = second.rpc("conversation.rename", json!({ "id": looked_at, "title": "Mine" })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ReadOnly);

    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(10 * 60)).await;
    tokio::time::resume();
    while second.wait(holders).await != (false, false) {}
    // Whoever changes it next has it.
    first.ok("conversation.set_level", json!({ "id": looked_at, "level": "full_access" })).await;
    let error = second.rpc("conversation.rename", json!({ "id": looked_at, "title": "Mine" })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ReadOnly);
}

/// The window and the command line at once lose nothing.
#[tokio::test]
async fn two_processes_write_at_once_and_nothing_is_lost() {
    let home = Home::new();
    let (first, second) = (home.window().await, Window::on(home.engine("mework serve").await));
    let create = |window: &Window, n: u32| {
        let engine = window.engine.clone();
        tokio::spawn(async move {
            Window::on(engine).id("conversation.create", json!({ "workspaces": [], "title": format!("{n:02}") })).await;
        })
    };
    let tasks: Vec<_> = (0..30).map(|n| create(if n % 2 == 0 { &first } else { &second }, n)).collect();
    for task in tasks {
        task.await.unwrap();
    }
    for window in [&first, &second] {
        let snapshot = window.ok("snapshot", json!({})).await;
        let mut titles: Vec<String> =
            snapshot["conversations"].as_array().unwrap().iter().map(|c| c["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        assert_eq!(titles, (0..30).map(|n| format!("{n:02}")).collect::<Vec<_>>());
    }
}

/// B42: a request that is sent again runs once; one without an id does not run.
#[tokio::test]
async fn b42_a_changing_request_runs_once() {
    use mework_engine::api::{Request, dispatch};
    let home = Home::new();
    let window = home.window().await;
    let request = |id: Option<&str>| Request {
        id: id.map(Into::into),
        method: "conversation.create".into(),
        params: json!({ "workspaces": [] }),
    };
    let (a, b) = tokio::join!(dispatch(&window.engine, request(Some("x"))), dispatch(&window.engine, request(Some("x"))));
    assert_eq!(a, b);
    assert!(a.is_ok());
    assert_eq!(dispatch(&window.engine, request(Some("x"))).await, a);
    assert_eq!(dispatch(&window.engine, request(None)).await.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(window.ok("snapshot", json!({})).await["conversations"].as_array().unwrap().len(), 1);
}

/// B46: a damaged database is set aside whole, named in a notice, and the app starts.
#[tokio::test]
async fn b46_a_damaged_database_is_set_aside_and_named() {
    let home = Home::new();
    std::fs::create_dir_all(home.data()).unwrap();
    std::fs::write(home.data().join("mework.db"), vec![0x5A; 9000]).unwrap();
    let window = home.window().await;
    let notices = window.ok("snapshot", json!({})).await["notices"].clone();
    let text = notices[0].as_str().unwrap();
    let aside = std::fs::read_dir(home.data())
        .unwrap()
        .map(|item| item.unwrap().path())
        .find(|path| path.to_string_lossy().contains("damaged"))
        .unwrap();
    assert!(text.contains(aside.to_str().unwrap()) && text.contains("damaged"), "{text}");
    assert_eq!(std::fs::read(aside).unwrap(), vec![0x5A; 9000]);
    window.id("conversation.create", json!({ "workspaces": [] })).await;
}

#[tokio::test]
async fn workspaces_that_cannot_be_are_refused_in_words() {
    let home = Home::new();
    let window = home.window().await;
    for (path, words) in [("relative", "whole path"), ("/no/such/folder", "no folder"), ("~", "home folder")] {
        let error = window.rpc("workspace.add", json!({ "path": path })).await.unwrap_err();
        assert!(error.message.contains(words), "{path}: {}", error.message);
    }
    let error = window.rpc("conversation.create", json!({ "workspaces": ["nowhere"] })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    let error = window.rpc("conversation.create", json!({ "workspaces": 5 })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
    let error = window.rpc("no.such", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
    let error = window.rpc("workspace.add", json!({ "path": "x".repeat(3_000_000) })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
}
