//! `mework doctor`: what this computer has and lacks for MCP servers. It starts no server and
//! leaves the data folder as it is; what an earlier Mework that died left running, it ends, as every start of Mework does.

use std::process::ExitCode;

use mework_engine::config::{FileState, ServerEntry};
use mework_engine::engine::{Database, Look};
use mework_engine::machine::Machine;
use mework_engine::machine::process::{ResolveError, sweep};
use mework_engine::text::display_line;
use serde_json::json;

use crate::args::{self, Format};
use crate::declared::{Declared, tilde};
use crate::output::{Colour, Stop, Style, Table, print, print_json};
use crate::surroundings;

/// Programs that servers are usually started with, and what to do without one.
const PROGRAMS: [(&str, &str); 6] = [
    ("node", "Servers written in JavaScript need it. It comes with Node.js (nodejs.org) or a package `nodejs`."),
    ("npx", "Servers from npm are started with it. It comes with Node.js (nodejs.org) or a package `npm`."),
    ("uvx", "Servers from PyPI are usually started with it. It comes with uv (docs.astral.sh/uv)."),
    ("python3", "Servers written in Python need it."),
    ("git", "Servers that work on repositories need it."),
    ("docker", "Servers that come as container images need it."),
];

pub fn run(args: args::Doctor) -> ExitCode {
    match crate::block_on(examine(&args)) {
        Ok(lines) => {
            let healthy = lines.iter().all(|line| line.finding != Finding::Problem);
            if args.output == Format::Json {
                let lines = lines.into_iter().map(
                    |Line { finding, what, message }| json!({ "what": what, "ok": finding == Finding::Fine, "message": message }),
                );
                print_json(&json!({ "lines": lines.collect::<Vec<_>>() }));
            } else {
                print(&text(&lines, Style::stdout()));
            }
            if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(stop) => stop.end(args.output),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Fine,
    /// Not there; only what needs it suffers.
    Missing,
    Problem,
}

struct Line {
    finding: Finding,
    what: String,
    message: String,
}

async fn examine(args: &args::Doctor) -> Result<Vec<Line>, Stop> {
    let mut lines = Vec::new();
    let mut line = |finding, what: &str, message: String| lines.push(Line { finding, what: what.to_owned(), message });

    let left = sweep();
    let surroundings = surroundings::surroundings()?;
    let home = surroundings.home.clone();
    let machine = Machine::local(surroundings.clone());
    for (program, without) in PROGRAMS {
        match machine.resolve(program, &home, machine.environment()) {
            Ok(found) => line(Finding::Fine, program, found.path.display().to_string()),
            Err(ResolveError::NotExecutable { path }) => {
                line(Finding::Missing, program, format!("{} may not be executed. {without}", path.display()));
            }
            Err(ResolveError::NotOnPath { .. } | ResolveError::NoSuchFile { .. }) => {
                line(Finding::Missing, program, format!("Not on the PATH. {without}"));
            }
        }
    }
    line(Finding::Fine, "data folder", tilde(&surroundings.data, &home));
    match Look::database(&surroundings.data).await {
        Ok(Database::Absent) => line(Finding::Fine, "database", "There is none yet. The first start makes it.".into()),
        Ok(Database::Sound) => line(Finding::Fine, "database", "It can be read and written.".into()),
        Ok(Database::Older) => {
            let words =
                "It is of an older version. The next start brings it to this one's format and keeps a copy of the old one.";
            line(Finding::Fine, "database", words.into());
        }
        Ok(Database::Damaged(words)) => line(Finding::Problem, "database", words),
        Err(error) => line(Finding::Problem, "database", error.message),
    }
    let declared = Declared::read(&args.workspaces, surroundings).await?;
    for (_, listing) in &declared.levels {
        let file = declared.tilde(&listing.file);
        match &listing.state {
            FileState::Absent => line(Finding::Fine, &file, "There is no such file yet.".into()),
            FileState::Ignored { message } => line(Finding::Problem, &file, message.clone()),
            FileState::Read { .. } => {
                let usable = listing.servers.values().filter(|entry| matches!(entry, ServerEntry::Ready(_))).count();
                let all = listing.servers.len();
                let servers = if all == 1 { "server" } else { "servers" };
                line(Finding::Fine, &file, format!("{all} {servers} declared, {usable} usable."));
            }
        }
        for entry in listing.servers.values() {
            if let ServerEntry::Unavailable(entry) = entry {
                line(Finding::Problem, &entry.id.name, entry.reasons.join(" "));
            }
        }
    }
    let message = match left {
        0 => "None.".to_owned(),
        1 => "One process that an earlier Mework left running was ended.".into(),
        left => format!("{left} processes that an earlier Mework left running were ended."),
    };
    line(Finding::Fine, "leftovers", message);
    Ok(lines)
}

fn text(lines: &[Line], style: Style) -> String {
    let mut table = Table::default();
    for Line { finding, what, message } in lines {
        let row = table.row();
        match finding {
            Finding::Fine => row.painted(Colour::Good, "ok"),
            Finding::Missing => row.painted(Colour::Attention, "missing"),
            Finding::Problem => row.painted(Colour::Bad, "problem"),
        };
        row.cell(display_line(what)).cell(display_line(message));
    }
    table.lines(style, 0).into_iter().map(|line| line + "\n").collect()
}
