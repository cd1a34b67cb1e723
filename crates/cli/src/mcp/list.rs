//! `mework mcp list`: every declared server and every file, without starting anything.

use std::path::{Path, PathBuf};

use mework_engine::config::{FileState, Level, Listing, Scope, ServerEntry};
use mework_engine::text::display_line;
use mework_engine::wire::Consent;
use serde_json::{Value, json};

use super::{Ended, is_json};
use crate::args;
use crate::declared::{Choice, Declared, scope_name};
use crate::output::{Colour, Style, Table, print, print_json};

pub async fn run(args: args::List) -> Ended {
    let (look, declared) = Declared::look(&args.workspaces).await?;
    let consents: Vec<Consent> = declared
        .all()
        .map(|choice| match choice.entry {
            ServerEntry::Ready(server) => look.consent(server),
            // Nobody can agree to what cannot be read.
            ServerEntry::Unavailable(_) => Consent::Needed,
        })
        .collect();
    if is_json(args.output) {
        let files: Vec<Value> = declared.levels.iter().flat_map(|(level, listing)| files(level, listing)).collect();
        let servers: Vec<Value> = declared.all().zip(&consents).map(|(choice, consent)| server(choice, *consent)).collect();
        print_json(&json!({ "files": files, "servers": servers }));
    } else {
        print(&text(&declared, &consents, Style::stdout()));
    }
    Ok(true)
}

/// A level's file, and its old one when both are there.
fn files(level: &Level, listing: &Listing) -> Vec<Value> {
    let (state, message) = match &listing.state {
        FileState::Absent => ("absent", None),
        FileState::Read { .. } => ("ok", None),
        FileState::Ignored { message } => ("ignored", Some(message.clone())),
    };
    let file = |path: &Path, state: &str, message: Option<String>| {
        let mut file = json!({ "path": path.to_string_lossy(), "source": "native", "level": scope_name(level), "state": state });
        if let Some(message) = message {
            file["message"] = message.into();
        }
        file
    };
    let mut files = vec![file(&listing.file, state, message)];
    if let Some(path) = shadowed(level, listing) {
        let message = format!("It is not read, because {} stands beside it.", listing.file.display());
        files.push(file(&path, "shadowed", Some(message)));
    }
    files
}

/// The file under the old name, when the new one stands beside it (B1).
fn shadowed(level: &Level, listing: &Listing) -> Option<PathBuf> {
    let legacy = level.legacy_file();
    let hidden = listing.file != legacy && listing.state != FileState::Absent && legacy.symlink_metadata().is_ok();
    hidden.then_some(legacy)
}

/// One server as `list`, and with more beside it `get`, show it.
pub fn server(choice: Choice<'_>, consent: Consent) -> Value {
    let id = choice.entry.id();
    let mut server = json!({
        "id": choice.id(),
        "name": id.name,
        "source": "native",
        "scope": choice.scope(),
        "file": id.file.to_string_lossy(),
        "machine": id.machine.0,
        "transport": choice.transport(),
        "state": choice.state(),
        "reasons": choice.reasons(),
        "notes": choice.notes(),
    });
    if let Some(description) = choice.description() {
        server["description"] = description.into();
    }
    server["consent"] = json!(consent);
    server
}

fn text(declared: &Declared, consents: &[Consent], style: Style) -> String {
    let mut table = Table::default();
    for (choice, consent) in declared.all().zip(consents) {
        let row = table.row().cell(display_line(choice.name())).cell(choice.transport().unwrap_or("-"));
        match (choice.entry, consent) {
            (ServerEntry::Unavailable(_), _) => row.painted(Colour::Bad, "unavailable"),
            (ServerEntry::Ready(_), Consent::Given) => row.painted(Colour::Good, "ready"),
            (ServerEntry::Ready(_), Consent::Needed) => row.painted(Colour::Attention, "asks first"),
            (ServerEntry::Ready(_), Consent::Changed) => row.painted(Colour::Attention, "changed, asks first"),
        };
        row.painted(Colour::Faint, display_line(&choice.summary()));
    }
    let mut rows = table.lines(style, 2).into_iter();
    let mut out = String::new();
    let mut number = 0;
    for (level, listing) in &declared.levels {
        let title = match &level.scope {
            Scope::Global => "Global".to_owned(),
            Scope::Workspace(_) => {
                number += 1;
                format!("Workspace {number}")
            }
        };
        let (state, message) = match &listing.state {
            FileState::Absent => (" (no such file)", None),
            FileState::Read { .. } if listing.servers.is_empty() => (" (no servers)", None),
            FileState::Read { .. } => ("", None),
            FileState::Ignored { message } => (" (ignored)", Some(message)),
        };
        if !out.is_empty() {
            out.push('\n');
        }
        out += &format!("{}  {}{state}\n", style.paint(Colour::Strong, &title), declared.tilde(&listing.file));
        if let Some(message) = message {
            out += &format!("  {}\n", style.paint(Colour::Bad, &display_line(message)));
        }
        if let Some(path) = shadowed(level, listing) {
            out += &format!("  {} is not read, because this file stands beside it.\n", declared.tilde(&path));
        }
        for (entry, row) in listing.servers.values().zip(rows.by_ref()) {
            out += &format!("{row}\n");
            let choice = Choice { level, listing, entry };
            for reason in choice.reasons() {
                out += &format!("    {}\n", style.paint(Colour::Bad, &display_line(reason)));
            }
            for note in choice.notes() {
                out += &format!("    {}\n", style.paint(Colour::Faint, &display_line(note)));
            }
        }
    }
    if declared.all().next().is_none() {
        out += "\nNo server is declared yet. A small one to try: mework mcp add sample -- mework sample-server\n";
    }
    out
}
