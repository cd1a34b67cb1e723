//! `make bench`: how long the product takes and how much memory it needs, beside the least that a client could do for the
//! same. Ours and the floor take turns in one run, so that a busy machine disturbs both; a figure is the median of its rounds.
//!
//! - [`run`]: what may be asked for
//! - [`report`]: the rows, their goals, the table and the JSON
//! - [`measure`]: rounds that take turns, medians, what the system says of processes
//! - [`floor`]: the least a client could do
//! - [`product`]: the engine through its wire, and `mework serve` as a process
//! - [`servers`]: the MCP servers that are started here
//! - [`rows`]: what is measured
//!
//! Its exit code tells a run that broke off from one that missed a goal. It runs on Linux alone, where `/proc` tells of
//! processes.

#[cfg(target_os = "linux")]
mod floor;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod product;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod rows;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod servers;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    run::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("The bench reads what /proc says of processes, so it runs on Linux alone.");
    ExitCode::FAILURE
}
