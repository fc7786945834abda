//! Real machines to measure on, reached as `tasuki run --cluster` reaches them.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};
use tasuki_bench::{
    BenchError,
    lab::{HostAccess, HostKind, Testbed, mpi::BuiltStack},
};
use tasuki_cluster::{AddressPlan, Cluster, HostId};
use tasuki_fleet::{Fleet, SshHosts, Task};
use tasuki_job::{Readiness, copy_to_all, facts, lacking, ready_cluster};
use tasuki_launch::{Facts, Transport};
use tasuki_terminal::Failure;

/// The machines of a cluster file.
#[derive(Clone)]
pub struct Machines {
    fleet: Fleet,
}

/// The machines of a cluster file, over plain ssh.
pub fn machines(file: &Path) -> Result<Fleet, Failure> {
    Ok(Fleet::Ssh(Box::new(SshHosts::new(Cluster::load(file)?))))
}

/// The machines of a fleet, asked and found in order, and the testbed that they are.
pub fn machines_of(fleet: &Fleet, readiness: Readiness) -> Result<(Testbed, Machines), Failure> {
    let cluster = ready_cluster(fleet, readiness)?;
    let fleet = match fleet {
        Fleet::Ssh(hosts) => Fleet::Ssh(Box::new(hosts.with_cluster(cluster.clone()))),
        other => other.clone(),
    };
    let machines = Machines { fleet };
    let testbed = Testbed {
        name: cluster.name.clone(),
        kind: HostKind::Machines { as_root: machines.is_root_everywhere()? },
        plan: AddressPlan::new(&cluster)?,
        cluster,
        access: Box::new(machines.clone()),
    };
    Ok((testbed, machines))
}

impl Machines {
    /// Whether commands have root's rights on every machine.
    fn is_root_everywhere(&self) -> Result<bool, Failure> {
        let answers = self.fleet.run_all(&Task::program(["id", "-u"]));
        let users = answers.into_iter().map(|answer| answer.text().map(|user| user.trim() == "0"));
        Ok(users.collect::<Result<Vec<_>, _>>()?.into_iter().all(|is_root| is_root))
    }

    /// The stacks whose MPI all machines have, with their programs copied to machines that lack them; and in
    /// words why others are left out, and where programs were copied to.
    pub fn place(&self, stacks: Vec<BuiltStack>) -> Result<(Vec<BuiltStack>, Vec<String>), Failure> {
        let (mut placed, mut notes) = (Vec::new(), Vec::new());
        for stack in stacks {
            let missing = lacking(&self.fleet, &files(&stack))?;
            if !missing.is_empty() {
                notes.push(format!("left out: {}", complaint(&stack, &missing)));
                continue;
            }
            let program = Path::new(&stack.detected.argv[0]);
            let copied = copy_to_all(&self.fleet, program)?;
            if !copied.is_empty() {
                notes.push(format!("{} was copied to {}", program.display(), copied.join(", ")));
            }
            placed.push(stack);
        }
        match placed.is_empty() {
            true => Err(Failure::new(notes.join("\n"))),
            false => Ok((placed, notes)),
        }
    }
}

/// What every machine must have for a stack besides the program: the MPI's library and launcher, and Tasuki's
/// provider, at the same paths as here.
fn files(stack: &BuiltStack) -> Vec<PathBuf> {
    let mpi = &stack.detected.mpi;
    let mut all = vec![mpi.library.clone(), mpi.launcher.clone()];
    if let Transport::Tasuki(provider) = &stack.transport {
        all.push(provider.library.clone());
    }
    all
}

/// Why a stack cannot run: what machines lack, and what helps.
fn complaint(stack: &BuiltStack, missing: &[(String, Vec<PathBuf>)]) -> String {
    let list = |paths: &[PathBuf]| {
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        paths.join(" and ")
    };
    let hosts: Vec<_> = missing.iter().map(|(host, paths)| format!("{host} lacks {}", list(paths))).collect();
    let mpi = &stack.detected.mpi;
    let has_mpi =
        missing.iter().all(|(_, paths)| !paths.contains(&mpi.library) && !paths.contains(&mpi.launcher));
    let remedy = match has_mpi {
        true => "install the same package of tasuki there as here".to_owned(),
        false => format!("install {} there at the same place as here, or choose others with --mpi", mpi.id()),
    };
    format!("{}: {}; {remedy}", stack.name, hosts.join(", "))
}

impl HostAccess for Machines {
    fn command(&self, host: HostId, argv: Vec<OsString>) -> Command {
        self.fleet.command(host.0, &Task::program(argv))
    }

    fn tasuki(&self, host: HostId, arguments: Vec<OsString>) -> Command {
        self.fleet.command(host.0, &Task::tasuki(arguments))
    }

    fn launcher(&self, argv: Vec<OsString>) -> Command {
        let mut words = argv.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    fn facts(&self, ranks: u32) -> Result<Facts, BenchError> {
        facts(&self.fleet, ranks).map_err(BenchError::refused)
    }
}
