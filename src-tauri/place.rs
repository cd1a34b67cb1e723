//! Where the window stood when it was closed, held against the screens that are there now (B43). The window-state plugin
//! puts it back as soon as one corner of it is on a screen, and leaves it at that: a window whose title bar is on a screen
//! that is gone could not be moved by anybody.

use std::path::Path;

use serde_json::Value;
use tauri::{PhysicalPosition, PhysicalSize, WebviewWindow};

/// So much of the title bar, or of the page's top where there is none, must be in sight to take hold of it.
const HOLD_WIDTH: i64 = 120;
const HOLD_HEIGHT: i64 = 24;

/// In pixels of the screens. Wide numbers, because the file may hold any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Area {
    x: i64,
    y: i64,
    width: i64,
    height: i64,
}

impl Area {
    fn shared(self, other: Self) -> Self {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let right = (self.x + self.width).min(other.x + other.width);
        let bottom = (self.y + self.height).min(other.y + other.height);
        Self { x, y, width: (right - x).max(0), height: (bottom - y).max(0) }
    }
    fn size(self) -> i64 {
        self.width * self.height
    }
}

/// Read before the plugin writes the file again.
pub struct Kept(Option<Area>);

impl Kept {
    pub fn read(file: &Path, label: &str) -> Self {
        let read = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        Self(read.and_then(|all| area(&all[label])))
    }

    /// Puts the window on a screen if nobody could take hold of it where it was.
    pub fn correct(self, window: &WebviewWindow) -> tauri::Result<()> {
        let Some(kept) = self.0 else { return Ok(()) };
        let screens: Vec<Area> = window
            .available_monitors()?
            .iter()
            .map(|monitor| {
                let (at, size) = (monitor.work_area().position, monitor.work_area().size);
                Area { x: at.x.into(), y: at.y.into(), width: size.width.into(), height: size.height.into() }
            })
            .collect();
        if let Some(Area { x, y, width, height }) = in_sight(kept, &screens) {
            let small = |n: i64| i32::try_from(n).unwrap_or_default();
            window.set_size(PhysicalSize::new(small(width), small(height)))?;
            window.set_position(PhysicalPosition::new(small(x), small(y)))?;
        }
        Ok(())
    }
}

/// The place of a window that was neither maximized nor full screen: those fill whatever screen they are on.
fn area(kept: &Value) -> Option<Area> {
    let whole = |key: &str| kept[key].as_i64().filter(|n| i32::try_from(*n).is_ok());
    let filling = ["maximized", "fullscreen"].iter().any(|key| kept[key].as_bool() == Some(true));
    let area = Area { x: whole("x")?, y: whole("y")?, width: whole("width")?, height: whole("height")? };
    (!filling && area.width > 0 && area.height > 0).then_some(area)
}

/// Where the window must go instead; nothing where it can stay.
fn in_sight(window: Area, screens: &[Area]) -> Option<Area> {
    let top = Area { height: HOLD_HEIGHT, ..window };
    let held = |screen: &Area| {
        let seen = top.shared(*screen);
        seen.width >= HOLD_WIDTH.min(window.width) && seen.height == HOLD_HEIGHT
    };
    let screen = screens.iter().max_by_key(|screen| window.shared(**screen).size())?;
    let fits = window.width <= screen.width && window.height <= screen.height;
    if fits && screens.iter().any(held) {
        return None;
    }
    let (width, height) = (window.width.min(screen.width), window.height.min(screen.height));
    let within = |at: i64, room: i64, start: i64| at.clamp(start, start + room);
    Some(Area {
        x: within(window.x, screen.width - width, screen.x),
        y: within(window.y, screen.height - height, screen.y),
        width,
        height,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Area = Area { x: 0, y: 0, width: 1920, height: 1080 };
    const RIGHT: Area = Area { x: 1920, y: 0, width: 1280, height: 1024 };

    fn at(x: i64, y: i64) -> Area {
        Area { x, y, width: 1180, height: 780 }
    }

    #[test]
    fn b43_a_window_that_can_be_taken_hold_of_stays() {
        for place in [at(0, 0), at(100, 50), at(-1000, 10), at(1790, 1040), at(2000, 100), at(1900, 0)] {
            assert_eq!(in_sight(place, &[SCREEN, RIGHT]), None, "{place:?}");
        }
        assert_eq!(in_sight(at(0, 0), &[]), None, "no screen is known");
    }

    #[test]
    fn b43_one_that_cannot_is_put_on_the_screen_it_is_nearest_to() {
        let moved = |place: Area| in_sight(place, &[SCREEN]).unwrap();
        // Its screen is gone, its top is above, beside or below all screens.
        assert_eq!(moved(at(2500, 100)), at(740, 100));
        assert_eq!(moved(at(300, -700)), at(300, 0));
        assert_eq!(moved(at(-1170, 100)), at(0, 100));
        assert_eq!(moved(at(1900, 1070)), at(740, 300));
        assert_eq!(moved(at(i32::MAX.into(), i32::MIN.into())), at(740, 0));
        // It was larger than what is left.
        let large = Area { x: 0, y: 0, width: 3840, height: 2160 };
        assert_eq!(in_sight(large, &[SCREEN]), Some(SCREEN));
        assert_eq!(in_sight(at(3100, 990), &[SCREEN, RIGHT]), Some(Area { x: 2020, y: 244, ..at(0, 0) }));
    }

    #[test]
    fn b43_what_the_file_holds_is_taken_for_a_place_only_if_it_is_one() {
        let kept = serde_json::json!({ "x": -3, "y": 4, "width": 900, "height": 600, "maximized": false, "fullscreen": false });
        assert_eq!(area(&kept), Some(Area { x: -3, y: 4, width: 900, height: 600 }));
        for (key, odd) in [("x", serde_json::json!(1e300)), ("y", "4".into()), ("width", 0.into()), ("maximized", true.into())] {
            let mut kept = kept.clone();
            kept[key] = odd;
            assert_eq!(area(&kept), None, "{key}");
        }
        assert_eq!(area(&Value::Null), None);
    }
}
