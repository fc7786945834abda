//! How the benchmark is started in labs.

use super::{LabNetwork, raw, stacks::BuiltStack};
use crate::failure::Failure;
use std::{ffi::OsString, path::PathBuf, thread, time::Duration};
use tasuki_bench::{Launch, LaunchError, Network, Output, Run, raw::Outcome};
use tasuki_cluster::HostId;
use tasuki_job::{job_of, lab_facts, shared_paths};
use tasuki_lab::{ExecRequest, Job as LabJob, Lab};
use tasuki_launch::Transport;
use tasuki_process::run_limited;

/// Labs and stacks of a plan.
pub struct LabLaunch<'a> {
    networks: &'a [LabNetwork],
    stacks: &'a [BuiltStack],
    spread: Spread,
    raw_seconds: f64,
}

/// Over which hosts of a lab ranks are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Over all.
    All,
    /// All ranks are on the first host.
    OneHost,
}

impl Spread {
    /// A network as this measurement sees it, and as its records name it.
    pub fn description(self, network: &LabNetwork) -> Network {
        let whole = network.description();
        match self {
            Spread::All => whole,
            Spread::OneHost => {
                Network { name: format!("one host of {}", whole.name), hosts: 1, line: None, ..whole }
            }
        }
    }
}

impl<'a> LabLaunch<'a> {
    /// Makes what the stacks need visible in all hosts. `raw_seconds`: time for each raw throughput.
    pub fn new(
        networks: &'a [LabNetwork],
        stacks: &'a [BuiltStack],
        spread: Spread,
        raw_seconds: f64,
    ) -> Result<Self, Failure> {
        for network in networks {
            share(network, stacks)?;
        }
        Ok(Self { networks, stacks, spread, raw_seconds })
    }

    fn network(&self, name: &str) -> Result<&'a LabNetwork, Failure> {
        let mut all = self.networks.iter();
        let found = all.find(|network| self.spread.description(network).name == name);
        found.ok_or_else(|| Failure::new(format!("no network {name} in the plan")))
    }

    fn start(&self, run: &Run<'_>) -> Result<Output, Failure> {
        let network = self.network(&run.network.name)?;
        let stack = self.stacks.iter().find(|stack| stack.name == run.stack.name);
        let stack = stack.ok_or_else(|| Failure::new(format!("no stack {} in the plan", run.stack.name)))?;
        let arguments: Vec<OsString> = run.arguments.iter().map(Into::into).collect();
        start(network, run.network.hosts, stack, run.ranks, &arguments, run.limit)
    }

    fn measure_raw(&self, network: &Network) -> Result<Vec<Outcome>, Failure> {
        if self.spread == Spread::OneHost {
            return Ok(Vec::new());
        }
        let network = self.network(&network.name)?;
        let Some((from, to)) = network.neighbours() else { return Ok(Vec::new()) };
        let line = network.line_bits_per_second(from, to);
        let tests = raw::tests(line, self.raw_seconds, true);
        Ok(vec![raw::measure(network, &raw::Pair { from, to }, tests)?])
    }
}

/// Makes what the stacks need visible in all hosts.
pub fn share(network: &LabNetwork, stacks: &[BuiltStack]) -> Result<(), Failure> {
    let lab = Lab::named(&network.lab)?;
    for stack in stacks {
        let mut request = ExecRequest::new("", stack.detected.argv.clone(), LabJob::Inherit)?;
        request.share = shared_paths(&stack.detected.mpi, &stack.detected, &stack.transport);
        lab.share(&request)?;
    }
    Ok(())
}

/// Runs a stack's program on the first `hosts` hosts of a network.
pub fn start(
    network: &LabNetwork,
    hosts: u32,
    stack: &BuiltStack,
    ranks: u32,
    arguments: &[OsString],
    limit: Duration,
) -> Result<Output, Failure> {
    let mut detected = stack.detected.clone();
    detected.argv.splice(0..0, stack.prefix.iter().cloned());
    detected.argv.extend_from_slice(arguments);
    let is_alone = hosts == 1 && ranks > 1;
    if is_alone {
        // A host of a lab keeps to its own cores, which may be fewer than its ranks here need.
        let cores = thread::available_parallelism()?.get();
        let anywhere = ["/usr/bin/taskset".into(), "--cpu-list".into(), format!("0-{}", cores - 1).into()];
        detected.argv.splice(0..0, anywhere);
    }
    let facts = lab_facts(&network.cluster, ranks);
    let mut job = job_of(&network.cluster, facts, ranks, &detected, &stack.transport, PathBuf::from("/"));
    job.hosts.truncate(hosts as usize);
    let command = job.command(&detected.mpi)?;
    let mut process = network.command(HostId(0), command.argv);
    if is_alone && stack.transport != Transport::Tcp {
        // MPICH uses its own shared memory inside a host, whatever its libfabric is told; hydra passes this on.
        process.env("MPIR_CVAR_NOLOCAL", "1");
    }
    process.envs(stack.variables.iter().copied());
    Ok(run_limited(process.envs(command.env), limit)?)
}

impl Launch for LabLaunch<'_> {
    fn launch(&mut self, run: &Run<'_>) -> Result<Output, LaunchError> {
        self.start(run).map_err(|failure| failure.message.into())
    }

    fn raw(&mut self, network: &Network) -> Result<Vec<Outcome>, LaunchError> {
        self.measure_raw(network).map_err(|failure| failure.message.into())
    }
}
