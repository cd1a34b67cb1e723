//! One tool's name into or out of an entry's `disabledTools` or `disabledAutoApproveTools`.

use super::layout::Layout;
use super::{EditProblem, Json, checked, json};

/// An entry's lists of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolList {
    /// Tools that are left out.
    Disabled,
    /// Tools that ask every time.
    AlwaysAsk,
}

impl ToolList {
    pub fn key(self) -> &'static str {
        match self {
            Self::Disabled => "disabledTools",
            Self::AlwaysAsk => "disabledAutoApproveTools",
        }
    }
}

/// Lists a tool, or takes it off the list; the same bytes when that is so already. Names are compared as they are written,
/// and those that match no tool stay. A list that would be empty goes: that is how it was before its first name.
pub fn list_tool(bytes: &[u8], server: &str, list: ToolList, tool: &str, listed: bool) -> Result<Vec<u8>, EditProblem> {
    let servers = Layout::of(bytes)?;
    let index = servers.only(server)?;
    let all = json::servers(bytes)?;
    let Json::Object(members) = &all[index].1 else { return Err(EditProblem::NotAnEntry { found: all[index].1.kind() }) };
    let entry = servers.inside(index)?;
    let key = list.key();
    let mut found = members.iter().enumerate().filter(|(_, (name, _))| name == key);
    let (at, names) = match (found.next(), found.next()) {
        (None, _) if !listed => return Ok(bytes.to_vec()),
        (None, _) => {
            let only = Json::Array(vec![Json::String(tool.into())]);
            let (place, text) = entry.appended(key, &only);
            return checked(bytes, entry.spliced(&[(place, &text)]), |servers| {
                if let Json::Object(members) = &mut servers[index].1 {
                    members.push((key.into(), only));
                }
            });
        }
        (Some(_), Some(_)) => return Err(EditProblem::KeyTwice { key }),
        (Some((at, (_, Json::Array(names)))), None) => (at, names),
        (Some(_), None) => return Err(EditProblem::NotAList { key }),
    };
    if !names.iter().all(|name| matches!(name, Json::String(_))) {
        return Err(EditProblem::NotAList { key });
    }
    let is_it = |name: &Json| name.as_str() == Some(tool);
    if listed == names.iter().any(is_it) {
        return Ok(bytes.to_vec());
    }
    if !listed && names.iter().all(is_it) {
        return checked(bytes, entry.spliced(&[(entry.cut(at), "")]), |servers| {
            if let Json::Object(members) = &mut servers[index].1 {
                members.remove(at);
            }
        });
    }
    let items = entry.items(at)?;
    let (place, text) = if listed {
        entry.with_item(&items, tool)
    } else {
        entry.without_items(&items, |item| names.get(item).is_some_and(is_it))
    };
    checked(bytes, entry.spliced(&[(place, &text)]), |servers| {
        if let Json::Object(members) = &mut servers[index].1
            && let Json::Array(names) = &mut members[at].1
        {
            if listed {
                names.push(Json::String(tool.into()));
            } else {
                names.retain(|name| !is_it(name));
            }
        }
    })
}
