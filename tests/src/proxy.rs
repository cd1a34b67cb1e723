//! A proxy on a real socket: takes CONNECT from who has its credentials, and leads every name to one server of this
//! computer. What it was asked is kept.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::http_server::{Seen, request};

/// It ends with the test's runtime.
pub struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<Seen>>>,
}

impl Proxy {
    /// Leads to this port; `credentials` is the value of Proxy-Authorization it wants.
    pub async fn start(to: u16, credentials: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let proxy = Self { port: listener.local_addr().expect("its address").port(), asked: Arc::default() };
        let asked = proxy.asked.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let asked = asked.clone();
                tokio::spawn(async move { serve(socket, to, credentials, &asked).await });
            }
        });
        proxy
    }
    pub fn port(&self) -> u16 {
        self.port
    }
    pub fn asked(&self) -> Vec<Seen> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(mut client: TcpStream, to: u16, credentials: &str, asked: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let Some(seen) = request(&mut client).await? else { return Ok(()) };
    let known = seen.header("proxy-authorization") == credentials;
    let connect = seen.verb == "CONNECT";
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    if !connect || !known {
        let status = if connect { "407 Proxy Authentication Required" } else { "405 Method Not Allowed" };
        let refusal = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return client.write_all(refusal.as_bytes()).await;
    }
    let mut server = TcpStream::connect(("127.0.0.1", to)).await?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    copy_bidirectional(&mut client, &mut server).await.map(|_| ())
}
