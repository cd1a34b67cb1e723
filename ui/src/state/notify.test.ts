// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Card } from "../host/api";
import { Notify } from "./notify.svelte";

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

const card = (id: string): Card => ({ id, conversation: "c", conversation_title: "C", entry: `e${id}`, server: "s", server_name: "files", machine: "m", cwd: "/", tool: "delete", arguments: '{"token":"s3cret"}', why: "level", at: 1 });
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
  const gone: Card[] = [];
  const notify = new Notify((card) => gone.push(card));
  await notify.set(true);
  notify.follow([card("1")]);
  expect(titles()).toEqual(["files wants to run delete"]);
  expect(JSON.stringify(Shown.standing)).not.toContain("s3cret");
  notify.follow([card("1"), card("2"), card("3")]);
  expect(titles()).toEqual(["3 calls wait for you"]);
  Shown.standing[0]!.onclick!();
  expect([titles(), gone.map((c) => c.id)]).toEqual([[], ["1"]]);

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
