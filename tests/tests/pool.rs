//! The pool on real processes: side by side, replaced when they change, closed when nobody uses them.
#![cfg(target_os = "linux")]

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mework_engine::config::ServerId;
use mework_engine::mcp::connection::CallError;
use mework_engine::mcp::pool::{Bounds, Change, Effort, Eras, Pool, Wanted};
use mework_engine::mcp::result::Block;
use mework_engine::mcp::{Era, Health, Stage};
use mework_tests::engine::PATIENCE;
use mework_tests::eventually;
use mework_tests::servers::{Bench, Memory, arguments};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

const SHORT: Duration = Duration::from_millis(400);

struct Rig {
    pool: Pool,
    changes: UnboundedReceiver<Change>,
    memory: Arc<Memory>,
}

fn rig(bench: &Bench, bounds: Bounds) -> Rig {
    let memory = Arc::new(Memory::default());
    let (pool, changes) = Pool::new(bench.logs.clone(), memory.clone(), bounds);
    Rig { pool, changes, memory }
}

fn kind(health: &Health) -> &'static str {
    match health {
        Health::Idle => "idle",
        Health::Connecting { .. } => "connecting",
        Health::Connected { .. } => "connected",
        Health::Failed { .. } => "failed",
    }
}

impl Rig {
    async fn connect(&self, conversation: &str, wanted: &Wanted, effort: Effort) -> Health {
        self.pool.ensure(conversation, vec![wanted.clone()], effort);
        self.pool.settled(conversation, &wanted.server.id).await
    }
    async fn call(&self, conversation: &str, wanted: &Wanted, tool: &str, given: Value) -> Result<String, CallError> {
        let result = self.pool.call(conversation, wanted.clone(), tool, &arguments(given), None, pending()).await?;
        match &result.content[..] {
            [Block::Text { text }] => Ok(text.clone()),
            other => panic!("{other:?}"),
        }
    }
    async fn pid(&self, conversation: &str, wanted: &Wanted) -> u64 {
        let place: Value = serde_json::from_str(&self.call(conversation, wanted, "place", json!({})).await.unwrap()).unwrap();
        place["pid"].as_u64().unwrap()
    }
    /// The next change, which has to come.
    async fn next(&mut self) -> (String, String, &'static str) {
        let change = tokio::time::timeout(Duration::from_secs(20), self.changes.recv()).await.expect("a change").unwrap();
        (change.conversation, change.server.name, kind(&change.health))
    }
    fn so_far(&mut self) -> Vec<&'static str> {
        std::iter::from_fn(|| self.changes.try_recv().ok()).map(|change| kind(&change.health)).collect()
    }
}

