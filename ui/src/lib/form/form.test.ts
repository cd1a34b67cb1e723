// @vitest-environment happy-dom
// The form as a person uses it, over the text it writes.

import { flushSync, mount, tick, unmount } from "svelte";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ArgumentProblem } from "../../host/api";
import Harness from "./Harness.test.svelte";

type Props = { schema: unknown; text: string; form?: boolean; problems?: ArgumentProblem[] };
let shown: Record<string, unknown> | undefined;
let state: { text: string; form: boolean };

// The tooltip layer and the toasts are the app's; a form needs neither.
async function show(props: Props): Promise<void> {
  const target = document.createElement("main");
  document.body.append(target);
  state = { text: props.text, form: props.form ?? true };
  shown = mount(Harness, { target, props: { ...props, onstate: (now: typeof state) => (state = now) } }) as Record<string, unknown>;
  await settle();
}
const settle = async () => {
  flushSync();
  await tick();
  flushSync();
};
beforeEach(() => vi.spyOn(document, "hasFocus").mockReturnValue(true));
afterEach(() => {
  if (shown) unmount(shown);
  shown = undefined;
  document.body.replaceChildren();
});

const nameOf = (e: Element): string => {
  const by = e.getAttribute("aria-labelledby");
  const heard = (of: Element | null | undefined): string => {
    const copy = of?.cloneNode(true) as Element | undefined;
    for (const hidden of copy?.querySelectorAll("[aria-hidden]") ?? []) hidden.remove();
    return copy?.textContent ?? "";
  };
  const words = e.getAttribute("aria-label") ?? heard(by ? document.getElementById(by) : ((e as HTMLInputElement).labels?.[0] ?? e));
  return words.replace(/\s+/g, " ").trim();
};
function find<T extends HTMLElement = HTMLInputElement>(selector: string, name: string | RegExp): T {
  const all = [...document.querySelectorAll<T>(selector)];
  const found = all.filter((e) => (typeof name === "string" ? nameOf(e) === name : name.test(nameOf(e))));
  if (!found[0]) throw new Error(`no ${selector} named ${name}; there are: ${all.map(nameOf).join(" | ")}`);
  return found[0];
}
const field = (name: string | RegExp) => find("textarea, input, select", name);
async function type(name: string, value: string) {
  const input = field(name);
  input.focus();
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await settle();
}
async function choose(name: string, label: string) {
  const select = find<HTMLSelectElement>("select", name);
  const option = [...select.options].find((o) => o.textContent === label);
  if (!option) throw new Error(`no ${label} in ${[...select.options].map((o) => o.textContent).join(" | ")}`);
  select.focus();
  select.value = option.value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
  await settle();
}
async function press(name: string | RegExp, selector = "button") {
  find<HTMLElement>(selector, name).click();
  await settle();
  await settle();
}
async function keys(key: string, more: Partial<KeyboardEventInit> = {}) {
  (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ctrlKey: true, ...more }));
  await settle();
  await settle();
}
const odd = '{ "n" : 12345678901234567890, "x":1.0,\n"s": "\\u0061", "extra": [1 , 2],"s" : "b" }';
const plain = { type: "object", required: ["s"], properties: { s: { type: "string" }, n: { type: "integer" }, b: { type: "boolean" }, o: { type: "object", properties: { k: { type: "string" } } } } };

test("to the form and back is the identity, whatever the text", async () => {
  for (const text of [odd, "", "  ", "{}", "[1]", '"x"', '{"a":', "{'a':1}", '{"__proto__":{"a":1}}', "\ufeff{}", '{"s":"a\\r\\nb","n":1e400,"b":null}']) {
    await show({ schema: plain, text });
    await press("JSON");
    expect(find("textarea", "Arguments").value).toBe(text);
    await press("Form");
    expect(state.text).toBe(text);
    if (shown) unmount(shown);
    shown = undefined;
    document.body.replaceChildren();
  }
});

test("an edit touches its member only", async () => {
  await show({ schema: plain, text: odd });
  expect(field("n").value).toBe("12345678901234567890");
  await type("s", "c\nd");
  expect(state.text).toBe('{ "n" : 12345678901234567890, "x":1.0,\n"s": "\\u0061", "extra": [1 , 2],"s" : "c\\nd" }');
  await type("n", "98765432109876543210.50");
  expect(state.text).toBe('{ "n" : 98765432109876543210.50, "x":1.0,\n"s": "\\u0061", "extra": [1 , 2],"s" : "c\\nd" }');
  // A key that stands there twice is marked, and goes as a whole: the other one would count otherwise.
  expect(document.body.textContent).toContain("key twice");
  await press("Remove n");
  expect(state.text).toBe('{ "x":1.0,\n"s": "\\u0061", "extra": [1 , 2],"s" : "c\\nd" }');
});

