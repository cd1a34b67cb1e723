//! `mework sample-server`: a real MCP server on stdin and stdout, so that the first five minutes with Mework need no
//! network and no installed runtime. Its tools cover what a client has to get right: structured results, progress,
//! cancellation, a result over the limit, a tool that always asks.
//!
//! It is an ordinary server: it knows nothing of the engine, and the engine treats it like any other.

use std::borrow::Cow;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData, Implementation, ListToolsResult,
    MetaObject, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::stdio_pipes;
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Map, Value, json};

/// Longest a `slow` call may take.
const SLOW_SECONDS_MAX: f64 = 300.0;
const SLOW_STEPS_MAX: u64 = 100;
/// Largest text `big_result` makes.
const BIG_RESULT_BYTES_MAX: u64 = 8 * 1024 * 1024;
const OFFSET_MINUTES_MAX: i64 = 14 * 60;

/// Serves until stdin ends.
pub fn run() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("The sample server could not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(async {
        let service = SampleServer { tools: tools() }.serve(stdio_pipes()).await.map_err(|e| e.to_string())?;
        service.waiting().await.map_err(|e| e.to_string())
    });
    // A read of a terminal's stdin cannot be cancelled; waiting for it would keep the process alive.
    runtime.shutdown_background();
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "The sample server speaks MCP on stdin and stdout; it is started by an MCP client, for example Mework itself.\n{error}"
            );
            ExitCode::FAILURE
        }
    }
}

struct SampleServer {
    tools: Vec<Tool>,
}

impl ServerHandler for SampleServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mework-sample", env!("CARGO_PKG_VERSION")).with_title("Mework sample server"))
    }

    fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(ListToolsResult::with_all_items(self.tools.clone())))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Arguments(request.arguments.unwrap_or_default());
        let result = match request.name.as_ref() {
            "echo" => echo(&arguments),
            "add" => add(&arguments),
            "current_time" => current_time(&arguments, SystemTime::now()),
            "slow" => slow(&arguments, &context).await,
            "big_result" => big_result(&arguments),
            "always_asks" => always_asks(&arguments),
            other => {
                return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, format!("There is no tool {other:?}."), None));
            }
        };
        // A wrong argument is the caller's to read and mend, so it is a failed call and no protocol error.
        Ok(result.unwrap_or_else(|problem| CallToolResult::error(vec![ContentBlock::text(problem)])).into())
    }
}

