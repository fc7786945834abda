//! A job (what is to run, and where), and the command that runs it.

use crate::{
    Environment, Facts, Flavour, LacksLibfabric, Mpi, Placement, Setting, Transport, hydra, openmpi4,
    openmpi5, placement,
};
use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};
use tasuki_process::quote;
use thiserror::Error;

/// A host, with the number of ranks that it is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobHost {
    /// Its name, which the agent knows and which all hosts resolve to the identity address.
    pub name: String,
    /// Cores that ranks may use.
    pub slots: u32,
}

/// What is to run, and where. The launcher runs on the first host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Number of ranks.
    pub ranks: u32,
    /// Program (an absolute path, see [`crate::Detected::argv`]) and arguments.
    pub argv: Vec<OsString>,
    /// The cluster's hosts.
    pub hosts: Vec<JobHost>,
    /// The order in which hosts are filled.
    pub placement: Placement,
    /// What carries messages between hosts.
    pub transport: Transport,
    /// What the MPI's settings depend on.
    pub facts: Facts,
    /// Whether the launcher runs as root, which Open MPI refuses unless it is told that this is intended.
    pub as_root: bool,
    /// Variables that every rank gets, with [`crate::Detected::env`] among them.
    pub env: Environment,
    /// Working directory of ranks, on every host; `None`: the launcher's.
    pub folder: Option<PathBuf>,
}

/// Why a job cannot be launched.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum JobError {
    /// There is nothing to run.
    #[error("a job needs a program and at least one rank")]
    Empty,
    /// No host has a core for ranks.
    #[error("no host has a core for ranks; give hosts `cores` in the cluster file")]
    NoSlots,
    /// A host's name would be read as something else in a launcher's list of hosts.
    #[error(
        "host name {0:?} cannot be passed to a launcher: letters, digits, '-', '.' and '_' only, and no '-' \
         first"
    )]
    HostName(String),
    /// The agent's path would be split by a launcher.
    #[error("the agent {0:?} cannot be passed to a launcher: its path must not hold white space or quotes")]
    Agent(String),
    /// The transport is Tasuki, and the MPI has no libfabric.
    #[error(transparent)]
    LacksLibfabric(#[from] LacksLibfabric),
    /// The transport is libfabric's shared memory, and the MPI cannot use it.
    #[error(
        "Open MPI does not start over libfabric's shm provider, which lacks what it asks for; MPICH and \
         Intel MPI do"
    )]
    NotOverShm,
    /// The transport is libfabric's shared memory, and there are ranks on several hosts.
    #[error(
        "libfabric's shm provider reaches no other host; put all ranks on one, or use --transport tasuki or \
         tcp"
    )]
    ShmBetweenHosts,
    /// The MPI's ranks cannot be started without its launcher.
    #[error("{0} needs its own launcher and daemons: its ranks do not speak PMI-1")]
    NeedsLauncher(String),
    /// The MPI's ranks need no launcher where the runtime runs.
    #[error("ranks of {0} are started by the runtime itself")]
    NeedsNoLauncher(String),
    /// A variable cannot be passed on by its name.
    #[error("the variable {0:?} cannot be passed on: its name is empty or holds '=' or ','")]
    Variable(OsString),
}

/// A command to run on the first host, with the variables to set for it on top of the caller's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCommand {
    /// The launcher and its arguments.
    pub argv: Vec<OsString>,
    /// The variables.
    pub env: Environment,
}

impl LaunchCommand {
    /// The command as one would type it in a shell.
    pub fn to_shell(&self) -> String {
        self.to_shell_without(|_| None)
    }

    /// The command as one would type it in a shell, without the values of variables for which `hidden` gives
    /// the text of another word.
    pub fn to_shell_without(&self, hidden: impl Fn(&OsStr) -> Option<String>) -> String {
        let word = |(name, value): &(OsString, OsString)| {
            let word = hidden(name).unwrap_or_else(|| quote(value));
            format!("{}={word}", name.to_string_lossy())
        };
        let variables = self.env.iter().map(word);
        let argv = self.argv.iter().map(|argument| quote(argument));
        variables.chain(argv).collect::<Vec<_>>().join(" ")
    }
}

impl Job {
    /// The command with which `mpi` runs this job.
    pub fn command(&self, mpi: &Mpi) -> Result<LaunchCommand, JobError> {
        self.check_all(mpi)?;
        Ok(match mpi.flavour {
            Flavour::OpenMpi4 => openmpi4::command(mpi, self),
            Flavour::OpenMpi5 => openmpi5::command(mpi, self),
            Flavour::Mpich | Flavour::Intel => hydra::command(mpi, self),
        })
    }

    /// The variables that every rank needs if it is started without the MPI's own launcher, by a process
    /// manager that speaks PMI-1: the user's and the settings of [`Job::command`], without those of the
    /// launcher's daemons. (What a process manager itself tells a rank, as `PMI_RANK`, is not among them.)
    ///
    /// # Errors
    /// If there cannot be such a job, or the MPI is an Open MPI, which needs its own daemons.
    pub fn rank_environment(&self, mpi: &Mpi) -> Result<Environment, JobError> {
        self.check_all(mpi)?;
        match mpi.flavour {
            Flavour::Mpich | Flavour::Intel => Ok(hydra::rank_environment(mpi, self)),
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => Err(JobError::NeedsLauncher(mpi.to_string())),
        }
    }

