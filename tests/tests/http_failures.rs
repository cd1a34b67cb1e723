//! What is said of an HTTP server that cannot be used, and at which stage: one fault after the other, on real sockets.
//! Nowhere a secret, and never an address's query.

use std::time::Duration;

use mework_engine::mcp::probe::{Report, probe};
use mework_engine::mcp::{Failure, Stage};
use mework_tests::http_server::{HttpServer, Reply, Step};
use mework_tests::proxy::Proxy;
use mework_tests::servers::{Bench, Memory};
use mework_tests::tls;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

async fn tested(bench: &Bench, entry: Value, limit: Duration) -> Report {
    let server = bench.server("http", entry).await;
    let mut told = Vec::new();
    let report =
        probe(&server, bench.path(), &bench.logs, &Memory::default(), limit, &mut |stage| told.push(stage.clone())).await;
    assert_eq!(told, report.stages, "each stage is told as it ends");
    report
}

fn stages(report: &Report) -> Vec<(Stage, bool)> {
    report.stages.iter().map(|stage| (stage.stage, stage.ok)).collect()
}

/// The failure of an address, which must hold neither the token nor the query; nor may the log.
async fn fails(url: &str, headers: Value) -> Failure {
    let mut bench = Bench::new();
    bench.set("TOKEN", "s3cret-t0ken");
    let url = format!("{url}?key=qu3ry-s3cret");
    let report = tested(&bench, json!({ "type": "http", "url": url, "headers": headers }), PATIENCE).await;
    let failure = report.failure.clone().unwrap_or_else(|| panic!("{report:?}"));
    assert_eq!(stages(&report).last(), Some(&(failure.stage, false)), "{report:?}");
    let id = &bench.server("http", json!({ "type": "http", "url": url })).await.id;
    let logged: Vec<String> = bench.logs.lines(id).into_iter().map(|line| line.text).collect();
    let shown = format!("{report:?} {logged:?}");
    assert!(!shown.contains("s3cret-t0ken") && !shown.contains("qu3ry-s3cret"), "{shown}");
    failure
}

fn bearer() -> Value {
    json!({ "Authorization": "Bearer ${TOKEN}" })
}

