use super::*;
use crate::approval::Level;
use crate::wire::{CallEntry, CallOutcome, CallState, Entry, EntryBody};

fn row(id: &str) -> ConversationRow {
    ConversationRow {
        id: id.into(),
        title: "T".into(),
        first_call: None,
        level: Level::AcceptEdits,
        discovery: true,
        draft: "half a thought".into(),
        temporary: false,
        updated_at: 5,
        workspaces: vec![],
    }
}

fn entry(id: &str, state: CallState) -> Entry {
    let call = CallEntry {
        server: "s".into(),
        server_name: "s".into(),
        machine: "This computer".into(),
        tool: "t".into(),
        title: None,
        arguments: "{}".into(),
        arguments_before: None,
        state,
        asked_at: None,
        answered_at: None,
        approval: None,
        started_at: None,
        ended_at: None,
    };
    Entry { id: id.into(), at: 1, body: EntryBody::Call(Box::new(call)) }
}

fn done(structured: &str) -> CallState {
    CallState::Done(CallOutcome {
        is_error: false,
        content: vec![],
        structured: Some(structured.into()),
        bytes: 1,
        elapsed_ms: 1,
    })
}

async fn open(data: &Path) -> Store {
    let (store, opened) = Store::open(data, "test").await.unwrap();
    assert_eq!(opened, Opened::default());
    store
}

