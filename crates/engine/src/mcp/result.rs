//! What a tool call came to. Its size is counted on the raw text before anything is built from it (B26, row 23); then each
//! block is read by itself: an image is decoded and checked, and what cannot be shown is named.

use std::borrow::Cow;
use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use image::ImageDecoder as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::{Unreadable, compact, compact_size, members, string};
use crate::limits;
use crate::text::{Scrubber, display_capped};

/// Characters of a name, URI or type that is shown.
const SHOWN_CHARS: usize = 2000;
/// Larger images are named instead of shown.
const IMAGE_SIDE: u32 = 8192;
/// So are those that would take more memory when they are decoded. Decoders take up to twice as much beside that (row 23).
const IMAGE_BYTES: u64 = 16 * 1024 * 1024;

/// A result that a server sent. `is_error` means that the tool says it failed.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    pub is_error: bool,
    pub content: Vec<Block>,
    /// Compact JSON whose numbers are written as the server wrote them.
    pub structured: Option<String>,
    /// B26's size: bytes of the compact JSON `{content, structuredContent?, isError}`.
    pub bytes: usize,
    /// That JSON: what a model receives.
    pub for_model: String,
}

/// One block of a result's content. `text` is as the server sent it, everything else is safe to show.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Text {
        text: String,
    },
    /// Decoded and size-checked PNG, JPEG, GIF or WebP; `data` is base64.
    Image {
        mime: &'static str,
        data: String,
        width: u32,
        height: u32,
    },
    Audio {
        mime: String,
        bytes: usize,
    },
    ResourceLink {
        uri: String,
        name: String,
        mime: Option<String>,
    },
    /// An embedded text resource.
    Resource {
        uri: String,
        mime: Option<String>,
        text: String,
    },
    /// Named, not shown: a block that failed its checks, binary data, an unknown type.
    Other {
        what: String,
    },
}

/// Why a result cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultError {
    #[error(
        "The result is {bytes} bytes long; the limit is {} bytes. It was refused, not cut short: ask the tool for less.",
        limits::RESULT_BYTES
    )]
    TooLarge { bytes: usize },
    #[error("The result is not what the protocol says: {0}.")]
    Malformed(String),
    #[error("The tool asks for input of its own while it runs, which Mework does not offer to servers.")]
    InputRequired,
    #[error("The server put the call off: it wants to be asked again with a state that it gave, which Mework does not do.")]
    PutOff,
    #[error("The result is of the type `{0}`, which Mework does not know.")]
    UnknownType(String),
}

impl ResultError {
    /// The same without the secrets that a server's words may hold (row 16).
    pub(super) fn scrubbed(self, scrubber: &Scrubber) -> Self {
        match self {
            Self::UnknownType(kind) => Self::UnknownType(scrubber.show_cut(&kind, usize::MAX)),
            other => other,
        }
    }
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    content: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "isError")]
    is_error: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "resultType")]
    result_type: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "inputRequests")]
    input_requests: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "requestState")]
    request_state: Option<&'a RawValue>,
}

impl Written<'_> {
    /// What a result wants that is no answer yet.
    fn wants(&self) -> ResultError {
        let nothing = |raw: &&RawValue| compact(raw).as_deref() == Ok("{}");
        match (self.input_requests, self.request_state) {
            (Some(requests), _) if !nothing(&requests) => ResultError::InputRequired,
            (_, Some(_)) => ResultError::PutOff,
            (_, None) => ResultError::Malformed("it wants input and does not say which".into()),
        }
    }
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A longer result takes noticeable time to read.
const QUICK_BYTES: usize = 16 * 1024;

