//! From what the user asks for to a running launcher.

use crate::{
    RunError, check_one_network, child, facts,
    facts::{cluster_facts, local_cluster},
    names::check_names,
    random,
    setup::{Answers, OR_COPY, OR_TCP, ask, check_program, check_ready, with_cores},
    transport::{passed_on, paths},
};
use nix::unistd::Uid;
use std::{
    collections::BTreeSet, ffi::OsString, os::unix::process::CommandExt, path::PathBuf, process::Command,
};
use tasuki_cluster::Cluster;
use tasuki_fleet::Fleet;
use tasuki_lab::{ExecRequest, Exit, Job as LabJob, Lab};
use tasuki_launch::{Detected, Facts, Job, JobHost, LaunchCommand, Mpi, Placement, STOP_GRACE, Transport};

/// The variable with the key of the job, which every endpoint reads.
pub(crate) const JOB_KEY: &str = "TASUKI_JOB_KEY";

/// Words of a shell that draw a key for a job: 16 random bytes in hexadecimal.
const NEW_KEY: &str = r#""$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')""#;

/// The key that a job needs on a cluster whose file says `authenticate = true`, for those who start the job
/// by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyAdvice {
    /// The variable that every rank must have.
    pub variable: &'static str,
    /// The words of a shell that give its value. They draw it: no key is shown.
    pub shell: &'static str,
    /// Why it is needed.
    pub why: &'static str,
}

/// What a plain `mpirun` over this transport needs to authenticate its packets; `None`: the cluster does not
/// ask for it.
///
/// # Errors
/// If the cluster asks for it, and the transport does not do it.
pub fn key_advice(cluster: &Cluster, transport: &Transport) -> Result<Option<KeyAdvice>, RunError> {
    match (cluster.authenticate, transport) {
        (false, _) => Ok(None),
        (true, Transport::Tcp) => Err(RunError::Unauthenticated),
        (true, _) => Ok(Some(KeyAdvice {
            variable: JOB_KEY,
            shell: NEW_KEY,
            why: "the cluster file says authenticate = true: all ranks of a job need one key, which this \
                  draws in your shell and does not show",
        })),
    }
}

/// A job as the user asks for it.
#[derive(Clone, Debug)]
pub struct JobRequest<'a> {
    /// Number of ranks.
    pub ranks: u32,
    /// The program with its arguments, and its MPI.
    pub detected: &'a Detected,
    /// A command with which each rank runs the program: words that stand before it.
    pub front: &'a [OsString],
    /// What carries its messages.
    pub transport: &'a Transport,
    /// The order in which hosts are filled.
    pub placement: Placement,
    /// Variables for the ranks: `NAME=VALUE`, or `NAME` with this process's value.
    pub exports: &'a [String],
    /// Working directory of the ranks.
    pub folder: PathBuf,
    /// Whether all hosts are known to have the program.
    pub is_everywhere: bool,
}

/// A job that is ready to be run.
#[derive(Clone, Debug)]
pub struct PreparedJob {
    /// The launcher's command.
    pub command: LaunchCommand,
    /// Paths that every host of a lab must see.
    share: Vec<PathBuf>,
    /// Whether its ranks speak Tasuki, so that all hosts need the same version.
    over_tasuki: bool,
    /// What the hosts said of themselves, if they were asked already.
    answers: Option<Answers>,
    /// Whether its key was drawn here, and not given by the user.
    has_own_key: bool,
    /// The names of hosts that have ranks.
    hosts: Vec<String>,
    /// The program, if it is not known that all hosts have it.
    program: Vec<PathBuf>,
}

