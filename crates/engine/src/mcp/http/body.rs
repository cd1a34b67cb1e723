//! Bodies of HTTP answers and what stands in them: a message, or a refusal and its words. Each is bounded while it is read.

use http::{HeaderName, header};
use serde_json::value::RawValue;
use url::Url;

use super::super::framer::Ended;
use super::sse::Reader;
use super::{Fault, fault};
use crate::json::{members, mended, string};
use crate::limits;
use crate::machine::http::{HttpError, Response};
use crate::text::{Scrubber, cut};

/// Bytes read of a refusal, for its words.
pub(super) const REFUSAL_BYTES: usize = 64 * 1024;

/// What a refusal says.
pub(super) struct Refusal {
    pub scheme: Option<String>,
    pub words: Option<String>,
    /// The error of a JSON-RPC answer.
    pub error: Option<Box<RawValue>>,
}

impl Refusal {
    pub async fn read(mut response: Response, scrubber: &Scrubber) -> Self {
        let scheme = text(&response, header::WWW_AUTHENTICATE).and_then(|value| value.split_whitespace().next());
        let scheme = scheme.map(|word| cut(word, 40).trim_end_matches(',').to_string());
        let kind = content_type(&response);
        let bytes = limited(&mut response, REFUSAL_BYTES).await.unwrap_or_default();
        let plain = String::from_utf8_lossy(&bytes);
        let text = mended(plain.clone());
        let object = members(&text, ["error", "error_description", "message", "detail"]);
        let [error, description, message, detail] = object.unwrap_or_default();
        let inner = error.and_then(|error| members(error.get(), ["message"])).and_then(|[message]| message);
        let words = [inner, description, message, detail, error].into_iter().flatten().find_map(string);
        let words =
            words.or_else(|| (object.is_none() && kind.as_deref() == Some("text/plain")).then(|| plain.trim().to_string()));
        // `{"error":"…"}` and `{"error":"…", …}` are other programs' ways to say something, no JSON-RPC.
        let error = error.filter(|error| error.get().starts_with('{') && error.get().contains("\"code\""));
        let error = error.map(ToOwned::to_owned);
        let words = words.filter(|words| !words.is_empty()).map(|words| scrubber.show_cut(&words, fault::WORDS));
        Self { scheme, words, error }
    }
}

pub(super) fn text(response: &Response, name: HeaderName) -> Option<&str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

/// Lower-cased, without parameters.
pub(super) fn content_type(response: &Response) -> Option<String> {
    let value = text(response, header::CONTENT_TYPE)?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

pub(super) fn origin(url: &Url) -> Option<String> {
    (url.has_host() && url.origin().is_tuple()).then(|| url.origin().ascii_serialization())
}

/// A whole body of one message.
pub(super) async fn body(response: &mut Response) -> Result<Vec<u8>, Ended> {
    limited(response, limits::HTTP_MESSAGE_BYTES).await.map_err(|error| error.map_or(Fault::TooLong, Fault::from).into())
}

/// A body of at most `limit` bytes; an error without a cause is a longer one.
pub(super) async fn limited(response: &mut Response, limit: usize) -> Result<Vec<u8>, Option<HttpError>> {
    let mut bytes = Vec::new();
    while response.read(&mut bytes).await.map_err(Some)? {
        if bytes.len() > limit {
            return Err(None);
        }
    }
    Ok(bytes)
}

pub(super) fn version_in(message: &[u8]) -> Option<String> {
    let text = mended(String::from_utf8_lossy(message));
    let [result] = members(&text, ["result"])?;
    let [version] = members(result?.get(), ["protocolVersion"])?;
    version.and_then(string)
}

/// The protocol version in the first answer of a stream.
pub(super) async fn first_version(response: &mut Response) -> Result<Option<String>, Ended> {
    let mut reader = Reader::default();
    loop {
        while let Some(event) = reader.next_event().map_err(|_| Fault::TooLong)? {
            if let Some(version) = version_in(&event.data) {
                return Ok(Some(version));
            }
        }
        if !response.read(&mut reader.buffer).await.map_err(Fault::from)? {
            return Ok(None);
        }
    }
}
