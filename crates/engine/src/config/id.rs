//! Which server is meant (B13), and the text by which a conversation, the database and the wire remember it.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::Source;
use crate::machine::MachineId;

/// Which server: source, machine, file, place in the file, name (B13). Renaming or moving changes it.
///
/// Its text form is `native:local:/home/me/.mework/mcp.json#name`, or `…#place/name` where a file holds several maps. Every
/// id has one text and every text one id (of files whose paths are Unicode). What would end a part too early is written as
/// `%3A` and the like: `:` and `%` in the machine, `#`, `/` and `%` in place and name. The file stands as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId {
    pub source: Source,
    pub machine: MachineId,
    pub file: PathBuf,
    /// Only for files that hold several maps (`projects[…]`); none in native files.
    pub place: Option<String>,
    pub name: String,
}

const IN_MACHINE: &[u8] = b"%:";
const IN_NAME: &[u8] = b"%#/";

impl ServerId {
    /// The parts B30 hashes, in order.
    pub fn parts(&self) -> [String; 5] {
        let source = match self.source {
            Source::Native => "native",
        };
        [
            source.into(),
            self.machine.0.clone(),
            self.file.to_string_lossy().into_owned(),
            self.place.clone().unwrap_or_default(),
            self.name.clone(),
        ]
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [source, machine, file, place, name] = self.parts();
        write!(f, "{source}:{}:{file}#", escaped(&machine, IN_MACHINE))?;
        if self.place.is_some() {
            write!(f, "{}/", escaped(&place, IN_NAME))?;
        }
        f.write_str(&escaped(&name, IN_NAME))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not a server id: {0:?}")]
pub struct BadServerId(String);

impl FromStr for ServerId {
    type Err = BadServerId;
    fn from_str(s: &str) -> Result<Self, BadServerId> {
        let parse = || {
            let (machine, rest) = s.strip_prefix("native:")?.split_once(':')?;
            let (file, name) = rest.rsplit_once('#')?;
            let (place, name) = match name.split_once('/') {
                Some((place, name)) => (Some(plain(place, IN_NAME)?), name),
                None => (None, name),
            };
            let (machine, name) = (MachineId(plain(machine, IN_MACHINE)?), plain(name, IN_NAME)?);
            Some(Self { source: Source::Native, machine, file: file.into(), place, name })
        };
        parse().ok_or_else(|| BadServerId(s.chars().take(200).collect()))
    }
}

fn escaped<'t>(text: &'t str, special: &[u8]) -> Cow<'t, str> {
    if !text.bytes().any(|byte| special.contains(&byte)) {
        return text.into();
    }
    let escape = |c: char| match u8::try_from(c) {
        Ok(byte) if special.contains(&byte) => format!("%{byte:02X}"),
        Ok(_) | Err(_) => c.to_string(),
    };
    text.chars().map(escape).collect::<String>().into()
}

/// What [`escaped`] was given, if it could have written this.
fn plain(text: &str, special: &[u8]) -> Option<String> {
    let mut parts = text.split('%');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let byte = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        out.push(char::from(byte));
        out.push_str(part.get(2..)?);
    }
    // Only what was written like this: one text for one id.
    (escaped(&out, special) == text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(machine: &str, file: &str, place: Option<&str>, name: &str) -> ServerId {
        ServerId {
            source: Source::Native,
            machine: MachineId(machine.into()),
            file: file.into(),
            place: place.map(Into::into),
            name: name.into(),
        }
    }

    #[test]
    fn b13_every_part_is_in_the_text() {
        for (id, text) in [
            (id("local", "/home/me/.mework/mcp.json", None, "docs"), "native:local:/home/me/.mework/mcp.json#docs"),
            (id("local", "/a#b/c:d%20/mcp.json", None, "x"), "native:local:/a#b/c:d%20/mcp.json#x"),
            (id("local", r"C:\Users\me\mcp.json", None, "x"), r"native:local:C:\Users\me\mcp.json#x"),
            (id("wsl:Ubuntu-24.04", "/h/mcp.json", None, "x"), "native:wsl%3AUbuntu-24.04:/h/mcp.json#x"),
            (id("ssh:me@host:22", "/h/mcp.json", None, "x"), "native:ssh%3Ame@host%3A22:/h/mcp.json#x"),
            (id("local", "/h/c.json", Some("/work/a#b"), "x"), "native:local:/h/c.json#%2Fwork%2Fa%23b/x"),
            (id("local", "/h/c.json", Some(""), "x"), "native:local:/h/c.json#/x"),
        ] {
            assert_eq!(id.to_string(), text);
            assert_eq!(text.parse::<ServerId>().unwrap(), id);
        }
    }

    #[test]
    fn b13_a_text_that_no_id_has_is_none() {
        for text in [
            "",
            "native:",
            "native:local",
            "native:local:/x",
            "other:local:/x#y",
            "native:lo%63al:/x#y",
            "native:local:/x#a%2fb",
            "native:local:/x#a/b/c",
            "native:local:/x#%",
            "native:local:/x#%2",
            "native:local:/x#%ä",
            "native:%3a:/x#y",
        ] {
            assert!(text.parse::<ServerId>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn b13_text_and_id_are_one(
            machine in "[a-z:%#/é@.]{0,8}", file in "[a-z:%#/é .]{0,12}", place in proptest::option::of("[a-z:%#/é]{0,6}"), name in "[a-z:%#/é_-]{0,8}",
        ) {
            let id = id(&machine, &file, place.as_deref(), &name);
            proptest::prop_assert_eq!(id.to_string().parse::<ServerId>().unwrap(), id);
        }

        #[test]
        fn b13_a_text_that_is_read_is_written_the_same(text in "native:[a-z:%#/23A]{0,16}") {
            if let Ok(id) = text.parse::<ServerId>() {
                proptest::prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
