//! `tasuki bench nas`: real parallel programs on networks, beside one host alone.

use super::{
    LabNetwork,
    kernels::{Kernels, check_classes, plots, programs},
    mpi::over_tcp,
    results::give,
};
use crate::{args::BenchNas, failure::Failure};
use std::{process::ExitCode, time::Duration};
use tasuki_bench::nas::Kernel;

/// Runs the command.
pub fn run(arguments: &BenchNas) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let programs = programs(&arguments.kernel, &arguments.mpi, &arguments.transport)?;
    let networks = LabNetwork::of(&arguments.source)?;
    let report = Kernels {
        networks: &networks,
        programs: &programs,
        classes: &arguments.class,
        ranks: &arguments.ranks,
        repetitions: arguments.repetitions,
        limit: Duration::from_secs(arguments.limit),
    }
    .run()?;
    let table = report.table(over_tcp);
    give(&arguments.results, "nas", &table, &report.json(), || plots("nas", &report))?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says at once what would fail later.
fn check(arguments: &BenchNas) -> Result<(), Failure> {
    if let Some(ranks) = arguments.ranks.iter().find(|ranks| !Kernel::Is.allows(**ranks)) {
        let most = Kernel::MOST_RANKS;
        return Err(Failure::new(format!("{ranks} ranks: the kernels run on powers of two up to {most}")));
    }
    if arguments.repetitions == 0 {
        return Err(Failure::new("--repetitions 0: nothing would be measured"));
    }
    check_classes(&arguments.kernel, &arguments.class)
}
