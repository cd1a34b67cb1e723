//! Requests and events between the page and the engine: one command for all requests, one channel for all events. Both
//! pass on what `mework_engine::api` says; the page behind `mework serve` speaks the same JSON.

use std::sync::Arc;

use mework_engine::api::{Request, dispatch};
use mework_engine::engine::Engine;
use mework_engine::error::Error;
use mework_engine::wire::Envelope;
use serde_json::Value;
use tauri::State;
use tauri::ipc::Channel;

#[tauri::command]
pub async fn rpc(engine: State<'_, Arc<Engine>>, request: Request) -> Result<Value, Error> {
    dispatch(&engine, request).await
}

/// Every event from now on, until the page that asked is gone.
#[tauri::command]
pub fn subscribe(engine: State<'_, Arc<Engine>>, channel: Channel<Envelope>) {
    let mut events = engine.subscribe();
    tauri::async_runtime::spawn(async move {
        while let Some(envelope) = events.next().await {
            if channel.send(envelope).is_err() {
                break;
            }
        }
    });
}
