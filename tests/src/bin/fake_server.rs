//! A stdio MCP server that misbehaves on demand, written by hand so that it can break every rule: one flag per fault.
//! It speaks both eras; tools it offers are in [`TOOLS`], more come from flags.

use std::collections::{HashSet, VecDeque};
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// `echo` answers its arguments as text; `exact` the bytes it got; `after` answers when `ms` passed; `never` does not;
/// `big` answers `bytes` of text; `die` ends with `code` or `signal` and `stderr`; `progress` tells `steps` first; `ask` sends
/// the client three requests; `environment` and `place` say where it runs; `raw` answers with `result`, whatever it is; `error`
/// with a protocol error; `late` exists after the first call under `--changes`. More that `--also` or `--tool` offers: `endless`
/// answers with `bytes` of text that the client has to stop reading; `changes` says `count` times that the tools changed, and
/// then answers, or if it is to `hold`, when `release` is called; `place_of_its_own` is `place`.
const TOOLS: [&str; 12] =
    ["echo", "exact", "after", "never", "big", "die", "progress", "ask", "environment", "place", "raw", "error"];

#[derive(Default)]
struct Faults {
    /// Methods that are never answered.
    hang: HashSet<String>,
    /// Methods answered with `"error": "boom"`.
    string_error: HashSet<String>,
    /// Methods answered with these words, in which `ID` stands for the request's.
    line: Vec<(String, String)>,
    /// Methods answered late.
    delay: Vec<(String, u64)>,
    /// Greetings that are not understood: `initialize` or `server/discover`, and what happens then: error, silent, exit.
    not: Vec<(String, String)>,
    /// It offers to say when its tools change, and this is what it does with `subscriptions/listen`: serve, refuse, silent,
    /// nothing (accept none of it), end, cancel.
    listen: Option<String>,
    /// This notification 2,000 times a second, from the first list of tools on.
    storm: Option<String>,
    version: Option<String>,
    /// What it calls itself.
    name: Option<String>,
    /// `loop` or `new`.
    cursor: Option<String>,
    page: Option<usize>,
    /// How many plain tools; instead of [`TOOLS`].
    tools: Option<usize>,
    more_tools: Vec<Value>,
    noise: Vec<String>,
    stderr: Vec<String>,
    /// Every message that came, one line each.
    log: Option<String>,
    changes: bool,
    flips: bool,
    deaf: bool,
    stops_reading: bool,
    closes_input: bool,
    hang_second_list: bool,
}

static CALLED: AtomicBool = AtomicBool::new(false);
static LISTED: AtomicUsize = AtomicUsize::new(0);
/// The call that is answered when another one says so.
static HELD: Mutex<Option<Value>> = Mutex::new(None);
/// The request that asked to hear of changes.
static SUBSCRIPTION: Mutex<Option<Value>> = Mutex::new(None);

fn send(message: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{message}");
    let _ = out.flush();
}

fn answer(id: &Value, result: Value) {
    send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

fn refuse(id: &Value, code: i64, message: &str) {
    send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
}

fn tell(method: &str) {
    let subscription = SUBSCRIPTION.lock().expect("not poisoned").clone();
    let meta = subscription.map_or(json!({}), |id| json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id } }));
    send(&json!({ "jsonrpc": "2.0", "method": method, "params": meta }));
}

fn plain(name: &str) -> Value {
    json!({ "name": name, "description": format!("The tool {name}"), "inputSchema": { "type": "object" } })
}

fn text(words: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": words.into() }] })
}

