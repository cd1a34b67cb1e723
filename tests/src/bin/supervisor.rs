//! The process supervisor alone, for tests that use the engine as a library: the real programs run it by starting
//! themselves again.

use std::process::ExitCode;

fn main() -> ExitCode {
    mework_engine::machine::process::supervise_if_asked();
    eprintln!("test-supervisor only runs when it is asked to supervise.");
    ExitCode::from(2)
}
