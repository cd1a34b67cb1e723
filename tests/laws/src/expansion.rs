//! Variables are replaced once: what a variable or a default holds stays as it is, and so does everything else of a text.

use mework_engine::config::expand::{expand, has_foreign_syntax, is_literal, is_variable_name, pieces, variables};

pub fn law(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Some are set, one of them to nothing; what they hold looks like variables.
    let value = |name: &str| match name.len() % 4 {
        0 => None,
        1 => Some(format!("${{{name}}}")),
        2 => Some(String::new()),
        _ => Some(format!("}}${{{name}:-")),
    };
    let (expected, unset) = expected(text, value);
    let expanded = expand(text, value);
    match &expanded {
        Ok(expanded) => assert_eq!((expanded, &unset), (&expected, &vec![])),
        Err(names) => assert_eq!(names, &unset),
    }
    assert_eq!(is_literal(text), variables(text).count() == 0);
    if is_literal(text) {
        assert_eq!(expanded.as_deref(), Ok(text));
    }
    let names: Vec<&str> = variables(text).map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| is_variable_name(name)));
    // A text that holds no variable of ours may hold somebody else's, but not without the signs of one.
    assert!(!has_foreign_syntax(text) || text.contains("${") && text.contains(':') && text.contains('}'));
    assert!(pieces(text).len() <= 2 * names.len() + 1);
}

/// The rules in a simple way: what a text becomes, and the names that are not set and have no default.
fn expected(text: &str, value: impl Fn(&str) -> Option<String>) -> (String, Vec<String>) {
    let (mut out, mut unset) = (String::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let variable = rest.strip_prefix("${").and_then(|inside| inside.split_once('}'));
        let Some((inside, after)) = variable else {
            let mut chars = rest.chars();
            out.extend(chars.next());
            rest = chars.as_str();
            continue;
        };
        rest = after;
        let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)));
        let letters = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        if name.is_empty() || !letters || name.starts_with(|c: char| c.is_ascii_digit()) {
            out.push_str(&format!("${{{inside}}}"));
        } else if let Some(value) = value(name).or_else(|| default.map(str::to_owned)) {
            out.push_str(&value);
        } else {
            unset.push(name.to_owned());
        }
    }
    (out, unset)
}