fn read_flags() -> Faults {
    let mut faults = Faults::default();
    let mut end = None;
    let mut flags: VecDeque<String> = std::env::args().skip(1).collect();
    while let Some(flag) = flags.pop_front() {
        let (name, value) = flag.split_once('=').map_or((flag.as_str(), ""), |(name, value)| (name, value));
        let words = || value.to_string();
        match name {
            "--hang" => drop(faults.hang.insert(words())),
            "--string-error" => drop(faults.string_error.insert(words())),
            "--line" => {
                let (method, line) = value.split_once(':').expect("--line=METHOD:WORDS");
                faults.line.push((method.into(), line.into()));
            }
            "--delay" => {
                let (method, ms) = value.split_once(':').expect("--delay=METHOD:MS");
                faults.delay.push((method.into(), ms.parse().expect("milliseconds")));
            }
            "--not" => {
                let (method, how) = value.split_once(':').expect("--not=METHOD:error|silent|exit");
                faults.not.push((method.into(), how.into()));
            }
            "--version" => faults.version = Some(words()),
            "--name" => faults.name = Some(words()),
            "--cursor" => faults.cursor = Some(words()),
            "--page" => faults.page = value.parse().ok(),
            "--tools" => faults.tools = value.parse().ok(),
            "--tool" => faults.more_tools.push(serde_json::from_str(value).expect("a tool as JSON")),
            "--also" => faults.more_tools.push(plain(value)),
            "--huge-schema" => {
                let description = "x".repeat(value.parse().expect("bytes"));
                let schema = json!({ "type": "object", "properties": { "a": { "description": description } } });
                faults.more_tools.push(json!({ "name": "huge", "inputSchema": schema }));
            }
            "--listen" => faults.listen = Some(words()),
            "--storm" => faults.storm = Some(words()),
            #[cfg(unix)]
            "--leaves-child" => leave_child(value),
            // The flags of the moment: the same entry may behave otherwise at its next start.
            "--flags-from" => {
                let more = std::fs::read_to_string(value).unwrap_or_default();
                flags.extend(more.lines().map(str::to_owned));
            }
            "--noise" => faults.noise.push(words()),
            "--stderr" => faults.stderr.push(words()),
            "--log" => faults.log = Some(words()),
            "--changes" => faults.changes = true,
            "--flips" => faults.flips = true,
            "--deaf" => faults.deaf = true,
            "--hang-second-list" => faults.hang_second_list = true,
            "--stops-reading" => faults.stops_reading = true,
            "--exit" => end = value.parse().ok(),
            "--endless" => endless(value),
            // The first start never gets anywhere; this file is how later ones know.
            "--first-start-hangs" => {
                if OpenOptions::new().write(true).create_new(true).open(value).is_ok() {
                    loop {
                        std::thread::park();
                    }
                }
            }
            "--closes-input" => faults.closes_input = true,
            "--stderr-flood" => {
                for n in 0..20_000 {
                    eprintln!("line {n} of a flood that would fill any pipe that nobody reads");
                }
            }
            "--stderr-without-end" => drop(std::thread::spawn(stderr_without_end)),
            other => panic!("unknown flag {other}"),
        }
    }
    for line in &faults.stderr {
        eprintln!("{line}");
    }
    for line in &faults.noise {
        println!("{line}");
    }
    if let Some(code) = end {
        std::process::exit(code);
    }
    faults
}

/// Writes without ever ending the line; `start` is how it begins.
fn endless(start: &str) -> ! {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(start.as_bytes());
    let block = [b'x'; 64 * 1024];
    while out.write_all(&block).is_ok() {}
    std::process::exit(0)
}

/// Long lines of what has to be made visible before it is shown, for as long as somebody reads.
fn stderr_without_end() {
    let block = [&[1; 8 * 1024][..], b"\n"].concat().repeat(16);
    while std::io::stderr().lock().write_all(&block).is_ok() {}
}

/// Starts a child that ignores being told to end, and that went away as far as it can: `fork`, `setsid`, `double-fork`.
#[cfg(unix)]
fn leave_child(how: &str) {
    let mut pipe = [0; 2];
    let mut byte = [0_u8];
    // SAFETY: the process has one thread, and the child only makes system calls.
    unsafe {
        libc::pipe(pipe.as_mut_ptr());
        if libc::fork() == 0 {
            if how != "fork" {
                libc::setsid();
            }
            if how == "double-fork" && libc::fork() != 0 {
                libc::_exit(0);
            }
            libc::signal(libc::SIGTERM, libc::SIG_IGN);
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            libc::write(pipe[1], byte.as_ptr().cast(), 1);
            loop {
                libc::pause();
            }
        }
        // Until it stays.
        libc::read(pipe[0], byte.as_mut_ptr().cast(), 1);
        libc::close(pipe[0]);
        libc::close(pipe[1]);
    }
}

