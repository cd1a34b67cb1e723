//! Every word that the desktop itself says: in dialogs, in notifications, and where there can be no window (B49). What stands
//! in the window is the page's, and its words are in `ui/src/words`; the engine words what went wrong in it.

use std::fmt::Display;
use std::path::Path;

/// What this is to another process of Mework that finds a conversation in use.
pub const CLIENT: &str = "the window";

/// Closing while something would be lost.
pub mod closing {
    pub const TITLE: &str = "Close Mework?";
    pub const UNSAVED: &str = "What you typed about a server is not saved. Closing the window discards it.";
    /// Close, and stay: where typed text would be lost, and where only calls would.
    pub const ANSWERS_TO_UNSAVED: [&str; 2] = ["Close anyway", "Keep editing"];
    pub const ANSWERS_TO_RUNNING: [&str; 2] = ["Stop and close", "Keep open"];

    pub fn running(calls: usize) -> Option<String> {
        match calls {
            0 => None,
            1 => Some("A call is running. Closing the window stops it.".to_owned()),
            n => Some(format!("{n} calls are running. Closing the window stops them.")),
        }
    }
}

/// Notifications: a line, and one more.
pub mod notification {
    #[cfg(target_os = "linux")]
    pub const SHOW: &str = "Show";
    pub const SEE: &str = "Click to see what came back.";
    pub const SEE_LAST: &str = "Click to see what came back last.";
    pub const ANSWER: &str = "Click to look at the call and answer.";
    pub const ANSWER_FIRST: &str = "Click to look at the first and answer.";

    pub fn ended(tool: &str, server: &str, well: bool) -> String {
        format!("{tool} on {server} {}", if well { "is done" } else { "failed" })
    }
    pub fn all_ended(calls: usize) -> String {
        format!("{calls} calls have ended")
    }
    pub fn wants(server: &str, tool: &str) -> String {
        format!("{server} wants to run {tool}")
    }
    pub fn wait(calls: usize) -> String {
        format!("{calls} calls wait for you")
    }
}

/// The file manager and the folder picker.
pub mod folder {
    use super::Path;

    pub const CHOOSE: &str = "Choose a workspace folder";
    pub const ELSEWHERE: &str = "The folder that was chosen is not on this computer. Choose a local one.";
    pub const NO_PICKER: &str = "The folder picker could not be opened. Type the folder's path.";

    pub fn is_none(path: &Path) -> String {
        format!("{} is not a folder.", path.display())
    }
    pub fn no_manager(path: &Path) -> String {
        format!("No file manager could show {}. Open it by hand.", path.display())
    }
}

/// Why there is no window.
pub mod start {
    use super::Display;

    pub const TITLE: &str = "Mework cannot start";

    pub fn no_system(problem: &dyn Display) -> String {
        format!("The window system could not be started: {problem}.")
    }
    pub fn no_window(problem: &dyn Display) -> String {
        format!("The window could not be opened: {problem}.")
    }
    #[cfg(target_os = "linux")]
    pub const INSTEAD: &str = "Run `mework serve` to use the same app in a browser.";
    #[cfg(target_os = "linux")]
    pub fn no_display() -> String {
        format!("There is no display to open a window on: neither DISPLAY nor WAYLAND_DISPLAY is set. {INSTEAD}")
    }
    #[cfg(target_os = "linux")]
    pub fn closed_display(value: &str, name: &str) -> String {
        format!("The display {value:?} (from {name}) cannot be opened. Start the app inside the desktop's session. {INSTEAD}")
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let all = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
        all.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
    }

    /// The texts of a source's lines, up to its tests. What is logged is for who looks for a fault, and stays as it is.
    fn texts(source: &str) -> Vec<&str> {
        let lines = source.lines().take_while(|line| *line != "#[cfg(test)]").filter(|line| {
            let line = line.trim_start();
            !line.starts_with("//") && !line.contains("tracing::") && !line.contains("reason = ")
        });
        lines.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
    }

    /// Words beside each other.
    fn is_said(text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_word =
            |word: &&str| word.len() > 1 && word.trim_end_matches([',', ':', ';', '.']).chars().all(char::is_alphabetic);
        words.windows(2).any(|pair| pair.iter().all(is_word))
    }

    #[test]
    fn b49_every_word_of_the_desktop_stands_here() {
        assert!(is_said("Choose a workspace folder") && is_said("{n} calls wait") && !is_said("application/json"));
        assert_eq!(
            texts("let a = \"one two\"; f(\"b\", \"three\");\n// \"no\"\n#[cfg(test)]\n\"no\""),
            ["one two", "b", "three"]
        );
        let (mut looked_at, mut loose) = (0, vec![]);
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src-tauri")) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if name == "words.rs" || name == "build.rs" {
                continue;
            }
            let source = std::fs::read_to_string(&file).unwrap();
            looked_at += 1;
            loose.extend(texts(&source).into_iter().filter(|text| is_said(text)).map(|text| format!("{name}: {text}")));
        }
        assert!(looked_at > 10);
        assert_eq!(loose, Vec::<String>::new());
    }
}
