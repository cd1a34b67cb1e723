import { describe, expect, test } from "vitest";
import { parse, type Node } from "../json/json";
import { apply, insertItem, insertMember, made, removeItem, removeMembers, replace, swapItems } from "./edit";

const root = (text: string): Node => {
  const parsed = parse(text);
  if (!("node" in parsed)) throw new Error(text);
  return parsed.node;
};
function at(text: string, ...way: (string | number)[]): Node {
  let node = root(text);
  for (const step of way) {
    const next = node.kind === "object" ? node.members.findLast((m) => m.key === step)?.value : node.kind === "array" ? node.items[Number(step)] : undefined;
    if (!next) throw new Error(`${text} has no ${way.join("/")}`);
    node = next;
  }
  return node;
}
const object = (text: string, ...way: (string | number)[]) => {
  const node = at(text, ...way);
  if (node.kind !== "object") throw new Error("no object");
  return node;
};
const array = (text: string, ...way: (string | number)[]) => {
  const node = at(text, ...way);
  if (node.kind !== "array") throw new Error("no array");
  return node;
};
const add = (text: string, key: string, raw: string, ...way: (string | number)[]) => apply(text, insertMember(text, object(text, ...way), key, made(raw)).edits);

describe("a member goes in as its neighbours are written", () => {
  test.each([
    ["{}", '{\n  "k": 1\n}'],
    ["\t{ } ", '\t{\n\t  "k": 1\n\t} '],
    ['{"a":1}', '{"a":1,"k":1}'],
    ['{"a": 1}', '{"a": 1, "k": 1}'],
    ['{ "a" : 1 }', '{ "a" : 1, "k" : 1 }'],
    ['{"a":1,  "b":2}', '{"a":1,  "b":2,  "k":1}'],
    ['{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": 1\n}'],
    ['{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\n    "k": 1\r\n}'],
  ])("%j", (before, after) => expect(add(before, "k", "1")).toBe(after));

  test("a nested value is laid out where the text has lines, and not where it has none", () => {
    expect(add('{\n    "a": 1\n}', "k", '{"x":[1,{}]}')).toBe('{\n    "a": 1,\n    "k": {\n        "x": [\n            1,\n            {}\n        ]\n    }\n}');
    expect(add('{"a":1}', "k", '{"x":[1,2]}')).toBe('{"a":1,"k":{"x":[1,2]}}');
    expect(add('{\n  "o": {}\n}', "k", "1", "o")).toBe('{\n  "o": {\n    "k": 1\n  }\n}');
    expect(add('{"o": {}}', "k", "1", "o")).toBe('{"o": {"k": 1}}');
  });
  test("any name is a key", () => {
    expect(add("{}", "__proto__", "1")).toBe('{\n  "__proto__": 1\n}');
    expect(add('{"a":1}', 'say "\\"', "12345678901234567890.50")).toBe('{"a":1,"say \\"\\\\\\"":12345678901234567890.50}');
  });
  test("what was written is found again in the new text", () => {
    const change = insertMember('{"a":1}', object('{"a":1}'), "k", made("[1]"));
    expect(apply('{"a":1}', change.edits).slice(change.start, change.end)).toBe("[1]");
  });
});