test("not set and empty are two things", async () => {
  const schema = { type: "object", properties: { s: { type: "string", default: "x" }, n: { type: "integer", default: 20 }, b: { type: "boolean", default: true } } };
  await show({ schema, text: "{}" });
  expect([field("s").placeholder, field("n").placeholder]).toEqual(['default: "x"', "default: 20"]);
  expect(state.text).toBe("{}");
  await type("s", "a");
  await type("s", "");
  expect(JSON.parse(state.text)).toEqual({ s: "" });
  expect(field("s").placeholder).toBe("empty text");
  await press("Remove s");
  expect(state.text).toBe("{}");
  await type("n", "5");
  await type("n", "");
  expect(state.text).toBe("{}");
  await press("Write the default of n: 20");
  expect(JSON.parse(state.text)).toEqual({ n: 20 });
  const radios = () => [...document.querySelectorAll<HTMLInputElement>("input[type=radio]")];
  expect(radios().map((r) => [r.value, r.checked])).toEqual([["", true], ["true", false], ["false", false]]);
  radios()[2]?.click();
  await settle();
  expect(JSON.parse(state.text)).toEqual({ n: 20, b: false });
  radios()[0]?.click();
  await settle();
  expect(JSON.parse(state.text)).toEqual({ n: 20 });
});

test("what is typed into a number's field is kept and judged, never changed", async () => {
  await show({ schema: plain, text: "{}" });
  for (const [typed, written] of [["-", '"-"'], ["-5", "-5"], ["1.", '"1."'], ["1.0", "1.0"], ["1e400", "1e400"], ["007", '"007"'], ["1,5", '"1,5"'], ['1}, "x": {', '"1}, \\"x\\": {"']] as const) {
    await type("n", typed);
    expect(state.text).toBe(`{\n  "n": ${written}\n}`);
    expect(field("n").value).toBe(typed);
  }
  expect(document.body.textContent).toContain("Written as text, not as a number.");
});

test("a value that no field can hold is shown as it stands, and can be changed as that", async () => {
  await show({ schema: plain, text: '{"s": {"a": 1.0}, "n": [12345678901234567890], "b": "yes"}' });
  expect([field("s").value, field("n").value, field("b").value]).toEqual(['{"a": 1.0}', "[12345678901234567890]", '"yes"']);
  expect(document.body.textContent).toContain("Written in JSON");
  // Half written, the whole is no JSON; it is what is sent all the same, and the form stays.
  await type("n", "[1, ");
  expect(state.text).toBe('{"s": {"a": 1.0}, "n": [1, , "b": "yes"}');
  expect(document.body.textContent).toContain("Not JSON yet");
  expect(field("n").value).toBe("[1, ");
  await press("JSON");
  expect(find("textarea", "Arguments").value).toBe('{"s": {"a": 1.0}, "n": [1, , "b": "yes"}');
  await press("Form");
  await type("n", "[1, 2]");
  expect(state.text).toBe('{"s": {"a": 1.0}, "n": [1, 2], "b": "yes"}');
  await type("n", "");
  expect(state.text).toBe('{"s": {"a": 1.0}, "n":  , "b": "yes"}');
  await type("n", "3");
  expect(state.text).toBe('{"s": {"a": 1.0}, "n": 3, "b": "yes"}');
});

test("text that is not JSON says where, and leads to the JSON", async () => {
  await show({ schema: plain, text: '{\n  "s": "a",\n  "n": x\n}' });
  expect(document.body.textContent).toContain("Line 3, column 8");
  await press("Edit the JSON");
  const editor = find("textarea", "Arguments");
  expect(document.activeElement).toBe(editor);
  expect(editor.selectionStart).toBe('{\n  "s": "a",\n  "n": '.length);
});

test("a member comes with what it lies in", async () => {
  await show({ schema: plain, text: '{\n    "s": "a"\n}' });
  await press(/^o/);
  await type("k", "v");
  expect(state.text).toBe('{\n    "s": "a",\n    "o": {\n        "k": "v"\n    }\n}');
});