fn names(health: &Health) -> Vec<String> {
    match health {
        Health::Connected { tools, .. } => tools.tools.iter().map(|tool| tool.name.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

/// Complaints 8 and 9: one that hangs delays nobody, and the others' tools are there at once.
#[tokio::test]
async fn b20_a_server_that_hangs_delays_no_other() {
    let bench = Bench::new();
    let mut rig = rig(&bench, Bounds::default());
    let hangs = bench.wanted("hangs", bench.fake(&["--hang=initialize"])).await;
    let good = bench.wanted("good", bench.fake(&["--tools=2"])).await;
    rig.pool.ensure("c", vec![hangs.clone(), good.clone()], Effort::Turn);
    assert_eq!(names(&rig.pool.settled("c", &good.server.id).await), ["tool0", "tool1"]);
    assert_eq!(kind(&rig.pool.health("c", &hangs.server.id)), "connecting");
    let mut seen = [rig.next().await, rig.next().await, rig.next().await];
    seen.sort();
    let change = |server: &str, state| ("c".to_string(), server.to_string(), state);
    assert_eq!(seen, [change("good", "connected"), change("good", "connecting"), change("hangs", "connecting")]);
    rig.pool.shutdown().await;
    assert!(bench.tag.processes().is_empty());
}

/// What a start has begun is gone when closing it returns, even if it ends neither with its input nor when it is asked.
#[tokio::test]
async fn b25_nothing_is_left_of_a_start_that_is_closed_halfway() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let deaf = bench.wanted("deaf", bench.fake(&["--hang=initialize", "--deaf"])).await;
    rig.pool.ensure("c", vec![deaf.clone()], Effort::Turn);
    eventually("it did not start", || bench.tag.processes().len() == 1).await;
    rig.pool.close("c", &deaf.server.id).await;
    assert_eq!(bench.tag.processes(), [0; 0]);
}

/// Row 39: a conversation's process is its own.
#[tokio::test]
async fn row_39_each_conversation_has_its_own_process() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", bench.fake(&[])).await;
    let (one, two) = (rig.pid("one", &wanted).await, rig.pid("two", &wanted).await);
    assert_ne!(one, two);
    assert_eq!(rig.pid("one", &wanted).await, one);
    rig.pool.close_conversation("one").await;
    assert_eq!(bench.tag.processes(), [two as i32]);
}

/// B24, complaint 25: what changed starts afresh, what did not keeps its process.
#[tokio::test]
async fn b24_a_changed_entry_starts_afresh_and_the_others_stay() {
    let bench = Bench::new();
    let mut rig = rig(&bench, Bounds::default());
    let stays = bench.wanted("stays", bench.fake(&[])).await;
    let before = bench.wanted("changes", bench.fake(&[])).await;
    let (kept, old) = (rig.pid("c", &stays).await, rig.pid("c", &before).await);
    let after = bench.wanted("changes", bench.fake(&["--tools=3"])).await;
    assert_eq!(before.server.id, after.server.id);
    rig.so_far();
    rig.pool.ensure("c", vec![stays.clone(), after.clone()], Effort::Turn);
    assert_eq!(names(&rig.pool.settled("c", &after.server.id).await).len(), 3);
    assert_eq!(rig.pid("c", &stays).await, kept);
    assert!(!bench.tag.processes().contains(&(old as i32)));
    // Another folder to start in is another process too.
    let moved = Wanted { cwd: "/".into(), ..stays.clone() };
    assert_ne!(rig.pid("c", &moved).await, kept);
}

/// An entry that changes while it still starts is not waited for.
#[tokio::test]
async fn b24_a_start_that_hangs_is_replaced_when_its_entry_changes() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let hangs = bench.wanted("a", bench.fake(&["--hang=initialize"])).await;
    rig.pool.ensure("c", vec![hangs.clone()], Effort::Turn);
    eventually("it did not start", || bench.tag.processes().len() == 1).await;
    let fixed = bench.wanted("a", bench.fake(&["--tools=1"])).await;
    assert_eq!(names(&rig.connect("c", &fixed, Effort::Turn).await), ["tool0"]);
    eventually("the old one is still there", || bench.tag.processes().len() == 1).await;
}

/// Complaint 7: a server that died is started again by the next turn, and its death is said when it happens.
#[tokio::test]
async fn b24_a_server_killed_between_two_turns_is_restarted() {
    let bench = Bench::new();
    let mut rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", bench.fake(&[])).await;
    let old = rig.pid("c", &wanted).await;
    assert_eq!(rig.so_far(), ["connecting", "connected"]);
    // SAFETY: the process is our own child's.
    unsafe { libc::kill(old as i32, libc::SIGKILL) };
    assert_eq!(rig.next().await.2, "failed");
    let Health::Failed { failure } = rig.pool.health("c", &wanted.server.id) else { panic!() };
    assert_eq!(failure.message, "The server was ended by signal 9 (SIGKILL).");
    assert_eq!(kind(&rig.connect("c", &wanted, Effort::Turn).await), "connected");
    assert_ne!(rig.pid("c", &wanted).await, old);
    assert_eq!(rig.so_far(), ["connecting", "connected"]);
}

#[tokio::test]
async fn b24_after_a_time_out_or_a_stop_the_next_call_starts_a_new_one() {
    let bench = Bench::new();
    let mut rig = rig(&bench, Bounds::default());
    let mut wanted = bench.wanted("a", bench.fake(&[])).await;
    let first = rig.pid("c", &wanted).await;
    wanted.server.call_timeout = SHORT;
    assert_eq!(rig.call("c", &wanted, "never", json!({})).await.unwrap_err(), CallError::TimedOut(SHORT));
    assert_eq!(kind(&rig.pool.health("c", &wanted.server.id)), "idle");
    wanted.server.call_timeout = Duration::from_secs(30);
    let second = rig.pid("c", &wanted).await;
    assert_ne!(first, second);
    let stopped = rig.pool.call("c", wanted.clone(), "never", &arguments(json!({})), None, tokio::time::sleep(SHORT)).await;
    assert_eq!(stopped.unwrap_err(), CallError::Cancelled);
    // A refusal and a result that is too large leave the third one.
    let third = rig.pid("c", &wanted).await;
    rig.call("c", &wanted, "error", json!({})).await.unwrap_err();
    rig.call("c", &wanted, "big", json!({ "bytes": 70_000 })).await.unwrap_err();
    assert_eq!(rig.pid("c", &wanted).await, third);
    assert_eq!(rig.so_far(), ["connecting", "connected", "idle", "connecting", "connected", "idle", "connecting", "connected"]);
}