/// The failure of a server that answers every POST like this.
async fn answering(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (Failure, HttpServer) {
    let server = HttpServer::start(move |seen, _| (seen.verb == "POST").then(&reply)).await;
    let failure = fails(&server.url(), json!({})).await;
    assert_eq!(failure.stage, Stage::Handshake, "{failure:?}");
    (failure, server)
}

#[tokio::test]
async fn a_good_server_passes_every_stage() {
    let server = HttpServer::good().await;
    let report = tested(&Bench::new(), server.entry(), PATIENCE).await;
    let words: Vec<&str> = report.stages.iter().map(|stage| stage.message.as_deref().unwrap_or_default()).collect();
    let at = format!("127.0.0.1:{}", server.port());
    assert_eq!(
        stages(&report),
        [(Stage::Config, true), (Stage::Program, true), (Stage::Start, true), (Stage::Handshake, true), (Stage::List, true)]
    );
    assert_eq!(
        words[1..4],
        [format!("{at}, which is 127.0.0.1"), format!("{at} answers"), "http 2.0, protocol 2025-11-25 (initialize)".into()]
    );
    assert!(words[4].starts_with("3 tools, "), "{words:?}");
}

/// Row 32: what WWW-Authenticate names is not fetched.
#[tokio::test]
async fn row_32_denied_says_which_header_to_set() {
    let canary = HttpServer::good().await;
    let challenge = format!("Bearer resource_metadata=\"{}\"", canary.url());
    let server =
        HttpServer::start(move |_, _| Some(Reply::Http(401, vec![("WWW-Authenticate", challenge.clone())], vec![]))).await;
    let failure = fails(&server.url(), json!({})).await;
    assert_eq!(
        failure.message,
        "The server asks for authorization (401). Set a token in the entry's `headers`, for example \"Authorization\": \"Bearer \
         ${NAME}\". Mework runs no sign-in flow."
    );
    assert_eq!(server.log(), ["POST server/discover"], "nobody asks again after a 401");
    let failure = fails(&server.url(), bearer()).await;
    assert!(
        failure.message.starts_with("The server did not accept `Authorization` of the entry's `headers` (401)."),
        "{failure:?}"
    );
    assert_eq!(canary.connections(), 0);

    let (failure, _) = answering(|| Reply::status(403, "not from here")).await;
    assert!(failure.message.starts_with("The server refuses access (403). It says: not from here. "), "{failure:?}");
}

/// Row 16: a server that echoes the token in its refusal.
#[tokio::test]
async fn row_16_a_refusal_that_holds_the_token_is_scrubbed() {
    let server =
        HttpServer::start(|seen, _| Some(Reply::status(500, &format!("bad {} {}", seen.header("authorization"), seen.path))))
            .await;
    let failure = fails(&server.url(), bearer()).await;
    assert!(failure.message.starts_with("The server failed (500 Internal Server Error). It says: bad •••"), "{failure:?}");
}

/// Row 16: where a server's words are cut, nothing of a token that the cut goes through is shown either.
#[tokio::test]
async fn row_16_a_cut_through_the_token_hides_what_is_left_of_it() {
    let filler = |bytes: usize| "x".repeat(bytes);
    let refusal = HttpServer::start(move |seen, _| {
        Some(Reply::status(500, &format!("{}{} and more", filler(290), seen.header("authorization"))))
    });
    let failure = fails(&refusal.await.url(), bearer()).await;
    assert!(failure.message.contains(&format!("It says: {}•••.", filler(290))), "{failure:?}");

    let other = HttpServer::start(move |seen, _| {
        Some(Reply::json(json!({ "t": format!("{}{} and more", filler(100), seen.header("authorization")) })))
    });
    let failure = fails(&other.await.url(), bearer()).await;
    assert!(failure.message.contains(&format!("such as `{{\"t\":\"{}•••…`", filler(100))), "{failure:?}");
}

#[tokio::test]
async fn statuses_and_wrong_answers() {
    let (failure, server) = answering(|| Reply::status(404, "")).await;
    assert_eq!(
        failure.message,
        "There is no MCP server at this path (404 Not Found). Check the path in `url`; many servers answer at /mcp."
    );
    assert_eq!(server.log(), ["POST server/discover", "POST initialize", "GET"]);

    let page = || Reply::Http(200, vec![("Content-Type", "text/html; charset=utf-8".into())], b"<!doctype html><p>Hi".to_vec());
    let (failure, _) = answering(page).await;
    assert!(failure.message.starts_with("It answered with a web page instead of a protocol message."), "{failure:?}");

    let text = || Reply::Http(200, vec![("Content-Type", "text/plain".into())], b"Hi".to_vec());
    let (failure, _) = answering(text).await;
    assert!(failure.message.starts_with("It answered with text/plain, where MCP wants"), "{failure:?}");

    let (failure, _) = answering(|| Reply::json(json!({ "hello": "there" }))).await;
    assert!(
        failure.message.starts_with("What it answered is no protocol message, such as `{\"hello\":\"there\"}`."),
        "{failure:?}"
    );

    let (failure, _) = answering(|| Reply::Http(202, vec![], vec![])).await;
    assert_eq!(failure.message, "It answered 202 without a message where an answer was needed.");

    let (failure, _) = answering(|| Reply::Events(vec![])).await;
    assert_eq!(failure.message, "It ended its answer before it was complete, and the rest could not be had.");
}

/// Row 23: a body that unpacks to much more is not unpacked.
#[tokio::test]
async fn row_23_a_gzip_bomb_is_refused_unopened() {
    let bomb = || {
        let headers = vec![("Content-Type", "application/json".into()), ("Content-Encoding", "gzip".into())];
        Reply::Http(200, headers, vec![0x1f; 256 * 1024])
    };
    let (failure, server) = answering(bomb).await;
    assert_eq!(failure.message, "It compressed its answer (gzip), which it was asked not to do.");
    assert_eq!(server.seen()[0].header("accept-encoding"), "identity");
}

/// Row 9: nothing is sent where a redirect leads; the message names that origin and no more of it.
#[tokio::test]
async fn row_9_redirects_name_their_target_and_are_not_followed() {
    let target = HttpServer::good().await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{}?leak=abcdefgh", target.url());
        let server = HttpServer::start(move |_, _| Some(Reply::Http(status, vec![("Location", location.clone())], vec![]))).await;
        let failure = fails(&server.url(), bearer()).await;
        let origin = format!("http://127.0.0.1:{}", target.port());
        assert!(
            failure.message.starts_with(&format!("It redirects ({status}) to {origin}, and redirects are not followed")),
            "{failure:?}"
        );
        assert!(!failure.message.contains("leak"));
        assert_eq!(server.connections(), 1);
    }
    assert_eq!(target.connections(), 0);
    // A server that only wants another path, and one that answers with the header's own secret in lower case.
    let answering = async |location: &'static str| {
        let reply = move || Reply::Http(307, vec![("Location", location.into())], vec![]);
        let server = HttpServer::start(move |_, _| Some(reply())).await;
        fails(&server.url(), json!({ "X-Key": "S3cret-Key" })).await.message
    };
    let slash = answering("/mcp/").await;
    assert!(slash.starts_with("It redirects (307) to another path of http://127.0.0.1:"), "{slash}");
    for unreadable in ["http://S3cret-Key.example/", "foo://elsewhere/"] {
        let said = answering(unreadable).await;
        assert!(said.starts_with("It redirects (307) to an address that cannot be read, and"), "{said}");
        assert!(!said.to_lowercase().contains("s3cret"), "{said}");
    }
}

