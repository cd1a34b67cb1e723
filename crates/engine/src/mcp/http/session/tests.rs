use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::super::log::Logs;
use super::*;
use crate::machine::environment::Environment;
use crate::machine::{Machine, Surroundings};
use crate::text::Scrubber;

/// Longer than anything here takes on a machine that works.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a server is listened to that answers each time with this stream and its end, and after so many with a refusal.
async fn listened(stream: &'static str, enough: usize) -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = asked.clone();
    let server = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let read = socket.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET "));
            let (status, body) = if counting.fetch_add(1, Ordering::SeqCst) < enough { (200, stream) } else { (405, "") };
            let head = format!("HTTP/1.1 {status} X\r\nContent-Type: {EVENTS}\r\nContent-Length: {}\r\n", body.len());
            socket.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes()).await.unwrap();
        }
    });
    let nowhere = PathBuf::from("/nowhere");
    let machine = Machine::local(Surroundings {
        home: nowhere.clone(),
        data: nowhere,
        environment: Environment::default(),
        supervisor: Vec::new(),
    });
    let log = Logs::new(Scrubber::default()).of(&"native:local:/h/mcp.json#a".parse().unwrap());
    let (to, _items) = mpsc::channel(1);
    let client = machine.http(&url).await.unwrap();
    let mut session = Session::new(client, Vec::new(), Wire::new(log.clone()), log, to);
    session.again.pause = Duration::from_millis(1);
    timeout(PATIENCE, session.listen()).await.expect("it listens again without end");
    assert!(session.wire.ended().is_none(), "listening is never the cause of a connection's end");
    server.abort();
    asked.load(Ordering::SeqCst)
}

/// An event that says nothing does not keep a server from being given up.
#[tokio::test]
async fn a_server_that_ends_the_listening_stream_at_once_is_given_up_unless_it_brings_news() {
    assert_eq!(listened("retry: 1\n\nevent: ping\nid: x\ndata: {}\n\n", 100).await, 6, "once, and five times again");
    let idle = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
    assert_eq!(listened(idle, 100).await, 6);
    let news = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    assert_eq!(listened(news, 20).await, 21, "until it says no");
}
