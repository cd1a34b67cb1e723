//! Why the system refused to run a program, in words a person can act on.

use std::io;
#[cfg(unix)]
use std::io::Read;
#[cfg(unix)]
use std::path::Path;

use super::Spec;
use crate::machine::resolve::interpreter_problem;

/// Whole sentences, or `None` when the system's own words say all there is.
pub(super) fn hint(spec: &Spec, error: &io::Error) -> Option<String> {
    #[cfg(unix)]
    let program = spec.program.display();
    #[cfg(unix)]
    match error.raw_os_error()? {
        libc::ENOEXEC => return not_executable_format(&spec.program),
        libc::ENOENT if spec.program.exists() => {
            return interpreter_problem(&spec.program, &spec.env).or_else(|| {
                Some(format!(
                    "{program} exists, but the loader it was built for does not: it is meant for another kind of system \
                     (musl instead of glibc, or another distribution). Install it for this system."
                ))
            });
        }
        libc::EACCES => return Some(access(&spec.program)),
        libc::E2BIG => {
            return Some("Its arguments and environment variables together are larger than the system allows.".into());
        }
        libc::ETXTBSY => return Some(format!("{program} is being written at this moment. Try again.")),
        _ => {}
    }
    if error.kind() == io::ErrorKind::NotFound {
        return interpreter_problem(&spec.program, &spec.env);
    }
    None
}

#[cfg(unix)]
fn not_executable_format(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    std::fs::File::open(program).ok()?.take(64).read_to_end(&mut start).ok()?;
    let program = program.display();
    Some(match start.as_slice() {
        [] => format!("{program} is empty."),
        [0x7f, b'E', b'L', b'F', ..] => {
            format!("{program} was built for another kind of processor. Install it for this one.")
        }
        [b'M', b'Z', ..] => format!("{program} is a Windows program."),
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => {
            format!("{program} was built for macOS, or for another kind of processor.")
        }
        text if !text.contains(&0) => format!(
            "{program} looks like a script, but its first line does not say with `#!` which program runs it. Add such a \
             line, or name that program as the command and the script as its first argument."
        ),
        _ => format!("{program} is not a program this system can run."),
    })
}

#[cfg(unix)]
fn access(program: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let shown = program.display();
    match std::fs::metadata(program) {
        Err(_) => format!("A folder above {shown} may not be entered by you."),
        Ok(meta) if !meta.is_file() => format!("{shown} is not a file."),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
            format!("{shown} is not marked as executable. `chmod +x {shown}` changes that.")
        }
        Ok(_) if on_noexec(program) => {
            format!("{shown} lies on a file system that is mounted so that nothing on it may be executed (noexec).")
        }
        Ok(_) => format!("{shown}, or the interpreter its first line names, may not be executed by you."),
    }
}

#[cfg(unix)]
fn on_noexec(program: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(program.as_os_str().as_bytes()) else { return false };
    let mut about = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // Linux' ST_NOEXEC; other systems do not tell in this way.
    const NOEXEC: libc::c_ulong = 8;
    cfg!(target_os = "linux")
        && unsafe { libc::statvfs(path.as_ptr(), about.as_mut_ptr()) == 0 && about.assume_init().f_flag & NOEXEC != 0 }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn asked(content: &[u8], mode: u32, errno: i32) -> Option<String> {
        let d = tempfile::tempdir().unwrap();
        let program = d.path().join("srv");
        fs::write(&program, content).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let spec = Spec { program, args: vec![], cwd: "/".into(), env: [("PATH", "/none")].into_iter().collect() };
        let hint = hint(&spec, &io::Error::from_raw_os_error(errno))?;
        Some(hint.replace(&d.path().display().to_string(), ""))
    }

    #[test]
    fn says_what_kind_of_file_it_is() {
        let format = |content: &[u8]| asked(content, 0o755, libc::ENOEXEC).unwrap();
        assert_eq!(
            format(b"echo hello\n"),
            "/srv looks like a script, but its first line does not say with `#!` which program runs it. Add such a line, \
             or name that program as the command and the script as its first argument."
        );
        assert_eq!(format(b""), "/srv is empty.");
        assert_eq!(format(b"\x7fELF\x02"), "/srv was built for another kind of processor. Install it for this one.");
        assert_eq!(format(b"MZ\x90"), "/srv is a Windows program.");
        assert_eq!(format(b"\x01\x00\x02"), "/srv is not a program this system can run.");
    }

    #[test]
    fn says_what_is_missing_or_forbidden() {
        assert_eq!(
            asked(b"#!/opt/none/python\n", 0o755, libc::ENOENT).unwrap(),
            "/srv is a script for /opt/none/python, which does not exist on this machine. Install it, or name the right \
             interpreter in the script's first line."
        );
        assert!(asked(b"\x7fELF", 0o755, libc::ENOENT).unwrap().contains("the loader it was built for does not"));
        assert_eq!(asked(b"x", 0o644, libc::EACCES).unwrap(), "/srv is not marked as executable. `chmod +x /srv` changes that.");
        assert_eq!(asked(b"x", 0o755, libc::EIO), None);
    }
}