/// Digits that no number of a program holds are kept; an earlier version kept a value where its text is now.
#[tokio::test]
async fn structured_content_is_kept_as_text_and_read_from_older_transcripts() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    store.create_conversation(row("c1")).await.unwrap();
    let exact = r#"{"id":1234567890123456789012345,"rate":1.0,"all":1e999}"#;
    for (id, text) in [("e1", exact), ("e2", r#"{"id":12}"#)] {
        store.put_entry("c1", &entry(id, done(text))).await.unwrap();
    }
    let older = "UPDATE entries SET body = json_set(body, '$.state.structured', json('{\"id\":[12,1.5,null]}')) WHERE id = 'e2'";
    store.write(|t| Ok(t.execute(older, ())?)).await.unwrap();
    let read: Vec<Entry> = store.transcript("c1").await.unwrap().into_iter().map(|row| row.entry).collect();
    assert_eq!(read, [entry("e1", done(exact)), entry("e2", done(r#"{"id":[12,1.5,null]}"#))]);
}

/// B46: what was written is there after the next start.
#[tokio::test]
async fn rows_survive_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let workspace = WorkspaceRow { id: "w1".into(), machine: "local".into(), path: "/w".into() };
    assert_eq!(store.add_workspace(workspace.clone()).await.unwrap(), "w1");
    assert_eq!(
        store.add_workspace(WorkspaceRow { id: "w2".into(), ..workspace.clone() }).await.unwrap(),
        "w1",
        "the same folder is the same workspace"
    );
    let conversation = ConversationRow { workspaces: vec!["w1".into()], ..row("c1") };
    store.create_conversation(conversation.clone()).await.unwrap();
    store.select("c1", "native:local:/w/.mework/mcp.json#a", true).await.unwrap();
    store.put_entry("c1", &entry("e1", CallState::Stopped)).await.unwrap();
    store.agree("s", ConsentRow { digest: "d".into(), canonical: "{}".into() }).await.unwrap();
    drop(store);

    let store = open(home.path()).await;
    assert_eq!(store.workspaces().await.unwrap(), [workspace]);
    assert_eq!(store.conversations().await.unwrap(), [conversation]);
    assert_eq!(store.selection("c1").await.unwrap(), ["native:local:/w/.mework/mcp.json#a"]);
    assert_eq!(store.transcript("c1").await.unwrap(), [EntryRow { entry: entry("e1", CallState::Stopped), revision: 1 }]);
    assert_eq!(store.consent("s").await.unwrap(), Some(ConsentRow { digest: "d".into(), canonical: "{}".into() }));
    assert!(store.delete_conversation("c1").await.unwrap());
    assert!(!store.delete_conversation("c1").await.unwrap());
    assert_eq!(store.transcript("c1").await.unwrap(), []);
}

/// B46 and the issue's "a corrupt database is set aside with a copy, named, and the app starts".
#[tokio::test]
async fn a_damaged_database_is_set_aside_whole_and_a_new_one_begun() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mework.db");
    let noise: Vec<u8> = (0..20_000u32).map(|n| (n * 31 % 251) as u8).collect();
    std::fs::write(&file, &noise).unwrap();
    let (store, opened) = Store::open(home.path(), "test").await.unwrap();
    let aside = opened.set_aside.unwrap();
    assert_eq!(std::fs::read(&aside).unwrap(), noise);
    assert_eq!(aside.parent(), Some(home.path()));
    store.create_conversation(row("c1")).await.unwrap();
}

/// The thread that held the database may still be closing it, and Windows removes nothing that is open.
fn removed(file: &Path) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while let Err(e) = std::fs::remove_file(file) {
        assert!(Instant::now() < give_up, "{e}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A page damaged in the middle, not only the header.
#[tokio::test]
async fn damage_inside_shows_at_the_start_and_not_in_the_middle_of_a_call() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    for n in 0..200 {
        store.put_entry("c1", &entry(&format!("e{n}"), CallState::Stopped)).await.unwrap();
        store.create_conversation(row(&format!("c{n}"))).await.unwrap();
    }
    store.run(|c| Ok(c.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?)).await.unwrap();
    drop(store);
    let file = home.path().join("mework.db");
    let mut bytes = std::fs::read(&file).unwrap();
    for at in (4096..bytes.len()).step_by(4096) {
        bytes[at..at + 64].fill(0xAA);
    }
    removed(&file);
    std::fs::write(&file, &bytes).unwrap();
    let (_, opened) = Store::open(home.path(), "test").await.unwrap();
    assert_eq!(std::fs::read(opened.set_aside.unwrap()).unwrap(), bytes);
}

/// B46: a newer format is refused with a clear message, and the file stays as it is.
#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mework.db");
    drop(open(home.path()).await);
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(home.path(), "test").await.err().unwrap();
    let message = error.to_string();
    assert!(message.contains("newer version of Mework") && message.contains("99") && message.contains("mework.db"), "{message}");
    let version: u32 = rusqlite::Connection::open(&file).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

/// B46: migrates forward, with a copy of the old one kept.
#[tokio::test]
async fn an_older_database_is_brought_forward_and_a_copy_kept() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    store.create_conversation(row("c1")).await.unwrap();
    drop(store);
    let path = home.path().to_owned();
    let next: Vec<&str> = schema::MIGRATIONS
        .iter()
        .copied()
        .chain(["ALTER TABLE conversations ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'"])
        .collect();
    let (store, opened) = Store::open_blocking(&path, "test", &next).unwrap();
    let mood: String =
        store.run(|c| Ok(c.query_row("SELECT mood FROM conversations WHERE id = 'c1'", [], |row| row.get(0))?)).await.unwrap();
    assert_eq!(mood, "calm");
    let copy = rusqlite::Connection::open(opened.migrated.unwrap()).unwrap();
    let version: u32 = copy.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let title: String = copy.query_row("SELECT title FROM conversations WHERE id = 'c1'", [], |row| row.get(0)).unwrap();
    assert_eq!((version as usize, title.as_str()), (schema::MIGRATIONS.len(), "T"));
}

/// Conversations of before there were names for untitled ones get theirs; a person's title stays.
#[tokio::test]
async fn untitled_conversations_of_an_older_database_are_named() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_owned();
    let older = &schema::MIGRATIONS[..2];
    let (store, _) = Store::open_blocking(&path, "test", older).unwrap();
    let old = |id: &'static str, title: &'static str| {
        move |t: &rusqlite::Transaction<'_>| {
            let sql = "INSERT INTO conversations VALUES (?1, ?2, 'manual', 1, '', 0, 1, 1)";
            Ok(t.execute(sql, (id, title)).map(|_| ())?)
        }
    };
    for (id, title) in [("called", "New conversation"), ("empty", "New conversation"), ("mine", "Mine")] {
        store.write(old(id, title)).await.unwrap();
        if id != "empty" {
            store.put_entry(id, &entry(&format!("e-{id}"), CallState::Stopped)).await.unwrap();
        }
    }
    drop(store);
    let (store, _) = Store::open_blocking(&path, "test", schema::MIGRATIONS).unwrap();
    let mut rows = store.conversations().await.unwrap();
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    let named: Vec<_> = rows.iter().map(|row| (row.title.as_str(), row.first_call.as_deref())).collect();
    assert_eq!(named, [("", Some("s · t")), ("", None), ("Mine", Some("s · t"))]);
}