/// Whether [`parse`] is over in no time: a short text without images.
pub fn is_quick(raw: &str) -> bool {
    #[derive(Deserialize)]
    struct Kinds<'a> {
        #[serde(default, borrow)]
        content: Vec<Kind<'a>>,
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(default, borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    // What is not written like this, a member that stands there twice included, takes the other road.
    raw.len() <= QUICK_BYTES
        && raw.trim_start().starts_with('{')
        && serde_json::from_str::<Kinds<'_>>(raw).is_ok_and(|written| written.content.iter().all(|block| block.kind != "image"))
}

/// Reads the result of `tools/call`. Decoding images takes time: call it where that may block, unless it [`is_quick`].
pub fn parse(raw: &str) -> Result<CallResult, ResultError> {
    let malformed = |what: &str| ResultError::Malformed(what.into());
    // A list would be read member by member in the order of ours.
    if !raw.trim_start().starts_with('{') {
        return Err(malformed("it is not an object"));
    }
    let written: Written<'_> = serde_json::from_str(raw).map_err(|error| {
        let words = error.to_string();
        malformed(words.split(" at line ").next().unwrap_or_default())
    })?;
    if let Some(kind) = written.result_type {
        match serde_json::from_str::<String>(kind.get()).as_deref() {
            Ok("complete") => {}
            Ok("input_required") => return Err(written.wants()),
            _ => return Err(ResultError::UnknownType(display_capped(kind.get(), 80))),
        }
    }
    // Anything but a plain "no" counts as a failure.
    let is_error = written.is_error.is_some_and(|raw| raw.get() != "false");
    let unreadable = |why: Unreadable| malformed(&why.to_string());
    let size = |raw: Option<&RawValue>| raw.map_or(Ok(0), compact_size).map_err(unreadable);
    let content = match written.content {
        Some(raw) if !raw.get().starts_with('[') => return Err(malformed("its `content` is not a list")),
        Some(_) => size(written.content)?,
        None => "[]".len(),
    };
    let structured = match size(written.structured)? {
        0 => 0,
        bytes => r#","structuredContent":"#.len() + bytes,
    };
    let bytes = r#"{"content":"#.len() + content + structured + format!(r#","isError":{is_error}}}"#).len();
    if bytes > limits::RESULT_BYTES {
        return Err(ResultError::TooLarge { bytes });
    }
    let list: Vec<&RawValue> = match written.content {
        Some(raw) => serde_json::from_str(raw.get()).map_err(|_| malformed("its `content` is not a list"))?,
        None => Vec::new(),
    };
    let content = written.content.map_or(Ok("[]".into()), compact).map_err(unreadable)?;
    let structured = written.structured.map(compact).transpose().map_err(unreadable)?;
    let beside = structured.as_ref().map(|structured| format!(r#","structuredContent":{structured}"#)).unwrap_or_default();
    let for_model = format!(r#"{{"content":{content}{beside},"isError":{is_error}}}"#);
    Ok(CallResult { is_error, content: list.into_iter().map(block).collect(), structured, bytes, for_model })
}

fn block(raw: &RawValue) -> Block {
    let [kind, text, data, mime, uri, name, resource] =
        members(raw.get(), ["type", "text", "data", "mimeType", "uri", "name", "resource"]).unwrap_or_default();
    let (text, data, mime) = (text.and_then(string), data.and_then(string), shown(mime));
    let other = |what: String| Block::Other { what };
    match kind.and_then(string).as_deref() {
        Some("text") => match text {
            Some(text) => Block::Text { text },
            None => other("a text block without text".into()),
        },
        Some("image") => match data {
            Some(data) => image(&data, mime.as_deref()).unwrap_or_else(other),
            None => other("An image without data".into()),
        },
        Some("audio") => {
            Block::Audio { mime: mime.unwrap_or_else(|| "audio".into()), bytes: data.as_deref().map_or(0, decoded_bytes) }
        }
        Some("resource_link") => match shown(uri) {
            Some(uri) => Block::ResourceLink { name: shown(name).unwrap_or_else(|| uri.clone()), uri, mime },
            None => other("a link to a resource, without its address".into()),
        },
        Some("resource") => self::resource(resource),
        Some(kind) => other(format!("a block of the type `{}`", display_capped(kind, 80))),
        None => other("a block without a type".into()),
    }
}

fn resource(raw: Option<&RawValue>) -> Block {
    let found = raw.and_then(|raw| members(raw.get(), ["uri", "mimeType", "text", "blob"]));
    let [uri, mime, text, blob] = found.unwrap_or_default();
    let (uri, mime) = (shown(uri).unwrap_or_default(), shown(mime));
    match (text.and_then(string), blob.and_then(string)) {
        (Some(text), _) => Block::Resource { uri, mime, text },
        (None, Some(blob)) => {
            let kind = mime.unwrap_or_else(|| "binary data".into());
            Block::Other { what: format!("a resource of {} bytes ({kind}): {uri}", decoded_bytes(&blob)) }
        }
        (None, None) => Block::Other { what: "a resource without content".into() },
    }
}

/// A name, URI or type, safe to show.
fn shown(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(string).map(|word| display_capped(&word, SHOWN_CHARS))
}

fn decoded_bytes(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// Decodes and checks an image (row 30); what it is instead, when it is none that may be shown.
fn image(data: &str, claimed: Option<&str>) -> Result<Block, String> {
    let named = |why: &str| {
        let kind = claimed.map_or(String::new(), |mime| format!(" ({})", display_capped(mime, 80)));
        format!("An image{kind} that is not shown: {why}")
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).map_err(|_| named("its data is not base64"))?;
    let format = image::guess_format(&bytes).map_err(|_| named("it is no PNG, JPEG, GIF or WebP"))?;
    let mime = match format {
        image::ImageFormat::Png => "image/png",
        image::ImageFormat::Jpeg => "image/jpeg",
        image::ImageFormat::Gif => "image/gif",
        image::ImageFormat::WebP => "image/webp",
        _ => return Err(named("it is no PNG, JPEG, GIF or WebP")),
    };
    let mut reader = image::ImageReader::with_format(Cursor::new(&bytes), format);
    let mut bounds = image::Limits::default();
    bounds.max_alloc = Some(IMAGE_BYTES);
    reader.limits(bounds);
    let decoder = reader.into_decoder().map_err(|_| named("it cannot be decoded"))?;
    let (width, height) = decoder.dimensions();
    if width > IMAGE_SIDE || height > IMAGE_SIDE || decoder.total_bytes() > IMAGE_BYTES {
        return Err(named(&format!("{width} × {height} is too large")));
    }
    // However many come at the same time, one after the other takes that memory.
    static ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    image::DynamicImage::from_decoder(decoder).map_err(|_| named("it cannot be decoded"))?;
    Ok(Block::Image { mime, data: base64::engine::general_purpose::STANDARD.encode(&bytes), width, height })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn of(value: Value) -> CallResult {
        parse(&value.to_string()).unwrap()
    }

    fn blocks(content: Value) -> Vec<Block> {
        of(json!({ "content": content })).content
    }

    fn picture(format: image::ImageFormat, width: u32, height: u32) -> String {
        let mut bytes = Cursor::new(Vec::new());
        image::DynamicImage::new_rgb8(width, height).write_to(&mut bytes, format).unwrap();
        base64::engine::general_purpose::STANDARD.encode(bytes.into_inner())
    }

    fn other(what: &str) -> Block {
        Block::Other { what: what.into() }
    }

    #[test]
    fn b26_the_size_is_the_compact_json_a_model_receives() {
        let result = parse(
            "{ \"_meta\": {\"x\":1}, \"content\": [ {\"type\":\"text\", \"text\":\"\\u00e4\"} ], \"structuredContent\": {\"a\": 1} }",
        )
        .unwrap();
        let expected = r#"{"content":[{"type":"text","text":"ä"}],"structuredContent":{"a":1},"isError":false}"#;
        assert_eq!((result.bytes, result.for_model.as_str()), (expected.len(), expected));
        assert_eq!(of(json!({})).bytes, r#"{"content":[],"isError":false}"#.len());
    }

    #[test]
    fn numbers_keep_their_digits_and_cost_nothing_else() {
        let structured = r#"{"id":1234567890123456789,"big":123456789012345678901234567890,"c":1.0,"d":1e999,"c":2}"#;
        let text = r#"{"type":"text","text":"ok","annotations":{"priority":1e999}}"#;
        let raw = format!(r#"{{"content":[{text}, {{"type":1e999}}],"structuredContent": {structured}, "_meta":{{"a":1e999}}}}"#);
        let result = parse(&raw).unwrap();
        assert_eq!(result.structured.as_deref(), Some(structured));
        assert_eq!(result.content, [Block::Text { text: "ok".into() }, other("a block without a type")]);
        let for_model = format!(r#"{{"content":[{text},{{"type":1e999}}],"structuredContent":{structured},"isError":false}}"#);
        assert_eq!((result.bytes, result.for_model.as_str()), (for_model.len(), for_model.as_str()));
    }

    #[test]
    fn only_short_texts_without_images_are_read_at_once() {
        let quick = |raw: &str| is_quick(raw);
        assert!(quick(r#"{"content":[{"type":"text","text":"hello"},{"type":"audio"}],"structuredContent":{"content":1}}"#));
        assert!(quick("{}") && quick(r#"{"content":[{}]}"#));
        assert!(!quick(r#"{"content":[{"type":"text"},{"type":"image","data":""}]}"#));
        assert!(!quick(r#"{"content":[{"type":"im\u0061ge"}]}"#));
        assert!(!quick(r#"{"content":[{"type":"image","type":"text"}]}"#));
        assert!(!quick(r#"{"content":[],"content":[{"type":"image"}]}"#));
        assert!(!quick(&json!({ "content": [{ "type": "text", "text": "x".repeat(QUICK_BYTES) }] }).to_string()));
        assert!(!quick("[]") && !quick("x"));
    }

    #[test]
    fn b26_over_64_kib_is_refused_with_its_size() {
        let sized = |bytes: usize| {
            let frame = r#"{"content":[{"type":"text","text":""}],"isError":false}"#.len();
            parse(&json!({ "content": [{ "type": "text", "text": "x".repeat(bytes - frame) }] }).to_string())
        };
        assert_eq!(sized(limits::RESULT_BYTES).unwrap().bytes, 65536);
        let error = sized(limits::RESULT_BYTES + 1).unwrap_err();
        assert_eq!(error, ResultError::TooLarge { bytes: 65537 });
        assert!(error.to_string().starts_with("The result is 65537 bytes long; the limit is 65536 bytes."));
    }

    #[test]
    fn b26_anything_but_false_is_a_failed_call() {
        for (value, failed) in [(json!(true), true), (json!("false"), true), (json!(false), false), (json!(null), false)] {
            assert_eq!(of(json!({ "content": [], "isError": value })).is_error, failed);
        }
    }

    #[test]
    fn results_of_the_newer_protocol_have_a_type() {
        assert!(!of(json!({ "resultType": "complete", "content": [] })).is_error);
        let wants = |rest: Value| {
            let mut result = json!({ "resultType": "input_required" });
            result.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            parse(&result.to_string()).unwrap_err()
        };
        let question = json!({ "name": { "method": "elicitation/create", "params": {} } });
        assert_eq!(wants(json!({ "inputRequests": question })), ResultError::InputRequired);
        assert_eq!(wants(json!({ "inputRequests": question, "requestState": "s" })), ResultError::InputRequired);
        // Nothing is asked of anybody.
        for requests in [json!({ "requestState": "s" }), json!({ "requestState": "s", "inputRequests": {} })] {
            let put_off = wants(requests);
            assert_eq!(put_off, ResultError::PutOff);
            assert!(put_off.to_string().starts_with("The server put the call off: it wants to be asked again"));
        }
        assert_eq!(wants(json!({})), ResultError::Malformed("it wants input and does not say which".into()));
        assert_eq!(parse(r#"{"resultType":"task"}"#).unwrap_err(), ResultError::UnknownType("\"task\"".into()));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let why = |raw: &str| parse(raw).unwrap_err();
        for other in ["5", "[]", r#"[[{"type":"text","text":"x"}],{},true]"#] {
            assert_eq!(why(other), ResultError::Malformed("it is not an object".into()));
        }
        let scrubber = Scrubber::default();
        scrubber.add(["s3cret-token"]);
        let kind = why(r#"{"resultType":"s3cret-token"}"#).scrubbed(&scrubber);
        assert_eq!(kind, ResultError::UnknownType("\"•••\"".into()));
        assert_eq!(why(r#"{"content":"x"}"#), ResultError::Malformed("its `content` is not a list".into()));
        assert_eq!(why(r#"{"content":[],"content":[]}"#), ResultError::Malformed("duplicate field `content`".into()));
        let deep = format!("{{\"content\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(why(&deep), ResultError::Malformed("it is nested deeper than 127 levels".into()));
    }

    #[test]
    fn row_30_images_are_decoded_and_size_checked() {
        for (format, mime) in [
            (image::ImageFormat::Png, "image/png"),
            (image::ImageFormat::Jpeg, "image/jpeg"),
            (image::ImageFormat::Gif, "image/gif"),
            (image::ImageFormat::WebP, "image/webp"),
        ] {
            let data = picture(format, 3, 2);
            // What the bytes are counts, not what the server calls them.
            let seen = blocks(json!([{ "type": "image", "mimeType": "image/svg+xml", "data": data }]));
            assert_eq!(seen, [Block::Image { mime, data, width: 3, height: 2 }]);
        }
        let svg = base64::engine::general_purpose::STANDARD.encode("<svg onload='x()'/>");
        let cut = &picture(image::ImageFormat::Png, 30, 30)[..60];
        let seen = blocks(json!([
            { "type": "image", "mimeType": "image/svg+xml", "data": svg },
            { "type": "image", "mimeType": "image/png", "data": "%%%" },
            { "type": "image", "mimeType": "image/png", "data": cut },
            { "type": "image", "mimeType": "image/png", "data": picture(image::ImageFormat::Png, 8193, 1) },
            { "type": "image", "mimeType": "image/webp", "data": picture(image::ImageFormat::WebP, 2400, 2400) },
            { "type": "image" },
        ]));
        assert_eq!(
            seen,
            [
                other("An image (image/svg+xml) that is not shown: it is no PNG, JPEG, GIF or WebP"),
                other("An image (image/png) that is not shown: its data is not base64"),
                other("An image (image/png) that is not shown: it cannot be decoded"),
                other("An image (image/png) that is not shown: 8193 × 1 is too large"),
                other("An image (image/webp) that is not shown: 2400 × 2400 is too large"),
                other("An image without data"),
            ]
        );
    }

    #[test]
    fn other_blocks_are_named() {
        let seen = blocks(json!([
            { "type": "text", "text": "a\u{202e}b" },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" },
            { "type": "resource_link", "uri": "file:///a\u{202e}" },
            { "type": "resource_link", "uri": "u:", "name": "n", "mimeType": "m" },
            { "type": "resource", "resource": { "uri": "u:", "text": "t" } },
            { "type": "resource", "resource": { "uri": "u:", "mimeType": "m", "blob": "AAAA" } },
            { "type": "resource" },
            { "type": "hologram" },
            7,
        ]));
        assert_eq!(
            seen,
            [
                Block::Text { text: "a\u{202e}b".into() },
                Block::Audio { mime: "audio/wav".into(), bytes: 3 },
                Block::ResourceLink { uri: "file:///a⟨U+202E⟩".into(), name: "file:///a⟨U+202E⟩".into(), mime: None },
                Block::ResourceLink { uri: "u:".into(), name: "n".into(), mime: Some("m".into()) },
                Block::Resource { uri: "u:".into(), mime: None, text: "t".into() },
                other("a resource of 3 bytes (m): u:"),
                other("a resource without content"),
                other("a block of the type `hologram`"),
                other("a block without a type"),
            ]
        );
    }

    proptest! {
        #[test]
        fn never_panics(raw in "\\PC{0,40}|\\{\"content\":[\\[\\]{}\":,a-z0-9]{0,40}\\}") {
            let _ = parse(&raw);
        }
    }
}
