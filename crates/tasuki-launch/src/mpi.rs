//! An MPI that was found on this machine.

use crate::{Abi, Flavour, Version};
use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

/// An MPI: its library and the launcher that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// Its family.
    pub flavour: Flavour,
    /// The version that the library reports.
    pub version: Version,
    /// The MPI library.
    pub library: PathBuf,
    /// The program that starts ranks.
    pub launcher: PathBuf,
    /// MPICH: the network modules that it was built with.
    pub device: Device,
}

/// The network modules of an MPICH, from the line `MPICH Device: ch4:ucx ofi` of its version text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// libfabric.
    pub ofi: bool,
    /// UCX.
    pub ucx: bool,
}

impl Device {
    /// Reads MPICH's version text. Texts of other MPIs give no modules.
    pub fn parse(version_text: &str) -> Self {
        let line =
            version_text.lines().find_map(|line| line.strip_prefix("MPICH Device:")).unwrap_or_default();
        let has = |name| line.split([' ', '\t', ':', ',']).any(|word| word == name);
        Self { ofi: has("ofi"), ucx: has("ucx") }
    }
}

impl Mpi {
    /// A name that `--mpi` accepts, e.g. `openmpi-4.1.4`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.flavour.name(), self.version)
    }

    /// The folder above the launcher's `bin`.
    pub fn prefix(&self) -> &Path {
        self.launcher.parent().and_then(Path::parent).unwrap_or(Path::new("/"))
    }

    /// The folder of its library.
    pub fn library_folder(&self) -> &Path {
        self.library.parent().unwrap_or(Path::new("/"))
    }

    /// Whether programs of this ABI can run on it.
    pub fn provides(&self, abi: Abi) -> bool {
        abi == self.flavour.abi() || (abi == Abi::Standard && self.has_standard_abi())
    }

    fn has_standard_abi(&self) -> bool {
        let entries = self.library_folder().read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).any(|name| abi_of(&name) == Some(Abi::Standard))
    }

    /// Faults of this version that its users ought to know: they are the MPI's own, and settings cannot
    /// remove them.
    pub fn pitfalls(&self) -> Vec<&'static str> {
        let version = (self.version.major, self.version.minor);
        let mut found = Vec::new();
        match self.flavour {
            Flavour::Mpich => {
                if version < (4, 2) && self.device.ucx && !self.device.ofi {
                    found.push(
                        "MPICH before 4.2 over UCX may hang in MPI_Finalize on three or more hosts \
                         (github.com/pmodels/mpich/pull/6596). Use a newer MPICH, or --mpi intel",
                    );
                }
                found.push(
                    "Hydra waits for ever if a rank exits without MPI_Finalize while others wait for it",
                );
            }
            Flavour::OpenMpi5 => found.push(
                "prterun may hang at its end after a rank has failed before the others ever talked to it \
                 (a deadlock in PMIx_server_finalize); --mca mpi_preconnect_mpi 1 avoids it",
            ),
            Flavour::Intel => found.push(
                "mpiexec.hydra sometimes gives 255 or 141 instead of a rank's own exit code other than 0: \
                 its proxies race to close their connections",
            ),
            Flavour::OpenMpi4 => {}
        }
        found
    }
}

/// The ABI that a file's name stands for.
pub fn abi_of(name: &OsStr) -> Option<Abi> {
    name.to_str().and_then(Abi::of_library)
}

impl fmt::Display for Mpi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ({})", self.flavour, self.version, self.launcher.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Lines as MPICH 4.0.2 (Debian), 4.3.2 and a build with libfabric alone print them.
    #[test]
    fn devices() {
        let device = |ofi, ucx| Device { ofi, ucx };
        assert_eq!(Device::parse("MPICH Version: 4.0.2\nMPICH Device:    \tch4:ucx\n"), device(false, true));
        assert_eq!(Device::parse("MPICH Device:       ch4:ucx ofi\n"), device(true, true));
        assert_eq!(Device::parse("MPICH Device:       ch4:ofi"), device(true, false));
        assert_eq!(Device::parse("MPICH Device:       ch3:nemesis"), device(false, false));
        assert_eq!(Device::parse("Open MPI v4.1.4, ofi"), device(false, false));
    }
}