test("a list: added, moved, removed, and the keyboard goes along", async () => {
  await show({ schema: { type: "object", properties: { l: { type: "array", title: "List", items: { type: "string" }, maxItems: 3 } } }, text: '{"l": ["\\u0061", "b"]}' });
  await press("Add an item: l");
  expect(state.text).toBe('{"l": ["\\u0061", "b", ""]}');
  expect(document.activeElement).toBe(field("l, item 3"));
  expect(find("button", "Add an item: l").getAttribute("aria-disabled")).toBe("true");
  await press("Add an item: l");
  expect(JSON.parse(state.text).l.length).toBe(3);
  await press("Move item 1 down");
  expect(state.text).toBe('{"l": ["b", "\\u0061", ""]}');
  expect(document.activeElement).toBe(find("[data-index='1'] button", "Move item 2 down"));
  await press("Remove item 2");
  expect(state.text).toBe('{"l": ["b", ""]}');
  expect(document.activeElement).toBe(field("l, item 2"));
  await press("Remove item 1");
  await press("Remove item 1");
  expect(state.text).toBe('{"l": []}');
  expect(document.activeElement).toBe(find("button", "Add an item: l"));
});

test("a variant is guessed from the value; another keeps what fits", async () => {
  const schema = {
    type: "object",
    properties: {
      v: {
        oneOf: [
          { title: "Card", type: "object", required: ["kind", "number"], properties: { kind: { const: "card" }, number: { type: "string" }, holder: { type: "string" } } },
          { title: "Invoice", type: "object", required: ["kind"], properties: { kind: { const: "invoice" }, number: { type: "integer" }, holder: { type: "string" } } },
          { title: "Code", type: "string" },
        ],
      },
    },
  };
  await show({ schema, text: '{"v": {"kind": "card", "number": "4", "holder": "\\u0041", "own": 1.0}}' });
  expect(field("v").value).toBe("0");
  await choose("v", "Invoice");
  expect(state.text).toBe('{"v": {"kind": "invoice", "holder": "\\u0041", "own": 1.0}}');
  await type("number", "7");
  expect(JSON.parse(state.text)).toEqual({ v: { kind: "invoice", holder: "A", own: 1, number: 7 } });
  await choose("v", "Code");
  expect(state.text).toBe('{"v": ""}');
  await keys("z");
  expect(JSON.parse(state.text)).toEqual({ v: { kind: "invoice", holder: "A", own: 1, number: 7 } });
  // The value that came back is drawn as what it is.
  expect(field("v").value).toBe("1");
  expect(field("number").value).toBe("7");
});

test("a number among variants can be typed, though its first key is none yet", async () => {
  await show({ schema: { type: "object", properties: { v: { type: ["string", "number"] } } }, text: "{}" });
  await choose("v", "number");
  const input = () => document.querySelector<HTMLInputElement>("input[inputmode=decimal]");
  for (const [typed, written] of [["-", '"-"'], ["-2", "-2"]] as const) {
    const one = input();
    if (!one) throw new Error("no field for a number");
    one.focus();
    one.value = typed;
    one.dispatchEvent(new Event("input", { bubbles: true }));
    await settle();
    expect(state.text).toBe(`{\n  "v": ${written}\n}`);
  }
});

test("one undo for the form and the JSON", async () => {
  await show({ schema: plain, text: "{}" });
  await type("s", "a");
  await type("n", "1");
  await press("JSON");
  const editor = find("textarea", "Arguments");
  editor.focus();
  editor.value = "{broken";
  editor.dispatchEvent(new Event("input", { bubbles: true }));
  await settle();
  expect(state.text).toBe("{broken");
  await keys("z");
  expect(JSON.parse(state.text)).toEqual({ s: "a", n: 1 });
  await press("Form");
  field("s").focus();
  await keys("z");
  expect(JSON.parse(state.text)).toEqual({ s: "a" });
  await keys("z");
  expect(state.text).toBe("{}");
  await keys("z");
  expect(state.text).toBe("{}");
  await keys("Z", { shiftKey: true });
  await keys("y");
  await keys("y");
  expect(state.text).toBe("{broken");
});

