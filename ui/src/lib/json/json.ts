// JSON as text and as a tree, without loss: numbers keep their digits, duplicate keys stay, every value knows where it
// stands. `JSON.parse` would show something else than what is sent (security row 7).

export type Member = { key: string; keyStart: number; value: Node; duplicate: boolean };
export type Node = { start: number; end: number } & (
  | { kind: "object"; members: Member[] }
  | { kind: "array"; items: Node[] }
  | { kind: "string"; value: string }
  | { kind: "number"; raw: string }
  | { kind: "literal"; raw: "true" | "false" | "null" }
);
export type Parsed = { node: Node } | { offset: number; problem: Problem };
export type Problem = "empty" | "end" | "value" | "string" | "key" | "colon" | "comma" | "extra" | "deep";

/** The engine refuses deeper values too; the bound keeps the recursion off the stack's end. */
const maxDepth = 256;
const numberShape = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const space = /[ \t\r\n]*/y;
const plain = /[^"\\\u0000-\u001f]*/y;

class Fault extends Error {
  constructor(
    readonly offset: number,
    readonly problem: Problem,
  ) {
    super(problem);
  }
}

/** Parses one JSON text as RFC 8259 has it. */
export function parse(text: string): Parsed {
  let at = 0;
  const skip = () => {
    space.lastIndex = at;
    space.test(text);
    at = space.lastIndex;
  };
  const fault = (problem: Problem, offset = at): never => {
    throw new Fault(offset, offset >= text.length && problem !== "empty" ? "end" : problem);
  };

  function string(): string {
    const start = at++;
    let value = "";
    for (;;) {
      plain.lastIndex = at;
      plain.test(text);
      value += text.slice(at, plain.lastIndex);
      at = plain.lastIndex;
      const c = text[at];
      if (c === '"') {
        at++;
        return value;
      }
      if (c !== "\\") return fault("string", c === undefined ? text.length : at);
      const escape = text[at + 1] ?? "";
      const simple = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }[escape];
      if (simple !== undefined) {
        value += simple;
        at += 2;
      } else if (escape === "u" && /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))) {
        value += String.fromCharCode(Number.parseInt(text.slice(at + 2, at + 6), 16));
        at += 6;
      } else fault("string", at + 1 >= text.length ? text.length : Math.max(start, at));
    }
  }

  function value(depth: number): Node {
    if (depth > maxDepth) fault("deep");
    const start = at;
    const c = text[at];
    if (c === "{") {
      at++;
      const members: Member[] = [];
      const seen = new Set<string>();
      skip();
      if (text[at] === "}") at++;
      else
        for (;;) {
          if (text[at] !== '"') fault("key");
          const keyStart = at;
          const key = string();
          skip();
          if (text[at] !== ":") fault("colon");
          at++;
          skip();
          members.push({ key, keyStart, value: value(depth + 1), duplicate: seen.has(key) });
          seen.add(key);
          skip();
          if (text[at] === "}") {
            at++;
            break;
          }
          if (text[at] !== ",") fault("comma");
          at++;
          skip();
        }
      return { kind: "object", members, start, end: at };
    }
    if (c === "[") {
      at++;
      const items: Node[] = [];
      skip();
      if (text[at] === "]") at++;
      else
        for (;;) {
          items.push(value(depth + 1));
          skip();
          if (text[at] === "]") {
            at++;
            break;
          }
          if (text[at] !== ",") fault("comma");
          at++;
          skip();
        }
      return { kind: "array", items, start, end: at };
    }
    if (c === '"') return { kind: "string", value: string(), start, end: at };
    for (const raw of ["true", "false", "null"] as const)
      if (text.startsWith(raw, at)) {
        at += raw.length;
        return { kind: "literal", raw, start, end: at };
      }
    numberShape.lastIndex = at;
    const number = numberShape.exec(text);
    if (!number) return fault("value");
    at += number[0].length;
    return { kind: "number", raw: number[0], start, end: at };
  }

  try {
    skip();
    if (at >= text.length) fault("empty");
    const node = value(0);
    skip();
    if (at < text.length) fault("extra");
    return { node };
  } catch (error) {
    if (error instanceof Fault) return { offset: error.offset, problem: error.problem };
    throw error;
  }
}

/** Whether two pieces of JSON say the same, in the same order, to the last digit; how a number is written does not count. */
export function same(a: Node, b: Node): boolean {
  if (a.kind === "object")
    return b.kind === "object" && a.members.length === b.members.length && a.members.every((m, i) => m.key === b.members[i]!.key && same(m.value, b.members[i]!.value));
  if (a.kind === "array") return b.kind === "array" && a.items.length === b.items.length && a.items.every((item, i) => same(item, b.items[i]!));
  if (a.kind === "string") return b.kind === "string" && a.value === b.value;
  if (a.kind === "number") return b.kind === "number" && (a.raw === b.raw || amount(a.raw) === amount(b.raw));
  return b.kind === "literal" && a.raw === b.raw;
}