fn tools() -> Vec<Tool> {
    let object = |schema: Value| -> Arc<Map<String, Value>> {
        match schema {
            Value::Object(map) => Arc::new(map),
            _ => Arc::default(),
        }
    };
    let quiet = || ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    vec![
        Tool::new(
            "echo",
            "Gives back the message it was sent. The quickest way to see that calls and results work.",
            object(json!({
                "type": "object",
                "properties": {
                    "message": { "type": "string", "description": "What to give back." },
                    "style": {
                        "type": "string", "enum": ["as_is", "upper_case", "lower_case", "reversed"], "default": "as_is",
                        "description": "How to write it."
                    },
                    "times": { "type": "integer", "minimum": 1, "maximum": 10, "default": 1, "description": "How many times." }
                },
                "required": ["message"],
                "additionalProperties": false
            })),
        )
        .with_title("Echo")
        .with_annotations(quiet()),
        Tool::new(
            "add",
            "Adds two numbers. The sum comes as text and as structured content.",
            object(json!({
                "type": "object",
                "properties": {
                    "a": { "type": "number", "description": "The first number." },
                    "b": { "type": "number", "description": "The second number." }
                },
                "required": ["a", "b"],
                "additionalProperties": false
            })),
        )
        .with_title("Add two numbers")
        .with_raw_output_schema(object(json!({
            "type": "object",
            "properties": { "sum": { "type": "number" } },
            "required": ["sum"]
        })))
        .with_annotations(quiet()),
        Tool::new(
            "current_time",
            "Tells the time of this computer's clock, at an offset from UTC.",
            object(json!({
                "type": "object",
                "properties": {
                    "format": {
                        "type": "string", "enum": ["rfc3339", "unix"], "default": "rfc3339",
                        "description": "How the text is written: 2026-01-31T12:00:00Z, or seconds since 1970."
                    },
                    "utc_offset_minutes": {
                        "type": "integer", "minimum": -OFFSET_MINUTES_MAX, "maximum": OFFSET_MINUTES_MAX, "default": 0,
                        "description": "Minutes east of UTC, for example 330 for India."
                    }
                },
                "additionalProperties": false
            })),
        )
        .with_title("Current time")
        .with_raw_output_schema(object(json!({
            "type": "object",
            "properties": {
                "rfc3339": { "type": "string" },
                "unix": { "type": "integer" },
                "weekday": { "type": "string" }
            },
            "required": ["rfc3339", "unix", "weekday"]
        })))
        .with_annotations(ToolAnnotations::new().read_only(true).open_world(false)),
        Tool::new(
            "slow",
            "Takes its time and reports progress at every step. Stop it to see a cancellation.",
            object(json!({
                "type": "object",
                "properties": {
                    "seconds": {
                        "type": "number", "minimum": 0, "maximum": SLOW_SECONDS_MAX, "default": 5,
                        "description": "How long it takes altogether."
                    },
                    "steps": {
                        "type": "integer", "minimum": 1, "maximum": SLOW_STEPS_MAX, "default": 5,
                        "description": "How many progress messages it sends."
                    }
                },
                "additionalProperties": false
            })),
        )
        .with_title("Slow, with progress")
        .with_annotations(quiet()),
        Tool::new(
            "big_result",
            "Answers with a text of the size asked for. Results over 64 KiB are refused by Mework, with their size.",
            object(json!({
                "type": "object",
                "properties": {
                    "bytes": {
                        "type": "integer", "minimum": 0, "maximum": BIG_RESULT_BYTES_MAX, "default": 100_000,
                        "description": "Length of the text."
                    }
                },
                "additionalProperties": false
            })),
        )
        .with_title("Big result")
        .with_annotations(quiet()),
        Tool::new(
            "always_asks",
            "Does nothing but say so. It is marked as needing a person, so Mework asks before every call, at every security level.",
            object(json!({
                "type": "object",
                "properties": {
                    "action": {
                        "type": "string", "default": "nothing at all",
                        "description": "What to pretend to do."
                    }
                },
                "additionalProperties": false
            })),
        )
        .with_title("Always asks")
        .with_annotations(ToolAnnotations::new().read_only(false).destructive(false).open_world(false))
        .with_meta(MetaObject(Map::from_iter([("anthropic/requiresUserInteraction".to_string(), Value::Bool(true))]))),
    ]
}

/// The arguments of one call; each reader says in words what is wrong with one.
struct Arguments(Map<String, Value>);

type Answer = Result<CallToolResult, Cow<'static, str>>;

impl Arguments {
    fn text(&self, name: &str, default: Option<&'static str>) -> Result<&str, Cow<'static, str>> {
        match (self.0.get(name), default) {
            (Some(Value::String(text)), _) => Ok(text),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(format!("`{name}` is missing.").into()),
            (Some(_), _) => Err(format!("`{name}` must be a string.").into()),
        }
    }
    fn number(&self, name: &str) -> Result<&serde_json::Number, Cow<'static, str>> {
        match self.0.get(name) {
            Some(Value::Number(number)) => Ok(number),
            None => Err(format!("`{name}` is missing.").into()),
            Some(_) => Err(format!("`{name}` must be a number.").into()),
        }
    }
    fn float(&self, name: &str, default: f64, max: f64) -> Result<f64, Cow<'static, str>> {
        let value = match self.0.get(name) {
            None => return Ok(default),
            Some(value) => value.as_f64().filter(|v| (0.0..=max).contains(v)),
        };
        value.ok_or_else(|| format!("`{name}` must be a number from 0 to {max}.").into())
    }
    fn integer(&self, name: &str, default: i64, min: i64, max: i64) -> Result<i64, Cow<'static, str>> {
        let value = match self.0.get(name) {
            None => return Ok(default),
            // 3.0 is the integer 3 in JSON Schema.
            Some(value) => {
                value.as_i64().or_else(|| value.as_f64().filter(|v| v.fract() == 0.0 && v.abs() < 1e15).map(|v| v as i64))
            }
        };
        value
            .filter(|v| (min..=max).contains(v))
            .ok_or_else(|| format!("`{name}` must be a whole number from {min} to {max}.").into())
    }
}

