//! HTTP clients of a machine: the one door through which an HTTP server is reached (B7, B48, rows 9, 10). A client is
//! made for one address. It follows no redirect, sends no Referer, asks the proxy of the machine's environment for
//! public hosts only, trusts the platform's certificates, and checks what a private name resolves to.
//!
//! It knows nothing of MCP: what is asked, what an answer means and how long it may be is its caller's.

mod proxy;
mod resolver;
mod tls;

use std::error::Error as StdError;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use url::{Host, Url};

use super::environment::Environment;
use crate::limits;
pub use proxy::{ProxyProblem, Via};
use resolver::{Ask, NameProblem, Resolver};
pub use tls::TlsProblem;
pub(super) use tls::{Roots, TlsSettings};

/// A connection nobody uses is closed before the server does it: many close theirs after 5 s, and a request that
/// crosses with that is lost.
const IDLE_SOCKET: Duration = Duration::from_secs(4);
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A client could not be made at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error(transparent)]
    Proxy(#[from] ProxyProblem),
    #[error("{0}")]
    Tls(String),
    #[error("The HTTP client could not be made: {0}.")]
    Other(String),
}

/// Why no answer came, or why one broke off. Holds no address but host and port, and no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error(
        "http:// works only for private networks, and the name {name} leads to the public address {ip}. Use https://, or the name \
         of a private host."
    )]
    NotPrivate { name: String, ip: IpAddr },
    #[error("The name {name} could not be resolved: {why}. Check `url`, and whether this network knows that name.")]
    Unresolved { name: String, why: String },
    #[error("Nobody listens at {at}: the connection was refused. Is the server running, and is that its port?")]
    Refused { at: String },
    #[error("Connecting to {at} took longer than {} s. A firewall may drop the connection.", limits::HTTP_CONNECT_TIMEOUT.as_secs())]
    ConnectTimedOut { at: String },
    #[error("{at} could not be reached: {why}.")]
    Unreachable { at: String, why: String },
    #[error("{at}: {problem}")]
    Tls { at: String, problem: TlsProblem },
    #[error("{via} could not be used to reach {at}: {why}.")]
    Proxy { at: String, via: Via, why: String },
    #[error("{at} answered with something that is not HTTP. Is the port right, and should `url` begin with https://?")]
    NotHttp { at: String },
    #[error("{at} sent more headers than an answer may have.")]
    TooManyHeaders { at: String },
    #[error("{at} closed the connection before its answer was complete.")]
    Closed { at: String },
    #[error("The request to {at} failed: {why}.")]
    Other { at: String, why: String },
}

/// A client for one address. Cheap to clone; clones share their sockets.
#[derive(Debug, Clone)]
pub struct Client {
    inner: reqwest::Client,
    url: Url,
    via: Option<Via>,
    resolver: Resolver,
}

/// The head of an answer, and its body piece by piece.
#[derive(Debug)]
pub struct Response {
    inner: reqwest::Response,
    about: About,
}

/// What errors are worded with.
#[derive(Debug, Clone)]
struct About {
    at: String,
    via: Option<Via>,
    secure: bool,
}

impl Client {
    /// `url` must have passed [`crate::machine::address`]'s rule for `http://`.
    pub(super) fn new(url: &Url, environment: &Environment, tls: &TlsSettings) -> Result<Self, ClientError> {
        Self::asking(url, environment, tls, resolver::system)
    }

