//! `GET /events`: one browser tab's view of the engine's event stream. Nothing a tab sends here is read; requests go to
//! `/rpc`. A tab that reads too slowly is told to take a new snapshot, by the engine's own bounded backlog.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use mework_engine::engine::Subscription;

use super::App;

/// Incoming messages mean nothing, so they may be small only.
const INCOMING_BYTES: usize = 4 * 1024;
/// A tab that vanished without a word is noticed by an unanswered ping.
const PING: Duration = Duration::from_secs(30);

pub(super) async fn upgrade(State(app): State<App>, socket: WebSocketUpgrade) -> Response {
    // Subscribed before the answer: nothing that happens after the tab sees the socket open is missed.
    let events = app.engine.subscribe();
    socket.max_message_size(INCOMING_BYTES).max_frame_size(INCOMING_BYTES).on_upgrade(|socket| forward(socket, events, app))
}

async fn forward(mut socket: WebSocket, mut events: Subscription, mut app: App) {
    let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + PING, PING);
    let mut answered = true;
    loop {
        let message = tokio::select! {
            _ = app.stopping.wait_for(|stop| *stop) => break,
            event = events.next() => match event {
                Some(envelope) => match serde_json::to_string(&envelope) {
                    Ok(text) => Message::text(text),
                    Err(error) => {
                        tracing::error!(%error, "an event could not be written");
                        continue;
                    }
                },
                None => break,
            },
            incoming = socket.recv() => match incoming {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(Message::Pong(_))) => {
                    answered = true;
                    continue;
                }
                Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_))) => continue,
            },
            _ = ping.tick() => {
                if !std::mem::replace(&mut answered, false) {
                    return;
                }
                Message::Ping(Bytes::new())
            }
        };
        let stopped = async { drop(app.stopping.clone().wait_for(|stop| *stop).await) };
        tokio::select! {
            sent = socket.send(message) => if sent.is_err() { return },
            () = stopped => break,
        }
    }
    // A tab that does not read its last message does not hold up the end.
    let _ = tokio::time::timeout(Duration::from_millis(500), socket.send(Message::Close(None))).await;
}