fn echo(arguments: &Arguments) -> Answer {
    let message = arguments.text("message", None)?;
    let times = arguments.integer("times", 1, 1, 10)?;
    let written = match arguments.text("style", Some("as_is"))? {
        "as_is" => message.to_owned(),
        "upper_case" => message.to_uppercase(),
        "lower_case" => message.to_lowercase(),
        "reversed" => message.chars().rev().collect(),
        _ => return Err("`style` must be one of as_is, upper_case, lower_case, reversed.".into()),
    };
    let all: Vec<&str> = (0..times).map(|_| written.as_str()).collect();
    Ok(CallToolResult::success(vec![ContentBlock::text(all.join("\n"))]))
}

fn add(arguments: &Arguments) -> Answer {
    let (a, b) = (arguments.number("a")?, arguments.number("b")?);
    let whole = a.as_i64().zip(b.as_i64()).and_then(|(a, b)| a.checked_add(b));
    let sum = match whole {
        Some(sum) => Value::from(sum),
        None => Value::from(a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()),
    };
    if sum.is_null() {
        return Err("The sum is too large to write down.".into());
    }
    Ok(structured(sum.to_string(), json!({ "sum": sum })))
}

fn current_time(arguments: &Arguments, now: SystemTime) -> Answer {
    let offset = arguments.integer("utc_offset_minutes", 0, -OFFSET_MINUTES_MAX, OFFSET_MINUTES_MAX)?;
    let unix = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let written = rfc3339(unix, offset);
    let weekday = weekday(unix + offset * 60);
    let text = match arguments.text("format", Some("rfc3339"))? {
        "rfc3339" => written.clone(),
        "unix" => unix.to_string(),
        _ => return Err("`format` must be rfc3339 or unix.".into()),
    };
    Ok(structured(text, json!({ "rfc3339": written, "unix": unix, "weekday": weekday })))
}

async fn slow(arguments: &Arguments, context: &RequestContext<RoleServer>) -> Answer {
    let seconds = arguments.float("seconds", 5.0, SLOW_SECONDS_MAX)?;
    let steps = arguments.integer("steps", 5, 1, SLOW_STEPS_MAX as i64)?;
    let token = context.meta.get_progress_token();
    for step in 1..=steps {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs_f64(seconds / steps as f64)) => {}
            () = context.ct.cancelled() => {
                eprintln!("slow: cancelled after {} of {steps} steps", step - 1);
                return Err("Cancelled.".into());
            }
        }
        if let Some(token) = &token {
            let progress = ProgressNotificationParam::new(token.clone(), step as f64)
                .with_total(steps as f64)
                .with_message(format!("Step {step} of {steps}"));
            // Whoever no longer listens loses only the message.
            let _ = context.peer.notify_progress(progress).await;
        }
    }
    Ok(CallToolResult::success(vec![ContentBlock::text(format!("Done: {steps} of {steps} steps in {seconds} s."))]))
}

fn big_result(arguments: &Arguments) -> Answer {
    let bytes = arguments.integer("bytes", 100_000, 0, BIG_RESULT_BYTES_MAX as i64)? as usize;
    let line = "All work and no play makes a long result, and a long result makes a model slow. ";
    let text: String = line.chars().cycle().take(bytes).collect();
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
}

