import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import type { Envelope } from "./api";
import { webHost } from "./web";

let server: Server | undefined;
afterEach(async () => {
  vi.unstubAllGlobals();
  server?.closeAllConnections();
  await new Promise((done) => (server ? server.close(done) : done(null)));
  server = undefined;
});

type Asked = { id?: string; method: string; params: unknown };
/** A real server on a free port; `answer` gets each request in turn. */
async function serve(answer: (asked: Asked, response: ServerResponse, request: IncomingMessage) => void) {
  const asked: Asked[] = [];
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const one = JSON.parse(body) as Asked;
      asked.push(one);
      answer(one, response, request);
    });
  });
  await new Promise<void>((ready) => server!.listen(0, "127.0.0.1", ready));
  return { asked, host: webHost(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) };
}
const json = (response: ServerResponse, value: unknown, status = 200) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("a reply is the value; reading needs no id", async () => {
  const { host, asked } = await serve((_, response) => json(response, { ok: { tools: [] } }));
  expect(await host.request("tools.list", { id: "a" })).toEqual({ tools: [] });
  expect(asked).toEqual([{ method: "tools.list", params: { id: "a" } }]);
});

test("a failure keeps its code, message and detail", async () => {
  const { host } = await serve((_, response) => json(response, { error: { code: "conflict", message: "It changed.", detail: "more" } }));
  await expect(host.request("conversation.open", { id: "a" })).rejects.toMatchObject({ code: "conflict", message: "It changed.", detail: "more" });
});

test("B42: a change whose answer was lost is sent again with the same id", async () => {
  let times = 0;
  const { host, asked } = await serve((_, response, request) => {
    if (times++ === 0) request.socket.destroy();
    else json(response, { ok: { id: "made" } });
  });
  expect(await host.request("conversation.create", { workspaces: [], temporary: false })).toEqual({ id: "made" });
  expect(asked.length).toBe(2);
  expect(asked[0]!.id).toMatch(uuid);
  expect(asked[1]).toEqual(asked[0]);
});

test("B42: two changes have two ids", async () => {
  const { host, asked } = await serve((_, response) => json(response, { ok: {} }));
  await host.request("level.rescan", { id: "a" });
  await host.request("level.rescan", { id: "a" });
  expect(asked[0]!.id).not.toBe(asked[1]!.id);
});

test("a refusal by the engine is not tried again", async () => {
  const { host, asked } = await serve((_, response) => json(response, { error: { code: "failed", message: "No." } }));
  await expect(host.request("call.stop", { conversation: "a", entry: "e" })).rejects.toThrow("No.");
  expect(asked.length).toBe(1);
});

test("401 says what to do and is not tried again", async () => {
  const { host, asked } = await serve((_, response) => json(response, {}, 401));
  await expect(host.request("snapshot", {})).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("mework serve") as string });
  expect(asked.length).toBe(1);
});

class FakeSocket {
  static made: FakeSocket[] = [];
  onopen?: () => void;
  onmessage?: (message: { data: string }) => void;
  onclose?: () => void;
  constructor(readonly url: URL) {
    FakeSocket.made.push(this);
  }
  close() {}
}

test("events come in order over a socket that comes back by itself", async () => {
  vi.useFakeTimers();
  FakeSocket.made = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no network")));
  try {
    const seen: string[] = [];
    const envelope: Envelope = { kind: "event", seq: 5, event: { type: "notice", text: "hi" } };
    const stop = webHost("https://example.test").subscribe({ envelope: (e) => seen.push(JSON.stringify(e)), link: (l) => seen.push(l) });
    expect(FakeSocket.made[0]!.url.href).toBe("wss://example.test/events");
    FakeSocket.made[0]!.onopen!();
    FakeSocket.made[0]!.onmessage!({ data: JSON.stringify(envelope) });
    FakeSocket.made[0]!.onmessage!({ data: "not json" });
    FakeSocket.made[0]!.onclose!();
    await vi.advanceTimersByTimeAsync(250);
    expect(FakeSocket.made.length).toBe(2);
    FakeSocket.made[1]!.onclose!();
    await vi.advanceTimersByTimeAsync(499);
    expect(FakeSocket.made.length).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    FakeSocket.made[2]!.onopen!();
    expect(seen).toEqual(["connecting", "live", JSON.stringify(envelope), '{"kind":"resync"}', "lost", "live"]);
    stop();
    FakeSocket.made[2]!.onclose!();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.made.length).toBe(3);
  } finally {
    vi.useRealTimers();
  }
});

test("a socket refused for want of a cookie says so and stops trying", async () => {
  vi.useFakeTimers();
  FakeSocket.made = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("", { status: 401 })));
  try {
    const links: string[] = [];
    webHost("http://127.0.0.1:1").subscribe({ envelope: () => {}, link: (l) => links.push(l) });
    FakeSocket.made[0]!.onclose!();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(links.at(-1)).toBe("denied");
    expect(FakeSocket.made.length).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});
