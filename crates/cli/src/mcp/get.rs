//! `mework mcp get`: one server as its file writes it, and what that means.

use std::time::Duration;

use mework_engine::config::ServerEntry;
use mework_engine::limits::CONFIG_FILE_BYTES;
use mework_engine::machine::FileRead;
use mework_engine::text::display_line;
use mework_engine::wire::Consent;
use serde_json::{Value, json};

use super::consent::{entry, field};
use super::{Ended, is_json};
use crate::args;
use crate::declared::{Choice, Declared};
use crate::output::{Style, print, print_json};

pub async fn run(args: args::Get) -> Ended {
    let (look, declared) = Declared::look(&args.workspaces).await?;
    let choice = declared.one(&args.name, args.scope).await?;
    let written = written(choice).await;
    let (view, consent) = match choice.entry {
        ServerEntry::Ready(server) => (Some(look.view(choice.level, server).new), look.consent(server)),
        ServerEntry::Unavailable(_) => (None, Consent::Needed),
    };
    if is_json(args.output) {
        let mut out = super::list::server(choice, consent);
        out["entry"] = written.unwrap_or(Value::Null);
        out["resolved"] = match (&view, choice.entry) {
            (Some(view), ServerEntry::Ready(server)) => {
                let mut resolved = json!(view);
                resolved["call_timeout_ms"] = json!(u64::try_from(server.call_timeout.as_millis()).unwrap_or(u64::MAX));
                resolved["disabled_tools"] = json!(server.hidden_tools);
                resolved["always_ask"] = json!(server.always_ask);
                resolved
            }
            (None, _) | (Some(_), ServerEntry::Unavailable(_)) => Value::Null,
        };
        print_json(&out);
        return Ok(true);
    }
    let mut out = format!("{}\n", display_line(choice.name()));
    if let Some(description) = choice.description() {
        out += &field("", &display_line(description));
    }
    out += &field("scope", choice.scope());
    out += &field("file", &declared.tilde(&choice.listing.file));
    let state = match (choice.entry, consent) {
        (ServerEntry::Unavailable(_), _) => "unavailable",
        (ServerEntry::Ready(_), Consent::Given) => "ready",
        (ServerEntry::Ready(_), Consent::Needed) => "asks before its first start",
        (ServerEntry::Ready(_), Consent::Changed) => "changed; asks before its next start",
    };
    out += &field("state", state);
    for reason in choice.reasons() {
        out += &field("", &display_line(reason));
    }
    out += &field("transport", choice.transport().unwrap_or("-"));
    if let (Some(view), ServerEntry::Ready(server)) = (&view, choice.entry) {
        out += &entry(view, Style::stdout());
        out += &field("call limit", &seconds(server.call_timeout));
        if !server.hidden_tools.is_empty() {
            out += &field("left out", &display_line(&server.hidden_tools.join(", ")));
        }
        if !server.always_ask.is_empty() {
            out += &field("always ask", &display_line(&server.always_ask.join(", ")));
        }
    } else {
        out += &field("entry", &display_line(&choice.summary()));
    }
    for note in choice.notes() {
        out += &field("note", &display_line(note));
    }
    print(&out);
    Ok(true)
}

/// The entry as it stands in the file right now; the file may have changed since it was listed.
async fn written(choice: Choice<'_>) -> Option<Value> {
    let read = choice.level.machine.read(&choice.listing.file, CONFIG_FILE_BYTES, choice.level.within()).await;
    let FileRead::Bytes(bytes) = read else { return None };
    let text = std::str::from_utf8(&bytes).ok()?;
    let mut file: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    file.get_mut("mcpServers")?.get_mut(choice.name()).map(Value::take)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
