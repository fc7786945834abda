//! A job for the resident runtime: the program with everything that its ranks need, on whatever host they
//! start.

use crate::{
    Finder, RunError, add_key, choose, own_environment, own_provider,
    prepare::exports,
    process::{limits, umask},
    transport::{Wanted, passed_on},
};
use nix::unistd::Uid;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};
use tasuki_cluster::IDENTITY_INTERFACE;
use tasuki_control::{ARRAY_INDEX, ARRAY_JOB, Bytes, HostView, Kind, Spread, Work};
use tasuki_lab::JOB_VARIABLE;
use tasuki_launch::{
    Binding, DetectError, Detected, Environment, Facts, Flavour, Job, JobHost, LaunchCommand, Placement,
    Transport, find_program, torch_settings,
};

/// What must be known of a cluster whose daemons run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Whether the hosts are a lab's, which share one machine.
    pub lab: bool,
    /// Whether every packet between hosts carries a keyed tag.
    pub authenticate: bool,
    /// The hosts.
    pub hosts: Vec<HostView>,
}

/// A job for the runtime, as the user asks for it.
#[derive(Clone, Debug)]
pub struct WorkRequest<'a> {
    /// Number of ranks.
    pub ranks: u32,
    /// Program and arguments.
    pub program: &'a [OsString],
    /// The MPI that the user chose.
    pub mpi: Option<&'a str>,
    /// The transport that the user chose.
    pub transport: Option<Wanted>,
    /// The order in which hosts are filled.
    pub placement: Placement,
    /// Variables for the ranks: `NAME=VALUE`, or `NAME`.
    pub exports: &'a [String],
    /// Working directory of the ranks.
    pub folder: PathBuf,
    /// Whether the job ends with the command that submits it.
    pub attended: bool,
    /// Copies of a program without an MPI are what the user wants, and need not be told of.
    pub copies: bool,
}

/// A job for the runtime, with what its user should know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The job.
    pub work: Work,
    /// What is not as the user may expect.
    pub notes: Vec<String>,
}

impl WorkRequest<'_> {
    /// Finds out what the program is, and what its ranks need.
    ///
    /// # Errors
    /// If there is no such program, its MPI is not known, or the transport cannot be had.
    pub fn prepare(&self, resident: &Resident) -> Result<Prepared, RunError> {
        let finder = Finder::local()?;
        match finder.detect(self.program, self.mpi) {
            Ok(detected) => self.parallel(resident, &detected),
            // A program that was found to use no MPI is a plain command; a script may be anything.
            Err(RunError::Detect(DetectError::NotMpi { .. } | DetectError::Script { .. }))
                if self.mpi.is_none() =>
            {
                self.plain()
            }
            Err(error) => Err(error),
        }
    }

    fn plain(&self) -> Result<Prepared, RunError> {
        let mut argv = self.program.to_vec();
        let program = argv.first_mut().ok_or(DetectError::NoProgram)?;
        if let Some(path) = find_program(program, &own_environment()) {
            *program = path.into_os_string();
        }
        let note = match self.ranks {
            _ if self.copies => None,
            1 => None,
            ranks => Some(format!(
                "{} uses no MPI that is known: {ranks} copies of it start, which know of each other by RANK, \
                 WORLD_SIZE, MASTER_ADDR and MASTER_PORT (--mpi NAME says which MPI it uses)",
                argv[0].display()
            )),
        };
        let mut env = own_environment();
        if is_python(&argv[0]) {
            add_torch(&mut env);
        }
        let env = overlaid(env, exports(self.exports)?);
        let work = self.work(Kind::Plain, argv, env);
        Ok(Prepared { work, notes: note.into_iter().collect() })
    }

    fn parallel(&self, resident: &Resident, detected: &Detected) -> Result<Prepared, RunError> {
        let mpi = &detected.mpi;
        let choice = choose(self.transport, mpi)?;
        let mut job = self.job(resident, detected, choice.transport);
        job.env.extend(exports(self.exports)?);
        match (resident.authenticate, &job.transport) {
            (false, _) => {}
            (true, Transport::Tasuki(_)) => add_key(&mut job)?,
            (true, _) => return Err(RunError::Unauthenticated),
        }
        let (kind, argv, env) = match mpi.flavour {
            Flavour::Mpich | Flavour::Intel => (Kind::Pmi1, job.argv.clone(), job.rank_environment(mpi)?),
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => {
                let LaunchCommand { argv, env } = job.resident_command(mpi)?;
                let launcher = (argv.len() - job.argv.len()) as u32;
                (Kind::OpenMpi { launcher }, argv, env)
            }
        };
        let mut work = self.work(kind, argv, overlaid(own_environment(), env));
        work.mpi = Some(mpi.id());
        work.over_tasuki = matches!(job.transport, Transport::Tasuki(_));
        Ok(Prepared { work, notes: choice.note.into_iter().collect() })
    }

    fn job(&self, resident: &Resident, detected: &Detected, transport: Transport) -> Job {
        let hosts = resident.hosts.iter();
        let slots: u32 = hosts.clone().map(|host| host.slots).sum();
        // Hosts of a lab share this machine's processors, however many of them one host may use.
        let cores = if resident.lab { processors() } else { slots };
        let facts = Facts {
            identity_interface: IDENTITY_INTERFACE.into(),
            management: None,
            agent: None,
            hosts: resident.hosts.len().min(self.ranks as usize),
            oversubscribed: self.ranks > cores,
            // An MPI's launcher knows nothing of the other jobs on a host, and would bind its first rank
            // to the same core as theirs.
            binding: Binding::None,
        };
        Job {
            ranks: self.ranks,
            argv: detected.argv.clone(),
            hosts: hosts.map(|host| JobHost { name: host.host.clone(), slots: host.slots }).collect(),
            placement: self.placement,
            transport,
            facts,
            as_root: Uid::effective().is_root(),
            env: detected.env.iter().cloned().chain(passed_on()).collect(),
            folder: None,
        }
    }

    fn work(&self, kind: Kind, argv: Vec<OsString>, env: Environment) -> Work {
        let bytes = |text: OsString| Bytes::from(text.into_vec());
        Work {
            ranks: self.ranks,
            argv: argv.into_iter().map(bytes).collect(),
            env: env.into_iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
            folder: Bytes::from(self.folder.as_os_str().as_bytes()),
            umask: umask(),
            limits: limits(),
            kind,
            mpi: None,
            spread: match self.placement {
                Placement::ByNode => Spread::ByNode,
                Placement::BySlot => Spread::BySlot,
            },
            over_tasuki: false,
            attended: self.attended,
        }
    }
}