fn main() {
    #[cfg(unix)]
    if std::env::args().any(|flag| flag == "--deaf") {
        // SAFETY: ignoring a signal has no preconditions.
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    }
    let faults = read_flags();
    let mut log = faults.log.as_ref().map(|file| OpenOptions::new().append(true).create(true).open(file).expect("the log"));
    let mut note = |line: &str| {
        if let Some(log) = &mut log {
            let _ = writeln!(log, "{line}");
        }
    };
    note("started");
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let id = message.get("id").cloned();
        let Some(method) = message["method"].as_str() else {
            note(&format!("answer {message}"));
            continue;
        };
        match &id {
            Some(_) => note(&format!("request {method}")),
            None => note(&format!("notification {message}")),
        }
        let Some(id) = id else { continue };
        if faults.hang.contains(method) {
            continue;
        }
        if faults.string_error.contains(method) {
            send(&json!({ "jsonrpc": "2.0", "id": id, "error": "boom" }));
            continue;
        }
        if let Some((_, line)) = faults.line.iter().find(|(of, _)| of == method) {
            println!("{}", line.replace("ID", &id.to_string()));
            continue;
        }
        if let Some((_, ms)) = faults.delay.iter().find(|(slow, _)| slow == method) {
            std::thread::sleep(Duration::from_millis(*ms));
        }
        #[cfg(unix)]
        if faults.closes_input && method == "tools/list" {
            // SAFETY: this process reads nothing any more.
            unsafe { libc::close(0) };
        }
        match method {
            "initialize" | "server/discover" => greet(&faults, method, &id, &message),
            "tools/list" => list(&faults, &id, &message),
            "tools/call" => call(&faults, &id, &message, &line),
            "ping" => answer(&id, json!({})),
            "subscriptions/listen" => listen(&faults, &id),
            _ => refuse(&id, -32601, "Method not found"),
        }
        if (faults.stops_reading || faults.closes_input) && method == "tools/list" {
            loop {
                std::thread::park();
            }
        }
    }
    note("end of input");
    if faults.deaf {
        loop {
            std::thread::park();
        }
    }
}

fn greet(faults: &Faults, method: &str, id: &Value, message: &Value) {
    if let Some((_, how)) = faults.not.iter().find(|(not, _)| not == method) {
        match how.as_str() {
            "exit" => std::process::exit(7),
            "silent" => return,
            _ => return refuse(id, -32601, "Method not found"),
        }
    }
    let capabilities = match faults.listen {
        Some(_) => json!({ "tools": { "listChanged": true } }),
        None => json!({ "tools": {} }),
    };
    let info = json!({ "name": faults.name.as_deref().unwrap_or("fake"), "version": "1.2.3" });
    if method == "initialize" {
        let asked = message["params"]["protocolVersion"].as_str().unwrap_or_default();
        let version = faults.version.as_deref().unwrap_or(asked);
        answer(id, json!({ "protocolVersion": version, "capabilities": capabilities, "serverInfo": info }));
    } else {
        let version = faults.version.as_deref().unwrap_or("2026-07-28");
        answer(
            id,
            json!({ "resultType": "complete", "supportedVersions": [version], "capabilities": capabilities,
                "ttlMs": 0, "cacheScope": "private", "_meta": { "io.modelcontextprotocol/serverInfo": info } }),
        );
    }
}

fn listen(faults: &Faults, id: &Value) {
    let how = faults.listen.as_deref().unwrap_or("refuse");
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
    match how {
        "refuse" => return refuse(id, -32601, "Method not found"),
        "silent" => return,
        _ => {}
    }
    let accepted = if how == "nothing" { json!({}) } else { json!({ "toolsListChanged": true }) };
    let params = json!({ "_meta": meta, "notifications": accepted });
    send(&json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params }));
    match how {
        "end" => answer(id, json!({ "resultType": "complete", "_meta": meta })),
        "cancel" => send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })),
        _ => *SUBSCRIPTION.lock().expect("not poisoned") = Some(id.clone()),
    }
}

fn list(faults: &Faults, id: &Value, message: &Value) {
    let cursor = message["params"]["cursor"].as_str();
    match faults.cursor.as_deref() {
        Some("loop") => return answer(id, json!({ "tools": [], "nextCursor": "again" })),
        Some(_) => {
            let next = cursor.and_then(|c| c.parse::<u64>().ok()).unwrap_or(0) + 1;
            return answer(id, json!({ "tools": [], "nextCursor": next.to_string() }));
        }
        None => {}
    }
    let mut tools: Vec<Value> = match faults.tools {
        Some(count) => (0..count).map(|n| plain(&format!("tool{n}"))).collect(),
        None => TOOLS.iter().map(|name| plain(name)).collect(),
    };
    tools.extend(faults.more_tools.iter().cloned());
    if faults.changes && CALLED.load(Ordering::Relaxed) {
        tools.push(plain("late"));
    }
    let listed = LISTED.fetch_add(1, Ordering::Relaxed);
    if let Some(method) = faults.storm.clone().filter(|_| listed == 0) {
        std::thread::spawn(move || {
            loop {
                (0..200).for_each(|_| tell(&method));
                std::thread::sleep(Duration::from_millis(100));
            }
        });
    }
    if faults.hang_second_list && listed > 0 {
        return;
    }
    if faults.flips {
        tools[0]["_meta"] = json!({ "anthropic/requiresUserInteraction": listed == 0 });
        tools[0]["description"] = format!("Listing {listed}").into();
    }
    let (start, page) = (cursor.and_then(|c| c.parse().ok()).unwrap_or(0), faults.page.unwrap_or(usize::MAX));
    let end = tools.len().min(start + page.min(tools.len()));
    let mut result = json!({ "tools": tools[start..end] });
    if end < tools.len() {
        result["nextCursor"] = end.to_string().into();
    }
    answer(id, result);
}

