//! Programs that are built from sources in this crate when they are first needed.

use std::{
    io,
    path::{Path, PathBuf},
};

/// A file that could not be written or moved, or a folder that could not be made.
pub(crate) struct FileError {
    pub path: PathBuf,
    pub source: io::Error,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError { path, source }
}

/// A program, and what it is built from.
pub(crate) struct Recipe<'a> {
    /// Names and texts of the source files; a name may contain one folder.
    pub sources: &'a [(&'a str, &'a str)],
    /// Everything else that the program depends on: flags, the processor.
    pub circumstances: &'a str,
    /// Name of the file that `make` leaves in the folder.
    pub product: &'a str,
}

impl Recipe<'_> {
    /// Builds `target` by `make`, which is given a folder with the sources, unless `target` has been built
    /// from the same sources by the same compiler. Two builds at once into the same file do not disturb each
    /// other.
    pub fn build<E: From<FileError>>(
        &self,
        compiler: &Path,
        target: &Path,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let stamp = self.stamp(compiler);
        let stamp_file = PathBuf::from(format!("{}.built", target.display()));
        if target.is_file() && std::fs::read_to_string(&stamp_file).is_ok_and(|built| built == stamp) {
            return Ok(());
        }
        let folder = self.unpack(target.parent().unwrap_or(Path::new(".")))?;
        make(folder.path())?;
        // The program is renamed into its place, because a file of a running program must not be written.
        std::fs::rename(folder.path().join(self.product), target).map_err(at(target))?;
        std::fs::write(&stamp_file, stamp).map_err(at(&stamp_file))?;
        Ok(())
    }

    fn unpack(&self, parent: &Path) -> Result<tempfile::TempDir, FileError> {
        std::fs::create_dir_all(parent).map_err(at(parent))?;
        let folder = tempfile::Builder::new().prefix(".build-").tempdir_in(parent).map_err(at(parent))?;
        for (name, text) in self.sources {
            let path = folder.path().join(name);
            let inside = path.parent().unwrap_or(folder.path());
            std::fs::create_dir_all(inside).map_err(at(inside))?;
            std::fs::write(&path, text).map_err(at(&path))?;
        }
        Ok(folder)
    }

    /// A text that changes whenever the program would: compiler (path, size, time), circumstances, sources.
    fn stamp(&self, compiler: &Path) -> String {
        let facts = std::fs::metadata(compiler).ok();
        let facts = facts.map(|facts| (facts.len(), facts.modified().ok()));
        let mut text = format!("{} {facts:?} {}\n", compiler.display(), self.circumstances);
        for (name, source) in self.sources {
            text += &format!("{name}\n{source}");
        }
        text
    }
}
