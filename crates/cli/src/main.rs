//! The program `mework`: the command line, and `serve`, the same app in a browser.
//!
//! In reading order:
//! - [`args`]: what may be written on the command line
//! - [`surroundings`]: what the engine is told of the real world
//! - [`serve`]: the app in a browser
//! - [`sample_server`]: a real MCP server to try things with
//!
//! It owns words for a terminal, exit codes, and the loopback server. What servers are and do is the engine's.

mod args;
mod sample_server;
mod serve;
mod signals;
mod surroundings;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    match Cli::parse().command {
        Some(Command::SampleServer) => sample_server::run(),
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Mcp(_) | Command::Doctor(_)) | None => ExitCode::FAILURE,
    }
}
