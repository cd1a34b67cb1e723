//! The MCP page's lists of one conversation (B14, B15).

use std::collections::{BTreeMap, BTreeSet};

use super::{GLOBAL, Placed, consent};
use crate::config::{FileState, Launch, Scope, Server, ServerEntry, ServerId, Transport};
use crate::store::ConsentRow;
use crate::text;
use crate::wire::{Consent, Review, Section, ServerRow, ServerStatus, Servers, TransportKind};

/// What one conversation ticked, and what a person agreed to anywhere.
pub struct Ticks<'a> {
    pub selection: &'a BTreeSet<String>,
    pub consents: &'a BTreeMap<String, ConsentRow>,
    pub review: Review,
}

/// Longer command lines are cut in a row; the review shows them whole.
const SUMMARY_CHARS: usize = 400;

/// Builds the lists. `status` knows what tests and connections found.
pub fn servers(levels: &[Placed], ticks: &Ticks<'_>, status: &dyn Fn(&Server) -> ServerStatus) -> Servers {
    let several = levels.iter().filter(|placed| placed.key != GLOBAL).count() > 1;
    let mut found = BTreeSet::new();
    let mut number = 0;
    let mut sections = Vec::with_capacity(levels.len());
    for placed in levels {
        let is_workspace = placed.key != GLOBAL;
        number += u32::from(is_workspace);
        let rows: Vec<ServerRow> = placed.listing.servers.values().map(|entry| row(placed, entry, ticks, status)).collect();
        found.extend(rows.iter().map(|row| row.id.clone()));
        let (file_exists, file_hash, message) = match &placed.listing.state {
            FileState::Absent => (false, None, None),
            FileState::Read { hash } => (true, Some(hash.clone()), None),
            FileState::Ignored { message } => (true, None, Some(text::display(message))),
        };
        sections.push(Section {
            level: placed.key.clone(),
            title: match &placed.level.scope {
                Scope::Global => "Global".into(),
                Scope::Workspace(folder) => text::display_line(&folder.to_string_lossy()),
            },
            machine: placed.level.machine.id().label(),
            number: (is_workspace && several).then_some(number),
            file: text::display_line(&placed.listing.file.to_string_lossy()),
            file_exists,
            file_hash,
            message,
            selected: count(rows.iter().filter(|row| row.ticked)),
            rows,
        });
    }
    let dangling: Vec<ServerRow> = ticks.selection.iter().filter(|id| !found.contains(*id)).map(|id| dangling(id)).collect();
    Servers {
        selected: sections.iter().map(|section| section.selected).sum::<u32>() + count(dangling.iter()),
        total: count(sections.iter().flat_map(|section| &section.rows)) + count(dangling.iter()),
        sections,
        dangling,
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

fn row(placed: &Placed, entry: &ServerEntry, ticks: &Ticks<'_>, status: &dyn Fn(&Server) -> ServerStatus) -> ServerRow {
    let id = entry.id().to_string();
    let common = |transport, summary: String, description: &Option<String>| ServerRow {
        ticked: ticks.selection.contains(&id),
        name: text::display_line(&entry.id().name),
        transport,
        summary,
        description: description.as_deref().map(|d| text::display_capped(d, crate::limits::DESCRIPTION_CHARS)),
        file: text::display_line(&placed.listing.file.to_string_lossy()),
        machine: placed.level.machine.id().label(),
        consent: Consent::Needed,
        available: false,
        reasons: vec![],
        notes: vec![],
        disabled_tools: vec![],
        always_ask: vec![],
        status: ServerStatus::Unavailable,
        id: id.clone(),
    };
    match entry {
        ServerEntry::Ready(server) => ServerRow {
            consent: consent(server, &placed.level.scope, ticks.consents.get(&id), ticks.review),
            available: true,
            notes: server.notes.clone(),
            disabled_tools: server.hidden_tools.clone(),
            always_ask: server.always_ask.clone(),
            status: status(server),
            ..common(Some(kind(transport(server))), summary(server), &server.description)
        },
        ServerEntry::Unavailable(unavailable) => ServerRow {
            reasons: unavailable.reasons.iter().map(|reason| text::display(reason)).collect(),
            notes: unavailable.notes.clone(),
            ..common(
                unavailable.transport.map(kind),
                text::display_capped(&unavailable.summary, SUMMARY_CHARS),
                &unavailable.description,
            )
        },
    }
}

fn transport(server: &Server) -> Transport {
    match server.launch {
        Launch::Stdio(_) => Transport::Stdio,
        Launch::Http(_) => Transport::Http,
    }
}

fn kind(transport: Transport) -> TransportKind {
    match transport {
        Transport::Stdio => TransportKind::Stdio,
        Transport::Http => TransportKind::Http,
    }
}

/// The command line or URL as written, on one line.
pub fn summary(server: &Server) -> String {
    let line = match &server.launch {
        Launch::Stdio(stdio) => {
            shell_words::join(std::iter::once(stdio.command.as_str()).chain(stdio.args.iter().map(String::as_str)))
        }
        Launch::Http(http) => crate::config::url::shown_url(&http.url),
    };
    text::display_capped(&line, SUMMARY_CHARS).replace('\n', "⟨U+000A⟩")
}

/// Ticked, and in no file of the conversation.
fn dangling(id: &str) -> ServerRow {
    let parsed: Option<ServerId> = id.parse().ok();
    let shown = |text: &str| text::display_capped(text, 200).replace('\n', "⟨U+000A⟩");
    let (name, file, machine) = match &parsed {
        Some(id) => (shown(&id.name), shown(&id.file.to_string_lossy()), id.machine.label()),
        None => (shown(id), String::new(), String::new()),
    };
    ServerRow {
        id: id.into(),
        name,
        transport: None,
        summary: String::new(),
        description: None,
        file,
        machine,
        ticked: true,
        consent: Consent::Needed,
        available: false,
        reasons: vec!["It is no longer in the file, or its workspace is no longer part of this conversation.".into()],
        notes: vec![],
        disabled_tools: vec![],
        always_ask: vec![],
        status: ServerStatus::Dangling,
    }
}
