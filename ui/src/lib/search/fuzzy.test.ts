import { expect, test } from "vitest";
import { field, match, rank } from "./fuzzy";

const tools = ["read_file", "write_file", "read_multiple_files", "list_directory", "create_directory", "getCurrentTime", "convert_time", "git_log", "profile_read"];
const fields = (name: string) => [field(name, 1, true), field(`The tool ${name} of a server`, 0.3, false)];
const order = async (query: string) => (await rank(query, tools, fields, new AbortController().signal)).map((r) => r.item);

test("an empty query keeps everything in order", async () => {
  expect(await order("")).toEqual(tools);
  expect(await order("  ")).toEqual(tools);
});

test("a start beats the start of a word, which beats the middle", async () => {
  expect((await order("read")).slice(0, 3)).toEqual(["read_file", "read_multiple_files", "profile_read"]);
  expect((await order("file")).slice(0, 2)).toEqual(["read_file", "write_file"]);
  expect((await order("file")).at(-1)).toBe("profile_read");
});

test("initials find names in both styles", async () => {
  expect((await order("ld"))[0]).toBe("list_directory");
  expect((await order("gct"))[0]).toBe("getCurrentTime");
  expect((await order("rmf"))[0]).toBe("read_multiple_files");
});

test("every word must be found", async () => {
  expect(await order("file zzz")).toEqual([]);
  expect((await order("time conv"))[0]).toBe("convert_time");
});

test("case does not matter and the marks say where", () => {
  expect(match("TIME", fields("getCurrentTime"))?.marks).toEqual([10, 11, 12, 13]);
  expect(match("gl", fields("git_log"))?.marks).toEqual([0, 4]);
});

test("nothing special in a query breaks it", async () => {
  for (const query of ["(", "\\", "[a-", "*", "𝒳", "\u0000"]) await expect(order(query)).resolves.toBeInstanceOf(Array);
});

test("ten thousand tools are ranked within a second, and an older search gives way", async () => {
  const many = Array.from({ length: 10_000 }, (_, i) => `tool_${i}_${["read", "write", "list"][i % 3]}_thing`);
  const prepared = new Map(many.map((name) => [name, fields(name)]));
  const began = performance.now();
  const found = await rank("rthing 42", many, (name) => prepared.get(name)!, new AbortController().signal);
  expect(performance.now() - began).toBeLessThan(1000);
  expect(found.length).toBeGreaterThan(0);
  const gone = new AbortController();
  const older = rank("read", many, (name) => prepared.get(name)!, gone.signal, 0);
  gone.abort();
  expect(await older).toEqual([]);
});
