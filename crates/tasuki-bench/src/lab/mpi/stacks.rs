//! The MPIs to measure, each with a program built for it.

use crate::{BenchError, lab::MpiAccess, nas, nas::Kernel, program, startup};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};
use tasuki_launch::{Detected, Flavour, Mpi, Origin, Transport};
use tempfile::TempDir;

/// What is built for every MPI.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    /// `tasuki-mpi-bench`.
    Bench,
    /// `tasuki-startup`.
    Startup,
    /// One of `bench/nas`.
    Nas(Kernel),
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Program::Bench => program::NAME,
            Program::Startup => startup::NAME,
            Program::Nas(kernel) => kernel.program(),
        }
    }

    fn build(self, mpicc: &Path, target: &Path) -> Result<(), BenchError> {
        match self {
            Program::Bench => Ok(program::build(mpicc, target)?),
            Program::Startup => Ok(startup::build(mpicc, target)?),
            Program::Nas(kernel) => Ok(nas::build(kernel, mpicc, target)?),
        }
    }
}

/// An MPI with its transport, and a program that was built for it.
#[derive(Clone)]
pub struct BuiltStack {
    /// Name in records, as `openmpi-4.1.4`; with ` tasuki` behind it over Tasuki.
    pub name: String,
    /// What carries its messages.
    pub transport: Transport,
    /// The program, moved to this MPI if it was built with another of the same ABI.
    pub detected: Detected,
    /// Words before the program on its hosts, of a command that becomes the program.
    pub prefix: Vec<OsString>,
    /// Variables of the launcher, which passes them on to all ranks.
    pub variables: Vec<(&'static str, &'static str)>,
    /// Where the first rank reads its problem and writes its results, if it does; removed with the last stack
    /// that uses it.
    pub folder: Option<Arc<TempDir>>,
}

/// Builds a program for each MPI of `choices`, or for all that are installed. What cannot be built is
/// returned beside it, in words.
pub fn build_stacks(
    mpis: &dyn MpiAccess,
    choices: &[String],
    program: Program,
) -> Result<(Vec<BuiltStack>, Vec<String>), BenchError> {
    let installed = mpis.installed();
    let chosen = match choices {
        [] => installed.clone(),
        names => names.iter().map(|name| mpis.one(name)).collect::<Result<_, _>>()?,
    };
    if chosen.is_empty() {
        return Err(BenchError::refused(format!("no MPI is installed: {}", Origin::own().install_mpi())));
    }
    let (mut stacks, mut problems) = (Vec::new(), Vec::new());
    for mpi in chosen {
        match stack(mpis, &mpi, &installed, program) {
            Ok(stack) => stacks.push(stack),
            Err(error) => problems.push(format!("{}: {error}", mpi.id())),
        }
    }
    if stacks.is_empty() {
        return Err(BenchError::refused(problems.join("\n")));
    }
    Ok((stacks, problems))
}

/// Every stack over each transport that is to be measured, those of one MPI side by side. What cannot be is
/// returned in words.
pub fn over_transports(mpis: &dyn MpiAccess, stacks: Vec<BuiltStack>) -> (Vec<BuiltStack>, Vec<String>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for stack in stacks {
        for transport in mpis.transports(&stack.detected.mpi) {
            match transport {
                Ok(Transport::Tcp) => all.push(stack.clone()),
                Ok(transport) => {
                    let name = format!("{} {}", stack.name, transport.name());
                    all.push(BuiltStack { name, transport, ..stack.clone() });
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
    }
    (all, problems)
}

fn stack(
    mpis: &dyn MpiAccess,
    mpi: &Mpi,
    installed: &[Mpi],
    program: Program,
) -> Result<BuiltStack, BenchError> {
    // Intel MPI's runtime has no compiler wrapper: programs built with an MPICH run on it.
    let builder = match compiler(mpi) {
        Some(_) => mpi,
        None => installed
            .iter()
            .find(|other| other.flavour == Flavour::Mpich && compiler(other).is_some())
            .ok_or_else(|| {
            BenchError::refused("it has no mpicc, and there is no MPICH whose programs it could run")
        })?,
    };
    let mpicc = compiler(builder).ok_or_else(|| BenchError::refused("it has no mpicc"))?;
    let target = folder()?.join(builder.id()).join(program.name());
    program.build(&mpicc, &target)?;
    let argv = [OsString::from(target)];
    let prefix = mpi.launcher.to_string_lossy().into_owned();
    let choice = (builder.library != mpi.library).then_some(prefix.as_str());
    Ok(BuiltStack {
        name: mpi.id(),
        transport: Transport::Tcp,
        detected: mpis.detect(&argv, choice)?,
        prefix: Vec::new(),
        variables: Vec::new(),
        folder: None,
    })
}

/// The compiler wrapper that stands beside an MPI's launcher, with the launcher's suffix (`mpirun.openmpi`).
fn compiler(mpi: &Mpi) -> Option<PathBuf> {
    let folder = mpi.launcher.parent()?;
    let suffix = mpi.launcher.extension().map(|suffix| format!("mpicc.{}", suffix.to_string_lossy()));
    let names = suffix.into_iter().chain(["mpicc".into()]);
    let mut found = names.map(|name| folder.join(name)).filter(|path| path.is_file());
    // Intel MPI's runtime (impi-rt) brings wrapper scripts without the headers that they need.
    found.find(|_| mpi.flavour != Flavour::Intel)
}

/// Where built programs are kept: beside this one in a checkout, else in the user's cache.
fn folder() -> Result<PathBuf, BenchError> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent);
    if let Some(target) = target.filter(|target| target.ends_with("target")) {
        return Ok(target.join("mpi-bench"));
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache =
        cache.or(home).ok_or_else(|| BenchError::refused("neither XDG_CACHE_HOME nor HOME is set"))?;
    Ok(cache.join("tasuki/mpi-bench"))
}