/// Security row 42: nobody else can look.
#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_look_into_the_data() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    let store = open(&data).await;
    store.create_conversation(row("c1")).await.unwrap();
    let mut seen = Vec::new();
    let mut folders = vec![data];
    while let Some(folder) = folders.pop() {
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{folder:?}");
        for item in std::fs::read_dir(folder).unwrap() {
            let item = item.unwrap();
            if item.file_type().unwrap().is_dir() {
                folders.push(item.path());
            } else {
                assert_eq!(item.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", item.path());
                seen.push(item.file_name().into_string().unwrap());
            }
        }
    }
    assert!(seen.contains(&"mework.db".to_owned()) && seen.contains(&"mework.db-wal".to_owned()), "{seen:?}");
}

/// B41: one process at a time; a dead one's conversation is free, a living one's is not.
#[tokio::test]
async fn a_conversation_belongs_to_one_living_process() {
    let home = tempfile::tempdir().unwrap();
    let window = Store::open(home.path(), "the window").await.unwrap().0;
    let serve = Store::open(home.path(), "mework serve").await.unwrap().0;
    window.create_conversation(row("c1")).await.unwrap();
    let holder = |client: &str| Holder { client: client.into(), pid: std::process::id() };
    assert_eq!(window.take("c1").await.unwrap(), Lease::Taken);
    assert_eq!(window.take("c1").await.unwrap(), Lease::Ours);
    assert_eq!(serve.take("c1").await.unwrap(), Lease::Held(holder("the window")));
    assert_eq!(serve.held_by_others().await.unwrap(), [("c1".to_owned(), holder("the window"))]);
    assert_eq!(window.held_by_others().await.unwrap(), []);
    // It ends without saying so, as a killed process does.
    drop(window);
    assert_eq!(serve.held_by_others().await.unwrap(), []);
    assert_eq!(serve.take("c1").await.unwrap(), Lease::Taken);
    serve.leave().await.unwrap();
    let again = Store::open(home.path(), "the window").await.unwrap().0;
    assert_eq!(again.take("c1").await.unwrap(), Lease::Taken);
}

/// However many conversations there are, one of them is found without a look at the others.
#[tokio::test]
async fn one_conversation_is_found_by_its_id() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let workspace = WorkspaceRow { id: "w1".into(), machine: "local".into(), path: "/w".into() };
    store.add_workspace(workspace).await.unwrap();
    for id in ["c1", "c2"] {
        let workspaces = if id == "c2" { vec!["w1".into()] } else { vec![] };
        store.create_conversation(ConversationRow { workspaces, ..row(id) }).await.unwrap();
    }
    let found = store.conversation("c2").await.unwrap();
    assert_eq!(found, Some(ConversationRow { workspaces: vec!["w1".into()], ..row("c2") }));
    assert_eq!(store.conversation("c3").await.unwrap(), None);
    for statement in conversations::statements(true) {
        let plan: String = store
            .run(move |c| Ok(c.query_row(&format!("EXPLAIN QUERY PLAN {statement}"), ["c2"], |row| row.get(3))?))
            .await
            .unwrap();
        assert!(plan.starts_with("SEARCH "), "{plan}");
    }
}

