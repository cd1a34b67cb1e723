//! What may be written on the command line. Shapes and help texts only; what each command does stands in its own module.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Debug, Parser)]
#[command(
    name = "mework",
    bin_name = "mework",
    version,
    about = "Mework: declare MCP servers, choose them, test them, call their tools",
    long_about = None,
    disable_help_subcommand = true,
    after_help = "Without a command, Mework's window opens if it is installed.\n\nExample:\n  mework mcp list"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// The same app in a browser, on this computer only
    #[command(after_help = "Example:\n  mework serve --open")]
    Serve(Serve),
    /// See, test, call, add and remove MCP servers
    #[command(subcommand, after_help = "Example:\n  mework mcp test files")]
    Mcp(Mcp),
    /// What this computer has and lacks for MCP servers
    #[command(after_help = "Example:\n  mework doctor")]
    Doctor(Doctor),
    /// A small MCP server on stdin and stdout, to try things with
    #[command(after_help = "Example:\n  mework mcp add sample -- mework sample-server")]
    SampleServer,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Open the address in the default browser
    #[arg(long)]
    pub open: bool,
    /// Serve the page from this folder instead of the one built in
    #[arg(long, value_name = "DIR")]
    pub ui: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// Every declared server, and the files they stand in
    #[command(visible_alias = "ls", after_help = "Example:\n  mework mcp list -o json")]
    List(List),
    /// One server: what its file says, and what that means
    #[command(after_help = "Example:\n  mework mcp get files -o text")]
    Get(Get),
    /// Write a server into a file; with no arguments, asks for every value
    #[command(
        after_help = "The command of a stdio server goes after --.\n\nExamples:\n  mework mcp add files -- npx -y @modelcontextprotocol/server-filesystem /home/me/projects\n  mework mcp add -e API_KEY='${MY_KEY}' search -- uvx some-server\n  mework mcp add --transport http -H 'Authorization: Bearer ${TOKEN}' docs https://docs.example.com/mcp"
    )]
    Add(Add),
    /// Remove a server's entry from its file; nothing else in the file changes
    #[command(visible_alias = "rm", after_help = "Example:\n  mework mcp remove files --scope global")]
    Remove(Remove),
    /// Connect, list tools, and say why a server failed, stage by stage
    #[command(after_help = "Without names, every server that a person agreed to is tested.\n\nExample:\n  mework mcp test files")]
    Test(Test),
    /// Call one tool and print its result
    #[command(
        after_help = "Values of key=value are read by the tool's schema; --args takes the whole JSON object.\n\nExamples:\n  mework mcp call sample add a=2 b=40\n  mework mcp call sample echo --args '{\"message\": \"hello\"}'"
    )]
    Call(Call),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub struct Workspaces {
    /// Workspace folder, may be given several times [default: the current folder, if it declares servers]
    #[arg(short = 'w', long = "workspace", value_name = "DIR")]
    pub workspaces: Vec<PathBuf>,
}

/// Which file. The last four belong to other programs' files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// ~/.mework/mcp.json
    Global,
    /// <workspace>/.mework/mcp.json
    Workspace,
    #[value(hide = true)]
    Local,
    #[value(hide = true)]
    Agents,
    #[value(hide = true)]
    Project,
    #[value(hide = true)]
    User,
}

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub workspaces: Workspaces,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub output: Format,
}

#[derive(Debug, Args)]
pub struct Get {
    /// The server's name, or its id
    pub name: String,
    #[command(flatten)]
    pub workspaces: Workspaces,
    /// Which file, if the name is in several
    #[arg(long, value_enum)]
    pub scope: Option<Scope>,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Json)]
    pub output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    Stdio,
    Http,
    #[value(hide = true)]
    Sse,
}

#[derive(Debug, Args)]
pub struct Add {
    /// The server's name: letters, digits, - and _
    pub name: Option<String>,
    /// The URL of an http server, or after -- the command of a stdio server and its arguments
    #[arg(value_name = "URL or -- COMMAND", num_args = 0.., allow_hyphen_values = false)]
    pub target: Vec<String>,
    /// [default: http if a URL is given, else stdio]
    #[arg(long, value_enum)]
    pub transport: Option<Transport>,
    /// Variable for the server's process, may be given several times (stdio)
    #[arg(short, long = "env", value_name = "KEY=VALUE")]
    pub env: Vec<String>,
    /// Header of every request, may be given several times (http)
    #[arg(short = 'H', long = "header", value_name = "KEY: VALUE")]
    pub headers: Vec<String>,
    /// Time limit of one call: milliseconds, or 60s, 2m
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Which file the entry is written to [default: workspace with -w, else global]
    #[arg(long, value_enum)]
    pub scope: Option<Scope>,
    /// Replace an entry of the same name
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub workspaces: Workspaces,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub output: Format,
}

#[derive(Debug, Args)]
pub struct Remove {
    /// The server's name, or its id
    pub name: String,
    #[command(flatten)]
    pub workspaces: Workspaces,
    /// Which file, if the name is in several
    #[arg(long, value_enum)]
    pub scope: Option<Scope>,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub output: Format,
}

#[derive(Debug, Args)]
pub struct Test {
    /// Names or ids [default: every server a person agreed to]
    pub names: Vec<String>,
    #[command(flatten)]
    pub workspaces: Workspaces,
    /// Agree to start what the named servers declare
    #[arg(long)]
    pub yes: bool,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub output: Format,
}

#[derive(Debug, Args)]
pub struct Call {
    /// The server's name, or its id
    pub name: String,
    /// The tool, as the server spells it
    pub tool: String,
    /// Arguments one by one
    #[arg(value_name = "KEY=VALUE", conflicts_with = "args")]
    pub pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON")]
    pub args: Option<String>,
    #[command(flatten)]
    pub workspaces: Workspaces,
    /// Which file, if the name is in several
    #[arg(long, value_enum)]
    pub scope: Option<Scope>,
    /// Agree to the start and to the call; never for tools that always ask
    #[arg(long)]
    pub yes: bool,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub output: Format,
}

#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    pub workspaces: Workspaces,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub output: Format,
}

/// Whether a command line that could not be read asks for JSON: by its last `-o`, or because its command gives it anyway.
pub fn wants_json(line: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = line.take_while(|word| word != "--").collect();
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let asked = words.iter().enumerate().rev().find_map(|(at, word)| match *word {
        "-o" | "--output" => Some(words.get(at + 1).copied().unwrap_or_default()),
        word => word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o=")).or_else(|| word.strip_prefix("-o")),
    });
    match asked {
        Some(format) => format == "json",
        None => words.starts_with(&["mcp", "get"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{} shows no example", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn a_stdio_servers_own_flags_stay_its_own() {
        let Some(Command::Mcp(Mcp::Add(add))) =
            Cli::parse_from(["mework", "mcp", "add", "-e", "A=1", "files", "--", "npx", "-y", "--force", "pkg"]).command
        else {
            panic!()
        };
        assert_eq!((add.name.as_deref(), add.force, add.env), (Some("files"), false, vec!["A=1".to_owned()]));
        assert_eq!(add.target, ["npx", "-y", "--force", "pkg"]);
    }
}
