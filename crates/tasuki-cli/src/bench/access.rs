//! Gives the measurements of `tasuki-bench` access to the labs and MPIs of the command.

use super::network::LabNetwork;
use crate::{
    args::LabSource,
    failure::Failure,
    transport::{Wanted, choose},
};
use std::{ffi::OsString, path::PathBuf, process::Command};
use tasuki_bench::{
    BenchError,
    lab::{LabAccess, LabBuilder, MpiAccess, Testbed},
};
use tasuki_cluster::{Cluster, HostId};
use tasuki_fleet::LabHosts;
use tasuki_job::{Finder, job_of, lab_facts, shared_paths};
use tasuki_lab::{ExecRequest, HOST_PROGRAM, Job, Lab, LabOptions};
use tasuki_launch::{Detected, LaunchCommand, Mpi, Transport};

impl LabAccess for LabNetwork {
    fn command(&self, host: HostId, argv: Vec<OsString>) -> Command {
        LabHosts::command(self, host, argv)
    }
}

/// The testbed of a lab.
pub fn testbed(network: LabNetwork) -> Testbed {
    Testbed {
        name: network.name.clone(),
        lab: network.lab.clone(),
        cluster: network.cluster.clone(),
        plan: network.plan.clone(),
        options: network.options.clone(),
        program: HOST_PROGRAM,
        access: Box::new(network),
    }
}

/// The labs that a command's arguments ask for: generated ones, those of files, or one that is up.
pub fn testbeds(source: &LabSource) -> Result<Vec<Testbed>, Failure> {
    Ok(LabNetwork::of(source)?.into_iter().map(testbed).collect())
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
}

impl LabMpis {
    /// The MPIs, each to be measured over these transports.
    pub fn over(wanted: &[Wanted]) -> Result<Self, Failure> {
        Ok(Self { finder: Finder::local()?, wanted: wanted.to_vec() })
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
        self.wanted.iter().map(|wanted| choose(Some(*wanted), mpi).map_err(refused)).collect()
    }

    fn share(&self, lab: &Testbed, program: &Detected, transport: &Transport) -> Result<(), BenchError> {
        let share = || -> Result<(), Failure> {
            let mut request = ExecRequest::new("", program.argv.clone(), Job::Inherit)?;
            request.share = shared_paths(&program.mpi, program, transport);
            Ok(Lab::named(&lab.lab)?.share(&request)?)
        };
        share().map_err(refused)
    }

    fn launch(
        &self,
        lab: &Testbed,
        hosts: u32,
        ranks: u32,
        program: &Detected,
        transport: &Transport,
    ) -> Result<LaunchCommand, BenchError> {
        let facts = lab_facts(&lab.cluster, ranks);
        let mut job = job_of(&lab.cluster, facts, ranks, program, transport, PathBuf::from("/"));
        job.hosts.truncate(hosts as usize);
        Ok(job.command(&program.mpi)?)
    }
}
