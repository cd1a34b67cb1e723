//! What a person sees before a server starts for the first time, or after its entry changed (row 3, decision 1).

use std::path::Path;

use crate::config::consent::{self, Review};
use crate::config::{Scope, Server, Transport, paste};
use crate::store::{ChangedTool, ConsentRow};
use crate::text::{display, display_capped, display_line};
use crate::wire::{ConsentView, DiffLine, EntryView, Proposal, TransportKind, VariableUse};

/// The view of an entry as it is now; with old beside new when something else was agreed to. `folder`: where it starts when
/// its entry says nothing.
pub fn view(server: &Server, scope: &Scope, folder: &Path, agreed: Option<&ConsentRow>) -> ConsentView {
    let changed = agreed.filter(|row| row.digest != server.digest);
    ConsentView {
        server: server.id.to_string(),
        name: display_line(&server.id.name),
        machine: server.id.machine.label(),
        file: display_line(&server.id.file.to_string_lossy()),
        digest: server.digest.clone(),
        new: entry(consent::review(server, scope, folder)),
        old: changed.and_then(|row| consent::review_canonical(&row.canonical, scope, folder)).map(entry),
        diff: changed
            .map(|row| consent::diff(&row.canonical, &server.canonical))
            .unwrap_or_default()
            .into_iter()
            .map(line)
            .collect(),
    }
}

/// Lines of two texts of an entry side by side.
pub fn lines_beside(old: &str, new: &str) -> Vec<DiffLine> {
    consent::diff(old, new).into_iter().map(line).collect()
}

/// A server that pasted text would add.
pub fn proposal(found: paste::Proposal) -> Proposal {
    let paste::Proposal { name, entry, reasons, notes, exists } = found;
    Proposal { name, entry, reasons: reasons.iter().map(|reason| display(reason)).collect(), notes, exists }
}

fn entry(review: Review) -> EntryView {
    let Review { transport, registry_url, command, args, cwd, url_origin, variables, notes } = review;
    EntryView {
        transport: Some(match transport {
            Transport::Stdio => TransportKind::Stdio,
            Transport::Http => TransportKind::Http,
        }),
        command: command.as_deref().map(display),
        args: args.iter().map(|arg| display(arg)).collect(),
        cwd: cwd.as_deref().map(display_line),
        url_origin: url_origin.as_deref().map(display_line),
        registry_url: registry_url.as_deref().map(display_line),
        variables: variables
            .into_iter()
            .map(|variable| VariableUse {
                name: display_line(&variable.name),
                place: display_line(&variable.place),
                warning: variable.warning,
            })
            .collect(),
        notes,
    }
}

/// Most lines of one notice's difference, and characters of one line: it is kept in the transcript.
const NOTICE_LINES: usize = 500;
const NOTICE_LINE_CHARS: usize = 4_000;

/// What is different in the definitions of these tools, each under its name (row 6).
pub fn changed_tools(changed: &[ChangedTool]) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    for tool in changed {
        let name = display_capped(&tool.name, 80);
        lines.push(DiffLine { old: Some(name.clone()), new: Some(name), changed: false });
        let differing = consent::diff(&tool.old, &tool.new).into_iter().filter(|line| line.changed);
        let capped = |text: Option<String>| text.map(|text| display_capped(&text, NOTICE_LINE_CHARS));
        lines.extend(differing.map(|line| DiffLine { old: capped(line.old), new: capped(line.new), changed: true }));
        if lines.len() > NOTICE_LINES {
            lines.truncate(NOTICE_LINES);
            lines.push(DiffLine { old: Some("…".into()), new: Some("…".into()), changed: false });
            break;
        }
    }
    lines
}

fn line(line: consent::DiffLine) -> DiffLine {
    DiffLine { old: line.old.as_deref().map(display), new: line.new.as_deref().map(display), changed: line.changed }
}