describe("a member that goes takes its comma, and nothing else", () => {
  const gone = (text: string, ...keys: string[]) => apply(text, removeMembers(object(text), (m) => keys.includes(m.key)));
  test.each([
    ['{"a":1,"b":2,"c":3}', ["a"], '{"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ["b"], '{"a":1,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ["c"], '{"a":1,"b":2}'],
    ['{"a":1,"b":2,"c":3}', ["a", "b"], '{"c":3}'],
    ['{"a":1,"b":2,"c":3}', ["a", "c"], '{"b":2}'],
    ['{"a":1,"b":2,"c":3}', ["b", "c"], '{"a":1}'],
    ['{"a":1,"b":2,"c":3}', ["a", "b", "c"], "{}"],
    ['{\n  "a": 1.0,\n  "b": 2\n}', ["b"], '{\n  "a": 1.0\n}'],
    ['{"a":1, "b":2, "a":3}', ["a"], '{"b":2}'],
    ['{"a":1}', ["x"], '{"a":1}'],
  ])("%j without %j", (before, keys, after) => expect(gone(before, ...keys)).toBe(after));
});

test("items are added, removed and change places with their characters", () => {
  const text = '{"l": [1.0, "\\u0061", {"x" : 1}]}';
  expect(apply(text, insertItem(text, array(text, "l"), made("true")).edits)).toBe('{"l": [1.0, "\\u0061", {"x" : 1}, true]}');
  expect(apply(text, removeItem(array(text, "l"), 0))).toBe('{"l": ["\\u0061", {"x" : 1}]}');
  expect(apply(text, removeItem(array(text, "l"), 2))).toBe('{"l": [1.0, "\\u0061"]}');
  expect(apply(text, swapItems(text, array(text, "l"), 0, 2))).toBe('{"l": [{"x" : 1}, "\\u0061", 1.0]}');
  const lines = '{\n  "l": []\n}';
  expect(apply(lines, insertItem(lines, array(lines, "l"), made('""')).edits)).toBe('{\n  "l": [\n    ""\n  ]\n}');
});

test("a value is replaced in its place", () => {
  const text = '{\n  "n": 12345678901234567890,  "m" : 1.0 }';
  expect(apply(text, replace(text, at(text, "m"), made("2")).edits)).toBe('{\n  "n": 12345678901234567890,  "m" : 2 }');
});

test("only the touched member's bytes differ, whatever the text", () => {
  // The same run each time: a failure can be repeated.
  let seed = 20261130;
  const random = (n: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const space = () => pick(["", "", " ", "  ", "\n", "\n  ", "\t", "\r\n "]);
  const write = (depth: number): string => {
    const kind = random(depth > 3 ? 5 : 8);
    if (kind < 5) return pick(["1.0", "12345678901234567890", "-0", "1e+2", '"a\\u0062"', '"ü"', '""', "true", "null", '"}{,:"', '"\\\\\\""']);
    const n = random(4);
    if (kind === 5) return `[${Array.from({ length: n }, () => `${space()}${write(depth + 1)}${space()}`).join(",")}]`;
    return `{${Array.from({ length: n }, () => `${space()}${JSON.stringify(pick(["a", "b", "c", "__proto__", "ä", 'q"', "a/b~"]))}${space()}:${space()}${write(depth + 1)}${space()}`).join(",")}}`;
  };
  type Found = { way: string; text: string };
  /** Every leaf and key with its exact characters and where it stands, but what lies in `skip`. */
  function leaves(text: string, node: Node, way: string, skip: string, out: Found[] = []): Found[] {
    if (way === skip) return out;
    if (node.kind === "object")
      node.members.forEach((m, i) => {
        const twin = `${node.members.slice(0, i).filter((x) => x.key === m.key).length}`;
        const here = `${way}/${JSON.stringify(m.key)}#${twin}`;
        if (here !== skip) out.push({ way: here, text: text.slice(m.keyStart, m.value.start) });
        leaves(text, m.value, here, skip, out);
      });
    else if (node.kind === "array") node.items.forEach((n, i) => leaves(text, n, `${way}/${i}`, skip, out));
    else out.push({ way, text: text.slice(node.start, node.end) });
    return out;
  }
  const containers = (node: Node, way: string, out: { node: Node; way: string }[] = []) => {
    if (node.kind === "object") {
      out.push({ node, way });
      node.members.forEach((m, i) => containers(m.value, `${way}/${JSON.stringify(m.key)}#${node.members.slice(0, i).filter((x) => x.key === m.key).length}`, out));
    } else if (node.kind === "array") {
      out.push({ node, way });
      node.items.forEach((n, i) => containers(n, `${way}/${i}`, out));
    }
    return out;
  };

  let edits = 0;
  for (let round = 0; round < 3000; round++) {
    const text = space() + `{${space()}"r":${write(0)}${space()},"s":${space()}${write(0)}}` + space();
    const tree = root(text);
    const { node, way } = pick(containers(tree, ""));
    const raw = pick(["7", '"new"', '{"x":[1,2]}', "[]", "98765432109876543210"]);
    let after: string;
    let skip: string;
    let appended: string | null = null;
    if (node.kind === "object" && node.members.length > 0 && random(2) === 0) {
      const i = random(node.members.length);
      const member = node.members[i];
      if (!member) continue;
      skip = `${way}/${JSON.stringify(member.key)}#${node.members.slice(0, i).filter((x) => x.key === member.key).length}`;
      const change = replace(text, member.value, made(raw));
      after = apply(text, change.edits);
      // Not one character elsewhere.
      expect(after.slice(0, member.value.start)).toBe(text.slice(0, member.value.start));
      expect(after.slice(after.length - (text.length - member.value.end))).toBe(text.slice(member.value.end));
      expect(JSON.stringify(JSON.parse(after.slice(change.start, change.end)))).toBe(JSON.stringify(JSON.parse(raw)));
    } else if (node.kind === "object") {
      skip = `${way}/"new key"#0`;
      appended = skip;
      after = apply(text, insertMember(text, node, "new key", made(raw)).edits);
    } else if (node.kind === "array") {
      skip = `${way}/${node.items.length}`;
      appended = skip;
      after = apply(text, insertItem(text, node, made(raw)).edits);
    } else continue;
    edits++;
    const without = (found: Found[]) => found.filter((f) => f.way !== skip && !f.way.startsWith(`${skip}/`));
    expect(without(leaves(after, root(after), "", skip))).toEqual(without(leaves(text, tree, "", skip)));
    if (appended !== null && node.kind === "object") {
      // And out again: nothing of the others is lost.
      const again = root(after);
      const there = containers(again, "").find((c) => c.way === way)?.node;
      if (there?.kind !== "object") throw new Error(after);
      const back = apply(after, removeMembers(there, (m) => m.key === "new key"));
      expect(leaves(back, root(back), "", "-")).toEqual(leaves(text, tree, "", "-"));
    }
  }
  expect(edits).toBeGreaterThan(2500);
});
