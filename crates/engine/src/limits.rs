//! Every number of the specification, named, with the sentence it comes from. Sizes are bytes.

use std::time::Duration;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

// Configuration files (B2, B3, B21).
/// A larger `mcp.json` is ignored whole.
pub const CONFIG_FILE_BYTES: usize = MIB;
/// A file nested deeper than this is ignored whole.
pub const CONFIG_DEPTH: usize = 64;
/// A server's name has 1 to this many characters.
pub const SERVER_NAME_CHARS: usize = 128;
pub const ARGS: usize = 1024;
pub const ENV_VARIABLES: usize = 256;
pub const HEADERS: usize = 128;
/// Names and values of all headers of one entry together (security row 34).
pub const HEADERS_BYTES: usize = 16 * KIB;

// Calls (the specification's table, B8).
/// "One call: 45 s by default".
pub const CALL_TIMEOUT: Duration = Duration::from_secs(45);
/// "up to 300 s", also the default of a `longRunning` entry.
pub const CALL_TIMEOUT_MAX: Duration = Duration::from_secs(300);
/// "Result of one call: 64 KiB", of the compact JSON a model would receive (B26).
pub const RESULT_BYTES: usize = 64 * KIB;
/// Arguments of one call (B21).
pub const ARGUMENTS_BYTES: usize = 2 * MIB;

// Listing (the specification's table, B21).
/// "Listing tools, all servers together, per turn: 60 s".
pub const LISTING_TIMEOUT: Duration = Duration::from_secs(60);
/// "Tools per turn: 2,048".
pub const TOOLS_PER_TURN: usize = 2048;
/// "Tool schemas of one server: 512 KiB".
pub const SERVER_SCHEMA_BYTES: usize = 512 * KIB;
/// "Tool schemas of all servers: 2 MiB".
pub const ALL_SCHEMA_BYTES: usize = 2 * MIB;
pub const SERVERS_PER_RUN: usize = 128;
pub const TOOL_PAGES: usize = 128;
/// Tools one server may list at all, hidden and malformed ones included.
pub const LISTED_TOOLS: usize = 4 * TOOLS_PER_TURN;
pub const CURSOR_BYTES: usize = 16 * KIB;
/// A tool with a longer name is set aside.
pub const TOOL_NAME_BYTES: usize = 512;
/// B23: longer titles and descriptions are cut, with "more" where people read them.
pub const TITLE_CHARS: usize = 240;
pub const DESCRIPTION_CHARS: usize = 4000;

// Messages (B21).
/// One protocol message from a stdio server, counted while reading.
pub const STDIO_MESSAGE_BYTES: usize = 4 * MIB;
/// One protocol message over HTTP, after decompression.
pub const HTTP_MESSAGE_BYTES: usize = 8 * MIB;
/// Bytes of a stdio server's noise (lines that are no protocol message) before the connection ends (row 37).
pub const STDOUT_NOISE_BYTES: usize = 4 * MIB;
/// More messages than this per second, for [`FLOOD_SECONDS`], end the connection (row 24).
pub const FLOOD_MESSAGES_PER_SECOND: usize = 1000;
pub const FLOOD_SECONDS: u32 = 5;
/// Requests of a server that wait for it to read their answers; one more ends the connection (row 24).
pub const UNANSWERED_REQUESTS: usize = 256;

// HTTP (row 23).
/// Resolving a name, connecting and setting up TLS together.
pub const HTTP_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

// Connections (B24, B25).
/// "It closes after 30 minutes idle".
pub const IDLE_CLOSE: Duration = Duration::from_secs(30 * 60);
pub const LIVE_CONNECTIONS: usize = 32;
/// A start in the background, the download of a package included; a turn waits [`LISTING_TIMEOUT`] at most, and a late
/// start joins the next turn (B20).
pub const START_TIMEOUT: Duration = Duration::from_secs(300);
/// After a server's stdin is closed, how long it has before its process tree is terminated.
pub const STDIN_CLOSE_GRACE: Duration = Duration::from_millis(500);
/// After it is terminated, how long before it is killed.
pub const TERMINATE_GRACE: Duration = Duration::from_secs(1);

// What is kept of a server's output (B45, row 23).
pub const STDERR_RING_BYTES: usize = 64 * KIB;
/// "the last five lines the server wrote to stderr".
pub const STDERR_TAIL_LINES: usize = 5;
/// One line of a server's stderr or noise, longer ones are cut.
pub const LOG_LINE_BYTES: usize = 8 * KIB;
pub const SERVER_LOG_LINES: usize = 1000;
/// Of all its lines together; most logs of so many lines are shorter.
pub const SERVER_LOG_BYTES: usize = 256 * KIB;

// Approvals (B35).
/// An answered card lapses after this long if its call did not start.
pub const APPROVAL_LAPSE: Duration = Duration::from_secs(90);
pub const WAITING_CARDS: usize = 256;

// Login shell (row 41).
pub const LOGIN_SHELL_TIMEOUT: Duration = Duration::from_secs(10);
pub const LOGIN_SHELL_BYTES: usize = 4 * MIB;

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's table, B3, B8, B21, B24, B25, B26, B35, rows 23 and 24, in its own figures: code and tests use
    /// the names, so a slip of the pen would show nowhere else.
    #[test]
    fn every_number_is_the_specifications() {
        let sizes = [
            (CONFIG_FILE_BYTES, 1_048_576),
            (CONFIG_DEPTH, 64),
            (SERVER_NAME_CHARS, 128),
            (ARGS, 1_024),
            (ENV_VARIABLES, 256),
            (HEADERS, 128),
            (HEADERS_BYTES, 16_384),
            (RESULT_BYTES, 65_536),
            (ARGUMENTS_BYTES, 2_097_152),
            (TOOLS_PER_TURN, 2_048),
            (SERVER_SCHEMA_BYTES, 524_288),
            (ALL_SCHEMA_BYTES, 2_097_152),
            (SERVERS_PER_RUN, 128),
            (TOOL_PAGES, 128),
            (CURSOR_BYTES, 16_384),
            (TOOL_NAME_BYTES, 512),
            (TITLE_CHARS, 240),
            (DESCRIPTION_CHARS, 4_000),
            (STDIO_MESSAGE_BYTES, 4_194_304),
            (HTTP_MESSAGE_BYTES, 8_388_608),
            (FLOOD_MESSAGES_PER_SECOND, 1_000),
            (LIVE_CONNECTIONS, 32),
            (STDERR_RING_BYTES, 65_536),
            (STDERR_TAIL_LINES, 5),
            (WAITING_CARDS, 256),
        ];
        for (place, (ours, theirs)) in sizes.into_iter().enumerate() {
            assert_eq!(ours, theirs, "number {place} of the table");
        }
        let times = [
            (CALL_TIMEOUT, 45_000),
            (CALL_TIMEOUT_MAX, 300_000),
            (LISTING_TIMEOUT, 60_000),
            (HTTP_CONNECT_TIMEOUT, 10_000),
            (IDLE_CLOSE, 1_800_000),
            (STDIN_CLOSE_GRACE, 500),
            (APPROVAL_LAPSE, 90_000),
            (LOGIN_SHELL_TIMEOUT, 10_000),
            (Duration::from_secs(FLOOD_SECONDS.into()), 5_000),
        ];
        for (place, (ours, theirs)) in times.into_iter().enumerate() {
            assert_eq!(ours, Duration::from_millis(theirs), "time {place} of the table");
        }
    }
}
