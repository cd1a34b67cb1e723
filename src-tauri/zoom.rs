//! How large the page is drawn: Ctrl (Cmd on macOS) with plus, minus and zero, kept between runs (B43). Only WebView2 has
//! such keys of its own, and it forgets.

use std::path::{Path, PathBuf};

use tauri::{State, WebviewWindow};

/// Steps as browsers have them, in percent.
const STEPS: [u16; 13] = [50, 67, 75, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300];

/// Runs in the page before its own scripts: the keys, and nothing else.
pub const KEYS: &str = r#"
addEventListener("keydown", (event) => {
  const held = navigator.platform.startsWith("Mac") ? event.metaKey : event.ctrlKey;
  if (!held || event.altKey) return;
  const step = { "+": 1, "=": 1, "-": -1, "_": -1, "0": 0 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  window.__TAURI_INTERNALS__.invoke("zoom", { step });
}, true);
"#;

/// The file that holds the percentage.
pub struct Zoom(PathBuf);

impl Zoom {
    pub fn in_folder(data: &Path) -> Self {
        Self(data.join("zoom"))
    }
    /// What was chosen last; 100 when nothing was, or the file holds something else.
    fn percent(&self) -> u16 {
        let read = std::fs::read_to_string(&self.0).ok().and_then(|text| text.trim().parse().ok());
        read.filter(|percent| STEPS.contains(percent)).unwrap_or(100)
    }
    pub fn apply(&self, window: &WebviewWindow) {
        if let Err(problem) = window.set_zoom(f64::from(self.percent()) / 100.0) {
            tracing::warn!(%problem, "the zoom could not be set");
        }
    }
}

/// One step larger (1), smaller (-1), or back to normal (0).
#[tauri::command]
pub fn zoom(window: WebviewWindow, kept: State<'_, Zoom>, step: i8) {
    let percent = stepped(kept.percent(), step);
    if let Err(problem) = crate::kept::write(&kept.0, &percent.to_string()) {
        tracing::warn!(%problem, "the zoom could not be kept");
    }
    kept.apply(&window);
}

fn stepped(percent: u16, step: i8) -> u16 {
    match step {
        0 => 100,
        1.. => STEPS.into_iter().find(|s| *s > percent).unwrap_or(percent),
        _ => STEPS.into_iter().rev().find(|s| *s < percent).unwrap_or(percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b43_zoom_goes_in_steps_and_stops_at_the_ends() {
        assert_eq!([stepped(100, 1), stepped(100, -1), stepped(175, 0)], [110, 90, 100]);
        assert_eq!([stepped(300, 1), stepped(50, -1)], [300, 50]);
    }

    #[test]
    fn b43_what_is_no_step_counts_as_nothing_chosen() {
        let folder = std::env::temp_dir().join(format!("mework-zoom-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let zoom = Zoom::in_folder(&folder);
        let read = ["125", " 90\n", "0", "99999999", "-100", "1e3", ""].map(|text| {
            std::fs::write(&zoom.0, text).unwrap();
            zoom.percent()
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read, [125, 90, 100, 100, 100, 100, 100]);
        assert_eq!(zoom.percent(), 100, "without a file");
    }
}
