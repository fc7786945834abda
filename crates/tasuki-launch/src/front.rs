//! Tasuki's own libfabric, which the loader finds before a distribution's, because that takes long to load
//! (`docs/adr/0008-a-libfabric-in-front.md`).

use crate::{
    Environment, Flavour, Mpi, Provider, Setting,
    libfabric::{component, holds},
    program::{variable, with_variable},
    setting::Scope,
};
use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

/// The library, below the provider's folder. It is alone in a folder of its own, because every program that
/// searches there would find whatever else lies there.
const FILE: &str = "libfabric/libfabric.so.1";
/// The first version of libfabric's interface that the library does not have. A program that is linked with
/// it would not load.
const TOO_NEW: &[u8] = b"FABRIC_1.7";
/// The variable that lists folders for the dynamic loader.
const VARIABLE: &str = "LD_LIBRARY_PATH";

impl Mpi {
    /// The folder of the library in front. `None` if it is not installed, or this MPI's libfabric is not a
    /// distribution's, or has an interface that the library lacks.
    pub fn front(&self, provider: &Provider) -> Option<PathBuf> {
        if self.flavour != Flavour::OpenMpi4 || component(&self.library).is_none() {
            return None;
        }
        let file = provider.folder.join(FILE);
        let folder =
            file.parent().filter(|folder| is_plain(folder.as_os_str()) && file.is_file())?.to_owned();
        let systems = fs::read(self.library_folder().join("libfabric.so.1")).ok()?;
        (!holds(&systems, TOO_NEW)).then_some(folder)
    }
}

/// Whether a path stands for itself in a list of paths.
pub(crate) fn is_plain(path: &OsStr) -> bool {
    path.to_str().is_some_and(|path| path.starts_with('/') && !path.contains([':', ';', '$', ' ']))
}

/// The setting that puts the library in front.
pub(crate) fn setting(mpi: &Mpi, provider: &Provider) -> Option<Setting> {
    let folder = mpi.front(provider)?;
    let why = "a libfabric that knows Tasuki alone: the system's takes 0.3 s to load. It steps aside for \
               other providers (TASUKI_LIBFABRIC=0: always)";
    Some(Setting::new(Scope::Folders, VARIABLE, folder.to_string_lossy(), why))
}

/// `env` with the library in front, if this MPI gets it.
pub(crate) fn environment(mpi: &Mpi, provider: &Provider, env: &Environment) -> Environment {
    match mpi.front(provider) {
        Some(folder) => with_variable(env, VARIABLE, joined(variable(env, VARIABLE), folder.as_os_str())),
        None => env.clone(),
    }
}

/// A list of folders with one more. The new one comes behind those that the user names, which may hold a
/// libfabric of the user's own, but before the system's folders, which may be there because an MPI was
/// chosen.
pub(crate) fn joined(list: Option<&OsStr>, folder: &OsStr) -> OsString {
    let given = list.unwrap_or_default().to_string_lossy().into_owned();
    let mut all: Vec<&str> =
        given.split(':').filter(|entry| !given.is_empty() || !entry.is_empty()).collect();
    let folder = folder.to_string_lossy();
    let place = all.iter().position(|entry| is_systems(Path::new(entry))).unwrap_or(all.len());
    all.insert(place, &folder);
    all.join(":").into()
}

/// Whether a folder is one where distributions have libraries: `/usr/lib`, `/lib64`,
/// `/usr/lib/x86_64-linux-gnu`.
fn is_systems(folder: &Path) -> bool {
    let is_plain =
        |folder: &Path| ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].map(Path::new).contains(&folder);
    let is_arch = folder.to_string_lossy().ends_with("-linux-gnu");
    is_plain(folder) || (is_arch && folder.parent().is_some_and(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Version};

    /// An Open MPI as Debian 12 installs it, with a libfabric whose symbols have this `interface`, and the
    /// folder of a provider.
    fn installed(folder: &Path, interface: &str) -> (Mpi, Provider) {
        let components = folder.join("openmpi/lib/openmpi3");
        fs::create_dir_all(&components).unwrap();
        fs::create_dir_all(folder.join("tasuki/libfabric")).unwrap();
        for (file, text) in [
            ("libmpi.so.40", "ELF"),
            ("libfabric.so.1", interface),
            ("openmpi/lib/openmpi3/mca_mtl_ofi.so", "ELF"),
            ("tasuki/libfabric/libfabric.so.1", "ELF"),
        ] {
            fs::write(folder.join(file), text).unwrap();
        }
        let version = Version { major: 4, minor: 1, text: "4.1.4".into() };
        let library = folder.join("libmpi.so.40");
        let (launcher, device) = ("/usr/bin/mpirun".into(), Device::default());
        let mpi = Mpi { flavour: Flavour::OpenMpi4, version, library, launcher, device };
        let provider = folder.join("tasuki");
        (mpi, Provider { library: provider.join("libtasuki-fi.so"), folder: provider })
    }

    #[test]
    fn it_stands_before_a_distributions_libfabric_that_it_can_replace_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let (mpi, provider) = installed(folder.path(), "ELF FABRIC_1.5 FABRIC_1.6");
        assert_eq!(mpi.front(&provider), Some(folder.path().join("tasuki/libfabric")));
        for other in [Flavour::OpenMpi5, Flavour::Mpich, Flavour::Intel] {
            let mpi = Mpi { flavour: other, ..mpi.clone() };
            assert_eq!(mpi.front(&provider), None, "{other}: it brings a libfabric of its own");
        }
        let (newer, _) = installed(folder.path(), "ELF FABRIC_1.6 FABRIC_1.7");
        assert_eq!(newer.front(&provider), None, "programs may need what it has not");
        fs::remove_file(folder.path().join("libfabric.so.1")).unwrap();
        assert_eq!(mpi.front(&provider), None, "nothing is known of its libfabric");
    }

    #[test]
    fn nothing_is_set_where_it_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let (mpi, provider) = installed(folder.path(), "ELF FABRIC_1.6");
        assert!(setting(&mpi, &provider).is_some());
        fs::remove_file(folder.path().join("tasuki/libfabric/libfabric.so.1")).unwrap();
        assert_eq!(setting(&mpi, &provider), None);
        let env = vec![(VARIABLE.into(), "/mine".into())];
        assert_eq!(environment(&mpi, &provider, &env), env);
    }

    // ld.so(8): the first folder that has a library wins.
    #[test]
    fn the_users_folders_go_before_it_and_the_systems_behind() {
        let systems = "/mine:/usr/lib/x86_64-linux-gnu:/lib";
        assert_eq!(
            joined(Some(OsStr::new(systems)), OsStr::new("/t")),
            "/mine:/t:/usr/lib/x86_64-linux-gnu:/lib"
        );
        assert_eq!(joined(Some(OsStr::new("/mine:/more")), OsStr::new("/tasuki")), "/mine:/more:/tasuki");
        for none in [None, Some(OsStr::new(""))] {
            assert_eq!(
                joined(none, OsStr::new("/tasuki")),
                "/tasuki",
                "an empty entry would be the working directory"
            );
        }
        for odd in ["relative", "/a:b", "/$ORIGIN"] {
            assert!(!is_plain(OsStr::new(odd)), "{odd}");
        }
    }
}
