// @vitest-environment happy-dom
import { clearMocks, mockIPC } from "@tauri-apps/api/mocks";
import { afterEach, expect, test } from "vitest";
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
