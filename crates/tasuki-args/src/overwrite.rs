//! Whether a command may write over files that are there.

use clap::Args;
use std::path::{Path, PathBuf};
use tasuki_process::quote;
use tasuki_terminal::Failure;

/// Whether files that are there are written over.
#[derive(Debug, Args)]
pub struct Overwrite {
    /// Write over files that are there
    #[arg(long)]
    pub force: bool,
}

impl Overwrite {
    /// Refuses to go on if one of these files is there and may not be written over. Commands ask before they
    /// begin, so that a long computation is not in vain. Devices and pipes, as /dev/stdout, may always be
    /// written to.
    pub fn check<'a>(&self, files: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
        let is_bad = |file: &&Path| *file == Path::new("-") || (!self.force && file.is_file());
        match files.into_iter().find(is_bad) {
            None => Ok(()),
            Some(file) if file == Path::new("-") => {
                Err(Failure::usage("- names no file to write; standard output is /dev/stdout"))
            }
            Some(file) => {
                let message = format!("{} is there already; --force writes over it", file.display());
                Err(Failure::new(message))
            }
        }
    }

    /// Like [`Self::check`], for one file whose folder must be there, which is said now and not at the end.
    pub fn check_file(&self, file: Option<&Path>) -> Result<(), Failure> {
        self.check(file)?;
        let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        match folder.filter(|folder| !folder.is_dir()) {
            None => Ok(()),
            Some(folder) => Err(Failure::new(format!(
                "{}: there is no folder {}: mkdir -p {}",
                file.unwrap_or(folder).display(),
                folder.display(),
                quote(folder.as_os_str())
            ))),
        }
    }

    /// Like [`Self::check`], for files of these names in a folder, which need not be there.
    pub fn check_in(
        &self,
        folder: &Path,
        names: impl IntoIterator<Item = impl AsRef<Path>>,
    ) -> Result<(), Failure> {
        let files: Vec<_> = names.into_iter().map(|name| folder.join(name)).collect();
        self.check(files.iter().map(PathBuf::as_path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_with_force_is_a_file_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        std::fs::write(&old, "precious").unwrap();
        let careful = Overwrite { force: false };
        let refused = careful.check([new.as_path(), &old]).unwrap_err();
        assert!(refused.message.contains("old is there already; --force"), "{}", refused.message);
        assert!(careful.check([new.as_path(), Path::new("/dev/null")]).is_ok());
        assert!(careful.check_file(Some(Path::new("-"))).unwrap_err().message.contains("/dev/stdout"));
        let refused = careful.check_in(folder.path(), ["new", "old"]).unwrap_err();
        assert!(refused.message.contains("old is there already; --force"), "{}", refused.message);
        assert!(careful.check_in(&folder.path().join("absent"), ["old"]).is_ok());
        for good in [Some(new.as_path()), Some(Path::new("new")), Some(Path::new("/dev/null")), None] {
            assert!(careful.check_file(good).is_ok(), "{good:?}");
        }
        assert!(careful.check_file(Some(&old)).unwrap_err().message.contains("--force"));
        let refused = careful.check_file(Some(&folder.path().join("absent/new"))).unwrap_err();
        assert!(refused.message.contains("absent: mkdir -p "), "{}", refused.message);
        assert!(Overwrite { force: true }.check([old.as_path()]).is_ok());
    }
}
