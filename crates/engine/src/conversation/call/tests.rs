//! The road through a house of cardboard, on a paused clock: what time does, and what changes under way do.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, json};

use super::*;
use crate::config::{Launch, ServerId, StdioLaunch};
use crate::machine::{Machine, Surroundings};
use crate::mcp::Stage;
use crate::tools::arguments;

struct Cardboard {
    /// What the entry looks like each time it is read; the last one stays.
    digests: Mutex<VecDeque<Result<&'static str, Error>>>,
    /// What is reached each time, and how long that takes; the last one stays.
    reached: Mutex<VecDeque<(Duration, Result<Reached, Failure>)>>,
    /// The workspaces there are to choose from each time the entry is read; the last ones stay.
    folders: Mutex<VecDeque<&'static [&'static str]>>,
    level: Level,
    sticky: bool,
    answer: Answer,
    /// How long a person thinks.
    thinks: Duration,
    /// How long the call runs, and how often it tells progress.
    runs: Duration,
    steps: u32,
    told: Mutex<Vec<String>>,
}

fn tool() -> Tool {
    Tool {
        name: "t".into(),
        title: None,
        description: None,
        input_schema: Map::new(),
        output_schema: None,
        // Row 5: a server's word about itself loosens nothing.
        annotations: json!({ "readOnlyHint": true, "destructiveHint": false }).as_object().cloned(),
        requires_user_interaction: false,
        schema_bytes: 0,
        model_name: "mcp__s__t".into(),
        disabled: false,
        always_asks: false,
        digest: "definition".into(),
    }
}

fn with(change: impl FnOnce(&mut Tool, &mut Reached)) -> Result<Reached, Failure> {
    let mut tool = tool();
    let mut reached = Reached { tools: Arc::default(), fingerprint: "f".into(), place: "/w".into() };
    change(&mut tool, &mut reached);
    reached.tools = Arc::new(ServerTools { tools: vec![tool], ..ServerTools::default() });
    Ok(reached)
}

fn failure() -> Failure {
    Failure {
        stage: Stage::Start,
        message: "It ended with code 1.".into(),
        exit_code: Some(1),
        stderr: vec!["last words".into()],
        stdout_noise: 0,
        stdout_sample: vec![],
    }
}

fn house() -> Cardboard {
    Cardboard {
        digests: Mutex::new([Ok("d")].into()),
        reached: Mutex::new([(Duration::ZERO, with(|_, _| ()))].into()),
        folders: Mutex::new([&[] as &[&str]].into()),
        level: Level::Manual,
        sticky: false,
        answer: yes(None),
        thinks: Duration::ZERO,
        runs: Duration::from_millis(5),
        steps: 0,
        told: Mutex::default(),
    }
}

fn yes(edited: Option<&str>) -> Answer {
    Answer::Allow { by: "a person".into(), edited: edited.map(|text| arguments::parse(text).unwrap()) }
}

fn cleared(digest: &str, folders: &[&str]) -> Cleared {
    let surroundings = Surroundings { home: "/h".into(), data: "/d".into(), environment: Default::default(), supervisor: vec![] };
    let id: ServerId = "native:local:/h/.mework/mcp.json#s".parse().unwrap();
    let server = Server {
        id,
        machine: Machine::local(surroundings),
        launch: Launch::Stdio(StdioLaunch::default()),
        call_timeout: Duration::from_secs(45),
        description: None,
        hidden_tools: vec![],
        always_ask: vec![],
        notes: vec![],
        digest: digest.into(),
        connection_digest: String::new(),
        canonical: String::new(),
    };
    Cleared { server, folder: "/w".into(), instance: None, choice: folders.iter().map(PathBuf::from).collect() }
}

fn next<T: Clone>(queue: &Mutex<VecDeque<T>>) -> T {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    if queue.len() > 1 { queue.pop_front().unwrap() } else { queue[0].clone() }
}

