// Where a waiting call would run. What counts is the text that would be sent, edited or not.
import type { Card } from "../host/api";
import { parse } from "../lib/json/json";

/** The folder or origin a card's call runs in with these arguments; null where they name none of the folders there are. Text
 * that cannot be sent names nothing, and stands for what was asked for. */
export function placeOf(card: Card, text: string): string | null {
  if (card.folders.length === 0) return card.cwd;
  const parsed = parse(text);
  if (!("node" in parsed) || parsed.node.kind !== "object") return card.cwd;
  // Of a key that stands twice the last value counts; the engine refuses such text in any case.
  const given = parsed.node.members.findLast((member) => member.key === "workspace");
  if (!given) return card.folders[0] ?? null;
  // By value: 2.0 is 2.
  const number = given.value.kind === "number" ? Number(given.value.raw) : NaN;
  return Number.isInteger(number) ? (card.folders[number - 1] ?? null) : null;
}
