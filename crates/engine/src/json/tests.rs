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

/// A piece of a string of JSON, and what becomes of it.
fn piece() -> impl Strategy<Value = (String, String)> {
    let same = |text: String| (text.clone(), text);
    prop_oneof![
        "[a-z\u{e4}\u{1f980} u]{1,4}".prop_map(same),
        "(\\\\[\\\\\"/bfnrt]){1,3}".prop_map(same),
        "\\\\u(00[0-9a-fA-F]{2}|[eE][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})".prop_map(same),
        "\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}".prop_map(same),
        // No piece begins with a low half, so this one stays alone.
        "\\\\u[dD][89abAB][0-9a-fA-F]{2}".prop_map(|half| (half + "x", "\\ufffdx".into())),
        "x\\\\u[dD][c-fC-F][0-9a-fA-F]{2}".prop_map(|half| (half, "x\\ufffd".into())),
    ]
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

proptest! {
    #[test]
    fn half_a_pair_becomes_one_mark_and_all_else_stays(pieces in proptest::collection::vec(piece(), 0..12)) {
        let (before, after): (String, String) = pieces.into_iter().unzip();
        let text = format!("{{\"{before}\": [\"{before}\", 1]}}");
        prop_assert_eq!(&*mended(Cow::Borrowed(&text)), format!("{{\"{after}\": [\"{after}\", 1]}}"));
        prop_assert!(serde_json::from_str::<Value>(&mended(text.into())).is_ok());
    }

    /// No text is worse afterwards, JSON or not.
    #[test]
    fn mending_keeps_the_length_and_is_done_once(text in "([\\\\u\"{}a\u{e4}]|\\\\u|d8|DC|[0-9]){0,40}") {
        let once = mended(Cow::Borrowed(&text)).into_owned();
        prop_assert_eq!(once.len(), text.len());
        prop_assert_eq!(&*mended(Cow::Borrowed(&once)), &once);
        if serde_json::from_str::<Value>(&text).is_ok() {
            prop_assert_eq!(once, text);
        }
    }

    #[test]
    fn compact_is_what_serde_json_would_write(value in json()) {
        let compact = serde_json::to_string(&value).unwrap();
        for text in [&compact, &serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(super::compact(raw(text)).unwrap(), compact.as_str());
            prop_assert_eq!(compact_size(raw(text)).unwrap(), compact.len());
        }
    }
}

#[test]
fn a_number_keeps_its_characters() {
    let text = "[ 12345678901234567890.10e+2,-0.0 ,1E999, 1e-999,0.1000000000000000055511151231257827 ]";
    assert_eq!(compact(raw(text)).unwrap(), text.replace(' ', ""));
    assert_eq!(compact(raw(" 1.50 ")).unwrap(), "1.50");
}

#[test]
fn what_no_number_holds_is_the_greatest_one_where_it_is_reckoned_with() {
    let (text, replaced) = reckonable(raw(r#"{"maximum":1e999,"minimum":-1e999,"1e999":"1e999","n":9e15}"#)).unwrap();
    let max = "1.7976931348623157e308";
    assert_eq!(text, format!(r#"{{"maximum":{max},"minimum":-{max},"1e999":"1e999","n":9e15}}"#));
    assert!(replaced && serde_json::from_str::<Value>(&text).is_ok());
    assert_eq!(reckonable(raw("[1, 1e-999]")).unwrap(), ("[1,1e-999]".into(), false));
}

#[test]
fn escapes_count_as_what_they_mean() {
    assert_eq!(compact_size(raw(r#""\u0041\/\u00e9""#)).unwrap(), 6);
    assert_eq!(compact(raw(r#""\\\"{\u0007" "#)).unwrap(), r#""\\\"{\u0007""#);
}

#[test]
fn what_has_no_use_is_said() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(compact_size(raw(&deep(DEPTH))), Ok(2 * DEPTH));
    assert!(serde_json::from_str::<Value>(&deep(DEPTH)).is_ok() && serde_json::from_str::<Value>(&deep(DEPTH + 1)).is_err());
    assert_eq!(compact_size(raw(&deep(DEPTH + 1))), Err(Unreadable::TooDeep));
    assert_eq!(compact(raw(r#"["\ud83d"]"#)), Err(Unreadable::Half));
}

#[test]
fn members_are_found_by_what_their_names_mean() {
    let object = r#"{"a":1e999,"b":null,"\u0063":"x","a": [2 ],"e":"\ud83d"}"#;
    let text = |found: Option<&RawValue>| found.map(|raw| raw.get().to_string());
    let found = members(object, ["a", "b", "c", "d"]).unwrap().map(text);
    assert_eq!(found, [Some("[2 ]".into()), Some("null".into()), Some("\"x\"".into()), None]);
    for other in ["[]", "5", "{", "{} {}", ""] {
        assert!(members(other, ["a"]).is_none(), "{other}");
    }
    assert_eq!(string(raw(r#""\u0041""#)), Some("A".into()));
    assert_eq!(string(raw("5")), None);
}

#[test]
fn of_a_list_no_more_is_kept_than_is_wanted() {
    let text = |list: &str, most| -> Option<Vec<String>> {
        super::items(list, most).map(|found| found.into_iter().map(|raw| raw.get().into()).collect())
    };
    assert_eq!(text("[1, [ 2],\"\\ud83d\"]", 9), Some(vec!["1".into(), "[ 2]".into(), "\"\\ud83d\"".into()]));
    assert_eq!(text("[1,2,3]", 2), Some(vec!["1".into(), "2".into()]));
    assert_eq!(text("[]", 1), Some(vec![]));
    for other in ["{}", "5", "[1", "[1,2,]", "[1] 2", ""] {
        assert_eq!(text(other, 1), None, "{other}");
    }
}

#[test]
fn the_same_said_in_two_ways_has_one_meaning() {
    let meaning = |text: &str| super::meaning(serde_json::from_str::<&RawValue>(text).unwrap()).unwrap();
    for (a, b, expected) in [
        (r#"{ "a": [1, null, "x", true] }"#, r#"{"\u0061":[1,null,"\u0078",true]}"#, true),
        ("1234567890123456789", "1234567890123456788", false),
        ("[150, 0.5, -0.0, 1e999]", "[1.50e2, 5E-1, 0, 10.0e+998]", true),
        ("-1", "1", false),
        ("1e400", "1e401", false),
        ("0e5", "-0", true),
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, false),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, false),
        ("[1]", "[1,2]", false),
        (r#""1""#, "1", false),
        (r#""1.0""#, r#""1""#, false),
        ("null", "false", false),
        ("1e99999999999999999999999999999999999999999", "1e99999999999999999999999999999999999999998", false),
    ] {
        assert_eq!(meaning(a) == meaning(b), expected, "{a} and {b}");
    }
}
