//! Keys that nobody knows and that are nearly one of ours: most likely misspelt. A key that Mework does not know is ignored,
//! because other programs keep theirs in the same entries; one that was meant for us must not be ignored in silence.

use crate::config::json::quoted;

/// Every key that does something, as [`super::written::read`] knows it.
const KEYS: [&str; 16] = [
    "type",
    "command",
    "args",
    "env",
    "envPassthrough",
    "cwd",
    "workspace",
    "registryUrl",
    "url",
    "headers",
    "timeoutSeconds",
    "timeout",
    "longRunning",
    "description",
    "disabledTools",
    "disabledAutoApproveTools",
];

/// What people call some of them.
const ALSO: [(&str, &str); 4] = [("cmd", "command"), ("arguments", "args"), ("environment", "env"), ("workingDirectory", "cwd")];
/// What other programs call some of them. Beside ours it is meant for those programs.
const ELSEWHERE: [(&str, &str); 3] = [("transport", "type"), ("httpUrl", "url"), ("serverUrl", "url")];

/// More notes than this are counted, not listed.
const NOTES: usize = 10;
/// Nothing that is longer is near to any of them.
const LONGEST: usize = 32;

/// A note for each key that is most likely misspelt.
pub fn notes<'k>(unknown: impl Iterator<Item = &'k str>, known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut notes: Vec<String> = unknown
        .filter_map(|key| Some((key, meant(key, &known)?)))
        .map(|(key, meant)| format!("Unknown key {} is ignored; did you mean `{meant}`?", quoted(key)))
        .collect();
    if notes.len() > NOTES {
        let more = notes.len() - NOTES;
        notes.truncate(NOTES);
        notes.push(format!("… and {more} more."));
    }
    notes
}

/// `there`: whether the entry has a key.
fn meant(key: &str, there: &impl Fn(&str) -> bool) -> Option<&'static str> {
    // `_args`, `//args` and `$args` are how people put a key out of use.
    if key.len() > LONGEST || !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    // So are `args_` and `args2` beside the one that counts.
    let unmarked = key.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    if unmarked != key && there(unmarked) {
        return None;
    }
    let written = plain(key);
    let ours = KEYS.iter().map(|&key| (key, key));
    let theirs = ELSEWHERE.into_iter().filter(|(_, ours)| !there(ours));
    ours.chain(ALSO)
        .chain(theirs)
        .filter_map(|(spelling, meant)| {
            // One slip of the finger in a short word: two would make another word of it.
            let slips = if spelling.len() < 8 { 1 } else { 2 };
            let distance = strsim::osa_distance(&written, &plain(spelling));
            (distance <= slips).then_some((distance, meant))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, meant)| meant)
}

/// Without what differs between `timeoutSeconds`, `timeout_seconds` and `Timeout-Seconds`.
fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::super::written::{Findings, read};
    use super::*;
    use crate::config::json::Json;

    /// Every key that is proposed is read: a null in its place is a failed check.
    #[test]
    fn what_is_proposed_is_known() {
        for key in KEYS.into_iter().chain(ALSO.map(|(_, ours)| ours)).chain(ELSEWHERE.map(|(_, ours)| ours)) {
            let mut findings = Findings::default();
            read(&[(key.to_owned(), Json::Null)], &mut findings);
            assert_eq!(findings.reasons.len(), 1, "{key}");
            assert_eq!(findings.notes, [""; 0], "{key}");
        }
    }

    #[test]
    fn what_stands_beside_ours_is_called_what_it_is() {
        let beside = |ours: &'static str| move |key: &str| key == ours;
        for (key, ours) in [("headers_", "headers"), ("env2", "env"), ("args2", "args"), ("url_1", "url"), ("args-", "args")] {
            assert_eq!(meant(key, &beside(ours)), None, "{key}");
        }
        // Alone it may be a slip of the finger.
        assert_eq!(meant("headers_", &|_| false), Some("headers"));
        assert_eq!(meant("args2", &|_| false), Some("args"));
        // The nearest is the one that is meant, there or not; nothing else is proposed in its place.
        assert_eq!(meant("cmd", &beside("command")), Some("command"));
        assert_eq!(meant("enviroment", &beside("env")), Some("env"));
    }

    #[test]
    fn near_misses_are_told_and_other_programs_keys_are_not() {
        let meant = |key| meant(key, &|_| false);
        for (key, ours) in [
            ("ARGS", "args"),
            ("Command", "command"),
            ("enviroment", "env"),
            ("environment", "env"),
            ("header", "headers"),
            ("comand", "command"),
            ("commnad", "command"),
            ("arg", "args"),
            ("tpye", "type"),
            ("timeout_seconds", "timeoutSeconds"),
            ("disabled_tools", "disabledTools"),
            ("disableTools", "disabledTools"),
            ("env_passthrough", "envPassthrough"),
            ("Url", "url"),
        ] {
            assert_eq!(meant(key), Some(ours), "{key}");
        }
        // Named by the specification, of other programs, comments, and what is merely short.
        for key in [
            "disabled",
            "autoApprove",
            "alwaysAllow",
            "enableAllProjectMcpServers",
            "enabled",
            "enabledTools",
            "comment",
            "name",
            "id",
            "tools",
            "trust",
            "envFile",
            "tags",
            "title",
            "icon",
            "version",
            "instructions",
            "scopes",
            "auth",
            "_args",
            "//command",
            "$schema",
            "",
            "x",
        ] {
            assert_eq!(meant(key), None, "{key}");
        }
        assert_eq!(meant(&"a".repeat(1 << 20)), None);
    }
}