    /// The same with another answer to what a name leads to; what may be done with it is decided here (row 10).
    fn asking(url: &Url, environment: &Environment, tls: &TlsSettings, ask: impl Ask) -> Result<Self, ClientError> {
        let proxy = proxy::choose(url, environment)?;
        let secure = url.scheme() == "https";
        let resolver = Resolver::new(!secure, ask);
        let config = tls.config().map_err(ClientError::Tls)?;
        // `no_proxy` first: it keeps the process's own environment and settings out.
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .https_only(secure)
            .http1_only()
            .connect_timeout(limits::HTTP_CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_SOCKET)
            .tcp_keepalive(KEEPALIVE)
            .user_agent(concat!("mework/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(config)
            .dns_resolver(Arc::new(resolver.clone()));
        let mut via = None;
        if let Some(chosen) = proxy {
            builder = builder.proxy(chosen.proxy);
            via = Some(chosen.via);
        }
        let inner = builder.build().map_err(|error| ClientError::Other(innermost(&error.without_url())))?;
        Ok(Self { inner, url: url.clone(), via, resolver })
    }

    /// The proxy that is asked.
    pub fn via(&self) -> Option<&Via> {
        self.via.as_ref()
    }

    /// `host:port` of the address.
    pub fn at(&self) -> String {
        at(&self.url)
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The addresses the name leads to, all of which may be used. None when a proxy looks for it.
    pub async fn addresses(&self) -> Result<Vec<IpAddr>, HttpError> {
        match self.url.host() {
            Some(Host::Ipv4(ip)) => Ok(vec![IpAddr::V4(ip)]),
            Some(Host::Ipv6(ip)) => Ok(vec![IpAddr::V6(ip)]),
            Some(Host::Domain(name)) if self.via.is_none() => self.resolver.look_up(name).await.map_err(HttpError::from),
            Some(Host::Domain(_)) | None => Ok(Vec::new()),
        }
    }

    /// Sends one request and waits for the head of its answer, whatever its status.
    pub async fn send(&self, method: Method, headers: HeaderMap, body: Option<Vec<u8>>) -> Result<Response, HttpError> {
        let about = self.about();
        let mut request = self.inner.request(method, self.url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        match request.send().await {
            Ok(inner) => Ok(Response { inner, about }),
            Err(error) => Err(classify(&error, error.is_connect(), error.is_timeout(), &about)),
        }
    }

    fn about(&self) -> About {
        About { at: self.at(), via: self.via.clone(), secure: self.url.scheme() == "https" }
    }
}

impl Response {
    pub fn status(&self) -> StatusCode {
        self.inner.status()
    }
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }
    /// Appends the next piece of the body; false at its end. Pieces are no longer than what a socket delivers at once.
    pub async fn read(&mut self, into: &mut Vec<u8>) -> Result<bool, HttpError> {
        match self.inner.chunk().await {
            Ok(Some(piece)) => {
                into.extend_from_slice(&piece);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => Err(classify(&error, false, error.is_timeout(), &self.about)),
        }
    }
}

fn at(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_string(),
    }
}

impl From<NameProblem> for HttpError {
    fn from(problem: NameProblem) -> Self {
        match problem {
            NameProblem::Public { name, ip } => Self::NotPrivate { name, ip },
            NameProblem::Unresolved { name, why } => Self::Unresolved { name, why },
        }
    }
}

/// What an error of the client means: the first cause in its chain that says so. `connecting`: no byte was sent yet.
fn classify(error: &(dyn StdError + 'static), connecting: bool, timed_out: bool, about: &About) -> HttpError {
    let at = about.at.clone();
    let chain: Vec<&(dyn StdError + 'static)> = chain(error);
    let find = |kinds: &[io::ErrorKind]| {
        chain.iter().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|io| kinds.contains(&io.kind()))
    };
    if let Some(tls) = chain.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        return HttpError::Tls { at, problem: TlsProblem::of(tls) };
    }
    if let Some(via) = about.via.clone().filter(|_| connecting) {
        let why = if timed_out { "it did not answer in time".into() } else { innermost(error) };
        return HttpError::Proxy { at, via, why };
    }
    if let Some(name) = chain.iter().find_map(|cause| cause.downcast_ref::<NameProblem>()) {
        return name.clone().into();
    }
    let hyper = chain.iter().find_map(|cause| cause.downcast_ref::<hyper::Error>());
    if connecting {
        return match () {
            () if timed_out || find(&[io::ErrorKind::TimedOut]) => HttpError::ConnectTimedOut { at },
            () if find(&[io::ErrorKind::ConnectionRefused]) => HttpError::Refused { at },
            // What listens there hangs up on the first bytes of TLS.
            () if about.secure && find(&[io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset]) => {
                HttpError::Tls { at, problem: TlsProblem::HungUp }
            }
            () => HttpError::Unreachable { at, why: innermost(error) },
        };
    }
    match hyper {
        Some(hyper) if hyper.is_parse() && hyper.to_string().contains("too large") => HttpError::TooManyHeaders { at },
        Some(hyper) if hyper.is_parse() => HttpError::NotHttp { at },
        Some(hyper) if hyper.is_incomplete_message() => HttpError::Closed { at },
        _ if find(&[io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe]) => {
            HttpError::Closed { at }
        }
        _ => HttpError::Other { at, why: innermost(error) },
    }
}

/// An error and its causes. An I/O error hides the one it carries from `source`, so that is looked for.
fn chain<'a>(error: &'a (dyn StdError + 'static)) -> Vec<&'a (dyn StdError + 'static)> {
    let mut causes = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next.filter(|_| causes.len() < 32) {
        causes.push(cause);
        let carried = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match carried {
            Some(carried) => Some(carried as &(dyn StdError + 'static)),
            None => cause.source(),
        };
    }
    causes
}

/// The words of the innermost cause; outer ones repeat the address.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default().trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests;
