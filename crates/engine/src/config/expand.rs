//! `${VAR}` and `${VAR:-default}` in values (B9). One pass: what a variable holds is never expanded again.
//!
//! It says which variables a text uses and puts values in; which fields may hold any is `entry`'s and `resolve`'s.

/// A piece of a text that may hold variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    Variable {
        name: &'a str,
        /// Literal: never expanded itself.
        default: Option<&'a str>,
    },
}

/// `[A-Za-z_][A-Za-z0-9_]*`
pub fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Splits a text into its pieces. `${` up to the next `}` that is no variable stays text as a whole, as does an
/// unterminated `${`.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut plain_from, mut at) = (0, 0);
    while let Some(open) = text[at..].find("${").map(|i| at + i) {
        let Some(close) = text[open..].find('}').map(|i| open + i) else { break };
        let inside = &text[open + 2..close];
        at = close + 1;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if is_variable_name(name) {
            if plain_from < open {
                pieces.push(Piece::Text(&text[plain_from..open]));
            }
            pieces.push(Piece::Variable { name, default });
            plain_from = at;
        }
    }
    if plain_from < text.len() {
        pieces.push(Piece::Text(&text[plain_from..]));
    }
    pieces
}

/// The variables a text uses, in order, each with whether it has a default.
pub fn variables(text: &str) -> impl Iterator<Item = (&str, bool)> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Variable { name, default } => Some((name, default.is_some())),
        Piece::Text(_) => None,
    })
}

/// Whether a text's value is known without any variable.
pub fn is_literal(text: &str) -> bool {
    variables(text).next().is_none()
}

/// Whether a text holds something that looks like another program's variable syntax, such as `${env:NAME}` or
/// `${input:key}`, which stays as it is here (B9).
pub fn has_foreign_syntax(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("${") {
        let Some((inside, further)) = after.split_once('}') else { return false };
        let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
        if let Some((prefix, _)) = name.split_once(':')
            && !prefix.is_empty()
            && prefix.bytes().all(|b| b.is_ascii_alphabetic())
        {
            return true;
        }
        rest = further;
    }
    false
}

/// Puts values in. `value` answers `Some` for a variable that is set, be it to nothing; the error lists the names that
/// are not set and have no default.
pub fn expand<'t>(text: &'t str, mut value: impl FnMut(&'t str) -> Option<String>) -> Result<String, Vec<&'t str>> {
    let mut out = String::with_capacity(text.len());
    let mut unset = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(plain) => out.push_str(plain),
            Piece::Variable { name, default } => match (value(name), default) {
                (Some(value), _) => out.push_str(&value),
                (None, Some(default)) => out.push_str(default),
                (None, None) => unset.push(name),
            },
        }
    }
    if unset.is_empty() { Ok(out) } else { Err(unset) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(text: &str) -> Result<String, Vec<&str>> {
        expand(text, |name| match name {
            "A" => Some("a".into()),
            "B" => Some("${A}".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn b9_expansion() {
        let table = [
            ("", Ok("")),
            ("plain", Ok("plain")),
            ("${A}", Ok("a")),
            ("x${A}y${A}z", Ok("xayaz")),
            // Row 3: a value that holds `${…}` is not expanded again.
            ("${B}", Ok("${A}")),
            ("${NO:-d}", Ok("d")),
            ("${NO:-}", Ok("")),
            ("${NO:-a:-b}", Ok("a:-b")),
            // A default is literal; it ends at the first brace.
            ("${NO:-${A}}", Ok("${A}")),
            ("${EMPTY:-d}", Ok("")),
            ("[${EMPTY}]", Ok("[]")),
            ("$${A}", Ok("$a")),
            ("$A", Ok("$A")),
            ("${}", Ok("${}")),
            ("${1A}", Ok("${1A}")),
            ("${A B}", Ok("${A B}")),
            ("${Ä}", Ok("${Ä}")),
            ("${env:A}", Ok("${env:A}")),
            ("${A:?x}", Ok("${A:?x}")),
            ("${x ${A}", Ok("${x ${A}")),
            ("${A", Ok("${A")),
            ("${A}${", Ok("a${")),
            ("ü${A}ü", Ok("üaü")),
            ("${NO} ${A} ${ALSO}", Err(vec!["NO", "ALSO"])),
        ];
        for (text, expected) in table {
            assert_eq!(with(text), expected.map(String::from), "{text}");
        }
    }

    /// Complaint 23.
    #[test]
    fn other_programs_syntax_is_recognised() {
        for yes in ["${env:T}", "Bearer ${env:T}", "${A} ${input:api-key}"] {
            assert!(has_foreign_syntax(yes), "{yes}");
        }
        for no in ["${T}", "${T:-a:b}", "${:x}", "$T", "${env:T", "{env:T}"] {
            assert!(!has_foreign_syntax(no), "{no}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_pieces_cover_the_text(text in r#"(\$|\{|\}|:-|[AZ_]|é|\\|\n|env:){0,24}"#) {
            let again: String = pieces(&text).into_iter().map(|piece| match piece {
                Piece::Text(t) => t.to_string(),
                Piece::Variable { name, default: None } => format!("${{{name}}}"),
                Piece::Variable { name, default: Some(d) } => format!("${{{name}:-{d}}}"),
            }).collect();
            prop_assert_eq!(again, text.clone());
            let _ = has_foreign_syntax(&text);
        }
        /// Whatever a variable holds arrives as it is.
        #[test]
        fn expansion_happens_once(value in any::<String>(), around in "[a-z ]{0,6}") {
            let text = format!("{around}${{V}}{around}");
            let expanded = expand(&text, |_| Some(value.clone()));
            prop_assert_eq!(expanded, Ok(format!("{around}{value}{around}")));
        }
    }
}