/// Whether a program is a Python, by its name: `python`, `python3`, `python3.11`.
fn is_python(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default().as_bytes();
    name.strip_prefix(b"python").is_some_and(|rest| rest.iter().all(|byte| b"0123456789.".contains(byte)))
}

/// Lets Python find the backend of PyTorch, which programs name themselves. Where it is not installed, they
/// say so.
fn add_torch(env: &mut Environment) {
    let settings = own_provider().ok().and_then(|provider| torch_settings(&provider).ok());
    for setting in settings.unwrap_or_default() {
        setting.add_to(env);
    }
}

/// An environment with some variables set, each once, and without what belongs to this command alone.
fn overlaid(mut env: Environment, over: Environment) -> Environment {
    let own = [JOB_VARIABLE, "TASUKI_PROVIDER", "TASUKI_PEERS", ARRAY_INDEX, ARRAY_JOB];
    let own = own.map(OsStr::new);
    env.retain(|(name, _)| !own.contains(&name.as_os_str()) && !over.iter().any(|(set, _)| set == name));
    env.extend(over);
    env
}

/// Number of processors of this machine, of which this process may be allowed to use fewer.
fn processors() -> u32 {
    let online = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    online.and_then(|count| u32::try_from(count).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_occurs_once_with_the_value_that_ranks_need() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let env = vec![pair("A", "1"), pair("FI_PROVIDER", "tcp"), pair(JOB_VARIABLE, "job-1")];
        let set = overlaid(env, vec![pair("FI_PROVIDER", "tasuki")]);
        assert_eq!(set, [pair("A", "1"), pair("FI_PROVIDER", "tasuki")]);
    }

    #[test]
    fn pythons_are_known_by_their_names() {
        for name in ["python", "/usr/bin/python3", "python3.11", "venv/bin/python3"] {
            assert!(is_python(OsStr::new(name)), "{name}");
        }
        for name in ["ipython", "python-config", "/opt/python3/bin/train", ""] {
            assert!(!is_python(OsStr::new(name)), "{name}");
        }
    }
}
