//! Which file a command means (B12, row 13), and what a script's first line needs that is not there.
//!
//! Not the `which` crate: it expands `~` in PATH, takes relative PATH entries as given, reads PATHEXT from this process,
//! and cannot tell a file that may not be executed from one that is missing.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::process::{Found, Program, ResolveError};

/// Whose rules: a parameter so that Windows' are tested everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    Unix,
    Windows,
}

const RULES: Rules = if cfg!(windows) { Rules::Windows } else { Rules::Unix };

/// What Windows may run directly; whatever else PATHEXT lists (`.JS`, `.VBS` …) would start a program nobody named.
const WINDOWS_EXTENSIONS: [&str; 4] = ["COM", "EXE", "BAT", "CMD"];

pub(super) fn resolve(command: &str, cwd: &Path, env: &Environment) -> Result<Program, ResolveError> {
    resolve_by(RULES, command, cwd, &path_folders(env))
}

/// The absolute folders of a PATH, in order. Empty and relative entries would mean the current folder, where a
/// repository could have put anything (row 13).
pub fn path_folders(env: &Environment) -> Vec<PathBuf> {
    env.get("PATH").map(|path| std::env::split_paths(path).filter(|f| f.is_absolute()).collect()).unwrap_or_default()
}

fn resolve_by(rules: Rules, command: &str, cwd: &Path, folders: &[PathBuf]) -> Result<Program, ResolveError> {
    let as_path = match rules {
        Rules::Unix => command.contains('/'),
        // `C:npx` means "in the current folder of drive C", which is never what an entry says.
        Rules::Windows => command.contains(['/', '\\', ':']),
    };
    if as_path {
        // Links stay as they are: what a Python environment or busybox does depends on the name it is started by.
        let path: PathBuf = cwd.join(command).components().collect();
        let found = candidates(rules, path.as_os_str()).into_iter().map(PathBuf::from).find(|p| p.exists());
        return match found {
            Some(path) if executable(rules, &path) => Ok(Program { path, found: Found::AsPath }),
            Some(path) => Err(ResolveError::NotExecutable { path }),
            None => Err(ResolveError::NoSuchFile { path }),
        };
    }
    let mut refused = None;
    if !matches!(command, "" | "." | "..") {
        for folder in folders {
            for name in candidates(rules, OsStr::new(command)) {
                let path = folder.join(name);
                if executable(rules, &path) {
                    return Ok(Program { path, found: Found::OnPath(folder.clone()) });
                }
                // As every shell: a folder of that name is passed over, a file that may not run is remembered.
                if refused.is_none() && path.is_file() {
                    refused = Some(path);
                }
            }
        }
    }
    Err(match refused {
        Some(path) => ResolveError::NotExecutable { path },
        None => ResolveError::NotOnPath { command: command.into(), path: folders.to_vec() },
    })
}

/// The names a file may have that is meant by `name`, in the order they are tried.
fn candidates(rules: Rules, name: &OsStr) -> Vec<OsString> {
    match rules {
        Rules::Unix => vec![name.to_os_string()],
        Rules::Windows => {
            let extension = Path::new(name).extension();
            if extension.is_some_and(|e| WINDOWS_EXTENSIONS.iter().any(|w| e.eq_ignore_ascii_case(w))) {
                return vec![name.to_os_string()];
            }
            WINDOWS_EXTENSIONS
                .iter()
                .map(|e| {
                    let mut name = name.to_os_string();
                    name.push(".");
                    name.push(e);
                    name
                })
                .collect()
        }
    }
}

fn executable(rules: Rules, path: &Path) -> bool {
    path.is_file()
        && match rules {
            Rules::Windows => true,
            Rules::Unix => may_execute(path),
        }
}

#[cfg(unix)]
fn may_execute(path: &Path) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

#[cfg(not(unix))]
fn may_execute(_path: &Path) -> bool {
    true
}

/// As much of a script as the kernel itself looks at for its `#!` line.
const FIRST_LINE_BYTES: u64 = 256;

