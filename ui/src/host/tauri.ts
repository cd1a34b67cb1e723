// The engine in the same process as the window. The only file that imports Tauri.

import { Channel, invoke, isTauri } from "@tauri-apps/api/core";
import type { Envelope } from "./api";
import { failure, request, type Host } from "./host";

export function tauriHost(): Host {
  return {
    everyKey: true,
    async request(method, params) {
      try {
        return await invoke("rpc", { request: request(method, params) });
      } catch (error) {
        throw failure(error);
      }
    },
    subscribe(subscriber) {
      let ended = false;
      const channel = new Channel<Envelope>();
      channel.onmessage = (envelope) => {
        if (!ended) subscriber.envelope(envelope);
      };
      // The engine may still be opening its database when the page is there.
      let timer: ReturnType<typeof setTimeout> | undefined;
      const begin = () => {
        invoke("subscribe", { channel }).then(
          () => !ended && subscriber.link("live"),
          () => {
            if (ended) return;
            subscriber.link("lost");
            timer = setTimeout(begin, 1000);
          },
        );
      };
      subscriber.link("connecting");
      begin();
      return () => {
        ended = true;
        clearTimeout(timer);
      };
    },
    unsaved(held) {
      // A window that does not hear it closes without asking, as any page's would.
      invoke("unsaved", { held }).catch(() => {});
    },
  };
}

/** Whether the page runs in the desktop window. */
export const inWindow = (): boolean => isTauri();
