//! `mework serve`: the same app in a browser, on this computer only. It owns the loopback listener, who may talk to it
//! ([`gate`]), the page it hands out ([`page`]) and the two ways in: `POST /rpc` and the events' WebSocket ([`events`]).
//! What requests mean is [`mework_engine::api`]'s.
//!
//! Other web pages in the same browser, other users of the computer and anything that can be made to send a request here
//! count as hostile: nothing is answered without the right Host, the right Origin and the cookie (security rows 8 and 22).

mod events;
mod gate;
mod page;

use std::convert::Infallible;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use mework_engine::api;
use mework_engine::engine::Engine;
use mework_engine::error::{Error, ErrorCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::args;
use crate::output::note;
use crate::surroundings;
use gate::Gate;
use page::Page;

/// A request's body; arguments of a call have 2 MiB, and their JSON escapes may double that.
const BODY_BYTES: usize = 4 * 1024 * 1024;
/// How long open connections have to finish their answers once the server is asked to stop.
const DRAIN: Duration = Duration::from_secs(2);

/// Security row 8's policy for a page that is not inside Tauri.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; \
     connect-src 'self'; frame-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; \
     require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

/// What every request handler sees.
#[derive(Clone)]
struct App {
    engine: Arc<Engine>,
    gate: Arc<Gate>,
    page: Arc<Page>,
    /// Turns true when the server is to stop; sockets end on it.
    stopping: watch::Receiver<bool>,
    /// Held by every handler and socket; when all are gone, everything was said.
    _busy: mpsc::Sender<Infallible>,
}

pub fn run(args: args::Serve) -> ExitCode {
    let ended = (|| {
        let page = Page::find(args.ui.as_deref()).map_err(Error::failed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::failed(format!("Mework could not start: {error}.")))?;
        let ended = runtime.block_on(serve(args, page));
        runtime.shutdown_background();
        ended
    })();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&error.message);
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: args::Serve, page: Page) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).await.map_err(|e| {
        Error::failed(format!(
            "Port {} of 127.0.0.1 cannot be used: {e}. Choose another with --port, or leave it out.",
            args.port
        ))
    })?;
    let port = listener.local_addr().map_err(|e| Error::failed(format!("The listener has no address: {e}.")))?.port();
    let (gate, token) = Gate::new(port).map_err(|e| Error::failed(format!("The system gives no random numbers: {e}.")))?;
    let engine = surroundings::engine(surroundings::surroundings()?, "the browser (mework serve)").await?;
    let (stop, stopping) = watch::channel(false);
    let (busy, mut idle) = mpsc::channel(1);
    let app = App { engine: engine.clone(), gate: Arc::new(gate), page: Arc::new(page), stopping: stopping.clone(), _busy: busy };

    let url = format!("http://127.0.0.1:{port}/?token={token}");
    let mut out = std::io::stdout().lock();
    // A reader that went away is no reason to stop serving.
    let _ = writeln!(out, "Mework is at {url}").and_then(|()| out.flush());
    drop(out);
    note("The address works once; the browser stays signed in until this stops. Ctrl-C stops it.");
    if args.open
        && let Err(error) = open::that_detached(&url)
    {
        note(&format!("No browser could be opened ({error}); open the address yourself."));
    }

    let mut until = stopping;
    let serving = axum::serve(listener, router(app)).with_graceful_shutdown(async move {
        let _ = until.wait_for(|stop| *stop).await;
    });
    let serving = tokio::spawn(async move { serving.await });
    crate::signals::asked_to_stop().await;
    note("Stopping: ending servers.");
    let _ = stop.send(true);
    // An answer that is still being made may depend on a server that the engine is about to end.
    let drained = tokio::time::timeout(DRAIN, async {
        let _ = serving.await;
        let _ = idle.recv().await;
    });
    tokio::select! {
        () = async { let _ = drained.await; engine.shutdown().await } => {}
        // Asked again: leave now. The lifeline of every server's supervisor ends with this process.
        () = crate::signals::asked_to_stop() => {}
    }
    Ok(())
}

fn router(app: App) -> Router {
    Router::new()
        .route("/rpc", post(rpc))
        .route("/events", get(events::upgrade))
        .fallback(page::answer)
        .layer(middleware::from_fn_with_state(app.clone(), admit))
        .layer(middleware::map_response(harden))
        .with_state(app)
}

/// Nothing passes without the right Host, Origin and cookie, but the one request that brings the token.
async fn admit(State(app): State<App>, request: Request, next: middleware::Next) -> Response {
    match app.gate.judge(&request) {
        gate::Verdict::Pass => next.run(request).await,
        gate::Verdict::SignedIn { cookie } => {
            let mut response = StatusCode::SEE_OTHER.into_response();
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        gate::Verdict::Refused(reason) => reason.into_response(),
    }
}

async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn rpc(State(app): State<App>, headers: HeaderMap, body: Body) -> Response {
    let json = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).and_then(|v| v.split(';').next());
    if !json.is_some_and(|v| v.trim().eq_ignore_ascii_case("application/json")) {
        return failed(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Error::new(ErrorCode::BadRequest, "The request must be application/json."),
        );
    }
    let body: Bytes = match to_bytes(body, BODY_BYTES).await {
        Ok(body) => body,
        Err(_) => {
            return failed(
                StatusCode::PAYLOAD_TOO_LARGE,
                Error::new(
                    ErrorCode::BadRequest,
                    format!("The request could not be read, or is larger than {BODY_BYTES} bytes."),
                ),
            );
        }
    };
    let request: api::Request = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => {
            return failed(
                StatusCode::BAD_REQUEST,
                Error::new(ErrorCode::BadRequest, format!("The request is not one: {error}.")),
            );
        }
    };
    // On a task of its own: a browser that goes away must not stop a change halfway (B42).
    let engine = app.engine.clone();
    match tokio::spawn(async move { api::dispatch(&engine, request).await }).await {
        Ok(Ok(reply)) => json_response(StatusCode::OK, &json!({ "ok": reply })),
        // The request was understood; that it failed is its answer.
        Ok(Err(error)) => failed(StatusCode::OK, error),
        Err(_) => failed(StatusCode::OK, Error::failed("Mework met an error of its own while answering; the rest goes on.")),
    }
}

fn failed(status: StatusCode, error: Error) -> Response {
    json_response(status, &json!({ "error": error }))
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
