//! Jobs of a cluster: which MPI, which hosts, which command.

use crate::{
    failure::Failure,
    transport::{self, passed_on},
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    thread,
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, IDENTITY_INTERFACE, LAB_MANAGEMENT};
use tasuki_lab::{HOST_AGENT, MANAGEMENT_INTERFACE};
use tasuki_launch::{
    Binding, Detected, Detector, Environment, Facts, Job, JobHost, Libfabric, Management, Mpi, Placement,
    Provider, Transport,
};

/// The environment of this process.
pub fn environment_here() -> Environment {
    std::env::vars_os().collect()
}

/// What answers "which MPI is it?": this program's environment, and the peers' folder.
pub struct Finder {
    env: Environment,
    probe: Vec<OsString>,
    peers: Option<PathBuf>,
}

impl Finder {
    /// Looks in PATH and in the folder that TASUKI_PEERS names, or that lies beside this program.
    pub fn here() -> Result<Self, Failure> {
        let program = std::env::current_exe()?;
        // target/release/tasuki and target/peers, in a checkout.
        let beside = program.parent().and_then(Path::parent).map(|target| target.join("peers"));
        let peers = std::env::var_os("TASUKI_PEERS").map(PathBuf::from).or(beside);
        Ok(Self {
            env: environment_here(),
            probe: vec![program.into_os_string(), "mpi-probe".into()],
            peers: peers.filter(|peers| peers.is_dir()),
        })
    }

    /// The MPI of a program, or the one that the user chose.
    pub fn detect(&self, argv: &[OsString], choice: Option<&str>) -> Result<Detected, Failure> {
        Ok(self.detector(choice).detect(argv)?)
    }

    /// All MPIs installed.
    pub fn installed(&self) -> Vec<Mpi> {
        self.detector(None).installed()
    }

    /// The one MPI that `choice` means.
    pub fn one(&self, choice: &str) -> Result<Mpi, Failure> {
        let mut found = self.detector(None).choose(choice)?;
        if found.len() > 1 {
            let ids: Vec<_> = found.iter().map(Mpi::id).collect();
            return Err(Failure::new(format!(
                "{choice} may be {}; give more of the version",
                ids.join(" or ")
            )));
        }
        found.pop().ok_or_else(|| Failure::new(format!("{choice} is not installed")))
    }

    /// What an MPI's libfabric says of Tasuki's provider.
    pub fn libfabric(&self, mpi: &Mpi, provider: &Provider) -> std::io::Result<Libfabric> {
        let probe = [self.probe[0].clone(), "libfabric-probe".into()];
        mpi.ask_libfabric(&probe, &self.env, provider)
    }

    fn detector<'a>(&'a self, choice: Option<&'a str>) -> Detector<'a> {
        Detector { env: &self.env, probe: &self.probe, peers: self.peers.as_deref(), choice }
    }
}

/// Cores of this machine.
fn cores() -> u32 {
    thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// What an MPI must know of a lab. All hosts of a lab share this machine's cores.
pub fn lab_facts(cluster: &Cluster, ranks: u32) -> Facts {
    Facts {
        identity_interface: IDENTITY_INTERFACE.into(),
        management: Some(Management {
            network: LAB_MANAGEMENT,
            address: cluster.lab_management(HostId(0)),
            interface: MANAGEMENT_INTERFACE.into(),
        }),
        agent: Some(HOST_AGENT.into()),
        hosts: cluster.hosts.len(),
        oversubscribed: ranks > cores(),
        binding: Binding::None,
    }
}

/// What an MPI must know of real machines reached over ssh, this one among them.
pub fn cluster_facts(cluster: &Cluster, ranks: u32) -> Result<Facts, Failure> {
    AddressPlan::new(cluster)?;
    let slots: u32 = cluster.hosts.iter().map(|host| host.cores).sum();
    // Any other host's management address shows which of our interfaces leads there.
    let addresses = cluster.hosts.iter().filter_map(|host| host.management.as_ref()?.address().parse().ok());
    let management = addresses.filter_map(|address| Management::towards(address).ok().flatten());
    Ok(Facts {
        identity_interface: IDENTITY_INTERFACE.into(),
        management: management.into_iter().find(|found| found.interface != "lo"),
        agent: None,
        hosts: cluster.hosts.len(),
        oversubscribed: ranks > slots,
        binding: Binding::Library,
    })
}

/// A job of these ranks on all hosts of a cluster.
pub fn job(
    cluster: &Cluster,
    facts: Facts,
    ranks: u32,
    detected: &Detected,
    transport: &Transport,
    folder: PathBuf,
) -> Job {
    let host = |host: &tasuki_cluster::Host| JobHost { name: host.name.clone(), slots: host.cores };
    Job {
        ranks,
        argv: detected.argv.clone(),
        hosts: cluster.hosts.iter().map(host).collect(),
        placement: Placement::ByNode,
        transport: transport.clone(),
        facts,
        as_root: nix::unistd::Uid::effective().is_root(),
        env: detected.env.iter().cloned().chain(passed_on()).collect(),
        folder: Some(folder),
    }
}

/// Paths that every host must see for a job to run.
pub fn paths(mpi: &Mpi, detected: &Detected, transport: &Transport) -> Vec<PathBuf> {
    let mut paths = vec![mpi.prefix().to_owned(), mpi.library_folder().to_owned()];
    paths.extend(transport::paths(transport));
    // Arguments that are paths: scripts, inputs.
    paths.extend(detected.argv.iter().map(PathBuf::from).filter(|path| path.is_absolute() && path.exists()));
    paths
}
