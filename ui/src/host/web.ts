// The engine behind `mework serve`: requests over POST, events over a WebSocket that comes back by itself.

import type { Envelope } from "./api";
import { failure, HostError, request, type Host, type Link, type Method, type Params, type Reply, type Subscriber } from "./host";
import { words } from "../words";

const pauses = [250, 500, 1000, 2000, 4000, 8000];

export function webHost(base: URL | string = location.origin): Host {
  const rpc = new URL("/rpc", base);
  const events = new URL("/events", base);
  events.protocol = events.protocol === "https:" ? "wss:" : "ws:";

  async function post(body: string): Promise<unknown> {
    let response: Response;
    try {
      response = await fetch(rpc, {
        method: "POST",
        headers: { "content-type": "application/json" },
        credentials: "same-origin",
        redirect: "error",
        body,
      });
    } catch {
      throw new HostError("unreachable", words.link.unreachable);
    }
    if (response.status === 401) throw new HostError("denied", words.link.denied);
    let answer: unknown;
    try {
      answer = await response.json();
    } catch {
      // A proxy's or a dying server's page, not ours.
      throw new HostError(response.ok ? "failed" : "unreachable", words.link.unreachable);
    }
    if (typeof answer === "object" && answer !== null) {
      if ("error" in answer) throw failure(answer.error);
      if ("ok" in answer) return answer.ok;
    }
    throw new HostError("failed", words.link.odd);
  }

  async function send<M extends Method>(method: M, params: Params<M>): Promise<Reply<M>> {
    const made = request(method, params);
    const body = JSON.stringify(made);
    for (let attempt = 0; ; attempt++) {
      try {
        return (await post(body)) as Reply<M>;
      } catch (error) {
        // Only a request that is safe to repeat is repeated: reads, and changes with their id.
        const lost = error instanceof HostError && error.code === "unreachable";
        if (!lost || attempt >= 4) throw error;
        await new Promise((next) => setTimeout(next, pauses[attempt]));
      }
    }
  }

  function subscribe(subscriber: Subscriber): () => void {
    let socket: WebSocket | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    let attempt = 0;
    let link: Link | undefined;
    const say = (now: Link) => {
      if (now !== link) subscriber.link((link = now));
    };

    function connect() {
      say(attempt === 0 ? "connecting" : "lost");
      socket = new WebSocket(events);
      socket.onopen = () => {
        attempt = 0;
        say("live");
      };
      socket.onmessage = (message) => {
        let envelope: Envelope;
        try {
          envelope = JSON.parse(String(message.data)) as Envelope;
        } catch {
          envelope = { kind: "resync" };
        }
        subscriber.envelope(envelope);
      };
      socket.onclose = () => {
        if (ended) return;
        say("lost");
        // A refused upgrade looks like any other loss; a read tells whether the cookie is the reason.
        post(JSON.stringify(request("snapshot", {}))).catch((error: unknown) => {
          if (!ended && error instanceof HostError && error.code === "denied") {
            ended = true;
            clearTimeout(timer);
            say("denied");
          }
        });
        timer = setTimeout(connect, pauses[Math.min(attempt++, pauses.length - 1)]);
      };
    }

    connect();
    return () => {
      ended = true;
      clearTimeout(timer);
      socket?.close();
    };
  }

  return { everyKey: false, request: send, subscribe };
}
