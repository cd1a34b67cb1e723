//! A tool's result is measured as a model would receive it, and what is shown of it beside its text is fit to be shown. Half a
//! surrogate pair in it costs nothing around it.

use std::borrow::Cow;

use mework_engine::json::{Unreadable, compact, compact_size, mended};
use mework_engine::limits::RESULT_BYTES;
use mework_engine::mcp::result::{Block, ResultError, parse};
use mework_engine::text::display;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub fn law(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mended = mended(Cow::Borrowed(&text));
    mending(&text, &mended);
    let raw = &*mended;
    let parsed = parse(raw);
    // Members that nobody reads may hold what the plain parser does not take, such as `1e400`.
    let Ok(value) = serde_json::from_str::<Value>(raw) else { return };
    if let Err(error) = &parsed {
        let words = error.to_string();
        assert_eq!(display(&words), words);
    }
    match parsed {
        Ok(result) => {
            assert!(result.bytes <= RESULT_BYTES);
            assert_eq!((result.bytes, from(&result.for_model)), (result.for_model.len(), for_model(&value)));
            assert_eq!(result.content.len(), value["content"].as_array().map_or(0, Vec::len));
            assert_eq!(result.structured.as_deref().map(from).as_ref(), member(&value, "structuredContent"));
            result.content.iter().for_each(shown);
        }
        Err(ResultError::TooLarge { bytes }) => {
            assert!(bytes > RESULT_BYTES && bytes <= raw.len() + r#"{"content":[],"structuredContent":,"isError":false}"#.len());
        }
        Err(ResultError::InputRequired | ResultError::PutOff) => assert_eq!(value["resultType"], "input_required"),
        Err(ResultError::UnknownType(_)) => assert!(member(&value, "resultType").is_some_and(|kind| kind != "complete")),
        Err(ResultError::Malformed(_)) => {}
    }
}

fn from(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Half a surrogate pair costs itself: what was JSON by its grammar still is, and nothing but its depth keeps it from being read.
fn mending(text: &str, mended: &str) {
    assert_eq!(mended.len(), text.len());
    if serde_json::from_str::<Value>(text).is_ok() {
        assert_eq!(mended, text);
    }
    let raw = serde_json::from_str::<&RawValue>(mended);
    assert_eq!(raw.is_ok(), serde_json::from_str::<&RawValue>(text).is_ok());
    let Ok(raw) = raw else { return };
    match compact(raw) {
        Ok(short) => {
            assert_eq!((compact_size(raw), short.len() <= mended.len()), (Ok(short.len()), true));
            let again = serde_json::from_str(&short).expect("JSON");
            assert_eq!(compact(again), Ok(short.clone()));
        }
        Err(why) => assert_eq!(why, Unreadable::TooDeep),
    }
}

/// What is null might as well not be there.
fn member<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|value| !value.is_null())
}

fn for_model(value: &Value) -> Value {
    let mut whole = json!({ "content": value.get("content").cloned().unwrap_or_else(|| json!([])) });
    if let Some(structured) = member(value, "structuredContent") {
        whole["structuredContent"] = structured.clone();
    }
    whole["isError"] = json!(member(value, "isError").is_some_and(|flag| *flag != json!(false)));
    whole
}

fn shown(block: &Block) {
    let words = match block {
        Block::Text { .. } => vec![],
        Block::Image { width, height, .. } => {
            assert!(*width > 0 && *height > 0);
            vec![]
        }
        Block::Audio { mime, .. } => vec![mime],
        Block::ResourceLink { uri, name, mime } => [uri, name].into_iter().chain(mime).collect(),
        Block::Resource { uri, mime, .. } => [uri].into_iter().chain(mime).collect(),
        Block::Other { what } => vec![what],
    };
    assert!(words.into_iter().all(|word| display(word) == *word), "{block:?}");
}
