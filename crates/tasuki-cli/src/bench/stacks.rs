//! The MPIs to measure, each with the benchmark built for it.

use crate::{
    failure::Failure,
    transport::{Wanted, choose},
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};
use tasuki_bench::{nas, nas::Kernel, program, startup};
use tasuki_job::Finder;
use tasuki_launch::{Detected, Flavour, Mpi, Transport};
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

    fn build(self, mpicc: &Path, target: &Path) -> Result<(), Failure> {
        match self {
            Program::Bench => Ok(program::build(mpicc, target)?),
            Program::Startup => Ok(startup::build(mpicc, target)?),
            Program::Nas(kernel) => Ok(nas::build(kernel, mpicc, target)?),
        }
    }
}

/// An MPI with its transport, and how the benchmark runs on it.
#[derive(Clone)]
pub struct BuiltStack {
    /// Name in records, as `openmpi-4.1.4`; with ` tasuki` behind it over Tasuki.
    pub name: String,
    /// What carries its messages.
    pub transport: Transport,
    /// The program, moved to this MPI if it was built with another of the same ABI.
    pub detected: Detected,
    /// What stands before the program on its hosts.
    pub prefix: Vec<OsString>,
    /// Variables of the launcher, which passes them on to all ranks.
    pub variables: Vec<(&'static str, &'static str)>,
    /// Where the first rank reads its problem and writes its results, if it does; removed with the last stack that uses it.
    pub folder: Option<Arc<TempDir>>,
}

/// Builds a program for each MPI of `choices`, or for all that are installed. What cannot be built is
/// returned beside it, in words.
pub fn build(
    finder: &Finder,
    choices: &[String],
    program: Program,
) -> Result<(Vec<BuiltStack>, Vec<String>), Failure> {
    let installed = finder.installed();
    let mpis = match choices {
        [] => installed.clone(),
        names => names.iter().map(|name| finder.one(name)).collect::<Result<_, _>>()?,
    };
    if mpis.is_empty() {
        return Err(Failure::new(
            "no MPI is installed; `make setup` installs Debian's Open MPI, `make peers` four others",
        ));
    }
    let (mut stacks, mut problems) = (Vec::new(), Vec::new());
    for mpi in mpis {
        match stack(finder, &mpi, &installed, program) {
            Ok(stack) => stacks.push(stack),
            Err(failure) => problems.push(format!("{}: {}", mpi.id(), failure.message)),
        }
    }
    if stacks.is_empty() {
        return Err(Failure::new(problems.join("\n")));
    }
    Ok((stacks, problems))
}

/// Every stack over each of the transports, those of one MPI side by side. What cannot be is returned in words.
pub fn over(stacks: Vec<BuiltStack>, transports: &[Wanted]) -> (Vec<BuiltStack>, Vec<String>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for stack in stacks {
        for wanted in transports {
            match choose(Some(*wanted), &stack.detected.mpi) {
                Ok(Transport::Tcp) => all.push(stack.clone()),
                Ok(transport) => {
                    let name = format!("{} {}", stack.name, transport.name());
                    all.push(BuiltStack { name, transport, ..stack.clone() });
                }
                Err(failure) => problems.push(failure.message),
            }
        }
    }
    (all, problems)
}

fn stack(finder: &Finder, mpi: &Mpi, installed: &[Mpi], program: Program) -> Result<BuiltStack, Failure> {
    // Intel MPI's runtime has no compiler wrapper: programs built with an MPICH run on it.
    let builder = match compiler(mpi) {
        Some(_) => mpi,
        None => installed
            .iter()
            .find(|other| other.flavour == Flavour::Mpich && compiler(other).is_some())
            .ok_or_else(|| {
            Failure::new("it has no mpicc, and there is no MPICH whose programs it could run")
        })?,
    };
    let mpicc = compiler(builder).ok_or_else(|| Failure::new("it has no mpicc"))?;
    let target = folder()?.join(builder.id()).join(program.name());
    program.build(&mpicc, &target)?;
    let argv = [OsString::from(target)];
    let prefix = mpi.launcher.to_string_lossy().into_owned();
    let choice = (builder.library != mpi.library).then_some(prefix.as_str());
    Ok(BuiltStack {
        name: mpi.id(),
        transport: Transport::Tcp,
        detected: finder.detect(&argv, choice)?,
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
    // impi-rt brings wrapper scripts without the headers that they need.
    found.find(|_| mpi.flavour != Flavour::Intel)
}

/// Where built programs are kept: beside this one in a checkout, else in the user's cache.
fn folder() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent);
    if let Some(target) = target.filter(|target| target.ends_with("target")) {
        return Ok(target.join("mpi-bench"));
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or(home).ok_or_else(|| Failure::new("neither XDG_CACHE_HOME nor HOME is set"))?;
    Ok(cache.join("tasuki/mpi-bench"))
}
