//! Asks a server of the later protocol versions to say when its tools change (`subscriptions/listen`): they say nothing by
//! themselves. When the stream ends, it is asked again, a bounded number of times. Nothing depends on it: a server that
//! refuses is left alone, and one that breaks a bound here breaks it as anywhere.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, NumberOrString, RequestId, SubscriptionFilter, SubscriptionsListenRequest,
    SubscriptionsListenRequestParams,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::again::Again;
use super::link::Link;

pub(super) const METHOD: &str = "subscriptions/listen";
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// How long telling a server that a subscription is of no use may take.
const CANCEL_NOTICE: Duration = Duration::from_secs(2);

/// What the answer to a subscription is when its stream broke off: no word of the server's.
const BROKEN_OFF: ErrorCode = ErrorCode(-32_700_001);

pub(super) fn broken_off() -> ErrorData {
    ErrorData::new(BROKEN_OFF, "the stream broke off", None)
}

/// What a server said about the subscription that it was asked for last.
#[derive(Debug, Default)]
pub(super) struct Subscribed {
    id: Mutex<Option<RequestId>>,
    said: watch::Sender<Said>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Said {
    acknowledged: Option<Accepted>,
    cancelled: bool,
    news: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepted {
    Tools,
    /// Of what was asked for, nothing.
    Nothing,
}

impl Subscribed {
    /// From here on nothing that was said of an earlier one counts.
    pub fn begin(&self) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.said.send_replace(Said::default());
    }

    /// The request is about to be written.
    pub fn asked(&self, id: RequestId) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }

    pub fn brought_news(&self) {
        self.said.send_if_modified(|said| !std::mem::replace(&mut said.news, true));
    }

    /// Tools changed since it began.
    pub fn has_news(&self) -> bool {
        self.said.borrow().news
    }

