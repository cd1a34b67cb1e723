//! What tests and connections found, in the words of the wire. Servers' words are made safe to show here.

use std::time::{Duration, Instant};

use crate::mcp::probe::Report;
use crate::mcp::{Failure, Health, Peer, StageReport};
use crate::store::now;
use crate::text::{display_capped, display_line};
use crate::tools::{ServerTools, Tool};
use crate::wire::{Connected, FailureInfo, PeerInfo, ServerStatus, SetAsideTool, StageInfo, TestReport, ToolInfo, ToolWeight};

/// Names and versions of servers and tools.
const NAME_CHARS: usize = 200;
/// So many tools of a server are weighed one by one in its row; a list of thousands would go out with every change.
const HEAVIEST: usize = 64;

pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A connection's state as a badge. `began`: when the start that led to it began.
pub fn health(health: &Health, began: Option<Instant>) -> ServerStatus {
    match health {
        Health::Idle => ServerStatus::Idle,
        Health::Connecting { since } => ServerStatus::Connecting { since: now().saturating_sub(millis(since.elapsed())) },
        Health::Connected { since, peer, tools } => {
            let took = began.map_or(Duration::ZERO, |began| since.saturating_duration_since(began));
            ServerStatus::Connected(Box::new(connected(peer, tools, took)))
        }
        Health::Failed { failure } => ServerStatus::Failed(self::failure(failure)),
    }
}

pub fn connected(peer: &Peer, tools: &ServerTools, took: Duration) -> Connected {
    let mut offered: Vec<&Tool> = tools.tools.iter().filter(|tool| !tool.disabled).collect();
    // Of two that weigh the same the first listed stays first.
    offered.sort_by_key(|tool| std::cmp::Reverse(tool.schema_bytes));
    let weight = |tool: &&Tool| ToolWeight { name: display_capped(&tool.name, NAME_CHARS), bytes: tool.schema_bytes };
    Connected {
        tools: u32::try_from(offered.len()).unwrap_or(u32::MAX),
        asking: u32::try_from(offered.iter().filter(|tool| tool.always_asks).count()).unwrap_or(u32::MAX),
        definition_bytes: offered.iter().map(|tool| tool.schema_bytes).sum(),
        heaviest: offered.iter().take(HEAVIEST).map(weight).collect(),
        set_aside: set_aside(tools),
        notices: tools.notices.clone(),
        server_name: display_capped(&peer.name, NAME_CHARS),
        server_version: display_capped(&peer.version, NAME_CHARS),
        protocol: display_line(&peer.protocol),
        elapsed_ms: millis(took),
    }
}

pub fn set_aside(tools: &ServerTools) -> Vec<SetAsideTool> {
    tools.set_aside.iter().map(|tool| SetAsideTool { name: tool.name.clone(), reason: tool.reason.clone() }).collect()
}

pub fn failure(failure: &Failure) -> FailureInfo {
    FailureInfo {
        stage: failure.stage,
        message: failure.message.clone(),
        exit_code: failure.exit_code,
        stderr: failure.stderr.clone(),
        stdout_noise: failure.stdout_noise,
        stdout_sample: failure.stdout_sample.clone(),
    }
}

pub fn stage(stage: &StageReport) -> StageInfo {
    StageInfo { stage: stage.stage, ms: millis(stage.took), ok: stage.ok, message: stage.message.clone() }
}

/// A tool as pickers list it. Its name is raw: it is what a call is sent with.
pub fn tool(tool: &Tool) -> ToolInfo {
    ToolInfo {
        name: tool.name.clone(),
        model_name: tool.model_name.clone(),
        title: tool.shown_title(),
        description: tool.shown_description(),
        schema_bytes: tool.schema_bytes,
        always_asks: tool.always_asks,
        definition: tool.digest.clone(),
        server_asks: tool.requires_user_interaction,
        disabled: tool.disabled,
    }
}

/// Test connection's whole answer.
pub fn report(id: String, name: &str, report: &Report) -> TestReport {
    TestReport {
        id,
        name: display_line(name),
        ok: report.ok(),
        protocol: report.peer.as_ref().map(|peer| display_line(&peer.protocol)),
        server: report.peer.as_ref().map(|peer| PeerInfo {
            name: display_capped(&peer.name, NAME_CHARS),
            version: display_capped(&peer.version, NAME_CHARS),
        }),
        elapsed_ms: millis(report.took),
        stages: report.stages.iter().map(stage).collect(),
        tools: report.tools.tools.iter().map(tool).collect(),
        set_aside: set_aside(&report.tools),
        error: report.failure.as_ref().map(|failure| failure.message.clone()),
        exit_code: report.failure.as_ref().and_then(|failure| failure.exit_code),
        stderr: report.stderr.clone(),
        stdout_noise: report.stdout_noise,
    }
}

/// A test's answer as a badge.
pub fn tested(report: &Report) -> ServerStatus {
    match (&report.failure, &report.peer) {
        (None, Some(peer)) => ServerStatus::Connected(Box::new(connected(peer, &report.tools, report.took))),
        (Some(failure), _) => ServerStatus::Failed(self::failure(failure)),
        (None, None) => ServerStatus::Idle,
    }
}
