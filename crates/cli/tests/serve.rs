//! `mework serve` over real sockets: who is let in, what every answer carries, and how it ends (security rows 8 and 22).
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program under test")]

mod harness;

use futures_util::StreamExt;
use harness::{Answer, Home, INDEX, Served};
use tokio_tungstenite::tungstenite;
use tungstenite::client::IntoClientRequest;

#[test]
fn row_22_the_token_signs_in_once_and_leads_to_a_clean_address() {
    let home = Home::new();
    let served = Served::start(&home);
    let cookie = served.sign_in();
    assert!(cookie.starts_with(&format!("mework_{}=", served.port)), "{cookie}");

    let page = served.get("/", &cookie);
    assert_eq!((page.status, page.body.as_str(), page.header("content-type")), (200, INDEX, Some("text/html; charset=utf-8")));
    let script = served.get("/app.js", &cookie);
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));

    // The same address again, and no cookie at all.
    let again = served.get(&format!("/?token={}", served.token), "");
    assert_eq!((again.status, again.header("set-cookie")), (401, None));
    assert!(again.body.contains("works once"), "{}", again.body);
    assert_eq!(served.get("/", "").status, 401);
    assert_eq!(served.get("/app.js", "").status, 401);
    assert_eq!(served.get("/", &cookie).status, 200);
}

