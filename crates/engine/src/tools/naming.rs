//! What a model calls a tool (B30): `mcp__{server}_{h1}__{tool}__{h2}`, at most 64 characters of `[a-z0-9_]`.
//! The hashes change when the server is renamed or its file moves; the words are for reading only.

use sha2::{Digest, Sha256};

/// Characters kept of a server's name.
const SERVER_CHARS: usize = 12;
/// Characters kept of a tool's name.
const TOOL_CHARS: usize = 18;
/// Hex digits of each hash.
const HASH_DIGITS: usize = 10;

/// The model's name of `tool` on the server with these id parts (see [`crate::config::ServerId::parts`]); the last
/// part is the server's name.
pub fn model_name<S: AsRef<str>>(parts: &[S], tool: &str) -> String {
    let name = parts.last().map_or("", AsRef::as_ref);
    let id: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    let id = id.join("\0");
    format!(
        "mcp__{}_{}__{}__{}",
        slug(name, SERVER_CHARS, "server"),
        hash(&id),
        slug(tool, TOOL_CHARS, "tool"),
        hash(&format!("{id}\0{tool}"))
    )
}

fn slug(name: &str, limit: usize, empty: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('_') {
            out.push('_');
        }
    }
    let trimmed = out.trim_matches('_');
    // ASCII only by now, so every byte is a character.
    let cut = trimmed[..trimmed.len().min(limit)].trim_matches('_');
    if cut.is_empty() { empty.into() } else { cut.into() }
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: [&str; 5] = ["native", "local", "/home/me/.mework/mcp.json", "", "My Server"];

    #[test]
    fn b30_a_name_is_readable_and_exact() {
        // The digests are sha256sum's over the parts with NUL between them.
        assert_eq!(model_name(&ID, "List  Files!"), "mcp__my_server_aaecb2be8f__list_files__b443c06fa5");
    }

    #[test]
    fn b30_slugs_are_cut_and_trimmed_and_never_empty() {
        assert_eq!(slug("__A--b__", 12, "server"), "a_b");
        assert_eq!(slug("abcdefghijk-lmn", 12, "server"), "abcdefghijk");
        assert_eq!(slug("日本語", 18, "tool"), "tool");
        assert_eq!(slug("", 12, "server"), "server");
    }

    /// Complaint 31: long names never make a name that providers refuse.
    #[test]
    fn b30_forty_and_forty_characters_fit() {
        let name = model_name(&["native", "local", "/x", "", &"s".repeat(40)], &"t".repeat(40));
        assert_eq!(name.len(), 60);
    }

    #[test]
    fn b30_moving_the_file_changes_both_hashes() {
        let moved = ["native", "local", "/elsewhere/mcp.json", "", "My Server"];
        let (a, b) = (model_name(&ID, "x"), model_name(&moved, "x"));
        assert_ne!(a[15..25], b[15..25]);
        assert_ne!(a[a.len() - 10..], b[b.len() - 10..]);
    }

    proptest! {
        #[test]
        fn b30_every_name_has_the_shape(parts in proptest::collection::vec(".{0,40}", 0..6), tool in ".{0,600}") {
            let name = model_name(&parts, &tool);
            prop_assert!(name.len() <= 64);
            prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
            let (server, rest) = name.strip_prefix("mcp__").unwrap().split_once("__").unwrap();
            let (tool, h2) = rest.rsplit_once("__").unwrap();
            let (server, h1) = server.rsplit_once('_').unwrap();
            prop_assert!((1..=12).contains(&server.len()) && (1..=18).contains(&tool.len()));
            prop_assert!([h1, h2].iter().all(|h| h.len() == 10 && h.bytes().all(|b| b.is_ascii_hexdigit())));
        }
    }
}
