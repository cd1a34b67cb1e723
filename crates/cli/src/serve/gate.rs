//! Who may talk to the server: the right Host and Origin (a page elsewhere, or a name rebound to 127.0.0.1, has neither),
//! and the cookie that the one-time token in the printed address was exchanged for. It knows nothing of what is served.

use std::sync::{Mutex, PoisonError};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mework_engine::error::{Error, ErrorCode};
use serde_json::json;

pub struct Gate {
    port: u16,
    /// Gone once it was used.
    token: Mutex<Option<Secret>>,
    cookie: Secret,
}

/// 256 random bits as hexadecimal digits.
struct Secret(String);

impl Secret {
    fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }
    /// Takes the same time wherever the two differ.
    fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        own.len() == given.len()
            && std::hint::black_box(own.iter().zip(given).fold(0, |differences, (a, b)| differences | (a ^ b))) == 0
    }
}

pub enum Verdict {
    Pass,
    /// The token was right: set this and show the clean address.
    SignedIn {
        cookie: HeaderValue,
    },
    Refused(Refusal),
}

pub enum Refusal {
    /// Host or Origin is not ours.
    Elsewhere,
    /// No cookie, a wrong one, or a token that is wrong or was used.
    Stranger { wants_page: bool },
}

impl Gate {
    /// A gate for this port, and the token that opens it once.
    pub fn new(port: u16) -> Result<(Self, String), getrandom::Error> {
        let token = Secret::new()?;
        let shown = token.0.clone();
        Ok((Self { port, token: Mutex::new(Some(token)), cookie: Secret::new()? }, shown))
    }

    pub fn judge(&self, request: &Request) -> Verdict {
        let headers = request.headers();
        let Some(host) = self.host(request) else { return Verdict::Refused(Refusal::Elsewhere) };
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let upgrades = headers.contains_key(header::UPGRADE);
        match only(headers, header::ORIGIN) {
            Sole::Missing if reads && !upgrades => {}
            Sole::Value(origin) if origin.strip_prefix("http://") == Some(host) => {}
            _ => return Verdict::Refused(Refusal::Elsewhere),
        }
        let wants_page = reads && !upgrades && request.uri().path() == "/";
        if wants_page && let Some(given) = request.uri().query().and_then(token_of) {
            return if self.spend(given) { Verdict::SignedIn { cookie: self.set_cookie() } } else { self.stranger(true) };
        }
        if self.has_cookie(headers) { Verdict::Pass } else { self.stranger(wants_page) }
    }

    fn stranger(&self, wants_page: bool) -> Verdict {
        Verdict::Refused(Refusal::Stranger { wants_page })
    }

    /// The one Host of the request, if it is ours. A request line with a whole URL in it must agree.
    fn host<'r>(&self, request: &'r Request) -> Option<&'r str> {
        let Sole::Value(host) = only(request.headers(), header::HOST) else { return None };
        let ours = |text: &str| {
            let (name, port) = match text.split_once(':') {
                Some((name, port)) => (name, port.parse().ok()),
                None => (text, Some(80)),
            };
            matches!(name, "127.0.0.1" | "localhost") && port == Some(self.port)
        };
        (ours(host) && request.uri().authority().is_none_or(|authority| authority.as_str() == host)).then_some(host)
    }

    fn spend(&self, given: &str) -> bool {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.take_if(|token| token.is(given)).is_some()
    }

    /// Cookies do not know ports, so the name carries it: two servers at once do not sign each other out.
    fn cookie_name(&self) -> String {
        format!("mework_{}", self.port)
    }

    fn set_cookie(&self) -> HeaderValue {
        let text = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.cookie.0);
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(key, value)| key == name && self.cookie.is(value))
    }
}

enum Sole<'h> {
    Missing,
    Value(&'h str),
    /// Several, or one that is no text.
    Odd,
}

fn only(headers: &HeaderMap, name: header::HeaderName) -> Sole<'_> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Sole::Missing,
        (Some(value), None) => value.to_str().map_or(Sole::Odd, Sole::Value),
        (Some(_), Some(_)) => Sole::Odd,
    }
}