fn call(faults: &Faults, id: &Value, message: &Value, line: &str) {
    let (name, arguments) = (message["params"]["name"].as_str().unwrap_or_default(), &message["params"]["arguments"]);
    let number = |key: &str| arguments[key].as_u64();
    let first = !CALLED.swap(true, Ordering::Relaxed);
    match name {
        "echo" => answer(id, text(arguments.to_string())),
        "exact" => answer(id, text(line)),
        "never" => {}
        "after" => {
            let (id, ms) = (id.clone(), number("ms").unwrap_or(0));
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(ms));
                answer(&id, text("done"));
            });
        }
        "big" => answer(id, text("x".repeat(number("bytes").unwrap_or(0) as usize))),
        "die" => {
            eprintln!("{}", arguments["stderr"].as_str().unwrap_or("dying"));
            #[cfg(unix)]
            if let Some(signal) = number("signal") {
                // SAFETY: sending oneself a signal has no preconditions.
                unsafe { libc::raise(signal as i32) };
            }
            std::process::exit(number("code").unwrap_or(1) as i32);
        }
        "progress" => {
            let token = &message["params"]["_meta"]["progressToken"];
            for step in 1..=number("steps").unwrap_or(3) {
                let params = json!({ "progressToken": token, "progress": step, "total": 3, "message": format!("step {step}") });
                send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
            }
            // An answer to a request that nobody made.
            answer(&json!(987_654), text("to nobody"));
            answer(id, text("done"));
        }
        "ask" => {
            for (n, method) in ["sampling/createMessage", "elicitation/create", "roots/list", "ping"].into_iter().enumerate() {
                send(&json!({ "jsonrpc": "2.0", "id": format!("ask-{n}"), "method": method, "params": { "messages": [] } }));
            }
            answer(id, text("asked"));
        }
        // Asks and asks, with time for each answer to be made, and reads none.
        "nag" => {
            for n in 0..number("count").unwrap_or(0) {
                send(&json!({ "jsonrpc": "2.0", "id": format!("{n:0>900}"), "method": "ping" }));
                if n % 20 == 0 {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            loop {
                std::thread::park();
            }
        }
        "environment" => {
            let all: serde_json::Map<String, Value> = std::env::vars().map(|(name, value)| (name, value.into())).collect();
            answer(id, text(Value::from(all).to_string()));
        }
        "place" | "place_of_its_own" => {
            let here = std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default();
            answer(id, text(json!({ "pid": std::process::id(), "cwd": here, "arguments": arguments }).to_string()));
        }
        "raw" => answer(id, arguments["result"].clone()),
        "error" => refuse(id, -32000, arguments["message"].as_str().unwrap_or("no")),
        "late" => answer(id, text("late")),
        "endless" => {
            let mut out = std::io::stdout().lock();
            let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"");
            let mut left = number("bytes").unwrap_or(0);
            let block = [b'x'; 64 * 1024];
            let _ = out.write_all(start.as_bytes());
            while left > 0 && out.write_all(&block).is_ok() {
                left = left.saturating_sub(block.len() as u64);
            }
            let _ = out.write_all(b"\"}]}}\n");
        }
        "changes" => {
            (0..number("count").unwrap_or(1)).for_each(|_| tell("notifications/tools/list_changed"));
            match arguments["hold"] == true {
                true => *HELD.lock().expect("not poisoned") = Some(id.clone()),
                false => answer(id, text("changed")),
            }
        }
        "release" => {
            if let Some(held) = HELD.lock().expect("not poisoned").take() {
                answer(&held, text("changed"));
            }
            answer(id, text("released"));
        }
        other => refuse(id, -32602, &format!("Unknown tool: {other}")),
    }
    if faults.changes && first {
        tell("notifications/tools/list_changed");
    }
}
