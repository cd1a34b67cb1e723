//! Checks the window's configuration and capabilities at build time.

use tauri_build::{AppManifest, Attributes};

fn main() {
    let attributes = Attributes::new()
        // Without the patterns Tauri looks beside Cargo.toml and finds nothing, in silence.
        .capabilities_path_pattern("./src-tauri/capabilities/**/*.json")
        .app_manifest(AppManifest::new().permissions_path_pattern("./src-tauri/permissions/**/*.toml"));
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo::error={error:#}");
    }
    for path in ["src-tauri/capabilities", "src-tauri/permissions", "ui/dist"] {
        // A path that does not exist would make every build start anew.
        if std::path::Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