/// The browser gets the address that is printed, whole and as one argument, and it still works.
#[cfg(target_os = "linux")]
#[test]
fn the_address_is_opened_when_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let opened = home.path("opened");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}.new' && mv '{0}.new' '{0}'\n", opened.display());
    home.write("stand-ins/xdg-open", &script);
    std::fs::set_permissions(home.path("stand-ins/xdg-open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths([home.path("stand-ins"), "/usr/bin".into(), "/bin".into()]).unwrap();
    let served = Served::with(&home, |command| {
        command.arg("--open").env("PATH", path);
    });
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !opened.exists() {
        assert!(std::time::Instant::now() < give_up, "no browser was opened");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let given = std::fs::read_to_string(&opened).unwrap();
    assert_eq!(given, format!("http://127.0.0.1:{}/?token={}\n", served.port, served.token));
    served.sign_in();
}

#[test]
fn row_22_names_that_only_lead_here_are_refused() {
    let home = Home::new();
    let served = Served::start(&home);
    let cookie = served.sign_in();
    let port = served.port;
    for (status, host) in [
        (200, format!("127.0.0.1:{port}")),
        (200, format!("localhost:{port}")),
        (403, format!("rebound.example:{port}")),
        (403, "127.0.0.1".into()),
        (403, String::new()),
    ] {
        let answer = served.http(&format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}"), "");
        assert_eq!(answer.status, status, "{host:?}");
    }
    // A token that arrives under another name is not spent either.
    let other = Served::start(&home);
    let stolen = other.http(&format!("GET /?token={} HTTP/1.1\r\nHost: rebound.example", other.token), "");
    assert_eq!(stolen.status, 403);
    other.sign_in();
}

#[test]
fn row_22_requests_of_other_pages_reach_nothing() {
    let home = Home::new();
    let served = Served::start(&home);
    let cookie = served.sign_in();
    let port = served.port;
    let own = format!("http://127.0.0.1:{port}");
    let post = |origin: &str, kind: &str, cookie: &str| {
        served.http(
            &format!("POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{port}{origin}\r\nContent-Type: {kind}\r\nCookie: {cookie}"),
            r#"{"method":"no.such"}"#,
        )
    };
    let from = |origin: &str| format!("\r\nOrigin: {origin}");
    let answer = post(&from(&own), "application/json", &cookie);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, r#"{"error":{"code":"bad_request","message":"There is no method \"no.such\"."}}"#);
    assert_eq!(post("", "application/json", &cookie).status, 403);
    assert_eq!(post(&from("null"), "application/json", &cookie).status, 403);
    assert_eq!(post(&from("http://evil.example"), "application/json", &cookie).status, 403);
    // What a form can send without asking first.
    assert_eq!(post(&from(&own), "text/plain", &cookie).status, 415);
    assert_eq!(post(&from(&own), "application/json", "").status, 401);
    assert_eq!(post(&from(&own), "application/json", &format!("mework_{port}=0")).status, 401);
}

#[test]
fn row_8_every_answer_carries_the_policy() {
    let home = Home::new();
    let served = Served::start(&home);
    let cookie = served.sign_in();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; \
                  connect-src 'self'; frame-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; \
                  require-trusted-types-for 'script'; trusted-types svelte-trusted-html";
    let check = |answer: Answer| {
        for (name, value) in [
            ("content-security-policy", policy),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-frame-options", "DENY"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{answer:?}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
        answer.status
    };
    assert_eq!(check(served.get("/", &cookie)), 200);
    assert_eq!(check(served.get("/missing", &cookie)), 404);
    assert_eq!(check(served.get("/", "")), 401);
    assert_eq!(check(served.http("GET / HTTP/1.1\r\nHost: evil", "")), 403);
    assert_eq!(check(served.rpc(&cookie, "{")), 400);
    let preflight = format!("OPTIONS /rpc HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nOrigin: http://evil.example", served.port);
    assert_eq!(check(served.http(&preflight, "")), 403);
}

#[test]
fn only_the_pages_own_files_are_handed_out() {
    let home = Home::new();
    let served = Served::start(&home);
    let cookie = served.sign_in();
    #[cfg(unix)]
    std::os::unix::fs::symlink(home.path("secret.txt"), home.path("page/link.txt")).unwrap();
    for path in
        ["/../secret.txt", "/%2e%2e/secret.txt", "/link.txt", "//etc/passwd", "/.", "/page", "/app.js/", "/..%2fsecret.txt"]
    {
        let answer = served.get(path, &cookie);
        assert!(!answer.body.contains("not for the page") && !answer.body.contains("root:"), "{path}");
        assert_eq!(answer.status, if path == "/app.js/" { answer.status } else { 404 }, "{path}");
    }
}

#[test]
fn a_request_is_bounded() {
    let home = Home::new();
    let served = Served::start(&home);
    let cookie = served.sign_in();
    let pad = |bytes: usize| format!(r#"{{"method":"no.such","params":"{}"}}"#, "x".repeat(bytes));
    assert_eq!(served.rpc(&cookie, &pad(4 * 1024 * 1024 - 100)).status, 200);
    assert_eq!(served.rpc(&cookie, &pad(4 * 1024 * 1024)).status, 413);
}

async fn socket(
    served: &Served,
    change: impl FnOnce(&mut tungstenite::http::HeaderMap),
) -> Result<tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>, u16> {
    let mut request = format!("ws://127.0.0.1:{}/events", served.port).into_client_request().unwrap();
    request.headers_mut().insert("origin", format!("http://127.0.0.1:{}", served.port).parse().unwrap());
    change(request.headers_mut());
    match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(answer)) => Err(answer.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn row_22_the_event_socket_is_guarded_as_the_requests_are() {
    let home = Home::new();
    let served = Served::start(&home);
    let cookie = served.sign_in();
    let with = |name: &'static str, value: String| {
        let cookie = cookie.clone();
        move |headers: &mut tungstenite::http::HeaderMap| {
            headers.insert("cookie", cookie.parse().unwrap());
            headers.insert(name, value.parse().unwrap());
        }
    };
    assert!(socket(&served, with("x-nothing", "1".into())).await.is_ok());
    assert_eq!(socket(&served, |_| {}).await.err(), Some(401));
    assert_eq!(socket(&served, with("cookie", "mework=1".into())).await.err(), Some(401));
    assert_eq!(socket(&served, with("origin", "http://evil.example".into())).await.err(), Some(403));
    assert_eq!(socket(&served, with("host", format!("rebound.example:{}", served.port))).await.err(), Some(403));
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_ends_it_and_says_goodbye_to_every_tab() {
    let home = Home::new();
    let mut served = Served::start(&home);
    let cookie = served.sign_in();
    let mut socket = socket(&served, |headers| drop(headers.insert("cookie", cookie.parse().unwrap()))).await.unwrap();
    let ended = tokio::task::spawn_blocking(move || (served.interrupt(), served.port));
    let goodbye = socket.next().await;
    assert!(matches!(goodbye, Some(Ok(tungstenite::Message::Close(_)))), "{goodbye:?}");
    let (code, port) = ended.await.unwrap();
    assert_eq!(code, Some(0));
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// What the kernel says this process listens on.
#[cfg(target_os = "linux")]
#[test]
fn row_22_nothing_listens_but_loopback() {
    let home = Home::new();
    let served = Served::start(&home);
    let sockets: Vec<String> = std::fs::read_dir(format!("/proc/{}/fd", served.process.id()))
        .unwrap()
        .filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok())
        .filter_map(|target| Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let listening = |table: &str| -> Vec<String> {
        let lines = std::fs::read_to_string(table).unwrap_or_default();
        let fields = lines.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        fields.filter(|f| f[3] == "0A" && sockets.iter().any(|s| s == f[9])).map(|f| f[1].to_owned()).collect()
    };
    assert_eq!(listening("/proc/net/tcp"), [format!("0100007F:{:04X}", served.port)]);
    assert_eq!(listening("/proc/net/tcp6"), Vec::<String>::new());
}

#[test]
fn a_port_that_is_taken_is_named() {
    let home = Home::new();
    let served = Served::start(&home);
    let page = home.path("page");
    let ran = home.run(&["serve", "--ui", page.to_str().unwrap(), "--port", &served.port.to_string()]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with(&format!("Port {} of 127.0.0.1 cannot be used: ", served.port)), "{}", ran.err);
    assert_eq!(ran.out, "");
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn tab(served: &Served, cookie: &str) -> Socket {
    socket(served, |headers| drop(headers.insert("cookie", cookie.parse().unwrap()))).await.unwrap()
}

async fn next(tab: &mut Socket) -> serde_json::Value {
    loop {
        match tab.next().await.unwrap().unwrap() {
            tungstenite::Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            tungstenite::Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn call(served: &Served, cookie: &str, id: &str, method: &str, params: serde_json::Value) -> serde_json::Value {
    let body = serde_json::json!({ "id": id, "method": method, "params": params });
    let answer = served.rpc(cookie, &body.to_string());
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{answer:?}");
    serde_json::from_str(&answer.body).unwrap()
}

#[tokio::test]
async fn every_tab_sees_what_any_tab_changes_and_a_repeat_changes_nothing() {
    let home = Home::new();
    home.write("ws/readme", "");
    let served = Served::start(&home);
    let cookie = served.sign_in();
    let (mut one, mut two) = (tab(&served, &cookie).await, tab(&served, &cookie).await);

    let add = serde_json::json!({ "path": home.path("ws") });
    let added = call(&served, &cookie, "1", "workspace.add", add.clone());
    let id = added["ok"]["id"].as_str().unwrap();
    let (event, other) = (next(&mut one).await, next(&mut two).await);
    assert_eq!(event, other);
    assert_eq!((&event["kind"], &event["event"]["type"]), (&"event".into(), &"workspaces".into()));
    assert_eq!(event["event"]["workspaces"][0]["id"], id);

    // Sent again, as after a lost connection: the same answer, and no second event (B42).
    assert_eq!(call(&served, &cookie, "1", "workspace.add", add), added);
    let snapshot = call(&served, &cookie, "2", "snapshot", serde_json::json!({}));
    assert_eq!(snapshot["ok"]["seq"], event["seq"]);
    assert_eq!(snapshot["ok"]["workspaces"].as_array().unwrap().len(), 1);

    let refused = call(&served, &cookie, "3", "workspace.add", serde_json::json!({ "path": "/no/such/folder" }));
    assert!(refused["error"]["message"].is_string(), "{refused}");
}

/// B25: a tab ticked a server and it runs; Ctrl-C ends the server before the program.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn ctrl_c_leaves_no_server_running() {
    let home = Home::new();
    let mark = "serve-ctrl-c";
    home.global(serde_json::json!({ "sample": harness::sample(mark) }));
    let mut served = Served::start(&home);
    let cookie = served.sign_in();
    let mut tab = tab(&served, &cookie).await;
    let made = call(&served, &cookie, "1", "conversation.create", serde_json::json!({ "workspaces": [] }));
    let conversation = made["ok"]["id"].as_str().unwrap();
    let opened = call(&served, &cookie, "2", "conversation.open", serde_json::json!({ "id": conversation }));
    let server = opened["ok"]["servers"]["sections"][0]["rows"][0]["id"].as_str().unwrap();
    let tick = serde_json::json!({ "conversation": conversation, "server": server, "ticked": true });
    assert_eq!(call(&served, &cookie, "3", "server.tick", tick), serde_json::json!({ "ok": {} }));
    // Ticking starts it (B20b).
    loop {
        let event = next(&mut tab).await;
        if event["event"]["status"]["kind"] == "connected" {
            assert_eq!(event["event"]["status"]["tools"], 6);
            break;
        }
    }
    assert_eq!(harness::marked(mark).len(), 1);
    drop(tab);
    assert_eq!(tokio::task::spawn_blocking(move || served.interrupt()).await.unwrap(), Some(0));
    harness::gone(mark);
}

#[test]
fn the_page_is_a_folder() {
    let home = Home::new();
    let file = home.write("index.html", INDEX);
    let ran = home.run(&["serve", "--ui", file.to_str().unwrap()]);
    let words = "~/index.html is no folder. --ui takes the folder that holds index.html.\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.replace('\\', "/").as_str()), (1, "", words));
}
