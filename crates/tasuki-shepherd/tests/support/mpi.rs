//! The MPIs whose ranks speak PMI-1, and programs built for them.

use super::{script, unique};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};
use tasuki_launch::{
    Binding, Device, Environment, Facts, Flavour, Job, JobHost, Mpi, Placement, Transport, Version,
};
use tasuki_shepherd::{JobSpec, Program};

/// An MPI under test.
pub struct Tested {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub mpi: Mpi,
    /// The compiler wrapper of programs for it.
    mpicc: PathBuf,
}

fn peers() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    std::env::var_os("TASUKI_PEERS").map_or_else(default, PathBuf::from)
}

/// All of them that are installed. Those that are missing are reported; with TASUKI_NO_SKIP that is a
/// failure.
pub fn mpis(test: &str) -> Vec<Tested> {
    let all = [
        ("mpich-4.3", Flavour::Mpich, "4.3.2", "mpich-4.3"),
        ("mpich-5.0", Flavour::Mpich, "5.0.0", "mpich-5.0"),
        // Intel's runtime has no compiler wrapper; it runs programs of MPICH (the MPICH ABI).
        ("intel", Flavour::Intel, "2021.17", "impi-2021"),
    ];
    let tested = all.map(|(name, flavour, version, folder)| {
        let prefix = peers().join(folder);
        let mpi = Mpi {
            flavour,
            version: Version::parse(version).expect("a version"),
            library: prefix.join("lib/libmpi.so.12"),
            launcher: prefix.join("bin/mpiexec.hydra"),
            device: Device { ofi: true, ucx: flavour == Flavour::Mpich },
        };
        let compiler = if flavour == Flavour::Intel { "mpich-4.3" } else { folder };
        Tested { name, mpi, mpicc: peers().join(compiler).join("bin/mpicc") }
    });
    let is_there = |tested: &Tested| {
        let there = tested.mpi.library.exists() && tested.mpicc.exists();
        if !there {
            assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "{} is not there: make peers", tested.name);
            eprintln!("SKIPPED {test} for {}: not installed (make peers)", tested.name);
        }
        there
    };
    tested.into_iter().filter(is_there).collect()
}

impl Tested {
    /// Compiles one of this crate's or the launcher's test programs.
    pub fn build(&self, name: &str, folder: &Path) -> PathBuf {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let of = |owner: &str| crates.join(owner).join("tests/programs").join(name).with_extension("c");
        let source = Some(of("tasuki-shepherd")).filter(|path| path.exists());
        let source = source.unwrap_or_else(|| of("tasuki-launch"));
        let program = folder.join(unique(name));
        let status = Command::new(&self.mpicc).arg("-O1").arg("-o").arg(&program).arg(source).status();
        assert!(status.expect("a compiler").success(), "{name} compiles");
        program
    }

    /// A job that runs a program on one host's loopback interface, over the MPI's own TCP, with the
    /// variables that `tasuki run` would give its ranks. Its ranks are to be dealt with [`super::part`].
    pub fn job(&self, stem: &str, program: &Path, arguments: &[&str], ranks: u32) -> JobSpec {
        let argv: Vec<OsString> =
            [program.as_os_str().into()].into_iter().chain(arguments.iter().map(OsString::from)).collect();
        let env = self.environment(&argv, ranks);
        let of_script = script(stem, ranks, "");
        let program = Program { argv, env, ..of_script.program };
        JobSpec { program, ..of_script }
    }

    fn environment(&self, argv: &[OsString], ranks: u32) -> Environment {
        let job = Job {
            ranks,
            argv: argv.to_vec(),
            hosts: vec![JobHost { name: "localhost".into(), slots: 2 }],
            placement: Placement::BySlot,
            transport: Transport::Tcp,
            facts: Facts {
                identity_interface: "lo".into(),
                management: None,
                agent: None,
                hosts: 1,
                oversubscribed: true,
                binding: Binding::None,
            },
            as_root: true,
            env: vec![
                ("PATH".into(), std::env::var_os("PATH").expect("PATH")),
                ("LD_LIBRARY_PATH".into(), self.mpi.library_folder().into()),
            ],
            folder: None,
        };
        job.rank_environment(&self.mpi).expect("a job")
    }
}
