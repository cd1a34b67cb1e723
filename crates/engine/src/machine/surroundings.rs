//! What the programs hand to the engine of the real world: the home folder, the data folder, the environment, and
//! how to start the process supervisor. Only programs call this; the engine and its tests make their own
//! [`Surroundings`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Surroundings;
use super::environment::Environment;
use super::process::SUPERVISE_FLAG;

#[derive(Debug, thiserror::Error)]
pub enum SurroundingsError {
    #[error("MEWORK_HOME is set to {0:?}, which is not an absolute path. Set it to one, or unset it.")]
    HomeNotAbsolute(PathBuf),
    #[error("The home folder is not known: neither HOME nor the user database names one. Set HOME.")]
    NoHome,
    #[error("This program cannot find its own file: {0}.")]
    NoProgram(std::io::Error),
}

impl Surroundings {
    /// Those of this process. `environment` is usually [`Environment::of_process`], or what the login shell exports (B47).
    pub fn of_process(environment: Environment) -> Result<Self, SurroundingsError> {
        let own = Environment::of_process();
        let (home, data) = folders(&own, std::env::home_dir())?;
        Ok(Self { home, data, environment, supervisor: supervisor()? })
    }

    /// Servers are supervised by this program instead of by the one that runs, where there is a supervisor and such a
    /// file: the command line's program, for a program with a window. Supervisors of its own would need
    /// the window's libraries loaded once more (measured: 48 MB and a third of a second, against 2 MB and 8 ms).
    #[cfg(target_os = "linux")]
    pub fn supervised_by(mut self, program: Option<&Path>) -> Self {
        if let Some(program) = program.and_then(held) {
            self.supervisor[0] = program;
        }
        self
    }
    #[cfg(not(target_os = "linux"))]
    pub fn supervised_by(self, _program: Option<&Path>) -> Self {
        self
    }

    /// The same for a program with a window: started from a desktop, it has the environment the person's login shell
    /// exports (B47). Blocks for as long as the shell's start-up files take, at most
    /// [`crate::limits::LOGIN_SHELL_TIMEOUT`]. With it a sentence to show when the shell could not be asked.
    pub fn of_desktop() -> Result<(Self, Option<String>), SurroundingsError> {
        #[cfg(unix)]
        if super::login::started_from_desktop() {
            let own = Environment::of_process();
            // The real home folder: the shell's files are no files of ours, so `MEWORK_HOME` does not move them.
            let home = std::env::home_dir().filter(|h| h.is_dir()).unwrap_or_else(|| PathBuf::from("/"));
            let captured = super::login::environment(&own, &home, crate::limits::LOGIN_SHELL_TIMEOUT);
            return Ok((Self::of_process(captured.environment)?, captured.notice));
        }
        Ok((Self::of_process(Environment::of_process())?, None))
    }
}

/// The home folder and the data folder (B46). `MEWORK_HOME` stands in for the home folder and everything the product
/// keeps below it, so that a test or a second setup shares nothing with the real one.
fn folders(own: &Environment, home: Option<PathBuf>) -> Result<(PathBuf, PathBuf), SurroundingsError> {
    let absolute = |name: &str| own.get(name).map(PathBuf::from).filter(|p| p.is_absolute());
    if let Some(chosen) = own.get("MEWORK_HOME").filter(|v| !v.is_empty()) {
        let chosen = PathBuf::from(chosen);
        if !chosen.is_absolute() {
            return Err(SurroundingsError::HomeNotAbsolute(chosen));
        }
        let data = below(&chosen);
        return Ok((chosen, data));
    }
    let home = home.filter(|h| h.is_absolute()).ok_or(SurroundingsError::NoHome)?;
    let data = if cfg!(windows) {
        absolute("LOCALAPPDATA").map(|d| d.join("Mework"))
    } else if cfg!(target_os = "macos") {
        None
    } else {
        // The XDG base directory specification: a relative value counts as unset.
        absolute("XDG_DATA_HOME").map(|d| d.join("mework"))
    };
    let data = data.unwrap_or_else(|| below(&home));
    Ok((home, data))
}