#[tokio::test]
async fn a_server_of_the_old_transport_is_recognised() {
    let server = HttpServer::start(|seen, _| {
        Some(match seen.verb.as_str() {
            "GET" => Reply::Events(vec![Step::Text("event: endpoint\ndata: /messages?id=1\n\n".into()), Step::Hold]),
            _ => Reply::status(405, "Method Not Allowed"),
        })
    })
    .await;
    let failure = fails(&server.url(), json!({})).await;
    assert!(
        failure.message.starts_with("This server speaks HTTP+SSE, the transport of protocol version 2024-11-05"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn nobody_listens_and_something_else_listens() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let failure = fails(&format!("http://127.0.0.1:{free}/mcp"), bearer()).await;
    assert_eq!(failure.stage, Stage::Start);
    assert_eq!(
        failure.message,
        format!("Nobody listens at 127.0.0.1:{free}: the connection was refused. Is the server running, and is that its port?")
    );
    let mail = HttpServer::start(|_, _| Some(Reply::Raw(b"220 mail.example ESMTP\r\n".to_vec()))).await;
    let failure = fails(&mail.url(), bearer()).await;
    assert!(failure.message.contains("answered with something that is not HTTP"), "{failure:?}");
    let silent = HttpServer::start(|_, _| Some(Reply::Raw(vec![]))).await;
    let failure = fails(&silent.url(), bearer()).await;
    assert!(failure.message.ends_with("closed the connection before its answer was complete."), "{failure:?}");
}

/// B7: the address is checked again when its variables have values; nothing is sent.
#[tokio::test]
async fn b7_http_to_a_public_host_is_refused() {
    let mut bench = Bench::new();
    bench.set("HOST_OF_DOCS", "example.com");
    let report = tested(&bench, json!({ "type": "http", "url": "http://${HOST_OF_DOCS}/mcp" }), PATIENCE).await;
    assert_eq!(stages(&report), [(Stage::Config, false)]);
    let message = report.failure.unwrap().message;
    assert!(message.contains("http:// works only for this computer and private networks"), "{message}");
}

#[tokio::test]
async fn silence_ends_with_the_time_limit() {
    let server = HttpServer::start(|_, _| Some(Reply::Silence)).await;
    let report = tested(&Bench::new(), server.entry(), Duration::from_secs(1)).await;
    let failure = report.failure.unwrap();
    assert!(failure.message.starts_with("It did not answer `initialize` within "), "{failure:?}");
    server.until("both greetings to be given up", |server| server.hung_up() == 2).await;
}

#[tokio::test]
async fn a_proxy_that_cannot_be_reached_is_named() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut bench = Bench::new();
    bench.set("HTTPS_PROXY", &format!("http://me:pr0xy-s3cret@127.0.0.1:{free}"));
    let report = tested(&bench, json!({ "type": "http", "url": "https://docs.example.com/mcp" }), PATIENCE).await;
    let failure = report.failure.unwrap();
    assert_eq!(failure.stage, Stage::Start);
    let proxy = format!("The proxy http://127.0.0.1:{free} (from HTTPS_PROXY) could not be used to reach docs.example.com:443: ");
    assert!(failure.message.starts_with(&proxy) && !failure.message.contains("pr0xy-s3cret"), "{failure:?}");
}

/// B48: a public host is reached through the proxy, which gets the credentials of its address and nothing of the entry;
/// the server gets none of the proxy's, and nobody else sees either. A private host is not asked of the proxy.
#[tokio::test]
async fn b48_a_public_host_is_reached_through_the_proxy() {
    let server = HttpServer::secure(tls::acceptor()).await;
    let proxy = Proxy::start(server.port(), "Basic bWU6cHIweHkvczNjcmV0").await;
    let bench = |password: &str| {
        let mut bench = Bench::new();
        bench.set("SSL_CERT_FILE", tls::file("authority.pem").to_str().unwrap());
        bench.set("HTTPS_PROXY", &format!("http://me:{password}@127.0.0.1:{}", proxy.port()));
        bench.set("TOKEN", "s3cret-t0ken");
        bench
    };
    let entry = |at: &str| json!({ "type": "http", "url": format!("https://{at}/mcp?key=qu3ry-s3cret"), "headers": bearer() });
    let public = entry("docs.example.com");
    let seen_of = async |bench: &Bench, report: &Report| {
        let id = bench.server("http", public.clone()).await.id;
        let lines: Vec<String> = bench.logs.lines(&id).into_iter().map(|line| line.text).collect();
        let shown = format!("{report:?} {lines:?}");
        for secret in ["pr0xy/s3cret", "pr0xy%2Fs3cret", "wr0ng-s3cret", "bWU6", "s3cret-t0ken", "qu3ry-s3cret"] {
            assert!(!shown.contains(secret), "{secret} is in {shown}");
        }
    };

    let right = bench("pr0xy%2Fs3cret");
    let report = tested(&right, public.clone(), PATIENCE).await;
    assert!(report.ok(), "{report:?}");
    seen_of(&right, &report).await;
    let via = format!("docs.example.com:443 through the proxy http://127.0.0.1:{} (from HTTPS_PROXY)", proxy.port());
    assert_eq!(report.stages[1].message.as_deref(), Some(via.as_str()));
    let asked = proxy.asked();
    assert!(!asked.is_empty());
    for asked in &asked {
        assert_eq!((asked.verb.as_str(), asked.path.as_str()), ("CONNECT", "docs.example.com:443"));
        assert_eq!((asked.header("host"), asked.header("authorization")), ("docs.example.com:443", ""), "{asked:?}");
    }
    for seen in server.seen() {
        assert_eq!((seen.header("authorization"), seen.header("proxy-authorization")), ("Bearer s3cret-t0ken", ""));
        assert_eq!((seen.header("host"), seen.path.as_str()), ("docs.example.com", "/mcp?key=qu3ry-s3cret"));
    }

    let report = tested(&right, entry(&format!("localhost:{}", server.port())), PATIENCE).await;
    assert!(report.ok(), "{report:?}");
    assert_eq!(proxy.asked().len(), asked.len(), "a private host is nobody's to lead to");

    let wrong = bench("wr0ng-s3cret");
    let report = tested(&wrong, public.clone(), PATIENCE).await;
    seen_of(&wrong, &report).await;
    let failure = report.failure.unwrap();
    let words = format!(
        "The proxy http://127.0.0.1:{} (from HTTPS_PROXY) could not be used to reach docs.example.com:443: ",
        proxy.port()
    );
    assert!(failure.message.starts_with(&words) && failure.message.contains("auth"), "{failure:?}");
    assert_eq!(failure.stage, Stage::Start);
}

/// B48: an unknown authority is refused in plain words; one that the system trusts works.
#[tokio::test]
async fn b48_certificates_are_the_platforms() {
    let server = HttpServer::secure(tls::acceptor()).await;
    let url = |host: &str| json!({ "type": "http", "url": format!("https://{host}:{}/mcp", server.port()) });

    let mut company = Bench::new();
    company.set("SSL_CERT_FILE", tls::file("authority.pem").to_str().unwrap());
    assert!(tested(&company, url("localhost"), PATIENCE).await.ok());
    let wrong = tested(&company, url("127.0.0.1"), PATIENCE).await.failure.unwrap();
    assert!(wrong.message.contains("its certificate is for another name"), "{wrong:?}");
    assert_eq!(wrong.stage, Stage::Start);

    let mut elsewhere = Bench::new();
    elsewhere.set("SSL_CERT_FILE", tls::file("localhost.pem").to_str().unwrap());
    let unknown = tested(&elsewhere, url("localhost"), PATIENCE).await.failure.unwrap();
    assert!(unknown.message.contains("signed by nobody this system trusts"), "{unknown:?}");
}
