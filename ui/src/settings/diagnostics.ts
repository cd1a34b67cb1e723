// A report about one server that can be pasted into an issue (B45). Everything in it was scrubbed by the engine already.

import type { AppInfo, LogLine, ServerRow, StageInfo } from "../host/api";
import { duration } from "../lib/format";
import { visible, visibleLine } from "../lib/text/visible";

export function diagnostics(app: AppInfo, row: ServerRow, stages: readonly StageInfo[], lines: readonly LogLine[]): string {
  const out = [
    `Mework ${app.version} on ${app.platform}`,
    `Server: ${visibleLine(row.name)} (${row.transport ?? "unknown"}), ${row.machine}`,
    `Entry: ${visibleLine(row.summary)}`,
    `File: ${row.file}`,
    `Ticked: ${row.ticked ? "yes" : "no"}, consent: ${row.consent}`,
    `Status: ${row.status.kind}`,
  ];
  for (const reason of row.reasons) out.push(`Unavailable: ${visible(reason)}`);
  for (const stage of stages) out.push(`Stage ${stage.stage}: ${stage.ok ? "ok" : "failed"}, ${duration(stage.ms)}${stage.message ? `: ${visible(stage.message)}` : ""}`);
  switch (row.status.kind) {
    case "connected":
      out.push(`Answered as: ${visibleLine(row.status.server_name)} ${visibleLine(row.status.server_version)}, MCP ${row.status.protocol}, ${row.status.tools} tools`);
      for (const tool of row.status.set_aside) out.push(`Set aside: ${visibleLine(tool.name ?? "?")}: ${visible(tool.reason)}`);
      break;
    case "failed":
      out.push(`Failed at ${row.status.stage}: ${visible(row.status.message)}`);
      if (row.status.exit_code !== undefined) out.push(`Exit code: ${row.status.exit_code}`);
      break;
  }
  if (lines.length > 0) out.push("", "Log:", ...lines.map((l) => `${new Date(l.at).toISOString()} ${l.source}: ${visible(l.text)}`));
  return out.join("\n");
}
