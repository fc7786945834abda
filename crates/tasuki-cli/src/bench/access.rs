//! Gives the measurements of `tasuki-bench` access to the hosts and MPIs of the command.

use super::{
    machines::{Machines, machines, machines_of},
    network::LabNetwork,
};
use std::{ffi::OsString, path::PathBuf, process::Command};
use tasuki_args::{HostSource, transport::Wanted, transport::choose_from};
use tasuki_bench::{
    BenchError,
    lab::{HostAccess, HostKind, LabBuilder, MpiAccess, Testbed, mpi::BuiltStack},
};
use tasuki_cluster::{Cluster, HostId};
use tasuki_fleet::{Fleet, LabHosts};
use tasuki_job::{Finder, Readiness, add_key, job_of, lab_facts, shared_paths};
use tasuki_lab::{ExecRequest, Job, Lab, LabOptions};
use tasuki_launch::{Detected, Facts, LaunchCommand, Mpi, Transport};
use tasuki_terminal::Failure;

impl HostAccess for LabNetwork {
    fn command(&self, host: HostId, argv: Vec<OsString>) -> Command {
        LabHosts::command(self, host, argv)
    }

    fn tasuki(&self, host: HostId, arguments: Vec<OsString>) -> Command {
        LabHosts::tasuki(self, host, arguments)
    }

    fn launcher(&self, argv: Vec<OsString>) -> Command {
        LabHosts::command(self, HostId(0), argv)
    }

    fn facts(&self, ranks: u32) -> Result<Facts, BenchError> {
        Ok(lab_facts(&self.cluster, ranks))
    }
}

/// The testbed of a lab.
pub fn testbed(network: LabNetwork) -> Testbed {
    Testbed {
        name: network.name.clone(),
        kind: HostKind::Lab { name: network.lab.clone(), options: network.options.clone() },
        cluster: network.cluster.clone(),
        plan: network.plan.clone(),
        access: Box::new(network),
    }
}

/// The hosts that a command's arguments name.
pub struct Networks {
    /// Labs, or one testbed of machines.
    pub testbeds: Vec<Testbed>,
    /// The machines.
    machines: Option<Machines>,
}

impl Networks {
    /// The machines of a cluster file, which must be as `readiness` has it; or labs: generated ones, those of
    /// files, or one that is up.
    pub fn of(source: &HostSource, readiness: Readiness) -> Result<Self, Failure> {
        match &source.cluster {
            Some(file) => Self::of_machines(&machines(file)?, readiness),
            None => Ok(Self::labs(LabNetwork::of(source)?.into_iter().map(testbed).collect())),
        }
    }

    /// The machines of a fleet, which must be as `readiness` has it.
    pub fn of_machines(fleet: &Fleet, readiness: Readiness) -> Result<Self, Failure> {
        let (testbed, machines) = machines_of(fleet, readiness)?;
        Ok(Self { testbeds: vec![testbed], machines: Some(machines) })
    }

    /// The lab of this name, which is up, as the hosts of this cluster.
    pub fn of_lab(hosts: LabHosts) -> Result<Self, Failure> {
        Ok(Self::labs(vec![testbed(LabNetwork::of_hosts(hosts)?)]))
    }

    /// These labs.
    pub fn labs(testbeds: Vec<Testbed>) -> Self {
        Self { testbeds, machines: None }
    }

    /// What a reader of the results should know of the hosts.
    pub fn note(&self) -> Option<String> {
        let has_frames = self.testbeds.iter().all(Testbed::allows_frames);
        (!has_frames).then(|| {
            "the raw limits of Ethernet frames are left out: they need root's rights on every machine".into()
        })
    }

    /// The stacks that all hosts can run, with their programs in place; and in words why others are left out,
    /// and where programs were copied to. Hosts of a lab see this machine's files.
    pub fn place(&self, stacks: Vec<BuiltStack>) -> Result<(Vec<BuiltStack>, Vec<String>), Failure> {
        match &self.machines {
            Some(machines) => machines.place(stacks),
            None => Ok((stacks, Vec::new())),
        }
    }
}

/// What machines must be to run jobs over these transports.
pub fn readiness(transports: &[Wanted]) -> Readiness {
    match transports.contains(&Wanted::Tasuki) {
        true => Readiness::Tasuki,
        false => Readiness::Reached,
    }
}

/// Builds labs that end with the command.
pub struct Labs;

impl LabBuilder for Labs {
    fn build(&self, name: &str, cluster: Cluster, options: LabOptions) -> Result<Testbed, BenchError> {
        LabNetwork::own(name, cluster, options).map(testbed).map_err(refused)
    }
}

fn refused(failure: impl Into<Failure>) -> BenchError {
    BenchError::Refused(failure.into().message)
}

/// The MPIs of this machine, with the transports that the user asked for.
pub struct LabMpis {
    finder: Finder,
    wanted: Vec<Wanted>,
    /// The folder of the provider; `None`: this program's own.
    provider: Option<PathBuf>,
}

impl LabMpis {
    /// The MPIs, each to be measured over these transports.
    pub fn over(wanted: &[Wanted]) -> Result<Self, Failure> {
        Ok(Self { finder: Finder::local()?, wanted: wanted.to_vec(), provider: None })
    }

    /// With the provider in this folder, where hosts have it; `None`: this program's own.
    pub fn with_provider(self, provider: Option<PathBuf>) -> Self {
        Self { provider, ..self }
    }
}

impl MpiAccess for LabMpis {
    fn installed(&self) -> Vec<Mpi> {
        self.finder.installed()
    }

    fn one(&self, choice: &str) -> Result<Mpi, BenchError> {
        self.finder.one(choice).map_err(refused)
    }

    fn detect(&self, argv: &[OsString], choice: Option<&str>) -> Result<Detected, BenchError> {
        self.finder.detect(argv, choice).map_err(refused)
    }

    fn transports(&self, mpi: &Mpi) -> Vec<Result<Transport, BenchError>> {
        let provider = self.provider.as_deref();
        self.wanted.iter().map(|wanted| choose_from(Some(*wanted), mpi, provider).map_err(refused)).collect()
    }

    fn share(&self, network: &Testbed, program: &Detected, transport: &Transport) -> Result<(), BenchError> {
        let Some(lab) = network.lab() else { return Ok(()) };
        let share = || -> Result<(), Failure> {
            let mut request = ExecRequest::new("", program.argv.clone(), Job::Inherit)?;
            request.share = shared_paths(&program.mpi, program, transport);
            Ok(Lab::named(lab)?.share(&request)?)
        };
        share().map_err(refused)
    }

    fn launch(
        &self,
        network: &Testbed,
        hosts: u32,
        ranks: u32,
        program: &Detected,
        transport: &Transport,
    ) -> Result<LaunchCommand, BenchError> {
        let facts = network.access.facts(ranks)?;
        let mut job = job_of(&network.cluster, facts, ranks, program, transport, PathBuf::from("/"));
        job.hosts.truncate(hosts as usize);
        if network.cluster.authenticate && matches!(transport, Transport::Tasuki(_)) {
            add_key(&mut job).map_err(refused)?;
        }
        Ok(job.command(&program.mpi)?)
    }
}
