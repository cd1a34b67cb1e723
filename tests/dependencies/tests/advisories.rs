//! No crate of ours has a known vulnerability (security row 43).
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::{Path, PathBuf};

use mework_dependencies::Snapshot;

/// What is known and accepted, and why.
const ACCEPTED: [(&[&str], &str); 2] = [
    (
        &[
            "RUSTSEC-2024-0370",
            "RUSTSEC-2024-0411",
            "RUSTSEC-2024-0412",
            "RUSTSEC-2024-0413",
            "RUSTSEC-2024-0414",
            "RUSTSEC-2024-0415",
            "RUSTSEC-2024-0416",
            "RUSTSEC-2024-0417",
            "RUSTSEC-2024-0418",
            "RUSTSEC-2024-0419",
            "RUSTSEC-2024-0420",
        ],
        "Unmaintained: the bindings of GTK 3, and what their macros are made with. Tauri's window on Linux is made of them, and \
         there is no Tauri on GTK 4 yet. No hole is known, and they meet no foreign bytes but what WebKit draws.",
    ),
    (
        &["RUSTSEC-2024-0429"],
        "Unsound: glib's iterator over an array of strings. Nothing that we build, Tauri included, makes one. It comes with the same \
         bindings of GTK 3.",
    ),
];

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

fn lockfiles() -> Vec<String> {
    ["Cargo.lock", "fuzz/Cargo.lock"].map(|lock| std::fs::read_to_string(here().join("../..").join(lock)).unwrap()).into()
}

fn snapshot() -> Snapshot {
    Snapshot::read(&here().join("advisories")).unwrap()
}

fn accepted(id: &str) -> bool {
    ACCEPTED.iter().any(|(ids, _)| ids.contains(&id))
}

#[test]
fn row_43_nothing_is_known_against_our_crates() {
    let snapshot = snapshot();
    let found: Vec<_> = lockfiles().iter().flat_map(|lock| snapshot.findings(lock).unwrap()).collect();
    let bad: Vec<_> = found.iter().filter(|finding| !accepted(&finding.id)).collect();
    assert!(bad.is_empty(), "take another version of the crate, or accept it here with a reason: {bad:#?}");
    let ids = ACCEPTED.iter().flat_map(|(ids, _)| *ids);
    let over: Vec<_> = ids.filter(|id| !found.iter().any(|finding| finding.id == **id)).collect();
    assert!(over.is_empty(), "nothing of ours has these any more, so nothing has to be accepted: {over:?}");
}

#[test]
fn every_crate_of_ours_that_has_advisories_was_looked_at() {
    let snapshot = snapshot();
    for lock in lockfiles() {
        let missing = snapshot.not_looked_at(&lock).unwrap();
        assert!(
            missing.is_empty(),
            "make the snapshot anew with scripts/advisories, which says how: it has nothing of {missing:?}"
        );
    }
    let lock = lock_of("openssl", "0.10.70");
    assert_eq!(snapshot.not_looked_at(&lock).unwrap(), ["openssl"], "there are some, and it is none of ours");
}

/// A lockfile with one crate more than nothing.
fn lock_of(name: &str, version: &str) -> String {
    let source = "registry+https://github.com/rust-lang/crates.io-index";
    format!("version = 4\n\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\n")
}

/// Old versions of crates that we have: what the check above would say of them.
#[test]
fn known_holes_are_found() {
    let snapshot = snapshot();
    let found = |name: &str, version: &str| -> Vec<String> {
        let found = snapshot.findings(&lock_of(name, version)).unwrap();
        assert!(found.iter().all(|finding| !accepted(&finding.id)), "{found:?}");
        found.into_iter().map(|finding| format!("{} {}", finding.id, finding.words)).collect()
    };
    let [words] = &found("slab", "0.4.10")[..] else { panic!("one is known") };
    assert!(
        words.starts_with("RUSTSEC-2025-0047 slab 0.4.10 is vulnerable: ") && words.ends_with(" (without it: >=0.4.11)"),
        "{words}"
    );
    assert_eq!(found("ring", "0.16.20").len(), 2, "a hole, and nobody who looks after that line of versions");
    assert!(found("anyhow", "1.0.50")[0].contains(" is unsound: "));
    assert_eq!(found("slab", "0.4.11"), Vec::<String>::new());
}