    /// The command with which an Open MPI runs this job where its daemons are started by the runtime, on
    /// hosts that are told to its launcher only then: by `--host`, before all other arguments.
    ///
    /// # Errors
    /// If there cannot be such a job, or the ranks of the MPI are started by the runtime itself.
    pub fn resident_command(&self, mpi: &Mpi) -> Result<LaunchCommand, JobError> {
        self.check_all(mpi)?;
        match mpi.flavour {
            Flavour::OpenMpi4 => Ok(openmpi4::resident(mpi, self)),
            Flavour::OpenMpi5 => Ok(openmpi5::resident(mpi, self)),
            Flavour::Mpich | Flavour::Intel => Err(JobError::NeedsNoLauncher(mpi.to_string())),
        }
    }

    fn check_all(&self, mpi: &Mpi) -> Result<(), JobError> {
        self.check()?;
        match self.transport {
            Transport::Tcp => Ok(()),
            Transport::Tasuki(_) => Ok(mpi.check_libfabric()?),
            Transport::Shm => self.check_shm(mpi),
        }
    }

    fn check_shm(&self, mpi: &Mpi) -> Result<(), JobError> {
        mpi.check_libfabric()?;
        if matches!(mpi.flavour, Flavour::OpenMpi4 | Flavour::OpenMpi5) {
            return Err(JobError::NotOverShm);
        }
        let mut hosts = self.hosts_of_ranks();
        hosts.dedup();
        if hosts.len() > 1 { Err(JobError::ShmBetweenHosts) } else { Ok(()) }
    }

    fn check(&self) -> Result<(), JobError> {
        if self.ranks == 0 || self.argv.is_empty() {
            return Err(JobError::Empty);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if let Some(host) = self
            .hosts
            .iter()
            .find(|h| h.name.is_empty() || h.name.starts_with('-') || !h.name.chars().all(is_plain))
        {
            return Err(JobError::HostName(host.name.clone()));
        }
        let splits = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
        if let Some(agent) =
            self.facts.agent.as_ref().filter(|agent| agent.is_empty() || agent.contains(splits))
        {
            return Err(JobError::Agent(agent.clone()));
        }
        let is_odd = |name: &OsStr| name.is_empty() || name.to_string_lossy().contains(['=', ',']);
        if let Some((name, _)) = self.env.iter().find(|(name, _)| is_odd(name)) {
            return Err(JobError::Variable(name.clone()));
        }
        if self.hosts_of_ranks().is_empty() { Err(JobError::NoSlots) } else { Ok(()) }
    }

    /// The host of every rank, as an index in [`Job::hosts`].
    pub fn hosts_of_ranks(&self) -> Vec<usize> {
        let slots: Vec<_> = self.hosts.iter().map(|host| host.slots).collect();
        placement::hosts_of_ranks(self.placement, &slots, self.ranks)
    }

    /// The variables that ranks get, each once: of several values of a variable the last counts.
    pub(crate) fn exports(&self) -> Environment {
        let mut once: Environment = Vec::new();
        for (name, value) in &self.env {
            once.retain(|(known, _)| known != name);
            once.push((name.clone(), value.clone()));
        }
        once
    }

    /// The variables that ranks get: the user's, and those of `settings` that the user does not give. Lists
    /// of folders are joined.
    pub(crate) fn exports_with(&self, settings: &[Setting]) -> Environment {
        let mut env = self.exports();
        for setting in settings.iter().filter(|setting| setting.is_variable()) {
            setting.add_to(&mut env);
        }
        env
    }

    /// Whether the launcher has to distribute ranks to hosts in turn.
    pub(crate) fn is_round_robin(&self) -> bool {
        self.placement == Placement::ByNode
    }

    /// Hosts that have ranks, with the number of ranks.
    pub(crate) fn ranks_per_host(&self) -> Vec<(&str, u32)> {
        let counts = placement::counts(&self.hosts_of_ranks(), self.hosts.len());
        let named = self.hosts.iter().map(|host| host.name.as_str()).zip(counts);
        named.filter(|(_, ranks)| *ranks > 0).collect()
    }

    /// Runs of successive ranks on one host, in the order of ranks.
    pub(crate) fn runs(&self) -> Vec<(&str, u32)> {
        let hosts = self.hosts_of_ranks();
        let runs = hosts.chunk_by(|a, b| a == b);
        runs.map(|run| (self.hosts[run[0]].name.as_str(), run.len() as u32)).collect()
    }
}

/// A command line that is being built.
pub(crate) struct Argv(Vec<OsString>);

impl Argv {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self(vec![program.as_ref().into()])
    }

    pub fn push(&mut self, argument: impl AsRef<OsStr>) {
        self.0.push(argument.as_ref().into());
    }

    pub fn extend<'a>(&mut self, arguments: impl IntoIterator<Item = &'a str>) {
        self.0.extend(arguments.into_iter().map(OsString::from));
    }

    /// Adds those settings that the command line takes, except those that the user gives in `env`, because
    /// the command line would override them.
    pub fn settings(&mut self, settings: &[Setting], env: &Environment) {
        let is_users = |setting: &&Setting| env.iter().any(|(name, _)| *name == *setting.variable());
        let ours = settings.iter().filter(|setting| !is_users(setting));
        self.0.extend(ours.filter_map(Setting::options).flatten().map(OsString::from));
    }

    pub fn program(&mut self, argv: &[OsString]) {
        self.0.extend_from_slice(argv);
    }
}

impl From<Argv> for Vec<OsString> {
    fn from(argv: Argv) -> Self {
        argv.0
    }
}
