//! Row 23 on the real program: however much a server sends, Mework holds little of it. What counts is the most memory that
//! `mework serve` had while it lasted, over what it had before, as the system counts it.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

use mework_tests::engine::{PATIENCE, id, program};
use mework_tests::http_faults::HttpFault;
use mework_tests::programs::{Home, Running, command, mework};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;

/// A running `mework serve` and a conversation in it.
struct Served {
    process: Running,
    client: reqwest::Client,
    address: String,
    cookie: String,
    conversation: String,
    requests: usize,
}

impl Served {
    async fn start(home: &Home, page: &Path) -> Self {
        let mut serve = command(mework());
        serve.args(["serve", "--ui"]).arg(page).envs(home.environment()).stdout(Stdio::piped());
        let mut process = Running::start(&mut serve);
        let mut line = String::new();
        BufReader::new(process.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let link = line.trim().strip_prefix("Mework is at ").unwrap_or_else(|| panic!("{line:?}"));
        // Installed once for the whole process; a second time is no harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        let signed_in = client.get(link).send().await.unwrap();
        let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let address = link.split("/?").next().unwrap().to_owned();
        let mut served = Self { process, client, address, cookie, conversation: String::new(), requests: 0 };
        let created = served.rpc("conversation.create", json!({ "workspaces": [] })).await;
        served.conversation = created["id"].as_str().unwrap().to_owned();
        served.rpc("conversation.set_level", json!({ "id": served.conversation, "level": "full_access" })).await;
        served
    }
    async fn rpc(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let body = json!({ "id": format!("r{}", self.requests), "method": method, "params": params }).to_string();
        let request = self
            .client
            .post(format!("{}/rpc", self.address))
            .header("origin", &self.address)
            .header("cookie", &self.cookie)
            .header("content-type", "application/json")
            .body(body);
        let answer: Value = serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["ok"].clone()
    }
    async fn tick(&mut self, server: &str) {
        let params = json!({ "conversation": self.conversation, "server": server, "ticked": true });
        self.rpc("server.tick", params).await;
    }
    /// What can be seen of the conversation, once `look` sees it.
    async fn until(&mut self, look: impl Fn(&Value) -> Option<Value>) -> Value {
        let give_up = tokio::time::Instant::now() + 2 * PATIENCE;
        loop {
            let open = self.rpc("conversation.open", json!({ "id": self.conversation })).await;
            if let Some(seen) = look(&open) {
                return seen;
            }
            assert!(tokio::time::Instant::now() < give_up, "{open:#}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    /// Its badge, when it is red or green.
    async fn settled(&mut self, server: &str) -> Value {
        self.until(|open| {
            let rows = open["servers"]["sections"][0]["rows"].as_array()?;
            let status = &rows.iter().find(|row| row["id"] == server)?["status"];
            matches!(status["kind"].as_str(), Some("failed" | "connected")).then(|| status.clone())
        })
        .await
    }
    async fn call(&mut self, server: &str, tool: &str, arguments: Value) -> Value {
        let params =
            json!({ "conversation": self.conversation, "server": server, "tool": tool, "arguments": arguments.to_string() });
        let entry = self.rpc("call.start", params).await["id"].clone();
        self.until(|open| {
            let found = open["transcript"].as_array()?.iter().find(|known| known["id"] == entry)?;
            (!found["body"]["ended_at"].is_null()).then(|| found["body"]["state"].clone())
        })
        .await
    }
    fn memory(&self, line: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).unwrap();
        let found = status.lines().find_map(|l| l.strip_prefix(line)).unwrap();
        found.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
    /// Lets the peak begin anew, and says what there is now.
    fn begin(&self) -> u64 {
        std::fs::write(format!("/proc/{}/clear_refs", self.process.0.id()), "5").unwrap();
        self.memory("VmRSS")
    }
    /// How much more there was at most since then.
    fn more(&self, before: u64) -> u64 {
        self.memory("VmHWM").saturating_sub(before)
    }
}

/// 256 MiB of nothing in a few hundred KiB.
fn bomb() -> Vec<u8> {
    let mut gzip = command("gzip").arg("-1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (gzip.stdin.take().unwrap(), gzip.stdout.take().unwrap());
    let writing = std::thread::spawn(move || (0..256).try_for_each(|_| input.write_all(&vec![0; 1 << 20])).unwrap());
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes).unwrap();
    writing.join().unwrap();
    gzip.wait().unwrap();
    assert!((bytes.len() as u64) < 4 * MIB);
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn row_23_whatever_a_server_sends_memory_stays_small() {
    let home = Home::empty();
    let page = tempfile::tempdir().unwrap();
    std::fs::write(page.path().join("index.html"), "").unwrap();
    let stdio = |flags: &[&str]| json!({ "command": program("fake-server"), "args": flags });
    let (gzip, body, event, comments) = (
        HttpFault::Gzip(bomb()).server().await,
        HttpFault::Long(1 << 30).server().await,
        HttpFault::EndlessEvent.server().await,
        HttpFault::EndlessComments.server().await,
    );
    home.declare(json!({
        "good": stdio(&[]),
        "line": stdio(&["--endless={\"a\":\""]),
        "noise": stdio(&["--endless=noise"]),
        "result": stdio(&["--also=endless"]),
        "gzip": gzip.entry(),
        "body": body.entry(),
        "event": event.entry(),
        "comments": comments.entry(),
        "stderr": stdio(&["--stderr-without-end"]),
    }));
    let server = |name: &str| id(&home.global_file(), name);
    let mut served = Served::start(&home, page.path()).await;
    // Everything that is loaded once is there before it is measured.
    for name in ["good", "body"] {
        served.tick(&server(name)).await;
        assert_eq!(served.settled(&server(name)).await["kind"], "connected");
    }
    assert_eq!(served.call(&server("good"), "echo", json!({})).await["kind"], "done");

    let (stdio_limit, http_limit) = ("a message longer than 4 MiB", "a message longer than 8 MiB");
    let huge = json!({ "bytes": 1_u64 << 30 });
    for (name, call, says) in [
        ("line", None, stdio_limit),
        ("noise", None, "wrote more than 4 MiB to stdout"),
        ("result", Some(("endless", huge)), stdio_limit),
        ("gzip", None, "It compressed its answer"),
        ("body", Some(("echo", json!({}))), http_limit),
        ("event", Some(("echo", json!({}))), http_limit),
        ("comments", Some(("echo", json!({}))), "more than 1000 messages a second"),
    ] {
        let before = served.begin();
        served.tick(&server(name)).await;
        let status = served.settled(&server(name)).await;
        let end = match call {
            Some((tool, arguments)) => {
                assert_eq!(status["kind"], "connected", "{name}: {status}");
                served.call(&server(name), tool, arguments).await
            }
            None => status,
        };
        let more = served.more(before);
        assert!(end["message"].as_str().unwrap_or_default().contains(says), "{name}: {end:#}");
        assert!(more < 64 * MIB, "{name}: {} MiB more", more / MIB);
        println!("{name}: {:.1} MiB over {:.1} MiB", more as f64 / MIB as f64, before as f64 / MIB as f64);
    }
    // What goes on for as long as the server runs: another one works beside it, and so does it itself.
    let before = served.begin();
    served.tick(&server("stderr")).await;
    assert_eq!(served.settled(&server("stderr")).await["kind"], "connected");
    for _ in 0..10 {
        for name in ["good", "stderr"] {
            assert_eq!(served.call(&server(name), "echo", json!({})).await["kind"], "done", "{name}");
        }
    }
    let more = served.more(before);
    let log = served.rpc("server.log", json!({ "id": server("stderr") })).await;
    let begins = |line: &Value| line["text"].as_str().unwrap().starts_with("Started ");
    assert!(!log["lines"].as_array().unwrap().iter().any(begins), "more was written than the log holds");
    // No message is ever built of it: a thousand of its lines, shown, would be more than this.
    assert!(more < 32 * MIB, "stderr: {} MiB more", more / MIB);
    println!("stderr: {:.1} MiB over {:.1} MiB", more as f64 / MIB as f64, before as f64 / MIB as f64);

    assert_eq!(body.hung_up(), 1, "the client ended it, not the server");
    assert_eq!(served.call(&server("good"), "echo", json!({})).await["kind"], "done");
}
