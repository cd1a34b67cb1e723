//! An app that starts one server through the engine and then waits to be killed: `app-standin SUPERVISOR PROGRAM ARG…`.
//! It says the server's process id once the server said "ready". Like the real programs it can be its own supervisor.

use std::io::Write;

use mework_engine::machine::process::Spec;
use mework_engine::machine::{Machine, Surroundings, environment::Environment};
use tokio::io::{AsyncBufReadExt, BufReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    mework_engine::machine::process::supervise_if_asked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let supervisor = args.next().ok_or("which supervisor?")?;
    let program = args.next().ok_or("which program?")?;
    let machine = Machine::local(Surroundings {
        home: "/".into(),
        data: "/".into(),
        environment: Environment::default(),
        supervisor: vec![supervisor, mework_engine::machine::process::SUPERVISE_FLAG.into()],
    });
    let spec = Spec { program: program.into(), args: args.collect(), cwd: "/".into(), env: Environment::of_process() };
    let server = machine.spawn(spec).await?;
    let pid = server.handle.pid();
    let mut lines = BufReader::new(server.stdout).lines();
    while lines.next_line().await?.is_some_and(|l| l != "ready") {}
    println!("{pid}");
    std::io::stdout().flush()?;
    std::future::pending().await
}
