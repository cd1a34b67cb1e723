//! A tool's result is measured as a model would receive it, and what is shown of it beside its text is fit to be shown.

use mework_engine::limits::RESULT_BYTES;
use mework_engine::mcp::result::{Block, ResultError, parse};
use mework_engine::text::display;
use serde_json::{Value, json};

pub fn law(data: &[u8]) {
    let Ok(raw) = std::str::from_utf8(data) else { return };
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
            assert_eq!(result.for_model, for_model(&value));
            measured(result.bytes, &result.for_model);
            assert_eq!(result.content.len(), value["content"].as_array().map_or(0, Vec::len));
            assert_eq!(result.structured.as_ref(), member(&value, "structuredContent"));
            result.content.iter().for_each(shown);
        }
        Err(ResultError::TooLarge { bytes }) => {
            assert!(bytes > RESULT_BYTES);
            measured(bytes, &for_model(&value));
        }
        Err(ResultError::InputRequired | ResultError::PutOff) => assert_eq!(value["resultType"], "input_required"),
        Err(ResultError::UnknownType(_)) => assert!(member(&value, "resultType").is_some_and(|kind| kind != "complete")),
        Err(ResultError::Malformed(_)) => {}
    }
}

/// Members that are written twice count twice, and a model receives the last one: nothing is more than what was measured.
fn measured(bytes: usize, for_model: &Value) {
    assert!(for_model.to_string().len() <= bytes);
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
