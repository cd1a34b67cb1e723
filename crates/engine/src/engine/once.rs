//! Every changing request runs once, whatever is sent again (B42): a repeat waits for, or gets again, the first answer.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde_json::Value;
use tokio::sync::watch;

use crate::error::{Error, ErrorCode};

/// Finished requests that are remembered. A window sends a request again within seconds, if ever.
const REMEMBERED: usize = 1024;
const ID_BYTES: usize = 128;

type Answer = Option<Result<Value, Error>>;

#[derive(Default)]
pub struct Once {
    /// Oldest first.
    requests: Mutex<IndexMap<String, Run>>,
}

struct Run {
    /// What was asked, so that an id used for something else is noticed.
    what: String,
    answer: watch::Receiver<Answer>,
}

impl Once {
    /// Runs `request` unless one with this id ran or runs. It goes on to its end even when whoever asked goes away.
    pub async fn run<F>(&self, id: &str, what: String, request: F) -> Result<Value, Error>
    where
        F: Future<Output = Result<Value, Error>> + Send + 'static,
    {
        if id.is_empty() || id.len() > ID_BYTES {
            return Err(Error::new(ErrorCode::BadRequest, format!("A request's id has 1 to {ID_BYTES} bytes.")));
        }
        let mut answer = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            match requests.entry(id.to_owned()) {
                Entry::Occupied(run) if run.get().what == what => run.get().answer.clone(),
                Entry::Occupied(_) => {
                    return Err(Error::new(ErrorCode::BadRequest, "This request's id was used for another request."));
                }
                Entry::Vacant(place) => {
                    let (done, answer) = watch::channel(None);
                    place.insert(Run { what, answer: answer.clone() });
                    tokio::spawn(async move {
                        let result = request.await;
                        done.send_replace(Some(result));
                    });
                    forget_oldest(&mut requests);
                    answer
                }
            }
        };
        let answered = answer.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
        answered.unwrap_or_else(|| Err(Error::failed("The request broke off. Try again.")))
    }
}

/// Requests still under way are never forgotten.
fn forget_oldest(requests: &mut IndexMap<String, Run>) {
    let mut excess = requests.len().saturating_sub(REMEMBERED);
    if excess > 0 {
        requests.retain(|_, run| {
            let forget = excess > 0 && run.answer.borrow().is_some();
            excess -= usize::from(forget);
            !forget
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn b42_a_repeat_waits_for_the_first_and_gets_its_answer() {
        let once = Arc::new(Once::default());
        let runs = Arc::new(AtomicU32::new(0));
        let (go, gate) = oneshot::channel::<()>();
        let counted = |gate: Option<oneshot::Receiver<()>>| {
            let runs = runs.clone();
            async move {
                if let Some(gate) = gate {
                    gate.await.unwrap();
                }
                Ok(json!(runs.fetch_add(1, Ordering::SeqCst) + 1))
            }
        };
        let first = tokio::spawn({
            let (once, request) = (once.clone(), counted(Some(gate)));
            async move { once.run("a", "x".into(), request).await }
        });
        while once.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        // The first one's asker goes away; the request goes on.
        first.abort();
        let second = tokio::spawn({
            let (once, request) = (once.clone(), counted(None));
            async move { once.run("a", "x".into(), request).await }
        });
        go.send(()).unwrap();
        assert_eq!(second.await.unwrap(), Ok(json!(1)));
        assert_eq!(once.run("a", "x".into(), counted(None)).await, Ok(json!(1)), "finished ones are remembered");
        assert_eq!(once.run("b", "x".into(), counted(None)).await, Ok(json!(2)));
        assert_eq!(once.run("a", "y".into(), counted(None)).await.unwrap_err().code, ErrorCode::BadRequest);
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn b42_what_is_remembered_is_bounded_and_a_failure_is_an_answer_too() {
        let once = Once::default();
        let failed = || async { Err(Error::failed("no")) };
        for n in 0..REMEMBERED + 5 {
            assert_eq!(once.run(&n.to_string(), String::new(), failed()).await, Err(Error::failed("no")));
        }
        assert_eq!(once.requests.lock().unwrap().len(), REMEMBERED);
        assert_eq!(once.run("1020", String::new(), async { Ok(json!(1)) }).await, Err(Error::failed("no")));
        assert_eq!(once.run(&"x".repeat(ID_BYTES + 1), String::new(), failed()).await.unwrap_err().code, ErrorCode::BadRequest);
    }
}
