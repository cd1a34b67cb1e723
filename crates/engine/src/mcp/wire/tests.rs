use super::super::log::Logs;
use super::*;

fn wire() -> Arc<Wire> {
    Wire::new(Logs::new(Scrubber::default()).of(&"native:local:/h/mcp.json#a".parse().unwrap()))
}

fn error_of(line: &str) -> (i32, String) {
    match incoming(&wire(), line.as_bytes()) {
        Incoming::Pass(message) => match *message {
            JsonRpcMessage::Error(error) => (error.error.code.0, error.error.message.into_owned()),
            other => panic!("{other:?}"),
        },
        _ => panic!("not passed on"),
    }
}

#[test]
fn errors_of_any_shape_are_errors() {
    assert_eq!(error_of(r#"{"id":1,"error":"boom"}"#), (-32603, "boom".into()));
    assert_eq!(error_of(r#"{"id":1,"error":{"code":-5,"message":"no"}}"#), (-5, "no".into()));
    assert_eq!(error_of(r#"{"id":1,"error":{"why":"no"}}"#), (-32603, r#"{"why":"no"}"#.into()));
    assert_eq!(error_of(r#"{"id":1,"error":null}"#), (-32603, "null".into()));
    assert_eq!(error_of(r#"{"id":1,"error":{"code":-5.0,"message":"no \ud83d","data":1e999}}"#), (-5, "no \u{fffd}".into()));
    assert_eq!(error_of(r#"{"id":1,"error":{"code":99999999999999999999,"message":"no"}}"#), (-32603, "no".into()));
    let why = r#"{"code":1,"message":"","data":{"why":"no"}}"#;
    assert_eq!(error_of(&format!(r#"{{"id":1,"error":{why}}}"#)), (1, why.into()));
}

#[test]
fn an_error_that_says_nothing_is_said_by_its_code() {
    let scrubber = Scrubber::default();
    let said = |error: &str| lenient::said(&lenient::error(&RawValue::from_string(error.into()).unwrap(), &scrubber));
    for message in [r#""""#, r#"" \n""#, "null"] {
        assert_eq!(said(&format!(r#"{{"code":-5,"message":{message}}}"#)), "an error without a message (code -5)");
    }
    assert_eq!(said(r#"{"code":1,"data":{}}"#), "an error without a message (code 1)");
    assert_eq!(said("\"\""), "an error without a message (code -32603)");
    assert_eq!(said(r#"{"code":1,"reason":"boom"}"#), r#"{"code":1,"reason":"boom"}"#);
    assert_eq!(said(r#"{"code":1,"message":"boom"}"#), "boom");
}

#[test]
fn row_16_an_error_that_is_cut_leaves_no_part_of_a_secret() {
    let wire = wire();
    wire.log.scrubber().add(["s3cret-token-0123456789"]);
    let line = format!(r#"{{"id":1,"error":"{}s3cret-token-0123456789"}}"#, "m".repeat(lenient::ERROR_BYTES - 10));
    let Incoming::Pass(message) = incoming(&wire, line.as_bytes()) else { panic!("not passed on") };
    let JsonRpcMessage::Error(error) = *message else { panic!("no error") };
    assert_eq!(error.error.message, format!("{}•••", "m".repeat(lenient::ERROR_BYTES - 10)));
}

fn result_of(line: &[u8]) -> String {
    let Incoming::Pass(message) = incoming(&wire(), line) else { panic!("not passed on") };
    let JsonRpcMessage::Response(response) = *message else { panic!("no response") };
    let ServerResult::CustomResult(CustomResult(Value::String(text))) = response.result else { panic!("no text") };
    text
}

#[test]
fn what_is_no_text_costs_its_character_and_not_the_answer() {
    assert_eq!(result_of(b"{\"id\":7,\"result\":{\"a\":\"x\xffy\"}}"), "{\"a\":\"x\u{fffd}y\"}");
    let half = br#"{"id":7,"\ud83d":"\udd80","x":1e999,"result":{"a":"\ud83d\udd80 \ud83d"}}"#;
    assert_eq!(result_of(half), r#"{"a":"\ud83d\udd80 \ufffd"}"#);
}

#[tokio::test]
async fn progress_that_is_partly_understood_is_told() {
    let wire = wire();
    let (to, mut told) = mpsc::channel(4);
    lock(&wire.progress).insert(NumberOrString::Number(3), to);
    let line =
        r#"{"method":"notifications/progress","params":{"progressToken":3,"progress":1e999,"total":2,"message":"half \ud83d"}}"#;
    assert!(matches!(incoming(&wire, line.as_bytes()), Incoming::Handled));
    let progress = Progress { progress: None, total: Some(2.0), message: Some("half \u{fffd}".into()) };
    assert_eq!(told.try_recv(), Ok(progress));
}

#[test]
fn json_that_is_no_protocol_message_is_noise() {
    for line in ["{}", r#"{"level":30,"msg":"hi"}"#, r#"{"id":{},"result":1}"#, r#"{"id":1,"id":1,"result":1}"#, "{oops"] {
        assert!(matches!(incoming(&wire(), line.as_bytes()), Incoming::Noise), "{line}");
    }
}

/// MCP's ids are strings or whole numbers, and JSON knows one kind of number: `1.0` is the request 1 by another spelling.
#[test]
fn ids_are_numbers_by_value() {
    let id = |line: &str| match incoming(&wire(), line.as_bytes()) {
        Incoming::Pass(message) => match *message {
            JsonRpcMessage::Response(response) => Some(response.id),
            other => panic!("{other:?}"),
        },
        _ => None,
    };
    for spelling in ["1", "1.0", "1e0", "10e-1"] {
        assert_eq!(id(&format!("{{\"id\":{spelling},\"result\":{{}}}}")), Some(RequestId::Number(1)), "{spelling}");
    }
    assert_eq!(id(r#"{"id":"1","result":{}}"#), Some(RequestId::String("1".into())));
    assert_eq!(id(r#"{"id":1.5,"result":{}}"#), None);
    let one = RequestId::Number(1);
    let text = |id: &str| RequestId::String(id.into());
    assert!(is_of(&one, &one) && is_of(&one, &text("1")) && is_of(&text("a"), &text("a")));
    assert!(!is_of(&one, &text("2")) && !is_of(&one, &text("a")) && !is_of(&text("1"), &one));
}

/// 2025-03-26: a list of messages on one line.
#[test]
fn messages_may_come_as_a_list() {
    let wire = wire();
    let list = r#"[{"id":1,"result":{}},{"method":"notifications/tools/list_changed"},{"id":2,"error":"no"},{"level":30}]"#;
    let Ok(Some((messages, count))) = read(&wire, list.as_bytes()) else { panic!("not understood") };
    assert_eq!((messages.len(), count, *wire.tools_changed().borrow()), (2, 4, true));
    let long = format!("[{}]", vec!["{\"id\":1,\"result\":{}}"; 1025].join(","));
    for noise in ["[]", "[", "[{]", r#"[{"level":30}]"#, &long] {
        assert!(matches!(read(&wire, noise.as_bytes()), Ok(None)), "{}", cut(noise, 40));
    }
}

#[test]
fn row_31_server_requests_pass_as_nothing_but_a_name() {
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}"#;
    let Incoming::Pass(message) = incoming(&wire(), line.as_bytes()) else { panic!("not passed on") };
    let JsonRpcMessage::Request(request) = *message else { panic!("no request") };
    let ServerRequest::CustomRequest(custom) = request.request else { panic!("no custom request") };
    assert_eq!((custom.method.as_str(), custom.params), ("sampling/createMessage", None));
}

#[test]
fn row_24_requests_that_nobody_reads_the_answers_of_end_the_connection() {
    let wire = wire();
    let ask = || incoming(&wire, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    for _ in 0..limits::UNANSWERED_REQUESTS {
        assert!(matches!(ask(), Incoming::Pass(_)));
    }
    // An answer that was made is not taken yet.
    let answer = JsonRpcMessage::response(rmcp::model::ClientResult::empty(()), RequestId::Number(1));
    assert!(wire.outgoing(&answer).is_ok_and(|out| matches!(out.kind, Kind::Answer)));
    assert!(matches!(ask(), Incoming::End(Ended::Unanswered)));
}

#[test]
fn row_24_an_answer_that_was_taken_makes_room_for_a_request() {
    let wire = wire();
    for _ in 0..3 * limits::UNANSWERED_REQUESTS {
        assert!(matches!(incoming(&wire, br#"{"id":1,"method":"ping"}"#), Incoming::Pass(_)));
        wire.answered();
    }
}

#[test]
fn row_23_a_request_whose_id_is_long_is_none() {
    let ask = |bytes: usize| incoming(&wire(), format!(r#"{{"id":"{}","method":"ping"}}"#, "x".repeat(bytes)).as_bytes());
    assert!(matches!(ask(REQUEST_ID_BYTES), Incoming::Pass(_)));
    assert!(matches!(ask(REQUEST_ID_BYTES + 1), Incoming::Noise));
}

#[test]
fn results_stay_text() {
    assert_eq!(result_of(br#"{"id":7,"result": {"n":1.50}}"#), r#"{"n":1.50}"#);
}

#[test]
fn a_sloppy_handshake_is_understood() {
    let Ok(ServerResult::InitializeResult(result)) =
        initialize_result(r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":null,"x":5},"serverInfo":{"name":7}}"#)
    else {
        panic!("not understood")
    };
    assert_eq!((result.protocol_version.to_string().as_str(), result.server_info.name.as_str()), ("2024-11-05", ""));
    assert!(discover_result(r#"{"supportedVersions":["2026-07-28",4]}"#).is_ok());
}

#[test]
fn what_a_handshake_has_no_use_for_costs_nothing_and_what_it_needs_is_named() {
    let unused =
        r#""instructions":1e999,"_meta":{"a":[1e999]},"capabilities":{"experimental":{"a":1e999},"tools":{"listChanged":true}}"#;
    let read = initialize_result(&format!(
        r#"{{"protocolVersion":"2025-11-25",{unused},"serverInfo":{{"name":"n","version":"1","x":-1e999}}}}"#
    ));
    let Ok(ServerResult::InitializeResult(result)) = read else { panic!("not understood") };
    assert_eq!((result.server_info.name.as_str(), result.server_info.version.as_str()), ("n", "1"));
    assert_eq!(result.capabilities.tools.and_then(|tools| tools.list_changed), Some(true));
    assert!(discover_result(&format!(r#"{{"supportedVersions":["2026-07-28",1e999],{unused}}}"#)).is_ok());
    let wrong = |read: Result<ServerResult, &'static str>| read.unwrap_err();
    assert_eq!(wrong(initialize_result("[]")), "it is not an object");
    for version in ["", r#""protocolVersion":5"#, r#""protocolVersion":null"#] {
        assert_eq!(wrong(initialize_result(&format!("{{{version}}}"))), "its `protocolVersion` is missing or not a string");
    }
    assert_eq!(wrong(discover_result("5")), "it is not an object");
    assert_eq!(wrong(discover_result(r#"{"supportedVersions":"x"}"#)), "its `supportedVersions` is missing or not a list");
}

proptest::proptest! {
    #[test]
    fn nothing_a_server_writes_is_a_panic(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60),
        text in "\\{\"(id|method|result|error|params)\":[\\[\\]{}\":,a-z0-9.]{0,30}\\}",
    ) {
        let wire = wire();
        let _ = incoming(&wire, &bytes);
        let _ = incoming(&wire, text.as_bytes());
        let _ = (initialize_result(&text), discover_result(&text));
    }
}

#[test]
fn row_7_arguments_are_sent_token_by_token() {
    let sent = |arguments: &str| {
        let mut request = rmcp::model::CallToolRequest::new(rmcp::model::CallToolRequestParams::new("t\""));
        request.extensions.insert(ExactArguments(arguments.into()));
        let item = JsonRpcMessage::request(rmcp::model::ClientRequest::CallToolRequest(request), RequestId::Number(3));
        wire().outgoing(&item).map(|out| String::from_utf8(out.bytes).unwrap())
    };
    assert_eq!(
        sent("{ \"n\": 1.50e2,\r\n \"big\": 123456789012345678901234567890 }").unwrap(),
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"t\\\"\",\"arguments\":{ \"n\": \
         1.50e2,   \"big\": 123456789012345678901234567890 }}}"
    );
    for broken in ["{}},{", "{} {}", "{", ""] {
        assert!(sent(broken).is_err(), "{broken}");
    }
}
