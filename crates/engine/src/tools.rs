//! The tools of servers: what one server listed ([`ServerTools`]), and the catalogue a conversation's servers form,
//! with the names a model sees, what is hidden, what always asks, and the limits (B20a, B21, B22, B23, B30, B36).
//!
//! It reads what servers sent, but talks to none; whether a call asks is decided in `approval`.

pub mod arguments;
pub mod listing;
pub mod naming;
pub mod pairs;
pub mod schema;
pub mod workspace;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::config::ServerId;
use crate::limits;
use crate::text;

/// What one `tools/list` came to.
#[derive(Debug, Clone, Default)]
pub struct ServerTools {
    /// In the server's order.
    pub tools: Vec<Tool>,
    /// Malformed tools, each with its reason; the rest of the server stays usable.
    pub set_aside: Vec<SetAside>,
    /// `disabledTools` entries that match nothing, and the like (row 29).
    pub notices: Vec<String>,
}

impl ServerTools {
    /// The tool that the server spells this way, unless the entry hides it.
    pub fn usable(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name && !tool.disabled)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetAside {
    /// Safe to show.
    pub name: Option<String>,
    pub reason: String,
}

/// One tool as its server declared it; the server's words are unfiltered.
#[derive(Debug, Clone)]
pub struct Tool {
    /// As the server spells it.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Empty for a disabled tool: nobody can call it, so its schema is not kept.
    pub input_schema: Map<String, Value>,
    pub output_schema: Option<Map<String, Value>>,
    pub annotations: Option<Map<String, Value>>,
    /// `_meta["anthropic/requiresUserInteraction"]` is true, or anything that is not a boolean (B36).
    pub requires_user_interaction: bool,
    /// B21's size of the schema.
    pub schema_bytes: usize,
    /// `mcp__…`
    pub model_name: String,
    /// Listed in `disabledTools`.
    pub disabled: bool,
    /// Listed in `disabledAutoApproveTools`, or `requires_user_interaction`.
    pub always_asks: bool,
    /// SHA-256 of the definition as the server sent it, hex: another one means that the tool changed (row 6).
    pub digest: String,
}

impl Tool {
    /// All that a person or a model reads of it, a key a line: what a difference is shown from (row 6).
    pub fn definition(&self) -> String {
        let mut definition = Map::new();
        for (key, words) in [("title", &self.title), ("description", &self.description)] {
            if let Some(words) = words {
                // A line of the text is a line of the difference.
                definition.insert(key.into(), words.lines().collect::<Value>());
            }
        }
        definition.insert("inputSchema".into(), self.input_schema.clone().into());
        for (key, schema) in [("outputSchema", &self.output_schema), ("annotations", &self.annotations)] {
            if let Some(schema) = schema {
                definition.insert(key.into(), schema.clone().into());
            }
        }
        definition.insert("needs a person every time".into(), self.requires_user_interaction.into());
        format!("{:#}", Value::Object(definition))
    }
    /// The title for people: what would hide or act is visible, and it is capped (B23).
    pub fn shown_title(&self) -> Option<String> {
        self.title.as_deref().map(|title| text::display_capped(title, limits::TITLE_CHARS))
    }
    /// The description for people (B23).
    pub fn shown_description(&self) -> Option<String> {
        self.description.as_deref().map(|words| text::display_capped(words, limits::DESCRIPTION_CHARS))
    }
    /// The description for models: the same characters removed (B23).
    pub fn model_description(&self) -> Option<String> {
        self.description.as_deref().map(|words| text::for_model(words, limits::DESCRIPTION_CHARS))
    }
}

/// The tools a conversation's servers offer together.
#[derive(Debug, Clone, Default)]
pub struct Catalog<'a> {
    /// In the order of the servers, then in each server's own.
    pub tools: Vec<Entry<'a>>,
    /// Servers that broke a limit and are left out whole, each with the reason.
    pub left_out: Vec<(&'a ServerId, String)>,
    /// Whole sentences for the turn: left-out servers, collisions, entries that match nothing.
    pub notices: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub server: &'a ServerId,
    pub tool: &'a Tool,
}

/// Forms the catalogue. Servers enter whole, in list order; the one that would pass a limit is left out, and those
/// after it still get their chance (B20a). Disabled tools neither enter nor count.
pub fn catalog<'a>(servers: &[(&'a ServerId, &'a ServerTools)]) -> Catalog<'a> {
    let mut catalog = Catalog::default();
    let mut bytes = 0;
    let mut room = limits::SERVERS_PER_RUN;
    for &(server, listed) in servers {
        let offered: Vec<&Tool> = listed.tools.iter().filter(|tool| !tool.disabled).collect();
        let size: usize = offered.iter().map(|tool| tool.schema_bytes).sum();
        let reason = if room == 0 {
            Some(format!("a run uses at most {} servers", limits::SERVERS_PER_RUN))
        } else if catalog.tools.len() + offered.len() > limits::TOOLS_PER_TURN {
            Some(format!(
                "its {} tools would make {} together, and a turn offers at most {}; leave some out with `disabledTools`",
                offered.len(),
                catalog.tools.len() + offered.len(),
                limits::TOOLS_PER_TURN
            ))
        } else if bytes + size > limits::ALL_SCHEMA_BYTES {
            Some(format!(
                "its tool schemas of {size} bytes would make {} bytes together, and the limit is {} bytes; leave some tools out \
                 with `disabledTools`",
                bytes + size,
                limits::ALL_SCHEMA_BYTES
            ))
        } else {
            None
        };
        if let Some(reason) = reason {
            catalog.notices.push(format!("`{}` is left out: {reason}.", server.name));
            catalog.left_out.push((server, reason));
            continue;
        }
        room -= 1;
        bytes += size;
        catalog.tools.extend(offered.into_iter().map(|tool| Entry { server, tool }));
        catalog.notices.extend(listed.notices.iter().map(|notice| format!("`{}`: {notice}", server.name)));
    }
    drop_collisions(&mut catalog);
    catalog
}

/// Tools whose model names are equal are all dropped (B30, row 29): a call by name must never be able to mean either.
fn drop_collisions(catalog: &mut Catalog<'_>) {
    let mut seen: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
    let mut order = Vec::new();
    for entry in &catalog.tools {
        let same = seen.entry(&entry.tool.model_name).or_insert_with(|| {
            order.push(entry.tool.model_name.as_str());
            Vec::new()
        });
        same.push((&entry.server.name, &entry.tool.name));
    }
    for name in order {
        let Some(same) = seen.get(name).filter(|same| same.len() > 1) else { continue };
        let who: Vec<String> =
            same.iter().map(|(server, tool)| format!("`{}` of `{server}`", text::display_capped(tool, 80))).collect();
        catalog.notices.push(format!("Tools that would have the same name are left out: {}.", who.join(", ")));
    }
    let collides: Vec<bool> =
        catalog.tools.iter().map(|entry| seen.get(entry.tool.model_name.as_str()).is_some_and(|same| same.len() > 1)).collect();
    let mut collides = collides.into_iter();
    catalog.tools.retain(|_| !collides.next().unwrap_or(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ServerId {
        format!("native:local:/h/.mework/mcp.json#{name}").parse().unwrap()
    }

    fn tool(server: &ServerId, name: &str, schema_bytes: usize) -> Tool {
        Tool {
            name: name.into(),
            title: None,
            description: None,
            input_schema: Map::new(),
            output_schema: None,
            annotations: None,
            requires_user_interaction: false,
            schema_bytes,
            model_name: naming::model_name(&server.parts(), name),
            disabled: false,
            always_asks: false,
            digest: String::new(),
        }
    }

    fn many(server: &ServerId, count: usize, schema_bytes: usize) -> ServerTools {
        ServerTools {
            tools: (0..count).map(|n| tool(server, &format!("t{n}"), schema_bytes)).collect(),
            ..ServerTools::default()
        }
    }

    #[test]
    fn b20a_the_server_that_passes_2048_tools_is_left_out_whole_and_later_ones_enter() {
        let (a, b, c) = (id("a"), id("b"), id("c"));
        let (ta, tb, tc) = (many(&a, 2000, 10), many(&b, 49, 10), many(&c, 48, 10));
        let catalog = catalog(&[(&a, &ta), (&b, &tb), (&c, &tc)]);
        assert_eq!(catalog.tools.len(), 2048);
        assert_eq!(catalog.left_out.iter().map(|(id, _)| id.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(
            catalog.notices,
            ["`b` is left out: its 49 tools would make 2049 together, and a turn offers at most 2048; leave some out with \
              `disabledTools`."]
        );
    }

    #[test]
    fn b20a_two_mib_of_schemas_is_the_limit_of_all_servers() {
        let (a, b) = (id("a"), id("b"));
        let (ta, tb) = (many(&a, 4, limits::SERVER_SCHEMA_BYTES), many(&b, 1, 1));
        let exact = catalog(&[(&a, &ta)]);
        assert_eq!((exact.tools.len(), exact.left_out.len()), (4, 0));
        let over = catalog(&[(&a, &ta), (&b, &tb)]);
        assert_eq!(over.left_out.len(), 1);
        assert!(over.notices[0].contains("2097153 bytes together") && over.notices[0].contains("disabledTools"));
    }

    #[test]
    fn b20a_disabled_tools_do_not_count() {
        let (a, b) = (id("a"), id("b"));
        let mut ta = many(&a, 2048, 1024);
        for tool in &mut ta.tools[..1000] {
            tool.disabled = true;
        }
        let tb = many(&b, 1000, 10);
        let catalog = catalog(&[(&a, &ta), (&b, &tb)]);
        assert_eq!(catalog.tools.len(), 2048);
        assert!(catalog.notices.is_empty());
        assert!(ta.usable("t0").is_none() && ta.usable("t1000").is_some());
    }

    #[test]
    fn b21_128_servers_a_run() {
        let ids: Vec<ServerId> = (0..129).map(|n| id(&format!("s{n}"))).collect();
        let listed: Vec<ServerTools> = ids.iter().map(|id| many(id, 1, 1)).collect();
        let servers: Vec<_> = ids.iter().zip(&listed).collect();
        let catalog = catalog(&servers);
        assert_eq!(catalog.tools.len(), 128);
        assert_eq!(catalog.left_out[0].0.name, "s128");
    }

    #[test]
    fn row_29_names_that_collide_are_both_dropped_with_a_notice() {
        let (a, b) = (id("a"), id("b"));
        let (mut ta, tb) = (many(&a, 2, 1), many(&b, 1, 1));
        ta.tools[0].model_name = tb.tools[0].model_name.clone();
        let catalog = catalog(&[(&a, &ta), (&b, &tb)]);
        assert_eq!(catalog.tools.iter().map(|e| e.tool.name.as_str()).collect::<Vec<_>>(), ["t1"]);
        assert_eq!(catalog.notices, ["Tools that would have the same name are left out: `t0` of `a`, `t0` of `b`."]);
    }

    /// Row 29: homoglyphs look alike and stay two different names.
    #[test]
    fn row_29_homoglyphs_do_not_collide() {
        let a = id("a");
        assert_ne!(naming::model_name(&a.parts(), "read_file"), naming::model_name(&a.parts(), "re\u{430}d_file"));
    }

    #[test]
    fn b23_words_are_capped_and_made_safe() {
        let a = id("a");
        let mut t = tool(&a, "x", 1);
        t.title = Some("ä".repeat(300));
        t.description = Some(format!("a\u{202e}b{}", "x".repeat(5000)));
        assert_eq!(t.shown_title().unwrap(), "ä".repeat(240) + "…");
        let shown = t.shown_description().unwrap();
        assert!(shown.starts_with("a⟨U+202E⟩b") && shown.ends_with("x…"));
        let model = t.model_description().unwrap();
        assert!(model.starts_with("abx") && model.chars().count() == 4000);
    }
}
