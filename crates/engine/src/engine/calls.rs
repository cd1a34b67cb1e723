//! Calls and cards.

use std::sync::Arc;

use super::Engine;
use crate::api::types::*;
use crate::error::Result;

impl Engine {
    pub(super) async fn cards(&self) -> Result<Vec<Card>> {
        let cards = self.queue.cards();
        if cards.is_empty() {
            return Ok(vec![]);
        }
        let titles = self.store.conversations().await?;
        Ok(cards
            .into_iter()
            .map(|card| {
                let conversation = card.binding.conversation.unwrap_or_default();
                Card {
                    conversation_title: titles.iter().find(|c| c.id == conversation).map(|c| c.title.clone()).unwrap_or_default(),
                    conversation,
                    id: card.id,
                    entry: card.entry,
                    server: card.binding.server,
                    server_name: card.server_name,
                    machine: card.machine,
                    cwd: card.cwd,
                    tool: card.binding.tool,
                    title: card.title,
                    description: card.description,
                    arguments: card.arguments.to_string(),
                    why: card.why,
                    at: card.at,
                }
            })
            .collect())
    }

    pub(super) fn watch_cards(self: &Arc<Self>) {
        let mut changes = self.queue.watch();
        let engine = Arc::downgrade(self);
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(engine) = engine.upgrade() else { return };
                if let Err(e) = engine.publish_cards().await {
                    tracing::warn!("the waiting cards could not be shown: {e}");
                }
            }
        });
    }

    /// A person answers a card. False when nobody was waiting any more.
    pub async fn card_answer(&self, p: CardAnswer) -> Result<AnswerReply> {
        use crate::approval::queue::Answer;
        let answer =
            if p.allow { Answer::Allow { by: "person in the window".into() } } else { Answer::Deny { reason: p.reason } };
        Ok(AnswerReply { was_waiting: self.queue.answer(&p.card, answer) })
    }
}
