//! What the folder button shows of a level (B19).

use std::path::PathBuf;

use super::Level;
use super::list::{self, Found};
use crate::machine::{FileRead, WriteError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The level's file, to be revealed in its folder.
    File(PathBuf),
    /// The folder its file would stand in.
    Folder(PathBuf),
}

impl Shown {
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::File(path) | Self::Folder(path) => path,
        }
    }
}

/// The level's file when one stands there, whatever it holds; else its `.mework` folder, which is made when it is
/// missing, never through a link that leads out of the workspace.
pub async fn folder(level: &Level) -> Result<Shown, WriteError> {
    let Found { file, read } = list::read(level).await;
    if read != FileRead::Absent {
        return Ok(Shown::File(file));
    }
    level.machine.make_folders(&file, level.within()).await?;
    Ok(Shown::Folder(file.parent().map_or(file.clone(), PathBuf::from)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Scope;
    use crate::machine::{Machine, Surroundings};

    #[tokio::test]
    async fn b19_the_file_or_a_folder_made_for_it() {
        let home = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            home: home.path().into(),
            data: home.path().join("data"),
            environment: Default::default(),
            supervisor: vec![],
        };
        let machine = Machine::local(surroundings);
        let global = Level { machine: machine.clone(), scope: Scope::Global };
        let made = home.path().join(".mework");
        assert_eq!(folder(&global).await.unwrap(), Shown::Folder(made.clone()));
        assert_eq!(folder(&global).await.unwrap(), Shown::Folder(made.clone()));
        assert!(made.is_dir() && !global.new_file().exists());
        fs::write(global.new_file(), "{ broken").unwrap();
        assert_eq!(folder(&global).await.unwrap(), Shown::File(global.new_file()));

        // Row 27: nothing is made where a workspace's link leads.
        #[cfg(unix)]
        {
            let workspace = home.path().join("w");
            let outside = home.path().join("outside");
            fs::create_dir(&workspace).unwrap();
            std::os::unix::fs::symlink(&outside, workspace.join(".mework")).unwrap();
            let level = Level { machine, scope: Scope::Workspace(workspace) };
            let refused = folder(&level).await;
            assert!(!matches!(refused, Ok(Shown::Folder(_))), "{refused:?}");
            assert!(!outside.exists());
            fs::create_dir(&outside).unwrap();
            let refused = folder(&level).await;
            assert!(!matches!(refused, Ok(Shown::Folder(_))), "{refused:?}");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        }
    }
}
