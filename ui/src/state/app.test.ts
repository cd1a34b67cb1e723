import { beforeEach, expect, test, vi } from "vitest";
import type { Conversation, Entry, Envelope, Event, Snapshot } from "../host/api";
import { HostError, type Host, type Subscriber } from "../host/host";
import { App } from "./app.svelte";

/** A host whose replies the test gives by hand, in the order it wants. */
class HandHost implements Host {
  readonly everyKey = true;
  asked: { method: string; params: unknown; resolve: (v: unknown) => void; reject: (e: unknown) => void }[] = [];
  subscriber!: Subscriber;
  request(method: string, params: unknown): Promise<never> {
    return new Promise((resolve, reject) => this.asked.push({ method, params, resolve: resolve as (v: unknown) => void, reject }));
  }
  subscribe(subscriber: Subscriber) {
    this.subscriber = subscriber;
    return () => {};
  }
  async answer(method: string, value: unknown) {
    const at = this.asked.findIndex((a) => a.method === method);
    if (at === -1) throw new Error(`${method} was not asked; only ${this.asked.map((a) => a.method).join()}`);
    const [one] = this.asked.splice(at, 1);
    if (value instanceof Error) one!.reject(value);
    else one!.resolve(value);
    await Promise.resolve();
    await new Promise((next) => setTimeout(next, 0));
  }
  event(seq: number, event: Event) {
    this.subscriber.envelope({ kind: "event", seq, event } satisfies Envelope);
  }
}

const snapshot = (seq: number, more: Partial<Snapshot> = {}): Snapshot => ({
  seq,
  app: { version: "1", platform: "linux", global_file: "/h/.mework/mcp.json", data_dir: "/d", first_start: false, can_pick_folder: false, can_reveal: false, notifies: false },
  settings: { review: "always" },
  workspaces: [],
  conversations: [],
  cards: [],
  notices: [],
  ...more,
});
const summary = (id: string) => ({ id, title: id, workspaces: [], temporary: false, updated_at: 0, waiting_cards: 0, running_calls: 0 });
const conversation = (id: string, seq: number, transcript: Entry[] = []): Conversation => ({
  seq,
  summary: summary(id),
  level: "manual",
  discovery: false,
  draft: "",
  servers: { sections: [], dangling: [], selected: 0, total: 0 },
  transcript,
});
const notice = (id: string, text: string): Entry => ({ id, at: 1, body: { kind: "notice", text, diff: [] } });
const entry = (conversation: string, e: Entry): Event => ({ type: "entry", conversation, entry: e });
const texts = (app: App) => app.open?.entries.map((e) => (e.body.kind === "notice" ? e.body.text : "?"));

let host: HandHost;
let app: App;
beforeEach(() => {
  host = new HandHost();
  app = new App(host);
  app.start();
});

test("events that came while the snapshot was on its way apply after it, older ones are dropped", async () => {
  host.subscriber.link("live");
  host.event(4, { type: "settings", settings: { review: "never" } });
  host.event(6, { type: "conversations", conversations: [summary("late")] });
  await host.answer("snapshot", snapshot(5, { settings: { review: "workspaces" } }));
  expect(app.settings.review).toBe("workspaces");
  expect(app.conversations.map((c) => c.id)).toEqual(["late"]);
  expect(host.asked).toEqual([]);
});

test("a gap takes a new snapshot, and what came with it is not lost", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1));
  host.event(2, { type: "settings", settings: { review: "never" } });
  expect(app.settings.review).toBe("never");
  host.event(4, { type: "conversations", conversations: [summary("four")] });
  expect(app.conversations).toEqual([]);
  await host.answer("snapshot", snapshot(3));
  expect(app.conversations.map((c) => c.id)).toEqual(["four"]);
});

test("resync takes a new snapshot and reads the open conversation anew", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1));
  void app.show("a");
  await host.answer("conversation.open", conversation("a", 1, [notice("e1", "old")]));
  host.subscriber.envelope({ kind: "resync" });
  await host.answer("snapshot", snapshot(9));
  expect(texts(app)).toEqual(["old"]);
  await host.answer("conversation.open", conversation("a", 9, [notice("e1", "new")]));
  expect(texts(app)).toEqual(["new"]);
});

test("an event between asking for a conversation and its reply is applied exactly once", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1, { conversations: [summary("a")] }));
  void app.show("a");
  host.event(2, entry("a", notice("e1", "in the reply")));
  host.event(3, entry("a", notice("e2", "after the reply")));
  host.event(4, entry("b", notice("e3", "another conversation")));
  await host.answer("conversation.open", conversation("a", 2, [notice("e1", "in the reply")]));
  expect(texts(app)).toEqual(["in the reply", "after the reply"]);
  // A reply that is ahead of the events: those it contains are skipped.
  void app.show("a");
  await host.answer("conversation.open", conversation("a", 6, [notice("e1", "six")]));
  host.event(5, entry("a", notice("e1", "five")));
  host.event(6, entry("a", notice("e1", "six")));
  expect(texts(app)).toEqual(["six"]);
  host.event(7, entry("a", notice("e1", "seven")));
  expect(texts(app)).toEqual(["seven"]);
});