impl Cardboard {
    fn tell(&self, what: impl Into<String>) {
        self.told.lock().unwrap().push(what.into());
    }
    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

impl House for Cardboard {
    fn clear(&self) -> BoxFuture<'_, Result<Cleared, Error>> {
        let (digest, folders) = (next(&self.digests), next(&self.folders));
        Box::pin(async move { digest.map(|digest| cleared(digest, folders)) })
    }
    fn reach<'a>(&'a self, cleared: &'a Cleared) -> BoxFuture<'a, Result<Reached, Failure>> {
        Box::pin(async {
            let (takes, reached) = next(&self.reached);
            tokio::time::sleep(takes).await;
            let mut reached = reached?;
            // As an expanded entry's does, for the folder it starts in.
            if let Some(instance) = &cleared.instance {
                reached.fingerprint += &format!(" in {}", instance.display());
            }
            Ok(reached)
        })
    }
    fn level<'a>(&'a self, _: &'a Tool) -> BoxFuture<'a, Result<(Level, bool), Error>> {
        Box::pin(async { Ok((self.level, self.sticky)) })
    }
    fn ask<'a>(&'a self, card: Card, shown: BoxFuture<'a, ()>) -> BoxFuture<'a, Result<Answer, Error>> {
        Box::pin(async move {
            self.tell(format!("card {:?}", card.why));
            shown.await;
            tokio::time::sleep(self.thinks).await;
            Ok(self.answer.clone())
        })
    }
    fn call<'a>(
        &'a self,
        cleared: &'a Cleared,
        tool: &'a str,
        arguments: &'a Arguments,
        progress: mpsc::Sender<Progress>,
    ) -> BoxFuture<'a, Result<CallResult, CallError>> {
        Box::pin(async move {
            let place = cleared.instance.as_ref().map(|folder| format!(" in {}", folder.display())).unwrap_or_default();
            self.tell(format!("call {tool} {}{place}", arguments.text()));
            for step in 0..self.steps {
                tokio::time::sleep(self.runs / (self.steps + 1)).await;
                let told = Progress { progress: Some(f64::from(step)), total: None, message: None };
                let _ = progress.try_send(told);
            }
            tokio::time::sleep(self.runs / (self.steps + 1)).await;
            Ok(CallResult { is_error: false, content: vec![], structured: None, bytes: 2, for_model: String::new() })
        })
    }
    fn state<'a>(&'a self, entry: &'a CallEntry) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let state = serde_json::to_value(&entry.state).unwrap();
            self.tell(state["kind"].as_str().unwrap());
        })
    }
    fn progress(&self, entry: &CallEntry) {
        let CallState::Running { progress: Some(progress) } = &entry.state else { panic!("{:?}", entry.state) };
        self.tell(format!("progress {}", progress.progress.unwrap()));
    }
}

const ASKED: &str = "{ \"a\": 1 }";

async fn send(house: &Cardboard) -> CallState {
    sent(house).await.0
}

/// The last state, and the entry as it is recorded.
async fn sent(house: &Cardboard) -> (CallState, CallEntry) {
    let call = Call { conversation: Some("c".into()), id: "e".into(), arguments: arguments::parse(ASKED).unwrap() };
    let cleared = cleared("d", next(&house.folders));
    let mut entry = call.entry(&cleared, "t");
    let state = travel(house, &call, cleared, &mut entry).await;
    (state, entry)
}

