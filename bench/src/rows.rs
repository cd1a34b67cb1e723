//! What is measured, a module for each kind. Each answers with its rows by their ids in [`crate::report::LINES`].

mod calls;
mod connect;
mod lists;
mod memory;
mod picker;
mod start;
mod window;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::measure::{Measured, Rounds};
use crate::report::Report;

type Rows = Vec<(&'static str, Measured)>;
type Measure = fn(Rounds) -> LocalBoxFuture<'static, Rows>;

/// Each measurement and the rows it gives, in the order of the report.
const ALL: &[(&[&str], Measure)] = &[
    (&["connect-1"], |rounds| Box::pin(connect::plain(rounds, "connect-1", 1))),
    (&["connect-10"], |rounds| Box::pin(connect::plain(rounds, "connect-10", 10))),
    (&["connect-compiled-1"], |rounds| Box::pin(connect::compiled(rounds, "connect-compiled-1", 1))),
    (&["connect-compiled-10"], |rounds| Box::pin(connect::compiled(rounds, "connect-compiled-10", 10))),
    (&["usable"], |rounds| Box::pin(connect::usable(rounds))),
    (&["call-stdio"], |rounds| Box::pin(calls::stdio(rounds))),
    (&["call-http"], |rounds| Box::pin(calls::http(rounds))),
    (&["call-road-stdio", "call-road-http"], |rounds| Box::pin(calls::road(rounds))),
    (&["list-file", "list-command", "list-page"], |rounds| Box::pin(lists::thousand(rounds))),
    (&["memory-stdio", "memory-http"], |rounds| Box::pin(memory::idle(rounds))),
    (&["memory-endless", "memory-gzip", "memory-huge-stdio", "memory-huge-http"], |rounds| Box::pin(memory::floods(rounds))),
    (&["start-version", "start-list"], |rounds| Box::pin(start::command_line(rounds))),
    (&["window-paint", "window-memory"], |rounds| Box::pin(window::window(rounds))),
    (&["picker", "picker-cpu"], |rounds| Box::pin(picker::picker(rounds))),
];

/// Measures what is asked for, everything if nothing is named. One that breaks off leaves the others alone.
pub async fn run(rounds: Rounds, only: &[String], report: &mut Report) {
    for (ids, measure) in ALL {
        if !only.is_empty() && !ids.iter().any(|id| only.iter().any(|asked| asked == id)) {
            continue;
        }
        match AssertUnwindSafe(measure(rounds)).catch_unwind().await {
            Ok(rows) => rows.iter().for_each(|(id, measured)| report.add(id, measured)),
            Err(panic) => ids.iter().for_each(|id| report.add_failed(id, words(&*panic))),
        }
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(words), _) => words,
        (_, Some(words)) => words,
        _ => "it broke off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::LINES;

    #[test]
    fn every_line_of_the_report_is_measured_once() {
        let measured: Vec<&str> = ALL.iter().flat_map(|(ids, _)| ids.iter().copied()).collect();
        let lines: Vec<&str> = LINES.iter().map(|line| line.id).collect();
        assert_eq!(measured, lines);
    }
}
