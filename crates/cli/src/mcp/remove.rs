//! `mework mcp remove`: takes one entry out of its file; every other byte stays (B17).

use mework_engine::config::FileState;
use mework_engine::text::display_line;
use mework_engine::wire::ServerRemove;
use serde_json::json;

use super::{Ended, is_json};
use crate::args;
use crate::declared::Declared;
use crate::output::{Stop, print, print_json};

pub async fn run(args: args::Remove) -> Ended {
    let (engine, declared) = Declared::open(&args.workspaces).await?;
    let choice = declared.one(&args.name, args.scope).await?;
    let FileState::Read { hash } = &choice.listing.state else {
        return Err(Stop::failed(format!("{} cannot be read, so nothing was removed.", declared.tilde(&choice.listing.file))));
    };
    engine.server_remove(ServerRemove { server: choice.id(), file_hash: hash.clone() }).await?;
    engine.shutdown().await;
    if is_json(args.output) {
        print_json(
            &json!({ "removed": choice.id(), "name": choice.name(), "scope": choice.scope(), "file": choice.listing.file.to_string_lossy() }),
        );
    } else {
        print(&format!("Removed {} from {}.\n", display_line(choice.name()), declared.tilde(&choice.listing.file)));
    }
    Ok(true)
}
