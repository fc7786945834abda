//! The library that corrects Open MPI: its MPI_Mrecv (`docs/adr/0016-mrecv-put-right-from-above.md`), and
//! sends of several threads (`docs/adr/0035-sends-of-threads-put-right-from-above.md`).

use crate::{Flavour, Mpi, Provider, Setting, front::is_plain, setting::Scope};
use std::path::PathBuf;

/// The library, below the provider's folder, beside the libfabric in front.
const FILE: &str = "libfabric/libtasuki-openmpi.so";

impl Mpi {
    /// Whether this MPI does two things wrong over any libfabric provider. MPI_Mrecv and MPI_Imrecv lose what
    /// they receive into types with gaps: the callback for such a receive (`ompi_mtl_ofi_mrecv_callback`)
    /// unpacks nothing; that is in the source of 4.1.4 and 5.0.7. A program that sends from several threads
    /// may die, because a request can be given back twice (`mca_pml_cm_send_request_completion`). Both were
    /// observed with 4.1.4 and 5.0.11.
    pub fn needs_repairs(&self) -> bool {
        matches!(self.flavour, Flavour::OpenMpi4 | Flavour::OpenMpi5)
    }

    /// The library that corrects both. `None` if it is not needed, or not installed.
    pub fn mended_by(&self, provider: &Provider) -> Option<PathBuf> {
        let file = provider.folder.join(FILE);
        (self.needs_repairs() && is_plain(file.as_os_str()) && file.is_file()).then_some(file)
    }
}

/// The setting that loads the library before the MPI's own.
pub(crate) fn setting(mpi: &Mpi, provider: &Provider) -> Option<Setting> {
    let file = mpi.mended_by(provider)?;
    let why = "over any libfabric, this Open MPI's MPI_Mrecv and MPI_Imrecv lose what they receive into \
               types with gaps, and programs that send from several threads may die; this corrects both";
    Some(Setting::new(Scope::Folders, "LD_PRELOAD", file.to_string_lossy(), why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Version};
    use std::fs;

    #[test]
    fn it_is_preloaded_for_open_mpi_where_it_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let provider =
            Provider { folder: folder.path().into(), library: folder.path().join("libtasuki-fi.so") };
        let mpi = |flavour| Mpi {
            flavour,
            version: Version { major: 5, minor: 0, text: "5.0".into() },
            library: "/opt/lib/libmpi.so.40".into(),
            launcher: "/opt/bin/mpirun".into(),
            device: Device::default(),
        };
        assert_eq!(setting(&mpi(Flavour::OpenMpi5), &provider), None, "not installed");
        fs::create_dir(folder.path().join("libfabric")).unwrap();
        fs::write(folder.path().join(FILE), "ELF").unwrap();
        for flavour in [Flavour::OpenMpi4, Flavour::OpenMpi5] {
            let setting = setting(&mpi(flavour), &provider).unwrap();
            assert_eq!(setting.variable(), "LD_PRELOAD");
            assert_eq!(setting.value, folder.path().join(FILE).to_str().unwrap());
        }
        for flavour in [Flavour::Mpich, Flavour::Intel] {
            assert_eq!(setting(&mpi(flavour), &provider), None, "{flavour} does not need it");
        }
    }
}
