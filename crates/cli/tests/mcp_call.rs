//! `mework mcp call` on the sample server: arguments, results, the card at a terminal, what `--yes` may answer.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use harness::{Home, Ran, Typist, gone, sample};
use serde_json::{Value, json};

/// A home whose sample server somebody agreed to.
fn agreed(mark: &str) -> Home {
    let home = Home::new();
    let mut entry = sample(mark);
    entry["disabledTools"] = json!(["current_time"]);
    entry["disabledAutoApproveTools"] = json!(["big_result"]);
    home.global(json!({ "sample": entry }));
    assert_eq!(home.run(&["mcp", "test", "sample", "--yes"]).code, 0);
    home
}

fn untimed(mut document: Value) -> Value {
    assert!(document["elapsed_ms"].is_u64(), "{document}");
    document["elapsed_ms"] = 0.into();
    document
}

#[test]
fn arguments_are_read_by_the_schema_or_given_whole() {
    let home = agreed("call-arguments");
    let ran = home.run(&["mcp", "call", "sample", "add", "a=2", "b=40", "--yes"]);
    assert_eq!(ran, Ran { code: 0, out: "42\n{\n  \"sum\": 42\n}\n".into(), err: String::new() });
    // The same characters as a string, because the schema says so.
    assert_eq!(home.run(&["mcp", "call", "sample", "echo", "message=42", "times=2", "--yes"]).out, "42\n42\n");
    assert_eq!(home.run(&["mcp", "call", "sample", "echo", "--yes", "--args", r#"{"message": "a\u001bb"}"#]).out, "a⟨U+001B⟩b\n");
    let ran = home.run(&["mcp", "call", "sample", "add", "a=2", "b=4", "-o", "json", "--yes"]);
    assert_eq!(
        (ran.code, untimed(ran.json())),
        (
            0,
            json!({ "ok": true, "is_error": false, "content": [{ "type": "text", "text": "6" }], "structured": { "sum": 6 },
                "bytes": 86, "elapsed_ms": 0 })
        )
    );
    gone("call-arguments");
}

#[test]
fn wrong_arguments_reach_no_server() {
    let home = agreed("call-wrong");
    for (code, args, message) in [
        (2, vec!["echo", "message"], "\"message\" is not key=value."),
        (2, vec!["echo", "--args", "[1]"], "--args must be a JSON object,"),
        (2, vec!["echo", "--args", "{"], "--args is not JSON: "),
        (2, vec!["echo", "--args", r#"{"a":1e999}"#], "--args cannot be used. A number in the arguments is greater than 1.79"),
        (
            2,
            vec!["echo", "--args", r#"{"a":"\ud83d"}"#],
            "--args cannot be used. A string in the arguments holds half a surrogate",
        ),
        (2, vec!["echo", "a=1", "--args", "{}"], "error: the argument '[KEY=VALUE]...' cannot be used with"),
        (1, vec!["add", "a=two", "b=1"], "`a` must be a number, and \"two\" is not."),
    ] {
        let ran = home.run(&[&["mcp", "call", "sample", "--yes"], args.as_slice()].concat());
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}");
        assert!(ran.err.starts_with(message), "{args:?}: {}", ran.err);
    }
    let unknown = home.run(&["mcp", "call", "sample", "no_such_tool", "--yes"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    assert!(unknown.err.contains("no_such_tool"), "{}", unknown.err);
    let hidden = home.run(&["mcp", "call", "sample", "current_time", "--yes"]);
    assert_eq!((hidden.code, hidden.out.as_str()), (1, ""));
    assert!(hidden.err.contains("disabledTools"), "{}", hidden.err);
}

#[test]
fn without_a_terminal_only_yes_answers_and_never_for_a_tool_that_always_asks() {
    let home = agreed("call-asks");
    let document = |args: &[&str]| {
        let ran = home.run(&[&["mcp", "call", "sample", "-o", "json"], args].concat());
        assert_eq!(ran.code, 1, "{ran:?}");
        let document = ran.json();
        assert_eq!((&document["ok"], &document["is_error"], &document["content"]), (&json!(false), &json!(false), &json!([])));
        assert_eq!(ran.err, document["error"].as_str().unwrap().to_owned() + "\n");
        document["error"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        document(&["add", "a=1", "b=1"]),
        "Not called. There is no terminal to ask at. Pass --yes to allow the call beforehand."
    );
    let person = "There is no terminal to ask at, and --yes does not answer for this tool: ";
    assert_eq!(
        document(&["always_asks", "--yes"]),
        format!("Not called. {person}its server marks it as needing a person every time.")
    );
    assert_eq!(
        document(&["big_result", "--yes"]),
        format!("Not called. {person}the file lists it under disabledAutoApproveTools.")
    );
}

/// A server that gives these results, byte by byte as they stand here.
fn giving(home: &Home, initialize: &str, list: &str, call: &str) -> Value {
    let script = r#"while read -r line; do
id=${line##*\"id\":}; id=${id%%[,\}]*}
case $line in
*'"initialize"'*) result='INITIALIZE' ;;
*'"tools/list"'*) result='LIST' ;;
*'"tools/call"'*) result='CALL' ;;
*) continue ;;
esac
printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
    let script = script.replace("INITIALIZE", initialize).replace("LIST", list).replace("CALL", call);
    json!({ "command": "sh", "args": [home.write("giving.sh", &script)] })
}

/// A server whose one tool fails, with content and structured content.
fn failing(home: &Home) -> Value {
    giving(
        home,
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"failing","version":"1"}}"#,
        r#"{"tools":[{"name":"fail","inputSchema":{"type":"object"}}]}"#,
        r#"{"content":[{"type":"text","text":"no such city"}],"structuredContent":{"code":7},"isError":true}"#,
    )
}

/// Numbers that no program's own kind of number holds are printed as the server wrote them.
#[test]
fn a_result_keeps_every_digit() {
    let home = Home::new();
    let structured = r#"{"id":1234567890123456789012345,"rate":1.10,"all":1e999,"id":[-0.0]}"#;
    let call = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent": {structured} }}"#);
    let entry = |text: &str| {
        giving(
            &home,
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"exact","version":"1"}}"#,
            r#"{"tools":[{"name":"exact","inputSchema":{"type":"object"}}]}"#,
            &call(text),
        )
    };
    home.global(json!({ "exact": entry("here it is") }));
    assert_eq!(home.run(&["mcp", "test", "exact", "--yes"]).code, 0);
    let tree = "{\n  \"id\": 1234567890123456789012345,\n  \"rate\": 1.10,\n  \"all\": 1e999,\n  \"id\": [\n    -0.0\n  ]\n}";
    let call = ["mcp", "call", "exact", "exact", "--yes"];
    assert_eq!(home.run(&call).out, format!("here it is\n{tree}\n"));
    let ran = home.run(&[call.as_slice(), &["-o", "json"]].concat());
    let indented = tree.replace('\n', "\n  ");
    assert!(ran.out.contains(&format!(",\n  \"structured\": {indented},\n  \"bytes\": ")), "{}", ran.out);
    // A text that says the same is not said twice; one that differs in a digit is.
    let same = structured.replace('"', r#"\""#).replace(',', ", ");
    home.global(json!({ "exact": entry(&same) }));
    assert_eq!(home.run(&call).out, format!("{}\n", structured.replace(',', ", ")));
    // How a number or a string is written says nothing.
    let other_way = same.replace("1.10", "11E-1").replace("[-0.0]", "[0]").replace("rate", r"\\u0072ate");
    home.global(json!({ "exact": entry(&other_way) }));
    assert_eq!(home.run(&call).out, format!("{}\n", other_way.replace(r#"\""#, "\"").replace(r"\\", r"\")));
    home.global(json!({ "exact": entry(&same.replace("345,", "346,")) }));
    assert_eq!(home.run(&call).out, format!("{}\n{tree}\n", structured.replace("345,", "346,").replace(',', ", ")));
}

/// cli.md: `isError` is a failed call, and its result is printed all the same.
#[test]
fn a_failed_call_is_exit_code_1_with_its_result() {
    let home = Home::new();
    home.global(json!({ "failing": failing(&home) }));
    assert_eq!(home.run(&["mcp", "test", "failing", "--yes"]).code, 0);
    let call = ["mcp", "call", "failing", "fail", "--yes"];
    let ran = home.run(&call);
    assert_eq!(
        ran,
        Ran { code: 1, out: "no such city\n{\n  \"code\": 7\n}\n".into(), err: "The tool answered that it failed.\n".into() }
    );
    let ran = home.run(&[call.as_slice(), &["-o", "json"]].concat());
    let result =
        json!({ "content": [{ "type": "text", "text": "no such city" }], "structuredContent": { "code": 7 }, "isError": true });
    assert_eq!(
        (ran.code, untimed(ran.json())),
        (
            1,
            json!({ "ok": false, "is_error": true, "content": [{ "type": "text", "text": "no such city" }],
                "structured": { "code": 7 }, "bytes": result.to_string().len(), "elapsed_ms": 0,
                "error": "The tool answered that it failed." })
        )
    );
}

/// What no text and no number holds costs itself; what stands around it is used.
#[test]
fn half_a_surrogate_pair_is_one_mark_wherever_it_stands() {
    let home = Home::new();
    let entry = giving(
        &home,
        r#"{"protocolVersion":"2025-11-25","instructions":"\ud83d","capabilities":{"x":1e999},"serverInfo":{"name":"half \ud83d","version":"1"}}"#,
        r#"{"tools":[{"name":"half","description":"cut \ud83d","inputSchema":{}}],"x":1e999}"#,
        r#"{"content":[{"type":"text","text":"cut \ud83d, whole \ud83e\udd80"}],"structuredContent":{"\udd80":"\\ud83d"},"_meta":{"x":1e999}}"#,
    );
    home.global(json!({ "half": entry }));
    let tested = home.run(&["mcp", "test", "half", "--yes", "-o", "json"]).json();
    let server = &tested["servers"][0];
    assert_eq!(
        (&server["server"]["name"], &server["tools"][0]["description"]),
        (&json!("half \u{fffd}"), &json!("cut \u{fffd}"))
    );
    let called = home.run(&["mcp", "call", "half", "half", "--yes", "-o", "json"]).json();
    assert_eq!(called["content"], json!([{ "type": "text", "text": "cut \u{fffd}, whole \u{1f980}" }]));
    assert_eq!(called["structured"], json!({ "\u{fffd}": "\\ud83d" }));
}

#[test]
fn progress_goes_to_stderr_and_the_result_to_stdout() {
    let home = agreed("call-progress");
    let ran = home.run(&["mcp", "call", "sample", "slow", "seconds=0.3", "steps=2", "--yes"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done: 2 of 2 steps in 0.3 s.\n"));
    assert!(ran.err.contains("1 of 2: Step 1 of 2\n"), "{}", ran.err);
}

#[test]
fn b27_ctrl_c_cancels_the_call_and_leaves_nothing() {
    let home = agreed("call-cancel");
    let mut process = home
        .command(&["mcp", "call", "sample", "slow", "seconds=200", "steps=100", "--yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "1 of 100: Step 1 of 100\n");
    assert!(std::process::Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!((process.wait().unwrap().code(), rest.lines().last()), (Some(1), Some("Stopped.")));
    gone("call-cancel");
}

#[test]
fn b34_the_card_at_a_terminal_shows_all_and_takes_only_a_yes() {
    let home = agreed("call-card");
    let args = ["mcp", "call", "sample", "echo", "--args", "{\"message\":\"a\u{202e}b\"}"];
    let mut typist = Typist::start(&home, &args);
    typist.sees("A call waits for you. Risk: high");
    typist.sees("  server     sample on This computer\r\n");
    typist.sees("  folder     ~\r\n");
    typist.sees("  tool       ");
    typist.sees("  title      Echo (the server's words)\r\n");
    typist.sees("  says       Gives back the message it was sent.");
    typist.sees("  arguments, as they would be sent:\r\n    {\r\n      \"message\": \"a⟨U+202E⟩b\"\r\n    }\r\n");
    typist.sees("Allow this call once? [y/N, e edits it] ");
    typist.types("y");
    let ran = typist.ends();
    assert_eq!((ran.code, ran.out.as_str()), (0, "a⟨U+202E⟩b\n"));
    assert!(!ran.err.contains("lways allow"), "{}", ran.err);

    for no in ["", " ", "n", "sure"] {
        let mut typist = Typist::start(&home, &args);
        typist.sees("Allow this call once? [y/N, e edits it] ");
        typist.types(no);
        let ran = typist.ends();
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{no:?}");
        assert!(ran.err.ends_with("Not called: you did not allow it.\n"), "{}", ran.err);
    }
}

/// B35: what is edited is shown again, and that is what is sent.
#[test]
fn b35_arguments_are_edited_at_the_terminal() {
    let home = agreed("call-edit");
    let mut typist = Typist::start(&home, &["mcp", "call", "sample", "echo", "message=asked"]);
    typist.sees("Allow this call once? [y/N, e edits it] ");
    for (typed, answer) in [("[1]", "The arguments must be a JSON object"), ("{", "not valid JSON"), ("", "Nothing was changed.")]
    {
        typist.types("e");
        typist.sees("  its arguments, as JSON in one line: ");
        typist.types(typed);
        typist.sees(answer);
        typist.sees("Allow this call once? [y/N, e edits it] ");
    }
    typist.types("e");
    typist.sees("  its arguments, as JSON in one line: ");
    typist.types("{\"message\": \"edited\"}");
    typist.sees("  arguments, as they would be sent:\r\n    {\"message\": \"edited\"}\r\n");
    typist.sees("Allow this call once? [y/N, e edits it] ");
    typist.types("y");
    let ran = typist.ends();
    assert_eq!((ran.code, ran.out.as_str()), (0, "edited\n"));
}

#[test]
fn b36_a_tool_that_always_asks_asks_with_yes_too() {
    let home = agreed("call-always");
    let mut typist = Typist::start(&home, &["mcp", "call", "sample", "always_asks", "action=tidy up", "--yes"]);
    typist.sees("  asks       always: its server marks it as needing a person every time\r\n");
    typist.sees("Allow this call once? [y/N, e edits it] ");
    typist.types("y");
    let ran = typist.ends();
    assert_eq!((ran.code, ran.out.as_str()), (0, "A person allowed this call. Pretended to do: tidy up.\n"));
}

#[test]
fn b26_a_result_over_the_limit_is_refused_with_its_size() {
    let home = agreed("call-big");
    let mut typist = Typist::start(&home, &["mcp", "call", "sample", "big_result", "bytes=70000"]);
    typist.sees("  asks       always: the file lists it under disabledAutoApproveTools\r\n");
    typist.sees("Allow this call once? [y/N, e edits it] ");
    typist.types("yes");
    let ran = typist.ends();
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("64 KiB"), "{}", ran.err);
}

/// What was typed before the question was there is no answer to it.
#[test]
fn b34_typing_ahead_allows_nothing() {
    let home = agreed("call-ahead");
    let mut typist = Typist::start(&home, &["mcp", "call", "sample", "add", "a=1", "b=1"]);
    typist.types("y");
    typist.sees("Allow this call once? [y/N, e edits it] ");
    typist.types("n");
    let ran = typist.ends();
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
}

#[test]
fn a_call_without_consent_asks_for_the_start_first() {
    let home = Home::new();
    home.global(json!({ "sample": sample("call-first") }));
    let ran = home.run(&["mcp", "call", "sample", "add", "a=1", "b=1"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("sample was not started: nobody has agreed to it yet"), "{}", ran.err);
    let mut typist = Typist::both(&home, &["mcp", "call", "sample", "add", "a=1", "b=1"]);
    typist.sees("Start sample? [y/N] ");
    typist.types("y");
    typist.sees("Allow this call once? [y/N, e edits it] ");
    typist.types("y");
    typist.sees("2\r\n");
    assert_eq!(typist.ends().code, 0);
}