fn always_asks(arguments: &Arguments) -> Answer {
    let action = arguments.text("action", Some("nothing at all"))?;
    Ok(CallToolResult::success(vec![ContentBlock::text(format!("A person allowed this call. Pretended to do: {action}."))]))
}

fn structured(text: String, value: Value) -> CallToolResult {
    let mut result = CallToolResult::structured(value);
    result.content = vec![ContentBlock::text(text)];
    result
}

/// A Unix time as RFC 3339, at an offset in minutes. Proleptic Gregorian calendar; days are counted in 400-year cycles that
/// begin on 1 March, so that the leap day is a year's last.
fn rfc3339(unix: i64, offset_minutes: i64) -> String {
    let local = unix + offset_minutes * 60;
    let (days, seconds) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    let since_0000_03_01 = days + 719_468;
    let (cycle, day_of_cycle) = (since_0000_03_01.div_euclid(146_097), since_0000_03_01.rem_euclid(146_097));
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    let zone = match offset_minutes {
        0 => "Z".to_owned(),
        offset => {
            format!("{}{:02}:{:02}", if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60, offset.unsigned_abs() % 60)
        }
    };
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}{zone}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn weekday(local: i64) -> &'static str {
    const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    DAYS[local.div_euclid(86_400).rem_euclid(7) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_at_the_calendars_corners() {
        for (unix, offset, written, day) in [
            (0, 0, "1970-01-01T00:00:00Z", "Thursday"),
            (951_782_400, 0, "2000-02-29T00:00:00Z", "Tuesday"),
            (951_868_799, 0, "2000-02-29T23:59:59Z", "Tuesday"),
            (951_868_799, 1, "2000-03-01T00:00:59+00:01", "Wednesday"),
            (1_709_164_800, 0, "2024-02-29T00:00:00Z", "Thursday"),
            (4_107_542_400, 0, "2100-03-01T00:00:00Z", "Monday"),
            (1_767_225_599, -330, "2025-12-31T18:29:59-05:30", "Wednesday"),
            (-1, 0, "1969-12-31T23:59:59Z", "Wednesday"),
        ] {
            assert_eq!((rfc3339(unix, offset).as_str(), weekday(unix + offset * 60)), (written, day));
        }
    }

    fn arguments(value: Value) -> Arguments {
        Arguments(value.as_object().unwrap().clone())
    }

    fn text(answer: Answer) -> String {
        let value = serde_json::to_value(answer.unwrap()).unwrap();
        value["content"][0]["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn sums_stay_whole_where_they_can() {
        assert_eq!(text(add(&arguments(json!({"a": 2, "b": 40})))), "42");
        assert_eq!(text(add(&arguments(json!({"a": 0.5, "b": 1})))), "1.5");
        assert_eq!(text(add(&arguments(json!({"a": i64::MAX, "b": 1})))), "9.223372036854776e+18");
    }

    #[test]
    fn a_wrong_argument_is_named() {
        let problem = |answer: Answer| answer.unwrap_err().into_owned();
        assert_eq!(problem(add(&arguments(json!({"a": "2", "b": 1})))), "`a` must be a number.");
        assert_eq!(problem(echo(&arguments(json!({})))), "`message` is missing.");
        assert_eq!(
            problem(echo(&arguments(json!({"message": "x", "times": 11})))),
            "`times` must be a whole number from 1 to 10."
        );
        assert_eq!(problem(big_result(&arguments(json!({"bytes": -1})))), "`bytes` must be a whole number from 0 to 8388608.");
    }

    #[test]
    fn a_big_result_has_exactly_the_size_asked_for() {
        assert_eq!(text(big_result(&arguments(json!({"bytes": 70_000.0})))).len(), 70_000);
    }
}
