// What stands in the composer, as the engine keeps it: one text.

export type Draft = { server: string; tool: string; arguments: string };

export function readDraft(text: string): Draft | null {
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== "object" || read === null) return null;
    const { server, tool, arguments: args } = read as Record<string, unknown>;
    return typeof server === "string" && typeof tool === "string" && typeof args === "string" ? { server, tool, arguments: args } : null;
  } catch {
    return null;
  }
}

export const writeDraft = (draft: Draft): string => JSON.stringify({ server: draft.server, tool: draft.tool, arguments: draft.arguments });
