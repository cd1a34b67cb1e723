//! What pasted text proposes means the same once it is written the way a file has it, and nothing else.

use mework_engine::config::edit;
use mework_engine::config::json::{self, Json};
use mework_engine::config::paste::{Pasted, parse};

pub fn law(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Some words are programs of this machine.
    let is_program = |word: &str| word.len().is_multiple_of(3);
    let Ok(found) = parse(text, is_program) else { return };
    assert!(!found.is_empty());
    for Pasted { entry, .. } in &found {
        assert_eq!(json::parse(edit::pretty(entry).as_bytes()).as_ref(), Ok(entry), "it is shown as it is");
    }
    let members = found.iter().map(|pasted| (pasted.name.clone(), pasted.entry.clone())).collect();
    let file = edit::pretty(&Json::Object(vec![("mcpServers".into(), Json::Object(members))]));
    // Nested one deeper it may be too deep for a file.
    if json::parse(file.as_bytes()).is_ok() {
        assert_eq!(parse(&file, is_program).as_ref(), Ok(&found), "a file with it declares it");
    }
}
