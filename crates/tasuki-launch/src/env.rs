//! The settings for a plain `mpirun` or `srun`.

use crate::{Facts, Flavour, Mpi, Setting, Transport, hydra, openmpi4, openmpi5};

/// The settings that a plain `mpirun` or `srun` of `mpi` needs for its ranks to use the cables. Print
/// [`Setting::variable`], value and reason of each. Settings of daemons are among them if they follow from
/// `facts`.
pub fn environment(mpi: &Mpi, transport: &Transport, facts: &Facts) -> Vec<Setting> {
    match mpi.flavour {
        Flavour::OpenMpi4 => openmpi4::settings(mpi, transport, facts),
        Flavour::OpenMpi5 => openmpi5::settings(mpi, transport, facts),
        Flavour::Mpich | Flavour::Intel => hydra::settings(mpi, transport, facts),
    }
}
