//! `tasuki bench nas`: real parallel programs on networks, beside one host alone.

use super::{
    access::{LabMpis, Networks, readiness},
    bar::{Bar, interruption},
    exit::code,
};
use std::{process::ExitCode, time::Duration};
use tasuki_args::{BenchNas, give};
use tasuki_bench::{
    lab::{
        Progress, Session,
        kernels::{Kernels, check_classes, kernel_plots, kernel_stacks},
        mpi::over_tcp,
    },
    nas::Kernel,
};
use tasuki_terminal::Failure;

/// Runs the command.
pub fn run(arguments: &BenchNas) -> Result<ExitCode, Failure> {
    check(arguments)?;
    arguments.source.check_rights()?;
    arguments.results.check("nas")?;
    let (bar, mpis) = (Bar::default(), LabMpis::over(&arguments.mpis.transport)?);
    let programs = kernel_stacks(&arguments.kernel, &arguments.mpis.mpi, &mpis, &bar)?;
    let hosts = Networks::of(&arguments.source, readiness(&arguments.mpis.transport))?;
    let mut placed = Vec::new();
    for (kernel, stacks) in programs {
        let (stacks, notes) = hosts.place(stacks)?;
        notes.iter().for_each(|note| bar.note(note));
        placed.push((kernel, stacks));
    }
    let programs = placed;
    let kernels = Kernels {
        networks: &hosts.testbeds,
        programs: &programs,
        classes: &arguments.class,
        ranks: &arguments.ranks,
        repetitions: arguments.repetitions,
        limit: Duration::from_secs(arguments.limit),
        mpis: &mpis,
    };
    let report = kernels.run(Session { progress: &bar, interrupted: &*interruption()? })?;
    let table = report.table(over_tcp);
    give(&arguments.results, "nas", &table, &report.json(), || Ok(kernel_plots("nas", &report)?))?;
    Ok(code(report.is_good()))
}

/// Refuses options at once that would fail later.
fn check(arguments: &BenchNas) -> Result<(), Failure> {
    if let Some(ranks) = arguments.ranks.iter().find(|ranks| !Kernel::Is.allows(**ranks)) {
        let most = Kernel::MOST_RANKS;
        return Err(Failure::new(format!("{ranks} ranks: the kernels run on powers of two up to {most}")));
    }
    if arguments.repetitions == 0 {
        return Err(Failure::new("--repetitions 0: nothing would be measured"));
    }
    if arguments.source.cluster.is_some() && arguments.kernel.contains(&Kernel::Linpack) {
        return Err(Failure::new(
            "--kernel linpack is measured in labs; on machines run hpcc: `tasuki run -n RANKS --cluster FILE \
             hpcc`, in a folder with its hpccinf.txt",
        ));
    }
    Ok(check_classes(&arguments.kernel, &arguments.class)?)
}