impl JobRequest<'_> {
    /// Works out the launcher's command for a fleet. Nothing is started.
    ///
    /// # Errors
    /// If the hosts, the MPI or the transport do not allow such a job, or a variable has no value.
    pub fn prepare(&self, fleet: &Fleet) -> Result<PreparedJob, RunError> {
        let alone = local_cluster();
        let cluster = fleet.cluster().unwrap_or(&alone);
        check_one_network(cluster)?;
        let Self { detected, transport, .. } = self;
        // All hosts of a lab share this machine's cores, so that a number of each would say nothing.
        let is_asked =
            matches!(fleet, Fleet::Ssh(_)) && cluster.hosts.iter().any(|host| host.cores.is_none());
        let program = detected.argv.first().filter(|_| !self.is_everywhere).map(PathBuf::from);
        let program: Vec<_> = program.into_iter().collect();
        let answers = is_asked.then(|| ask(fleet, &program));
        let known = answers.as_ref().map(|answers| with_cores(cluster, answers));
        let cluster = known.as_ref().unwrap_or(cluster);
        let facts = match fleet {
            Fleet::Ssh(_) => cluster_facts(cluster, self.ranks)?,
            _ => facts(fleet, self.ranks)?,
        };
        let mut job = job_of(cluster, facts, self.ranks, detected, transport, self.folder.clone());
        job.argv.splice(..0, self.front.iter().cloned());
        job.placement = self.placement;
        job.env.extend(exports(self.exports)?);
        let has_own_key = !job.env.iter().any(|(name, _)| name == JOB_KEY);
        if cluster.authenticate {
            authenticate(&mut job)?;
        }
        let mut share = shared_paths(&detected.mpi, detected, transport);
        share.extend(std::env::var_os("TASUKI_RAILS").map(PathBuf::from));
        let over_tasuki = matches!(transport, Transport::Tasuki(_));
        let command = job.command(&detected.mpi)?;
        let numbers: BTreeSet<usize> = job.hosts_of_ranks().into_iter().collect();
        let hosts = numbers.into_iter().map(|number| job.hosts[number].name.clone()).collect();
        Ok(PreparedJob { command, share, over_tasuki, answers, has_own_key, hosts, program })
    }
}

impl PreparedJob {
    /// The launcher's command as one would type it in a shell. It goes to terminals and logs, so the key of
    /// the job is not in it: a shell that runs the command draws another one, or takes the user's.
    pub fn shown(&self) -> String {
        let key = match self.has_own_key {
            true => NEW_KEY.to_owned(),
            false => format!("\"${JOB_KEY}\""),
        };
        self.command.to_shell_without(|name| (name == JOB_KEY).then(|| key.clone()))
    }

    /// Runs the job to its end with this process's streams and signals. In a lab the launcher runs on the
    /// first host, and everything of the job ends with it. On real machines the launcher takes this process's
    /// place, so this returns only if that fails: signals, output and exit code are the launcher's own.
    ///
    /// # Errors
    /// If the job is to run over Tasuki and hosts do not answer, run another version, or are not set up by
    /// the fleet's cluster file; or if the launcher cannot be started.
    pub fn run(mut self, fleet: &Fleet) -> Result<Exit, RunError> {
        self.check(fleet)?;
        if let Fleet::Ssh(_) | Fleet::Local = fleet {
            let LaunchCommand { argv, env } = self.command;
            let source = Command::new(&argv[0]).args(&argv[1..]).envs(env).exec();
            return Err(RunError::Launcher { program: argv[0].clone().into(), source });
        }
        self.start(fleet)
    }

