//! How a program starts on a testbed.

use super::BuiltStack;
use crate::{
    BenchError, Launch, LaunchError, Network, Output, Run,
    lab::{
        MpiAccess, Testbed,
        peers::{self, Pair},
    },
    raw::Outcome,
};
use std::{ffi::OsString, thread, time::Duration};
use tasuki_launch::Transport;
use tasuki_process::Limited;

/// Networks and stacks of a plan.
pub(super) struct NetworkLaunch<'a> {
    pub networks: &'a [Testbed],
    pub stacks: &'a [BuiltStack],
    pub spread: Spread,
    /// Time for each raw throughput, in seconds.
    pub raw_seconds: f64,
    pub mpis: &'a dyn MpiAccess,
}

/// Over which hosts of a network ranks are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Over all.
    All,
    /// All ranks are on the first host.
    OneHost,
}

impl Spread {
    /// A network as this measurement sees it, and as its records name it.
    pub(super) fn description(self, network: &Testbed) -> Network {
        let whole = network.description();
        match self {
            Spread::All => whole,
            Spread::OneHost => {
                Network { name: format!("one host of {}", whole.name), hosts: 1, line: None, ..whole }
            }
        }
    }
}

impl<'a> NetworkLaunch<'a> {
    fn network(&self, name: &str) -> Result<&'a Testbed, BenchError> {
        let mut all = self.networks.iter();
        let found = all.find(|network| self.spread.description(network).name == name);
        found.ok_or_else(|| BenchError::refused(format!("no network {name} in the plan")))
    }

    fn start(&self, run: &Run<'_>) -> Result<Output, BenchError> {
        let network = self.network(&run.network.name)?;
        let stack = self.stacks.iter().find(|stack| stack.name == run.stack.name);
        let stack =
            stack.ok_or_else(|| BenchError::refused(format!("no stack {} in the plan", run.stack.name)))?;
        let arguments: Vec<OsString> = run.arguments.iter().map(Into::into).collect();
        start(self.mpis, network, stack, (run.network.hosts, run.ranks), &arguments, run.limit)
    }

    fn measure_raw(&self, network: &Network) -> Result<Vec<Outcome>, BenchError> {
        if self.spread == Spread::OneHost {
            return Ok(Vec::new());
        }
        let network = self.network(&network.name)?;
        let Some((from, to)) = network.neighbours() else { return Ok(Vec::new()) };
        let pair = Pair { from, to };
        let tests = peers::tests(network, pair, self.raw_seconds, true);
        Ok(vec![peers::measure(network, pair, tests)?])
    }
}

impl Launch for NetworkLaunch<'_> {
    fn launch(&mut self, run: &Run<'_>) -> Result<Output, LaunchError> {
        self.start(run).map_err(|error| error.to_string().into())
    }

    fn raw(&mut self, network: &Network) -> Result<Vec<Outcome>, LaunchError> {
        self.measure_raw(network).map_err(|error| error.to_string().into())
    }
}

/// Makes what the stacks need visible in all hosts.
pub(in crate::lab) fn share(
    mpis: &dyn MpiAccess,
    network: &Testbed,
    stacks: &[BuiltStack],
) -> Result<(), BenchError> {
    stacks.iter().try_for_each(|stack| mpis.share(network, &stack.detected, &stack.transport))
}

/// Runs a stack's program to its end with `(hosts, ranks)`: so many ranks on the first so many hosts of a
/// network.
pub fn start(
    mpis: &dyn MpiAccess,
    network: &Testbed,
    stack: &BuiltStack,
    (hosts, ranks): (u32, u32),
    arguments: &[OsString],
    limit: Duration,
) -> Result<Output, BenchError> {
    let mut detected = stack.detected.clone();
    detected.argv.splice(0..0, stack.prefix.iter().cloned());
    detected.argv.extend_from_slice(arguments);
    let is_alone = hosts == 1 && ranks > 1;
    if is_alone && network.lab().is_some() {
        // A host of a lab keeps to its own cores, which may be fewer than its ranks here need.
        let cores = thread::available_parallelism()?.get();
        let anywhere = ["/usr/bin/taskset".into(), "--cpu-list".into(), format!("0-{}", cores - 1).into()];
        detected.argv.splice(0..0, anywhere);
    }
    let command = mpis.launch(network, hosts, ranks, &detected, &stack.transport)?;
    let mut process = network.launcher(command.argv);
    process.envs(command.env);
    if is_alone && stack.transport != Transport::Tcp {
        // A provider is measured. MPICH uses its own shared memory inside a host, whatever its libfabric is
        // told, and Intel MPI by the settings of `tasuki run`; hydra passes these on.
        process.env("MPIR_CVAR_NOLOCAL", "1").env("I_MPI_FABRICS", "ofi");
    }
    process.envs(stack.variables.iter().copied());
    Ok(Limited::new(limit).end_with_parent().run(&mut process)?)
}
