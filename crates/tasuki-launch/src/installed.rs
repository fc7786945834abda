//! Lists the MPIs that are installed, and picks the one that a user names.

use crate::{DetectError, Detector, Device, Flavour, Mpi, Version, launcher, mpi, probe, program};
use std::{
    fs,
    path::{Path, PathBuf},
};

impl Detector<'_> {
    /// Every MPI that has both a launcher and its library: those in PATH first, then those in the peers'
    /// folder.
    pub fn installed(&self) -> Vec<Mpi> {
        let mut found: Vec<Mpi> = Vec::new();
        let folders = program::path_folders(self.env).into_iter().chain(self.peer_folders());
        for folder in folders {
            for mpi in self.installed_in(&folder) {
                let same =
                    |known: &Mpi| known.flavour == mpi.flavour && same_file(&known.library, &mpi.library);
                if !found.iter().any(same) {
                    found.push(mpi);
                }
            }
        }
        found
    }

    fn peer_folders(&self) -> Vec<PathBuf> {
        let peers = self.peers.and_then(|peers| fs::canonicalize(peers).ok());
        let entries = peers.and_then(|peers| peers.read_dir().ok());
        let mut folders: Vec<_> =
            entries.into_iter().flatten().flatten().map(|e| e.path().join("bin")).collect();
        folders.sort();
        folders
    }

    /// The MPIs whose launchers are in `folder`; there are several where a distribution installs them side by
    /// side.
    fn installed_in(&self, folder: &Path) -> Vec<Mpi> {
        let mut found: Vec<Mpi> = Vec::new();
        for launcher in Flavour::LAUNCHERS.iter().map(|name| folder.join(name)) {
            let known = |found: &[Mpi]| found.iter().any(|mpi| same_file(&mpi.launcher, &launcher));
            if !tasuki_process::is_executable(&launcher) || known(&found) {
                continue;
            }
            let Some((flavour, version)) = launcher::identify(&launcher, self.env) else { continue };
            if found.iter().any(|mpi| mpi.flavour == flavour) {
                continue;
            }
            found.extend(self.with_library(launcher, flavour, &version));
        }
        found
    }

    fn with_library(&self, launcher: PathBuf, flavour: Flavour, version: &Version) -> Option<Mpi> {
        let prefix = launcher.parent()?.parent()?;
        libraries(prefix, flavour).into_iter().find_map(|library| {
            let text = probe::version_text(self.probe, &library, self.env).ok()?;
            let (found, own) = Flavour::recognise(&text)?;
            let fits = found == flavour && own.major == version.major;
            let device = Device::parse(&text);
            fits.then(|| Mpi { flavour, version: own, library, launcher: launcher.clone(), device })
        })
    }

    /// The MPIs that a user may mean by `choice`: a prefix, a launcher, or a name with as much of the version
    /// as the user likes (`openmpi`, `openmpi5`, `mpich-4.3`, `intel`).
    pub fn choose(&self, choice: &str) -> Result<Vec<Mpi>, DetectError> {
        let path = Path::new(choice);
        if is_place(choice) {
            let folder =
                if path.is_dir() { path.join("bin") } else { path.parent().unwrap_or(path).to_owned() };
            let folder = std::path::absolute(&folder).unwrap_or(folder);
            let mut found = self.installed_in(&folder);
            if path.is_file() {
                found.retain(|mpi| same_file(&mpi.launcher, path));
            }
            return match found.is_empty() {
                true => Err(DetectError::NoMpiAt { choice: choice.into(), folder }),
                false => Ok(found),
            };
        }
        let installed = self.installed();
        let found: Vec<_> = installed.iter().filter(|mpi| is_called(mpi, choice)).cloned().collect();
        if found.is_empty() {
            return Err(DetectError::UnknownChoice { choice: choice.into(), installed: list(&installed) });
        }
        Ok(found)
    }
}

/// `openmpi-4.1.4 (/usr/bin/mpirun.openmpi), ...`, for messages.
pub fn list(mpis: &[Mpi]) -> String {
    if mpis.is_empty() {
        return "none".into();
    }
    let names: Vec<_> = mpis.iter().map(|mpi| format!("{} ({})", mpi.id(), mpi.launcher.display())).collect();
    names.join(", ")
}

/// Whether two paths lead to the same file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Whether a choice is a path (of a prefix or a launcher) and not a name.
pub(crate) fn is_place(choice: &str) -> bool {
    choice.contains('/') || Path::new(choice).is_dir()
}

/// Whether a choice is this MPI's name with as much of the version as the user likes.
pub(crate) fn is_called(mpi: &Mpi, choice: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
    let choice = plain(choice);
    let names: &[&str] = match mpi.flavour {
        Flavour::OpenMpi4 | Flavour::OpenMpi5 => &["openmpi", "ompi"],
        Flavour::Mpich => &["mpich", "hydra"],
        Flavour::Intel => &["intelmpi", "intel", "impi"],
    };
    names.iter().filter_map(|name| choice.strip_prefix(name)).any(|version| {
        let rest = mpi.version.text.strip_prefix(version);
        version.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Files below `prefix` that may be the MPI's library, in the places where installations and distributions
/// put it.
fn libraries(prefix: &Path, flavour: Flavour) -> Vec<PathBuf> {
    let mut folders = vec![prefix.join("lib"), prefix.join("lib64"), prefix.join("lib/release")];
    let multiarch = prefix.join("lib").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    folders.extend(multiarch.filter(|path| path.to_string_lossy().ends_with("-linux-gnu")));
    let mut found = Vec::new();
    for folder in folders {
        let names = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.filter(|name| mpi::abi_of(name) == Some(flavour.abi())).collect();
        // The shortest name is the one that programs ask for: libmpi.so.12 before libmpi.so.12.0.0.
        names.sort_by_key(|name| name.len());
        found.extend(names.first().map(|name| folder.join(name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mpi(flavour: Flavour, version: &str) -> Mpi {
        let version = Version::parse(version).unwrap();
        Mpi { flavour, version, library: "/l".into(), launcher: "/b".into(), device: Device::default() }
    }

    #[test]
    fn names_with_as_much_version_as_is_wanted() {
        let (four, five) = (mpi(Flavour::OpenMpi4, "4.1.4"), mpi(Flavour::OpenMpi5, "5.0.11"));
        let (mpich, intel) = (mpi(Flavour::Mpich, "4.3.2"), mpi(Flavour::Intel, "2021.18.1"));
        for choice in ["openmpi", "OpenMPI", "open-mpi", "openmpi4", "openmpi-4.1", "openmpi-4.1.4", "ompi4"]
        {
            assert!(is_called(&four, choice), "{choice}");
        }
        for choice in ["openmpi5", "openmpi-4.1.40", "openmpi-4.", "mpich", "openmpi41", "", "4.1.4"] {
            assert!(!is_called(&four, choice), "{choice}");
        }
        assert!(is_called(&five, "openmpi-5.0") && !is_called(&five, "openmpi-5.0.1"));
        assert!(is_called(&mpich, "mpich-4.3") && !is_called(&mpich, "mpich5"));
        assert!(
            is_called(&intel, "intel")
                && is_called(&intel, "impi-2021")
                && is_called(&intel, "Intel MPI 2021.18")
        );
    }
}
