// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Card } from "../host/api";
import { Notify, type Ended } from "./notify.svelte";

class Shown {
  static permission: NotificationPermission = "default";
  static answer: NotificationPermission = "granted";
  static asked = 0;
  static standing: Shown[] = [];
  static requestPermission = () => {
    Shown.asked++;
    Shown.permission = Shown.answer;
    return Promise.resolve(Shown.answer);
  };
  onclick?: () => void;
  constructor(
    readonly title: string,
    readonly options: NotificationOptions,
  ) {
    Shown.standing = [...Shown.standing.filter((s) => s.options.tag !== options.tag), this];
  }
  close() {
    Shown.standing = Shown.standing.filter((s) => s !== this);
  }
}

let focused = false;
beforeEach(() => {
  vi.stubGlobal("Notification", Shown);
  Object.assign(Shown, { permission: "default", answer: "granted", asked: 0, standing: [] });
  localStorage.clear();
  focused = false;
  vi.spyOn(document, "hasFocus").mockImplementation(() => focused);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const ended = (entry: string, well = true): Ended => ({ conversation: "c", entry, brief: { server: "files", tool: "read" }, well });
const card = (id: string): Card => ({ id, conversation: "c", conversation_title: "C", entry: `e${id}`, server: "s", server_name: "files", machine: "m", cwd: "/", folders: [], tool: "delete", definition: "d", brief: { server: "files", tool: "delete" }, arguments: '{"token":"s3cret"}', why: "level", at: 1 });
const titles = () => Shown.standing.map((s) => s.title);

test("B44: nobody is asked and nothing is shown until the setting is clicked", async () => {
  const notify = new Notify(() => {});
  notify.follow([card("1")]);
  expect([Shown.asked, titles()]).toEqual([0, []]);
  await notify.set(true);
  expect([Shown.asked, notify.on, localStorage.getItem("mework.notify")]).toEqual([1, true, "yes"]);
  // Remembered, and not asked again.
  expect(new Notify(() => {}).on).toBe(true);
  expect(Shown.asked).toBe(1);
});

test("B44: a browser that says no leaves the setting off", async () => {
  Shown.answer = "denied";
  const notify = new Notify(() => {});
  await notify.set(true);
  expect([notify.on, notify.wanted, notify.allowed]).toEqual([false, false, "denied"]);
});

test("B44: many cards are one notification without arguments, and none while the page is looked at", async () => {
  const gone: string[] = [];
  const notify = new Notify((call) => gone.push(call.entry));
  await notify.set(true);
  notify.follow([card("1")]);
  expect(titles()).toEqual(["files wants to run delete"]);
  expect(JSON.stringify(Shown.standing)).not.toContain("s3cret");
  notify.follow([card("1"), card("2"), card("3")]);
  expect(titles()).toEqual(["3 calls wait for you"]);
  Shown.standing[0]!.onclick!();
  expect([titles(), gone]).toEqual([[], ["e1"]]);

  focused = true;
  notify.follow([card("1"), card("2"), card("3"), card("4")]);
  expect(titles()).toEqual([]);
  // What was seen is not told of when the page is left; what is answered elsewhere is withdrawn.
  focused = false;
  notify.follow([card("1"), card("5")]);
  expect(titles()).toEqual(["files wants to run delete"]);
  notify.follow([]);
  expect(titles()).toEqual([]);
});

test("B44: names are the ones the engine made fit for a locked screen", async () => {
  const notify = new Notify(() => {});
  await notify.set(true);
  notify.follow([{ ...card("1"), server_name: "files", tool: "read_s3cret-token", brief: { server: "files", tool: "read_•••" } }]);
  expect(titles()).toEqual(["files wants to run read_•••"]);
});

test("B44: a click goes to what is told of now, also where the words stay the same", async () => {
  const gone: string[] = [];
  const notify = new Notify((call) => gone.push(call.entry));
  await notify.set(true);
  notify.follow([card("1")]);
  // The first was answered elsewhere, and another of the same tool came.
  notify.follow([card("2")]);
  expect(titles()).toEqual(["files wants to run delete"]);
  Shown.standing[0]!.onclick!();
  expect(gone).toEqual(["e2"]);
});

test("B44: the end of a long call is told, one for several, and not of what was seen; what waits goes first", async () => {
  const gone: string[] = [];
  const notify = new Notify((call) => gone.push(call.entry));
  await notify.set(true);
  notify.ended(ended("e1", false));
  expect(titles()).toEqual(["read on files failed"]);
  notify.ended(ended("e2"));
  expect(titles()).toEqual(["2 calls have ended"]);
  notify.follow([card("3")]);
  expect(titles()).toEqual(["files wants to run delete"]);
  notify.follow([]);
  expect(titles()).toEqual(["2 calls have ended"]);
  Shown.standing[0]!.onclick!();
  expect([titles(), gone]).toEqual([[], ["e2"]]);
  notify.ended(ended("e4"));
  expect(titles()).toEqual(["read on files is done"]);
  focused = true;
  notify.follow([]);
  expect(titles()).toEqual([]);
  notify.ended(ended("e5"));
  focused = false;
  notify.follow([]);
  expect(titles()).toEqual([]);
});
