use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::*;

fn client(url: &str, environment: &[(&str, &str)]) -> Client {
    Client::new(&Url::parse(url).unwrap(), &environment.iter().copied().collect(), &TlsSettings::read(&Roots::Platform)).unwrap()
}

/// The product's client for an address whose name leads elsewhere with each question, and stays at the last place.
fn client_of(url: &str, places: &'static [&'static [&'static str]]) -> Client {
    let tls = TlsSettings::read(&Roots::Platform);
    Client::asking(&Url::parse(url).unwrap(), &Environment::default(), &tls, answers(places)).unwrap()
}

async fn get(client: &Client) -> Result<u16, HttpError> {
    client.send(Method::GET, HeaderMap::new(), None).await.map(|response| response.status().as_u16())
}

/// Answers each connection once with these bytes, and counts connections.
async fn answering(bytes: &'static [u8]) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            let _ = socket.write_all(bytes).await;
        }
    });
    (port, count)
}

fn answers(list: &'static [&'static [&'static str]]) -> impl Ask {
    let asked = AtomicUsize::new(0);
    move |_| -> resolver::Answer {
        let answer = list[asked.fetch_add(1, Ordering::SeqCst).min(list.len() - 1)];
        Box::pin(async move { Ok(answer.iter().map(|ip| ip.parse().unwrap()).collect()) })
    }
}

const NO_CONTENT: &[u8] = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

/// Row 10: DNS rebinding. The check is on the addresses that are connected to, at every connection.
#[tokio::test]
async fn row_10_a_name_that_turns_public_is_refused_at_the_next_connection() {
    let (port, connections) = answering(NO_CONTENT).await;
    let url = format!("http://nas.lan:{port}/");
    let client = client_of(&url, &[&["127.0.0.1"], &["203.0.113.7"], &["127.0.0.1", "203.0.113.7"], &[]]);
    let public = || HttpError::NotPrivate { name: "nas.lan".into(), ip: "203.0.113.7".parse().unwrap() };
    assert_eq!(get(&client).await, Ok(204));
    assert_eq!(get(&client).await, Err(public()));
    // One public address among private ones is enough.
    assert_eq!(get(&client).await, Err(public()));
    let nowhere = HttpError::Unresolved { name: "nas.lan".into(), why: "it has no address".into() };
    assert_eq!(get(&client).await, Err(nowhere));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn row_10_never_link_local_nor_the_metadata_address() {
    let places: [&'static [&'static [&'static str]]; 5] =
        [&[&["169.254.169.254"]], &[&["::ffff:169.254.169.254"]], &[&["fe80::1"]], &[&["0.0.0.0"]], &[&["::"]]];
    for hidden in places {
        let client = client_of("http://metadata.internal/", hidden);
        assert!(matches!(client.addresses().await, Err(HttpError::NotPrivate { .. })), "{hidden:?}");
        assert!(matches!(get(&client).await, Err(HttpError::NotPrivate { .. })), "{hidden:?}");
    }
    let inside = client_of("http://a.internal/", &[&["::ffff:10.0.0.1"]]);
    assert_eq!(inside.addresses().await, Ok(vec!["::ffff:10.0.0.1".parse().unwrap()]));
}

/// The rule is about `http://`: a public name is what `https://` is for.
#[tokio::test]
async fn row_10_only_http_is_kept_to_private_addresses() {
    let places: &[&[&str]] = &[&["203.0.113.7", "127.0.0.1"]];
    let public = HttpError::NotPrivate { name: "docs.internal".into(), ip: "203.0.113.7".parse().unwrap() };
    let plain = client_of("http://docs.internal:1/", places);
    assert_eq!((plain.addresses().await, get(&plain).await), (Err(public.clone()), Err(public)));
    let secure = client_of("https://docs.internal:1/", places);
    assert_eq!(secure.addresses().await, Ok(vec!["203.0.113.7".parse().unwrap(), "127.0.0.1".parse().unwrap()]));
}

/// Of the clock that a test lets stand still.
const MUCH_LONGER: Duration = Duration::from_secs(60);

/// Row 23: a connection that does not come about, or whose TLS does not, has 10 s. The clock stands still until nothing
/// but it can go on.
#[tokio::test(start_paused = true)]
async fn row_23_connecting_has_a_time_limit() {
    // One that waits to be accepted is all there is room for: what comes after it is dropped, as a firewall would.
    let full = tokio::net::TcpSocket::new_v4().unwrap();
    full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = full.listen(0).unwrap();
    let full_at = full.local_addr().unwrap();
    let _waits = std::net::TcpStream::connect(full_at).unwrap();
    // Takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_at = silent.local_addr().unwrap();
    for (scheme, at) in [("http", full_at), ("https", silent_at)] {
        let client = client(&format!("{scheme}://{at}/?token=secret"), &[]);
        let begun = tokio::time::Instant::now();
        let error = timeout(MUCH_LONGER, get(&client)).await.expect("it goes on without end").unwrap_err();
        assert_eq!(error, HttpError::ConnectTimedOut { at: at.to_string() });
        assert_eq!(error.to_string(), format!("Connecting to {at} took longer than 10 s. A firewall may drop the connection."));
        assert_eq!(begun.elapsed().as_secs(), 10, "of the clock that stood still");
    }
    // The same of a proxy, which is then what did not answer.
    let proxy = format!("http://{silent_at}");
    let through = client("https://docs.example.com/", &[("HTTPS_PROXY", &proxy)]);
    let why = timeout(MUCH_LONGER, get(&through)).await.expect("it goes on without end").unwrap_err().to_string();
    // Windows compares names in any case, and the other case is asked for first.
    let named = if cfg!(windows) { "https_proxy" } else { "HTTPS_PROXY" };
    let expected =
        format!("The proxy {proxy} (from {named}) could not be used to reach docs.example.com:443: it did not answer in time.");
    assert_eq!(why, expected);
}

/// Names of this computer are not asked of anybody.
#[tokio::test]
async fn localhost_is_this_computer() {
    let resolver = Resolver::new(true, |_| Box::pin(async { Err(io::Error::other("asked")) }));
    for name in ["localhost", "LOCALHOST.", "a.b.localhost"] {
        assert_eq!(resolver.look_up(name).await.unwrap()[0], IpAddr::from([127, 0, 0, 1]), "{name}");
    }
    let other = NameProblem::Unresolved { name: "xlocalhost".into(), why: "asked".into() };
    assert_eq!(resolver.look_up("xlocalhost").await, Err(other));
}

#[tokio::test]
async fn what_goes_wrong_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let at = format!("127.0.0.1:{free}");
    assert_eq!(get(&client(&format!("http://{at}/?token=secret"), &[])).await, Err(HttpError::Refused { at }));

    let (port, _) = answering(b"220 mail.example ESMTP\r\n").await;
    let at = format!("127.0.0.1:{port}");
    assert_eq!(get(&client(&format!("http://{at}/"), &[])).await, Err(HttpError::NotHttp { at: at.clone() }));
    let not_tls = HttpError::Tls { at: at.clone(), problem: TlsProblem::NotTls };
    assert_eq!(get(&client(&format!("https://{at}/"), &[])).await, Err(not_tls));

    let (port, _) = answering(b"").await;
    let at = format!("127.0.0.1:{port}");
    assert_eq!(get(&client(&format!("http://{at}/"), &[])).await, Err(HttpError::Closed { at }));

    let headers: String = (0..500).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let (port, _) = answering(format!("HTTP/1.1 204 No Content\r\n{headers}\r\n").leak().as_bytes()).await;
    let at = format!("127.0.0.1:{port}");
    assert_eq!(get(&client(&format!("http://{at}/"), &[])).await, Err(HttpError::TooManyHeaders { at }));
}

/// Row 9: a redirect is an answer like any other; nothing is sent to where it leads.
#[tokio::test]
async fn row_9_redirects_are_not_followed() {
    let (target, reached) = answering(NO_CONTENT).await;
    let head = format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:{target}/\r\nContent-Length: 0\r\n\r\n");
    let (port, _) = answering(head.leak().as_bytes()).await;
    assert_eq!(get(&client(&format!("http://127.0.0.1:{port}/"), &[])).await, Ok(307));
    assert_eq!(reached.load(Ordering::SeqCst), 0);
}

/// B48: the proxy gets the request for a public host, and none for a private one.
#[tokio::test]
async fn b48_the_proxy_of_the_machines_environment() {
    let (port, asked) = answering(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").await;
    let proxy = format!("http://me:hunter22@127.0.0.1:{port}");
    let environment = [("HTTPS_PROXY", proxy.as_str())];
    let error = get(&client("https://docs.example.com/mcp?key=1", &environment)).await.unwrap_err();
    let HttpError::Proxy { at, via, .. } = &error else { panic!("{error:?}") };
    assert_eq!((at.as_str(), via.origin.as_str()), ("docs.example.com:443", format!("http://127.0.0.1:{port}").as_str()));
    assert!(!error.to_string().contains("hunter22"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let (direct, reached) = answering(NO_CONTENT).await;
    assert_eq!(get(&client(&format!("http://localhost:{direct}/"), &environment)).await, Ok(204));
    assert_eq!((asked.load(Ordering::SeqCst), reached.load(Ordering::SeqCst)), (1, 1));
}
