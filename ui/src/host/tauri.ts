// The engine in the same process as the window. The only file that imports Tauri.

import { Channel, invoke, isTauri } from "@tauri-apps/api/core";
import type { Envelope } from "./api";
import { failure, request, type Host } from "./host";

export function tauriHost(): Host {
  return {
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
      subscriber.link("connecting");
      invoke("subscribe", { channel }).then(
        () => !ended && subscriber.link("live"),
        () => !ended && subscriber.link("lost"),
      );
      return () => {
        ended = true;
      };
    },
  };
}

/** Whether the page runs in the desktop window. */
export const inWindow = (): boolean => isTauri();
