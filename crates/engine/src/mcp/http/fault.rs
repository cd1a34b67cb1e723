//! What can be wrong with an HTTP server's answers, and the words for it: what happened and what to do. No word of a
//! server is in it unscrubbed when it is shown, and never an address's query.

use super::super::failure::wrong_version;
use crate::limits;
use crate::machine::http::HttpError;
use crate::text::cut;

/// Bytes kept of what a server says in a refusal.
pub(super) const WORDS: usize = 300;

/// Why an HTTP server's connection ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Network(#[from] HttpError),
    #[error("{}", denied(*.status, .scheme.as_deref(), .sent, .words.as_deref()))]
    Denied {
        status: u16,
        /// The first word of WWW-Authenticate.
        scheme: Option<String>,
        /// Names of the entry's headers.
        sent: Vec<String>,
        words: Option<String>,
    },
    #[error(
        "It redirects ({status}) to another path of {0}, and redirects are not followed. Often only the slash at the end of `url` is \
         missing, or one too many.", .to.as_deref().unwrap_or_default()
    )]
    RedirectWithin { status: u16, to: Option<String> },
    #[error(
        "It redirects ({status}) to {}, and redirects are not followed: they would carry this entry's headers there. If that is where \
         the server is now, write that address into `url`.", .to.as_deref().unwrap_or("an address that cannot be read")
    )]
    Redirect {
        status: u16,
        /// The origin it leads to.
        to: Option<String>,
    },
    #[error("{}", refused(*.status, .words.as_deref()))]
    Status { status: u16, words: Option<String> },
    #[error(
        "This server speaks HTTP+SSE, the transport of protocol version 2024-11-05, which Mework does not support. Look for its \
         Streamable HTTP address (often the same host with the path /mcp), or update the server."
    )]
    LegacySse,
    #[error(
        "It answered with a web page instead of a protocol message. `url` is probably the address of a page for people (or of a \
         sign-in page in between); use the server's MCP address."
    )]
    WebPage,
    #[error("It answered with {0}, where MCP wants application/json or text/event-stream. Is this the address of an MCP server?")]
    ContentType(String),
    #[error("It compressed its answer ({0}), which it was asked not to do.")]
    Encoded(String),
    #[error("It answered {0} without a message where an answer was needed.")]
    NoAnswer(u16),
    #[error("What it answered is no protocol message, such as `{0}`. Is this the address of an MCP server?")]
    NotAMessage(String),
    #[error(
        "It answered another request: the `id` of its answer is {theirs}, and the request's is {ours}. A server has to answer with the \
         `id` it was asked with."
    )]
    OtherRequest { theirs: String, ours: String },
    #[error("It sent a message longer than {} MiB, the limit for one message.", limits::HTTP_MESSAGE_BYTES >> 20)]
    TooLong,
    #[error("It ended its answer before it was complete, and the rest could not be had.")]
    BrokenOff,
    #[error("It forgot the session, and a new one could not be opened.")]
    SessionLost,
    #[error("It forgot the session, and opened a new one in another version. {}", wrong_version(std::slice::from_ref(.0)))]
    WrongVersion(String),
    #[error("It gave the session an id that the protocol does not allow.")]
    BadSessionId,
}

impl Fault {
    /// Nothing would be different if the server were greeted in another way.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Network(_)
                | Self::Denied { .. }
                | Self::Redirect { .. }
                | Self::RedirectWithin { .. }
                | Self::Encoded(_)
                | Self::TooLong
        )
    }
    /// The kind of refusal a server of the old transport gives to a message.
    pub(super) fn may_be_legacy(&self) -> bool {
        matches!(self, Self::Status { status: 400..=499, .. } | Self::WebPage | Self::ContentType(_))
    }
}

fn denied(status: u16, scheme: Option<&str>, sent: &[String], words: Option<&str>) -> String {
    let said = words.map(|words| format!(" It says: {}", sentence(words))).unwrap_or_default();
    let example = match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("basic") => "\"Authorization\": \"Basic ${NAME}\"",
        _ => "\"Authorization\": \"Bearer ${NAME}\"",
    };
    let authorization = sent.iter().any(|name| name.eq_ignore_ascii_case("authorization"));
    let others = || sent.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match status {
        401 if authorization => format!(
            "The server did not accept `Authorization` of the entry's `headers` (401).{said} The token may be wrong, expired or for \
             another server; check the variable it comes from."
        ),
        401 if !sent.is_empty() => format!(
            "The server asks for authorization (401).{said} The entry sends {}; check the value, or set {example} in `headers` if that \
             is what the server wants.",
            others()
        ),
        401 => format!(
            "The server asks for authorization (401).{said} Set a token in the entry's `headers`, for example {example}. Mework runs \
             no sign-in flow."
        ),
        _ if authorization => format!(
            "The server refuses access (403).{said} The token in `Authorization` of the entry's `headers` may lack a permission that \
             the server wants."
        ),
        _ => format!(
            "The server refuses access (403).{said} If it wants a token, set it in the entry's `headers`, for example {example}; a \
             server on a private network may also refuse the host name in `url`."
        ),
    }
}

fn refused(status: u16, words: Option<&str>) -> String {
    let said = words.map(|words| format!(" It says: {}", sentence(words))).unwrap_or_default();
    let name = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    match status {
        404 | 410 => format!(
            "There is no MCP server at this path ({status}{name}).{said} Check the path in `url`; many servers answer at /mcp."
        ),
        405 | 406 | 415 => {
            format!("This address takes no MCP messages ({status}{name}).{said} Check `url`: is it the server's MCP address?")
        }
        429 => format!("The server was asked too often ({status}{name}).{said} Try again later."),
        500..=599 => format!("The server failed ({status}{name}).{said} Its own log may say why."),
        _ => format!("The server refused the request ({status}{name}).{said}"),
    }
}

fn sentence(words: &str) -> String {
    let words = cut(words.trim(), WORDS);
    if words.ends_with(['.', '!', '?']) { words.to_string() } else { format!("{words}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_say_which_header_to_set() {
        let denied = |status, scheme: Option<&str>, sent: &[&str]| {
            let sent = sent.iter().map(ToString::to_string).collect();
            Fault::Denied { status, scheme: scheme.map(Into::into), sent, words: None }.to_string()
        };
        assert_eq!(
            denied(401, Some("Bearer"), &[]),
            "The server asks for authorization (401). Set a token in the entry's `headers`, for example \"Authorization\": \"Bearer \
             ${NAME}\". Mework runs no sign-in flow."
        );
        assert!(denied(401, Some("basic"), &[]).contains("\"Basic ${NAME}\""));
        assert!(denied(401, None, &["authorization"]).starts_with("The server did not accept `Authorization`"));
        assert!(denied(401, None, &["x-api-key"]).contains("The entry sends `x-api-key`; check the value"));
        assert!(denied(403, None, &["Authorization"]).contains("may lack a permission"));
        assert!(denied(403, None, &[]).contains("If it wants a token"));
    }

    #[test]
    fn statuses_have_words() {
        let of = |status, words: Option<&str>| Fault::Status { status, words: words.map(Into::into) }.to_string();
        assert_eq!(
            of(404, None),
            "There is no MCP server at this path (404 Not Found). Check the path in `url`; many servers answer at /mcp."
        );
        assert_eq!(
            of(500, Some("out of memory")),
            "The server failed (500 Internal Server Error). It says: out of memory. Its own log may say why."
        );
        assert_eq!(of(499, None), "The server refused the request (499).");
    }
}
