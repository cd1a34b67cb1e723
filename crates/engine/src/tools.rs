//! The tools of servers: what one server listed ([`ServerTools`]), and the catalogue a conversation's servers form,
//! with the names a model sees, what is hidden, what always asks, and the limits (B20a, B21, B22, B23, B30, B36).

pub mod naming;
pub mod pairs;

use serde_json::{Map, Value};

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

#[derive(Debug, Clone, PartialEq)]
pub struct SetAside {
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
}