test("a description is help that belongs to its field; a long one opens to all of it", async () => {
  const long = `Where to go. ${"Any place on the map will do. ".repeat(20)}The end.`;
  await show({ schema: { type: "object", properties: { city: { type: "string", description: "A city's name." }, place: { type: "string", description: long }, bare: { type: "string" }, list: { type: "array", description: "Some stops.", items: { type: "string" } } } }, text: "{}" });
  const help = (of: Element) => (of.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id !== "").map((id) => document.getElementById(id)?.textContent?.trim());
  expect(help(field("city"))).toEqual(["A city's name."]);
  expect(help(field("bare"))).toEqual([]);
  expect(help(find("[role=group]", /^list/))).toEqual(["Some stops."]);
  const [short] = help(field("place"));
  expect(short).toMatch(/^Where to go\..*…$/s);
  expect(short!.length).toBeLessThan(200);
  const more = [...document.querySelectorAll<HTMLElement>("button[aria-expanded]")].find((b) => b.getAttribute("aria-describedby") === field("place").getAttribute("aria-describedby"))!;
  more.click();
  await settle();
  expect(help(field("place"))).toEqual([long.trim()]);
});

test("a problem stands at its field, and a missing one only once its field was left", async () => {
  const problems = [
    { pointer: "/s", message: '"s" is a required property' },
    { pointer: "/n", message: '"x" is not of type "integer"' },
    { pointer: "/o/k", message: "too short" },
  ];
  await show({ schema: plain, text: '{"n": "x", "o": {"k": ""}}', problems });
  const said = (name: string) => (field(name).getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent?.trim() ?? "").join(" ");
  expect(field("n").getAttribute("aria-invalid")).toBe("true");
  expect(said("n")).toContain('"x" is not of type "integer"');
  expect(said("k")).toContain("too short");
  expect(field("s").getAttribute("aria-invalid")).toBe("false");
  // A press makes nothing taller before it ends.
  field("s").focus();
  window.dispatchEvent(new Event("pointerdown"));
  field("n").focus();
  await new Promise((done) => setTimeout(done, 0));
  await settle();
  expect(field("s").getAttribute("aria-invalid")).toBe("false");
  window.dispatchEvent(new Event("pointerup"));
  field("s").focus();
  field("n").focus();
  await new Promise((done) => setTimeout(done, 0));
  await settle();
  expect(said("s")).toContain("required property");
  // Folded away, it is counted.
  await press(/^o/);
  expect(document.body.textContent).toContain("1 problem");
});

test("members of any name, of a schema that invites them", async () => {
  await show({ schema: { type: "object", properties: { m: { type: "object", additionalProperties: { type: "integer" } } } }, text: '{"m": {"a": 1}}' });
  await type("Name of a new member: m", "__proto__");
  await press("Add");
  expect(state.text).toBe('{"m": {"a": 1, "__proto__": 0}}');
  expect(document.activeElement).toBe(field("__proto__"));
  await type("Name of a new member: m", "a");
  await press("Add");
  expect(document.body.textContent).toContain("There is a member of this name.");
  expect(state.text).toBe('{"m": {"a": 1, "__proto__": 0}}');
});

test("null is a value of its own", async () => {
  await show({ schema: { type: "object", properties: { s: { type: ["string", "null"] } } }, text: "{}" });
  await press("s is null");
  expect(JSON.parse(state.text)).toEqual({ s: null });
  await press("s is null");
  expect(state.text).toBe("{}");
});

test("a tool without arguments says so; a member that no schema names is still shown", async () => {
  await show({ schema: { type: "object", properties: {} }, text: "{}" });
  expect(document.body.textContent).toContain("This tool takes no arguments.");
  state.text = "";
  if (shown) unmount(shown);
  document.body.replaceChildren();
  await show({ schema: { type: "object", properties: {}, additionalProperties: false }, text: '{"x": 1}' });
  expect(field("x").value).toBe("1");
  expect(document.body.textContent).toContain("not in the schema");
});

test("row 33: thousands of fields come a page at a time, and can be searched", async () => {
  const properties = Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`p${i}`, { type: "string" }]));
  await show({ schema: { type: "object", properties }, text: '{"p3999": "far"}', problems: [{ pointer: "/p3999", message: "wrong" }] });
  expect(document.querySelectorAll("textarea").length).toBeLessThan(100);
  await type("Search fields", "p3999");
  expect(field("p3999").value).toBe("far");
});

test("row 33: a schema that contains itself opens level by level", async () => {
  await show({ schema: { $ref: "#/$defs/n", $defs: { n: { type: "object", required: ["next"], properties: { next: { $ref: "#/$defs/n" }, v: { type: "string" } } } } }, text: "{}" });
  const levels = () => document.querySelectorAll("[aria-expanded]").length;
  const before = levels();
  expect(before).toBeLessThan(6);
  const folded = [...document.querySelectorAll<HTMLElement>("[aria-expanded=false]")].at(-1);
  folded?.click();
  await settle();
  expect(levels()).toBe(before + 1);
});
