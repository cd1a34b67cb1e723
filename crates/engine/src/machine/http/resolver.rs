//! Name resolution that checks its answers (row 10): the addresses it hands out are the ones that are connected to, so
//! a name that is private now and public at the next connection is refused then.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::machine::address::is_private_address;

/// Why a name is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameProblem {
    #[error("{name} leads to the public address {ip}")]
    Public { name: String, ip: IpAddr },
    #[error("{name} could not be resolved: {why}")]
    Unresolved { name: String, why: String },
}

pub(super) type Answer = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// What a name leads to.
pub(super) trait Ask: Fn(String) -> Answer + Send + Sync + 'static {}
impl<F: Fn(String) -> Answer + Send + Sync + 'static> Ask for F {}

/// The system's answer.
pub(super) fn system(name: String) -> Answer {
    Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect()) })
}

#[derive(Clone)]
pub(super) struct Resolver {
    /// Every answer must be a private address.
    private_only: bool,
    ask: Arc<dyn Fn(String) -> Answer + Send + Sync>,
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("private_only", &self.private_only).finish_non_exhaustive()
    }
}

impl Resolver {
    pub fn new(private_only: bool, ask: impl Ask) -> Self {
        Self { private_only, ask: Arc::new(ask) }
    }

    /// All addresses of a name, none of which may be public when only private ones count.
    pub async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, NameProblem> {
        let unresolved = |why: String| NameProblem::Unresolved { name: name.into(), why };
        // This computer's own name is nobody's to answer for.
        if is_localhost(name) {
            return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        }
        let found = (self.ask)(name.to_string()).await.map_err(|error| unresolved(error.to_string()))?;
        if found.is_empty() {
            return Err(unresolved("it has no address".into()));
        }
        match found.iter().find(|ip| self.private_only && !is_private_address(**ip)) {
            Some(ip) => Err(NameProblem::Public { name: name.into(), ip: *ip }),
            None => Ok(found),
        }
    }
}

/// `localhost` and `*.localhost` (RFC 6761).
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"))
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.look_up(name.as_str()).await?;
            let addresses: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}
