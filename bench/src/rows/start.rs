//! Start of the command line: from starting the program until it has ended, against a program that does nothing.

use std::process::Stdio;

use mework_tests::programs::{Home, command, mework};
use serde_json::json;

use super::Rows;
use crate::measure::{Rounds, by_turns, ms, timed};

pub async fn command_line(rounds: Rounds) -> Rows {
    let home = Home::empty();
    home.declare(json!({ "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"] } }));
    let run = async |program: &std::path::Path, arguments: &[&str]| {
        let mut command = command(program);
        command.args(arguments).envs(home.environment()).current_dir(home.path()).stdin(Stdio::null()).stdout(Stdio::null());
        ms(timed(async { assert!(command.status().expect("a program that starts").success()) }).await)
    };
    let mut rows = Rows::new();
    for (id, arguments) in [("start-version", &["--version"][..]), ("start-list", &["mcp", "list"][..])] {
        let ours = async || run(&mework(), arguments).await;
        let floor = async || run("true".as_ref(), &[]).await;
        rows.push((id, by_turns(rounds.of(41), ours, floor).await));
    }
    rows
}