#[tokio::test]
async fn a_call_to_a_server_that_cannot_start_says_why() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", json!({ "command": "false" })).await;
    let error = rig.call("c", &wanted, "x", json!({})).await.unwrap_err();
    let CallError::NotConnected(failure) = error else { panic!("{error:?}") };
    assert_eq!((failure.stage, failure.exit_code), (Stage::Handshake, Some(1)));
}

/// A call can be stopped while its server still starts.
#[tokio::test]
async fn a_call_is_stopped_while_its_server_starts() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", bench.fake(&["--hang=initialize"])).await;
    let stopped = rig.pool.call("c", wanted, "x", &arguments(json!({})), None, tokio::time::sleep(SHORT)).await;
    assert_eq!(stopped.unwrap_err(), CallError::Cancelled);
}

/// Complaint 2.
#[tokio::test]
async fn b24_idle_connections_close_and_busy_ones_do_not() {
    let bench = Bench::new();
    let mut rig = rig(&bench, Bounds { idle: Duration::from_millis(600), ..Bounds::default() });
    let (idle, busy) = (bench.wanted("idle", bench.fake(&[])).await, bench.wanted("busy", bench.fake(&[])).await);
    for n in 0..3 {
        rig.connect(&format!("c{n}"), &idle, Effort::Quiet).await;
    }
    let busy_id = busy.server.id.clone();
    let call = rig.call("c", &busy, "after", json!({ "ms": 2500 }));
    let others_close = async {
        eventually("idle ones stay", || {
            (0..3).all(|n| kind(&rig.pool.health(&format!("c{n}"), &idle.server.id)) == "idle")
                && bench.tag.processes().len() == 1
        })
        .await;
        assert_eq!(kind(&rig.pool.health("c", &busy_id)), "connected");
    };
    let (answer, ()) = tokio::join!(call, others_close);
    assert_eq!(answer.unwrap(), "done");
    eventually("the last one stays", || bench.tag.processes().is_empty()).await;
    let mut states = rig.so_far();
    states.sort_unstable();
    assert_eq!(states, [["connected"; 4], ["connecting"; 4], ["idle"; 4]].concat());
}

#[tokio::test]
async fn b24_over_the_limit_the_longest_idle_is_closed_and_a_busy_one_never() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds { live: 2, ..Bounds::default() });
    let wanted = bench.wanted("a", bench.fake(&[])).await;
    let calls = rig.call("busy", &wanted, "after", json!({ "ms": 3000 }));
    let others = async {
        eventually("the call does not run", || kind(&rig.pool.health("busy", &wanted.server.id)) == "connected").await;
        for conversation in ["one", "two", "three"] {
            rig.connect(conversation, &wanted, Effort::Quiet).await;
        }
        ["busy", "one", "two", "three"].map(|conversation| kind(&rig.pool.health(conversation, &wanted.server.id)))
    };
    let (answer, states) = tokio::join!(calls, others);
    assert_eq!(states, ["connected", "idle", "idle", "connected"]);
    assert_eq!(answer.unwrap(), "done");
}

/// It did not become what was asked for, at this stage, in these words; and nothing of it is left.
async fn gives_up(rig: &Rig, bench: &Bench, wanted: &Wanted, stage: Stage, words: &str) {
    let settled = tokio::time::timeout(PATIENCE, rig.connect("c", wanted, Effort::Turn)).await;
    let Health::Failed { failure } = settled.expect("it is waited for without end") else { panic!("it hangs") };
    assert_eq!(failure.stage, stage, "{failure:?}");
    assert!(failure.message.starts_with(words), "{failure:?}");
    eventually("it still runs", || bench.tag.processes().is_empty()).await;
}

