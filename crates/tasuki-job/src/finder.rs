//! Finding MPIs: this process's environment, and the folder of peers.

use crate::RunError;
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};
use tasuki_launch::{Detected, Detector, Environment, Libfabric, Mpi, Provider};

/// The environment of this process.
pub fn own_environment() -> Environment {
    std::env::vars_os().collect()
}

/// Finds the MPIs of programs, and those that are installed.
pub struct Finder {
    env: Environment,
    /// The hidden subcommand that asks an MPI's library what it is.
    probe: Vec<OsString>,
    /// A folder with unpacked MPIs.
    peers: Option<PathBuf>,
}

impl Finder {
    /// Looks in this process's PATH, and in the folder of unpacked MPIs that TASUKI_PEERS names or that lies
    /// beside this program.
    ///
    /// # Errors
    /// If this program's own path is not known.
    pub fn local() -> Result<Self, RunError> {
        let program = std::env::current_exe()?;
        // In a checkout the program is target/ship/tasuki, and the folder is target/peers.
        let beside = program.parent().and_then(Path::parent).map(|target| target.join("peers"));
        let peers = std::env::var_os("TASUKI_PEERS").map(PathBuf::from).or(beside);
        Ok(Self {
            env: own_environment(),
            probe: vec![program.into_os_string(), "mpi-probe".into()],
            peers: peers.filter(|peers| peers.is_dir()),
        })
    }

    /// The MPI of a program, or the one that the user chose.
    ///
    /// # Errors
    /// If the program uses no MPI that is known, or not the chosen one.
    pub fn detect(&self, argv: &[OsString], choice: Option<&str>) -> Result<Detected, RunError> {
        Ok(self.detector(choice).detect(argv)?)
    }

    /// All MPIs that are installed.
    pub fn installed(&self) -> Vec<Mpi> {
        self.detector(None).installed()
    }

    /// The one MPI that `choice` means.
    ///
    /// # Errors
    /// If none or several are meant.
    pub fn one(&self, choice: &str) -> Result<Mpi, RunError> {
        let mut found = self.detector(None).choose(choice)?;
        if found.len() > 1 {
            let ids = found.iter().map(Mpi::id).collect();
            return Err(RunError::Ambiguous { choice: choice.into(), ids });
        }
        found.pop().ok_or_else(|| RunError::NotInstalled(choice.into()))
    }

    /// What an MPI's libfabric says of Tasuki's provider.
    ///
    /// # Errors
    /// If the libfabric cannot be asked.
    pub fn libfabric(&self, mpi: &Mpi, provider: &Provider) -> io::Result<Libfabric> {
        let probe = [self.probe[0].clone(), "libfabric-probe".into()];
        mpi.ask_libfabric(&probe, &self.env, provider)
    }

    fn detector<'a>(&'a self, choice: Option<&'a str>) -> Detector<'a> {
        Detector { env: &self.env, probe: &self.probe, peers: self.peers.as_deref(), choice }
    }
}
