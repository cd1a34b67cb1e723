//! The rows and their goals, the table people read, and the JSON that programs read.

use serde::Serialize;
use serde_json::{Value, json};

use crate::measure::{Measured, median};

/// One row as it is asked for.
pub struct Line {
    pub id: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    pub goal: Goal,
}

#[derive(Clone, Copy)]
pub enum Goal {
    /// Ours by the floor, at most.
    Ratio(f64),
    /// Ours, at most, in the row's unit.
    AtMost(f64),
    /// Ours, less than this.
    Below(f64),
    /// A figure to know; nobody set a goal.
    None,
}

const fn line(id: &'static str, what: &'static str, unit: &'static str, goal: Goal) -> Line {
    Line { id, what, unit, goal }
}

pub const LINES: &[Line] = &[
    line("connect-1", "Connect 1 server and list its tools", "ms", Goal::Ratio(1.3)),
    line("connect-10", "Connect 10 servers and list their tools", "ms", Goal::Ratio(1.05)),
    line("connect-compiled-1", "... 1 server that is ready within a millisecond", "ms", Goal::None),
    line("connect-compiled-10", "... 10 of those", "ms", Goal::None),
    line("usable", "9 servers usable beside one that never answers", "ms", Goal::AtMost(1000.0)),
    line("call-stdio", "One call over stdio, as a client", "µs", Goal::Ratio(1.3)),
    line("call-http", "One call over HTTP, as a client", "µs", Goal::Ratio(1.3)),
    line("call-road-stdio", "... over stdio, with checks, transcript and events", "µs", Goal::None),
    line("call-road-http", "... over HTTP, with checks, transcript and events", "µs", Goal::None),
    line("list-file", "List a file of 1,000 servers", "ms", Goal::AtMost(10.0)),
    line("list-command", "... with `mework mcp list`, from start to end", "ms", Goal::None),
    line("list-page", "... as the page of a conversation", "ms", Goal::None),
    line("memory-stdio", "Memory of an idle connection, stdio", "MiB", Goal::AtMost(1.0)),
    line("memory-http", "Memory of an idle connection, HTTP", "MiB", Goal::AtMost(1.0)),
    line("memory-endless", "More memory under an endless line", "MiB", Goal::Below(64.0)),
    line("memory-gzip", "More memory under a gzip bomb of 1 GiB", "MiB", Goal::Below(64.0)),
    line("memory-huge-stdio", "More memory under a result of 1 GiB, stdio", "MiB", Goal::Below(64.0)),
    line("memory-huge-http", "More memory under a result of 1 GiB, HTTP", "MiB", Goal::Below(64.0)),
    line("start-version", "Start of the command line: `mework --version`", "ms", Goal::AtMost(15.0)),
    line("start-list", "Start of the command line: `mework mcp list`", "ms", Goal::AtMost(15.0)),
    line("window-paint", "Window: from its start to the first paint", "ms", Goal::None),
    line("window-memory", "Window: memory, with WebKit's processes", "MiB", Goal::None),
    line("picker", "Picker over 2,048 tools: longest task while typing", "ms", Goal::Below(50.0)),
    line("picker-cpu", "... most processor time of one task", "ms", Goal::None),
];

#[derive(Debug, Clone, Serialize)]
struct Row {
    id: &'static str,
    what: &'static str,
    unit: &'static str,
    ours: Option<f64>,
    floor: Option<f64>,
    ratio: Option<f64>,
    goal: Option<String>,
    met: Option<bool>,
    rounds: usize,
    /// Least and most of ours: how calm the machine was.
    range: Option<(f64, f64)>,
    /// Why there is no figure.
    failed: Option<String>,
}

pub struct Report {
    rows: Vec<Row>,
    machine: Value,
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

impl Report {
    pub fn begin() -> Self {
        Self { rows: Vec::new(), machine: machine() }
    }

    pub fn end(&mut self) {
        self.machine["load_at_end"] = load();
    }

