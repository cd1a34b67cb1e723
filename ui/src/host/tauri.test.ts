// @vitest-environment happy-dom
import { clearMocks, mockIPC } from "@tauri-apps/api/mocks";
import { afterEach, expect, test, vi } from "vitest";
import { tauriHost } from "./tauri";

afterEach(clearMocks);

test("a request goes through the one command, with an id when it changes something (B42)", async () => {
  const asked: unknown[] = [];
  mockIPC((command, payload) => {
    asked.push([command, payload]);
    return { id: "made" };
  });
  const host = tauriHost();
  expect(await host.request("conversation.create", { workspaces: [], temporary: true })).toEqual({ id: "made" });
  await host.request("conversation.open", { id: "made" });
  expect(asked).toEqual([
    ["rpc", { request: { id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string, method: "conversation.create", params: { workspaces: [], temporary: true } } }],
    ["rpc", { request: { method: "conversation.open", params: { id: "made" } } }],
  ]);
});

test("a failure keeps its code and words; anything else is a failure too", async () => {
  mockIPC((_, payload) => {
    const { method } = (payload as { request: { method: string } }).request;
    throw method === "snapshot" ? { code: "read_only", message: "Held." } : "odd";
  });
  const host = tauriHost();
  await expect(host.request("snapshot", {})).rejects.toMatchObject({ code: "read_only", message: "Held." });
  await expect(host.request("tools.list", { id: "a" })).rejects.toMatchObject({ code: "failed", message: "odd" });
});

test("B43: the window is told of unsaved text before its closing would have to ask", async () => {
  const told: unknown[] = [];
  mockIPC((command, payload) => void told.push([command, payload]));
  tauriHost().unsaved?.(true);
  await Promise.resolve();
  expect(told).toEqual([["unsaved", { held: true }]]);
});

test("events come through the channel that was handed over; a refused start is tried again", async () => {
  vi.useFakeTimers();
  try {
    let channel: { onmessage: (e: unknown) => void } | undefined;
    let times = 0;
    mockIPC((command, payload) => {
      if (command !== "subscribe") return;
      if (times++ === 0) throw new Error("not yet");
      channel = (payload as { channel: typeof channel }).channel;
    });
    const seen: unknown[] = [];
    const stop = tauriHost().subscribe({ envelope: (e) => seen.push(e), link: (l) => seen.push(l) });
    await vi.advanceTimersByTimeAsync(1000);
    channel!.onmessage({ kind: "resync" });
    stop();
    channel!.onmessage({ kind: "resync" });
    expect(seen).toEqual(["connecting", "lost", "live", { kind: "resync" }]);
  } finally {
    vi.useRealTimers();
  }
});
