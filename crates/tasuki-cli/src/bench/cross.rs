//! `tasuki bench cross`: the cross-connection paper's (a) to (d), between two hosts or with parallel
//! programs.

use super::{
    access::{LabMpis, Labs},
    bar::{Bar, interruption},
    exit::code,
};
use std::{process::ExitCode, time::Duration};
use tasuki_args::{BenchCross, give};
use tasuki_bench::lab::{
    Session,
    cross::{CrossKernels, CrossOptions, measure_pair},
    kernels::{kernel_plots, kernel_stacks},
};
use tasuki_terminal::Failure;

/// Runs the command.
pub fn run(arguments: &BenchCross) -> Result<ExitCode, Failure> {
    arguments.machines.check()?;
    let options = CrossOptions {
        rate: arguments.rate,
        delay_us: arguments.delay,
        mtu: arguments.mtu,
        bytes: arguments.bytes,
        repetitions: arguments.repetitions,
        seconds: arguments.seconds,
    };
    options.check()?;
    if !arguments.kernel.is_empty() {
        return run_kernels(arguments);
    }
    arguments.results.check("cross")?;
    let (bar, interrupted) = (Bar::default(), interruption()?);
    let session = Session { progress: &bar, interrupted: &interrupted };
    let report = measure_pair(&options, &Labs, session)?;
    give(&arguments.results, "cross", &report.text(&options), &report.json()?, || Ok(Vec::new()))?;
    Ok(code(report.failures.is_empty()))
}

fn run_kernels(arguments: &BenchCross) -> Result<ExitCode, Failure> {
    let options = CrossKernels {
        rate: arguments.rate,
        delay_us: arguments.delay,
        mtu: arguments.mtu,
        hosts: arguments.hosts,
        networks: arguments.network.clone(),
        classes: arguments.class.clone(),
        repetitions: arguments.repetitions,
        limit: Duration::from_secs(arguments.limit),
    };
    options.check(&arguments.kernel)?;
    arguments.results.check("cross-kernels")?;
    let (bar, mpis) = (Bar::default(), LabMpis::over(&arguments.transport)?);
    let programs = kernel_stacks(&arguments.kernel, &arguments.mpi, &mpis, &bar)?;
    let labs = options.up(&Labs)?;
    let interrupted = interruption()?;
    let session = Session { progress: &bar, interrupted: &interrupted };
    let report = options.measure(labs, &programs, &mpis, session)?;
    let plots = || Ok(kernel_plots("cross", &report.measured)?);
    give(&arguments.results, "cross-kernels", &report.text, &report.json, plots)?;
    Ok(code(report.measured.is_good()))
}