/// Two processes at once lose nothing, and each notices the other's writes but not its own.
#[tokio::test]
async fn writes_of_two_processes_are_all_kept_and_noticed() {
    let home = tempfile::tempdir().unwrap();
    let a = std::sync::Arc::new(open(home.path()).await);
    let b = std::sync::Arc::new(open(home.path()).await);
    let before = a.changed_by_others().await.unwrap();
    a.create_conversation(row("c1")).await.unwrap();
    assert_eq!(a.changed_by_others().await.unwrap(), before);
    let tasks: Vec<_> = (0..40)
        .map(|n| {
            let store = if n % 2 == 0 { a.clone() } else { b.clone() };
            tokio::spawn(async move { store.put_entry("c1", &entry(&format!("e{n:02}"), CallState::Connecting)).await.unwrap() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_ne!(a.changed_by_others().await.unwrap(), before);
    let rows = a.transcript("c1").await.unwrap();
    let mut revisions: Vec<u64> = rows.iter().map(|row| row.revision).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=40).collect::<Vec<u64>>());
    assert_eq!(b.counts().await.unwrap().get("c1"), Some(&Counts { waiting: 0, running: 40 }));
}

/// What was sent can be picked again: each text once, the newest first, nothing of temporary or deleted conversations.
#[tokio::test]
async fn what_was_sent_is_found_again() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    for (id, temporary) in [("c1", false), ("c2", false), ("t", true)] {
        store.create_conversation(ConversationRow { temporary, ..row(id) }).await.unwrap();
    }
    let all = Recent { texts: 3, bytes: 100, bytes_of_one: 50 };
    let recent = async |conversation: &str, wanted: Recent| -> Vec<(String, u64)> {
        let found = store.recent_arguments(conversation, "s", "t", wanted).await.unwrap();
        found.into_iter().map(|sent| (sent.arguments, sent.at)).collect()
    };
    let long = format!("\"{}\"", "x".repeat(60));
    for (n, (conversation, arguments, started_at)) in [
        ("c1", "1", Some(10)),
        ("c2", "2\u{0}é\"", Some(20)),
        ("c1", "1", Some(30)),
        ("t", "3", Some(40)),
        ("c1", "4", None),
        ("c1", long.as_str(), Some(60)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut entry = entry(&format!("e{n}"), CallState::Stopped);
        let EntryBody::Call(call) = &mut entry.body else { panic!() };
        (call.arguments, call.started_at) = (arguments.into(), started_at);
        store.put_entry(conversation, &entry).await.unwrap();
    }
    let of = |texts: &[(&str, u64)]| texts.iter().map(|(text, at)| (text.to_string(), *at)).collect::<Vec<_>>();
    assert_eq!(recent("c1", all).await, of(&[("1", 30), ("2\u{0}é\"", 20)]));
    assert_eq!(recent("t", all).await, of(&[("3", 40), ("1", 30), ("2\u{0}é\"", 20)]), "a temporary one sees its own");
    assert_eq!(recent("t", Recent { texts: 2, ..all }).await.len(), 2);
    assert_eq!(recent("t", Recent { bytes: 4, ..all }).await.len(), 2);
    assert_eq!(recent("c1", Recent { bytes_of_one: 100, ..all }).await[0], (long, 60));
    assert_eq!(store.recent_arguments("c1", "s", "other", all).await.unwrap(), []);
    assert!(store.delete_conversation("c1").await.unwrap());
    assert_eq!(recent("c2", all).await, of(&[("2\u{0}é\"", 20)]));
    // However long the transcripts are, only these calls are read.
    let plan: String = store
        .run(|c| {
            let sql = format!("EXPLAIN QUERY PLAN {}", transcript::SENT);
            Ok(c.query_row(&sql, ("c", "s", "t", 1), |row| row.get(3))?)
        })
        .await
        .unwrap();
    assert!(plan.contains("USING INDEX entries_sent"), "{plan}");
}

/// Security row 6: a definition that changed is named; a first sight and a new tool are not changes.
#[tokio::test]
async fn tools_that_look_otherwise_are_named() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let tool =
        |name: &str, digest: &str| SeenTool { name: name.into(), digest: digest.into(), definition: format!("{name}{digest}") };
    let seen = |a: &str, b: &str| vec![tool("a", a), tool("b", b)];
    assert_eq!(store.note_tools("s", vec![tool("a", "1")]).await.unwrap(), []);
    assert_eq!(store.note_tools("s", seen("1", "1")).await.unwrap(), []);
    let changed = ChangedTool { name: "b".into(), old: "b1".into(), new: "b2".into() };
    assert_eq!(store.note_tools("s", seen("1", "2")).await.unwrap(), [changed]);
    assert_eq!(store.note_tools("s", seen("1", "2")).await.unwrap(), []);
}

/// Whoever holds the lock may be stopped for good: waiting has an end, and words.
#[test]
fn a_lock_that_is_never_let_go_is_an_error_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mework.lock");
    let held = locked(&path, Duration::ZERO).unwrap();
    let error = locked(&path, Duration::from_millis(50)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("another program has held {} for 10 s. If a Mework is stopped or hangs, end it, and try again", path.display())
    );
    drop(held);
    locked(&path, Duration::ZERO).unwrap();
}

