// The tool that a call is written for, and what its server says of it. That comes when its server does, and again when the
// server changed the tool.

import { untrack } from "svelte";
import type { ToolDetail } from "../host/api";
import { failure } from "../host/host";
import type { App, OpenConversation } from "../state/app.svelte";

export type Tool = { server: string; tool: string };

export class ChosenTool {
  now = $state.raw<Tool | null>(null);
  detail = $state.raw<ToolDetail | null>(null);
  /** Why nothing more is known of it. */
  failed = $state<string | null>(null);
  /** Its server does not list it: now, or not yet. */
  unknown = $state(false);
  #asked = "";

  /** Call it while a component is made. `came` is told what was known before, if that was of the same tool. */
  constructor(app: App, open: () => OpenConversation, came: (detail: ToolDetail, before: ToolDetail | null) => void) {
    $effect(() => {
      const now = this.now;
      const { id, tools } = open();
      if (!now) return;
      const listed = tools?.find((t) => t.server === now.server && t.name === now.tool);
      untrack(() => {
        this.unknown = tools !== null && !listed;
        if (!listed || this.detail?.definition === listed.definition) return;
        const key = `${now.server}\n${now.tool}\n${listed.definition}`;
        if (this.#asked === key) return;
        this.#asked = key;
        app
          .request("tools.get", { conversation: id, ...now })
          .then(
            (got) => {
              if (this.now !== now) return;
              const before = this.detail;
              this.detail = got;
              this.failed = null;
              came(got, before);
            },
            (error: unknown) => {
              if (this.now === now) this.failed = failure(error).message;
            },
          )
          .finally(() => {
            if (this.#asked === key) this.#asked = "";
          });
      });
    });
  }

  is(server: string, tool: string): boolean {
    return this.now?.server === server && this.now.tool === tool;
  }

  choose(now: Tool | null): void {
    this.detail = null;
    this.failed = null;
    this.#asked = "";
    this.now = now;
  }
}
