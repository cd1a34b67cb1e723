//! Connecting: from the cursor in the composer until every server shows as connected, against starting and greeting them.

use std::time::Instant;

use serde_json::json;

use super::Rows;
use crate::floor;
use crate::measure::{Rounds, alone, by_turns, ms};
use crate::product::{Conversation, several};
use crate::servers::Program;

pub async fn plain(rounds: Rounds, id: &'static str, count: usize) -> Rows {
    connect(rounds.of(if count == 1 { 21 } else { 11 }), id, &Program::plain(), count).await
}

pub async fn compiled(rounds: Rounds, id: &'static str, count: usize) -> Rows {
    connect(rounds.of(if count == 1 { 31 } else { 15 }), id, &Program::sample(), count).await
}

async fn connect(rounds: usize, id: &'static str, program: &Program, count: usize) -> Rows {
    let conversation = Conversation::with(several(count, &program.entry()), &[]).await;
    let ours = async || {
        let mut window = conversation.open().await;
        let took = conversation.connect(&mut window).await;
        window.engine.shutdown().await;
        ms(took)
    };
    vec![(id, by_turns(rounds, ours, async || ms(floor::connect(program, count).await)).await)]
}

/// All of them connected, and a call answered by the last one, while one more says nothing.
pub async fn usable(rounds: Rounds) -> Rows {
    const GOOD: usize = 9;
    let mut entries = several(GOOD, &Program::plain().entry());
    entries.shift_insert(0, "silent".into(), Program::silent().entry());
    let conversation = Conversation::with(entries, &["silent"]).await;
    let measured = alone(rounds.of(7), async || {
        let mut window = conversation.open().await;
        let begun = Instant::now();
        conversation.connect(&mut window).await;
        conversation.call(&mut window, GOOD - 1, "read_file_0", &json!({ "id": "x" }).to_string()).await;
        let took = begun.elapsed();
        window.engine.shutdown().await;
        ms(took)
    });
    vec![("usable", measured.await)]
}