/// What is missing for the script `program` to run, when its `#!` line names something that is not there: the
/// interpreter itself, or what `/usr/bin/env` would look for on the PATH of `env`. (`env` starts fine and then exits
/// with 127, so a failed start alone does not tell.) Whole sentences; `None` when nothing is known to be wrong.
pub fn interpreter_problem(program: &Path, env: &Environment) -> Option<String> {
    if RULES == Rules::Windows {
        return None;
    }
    let mut start = Vec::new();
    // Opening a FIFO would wait for a writer.
    std::fs::metadata(program).ok().filter(|m| m.is_file())?;
    std::fs::File::open(program).ok()?.take(FIRST_LINE_BYTES).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?;
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    let (line, windows_line_end) = match line.strip_suffix(b"\r") {
        Some(line) => (line, true),
        None => (line, false),
    };
    let line = String::from_utf8_lossy(line);
    let program = program.display();
    if windows_line_end {
        return Some(format!(
            "The first line of {program} ends as Windows ends lines, so its interpreter is looked for under a name that \
             does not exist. Save the file with Unix line ends."
        ));
    }
    let mut words = line.split_ascii_whitespace();
    let interpreter = words.next()?;
    let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    if !Path::new(interpreter).exists() {
        return Some(format!(
            "{program} is a script for {interpreter}, which does not exist on this machine. Install it, or name the \
             right interpreter in the script's first line."
        ));
    }
    if !is_env {
        return None;
    }
    let mut wanted = None;
    let mut skip = false;
    for word in words {
        if std::mem::take(&mut skip) || word.contains('=') {
            continue;
        }
        match word {
            "-u" | "--unset" | "-C" | "--chdir" => skip = true,
            _ if word.starts_with("-S") && word.len() > 2 => {
                wanted = Some(&word[2..]);
                break;
            }
            _ if word.starts_with('-') => {}
            _ => {
                wanted = Some(word);
                break;
            }
        }
    }
    let wanted = wanted?;
    match resolve_by(RULES, wanted, Path::new("/"), &path_folders(env)) {
        Ok(_) => None,
        Err(ResolveError::NotOnPath { path, .. }) => Some(format!(
            "{program} is a script for `{wanted}`, and `{wanted}` is not on the PATH this server gets ({}). Install it, \
             or set PATH in the entry's env so that it includes the folder `{wanted}` is in.",
            listed(&path)
        )),
        Err(ResolveError::NoSuchFile { path }) => {
            Some(format!("{program} is a script for {}, which does not exist on this machine.", path.display()))
        }
        Err(ResolveError::NotExecutable { path }) => {
            Some(format!("{program} is a script for {}, which may not be executed.", path.display()))
        }
    }
}

