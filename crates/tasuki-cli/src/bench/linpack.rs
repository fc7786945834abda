//! Linpack, which comes with the distribution's hpcc: its stack, and one run of it.

use super::{LabNetwork, kernels::TAIL_LINES, launch::start, stacks::BuiltStack};
use crate::failure::Failure;
use std::{ffi::OsString, sync::Arc, time::Duration};
use tasuki_bench::{
    hpcc,
    nas::{Case, Outcome, linpack},
};
use tasuki_job::{Finder, own_environment};
use tasuki_launch::{Mpi, Transport, find_program};

/// hpcc, if it is installed and linked with one of the MPIs of `choices` (none: with any); else, in words, why not.
pub fn stacks(finder: &Finder, choices: &[String]) -> Result<(Vec<BuiltStack>, Vec<String>), Failure> {
    let Some(program) = find_program(linpack::PROGRAM.as_ref(), &own_environment()) else {
        return Ok((Vec::new(), vec!["LINPACK: hpcc is not installed (Debian's package is hpcc)".into()]));
    };
    let mut detected = finder.detect(&[program.clone().into()], None)?;
    let chosen = choices.iter().map(|choice| finder.one(choice)).collect::<Result<Vec<_>, _>>()?;
    // By name they may differ: a loader finds /lib where a launcher says /usr/lib.
    let file = |mpi: &Mpi| mpi.library.canonicalize().unwrap_or_else(|_| mpi.library.clone());
    if !chosen.is_empty() && chosen.iter().all(|mpi| file(mpi) != file(&detected.mpi)) {
        let why = format!("LINPACK: hpcc is linked with {}, which was not asked for", detected.mpi.id());
        return Ok((Vec::new(), vec![why]));
    }
    let folder = tempfile::tempdir()?;
    // Named in words of their own, folder and program are made visible in every host.
    let words: [OsString; 4] = ["/usr/bin/env".into(), "-C".into(), folder.path().into(), program.into()];
    detected.argv = words.into();
    let stack = BuiltStack {
        name: detected.mpi.id(),
        transport: Transport::Tcp,
        detected,
        prefix: Vec::new(),
        variables: Vec::new(),
        folder: Some(Arc::new(folder)),
    };
    Ok((vec![stack], Vec::new()))
}

/// One run; else why there are no figures, and the end of what it said.
pub fn run(
    case: &Case,
    network: &LabNetwork,
    stack: &BuiltStack,
    limit: Duration,
) -> Result<Outcome, (String, String)> {
    let plain = |error: &dyn std::fmt::Display| (error.to_string(), String::new());
    let folder = stack.folder.as_ref().ok_or_else(|| plain(&"it has no folder"))?.path();
    let input = linpack::input(case.class, case.ranks).map_err(|error| plain(&error))?;
    hpcc::prepare(folder, &input).map_err(|error| plain(&error))?;
    let output = start(network, case.hosts, stack, case.ranks, &[], limit);
    let output = output.map_err(|failure| plain(&failure.message))?;
    if !output.is_success() {
        return Err((output.reason(), output.stderr_tail(TAIL_LINES)));
    }
    let judged = hpcc::collect(folder, &input).map_err(|error| plain(&error))?;
    let failed: Vec<_> = judged.failed().map(|check| format!("{}: {}", check.name, check.detail)).collect();
    if !failed.is_empty() {
        return Err((format!("{} of its verifications do not hold", failed.len()), failed.join("\n")));
    }
    linpack::outcome(case.class, case.ranks, &judged).map_err(|error| plain(&error))
}
