//! How long JSON text would be in compact form, counted while it is read, so that a server's oversized answer costs
//! no more memory than its own bytes (security row 23).

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Bytes of the text as compact UTF-8 JSON. An error is a syntax error, or nesting deeper than 128.
pub fn compact_size(text: &str) -> Result<usize, serde_json::Error> {
    serde_json::from_str::<Count>(text).map(|count| count.0)
}

/// Bytes of a string as compact JSON, quotes included.
fn string_size(text: &str) -> usize {
    2 + text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum::<usize>()
}

struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Counter).map(Count)
    }
}

struct Counter;

impl<'de> DeserializeSeed<'de> for Counter {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counter {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<usize, E> {
        Ok(4)
    }
    fn visit_bool<E>(self, value: bool) -> Result<usize, E> {
        Ok(if value { 4 } else { 5 })
    }
    fn visit_u64<E>(self, value: u64) -> Result<usize, E> {
        Ok(value.to_string().len())
    }
    fn visit_i64<E>(self, value: i64) -> Result<usize, E> {
        Ok(value.to_string().len())
    }
    fn visit_f64<E>(self, value: f64) -> Result<usize, E> {
        Ok(serde_json::Number::from_f64(value).map_or(4, |n| n.to_string().len()))
    }
    fn visit_str<E>(self, value: &str) -> Result<usize, E> {
        Ok(string_size(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let (mut bytes, mut items) = (2, 0usize);
        while let Some(item) = seq.next_element_seed(Counter)? {
            bytes += item;
            items += 1;
        }
        Ok(bytes + items.saturating_sub(1))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<usize, A::Error> {
        let (mut bytes, mut items) = (2, 0usize);
        while let Some(key) = map.next_key_seed(Counter)? {
            bytes += key + 1 + map.next_value_seed(Counter)?;
            items += 1;
        }
        Ok(bytes + items.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,12}|[\\x00-\\x7f]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map("[\\x00-\\x7fä]{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn counts_what_serde_json_would_write(value in json()) {
            let compact = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(compact_size(&compact).unwrap(), compact.len());
            prop_assert_eq!(compact_size(&serde_json::to_string_pretty(&value).unwrap()).unwrap(), compact.len());
        }
    }

    #[test]
    fn escapes_count_as_what_they_mean() {
        assert_eq!(compact_size(r#""\u0041\/\u00e9""#).unwrap(), 6);
        assert!(compact_size(&"[".repeat(200)).is_err());
    }
}