test("a reply for a conversation that is no longer wanted is dropped", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1));
  void app.show("a");
  void app.show("b");
  await host.answer("conversation.open", conversation("a", 1));
  expect(app.open).toBeNull();
  await host.answer("conversation.open", conversation("b", 1));
  expect(app.open?.id).toBe("b");
});

test("a failed open says why and leaves what was open", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1));
  void app.show("a");
  await host.answer("conversation.open", conversation("a", 1));
  const failed = app.show("gone");
  const caught = failed.catch((e: unknown) => e);
  await host.answer("conversation.open", new HostError("not_found", "It is gone."));
  expect(await caught).toMatchObject({ code: "not_found" });
  expect(app.open?.id).toBe("a");
});

test("a deleted conversation closes", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1, { conversations: [summary("a")] }));
  void app.show("a");
  await host.answer("conversation.open", conversation("a", 1));
  host.event(2, { type: "conversations", conversations: [] });
  expect(app.open).toBeNull();
});

test("a deleted conversation closes, and not the one that is on its way to take its place", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1, { conversations: [summary("a"), summary("b")] }));
  void app.show("a");
  await host.answer("conversation.open", conversation("a", 1));
  // Replies and events come by two ways: the neighbour is asked for before the list without the deleted one is here.
  void app.show("b");
  host.event(2, { type: "conversations", conversations: [summary("b")] });
  expect(app.open).toBeNull();
  await host.answer("conversation.open", conversation("b", 2));
  expect(app.open?.id).toBe("b");
});

test("a list from before a conversation was made does not close it; one that has lost it meanwhile does", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1));
  void app.show("new");
  await host.answer("conversation.open", conversation("new", 3));
  host.event(2, { type: "conversations", conversations: [summary("other")] });
  expect(app.open?.id).toBe("new");
  host.event(3, { type: "conversations", conversations: [summary("other"), summary("new")] });
  expect(app.open?.id).toBe("new");
  // Deleted elsewhere while its reply is on its way.
  void app.show("other");
  host.event(4, { type: "conversations", conversations: [summary("new")] });
  await host.answer("conversation.open", conversation("other", 3));
  expect(app.open).toBeNull();
});

test("what was deleted during a gap is not shown any longer; the log that is looked at is read anew", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1, { conversations: [summary("a")] }));
  void app.show("a");
  await host.answer("conversation.open", conversation("a", 1));
  const line = (at: number) => ({ at, source: "stderr" as const, text: String(at) });
  void app.openLog("x");
  await host.answer("server.log", { lines: [line(1)] });
  host.subscriber.envelope({ kind: "resync" });
  await host.answer("snapshot", snapshot(9));
  await host.answer("conversation.open", new HostError("not_found", "It is gone."));
  expect(app.open).toBeNull();
  await host.answer("server.log", { lines: [line(1), line(2)] });
  expect(app.log?.lines.map((l) => l.at)).toEqual([1, 2]);
});

test("a status changes its row only; a new test forgets the old stages", async () => {
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1));
  void app.show("a");
  const row = (id: string) => ({ id, name: id, summary: "", file: "", machine: "", ticked: true, consent: "given" as const, available: true, reasons: [], notes: [], status: { kind: "idle" as const } });
  await host.answer("conversation.open", { ...conversation("a", 1), servers: { sections: [{ level: "global", title: "Global", machine: "This computer", file: "", file_exists: true, selected: 2, rows: [row("x"), row("y")] }], dangling: [], selected: 2, total: 2 } });
  host.event(2, { type: "server_status", conversation: "a", server: "y", status: { kind: "testing" } });
  expect([...app.open!.rows.values()].map((r) => [r.id, r.status.kind])).toEqual([["x", "idle"], ["y", "testing"]]);
  host.event(3, { type: "test_stage", server: "y", stage: { stage: "config", ms: 1, ok: true } });
  host.event(4, { type: "test_stage", server: "y", stage: { stage: "program", ms: 2, ok: false, message: "no" } });
  expect(app.stages.get("y")?.map((s) => s.stage)).toEqual(["config", "program"]);
  host.event(5, { type: "test_stage", server: "y", stage: { stage: "config", ms: 1, ok: true } });
  expect(app.stages.get("y")?.map((s) => s.stage)).toEqual(["config"]);
});

test("tools that changed behind an unchanged badge are asked for again", async () => {
  const listing = () => vi.waitFor(() => expect(host.asked.map((a) => a.method)).toEqual(["tools.list"]));
  host.subscriber.link("live");
  await host.answer("snapshot", snapshot(1));
  void app.show("a");
  await host.answer("conversation.open", conversation("a", 1));
  await listing();
  await host.answer("tools.list", { tools: [] });
  host.event(2, { type: "tools_changed", conversation: "a", server: "x" });
  await listing();
});

test("the snapshot is asked for again until it comes", async () => {
  vi.useFakeTimers();
  try {
    host.subscriber.link("live");
    const first = host.asked.shift()!;
    first.reject(new HostError("unreachable", "no"));
    await vi.advanceTimersByTimeAsync(300);
    expect(host.asked.map((a) => a.method)).toEqual(["snapshot"]);
    host.asked.shift()!.resolve(snapshot(1));
    await vi.advanceTimersByTimeAsync(0);
    expect(app.ready).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});