fn below(home: &Path) -> PathBuf {
    if cfg!(windows) {
        home.join("AppData").join("Local").join("Mework")
    } else if cfg!(target_os = "macos") {
        home.join("Library").join("Application Support").join("Mework")
    } else {
        home.join(".local").join("share").join("mework")
    }
}

/// This program again. On Linux through `/proc`, which still names the right file after an update replaced it.
fn supervisor() -> Result<Vec<OsString>, SurroundingsError> {
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().map_err(SurroundingsError::NoProgram)?
    };
    Ok(vec![program.into_os_string(), SUPERVISE_FLAG.into()])
}

/// The file as it stands now, whatever an update puts in its place; it stays open for as long as this process lives.
/// `None`: it cannot be opened.
#[cfg(target_os = "linux")]
fn held(program: &Path) -> Option<OsString> {
    use std::os::fd::IntoRawFd;
    let file = std::fs::File::open(program).ok()?;
    // Closed by itself in every program that is started through it.
    Some(format!("/proc/self/fd/{}", file.into_raw_fd()).into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn of(own: &[(&str, &str)], home: Option<&str>) -> Result<(String, String), String> {
        folders(&own.iter().copied().collect(), home.map(PathBuf::from))
            .map(|(h, d)| (h.display().to_string(), d.display().to_string()))
            .map_err(|e| e.to_string())
    }
    fn found(home: &str, data: &str) -> Result<(String, String), String> {
        Ok((home.into(), data.into()))
    }

    #[test]
    fn b46_data_lives_in_the_platforms_data_folder() {
        assert_eq!(of(&[], Some("/home/a")), found("/home/a", "/home/a/.local/share/mework"));
        assert_eq!(of(&[("XDG_DATA_HOME", "/data")], Some("/home/a")), found("/home/a", "/data/mework"));
        assert_eq!(of(&[("XDG_DATA_HOME", "data")], Some("/home/a")), found("/home/a", "/home/a/.local/share/mework"));
    }

    #[test]
    fn mework_home_stands_in_for_the_home_and_all_that_lies_below() {
        let own = [("MEWORK_HOME", "/tmp/h"), ("XDG_DATA_HOME", "/data")];
        assert_eq!(of(&own, Some("/home/a")), found("/tmp/h", "/tmp/h/.local/share/mework"));
        assert_eq!(of(&[("MEWORK_HOME", "")], Some("/home/a")), found("/home/a", "/home/a/.local/share/mework"));
        assert_eq!(
            of(&[("MEWORK_HOME", "h")], Some("/home/a")),
            Err("MEWORK_HOME is set to \"h\", which is not an absolute path. Set it to one, or unset it.".into())
        );
    }

    #[test]
    fn without_a_home_it_says_so() {
        assert_eq!(of(&[], None), Err(SurroundingsError::NoHome.to_string()));
        assert_eq!(of(&[], Some("relative")), Err(SurroundingsError::NoHome.to_string()));
    }

    /// The one that was there at the start goes on being used; where there is none, this program itself is.
    #[test]
    fn servers_may_be_supervised_by_another_program() {
        let own = vec![OsString::from("/proc/self/exe"), SUPERVISE_FLAG.into()];
        let surroundings =
            || Surroundings { home: "/".into(), data: "/".into(), environment: Environment::default(), supervisor: own.clone() };
        assert_eq!(surroundings().supervised_by(None).supervisor, own);
        assert_eq!(surroundings().supervised_by(Some(Path::new("/no/such/program"))).supervisor, own);

        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("mework");
        std::fs::copy("/bin/echo", &program).unwrap();
        let chosen = surroundings().supervised_by(Some(&program)).supervisor;
        std::fs::remove_file(&program).unwrap();
        std::fs::write(&program, "an update").unwrap();
        #[expect(clippy::disallowed_methods, reason = "what the door does with it")]
        let said = std::process::Command::new(&chosen[0]).args(&chosen[1..]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{SUPERVISE_FLAG}\n"));
    }
}
