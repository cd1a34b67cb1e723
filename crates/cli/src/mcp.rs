//! `mework mcp …`: a person's and a script's way to the servers, on the same engine, files and rules as the window.
//! One module per subcommand; [`consent`] asks before a first start.

mod add;
mod call;
mod consent;
mod get;
mod list;
mod remove;
mod test;

use std::process::ExitCode;

use crate::args::{Format, Mcp};
use crate::output::Stop;

/// Whether everything that was asked for worked; decides the exit code.
type Ended = Result<bool, Stop>;

pub fn run(command: Mcp) -> ExitCode {
    let format = match &command {
        Mcp::List(args) => args.output,
        Mcp::Get(args) => args.output,
        Mcp::Add(args) => args.output,
        Mcp::Remove(args) => args.output,
        Mcp::Test(args) => args.output,
        Mcp::Call(args) => args.output,
    };
    match crate::block_on(dispatch(command)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(stop) => stop.end(format),
    }
}

async fn dispatch(command: Mcp) -> Ended {
    match command {
        Mcp::List(args) => list::run(args).await,
        Mcp::Get(args) => get::run(args).await,
        Mcp::Add(args) => add::run(args).await,
        Mcp::Remove(args) => remove::run(args).await,
        Mcp::Test(args) => test::run(args).await,
        Mcp::Call(args) => call::run(args).await,
    }
}

/// `-o json` was asked for.
fn is_json(format: Format) -> bool {
    format == Format::Json
}
