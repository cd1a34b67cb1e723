//! An edit changes one entry: what it makes is a file that holds just what was meant, and every byte that is not the entry's
//! is where it was. What it cannot do is refused for a reason that is true.

use std::fmt;

use mework_engine::config::edit::{self, EditProblem};
use mework_engine::config::entry::check_name;
use mework_engine::config::json::{self, Json};
use mework_engine::limits::{CONFIG_DEPTH, CONFIG_FILE_BYTES};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

const NAMES: [&str; 6] = ["new", "a", "b", "A", "__proto__", "no name"];

/// What to do, with which name; the file; 0xFF; the entry.
pub fn law(data: &[u8]) {
    let Some(([what, which], rest)) = data.split_first_chunk::<2>() else { return };
    let mut parts = rest.splitn(2, |byte| *byte == 0xFF);
    let file = parts.next().unwrap_or_default();
    let entry = parts.next().and_then(|entry| json::parse(entry).ok());
    let entry = entry.unwrap_or_else(|| Json::Object(vec![("command".into(), Json::String("x".into()))]));
    let Ok(before) = json::servers(file) else {
        assert!(edit::remove(file, "a").is_err());
        assert!(edit::add(Some(file), "a", &entry).is_err());
        assert!(edit::replace(file, "a", &entry).is_err());
        return;
    };
    let which = usize::from(*which);
    let standing = before.get(which).map(|(name, _)| name.as_str());
    let name = standing.unwrap_or(NAMES[which % NAMES.len()]);
    let edited = Edited { file, before: &before, name, entry: &entry };
    match what % 4 {
        0 => edited.remove(),
        1 => edited.add(NAMES[which % NAMES.len()]),
        2 => edited.replace(),
        _ => edited.make(),
    }
}

struct Edited<'a> {
    file: &'a [u8],
    before: &'a [(String, Json)],
    name: &'a str,
    entry: &'a Json,
}

impl Edited<'_> {
    fn times(&self, name: &str) -> usize {
        self.before.iter().filter(|(n, _)| n == name).count()
    }

    fn remove(&self) {
        match edit::remove(self.file, self.name) {
            Ok(after) => {
                assert_eq!(self.times(self.name), 1);
                let expected: Vec<_> = self.before.iter().filter(|(name, _)| name != self.name).cloned().collect();
                assert_eq!(json::servers(&after).as_ref(), Ok(&expected));
                self.others_untouched(&after);
                assert!(is_cut_out(&after, self.file), "more than one place changed");
            }
            Err(problem) => self.refused(&problem, self.name),
        }
    }

    fn add(&self, name: &str) {
        match edit::add(Some(self.file), name, self.entry) {
            Ok(after) => {
                assert_eq!(self.times(name), 0);
                let mut expected = self.before.to_vec();
                expected.push((name.into(), self.entry.clone()));
                assert_eq!(json::servers(&after).as_ref(), Ok(&expected));
                self.others_untouched(&after);
                if !self.before.is_empty() {
                    assert!(is_cut_out(self.file, &after), "more than one place changed");
                    let again = edit::remove(&after, name).expect("what was added can be removed");
                    assert_eq!(again, self.file, "adding and removing is not nothing");
                }
            }
            Err(problem) => self.refused(&problem, name),
        }
    }

    fn replace(&self) {
        match edit::replace(self.file, self.name, self.entry) {
            Ok(after) => {
                assert_eq!(self.times(self.name), 1);
                let mut expected = self.before.to_vec();
                expected.iter_mut().filter(|(name, _)| name == self.name).for_each(|(_, value)| *value = self.entry.clone());
                assert_eq!(json::servers(&after).as_ref(), Ok(&expected));
                self.others_untouched(&after);
                let value =
                    |bytes| Raw::servers(bytes).0.into_iter().find(|(name, _)| name == self.name).map(|(_, value)| value.get());
                let (old, new) = (value(self.file).expect("the old value"), value(&after).expect("the new value"));
                let at = new.as_ptr() as usize - after.as_ptr() as usize;
                assert_eq!([&after[..at], old.as_bytes(), &after[at + new.len()..]].concat(), self.file);
            }
            Err(problem) => self.refused(&problem, self.name),
        }
    }

    fn make(&self) {
        match edit::add(None, self.name, self.entry) {
            Ok(made) => assert_eq!(json::servers(&made), Ok(vec![(self.name.into(), self.entry.clone())])),
            Err(EditProblem::Exists { .. } | EditProblem::NotThere { .. }) => panic!("there was no file"),
            Err(problem) => self.refused(&problem, self.name),
        }
    }

    /// Everything but the entry reads as it was written.
    fn others_untouched(&self, after: &[u8]) {
        let rest = |raw: Raw<'_>, without: &str| -> Vec<(String, String)> {
            raw.0.into_iter().filter(|(name, _)| name != without).map(|(name, value)| (name, value.get().to_owned())).collect()
        };
        assert_eq!(rest(Raw::of(after), "mcpServers"), rest(Raw::of(self.file), "mcpServers"));
        let added = |(name, _): &(String, String)| self.times(name) > 0;
        let now: Vec<_> = rest(Raw::servers(after), self.name).into_iter().filter(added).collect();
        assert_eq!(now, rest(Raw::servers(self.file), self.name));
    }

    fn refused(&self, problem: &EditProblem, name: &str) {
        let true_reason = match problem {
            EditProblem::NotThere { .. } => self.times(name) == 0,
            EditProblem::Twice { .. } => self.times(name) > 1,
            EditProblem::Exists { .. } => self.times(name) > 0,
            EditProblem::Name(_) => check_name(name).is_err(),
            EditProblem::NotAnEntry { .. } => self.entry.as_object().is_none(),
            // The outcome would be no file that can be read.
            EditProblem::File(json::FileProblem::TooLarge) => {
                self.file.len() + edit::pretty(self.entry).len() * 2 > CONFIG_FILE_BYTES / 2
            }
            EditProblem::File(json::FileProblem::TooDeep { .. }) => depth(self.entry) + 2 > CONFIG_DEPTH,
            _ => false,
        };
        assert!(true_reason, "{name:?} was refused: {problem}");
    }
}

fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(members) => 1 + members.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

/// Whether `less` is `more` without one stretch of it.
fn is_cut_out(less: &[u8], more: &[u8]) -> bool {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = less.iter().zip(more).take_while(same).count();
    let end = less.iter().rev().zip(more.iter().rev()).take_while(same).count();
    less.len() <= more.len() && start + end >= less.len()
}

/// An object's members as they are written, those that are written twice too.
struct Raw<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Raw<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        serde_json::from_str(json::text(bytes).expect("text")).expect("an object")
    }
    fn servers(bytes: &'a [u8]) -> Self {
        let (_, servers) = Self::of(bytes).0.into_iter().find(|(name, _)| name == "mcpServers").expect("servers");
        serde_json::from_str(servers.get()).expect("an object")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Raw<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Raw(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