#[tokio::test]
async fn a_database_that_another_program_holds_is_an_error_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let mut other = Connection::open(folder.path().join("mework.db")).unwrap();
    let _held = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    store.run(|c| Ok(c.busy_timeout(Duration::ZERO)?)).await.unwrap();
    let error = store.set_setting("review", "x".into()).await.unwrap_err();
    assert!(error.to_string().starts_with("another program has held the database for 10 s. "), "{error}");
}

/// Everything in a folder, by name.
fn files(folder: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|file| file.file_type().unwrap().is_file());
    files.map(|file| (file.file_name(), std::fs::read(file.path()).unwrap())).collect()
}

#[tokio::test]
async fn a_look_where_nothing_is_kept_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    assert_eq!(look(&data).await.unwrap(), Default::default());
    assert!(!data.exists());
}

/// It sees what was written last, beside a process that is in the middle of a write, and changes nothing itself.
#[tokio::test]
async fn a_look_takes_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let row = ConsentRow { digest: "d".into(), canonical: "{}".into() };
    store.agree("s", row.clone()).await.unwrap();
    store.set_setting("review", "\"never\"".into()).await.unwrap();
    let mut other = Connection::open(folder.path().join(DATABASE)).unwrap();
    let half = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    half.execute("DELETE FROM consents", []).unwrap();
    let before = files(folder.path());
    let kept = Kept {
        consents: BTreeMap::from([("s".to_owned(), row)]),
        settings: BTreeMap::from([("review".to_owned(), "\"never\"".to_owned())]),
    };
    assert_eq!(look(folder.path()).await.unwrap(), kept);
    let mut after = files(folder.path());
    // Readers mark in the shared index how far they read.
    let (index, _) = after.remove_entry(std::ffi::OsStr::new("mework.db-shm")).unwrap();
    assert_eq!(after, before.into_iter().filter(|(name, _)| *name != index).collect());
}

/// Every older format is read as it is. One that a look cannot read is a migration that it has to know of.
#[tokio::test]
async fn a_look_reads_older_formats_and_leaves_them_so() {
    for format in 1..schema::MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open_blocking(folder.path(), "test", &schema::MIGRATIONS[..format]).unwrap();
        let row = ConsentRow { digest: "d".into(), canonical: "{}".into() };
        store.agree("s", row.clone()).await.unwrap();
        store.set_setting("review", "\"never\"".into()).await.unwrap();
        let before = files(folder.path());
        let kept = look(folder.path()).await.unwrap();
        assert_eq!((kept.consents.get("s"), kept.settings.len()), (Some(&row), 1), "format {format}");
        assert!(files(folder.path()).keys().eq(before.keys()));
        let found: usize = store.run(|c| Ok(c.query_row("PRAGMA user_version", [], |row| row.get(0))?)).await.unwrap();
        assert_eq!(found, format);
    }
}

#[tokio::test]
async fn a_look_at_what_it_cannot_read_says_so_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).await);
    let file = folder.path().join(DATABASE);
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = look(folder.path()).await.unwrap_err().to_string();
    assert!(error.contains("newer version of Mework"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(DATABASE);
    std::fs::write(&file, [0x5A; 8192]).unwrap();
    let error = look(folder.path()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { path, .. } if *path == file), "{error}");
    let left: Vec<_> = files(folder.path()).into_keys().collect();
    assert_eq!(left, [DATABASE, LOCK]);
    assert_eq!(std::fs::read(file).unwrap(), [0x5A; 8192]);
}

/// Whoever has the database open would go on writing to a file that is no longer the database, or has another format.
#[tokio::test]
async fn nobody_replaces_a_database_under_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open_blocking(folder.path(), "test", &schema::MIGRATIONS[..2]).unwrap();
    let refused = async || Store::open(folder.path(), "test").await.err().unwrap();
    let error = refused().await;
    assert!(matches!(error, StoreError::OlderInUse { .. }), "{error}");
    store.run(|c| Ok(c.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?)).await.unwrap();
    let file = folder.path().join(DATABASE);
    std::fs::write(&file, [0x5A; 8192]).unwrap();
    let error = refused().await;
    assert!(matches!(error, StoreError::DamagedInUse { .. }), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), [0x5A; 8192]);
    assert!(!leases::nobody(folder.path()).unwrap());
    drop(store);
    assert!(leases::nobody(folder.path()).unwrap());
}
