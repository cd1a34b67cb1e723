//! Being asked to stop: Ctrl-C, and on Unix the polite signals a terminal or a service manager sends.

/// Waits until someone asks this process to stop.
#[cfg(unix)]
pub async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind| async move {
        match signal(kind) {
            Ok(mut signal) => drop(signal.recv().await),
            // Without a handler the signal ends the process by itself.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

/// Waits until someone asks this process to stop.
#[cfg(not(unix))]
pub async fn asked_to_stop() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler Ctrl-C ends the process by itself.
        std::future::pending().await
    }
}
