import { expect, test } from "vitest";
import { diagnostics } from "./diagnostics";

test("B45: the report says what is known, with hidden characters visible", () => {
  const text = diagnostics(
    { version: "1.2", platform: "linux", global_file: "", data_dir: "", first_start: false, can_pick_folder: false, can_reveal: false, notifies: false },
    {
      id: "x", name: "docs", transport: "stdio", summary: "npx docs", file: "/h/mcp.json", machine: "This computer", ticked: true, consent: "given", available: true, reasons: [], notes: [], disabled_tools: [], always_ask: [],
      status: { kind: "failed", stage: "handshake", message: "It ended.", exit_code: 1, stderr: [], stdout_noise: 0, stdout_sample: [] },
    },
    [{ stage: "config", ms: 2, ok: true }, { stage: "start", ms: 1500, ok: false, message: "no\u{1b}[0m" }],
    [{ at: 0, source: "stderr", text: "boom \u{202e}" }],
  );
  expect(text).toBe(
    [
      "Mework 1.2 on linux",
      "Server: docs (stdio), This computer",
      "Entry: npx docs",
      "File: /h/mcp.json",
      "Ticked: yes, consent: given",
      "Status: failed",
      "Stage config: ok, 2 ms",
      "Stage start: failed, 1.5 s: no⟨U+001B⟩[0m",
      "Failed at handshake: It ended.",
      "Exit code: 1",
      "",
      "Log:",
      "1970-01-01T00:00:00.000Z stderr: boom ⟨U+202E⟩",
    ].join("\n"),
  );
});