fn listed(folders: &[PathBuf]) -> String {
    if folders.is_empty() {
        return "it is empty".into();
    }
    folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn file(path: &Path, mode: u32) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_path_buf()
    }
    fn env(path: &str) -> Environment {
        [("PATH", path)].into_iter().collect()
    }
    fn found(r: Result<Program, ResolveError>) -> PathBuf {
        r.unwrap().path
    }

    #[test]
    fn a_bare_command_comes_from_absolute_folders_of_the_path_only_b12_row_13() {
        let d = tempfile::tempdir().unwrap();
        let (ws, bin, bin2) = (d.path().join("ws"), d.path().join("bin"), d.path().join("bin2"));
        file(&ws.join("npx"), 0o755);
        file(&ws.join("bin/npx"), 0o755);
        fs::create_dir(&bin).unwrap();
        let path = format!(":.:bin:./bin:{}:{}:", bin.display(), bin2.display());
        let missing = resolve("npx", &ws, &env(&path)).unwrap_err();
        assert!(
            matches!(&missing, ResolveError::NotOnPath { command, path } if command == "npx" && *path == [bin, bin2.clone()])
        );
        let real = file(&bin2.join("npx"), 0o755);
        assert_eq!(resolve("npx", &ws, &env(&path)).unwrap(), Program { path: real, found: Found::OnPath(bin2) });
        let none = resolve("npx", &ws, &Environment::default()).unwrap_err();
        assert!(matches!(none, ResolveError::NotOnPath { path, .. } if path.is_empty()));
    }

    #[test]
    fn a_file_that_may_not_run_is_passed_over_but_named_b12() {
        let d = tempfile::tempdir().unwrap();
        let (a, b) = (d.path().join("a"), d.path().join("b"));
        let dull = file(&a.join("tool"), 0o644);
        fs::create_dir_all(b.join("tool")).unwrap();
        let path = format!("{}:{}", b.display(), a.display());
        let r = resolve("tool", d.path(), &env(&path)).unwrap_err();
        assert!(matches!(&r, ResolveError::NotExecutable { path } if *path == dull), "{r:?}");
        let c = file(&d.path().join("c/tool"), 0o755);
        assert_eq!(found(resolve("tool", d.path(), &env(&format!("{path}:{}", d.path().join("c").display())))), c);
    }

    #[test]
    fn a_command_with_a_separator_resolves_against_the_folder_b12() {
        let d = tempfile::tempdir().unwrap();
        let tool = file(&d.path().join("x/tool"), 0o755);
        let dull = file(&d.path().join("x/dull"), 0o644);
        for command in ["./x/tool", "x/tool", "x//tool", tool.to_str().unwrap()] {
            let r = resolve(command, d.path(), &Environment::default()).unwrap();
            assert_eq!(r, Program { path: tool.clone(), found: Found::AsPath }, "{command}");
        }
        let r = resolve("x/none", d.path(), &env("/usr/bin")).unwrap_err();
        assert!(matches!(&r, ResolveError::NoSuchFile { path } if *path == d.path().join("x/none")), "{r:?}");
        let r = resolve("x/dull", d.path(), &Environment::default()).unwrap_err();
        assert!(matches!(&r, ResolveError::NotExecutable { path } if *path == dull), "{r:?}");
        let r = resolve("./x", d.path(), &Environment::default()).unwrap_err();
        assert!(matches!(&r, ResolveError::NotExecutable { .. }), "{r:?}");
        // A link keeps its own name: a Python environment works only so.
        symlink("/bin/sh", d.path().join("x/python")).unwrap();
        assert_eq!(found(resolve("x/python", d.path(), &Environment::default())), d.path().join("x/python"));
    }

    #[test]
    fn a_whole_command_line_in_one_string_is_not_found() {
        let r = resolve("npx -y pkg", Path::new("/"), &env("/usr/bin")).unwrap_err();
        assert_eq!(r.to_string(), "`npx -y pkg` was not found");
        for odd in ["", ".", ".."] {
            let r = resolve(odd, Path::new("/"), &env("/usr/bin")).unwrap_err();
            assert!(matches!(r, ResolveError::NotOnPath { .. }), "{odd}: {r:?}");
        }
    }

    #[test]
    fn windows_runs_four_kinds_of_file_and_never_the_current_folder_b12_row_12() {
        let d = tempfile::tempdir().unwrap();
        let (ws, bin) = (d.path().join("ws"), d.path().join("bin"));
        file(&ws.join("npx.CMD"), 0o644);
        for name in ["npx", "npx.JS", "npx.PS1", "npx.CMD", "node.EXE", "node.CMD", "x.js.BAT", "x.js", "exact.cmd"] {
            file(&bin.join(name), 0o644);
        }
        let run = |command: &str| resolve_by(Rules::Windows, command, &ws, std::slice::from_ref(&bin));
        assert_eq!(found(run("npx")), bin.join("npx.CMD"));
        assert_eq!(found(run("node")), bin.join("node.EXE"));
        assert_eq!(found(run("node.CMD")), bin.join("node.CMD"));
        assert_eq!(found(run("exact.cmd")), bin.join("exact.cmd"));
        assert_eq!(found(run("x.js")), bin.join("x.js.BAT"));
        assert!(matches!(run("npx.PS1"), Err(ResolveError::NotOnPath { .. })));
        assert!(matches!(run("C:npx"), Err(ResolveError::NoSuchFile { .. })));
        assert_eq!(found(run("./npx")), ws.join("npx.CMD"));
    }

    #[test]
    fn names_the_interpreter_that_is_missing() {
        let d = tempfile::tempdir().unwrap();
        let script = file(&d.path().join("server"), 0o755);
        let bin = d.path().join("bin");
        let problem = |first: &str| {
            fs::write(&script, format!("{first}\nrest")).unwrap();
            interpreter_problem(&script, &env(bin.to_str().unwrap()))
        };
        let shown = script.display();
        assert_eq!(
            problem("#!/usr/bin/env node").unwrap(),
            format!(
                "{shown} is a script for `node`, and `node` is not on the PATH this server gets ({}). Install it, or set \
                 PATH in the entry's env so that it includes the folder `node` is in.",
                bin.display()
            )
        );
        for line in ["#! /usr/bin/env -S node --x", "#!/usr/bin/env -Snode", "#!/usr/bin/env -u X A=b node"] {
            assert!(problem(line).unwrap().contains("script for `node`"), "{line}");
        }
        file(&bin.join("node"), 0o755);
        assert_eq!(problem("#!/usr/bin/env node"), None);
        assert_eq!(problem("#!/bin/sh"), None);
        assert_eq!(problem("no script"), None);
        assert_eq!(problem("#!"), None);
        assert_eq!(
            problem("#!/opt/none/python3 -u").unwrap(),
            format!(
                "{shown} is a script for /opt/none/python3, which does not exist on this machine. Install it, or name \
                 the right interpreter in the script's first line."
            )
        );
        assert!(problem("#!/bin/sh\r").unwrap().contains("Save the file with Unix line ends."));
        assert_eq!(interpreter_problem(&d.path().join("absent"), &Environment::default()), None);
    }
}