/// B20, B24: a start that hangs is given up after the limit for starts.
#[tokio::test]
async fn b24_a_start_that_hangs_has_an_end() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds { start: SHORT, ..Bounds::default() });
    let wanted = bench.wanted("a", bench.fake(&["--hang=initialize"])).await;
    gives_up(&rig, &bench, &wanted, Stage::Handshake, "It did not answer `initialize` within 1 s.").await;
}

/// B20: so is a list, the first one and one that is asked for when a turn begins.
#[tokio::test]
async fn b20_a_listing_that_hangs_has_an_end() {
    let bench = Bench::new();
    let short = rig(&bench, Bounds { list: SHORT, ..Bounds::default() });
    let wanted = bench.wanted("a", bench.fake(&["--hang=tools/list"])).await;
    gives_up(&short, &bench, &wanted, Stage::List, "It did not list its tools within 1 s.").await;
    // Long enough for the first list, which comes.
    let rig = rig(&bench, Bounds { list: Duration::from_secs(4), ..Bounds::default() });
    let wanted = bench.wanted("b", bench.fake(&["--tools=1", "--hang-second-list"])).await;
    assert_eq!(names(&rig.connect("c", &wanted, Effort::Turn).await), ["tool0"]);
    gives_up(&rig, &bench, &wanted, Stage::List, "It did not list its tools within 4 s.").await;
}

/// A call waits that long for a server that starts; the start goes on for the next one.
#[tokio::test]
async fn a_call_does_not_wait_without_end_for_a_start() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds { list: SHORT, ..Bounds::default() });
    let wanted = bench.wanted("a", bench.fake(&["--hang=initialize"])).await;
    let call = tokio::time::timeout(PATIENCE, rig.call("c", &wanted, "x", json!({}))).await;
    let error = call.expect("it waits without end").unwrap_err();
    let CallError::NotConnected(failure) = error else { panic!("{error:?}") };
    assert_eq!(failure.message, "The server was not ready within 1 s. It is still starting; try again.");
    assert_eq!(kind(&rig.pool.health("c", &wanted.server.id)), "connecting");
    assert_eq!(bench.tag.processes().len(), 1);
}

/// A listing that hangs holds up no call.
#[tokio::test]
async fn b24_a_call_does_not_wait_for_a_listing() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", bench.fake(&["--hang-second-list"])).await;
    let pid = rig.pid("c", &wanted).await;
    rig.pool.ensure("c", vec![wanted.clone()], Effort::Turn);
    let settled = rig.pool.settled("c", &wanted.server.id);
    tokio::select! {
        again = rig.pid("c", &wanted) => assert_eq!(again, pid),
        health = settled => panic!("{health:?}"),
    }
}

/// Complaint 26.
#[tokio::test]
async fn tools_that_changed_are_listed_again() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", bench.fake(&["--tools=1", "--changes"])).await;
    assert_eq!(names(&rig.connect("c", &wanted, Effort::Turn).await), ["tool0"]);
    rig.call("c", &wanted, "echo", json!({})).await.unwrap();
    // The announcement follows the answer.
    eventually("no change was seen", || {
        rig.pool.ensure("c", vec![wanted.clone()], Effort::Quiet);
        names(&rig.pool.health("c", &wanted.server.id)) == ["tool0", "late"]
    })
    .await;
}

/// A quiet look lists nothing again, a turn does.
#[tokio::test]
async fn b20_a_turn_lists_again_and_a_quiet_look_does_not() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let log = format!("--log={}", bench.file("log").display());
    let wanted = bench.wanted("a", bench.fake(&[&log])).await;
    let listings = || bench.noted("log").iter().filter(|line| *line == "request tools/list").count();
    rig.connect("c", &wanted, Effort::Quiet).await;
    rig.connect("c", &wanted, Effort::Quiet).await;
    assert_eq!(listings(), 1);
    rig.connect("c", &wanted, Effort::Turn).await;
    assert_eq!(listings(), 2);
}

