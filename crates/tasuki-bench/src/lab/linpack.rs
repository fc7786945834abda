//! Linpack, which comes with the distribution's hpcc: its stack, and one run of it.

use super::{
    MpiAccess, TAIL_LINES, Testbed,
    mpi::{BuiltStack, start},
};
use crate::{
    BenchError, hpcc,
    nas::{Case, Outcome, linpack},
};
use std::{ffi::OsString, sync::Arc, time::Duration};
use tasuki_launch::{Mpi, Transport, find_program};

/// hpcc, if it is installed and linked with one of the MPIs of `choices` (none: with any); else, in words,
/// why not.
pub(super) fn stacks(
    mpis: &dyn MpiAccess,
    choices: &[String],
) -> Result<(Vec<BuiltStack>, Vec<String>), BenchError> {
    let environment = std::env::vars_os().collect();
    let Some(program) = find_program(linpack::PROGRAM.as_ref(), &environment) else {
        return Ok((Vec::new(), vec!["LINPACK: hpcc is not installed (Debian's package is hpcc)".into()]));
    };
    let mut detected = mpis.detect(&[program.clone().into()], None)?;
    let chosen = choices.iter().map(|choice| mpis.one(choice)).collect::<Result<Vec<_>, _>>()?;
    // One library may have two names: a loader finds /lib where a launcher says /usr/lib.
    let file = |mpi: &Mpi| mpi.library.canonicalize().unwrap_or_else(|_| mpi.library.clone());
    if !chosen.is_empty() && chosen.iter().all(|mpi| file(mpi) != file(&detected.mpi)) {
        let why = format!("LINPACK: hpcc is linked with {}, which was not asked for", detected.mpi.id());
        return Ok((Vec::new(), vec![why]));
    }
    let folder = tempfile::tempdir()?;
    // Folder and program are arguments of their own, because these are made visible in every host.
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
pub(super) fn run(
    mpis: &dyn MpiAccess,
    case: &Case,
    network: &Testbed,
    stack: &BuiltStack,
    limit: Duration,
) -> Result<Outcome, (String, String)> {
    let plain = |error: &dyn std::fmt::Display| (error.to_string(), String::new());
    let folder = stack.folder.as_ref().ok_or_else(|| plain(&"it has no folder"))?.path();
    let input = linpack::input(case.class, case.ranks).map_err(|error| plain(&error))?;
    hpcc::prepare(folder, &input).map_err(|error| plain(&error))?;
    let output = start(mpis, network, stack, (case.hosts, case.ranks), &[], limit);
    let output = output.map_err(|error| plain(&error))?;
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