    /// Like [`Self::run`], but returns when the job has ended on real machines, too: signals are forwarded to
    /// the launcher.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_and_return(mut self, fleet: &Fleet) -> Result<Exit, RunError> {
        self.check(fleet)?;
        self.start(fleet)
    }

    fn start(self, fleet: &Fleet) -> Result<Exit, RunError> {
        match fleet {
            Fleet::Lab(lab) => {
                let first = lab.cluster.hosts.first().ok_or(RunError::NoHosts)?;
                self.run_in_lab(&Lab::named(&lab.lab)?, &first.name)
            }
            Fleet::Ssh(_) | Fleet::Local => child::run(self.command),
        }
    }

    /// Refuses what the hosts cannot run.
    fn check(&mut self, fleet: &Fleet) -> Result<(), RunError> {
        let is_over_ssh = match fleet {
            // Nothing has to be set up for messages in shared memory.
            Fleet::Local => return Ok(()),
            Fleet::Lab(_) => false,
            Fleet::Ssh(_) => true,
        };
        if is_over_ssh {
            check_names(&self.hosts, &fleet.apply_command())?;
        }
        // A table of rails that the user names goes before the one that `apply` has written.
        let has_rails = !self.over_tasuki || std::env::var_os("TASUKI_RAILS").is_some();
        // Hosts of a lab see this machine's files.
        let program: &[PathBuf] = if is_over_ssh { &self.program } else { &[] };
        if has_rails && program.is_empty() {
            return Ok(());
        }
        let answers = self.answers.take().unwrap_or_else(|| ask(fleet, program));
        if !has_rails {
            check_ready(fleet, &answers, OR_TCP)?;
        }
        check_program(&answers, &self.hosts, OR_COPY)
    }

    fn run_in_lab(self, lab: &Lab, first: &str) -> Result<Exit, RunError> {
        let mut request = ExecRequest::new(first, self.command.argv, LabJob::Root)?;
        for (name, value) in self.command.env {
            request.env.retain(|(known, _)| *known != name);
            request.env.push((name, value));
        }
        request.share = self.share;
        lab.share(&request)?;
        Ok(lab.run(request, Some(STOP_GRACE))?)
    }
}

/// Draws a key for a job, unless the user has given one. It reaches the ranks in their environment, of which
/// launchers name the variable alone on command lines.
fn authenticate(job: &mut Job) -> Result<(), RunError> {
    if job.transport == Transport::Tcp {
        return Err(RunError::Unauthenticated);
    }
    add_key(job)
}

/// Draws a key for a job over Tasuki, unless the user has given one: its endpoints authenticate messages with
/// it where the cluster's file says `authenticate = true`.
///
/// # Errors
/// If the kernel gives no random numbers.
pub fn add_key(job: &mut Job) -> Result<(), RunError> {
    if job.env.iter().any(|(name, _)| name == JOB_KEY) {
        return Ok(());
    }
    job.env.push((JOB_KEY.into(), random::digits()?.into()));
    Ok(())
}

/// A job of these ranks on all hosts of a cluster.
pub fn job_of(
    cluster: &Cluster,
    facts: Facts,
    ranks: u32,
    detected: &Detected,
    transport: &Transport,
    folder: PathBuf,
) -> Job {
    let host =
        |host: &tasuki_cluster::Host| JobHost { name: host.name.clone(), slots: host.cores.unwrap_or(1) };
    Job {
        ranks,
        argv: detected.argv.clone(),
        hosts: cluster.hosts.iter().map(host).collect(),
        placement: Placement::ByNode,
        transport: transport.clone(),
        facts,
        as_root: Uid::effective().is_root(),
        env: detected.env.iter().cloned().chain(passed_on()).collect(),
        folder: Some(folder),
    }
}

/// Paths that every host must see for a job to run.
pub fn shared_paths(mpi: &Mpi, detected: &Detected, transport: &Transport) -> Vec<PathBuf> {
    let mut all = vec![mpi.prefix().to_owned(), mpi.library_folder().to_owned()];
    all.extend(paths(transport));
    // Arguments may be paths: of scripts, of inputs.
    all.extend(detected.argv.iter().map(PathBuf::from).filter(|path| path.is_absolute() && path.exists()));
    all
}

/// Variables from `NAME=VALUE`, or from `NAME` with this process's value.
pub(crate) fn exports(given: &[String]) -> Result<Vec<(OsString, OsString)>, RunError> {
    let export = |text: &String| match text.split_once('=') {
        Some((name, value)) => Ok((name.into(), value.into())),
        None => match std::env::var_os(text) {
            Some(value) => Ok((text.into(), value)),
            None => Err(RunError::NoVariable(text.clone())),
        },
    };
    given.iter().map(export).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_the_value_that_is_given_or_that_it_has_here() {
        let path = std::env::var_os("PATH").unwrap();
        let given = ["A=b=c".to_owned(), "PATH".to_owned()];
        assert_eq!(exports(&given).unwrap(), [("A".into(), "b=c".into()), ("PATH".into(), path)]);
        let error = exports(&["TASUKI_NO_SUCH".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("write TASUKI_NO_SUCH=VALUE"), "{error}");
    }
}
