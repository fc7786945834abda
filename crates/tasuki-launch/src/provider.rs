//! Finds Tasuki's own libfabric provider.

use crate::Origin;
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, lchown, symlink},
    path::{Path, PathBuf},
};
use thiserror::Error;

/// libfabric loads files of a provider folder whose names end in `-fi.so` (fi_provider(7)).
const FILE: &str = "libtasuki-fi.so";
/// The file's name as cargo makes it, beside the program.
const BUILT: &str = "libtasuki_fi.so";
/// The folder beside the program in which the built file has the name that libfabric asks for. Nothing else
/// is in it, because libfabric would load that too.
const LINKED: &str = "tasuki-provider";

/// The provider that the MPI's libfabric is to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The folder to name in FI_PROVIDER_PATH.
    pub folder: PathBuf,
    /// The library, with links resolved, because hosts must see the file itself.
    pub library: PathBuf,
}

/// Why there is no provider.
#[derive(Debug, Error)]
pub enum ProviderError {
    /// The provider is neither installed nor built.
    #[error(
        "Tasuki's libfabric provider is neither {} nor {}: {remedy}", installed.display(), built.display())]
    Missing {
        /// Where it would be installed.
        installed: PathBuf,
        /// Where it would have been built.
        built: PathBuf,
        /// The command that puts it there.
        remedy: String,
    },
    /// The folder that TASUKI_PROVIDER names does not hold it.
    #[error("TASUKI_PROVIDER={}: there is no {FILE} in it", .0.display())]
    NotThere(PathBuf),
    /// The provider is built, but cannot be given the name that libfabric asks for.
    #[error("cannot link {} to {BUILT}: {source}; do it by hand: `make build`", link.display())]
    Link {
        /// The link.
        link: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Provider {
    /// The value of `FI_PROVIDER`.
    pub const NAME: &str = "tasuki";

    /// The provider that belongs to the program at `program`: installed in `../lib/tasuki/`, or built by
    /// cargo beside it. A folder in `chosen` (TASUKI_PROVIDER) overrides both.
    pub fn find(program: &Path, chosen: Option<&Path>) -> Result<Self, ProviderError> {
        if let Some(folder) = chosen {
            return Self::in_folder(folder).ok_or_else(|| ProviderError::NotThere(folder.into()));
        }
        let beside = program.parent().unwrap_or(Path::new("/"));
        let installed = beside.parent().unwrap_or(Path::new("/")).join("lib/tasuki");
        if let Some(found) = Self::in_folder(&installed) {
            return Ok(found);
        }
        let built = beside.join(BUILT);
        let missing = || ProviderError::Missing {
            installed: installed.join(FILE),
            built: built.clone(),
            remedy: Origin::of(program).restore(),
        };
        if !built.is_file() {
            return Err(missing());
        }
        let folder = beside.join(LINKED);
        if let Some(found) = Self::in_folder(&folder) {
            return Ok(found);
        }
        let link = folder.join(FILE);
        make_link(&folder, &link).map_err(|source| ProviderError::Link { link: link.clone(), source })?;
        Self::in_folder(&folder).ok_or_else(missing)
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        let folder = std::path::absolute(folder).ok()?;
        let library = fs::canonicalize(folder.join(FILE)).ok().filter(|file| file.is_file())?;
        Some(Self { folder, library })
    }
}

/// Makes the link. Another process may do the same at the same time. What root makes is given to the owner of
/// its folder: a user who builds as that user, and runs labs as root, must be able to remove it.
fn make_link(folder: &Path, link: &Path) -> io::Result<()> {
    let done = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    };
    done(fs::create_dir(folder))?;
    done(symlink(Path::new("..").join(BUILT), link))?;
    let owner = fs::metadata(folder.parent().unwrap_or(folder))?;
    for made in [folder, link] {
        // Only root may do this, and for other users it is not needed.
        let _ = lchown(made, Some(owner.uid()), Some(owner.gid()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_goes_before_built_and_built_gets_the_name_that_libfabric_asks_for() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let program = bin.join("tasuki");
        let missing = Provider::find(&program, None).unwrap_err().to_string();
        assert!(missing.contains("make build"), "{missing}");

        fs::write(bin.join(BUILT), "").unwrap();
        for _ in 0..2 {
            let built = Provider::find(&program, None).unwrap();
            assert_eq!(built.folder, bin.join("tasuki-provider"));
            assert_eq!(built.library, fs::canonicalize(bin.join(BUILT)).unwrap());
            let names: Vec<_> =
                built.folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names, ["libtasuki-fi.so"], "libfabric would load anything else too");
        }

        let lib = root.path().join("lib/tasuki");
        fs::create_dir_all(&lib).unwrap();
        fs::write(lib.join(FILE), "").unwrap();
        assert_eq!(Provider::find(&program, None).unwrap().folder, lib);
        assert!(matches!(Provider::find(&program, Some(&bin)), Err(ProviderError::NotThere(_))));
        assert_eq!(Provider::find(&program, Some(&lib)).unwrap().folder, lib);
    }
}