    pub fn add(&mut self, id: &str, measured: &Measured) {
        let Some(line) = LINES.iter().find(|line| line.id == id) else { return };
        let ours = median(&measured.ours);
        let floor = (!measured.floor.is_empty()).then(|| median(&measured.floor));
        let ratio = floor.map(|floor| ours / floor);
        let (goal, met) = match line.goal {
            Goal::Ratio(most) => (Some(format!("ratio <= {most}")), ratio.map(|ratio| ratio <= most)),
            Goal::AtMost(most) => (Some(format!("<= {most}")), Some(ours <= most)),
            Goal::Below(most) => (Some(format!("< {most}")), Some(ours < most)),
            Goal::None => (None, None),
        };
        let least = measured.ours.iter().copied().fold(f64::INFINITY, f64::min);
        let most = measured.ours.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.rows.push(Row {
            ours: Some(rounded(ours)),
            floor: floor.map(rounded),
            ratio: ratio.map(rounded),
            goal,
            met,
            rounds: measured.ours.len(),
            range: Some((rounded(least), rounded(most))),
            failed: None,
            id: line.id,
            what: line.what,
            unit: line.unit,
        });
        eprintln!("  {}: {}", line.id, self.rows.last().map(|row| cells(row).join(" | ")).unwrap_or_default());
    }

    pub fn add_failed(&mut self, id: &str, why: &str) {
        let Some(line) = LINES.iter().find(|line| line.id == id) else { return };
        let Line { id, what, unit, goal: _ } = *line;
        let failed = Some(why.to_owned());
        eprintln!("  {id}: no figure: {why}");
        let row =
            Row { id, what, unit, ours: None, floor: None, ratio: None, goal: None, met: None, rounds: 0, range: None, failed };
        self.rows.push(row);
    }

    /// Every row that was asked for has its figure.
    pub fn is_whole(&self, only: &[String]) -> bool {
        let asked = LINES.iter().filter(|line| only.is_empty() || only.iter().any(|row| row == line.id));
        asked.into_iter().all(|line| self.rows.iter().any(|row| row.id == line.id && row.failed.is_none()))
    }

    /// The rows whose goal was missed.
    pub fn missed(&self) -> Vec<&'static str> {
        self.rows.iter().filter(|row| row.met == Some(false)).map(|row| row.id).collect()
    }

    pub fn json(&self) -> String {
        let whole = json!({ "machine": self.machine, "rows": self.rows });
        format!("{whole:#}\n")
    }

    pub fn table(&self) -> String {
        let header = ["what", "ours", "from ... to", "floor", "ratio", "goal", "met"].map(str::to_owned);
        let lines: Vec<[String; COLUMNS]> = std::iter::once(header).chain(self.rows.iter().map(cells)).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
        let mut out = String::from("\n");
        for (number, line) in lines.iter().enumerate() {
            let [what, ours, range, floor, ratio, goal, met] = line;
            let text = format!(
                "{what:<w0$}  {ours:>w1$}  {range:>w2$}  {floor:>w3$}  {ratio:>w4$}  {goal:<w5$}  {met}",
                w0 = widths[0],
                w1 = widths[1],
                w2 = widths[2],
                w3 = widths[3],
                w4 = widths[4],
                w5 = widths[5],
            );
            out += text.trim_end();
            out.push('\n');
            if number == 0 {
                out += &"-".repeat(widths.iter().sum::<usize>() + 2 * (COLUMNS - 1));
                out.push('\n');
            }
        }
        for row in &self.rows {
            if let Some(why) = &row.failed {
                out += &format!("\nNo figure for {}: {why}\n", row.id);
            }
        }
        let fact = |key: &str| self.machine[key].as_str().map_or_else(|| self.machine[key].to_string(), str::to_owned);
        out += &format!(
            "\n{} cores ({}), {} MiB, Linux {}, {} build, load {} at the beginning and {} at the end\n",
            fact("cores"),
            fact("processor"),
            fact("memory_mib"),
            fact("kernel"),
            fact("profile"),
            fact("load_at_begin"),
            fact("load_at_end"),
        );
        out
    }
}

const COLUMNS: usize = 7;

fn cells(row: &Row) -> [String; COLUMNS] {
    let figure = |value: Option<f64>| value.map(|value| format!("{} {}", shown(value), row.unit)).unwrap_or_default();
    let met = match (&row.failed, row.met) {
        (Some(_), _) => "no figure",
        (None, Some(true)) => "yes",
        (None, Some(false)) => "MISSED",
        (None, None) => "",
    };
    let ratio = row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
    let range = row.range.map(|(least, most)| format!("{} ... {}", shown(least), shown(most))).unwrap_or_default();
    [row.what.into(), figure(row.ours), range, figure(row.floor), ratio, row.goal.clone().unwrap_or_default(), met.into()]
}

/// Three figures that count.
fn shown(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn load() -> Value {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).into()
}

fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kib = memory.split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default();
    json!({
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "processor": field(&read("/proc/cpuinfo"), "model name"),
        "memory_mib": kib / 1024,
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        // The measuring program and the programs it measures are built alike.
        "profile": if cfg!(debug_assertions) { "dev" } else { "release" },
        "load_at_begin": load(),
    })
}
