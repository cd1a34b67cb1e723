// Rules about the sources themselves, so that they hold for what is written later.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, type AST } from "svelte/compiler";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, ".");
const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((f) => /\.(svelte|ts|css)$/.test(f));
const read = (file: string) => readFileSync(join(root, file), "utf8");
const product = files.filter((f) => !f.endsWith(".test.ts") && !f.startsWith(join("host", "fake")));

test("rows 8 and 30: nothing becomes HTML, script or an inline style", () => {
  const forbidden = /\{@html|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(|DOMParser|createContextualFragment|srcdoc|<iframe|<style[^>]*>\s*\{/;
  const found = product.filter((f) => forbidden.test(read(f)));
  expect(found).toEqual([]);
  // A literal style attribute would stand in a template's HTML, which the policy refuses; `style:` goes through the CSSOM.
  expect(product.filter((f) => f.endsWith(".svelte") && /\sstyle=/.test(read(f)))).toEqual([]);
});

test("nothing is fetched from elsewhere", () => {
  const found = product.filter((f) => /https?:\/\/(?!ipc\.localhost)/.test(read(f).replace(/<svg xmlns="[^"]*"/g, "")));
  expect(found).toEqual([]);
  expect(product.filter((f) => /url\(|@import "(?!\.\/)/.test(read(f)))).toEqual([]);
});

test("only host/tauri.ts knows Tauri, and nothing of the product knows the fake", () => {
  expect(product.filter((f) => read(f).includes("@tauri-apps/")).map((f) => f.replaceAll("\\", "/"))).toEqual(["host/tauri.ts"]);
  expect(product.filter((f) => /from "[^"]*\/fake/.test(read(f)))).toEqual([]);
});

test("colours are chosen in tokens.css", () => {
  const found = product.filter((f) => f.endsWith(".svelte") && /#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(/i.test(/<style>[\s\S]*<\/style>/.exec(read(f))?.[0] ?? ""));
  expect(found).toEqual([]);
});

test("what depends on the room of a part is measured in rem", () => {
  // WebKit, which draws the window, multiplies the pixels of a container by the page's zoom, and not those it is compared with.
  const found = product.filter((f) => /@container[^{]*\d(?!rem)[a-z]/.test(read(f)));
  expect(found).toEqual([]);
});

test("B49: every word of the window stands in words", () => {
  const spoken = new Set(["aria-label", "placeholder", "title", "alt", "label", "hint"]);
  // Signs and names that no translation changes.
  const allowed = /^(SHA-256|MCP|Esc|[A-Z]|\\n|[^\p{L}]*)$/u;
  // In a script most strings are no words: names of things, keys, selectors. What a person reads has words beside each other,
  // or begins like a sentence.
  const prose = /\p{L}{2,}[,;:.…]? \p{L}{2,}|^\p{Lu}\p{Ll}+[.…!?:]$/u;
  // A selector that stands by itself; others begin with a dot.
  const controls = /controls = '(.*)'/.exec(read(join("lib", "ui", "focus.ts")))?.[1];
  const loose: string[] = [];
  type Node = AST.BaseNode & { data?: string; name?: string; value?: unknown; callee?: { property?: { name?: string } } };
  const selects = new Set(["querySelector", "querySelectorAll", "closest", "matches"]);
  function walk(node: unknown, file: string): void {
    if (Array.isArray(node)) return node.forEach((n) => walk(n, file));
    if (typeof node !== "object" || node === null) return;
    const one = node as Node;
    if (one.type === "Attribute") {
      if (Array.isArray(one.value))
        for (const part of one.value as Node[]) {
          if (part.type !== "Text") walk(part, file);
          else if (spoken.has(one.name ?? "") && !allowed.test((part.data ?? "").trim())) loose.push(`${file}: ${one.name}="${part.data}"`);
        }
      else walk(one.value, file);
      return;
    }
    if (one.type === "StyleDirective" || (one.type === "CallExpression" && selects.has(one.callee?.property?.name ?? ""))) return;
    if (one.type === "Text") {
      if (!allowed.test((one.data ?? "").trim())) loose.push(`${file}: ${(one.data ?? "").trim()}`);
      return;
    }
    const text = one.type === "Literal" ? one.value : one.type === "TemplateElement" ? (one.value as { cooked?: string }).cooked : undefined;
    if (typeof text === "string" && prose.test(text.trim()) && text !== controls && !/^[.#][a-z]/.test(text)) loose.push(`${file}: ${JSON.stringify(text)}`);
    for (const [key, value] of Object.entries(one)) if (!["css", "options", "comments", "leadingComments", "trailingComments", "loc"].includes(key)) walk(value, file);
  }
  const script = (source: string) => parse(`<script lang="ts">\n${source}\n</script>`, { modern: true }).instance;
  // A report for an issue reads the same in every language; the list of methods and events is generated.
  const apart = [join("settings", "diagnostics.ts"), join("host", "api.ts")];
  for (const file of product.filter((f) => !f.startsWith("words") && !apart.includes(f))) {
    if (file.endsWith(".svelte")) walk(parse(read(file), { modern: true }), file);
    else if (file.endsWith(".ts")) walk(script(read(file)), file);
  }
  expect(loose).toEqual([]);
  // It sees what it looks for.
  walk(script('say("Nothing is lost.", `of ${1} things that matter`, key === "ArrowDown", e.closest(".row input"), "Done.")'), "here");
  walk(parse('<p class="a b" title={on ? "Turn it off" : ""}>{on ? "It is on" : ""}</p>', { modern: true }), "there");
  expect(loose).toEqual(['here: "Nothing is lost."', 'here: " things that matter"', 'here: "Done."', 'there: "Turn it off"', 'there: "It is on"']);
});