fn token_of(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Elsewhere => (StatusCode::FORBIDDEN, "This server answers only its own page.\n").into_response(),
            Self::Stranger { wants_page: true } => (
                StatusCode::UNAUTHORIZED,
                [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
                "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Mework</title>\
                 <h1>This browser is not signed in</h1>\
                 <p>The address that <code>mework serve</code> printed works once. If it was just used here, \
                 <a href=\"/\">continue to Mework</a>. Otherwise stop the command, start it again and open the new address.</p>\n",
            )
                .into_response(),
            Self::Stranger { wants_page: false } => {
                let error = Error::new(ErrorCode::BadRequest, "This browser is not signed in. Open the address that `mework serve` printed.");
                (StatusCode::UNAUTHORIZED, [(header::CONTENT_TYPE, "application/json")], json!({ "error": error }).to_string())
                    .into_response()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Request {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }
    fn word(verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Pass => "pass",
            Verdict::SignedIn { .. } => "signed in",
            Verdict::Refused(Refusal::Elsewhere) => "elsewhere",
            Verdict::Refused(Refusal::Stranger { .. }) => "stranger",
        }
    }

    #[test]
    fn row_22_only_our_own_page_with_the_cookie_passes() {
        let (gate, _) = Gate::new(8123).unwrap();
        let right = format!("mework_8123={}", gate.cookie.0);
        let longer = format!("{right}0");
        let ours = ("host", "127.0.0.1:8123");
        let from_us = ("origin", "http://127.0.0.1:8123");
        for (expected, method, uri, headers) in [
            ("pass", "GET", "/", vec![ours, ("cookie", &right)]),
            ("pass", "GET", "/", vec![("host", "localhost:8123"), ("cookie", &right)]),
            ("pass", "POST", "/rpc", vec![ours, from_us, ("cookie", &right)]),
            ("pass", "GET", "/", vec![ours, ("cookie", "a=b"), ("cookie", &right)]),
            ("pass", "GET", "/events", vec![ours, from_us, ("upgrade", "websocket"), ("cookie", &right)]),
            // No cookie, a wrong one, another port's.
            ("stranger", "GET", "/", vec![ours]),
            ("stranger", "GET", "/", vec![ours, ("cookie", "mework_8123=")]),
            ("stranger", "GET", "/", vec![ours, ("cookie", &longer)]),
            ("stranger", "GET", "/", vec![ours, ("cookie", &right.replace("8123=", "8124="))]),
            // Names that lead here but are not ours: DNS rebinding.
            ("elsewhere", "GET", "/", vec![("cookie", &right)]),
            ("elsewhere", "GET", "/", vec![("host", "evil.example:8123"), ("cookie", &right)]),
            ("elsewhere", "GET", "/", vec![("host", "127.0.0.1"), ("cookie", &right)]),
            ("elsewhere", "GET", "/", vec![("host", "127.0.0.1:80"), ("cookie", &right)]),
            ("elsewhere", "GET", "/", vec![("host", "localhost.:8123"), ("cookie", &right)]),
            ("elsewhere", "GET", "/", vec![("host", "a.localhost:8123"), ("cookie", &right)]),
            ("elsewhere", "GET", "/", vec![ours, ("host", "evil.example"), ("cookie", &right)]),
            ("elsewhere", "GET", "http://evil.example/", vec![ours, ("cookie", &right)]),
            // Pages elsewhere in the same browser.
            ("elsewhere", "POST", "/rpc", vec![ours, ("cookie", &right)]),
            ("elsewhere", "POST", "/rpc", vec![ours, ("origin", "null"), ("cookie", &right)]),
            ("elsewhere", "POST", "/rpc", vec![ours, ("origin", "http://evil.example"), ("cookie", &right)]),
            ("elsewhere", "POST", "/rpc", vec![ours, ("origin", "https://127.0.0.1:8123"), ("cookie", &right)]),
            ("elsewhere", "POST", "/rpc", vec![ours, ("origin", "http://localhost:8123"), ("cookie", &right)]),
            ("elsewhere", "GET", "/", vec![ours, ("origin", "http://evil.example"), ("cookie", &right)]),
            ("elsewhere", "GET", "/events", vec![ours, ("upgrade", "websocket"), ("cookie", &right)]),
            ("elsewhere", "GET", "/events", vec![ours, from_us, from_us, ("upgrade", "websocket"), ("cookie", &right)]),
        ] {
            assert_eq!(word(gate.judge(&request(method, uri, &headers))), expected, "{method} {uri} {headers:?}");
        }
    }

    #[test]
    fn row_22_the_token_opens_once_and_a_wrong_one_does_not_spend_it() {
        let (gate, token) = Gate::new(8123).unwrap();
        let visit = |token: &str| word(gate.judge(&request("GET", &format!("/?token={token}"), &[("host", "127.0.0.1:8123")])));
        assert_eq!(visit(""), "stranger");
        assert_eq!(visit(&token[1..]), "stranger");
        assert_eq!(visit(&token.replace(|c: char| c.is_ascii_digit(), "x")), "stranger");
        assert_eq!(visit(&token), "signed in");
        assert_eq!(visit(&token), "stranger");
    }

    #[test]
    fn a_port_of_80_may_go_unsaid() {
        let (gate, _) = Gate::new(80).unwrap();
        assert_eq!(word(gate.judge(&request("GET", "/", &[("host", "127.0.0.1")]))), "stranger");
    }

    #[test]
    fn the_cookie_is_for_this_server_alone_and_out_of_scripts_reach() {
        let (gate, _) = Gate::new(8123).unwrap();
        let cookie = gate.set_cookie();
        assert_eq!(cookie.to_str().unwrap(), format!("mework_8123={}; HttpOnly; SameSite=Strict; Path=/", gate.cookie.0));
        assert_eq!(gate.cookie.0.len(), 64);
    }
}