    /// An acknowledgment, or the server's word that it ends a subscription; heard only of the one that was asked for last.
    pub fn heard(&self, method: &str, params: Option<&RawValue>) {
        let Some(params) = params.and_then(|raw| serde_json::from_str::<Params>(raw.get()).ok()) else { return };
        let about = if method == ACKNOWLEDGED { params.meta.and_then(|meta| meta.subscription) } else { params.request_id };
        if about.is_none() || about != *self.id.lock().unwrap_or_else(PoisonError::into_inner) {
            return;
        }
        self.said.send_modify(|said| match method {
            ACKNOWLEDGED => {
                let tools = params.notifications.is_some_and(|accepted| accepted.tools_list_changed == Some(true));
                said.acknowledged = Some(if tools { Accepted::Tools } else { Accepted::Nothing });
            }
            _ => said.cancelled = true,
        });
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
    #[serde(default)]
    notifications: Option<SubscriptionFilter>,
    #[serde(default)]
    request_id: Option<NumberOrString>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: Option<NumberOrString>,
}

/// How a subscription ended.
#[derive(PartialEq, Eq)]
enum End {
    /// It may be asked for again.
    Over,
    /// The server does not offer it, or the connection is over.
    ForGood,
}

/// Keeps a subscription for as long as the connection lives, or until it is no use. `listening` becomes true with the first
/// acknowledgment, and is dropped when there will be none.
pub(super) async fn keep(link: Link, listening: watch::Sender<bool>) {
    let mut again = Again::default();
    loop {
        let begun = Instant::now();
        if once(&link, &listening).await == End::ForGood {
            return;
        }
        let Some(pause) = again.after(begun.elapsed(), link.wire.subscribed.has_news(), None) else { return };
        sleep(pause).await;
    }
}

async fn once(link: &Link, listening: &watch::Sender<bool>) -> End {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let request = SubscriptionsListenRequest::new(SubscriptionsListenRequestParams::new(filter));
    link.wire.subscribed.begin();
    let Ok(mut sent) = link.send(ClientRequest::SubscriptionsListenRequest(request)).await else { return End::ForGood };
    let mut said = link.wire.subscribed.said.subscribe();
    let mut known = None;
    loop {
        let heard = async { said.wait_for(|said| said.cancelled || said.acknowledged != known).await.map(|said| *said) };
        let heard = tokio::select! {
            biased;
            heard = heard => heard,
            answer = link.answer(&mut sent) => return match answer {
                // The server ended it in good order.
                Ok(Ok(_)) => End::Over,
                Ok(Err(error)) if error.code == BROKEN_OFF => End::Over,
                Ok(Err(_)) | Err(_) => End::ForGood,
            },
        };
        let Ok(heard) = heard else { return End::ForGood };
        if heard.acknowledged == Some(Accepted::Nothing) {
            let _ = timeout(CANCEL_NOTICE, sent.cancel(Some("nothing of it was accepted".into()))).await;
            return End::ForGood;
        }
        // What changed while nobody listened was not told to anybody.
        if heard.acknowledged != known && listening.send_replace(true) {
            link.wire.mark_tools_changed();
        }
        known = heard.acknowledged;
        if heard.cancelled {
            return End::Over;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rmcp::service::serve_client_with_lifecycle;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::super::Era;
    use super::super::far::Far;
    use super::super::handshake::{Client, mode};
    use super::super::log::Logs;
    use super::*;
    use crate::mcp::wire::{StdioTransport, Wire};
    use crate::text::Scrubber;

    /// How often a server is asked whose subscriptions end well after this long, until `enough` or for good.
    async fn asked(lives: Duration, enough: usize) -> usize {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (from_us, mut to_us) = tokio::io::split(theirs);
        let count = Arc::new(AtomicUsize::new(0));
        let counting = count.clone();
        let server = tokio::spawn(async move {
            let mut lines = BufReader::new(from_us).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                let id = &message["id"];
                let result = if message["method"] == METHOD {
                    counting.fetch_add(1, Ordering::SeqCst);
                    sleep(lives).await;
                    json!({ "resultType": "complete" })
                } else {
                    json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": { "listChanged": true } } })
                };
                let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
                to_us.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
        });
        let scrubber = Scrubber::default();
        let wire = Wire::new(Logs::new(scrubber.clone()).of(&"native:local:/h/mcp.json#a".parse().unwrap()));
        let (read, write) = tokio::io::split(ours);
        let transport = StdioTransport::new(read, write, wire.clone());
        let service = serve_client_with_lifecycle(Client, transport, mode(Era::Discover)).await.unwrap();
        let link = Link { rmcp: service.peer().clone(), wire, far: Far::Address { scrubber } };
        let keeping = tokio::spawn(keep(link, watch::channel(false).0));
        // More often than it is asked, and no oftener: each look costs Wine a millisecond.
        let look = (lives / 10).max(Duration::from_millis(100));
        while !keeping.is_finished() && count.load(Ordering::SeqCst) < enough {
            sleep(look).await;
        }
        keeping.abort();
        server.abort();
        count.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_that_never_lasts_is_given_up_and_one_that_does_is_not() {
        assert_eq!(asked(Duration::ZERO, 100).await, 6, "once, and five times again");
        assert_eq!(asked(Duration::from_secs(30), 100).await, 100);
    }

    #[test]
    fn only_the_last_subscription_is_heard_of() {
        let subscribed = Subscribed::default();
        let said = || *subscribed.said.borrow();
        let hear = |method: &str, params: &str| subscribed.heard(method, Some(&RawValue::from_string(params.into()).unwrap()));
        let yes = |id: &str| {
            format!(
                r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{{"toolsListChanged":true}}}}"#
            )
        };
        hear(ACKNOWLEDGED, &yes("7"));
        assert_eq!(said(), Said::default());
        subscribed.asked(RequestId::Number(7));
        for other in [yes("6"), yes("\"7\""), "{}".into(), "[]".into(), r#"{"requestId":7}"#.into()] {
            hear(ACKNOWLEDGED, &other);
            assert_eq!(said(), Said::default(), "{other}");
        }
        hear(ACKNOWLEDGED, &yes("7"));
        assert_eq!(said().acknowledged, Some(Accepted::Tools));
        hear("notifications/cancelled", r#"{"requestId":6}"#);
        assert!(!said().cancelled);
        hear("notifications/cancelled", r#"{"requestId":7}"#);
        assert!(said().cancelled);
        subscribed.begin();
        subscribed.asked(RequestId::Number(8));
        hear(ACKNOWLEDGED, r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":8},"notifications":{}}"#);
        assert_eq!(said(), Said { acknowledged: Some(Accepted::Nothing), ..Said::default() });
    }
}
