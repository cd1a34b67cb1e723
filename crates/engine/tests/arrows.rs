//! Data flows one way through the engine: each room may use those before it and none after it (docs/architecture.md).
//! This reads every path that starts at the crate's root, in every source file, and fails on one that points back.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::{Path, PathBuf};

/// In reading order.
const ROOMS: [&str; 14] = [
    "error",
    "limits",
    "text",
    "json",
    "machine",
    "config",
    "tools",
    "mcp",
    "approval",
    "wire",
    "store",
    "conversation",
    "engine",
    "api",
];

fn rank(room: &str) -> Option<usize> {
    ROOMS.iter().position(|name| *name == room)
}

/// The room a path from the crate's root leads into.
fn room(path: &[String]) -> Option<usize> {
    rank(path.first()?)
}

/// The code without comments and without what stands in string literals.
fn code(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else if let Some(raw) = raw_string(rest) {
            rest = &rest[raw..];
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c: char| {
                let closes = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                closes
            });
            rest = end.map_or("", |end| &rest[end + 2..]);
        } else if rest.starts_with("'\"'") {
            rest = &rest[3..];
        } else if rest.starts_with("'\\") {
            // An escaped character literal: `'\''`, `'\u{1F}'`.
            rest = rest[3..].find('\'').map_or("", |end| &rest[end + 4..]);
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// The length of the raw string literal that `rest` starts with.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = body.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some(rest.len() - body.len() + end + 1 + hashes)
}

/// Every path of `code` that starts with `prefix::`, its groups taken apart, without the prefix.
fn paths(code: &str, prefix: &str) -> Vec<Vec<String>> {
    let start = format!("{prefix}::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&start) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        tree(&mut code[at + start.len()..].chars().peekable(), &[], &mut found);
    }
    found
}

/// Reads `a::b`, `a::{b, c::d}` or `{a, b}` and adds the paths it stands for.
fn tree(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, before: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    loop {
        let mut name = String::new();
        while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        if name.is_empty() {
            if chars.next_if_eq(&'{').is_some() {
                loop {
                    while chars.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
                    match chars.peek() {
                        None => return,
                        Some('}') => {
                            chars.next();
                            return;
                        }
                        Some(c) if c.is_alphanumeric() || *c == '_' => tree(chars, &path, found),
                        Some(_) => return,
                    }
                }
            }
            chars.next_if_eq(&'*');
            break;
        }
        path.push(name);
        if chars.next_if_eq(&':').is_none() || chars.next_if_eq(&':').is_none() {
            break;
        }
    }
    // `a as b`, before the next member of a group.
    while chars.next_if(|c| *c == ' ' || c.is_alphanumeric() || *c == '_').is_some() {}
    found.push(path);
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for item in std::fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// `src/mcp/pool.rs` → `["mcp", "pool"]`
fn module(source: &Path, root: &Path) -> Vec<String> {
    let relative = source.strip_prefix(root).unwrap().with_extension("");
    relative.iter().map(|part| part.to_string_lossy().into_owned()).collect()
}

#[test]
fn no_arrow_points_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut faults = Vec::new();
    let mut seen = 0;
    for file in files {
        let module = module(&file, &root);
        if module == ["lib"] {
            continue;
        }
        let Some(own) = room(&module) else {
            faults.push(format!("{} is in no room of the map", file.display()));
            continue;
        };
        let code = code(&std::fs::read_to_string(&file).unwrap());
        // From a file, as many `super` as it is deep lead to the root too.
        let up = vec!["super"; module.len()].join("::");
        for path in paths(&code, "crate").into_iter().chain(paths(&code, &up)) {
            let Some(other) = room(&path) else { continue };
            seen += 1;
            if other > own {
                faults.push(format!("{} uses {}: {} comes later", file.display(), path.join("::"), ROOMS[other]));
            }
        }
    }
    assert!(seen > 50, "only {seen} arrows were found: the reader is broken");
    assert_eq!(faults, [""; 0]);
}

/// The table in docs/architecture.md, "Inside the engine".
#[test]
fn the_page_on_architecture_names_every_room_in_this_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/architecture.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, table) = text.split_once("## Inside the engine").unwrap();
    let table = table.split("\n### ").next().unwrap();
    let rooms: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(rooms, ROOMS);
}

/// The map in `lib.rs` names the rooms in the same order.
#[test]
fn the_map_in_lib_rs_is_in_this_order() {
    let lib = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let named: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("//! - [`")).filter_map(|rest| rest.split('`').next()).collect();
    assert_eq!(named, ROOMS);
}

#[test]
fn the_reader_finds_what_it_should() {
    let source = r##"
        // crate::api::nothing
        use crate::{config::{self, Level as L}, store::*};
        let a = "crate::engine::no \" crate::engine"; /* crate::engine */
        let b = r#"crate::engine"#; let c = '"'; crate::text::display(x);
        not_a_crate::engine::x(); super::super::wire::Card
    "##;
    let code = code(source);
    let found: Vec<String> = paths(&code, "crate").iter().map(|p| p.join("::")).collect();
    assert_eq!(found, ["config::self", "config::Level", "store", "text::display"]);
    let up: Vec<String> = paths(&code, "super::super").iter().map(|p| p.join("::")).collect();
    assert_eq!(up, ["wire::Card"]);
}
