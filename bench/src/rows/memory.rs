//! Memory of `mework serve`, which is the engine and nothing else: for each idle connection, its supervisor included and the
//! server itself not; and at its peak while a server sends without end.

use std::time::Duration;

use mework_engine::machine::process::SUPERVISE_FLAG;
use serde_json::{Map, Value};

use super::Rows;
use crate::measure::{Measured, Rounds, arguments, forget_peak, peak_mib, resident_mib, share_mib, tree};
use crate::product::{Served, several};
use crate::servers::{HttpServer, Program};

/// Connected before the first look: what every engine needs once is there then.
const FIRST: usize = 4;
/// And these between the two looks.
const MORE: usize = 20;

pub async fn idle(rounds: Rounds) -> Rows {
    let http = HttpServer::start();
    let mut rows = Rows::new();
    // A program of its own: pages that servers shared with us would count as theirs in part.
    let stdio = Program::breaking("huge").entry();
    for (id, entry) in [("memory-stdio", stdio), ("memory-http", http.entry())] {
        let mut found = Vec::new();
        for _ in 0..rounds.of(3) {
            found.push(one(&entry).await);
        }
        rows.push((id, Measured::ours(found)));
    }
    rows
}

async fn one(entry: &Value) -> f64 {
    let served = Served::start(several(FIRST + MORE, entry)).await;
    let conversation = served.conversation().await;
    let names: Vec<String> = (0..FIRST + MORE).map(|n| format!("server-{n}")).collect();
    served.tick(&conversation, &names[..FIRST]).await;
    let before = ours(&served).await;
    served.tick(&conversation, &names[FIRST..]).await;
    (ours(&served).await - before) / MORE as f64
}

/// The engine and its supervisors, which share the program's pages. What a start needs for a moment is given back first.
async fn ours(served: &Served) -> f64 {
    tokio::time::sleep(Duration::from_millis(500)).await;
    let own = |pid: &i32| *pid == served.pid() || arguments(*pid).iter().any(|word| word == SUPERVISE_FLAG);
    tree(served.pid()).into_iter().filter(own).map(share_mib).sum()
}

pub async fn floods(rounds: Rounds) -> Rows {
    let http = HttpServer::start();
    let cases = [
        ("memory-endless", Program::breaking("endless").entry(), "huge"),
        ("memory-gzip", http.entry(), "gzip"),
        ("memory-huge-stdio", Program::breaking("huge").entry(), "huge"),
        ("memory-huge-http", http.entry(), "huge"),
    ];
    let mut rows = Rows::new();
    for (id, entry, tool) in cases {
        let mut found = Vec::new();
        for _ in 0..rounds.of(3) {
            let served = Served::start(Map::from_iter([("flood".to_owned(), entry.clone())])).await;
            let conversation = served.conversation().await;
            served.tick(&conversation, &["flood".to_owned()]).await;
            let before = resident_mib(served.pid());
            forget_peak(served.pid());
            assert_eq!(served.call(&conversation, "flood", tool).await, "failed", "{id} is refused");
            found.push(peak_mib(served.pid()) - before);
        }
        rows.push((id, Measured::ours(found)));
    }
    rows
}
