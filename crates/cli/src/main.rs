//! The program `mework`: the command line, and `serve`, the same app in a browser.
//!
//! In reading order:
//! - [`args`]: what may be written on the command line
//! - [`surroundings`]: what the engine is told of the real world
//! - [`serve`]: the app in a browser
//! - [`declared`]: which workspaces count and which server a name means
//! - [`mcp`]: servers: list, get, test, call, add, remove
//! - [`output`], [`terminal`]: what people and programs read, and asking at the terminal
//! - [`doctor`]: what this computer has and lacks
//! - [`desktop`]: opening the window
//! - [`sample_server`]: a real MCP server to try things with
//!
//! It owns words for a terminal, exit codes, and the loopback server. What servers are and do is the engine's.

mod args;
mod declared;
mod desktop;
mod doctor;
mod mcp;
mod output;
mod sample_server;
mod serve;
mod signals;
mod surroundings;
mod terminal;

use std::future::Future;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use output::Stop;

fn main() -> ExitCode {
    mework_engine::machine::panics_to_stderr();
    mework_engine::machine::process::supervise_if_asked();
    mework_engine::machine::warnings_to_stderr();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misread(&error),
    };
    match cli.command {
        None => desktop::open(),
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Mcp(command)) => mcp::run(command),
        Some(Command::Doctor(args)) => doctor::run(args),
        Some(Command::SampleServer) => sample_server::run(),
    }
}

/// A command line that is none, or a request for help. With `-o json`, stdout gets its one document here too.
fn misread(error: &clap::Error) -> ExitCode {
    // Without a stream to say it on, the exit code is what is left.
    let _ = error.print();
    if error.use_stderr() && args::wants_json(std::env::args_os().skip(1)) {
        let words = error.render().to_string();
        output::print_refusal(words.trim().trim_start_matches("error: "));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Runs one command on a single thread: it waits far more than it computes, and starts sooner that way.
fn block_on<T>(work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Stop::failed(format!("Mework could not start: {error}.")))?;
    let ended = runtime.block_on(work);
    // A question that nobody answered still waits for the terminal.
    runtime.shutdown_background();
    ended
}
