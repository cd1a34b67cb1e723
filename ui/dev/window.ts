// The window on a played engine, for unit tests: time passes at a word, and things are found by their accessible names.
import { flushSync, mount, unmount } from "svelte";
import { onTestFinished, vi } from "vitest";
import App from "../src/App.svelte";
import { FakeHost, type FakeOptions } from "../src/host/fake";
import { sampleTools } from "../src/host/fake-servers";

export let host: FakeHost;
let component: ReturnType<typeof mount> | undefined;

/** Before each test. */
export function fresh() {
  vi.useFakeTimers();
  localStorage.clear();
  sessionStorage.clear();
  document.body.replaceChildren();
  // What happy-dom does not have.
  HTMLElement.prototype.showPopover ??= () => {};
  HTMLElement.prototype.hidePopover ??= () => {};
  HTMLElement.prototype.scrollIntoView ??= () => {};
}

/** Lets time pass, and everything that follows from it. */
export async function pass(ms: number) {
  await vi.advanceTimersByTimeAsync(ms);
  flushSync();
  await vi.advanceTimersByTimeAsync(0);
  flushSync();
}
export async function open(options: FakeOptions) {
  onTestFinished(async () => {
    await close();
    vi.useRealTimers();
  });
  host = new FakeHost(options);
  await show();
}
/** The window is loaded again, on the same engine. */
export async function reload() {
  await close();
  document.body.replaceChildren();
  await show();
}
async function show() {
  const target = document.createElement("div");
  document.body.append(target);
  component = mount(App, { target, props: { host } });
  await pass(400);
}
async function close() {
  if (component) await unmount(component);
  component = undefined;
}
export const nameOf = (e: Element) => (e.getAttribute("aria-label") ?? e.textContent ?? "").replace(/\s+/g, " ").trim();
export const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)];
export function find(selector: string, name: string | RegExp): HTMLElement {
  const fits = (n: string) => (typeof name === "string" ? n === name : name.test(n));
  const found = all(selector).filter((e) => fits(nameOf(e)));
  if (found.length !== 1) throw new Error(`${found.length} of ${selector} named ${String(name)}; there are: ${all(selector).map(nameOf).join(" | ")}`);
  return found[0]!;
}
export const button = (name: string | RegExp) => find("button", name);
export const asked = (method: string) => host.asked.filter((a) => a.method === method).map((a) => a.params);
export function key(name: string, more: KeyboardEventInit = {}, target: EventTarget = document.activeElement ?? document.body) {
  target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
  flushSync();
}
export const said = () => find('[role="status"].sr', /.*/).textContent;

/** One conversation that uses one server, which runs. */
export const sampled: FakeOptions = {
  conversations: [{ id: "c1", title: "First" }],
  servers: [{ name: "sample", consent: "given", tools: sampleTools, status: { kind: "connected", tools: 6, asking: 0, definition_bytes: 4820, heaviest: [{ name: "read_file", bytes: 1480 }, { name: "echo", bytes: 220 }], set_aside: [], notices: [], server_name: "sample", server_version: "1", protocol: "2025-11-25", elapsed_ms: 5 } }],
  ticked: ["sample"],
};
export const startCall = (tool: string, args = "{}") => host.request("call.start", { conversation: "c1", server: "sample", tool, arguments: args });
/** A call is made, and its card waits with its buttons armed. */
export async function waiting(args = "{}") {
  void startCall("echo", args);
  await pass(900);
}
/** JSON is what was used last. */
export const asJson = () => localStorage.setItem("mework.view", JSON.stringify({ form: false }));
/** Writes in place of all that a field holds. */
export function write(field: HTMLElement, value: string) {
  if (!(field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement)) throw new Error("a field to write in");
  field.value = value;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  flushSync();
}
