//! The settings for a plain `mpirun` or `srun`.

use crate::{Facts, Flavour, Mpi, Setting, Transport, hydra, openmpi4, openmpi5};

/// What a plain `mpirun` or `srun` of `mpi` needs for its ranks to use the cables: print [`Setting::variable`],
/// value and reason. The settings of daemons are among them where they follow from `facts`.
pub fn environment(mpi: &Mpi, transport: &Transport, facts: &Facts) -> Vec<Setting> {
    match mpi.flavour {
        Flavour::OpenMpi4 => openmpi4::settings(mpi, transport, facts),
        Flavour::OpenMpi5 => openmpi5::settings(mpi, transport, facts),
        Flavour::Mpich | Flavour::Intel => hydra::settings(mpi, transport, facts),
    }
}