/** A number's sign, digits and magnitude, one way to write them: `1.50e2` and `150`. */
function amount(raw: string): string {
  const [, sign = "", whole = "", part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(raw) ?? [];
  const digits = (whole + part).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  return kept === "" ? "0" : `${sign}${kept}e${BigInt(power) - BigInt(part.length) + BigInt(digits.length - kept.length)}`;
}

/** One-based line and column of an offset. */
export function position(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - (before.lastIndexOf("\n") + 1) + 1 };
}

/** Where the value a JSON pointer names starts; where it is missing, the nearest value around it. */
export function locate(root: Node, pointer: string): number {
  let node = root;
  let offset = root.start;
  for (const part of pointer.split("/").slice(1)) {
    const step = part.replaceAll("~1", "/").replaceAll("~0", "~");
    let next: Node | undefined;
    if (node.kind === "object") {
      const member = node.members.findLast((m) => m.key === step);
      if (member) {
        next = member.value;
        offset = member.keyStart;
      }
    } else if (node.kind === "array") {
      next = node.items[Number(step)];
      if (next) offset = next.start;
    }
    if (!next) return offset;
    node = next;
  }
  return offset;
}

/** Whether there is a value where a JSON pointer points. */
export function has(root: Node, pointer: string): boolean {
  let node: Node | undefined = root;
  for (const part of pointer.split("/").slice(1)) {
    const step = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (node.kind === "object") node = node.members.findLast((m) => m.key === step)?.value;
    else node = node.kind === "array" ? node.items[Number(step)] : undefined;
    if (!node) return false;
  }
  return true;
}

/** The same JSON, indented by two; every string and number keeps the characters it was written with. */
export function pretty(text: string, node: Node, indent = "", unit = "  "): string {
  const deeper = indent + unit;
  if (node.kind === "object" && node.members.length > 0)
    return `{\n${node.members.map((m) => `${deeper}${written(text, m.keyStart)}: ${pretty(text, m.value, deeper, unit)}`).join(",\n")}\n${indent}}`;
  if (node.kind === "array" && node.items.length > 0)
    return `[\n${node.items.map((n) => deeper + pretty(text, n, deeper, unit)).join(",\n")}\n${indent}]`;
  if (node.kind === "object") return "{}";
  if (node.kind === "array") return "[]";
  return text.slice(node.start, node.end);
}

function written(text: string, keyStart: number): string {
  const end = /"(?:[^"\\]|\\.)*"/y;
  end.lastIndex = keyStart;
  return end.exec(text)?.[0] ?? '""';
}

/** The text with a member added at the end of the top-level object, or null when there is no such object or it has the key. */
export function withMember(text: string, key: string, value: unknown): { text: string; offset: number } | null {
  const parsed = parse(text.trim() === "" ? "{}" : text);
  if (!("node" in parsed) || parsed.node.kind !== "object" || parsed.node.members.some((m) => m.key === key)) return null;
  const source = text.trim() === "" ? "{}" : text;
  const now = pretty(source, parsed.node);
  const member = `  ${JSON.stringify(key)}: ${JSON.stringify(value, null, 2).replaceAll("\n", "\n  ")}`;
  const body = now === "{}" ? `{\n${member}\n}` : `${now.slice(0, -2)},\n${member}\n}`;
  return { text: body, offset: body.length - 2 };
}

export type Token = { text: string; kind: "key" | "string" | "number" | "literal" | "plain" };

/** Splits text for colouring; anything that is not JSON is plain. */
export function tokens(text: string): Token[] {
  const out: Token[] = [];
  const shape = /("(?:[^"\\\n]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b|\b(true|false|null)\b/g;
  let from = 0;
  for (const found of text.matchAll(shape)) {
    if (found.index > from) out.push({ text: text.slice(from, found.index), kind: "plain" });
    const [whole, string, colon, number] = found;
    if (string !== undefined) {
      out.push({ text: string, kind: colon === undefined ? "string" : "key" });
      if (colon !== undefined) out.push({ text: colon, kind: "plain" });
    } else out.push({ text: whole, kind: number !== undefined ? "number" : "literal" });
    from = found.index + whole.length;
  }
  if (from < text.length) out.push({ text: text.slice(from), kind: "plain" });
  return out;
}
