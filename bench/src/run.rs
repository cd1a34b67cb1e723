//! What may be asked for on the command line, and the one run through it.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::report::{self, Report};
use crate::{measure, rows, servers};

/// The exit code when every row has its figure and a goal was missed.
const MISSED: u8 = 3;

const USAGE: &str = "mework-bench [--smallest] [--json FILE] [ROW...]";

pub fn run() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    match arguments.peek().map(String::as_str) {
        Some(servers::STDIO) => return servers::stdio(arguments.nth(1)),
        Some(servers::HTTP) => return servers::http(),
        _ => {}
    }
    let (mut rounds, mut file, mut only) = (measure::Rounds::Full, None, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--smallest" => rounds = measure::Rounds::Smallest,
            "--json" => file = arguments.next().map(PathBuf::from),
            row if report::LINES.iter().any(|line| line.id == row) => only.push(argument),
            other => {
                let rows: Vec<&str> = report::LINES.iter().map(|line| line.id).collect();
                eprintln!("{other:?} is neither an option nor a row.\n{USAGE}\nRows: {}", rows.join(", "));
                return ExitCode::from(2);
            }
        }
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(problem) => {
            eprintln!("The bench could not start: {problem}.");
            return ExitCode::FAILURE;
        }
    };
    let mut report = Report::begin();
    runtime.block_on(rows::run(rounds, &only, &mut report));
    runtime.shutdown_background();
    report.end();
    print!("{}", report.table());
    if let Some(file) = file
        && let Err(problem) = std::fs::write(&file, report.json())
    {
        eprintln!("{} could not be written: {problem}.", file.display());
        return ExitCode::FAILURE;
    }
    if !report.is_whole(&only) {
        return ExitCode::FAILURE;
    }
    let missed = report.missed();
    // One round says that everything still runs, and nothing about how fast it is.
    if missed.is_empty() || rounds == measure::Rounds::Smallest {
        return ExitCode::SUCCESS;
    }
    eprintln!("Missed: {}.", missed.join(", "));
    ExitCode::from(MISSED)
}
