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

test("B49: every word of the window stands in words", () => {
  const spoken = new Set(["aria-label", "placeholder", "title", "alt", "label", "hint"]);
  // Signs and names that no translation changes.
  const allowed = /^(SHA-256|MCP|Esc|[A-Z]|\\n|[^\p{L}]*)$/u;
  const loose: string[] = [];
  function walk(node: unknown, file: string): void {
    if (Array.isArray(node)) return node.forEach((n) => walk(n, file));
    if (typeof node !== "object" || node === null) return;
    const one = node as AST.BaseNode & { data?: string; name?: string; value?: unknown; fragment?: unknown };
    if (one.type === "Attribute") {
      if (spoken.has(one.name ?? "") && Array.isArray(one.value))
        for (const part of one.value as (AST.BaseNode & { data?: string })[]) if (part.type === "Text" && !allowed.test((part.data ?? "").trim())) loose.push(`${file}: ${one.name}="${part.data}"`);
      return;
    }
    if (one.type === "StyleDirective") return;
    if (one.type === "Text") {
      if (!allowed.test((one.data ?? "").trim())) loose.push(`${file}: ${(one.data ?? "").trim()}`);
      return;
    }
    for (const [key, value] of Object.entries(one)) if (!["css", "instance", "module", "options", "comments", "js"].includes(key)) walk(value, file);
  }
  for (const file of product.filter((f) => f.endsWith(".svelte"))) walk(parse(read(file), { modern: true }).fragment, file);
  expect(loose).toEqual([]);
});
