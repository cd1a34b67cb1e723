//! What a start really uses.

/// The variables that point a launcher at a package registry (B10); none when the command is no such launcher.
pub fn registry_variables(command: &str) -> &'static [&'static str] {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_ascii_lowercase();
    let name = [".exe", ".cmd", ".bat"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    match name {
        "npx" | "npm" | "bun" | "bunx" | "pnpm" | "yarn" => &["npm_config_registry"],
        "uv" | "uvx" | "pip" | "pipx" | "python" | "python3" => &["UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"],
        _ => &[],
    }
}