fn reason(state: CallState) -> String {
    match state {
        CallState::NotRun { reason } => reason,
        other => panic!("it ran: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn b34_the_road_from_card_to_result() {
    let house = house();
    let CallState::Done(outcome) = send(&house).await else { panic!() };
    assert_eq!(outcome.elapsed_ms, 5);
    assert_eq!(house.told(), ["card Level", "waiting", "running", "call t { \"a\": 1 }"]);
}

/// Time a person takes never counts as the call's.
#[tokio::test(start_paused = true)]
async fn the_calls_clock_stops_while_a_person_is_asked() {
    let house = Cardboard { thinks: Duration::from_secs(3600), ..house() };
    let CallState::Done(outcome) = send(&house).await else { panic!() };
    assert_eq!(outcome.elapsed_ms, 5);
}

/// B35: a yes lapses 90 s after it was given if the call did not start; here the server takes that long to come back.
#[tokio::test(start_paused = true)]
async fn b35_a_yes_lapses_when_the_server_takes_too_long_to_come_back() {
    for (takes, runs) in [(90, true), (91, false)] {
        let reached = [(Duration::ZERO, with(|_, _| ())), (Duration::from_secs(takes), with(|_, _| ()))];
        let house = Cardboard { reached: Mutex::new(reached.into()), ..house() };
        let state = send(&house).await;
        assert_eq!(matches!(state, CallState::Done(_)), runs, "{takes} s: {state:?}");
        if !runs {
            assert!(reason(state).contains("90 seconds"));
            assert_eq!(house.told(), ["card Level", "waiting"], "nothing was sent");
        }
    }
}

/// B35, rows 1, 6, 7: whatever is different when the yes comes voids it, whether or not the arguments were edited.
#[tokio::test(start_paused = true)]
async fn b35_what_changed_while_the_card_waited_voids_the_yes() {
    for answer in [yes(None), yes(Some("{}"))] {
        what_changed_voids(answer).await;
    }
}

async fn what_changed_voids(answer: Answer) {
    let house = || Cardboard { answer: answer.clone(), ..house() };
    type Change = fn(&mut Tool, &mut Reached);
    let changes: [(Change, &str); 4] = [
        (|_, reached| reached.fingerprint = "other".into(), "another call"),
        (|tool, _| tool.digest = "other".into(), "another call"),
        (|tool, _| tool.disabled = true, "disabledTools"),
        (|tool, _| tool.name = "renamed".into(), "no tool named"),
    ];
    for (change, words) in changes {
        let reached = [(Duration::ZERO, with(|_, _| ())), (Duration::ZERO, with(change))];
        let house = Cardboard { reached: Mutex::new(reached.into()), ..house() };
        let (state, entry) = sent(&house).await;
        let reason = reason(state);
        assert!(reason.contains(words), "{reason}");
        assert_eq!(house.told(), ["card Level", "waiting"]);
        // What was edited is not lost.
        let edited = matches!(answer, Answer::Allow { edited: Some(_), .. });
        let kept = if edited { ("{}", Some(ASKED)) } else { (ASKED, None) };
        assert_eq!((entry.arguments.as_str(), entry.arguments_before.as_deref()), kept);
        assert_eq!(entry.approval, None);
    }
    // The entry on disk: agreed to again, but another one; or gone.
    let house = Cardboard { digests: Mutex::new([Ok("other")].into()), answer: answer.clone(), ..self::house() };
    assert!(reason(send(&house).await).contains("another call"));
    let digests = Mutex::new([Err(Error::failed("s is dangling."))].into());
    let house = Cardboard { digests, answer: answer.clone(), ..self::house() };
    assert_eq!(reason(send(&house).await), "s is dangling.");
    let reached = [(Duration::ZERO, with(|_, _| ())), (Duration::ZERO, Err(failure()))];
    let house = Cardboard { reached: Mutex::new(reached.into()), answer: answer.clone(), ..self::house() };
    let state = send(&house).await;
    assert_eq!(
        state,
        CallState::Failed { message: "It ended with code 1.".into(), stderr: vec!["last words".into()], elapsed_ms: None }
    );
}

#[tokio::test(start_paused = true)]
async fn b34_a_no_ends_the_road() {
    let house = Cardboard { answer: Answer::Deny { reason: Some("no".into()) }, ..house() };
    let (state, entry) = sent(&house).await;
    assert_eq!(state, CallState::Denied { reason: Some("no".into()) });
    assert_eq!((entry.arguments.as_str(), entry.arguments_before), (ASKED, None));
    assert_eq!(house.told(), ["card Level", "waiting"]);
}

/// B33, B36, row 6: what asks at Full access, by which reason.
#[tokio::test(start_paused = true)]
async fn b36_what_asks_at_full_access() {
    type Change = fn(&mut Tool, &mut Reached);
    let server: Change = |tool, _| (tool.requires_user_interaction, tool.always_asks) = (true, true);
    let entry: Change = |tool, _| tool.always_asks = true;
    let nothing: Change = |_, _| ();
    for (change, sticky, asks) in [
        (nothing, false, None),
        (server, false, Some("ServerRequires")),
        (entry, false, Some("EntryRequires")),
        (nothing, true, Some("ServerRequires")),
    ] {
        let reached = [(Duration::ZERO, with(change))];
        let house = Cardboard { reached: Mutex::new(reached.into()), level: Level::FullAccess, sticky, ..house() };
        assert!(matches!(send(&house).await, CallState::Done(_)));
        let expected = match asks {
            None => vec!["running".to_owned(), "call t { \"a\": 1 }".into()],
            Some(why) => vec![format!("card {why}"), "waiting".into(), "running".into(), "call t { \"a\": 1 }".into()],
        };
        assert_eq!(house.told(), expected);
    }
}

/// Progress is told at most five times a second, the newest of what came.
#[tokio::test(start_paused = true)]
async fn progress_is_told_but_not_too_often() {
    let house = Cardboard { level: Level::FullAccess, runs: Duration::from_millis(1000), steps: 99, ..house() };
    assert!(matches!(send(&house).await, CallState::Done(_)));
    let told: Vec<String> = house.told().into_iter().filter(|what| what.starts_with("progress")).collect();
    assert_eq!(told, ["progress 0", "progress 20", "progress 40", "progress 60", "progress 80"]);
}

/// B35, row 7: what a person made of the arguments is what is sent, to the byte, and the record holds both.
#[tokio::test(start_paused = true)]
async fn b35_edited_arguments_are_sent_and_both_are_recorded() {
    let edited = "{\"a\":  2.50,\n\"b\": \"\u{202e}\"}";
    let house = Cardboard { answer: yes(Some(edited)), ..house() };
    let (state, entry) = sent(&house).await;
    assert!(matches!(state, CallState::Done(_)), "{state:?}");
    assert_eq!(house.told(), ["card Level", "waiting", "running", &format!("call t {edited}")]);
    assert_eq!((entry.arguments.as_str(), entry.arguments_before.as_deref()), (edited, Some(ASKED)));
    let approval = entry.approval.unwrap();
    assert_eq!((approval.by.as_str(), approval.arguments_digest), ("a person", sha256(edited.as_bytes())));
    let edit = approval.edit.unwrap();
    assert_eq!((edit.by.as_str(), edit.digest_before), ("a person", sha256(ASKED.as_bytes())));
}

/// Arguments that come back as they went were not edited.
#[tokio::test(start_paused = true)]
async fn b35_the_same_bytes_are_no_edit() {
    let house = Cardboard { answer: yes(Some(ASKED)), ..house() };
    let (state, entry) = sent(&house).await;
    assert!(matches!(state, CallState::Done(_)), "{state:?}");
    assert_eq!((entry.arguments.as_str(), entry.arguments_before, entry.approval.unwrap().edit), (ASKED, None, None));
}

/// B28, B35: the workspace is taken from what was edited; the instance there must have the tool that the card showed, and a
/// number must mean the folder that it meant then.
#[tokio::test(start_paused = true)]
async fn b28_an_edited_workspace_is_another_instance() {
    const FOLDERS: &[&str] = &["/a", "/b", "/c"];
    let house = |edited| Cardboard { folders: Mutex::new([FOLDERS].into()), answer: yes(edited), ..house() };
    for (edited, call) in [
        (None, "call t { \"a\": 1 } in /a"),
        (Some(r#"{"workspace": 3, "b": 1e2}"#), "call t {\"b\":1e2} in /c"),
        (Some(r#"{"workspace": 1}"#), "call t {} in /a"),
    ] {
        let house = house(edited);
        assert!(matches!(send(&house).await, CallState::Done(_)), "{edited:?}");
        assert_eq!(house.told().last().unwrap(), call);
    }
    let bad = house(Some(r#"{"workspace": 4}"#));
    assert_eq!(reason(send(&bad).await), "`workspace` must be one of these numbers: 1, 2, 3.");

    let second = Some(r#"{"workspace": 2}"#);
    // The instance there has another tool by that name.
    let reached = [with(|_, _| ()), with(|_, _| ()), with(|tool, _| tool.digest = "other".into())];
    let reached = Mutex::new(reached.map(|reached| (Duration::ZERO, reached)).into());
    let other = Cardboard { reached, ..house(second) };
    assert!(reason(send(&other).await).contains("another call"));
    // The workspaces of the conversation changed.
    for later in [&["/a", "/c"] as &[&str], &["/b", "/a"]] {
        let moved = Cardboard { folders: Mutex::new([FOLDERS, later].into()), ..house(second) };
        assert!(reason(send(&moved).await).contains("another call"), "{later:?}");
        assert_eq!(moved.told(), ["card Level", "waiting"]);
    }
    // With one left there is nothing to choose: the parameter is the server's own, if it has one.
    let one = Cardboard { folders: Mutex::new([FOLDERS, &["/a"] as &[&str]].into()), ..house(second) };
    assert!(reason(send(&one).await).contains("another call"));
}
