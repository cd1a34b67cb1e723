//! The real window on a display of its own: when its page is painted first, and what it needs then, WebKit's processes
//! included.

use std::time::{SystemTime, UNIX_EPOCH};

use mework_tests::programs::Home;
use mework_tests::window::Desktop;
use serde_json::json;

use super::Rows;
use crate::measure::{Measured, Rounds, age, ms, share_mib, tree};

/// When the page painted its content first, in milliseconds since 1970.
const PAINTED: &str = "return performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime";

pub async fn window(rounds: Rounds) -> Rows {
    let desktop = Desktop::new();
    let (mut paint, mut memory) = (Vec::new(), Vec::new());
    for round in 0..=rounds.of(5) {
        let home = Home::empty();
        home.declare(json!({ "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"] } }));
        let window = desktop.open_window(&home).await;
        window.until("the page to be painted", "return performance.getEntriesByName('first-contentful-paint').length > 0").await;
        let painted = window.run(PAINTED, vec![]).await;
        let painted = painted.as_f64().unwrap_or_else(|| panic!("no time of a paint: {painted:?}"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(ms).unwrap_or_default();
        let began = now - ms(age(window.app()));
        // Everything that the start still does is done.
        window.run_to_end("setTimeout(arguments[0], 1000)", vec![]).await;
        // The first one brings the programs into memory.
        if round > 0 {
            paint.push(painted - began);
            memory.push(tree(window.app()).into_iter().map(share_mib).sum());
        }
        window.close().await;
    }
    vec![("window-paint", Measured::ours(paint)), ("window-memory", Measured::ours(memory))]
}
