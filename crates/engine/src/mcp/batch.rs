//! Several messages written as one list.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A longer list of messages is none.
const BATCH_MESSAGES: usize = 1024;

/// Messages written as one list, as one protocol version allows.
pub(super) struct Batch<'a>(pub Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Batch<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Messages;
        impl<'de> Visitor<'de> for Messages {
            type Value = Vec<&'de RawValue>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {BATCH_MESSAGES} messages")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut messages = Vec::new();
                while let Some(message) = list.next_element()? {
                    if messages.len() == BATCH_MESSAGES {
                        return Err(A::Error::invalid_length(BATCH_MESSAGES + 1, &self));
                    }
                    messages.push(message);
                }
                Ok(messages)
            }
        }
        deserializer.deserialize_seq(Messages).map(Self)
    }
}
