//! What the tests share: jobs, MPIs that are installed here, and programs compiled with them.
#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};
use tasuki_launch::{
    Binding, Detector, Device, Environment, Facts, Flavour, Job, JobHost, Management, Mpi, Placement,
    Transport, Version,
};

/// An MPI that need not be installed.
pub fn mpi(flavour: Flavour, version: &str, launcher: &str) -> Mpi {
    Mpi {
        flavour,
        version: Version::parse(version).expect("a version"),
        library: "/opt/mpi/lib/libmpi.so".into(),
        launcher: launcher.into(),
        device: Device { ofi: true, ucx: true },
    }
}

/// `ranks` ranks of `/bin/app x` on n1..n4 with two slots each, in a lab.
pub fn job(ranks: u32) -> Job {
    let host = |h| JobHost { name: format!("n{h}"), slots: 2 };
    Job {
        ranks,
        argv: vec!["/bin/app".into(), "x".into()],
        hosts: (1..=4).map(host).collect(),
        placement: Placement::ByNode,
        transport: Transport::Tcp,
        facts: facts(),
        as_root: false,
        env: vec![],
        folder: None,
    }
}

/// Facts of a lab of four hosts.
pub fn facts() -> Facts {
    Facts {
        identity_interface: "tasuki0".into(),
        management: Some(Management {
            network: "198.18.0.0/16".parse().expect("a network"),
            address: [198, 18, 0, 1].into(),
            interface: "mgmt0".into(),
        }),
        agent: Some("/run/tasuki/bin/tasuki-agent".into()),
        hosts: 4,
        oversubscribed: false,
        binding: Binding::None,
    }
}

/// The environment of this test.
pub fn environment() -> Environment {
    env::vars_os().collect()
}

/// The command that asks a library for its version: an example program of this crate.
pub fn probe() -> Vec<OsString> {
    let test = env::current_exe().expect("this test's path");
    let folder = test.parent().and_then(Path::parent).expect("target/PROFILE/deps");
    vec![folder.join("examples/launch").into(), "probe".into()]
}

/// The folder of unpacked MPIs: TASUKI_PEERS, else the one of the checkout.
pub fn peers() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    env::var_os("TASUKI_PEERS").map_or(default, PathBuf::from)
}

/// All MPIs of this machine.
pub fn installed() -> Vec<Mpi> {
    let (env, probe, peers) = (environment(), probe(), peers());
    Detector { env: &env, probe: &probe, peers: Some(&peers), choice: None }.installed()
}

/// Compiles `tests/programs/NAME.c` with the MPI's own compiler wrapper. `None` (and a message) if it has
/// none.
pub fn compile(mpi: &Mpi, name: &str, folder: &Path) -> Option<PathBuf> {
    let names = match mpi.flavour {
        Flavour::OpenMpi4 => ["mpicc.openmpi", "mpicc"],
        _ => ["mpicc.mpich", "mpicc"],
    };
    let bin = mpi.launcher.parent()?;
    let Some(compiler) = names.iter().map(|name| bin.join(name)).find(|path| path.exists()) else {
        eprintln!("skipped: {} has no compiler wrapper", mpi.id());
        return None;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c");
    let program = folder.join(format!("{name}-{}", mpi.id()));
    let status = Command::new(&compiler).arg("-O1").arg("-o").arg(&program).arg(&source).status();
    match status {
        Ok(status) if status.success() => Some(program),
        other => panic!("{} cannot compile {}: {other:?}", compiler.display(), source.display()),
    }
}
