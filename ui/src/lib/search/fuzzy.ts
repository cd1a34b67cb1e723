// Finds things by a few typed letters. Owns the score; it knows nothing of what is searched.
// Every word of the query must be found in some field: as a piece of it, or (in short fields) as letters in order.

export type Field = { text: string; lower: string; weight: number; /** Letters in order count, not only whole pieces. */ loose: boolean };
export type Match = { score: number; /** Indexes into the first field's text, for drawing. */ marks: number[] };

export const field = (text: string, weight: number, loose: boolean): Field => ({ text, lower: text.toLowerCase(), weight, loose });

const boundary = (text: string, at: number): boolean => {
  if (at === 0) return true;
  const before = text.charCodeAt(at - 1);
  const here = text.charCodeAt(at);
  const letter = (c: number) => (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || (c >= 48 && c <= 57) || c > 127;
  const upper = (c: number) => c >= 65 && c <= 90;
  return !letter(before) || (upper(here) && !upper(before));
};

function word(query: string, target: Field): { score: number; marks: number[] } | null {
  // A whole piece; better at the start of a word, best at the very start.
  let best = -1;
  let bestScore = -1;
  for (let at = target.lower.indexOf(query); at !== -1; at = target.lower.indexOf(query, at + 1)) {
    const score = at === 0 ? 100 : boundary(target.text, at) ? 80 : 50;
    if (score > bestScore) [best, bestScore] = [at, score];
    if (at === 0 || !target.loose) break;
  }
  if (best !== -1) {
    const cover = (20 * query.length) / Math.max(target.lower.length, 1);
    return { score: bestScore + cover, marks: Array.from({ length: query.length }, (_, i) => best + i) };
  }
  if (!target.loose || query.length < 2) return null;
  // Letters in order, preferring starts of words.
  const marks: number[] = [];
  let at = 0;
  let score = 0;
  for (const letter of query) {
    let found = target.lower.indexOf(letter, at);
    if (found === -1) return null;
    for (let next = found; next !== -1 && next - found < 24; next = target.lower.indexOf(letter, next + 1))
      if (boundary(target.text, next)) {
        if (rest(target.lower, query, marks.length + 1, next + 1)) found = next;
        break;
      }
    score += marks.length > 0 && marks[marks.length - 1] === found - 1 ? 3 : boundary(target.text, found) ? 2.5 : 0;
    marks.push(found);
    at = found + 1;
  }
  const spread = (marks[marks.length - 1] ?? 0) - (marks[0] ?? 0) + 1;
  const density = query.length / spread;
  // Letters strewn over a long name by chance are no match.
  if (density < 0.25 && score < query.length * 1.5) return null;
  return { score: 10 + (25 * score) / (3 * query.length) + 10 * density, marks };
}

function rest(lower: string, query: string, from: number, at: number): boolean {
  for (let i = from; i < query.length; i++) {
    at = lower.indexOf(query[i] as string, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/** How well the query fits; null when a word of it is not found anywhere. An empty query fits everything equally. */
export function match(query: string, fields: readonly Field[]): Match | null {
  let score = 0;
  const marks: number[] = [];
  for (const part of query.toLowerCase().split(/\s+/)) {
    if (part === "") continue;
    let best: { score: number; marks: number[] } | null = null;
    for (const [index, one] of fields.entries()) {
      const found = word(part, one);
      if (!found) continue;
      const weighted = found.score * one.weight;
      if (!best || weighted > best.score) best = { score: weighted, marks: index === 0 ? found.marks : [] };
    }
    if (!best) return null;
    score += best.score;
    marks.push(...best.marks);
  }
  return { score, marks: [...new Set(marks)].sort((a, b) => a - b) };
}

/**
 * Ranks many items without holding up typing: works in slices and stops when a newer search began.
 * Equal scores keep the order given.
 */
export async function rank<T>(
  query: string,
  items: readonly T[],
  fields: (item: T) => readonly Field[],
  signal: AbortSignal,
  slice = 4,
): Promise<{ item: T; match: Match }[]> {
  const out: { item: T; match: Match; index: number }[] = [];
  let since = performance.now();
  for (const [index, item] of items.entries()) {
    const found = match(query, fields(item));
    if (found) out.push({ item, match: found, index });
    if (index % 64 === 63 && performance.now() - since > slice) {
      await new Promise((next) => setTimeout(next, 0));
      if (signal.aborted) return [];
      since = performance.now();
    }
  }
  if (query.trim() !== "") out.sort((a, b) => b.match.score - a.match.score || a.index - b.index);
  return out;
}
