//! JSON-RPC over Streamable HTTP, as a transport under rmcp. Ours instead of the crate's, because each message is read
//! leniently ([`super::wire`]), everything is bounded while it is read (B21, row 23), arguments are sent as they were
//! shown, and every refusal gets its words. Both eras: with sessions (up to 2025-11-25) and without (2026-07-28).
//!
//! [`session`] holds one server's exchanges, [`greet`] begins them, [`body`] and [`sse`] read bodies and event streams, [`fault`] words what
//! goes wrong. How bytes travel is the machine's ([`crate::machine::http`]).

mod body;
mod fault;
pub(super) mod greet;
pub(super) mod headers;
mod session;
#[doc(hidden)]
pub mod sse;

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::wire::{Kind, Outgoing, Wire};
pub use fault::Fault;
use session::Session;

/// Messages that wait for the service to take them.
const QUEUE: usize = 64;
/// How long telling a server something that has no answer may take.
const NOTICE: Duration = Duration::from_secs(10);
/// How long a server may take to hear that the greeting is over. A person waits meanwhile, and nothing depends on it.
const GREETED: Duration = Duration::from_secs(2);
/// How long telling a server that its session is over may take.
const FAREWELL: Duration = Duration::from_secs(2);

type Item = RxJsonRpcMessage<RoleClient>;

/// What runs for one connection; it ends with the last owner.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> tokio::task::AbortHandle {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }
    fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

/// Owns a connection to an address. Dropping it ends every exchange at once, without a word to the server.
pub(super) struct Remote {
    session: Arc<Session>,
    tasks: Tasks,
}

impl Remote {
    /// Ends every exchange and the server's session.
    pub async fn close(self) {
        self.tasks.end();
        let _ = timeout(FAREWELL, self.session.delete()).await;
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.tasks.end();
    }
}

pub(super) struct HttpTransport {
    session: Arc<Session>,
    tasks: Tasks,
    items: mpsc::Receiver<Item>,
}

/// A transport, and what owns its exchanges.
fn transport(session: impl FnOnce(mpsc::Sender<Item>) -> Session) -> (HttpTransport, Remote) {
    let (to, items) = mpsc::channel(QUEUE);
    let (session, tasks) = (Arc::new(session(to)), Tasks::default());
    let remote = Remote { session: session.clone(), tasks: tasks.clone() };
    (HttpTransport { session, tasks, items }, remote)
}

impl HttpTransport {
    fn wire(&self) -> &Arc<Wire> {
        &self.session.wire
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = io::Error;

    /// A request is on its way when this resolves, and what comes of it is received; anything else was taken by the
    /// server, so that what is sent next comes after it.
    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let out = self.wire().outgoing(&item);
        let (session, tasks) = (self.session.clone(), self.tasks.clone());
        async move {
            let Outgoing { bytes, kind } = out?;
            match kind {
                Kind::Request(request) => {
                    let id = request.id.clone();
                    let exchange = session.clone();
                    let handle = tasks.spawn(async move { exchange.request(&request, bytes).await });
                    session.runs(id, handle);
                }
                Kind::Cancel(id) => {
                    // Hanging up is how the later protocol versions are told; sessions want a message.
                    session.hang_up(id.as_ref());
                    if session.has_sessions() {
                        let _ = timeout(NOTICE, session.notice(bytes)).await;
                    }
                }
                Kind::Notification { method } => {
                    let begins = method == "notifications/initialized";
                    let patience = if begins { GREETED } else { NOTICE };
                    if timeout(patience, session.notice(bytes)).await.is_err() {
                        session.did_not_take(&method, patience);
                    }
                    if begins {
                        tasks.spawn(async move { session.listen().await });
                    }
                }
                Kind::Answer => {
                    let _ = timeout(NOTICE, session.notice(bytes)).await;
                    session.wire.answered();
                }
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<Item> {
        tokio::select! {
            biased;
            item = self.items.recv() => item,
            _ = self.session.wire.until_ended() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.items.close();
        Ok(())
    }
}
