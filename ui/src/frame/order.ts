// The order of conversations in a list.

import type { ConversationSummary } from "../host/api";

/** Newest first. Those that stay where they are (`kept`, by id) keep their order, and what is new comes before them. */
export function arrange(conversations: readonly ConversationSummary[], kept: readonly string[] = []): ConversationSummary[] {
  const place = new Map(kept.map((id, at) => [id, at]));
  return [...conversations].sort((a, b) => (place.get(a.id) ?? -1) - (place.get(b.id) ?? -1) || b.updated_at - a.updated_at);
}
