//! Several messages written as one list, as one protocol version (2025-03-26) allows.

use serde_json::value::RawValue;

use crate::json::items;

/// A longer list of messages is none.
const BATCH_MESSAGES: usize = 1024;

pub(super) fn messages(text: &str) -> Option<Vec<&RawValue>> {
    items(text, BATCH_MESSAGES + 1).filter(|messages| messages.len() <= BATCH_MESSAGES)
}