/// Row 6: what once needed a person still does, whatever the server says later.
#[tokio::test]
async fn row_6_a_tool_that_needed_a_person_keeps_needing_one() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", bench.fake(&["--tools=2", "--flips"])).await;
    let asks = |health: Health| match health {
        Health::Connected { tools, .. } => {
            tools.tools.iter().map(|tool| (tool.always_asks, tool.digest.clone())).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let first = asks(rig.connect("c", &wanted, Effort::Turn).await);
    let second = asks(rig.connect("c", &wanted, Effort::Turn).await);
    assert_eq!([first[0].0, second[0].0, first[1].0, second[1].0], [true, true, false, false]);
    assert_ne!(first[0].1, second[0].1);
    assert_eq!(first[1].1, second[1].1);
}

#[tokio::test]
async fn the_era_a_server_answered_to_is_remembered_and_tried_first() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let log = format!("--log={}", bench.file("log").display());
    let wanted = bench.wanted("a", bench.fake(&["--not=initialize:exit", &log])).await;
    rig.connect("c", &wanted, Effort::Turn).await;
    assert_eq!(rig.memory.remembered(&wanted.server.id), Some(Era::Discover));
    rig.connect("d", &wanted, Effort::Turn).await;
    let starts = bench.noted("log").iter().filter(|line| *line == "started").count();
    assert_eq!(starts, 3);
}

#[tokio::test]
async fn a_fresh_failure_is_left_alone_in_the_background_and_retried_by_a_turn() {
    let bench = Bench::new();
    let mut rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", json!({ "command": "false" })).await;
    assert_eq!(kind(&rig.connect("c", &wanted, Effort::Quiet).await), "failed");
    assert_eq!(kind(&rig.connect("c", &wanted, Effort::Quiet).await), "failed");
    assert_eq!(rig.so_far(), ["connecting", "failed"]);
    assert_eq!(kind(&rig.connect("c", &wanted, Effort::Turn).await), "failed");
    assert_eq!(rig.so_far(), ["connecting", "failed"]);
}

/// Complaint 1: nothing is left of what was closed, zombies included.
#[tokio::test]
async fn twenty_conversations_come_and_go_without_a_trace() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let wanted = bench.wanted("a", bench.fake(&["--tools=1"])).await;
    let ids: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
    for id in &ids {
        rig.pool.ensure(id, vec![wanted.clone()], Effort::Quiet);
    }
    for id in &ids {
        assert_eq!(kind(&rig.pool.settled(id, &wanted.server.id).await), "connected");
    }
    assert_eq!(bench.tag.processes().len(), 20);
    for id in &ids {
        rig.pool.close_conversation(id).await;
    }
    assert!(bench.tag.processes().is_empty());
    // Of this process, and of those it started: supervisors are forked by one of them.
    fn children(pid: &str) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
    let supervised = || {
        let mine = children(&std::process::id().to_string());
        mine.iter().flat_map(|child| children(child)).chain(mine.iter().cloned()).any(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains("(mework-superv) Z") || stat.contains("(test-supervis) Z")
        })
    };
    eventually("zombies are left", || !supervised()).await;
}

#[tokio::test]
async fn shutdown_ends_everything_and_nothing_starts_afterwards() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let deaf = bench.wanted("deaf", bench.fake(&["--deaf"])).await;
    let hangs = bench.wanted("hangs", bench.fake(&["--hang=initialize"])).await;
    rig.connect("c", &deaf, Effort::Turn).await;
    rig.pool.ensure("c", vec![hangs.clone()], Effort::Turn);
    eventually("it did not start", || bench.tag.processes().len() == 2).await;
    rig.pool.shutdown().await;
    eventually("something is left", || bench.tag.processes().is_empty()).await;
    rig.pool.ensure("c", vec![deaf.clone(), hangs], Effort::Turn);
    assert_eq!(kind(&rig.pool.settled("c", &deaf.server.id).await), "idle");
    assert!(bench.tag.processes().is_empty());
}

/// A variable that is missing at the start is a failure of this server, not of others.
#[tokio::test]
async fn an_entry_that_cannot_be_expanded_fails_alone() {
    let bench = Bench::new();
    let rig = rig(&bench, Bounds::default());
    let mut wanted = bench.wanted("a", bench.fake(&[])).await;
    wanted.cwd = "/no/such/folder".into();
    let Health::Failed { failure } = rig.connect("c", &wanted, Effort::Turn).await else { panic!() };
    assert_eq!(failure.stage, Stage::Config);
    assert!(failure.message.contains("/no/such/folder"), "{failure:?}");
    let other: ServerId = "native:local:/x/mcp.json#b".parse().unwrap();
    assert_eq!(kind(&rig.pool.settled("c", &other).await), "idle");
}
