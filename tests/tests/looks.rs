//! The main states in the window's own web view: the page follows the desktop's colours, and nothing is cut off, covered or
//! out of reach, as large as it is, at 200 %, and in the smallest window at 200 %. What a browser shows of the same is looked
//! at in tests/ui/pages.test.js.
#![cfg(target_os = "linux")]

use mework_tests::programs::{Home, servers};
use mework_tests::window::{Desktop, Window};
use serde_json::json;

/// The window's size, the zoom in percent, and the steps of the zoom on the way there from 100.
const SIZES: [(u32, u32, u32, u32); 3] = [(1180, 780, 100, 0), (1180, 780, 200, 5), (640, 420, 200, 5)];

/// A window whose pictures tell its colours, and what it found.
struct Looked {
    window: Window,
    scheme: &'static str,
    found: Vec<String>,
}

impl Looked {
    /// Looks at the page at every size, and leaves it as it was.
    async fn at(&mut self, state: &str) {
        for (width, height, percent, steps) in SIZES {
            self.resize(width, height, percent, steps).await;
            let found = self.window.misfits().await;
            self.found.extend(found.into_iter().map(|what| format!("{state}, {width} by {height} at {percent} %: {what}")));
            self.window.shot(&format!("window-{state}-{}-{width}-{percent}", self.scheme)).await;
        }
        let (width, height, percent, steps) = SIZES[0];
        self.resize(width, height, percent, steps).await;
    }

    async fn resize(&self, width: u32, height: u32, percent: u32, steps: u32) {
        self.window.client().set_window_size(width, height).await.expect("a window that takes a size");
        let press = "for (const key of ['0', ...Array(arguments[0]).fill('+')])
            document.body.dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey: true, bubbles: true }))";
        self.window.run(press, vec![steps.into()]).await;
        let there = "return Math.abs(innerWidth - arguments[0]) <= 1 && Math.abs(innerHeight - arguments[1]) <= 1";
        let size = [width, height].map(|pixels| (pixels * 100 / percent).into()).to_vec();
        self.window.until_with(&format!("the page to be {width} by {height} at {percent} %"), there, size).await;
        self.window.frames().await;
    }
}

async fn look(scheme: &'static str, theme: &str) -> Vec<String> {
    let (desktop, home) = (Desktop::new(), Home::empty().with("GTK_THEME", theme));
    home.declare(json!({
        "everything": { "command": servers().join("node_modules/.bin/mcp-server-everything"), "args": ["stdio"] },
        "broken": { "command": "x", "cwd": "not/absolute" },
    }));
    let window = desktop.open_window(&home).await;
    let follows = "return matchMedia(`(prefers-color-scheme: ${arguments[0]})`).matches";
    window.until_with("the page to follow the desktop's colours", follows, vec![scheme.into()]).await;
    let mut looked = Looked { window, scheme, found: vec![] };

    looked.window.sees("Choose among 2 servers").await;
    looked.at("found").await;

    looked.window.press("Choose among 2 servers").await;
    looked.window.click("checkbox", "Use everything in this conversation").await;
    looked.window.press("everything: 13 tools. Details").await;
    looked.window.sees("Declared in").await;
    looked.at("servers").await;

    looked.window.press("Back to the conversation").await;
    looked.window.press("Choose a tool to call*").await;
    looked.window.write("combobox", "Search tools", "echo").await;
    looked.window.click("option", "echo*").await;
    looked.window.write("textbox", "message", "hello from the window").await;
    looked.window.press("Call*").await;
    looked.window.press("Allow once").await;
    looked.window.sees("Echo: hello from the window").await;
    looked.window.press("Call*").await;
    looked.window.sees("everything wants to run echo").await;
    looked.at("card").await;

    looked.window.press("Settings").await;
    looked.window.sees("Where things are").await;
    looked.at("settings").await;
    looked.window.close().await;
    looked.found
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_fits_light_and_dark_and_twice_as_large() {
    let (light, dark) = tokio::join!(look("light", "Adwaita"), look("dark", "Adwaita:dark"));
    assert_eq!((light, dark), (vec![], vec![]));
}
