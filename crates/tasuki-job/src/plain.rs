//! A job of a program that has no MPI, whose ranks find each other by their environment, as those of
//! `torch.distributed` do (`init_method="env://"`): what its ranks are told, and on which hosts they run.

use crate::{
    Finder, RunError, Wanted, check_one_network,
    facts::local_cluster,
    own_environment, own_provider,
    prepare::{JOB_KEY, exports},
    random,
    setup::{ask, check_program, check_ready, with_cores},
    transport::passed_on,
};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};
use tasuki_cluster::{AddressPlan, Cluster, IDENTITY_INTERFACE};
use tasuki_fleet::Fleet;
use tasuki_lab::{ExecRequest, Job as LabJob, Lab};
use tasuki_launch::{
    DetectError, Environment, JobError, NcclPlugin, Origin, Placement, Scope, Setting, find_program,
    hosts_of_ranks, torch_settings,
};

/// The variable with the address at which rank 0 is met.
const MASTER_ADDR: &str = "MASTER_ADDR";
/// The variable with the port at which rank 0 is met.
const MASTER_PORT: &str = "MASTER_PORT";

/// A job of a program without an MPI, as the user asks for it.
#[derive(Clone, Debug)]
pub struct PlainRequest<'a> {
    /// Number of ranks.
    pub ranks: u32,
    /// Program and arguments.
    pub program: &'a [OsString],
    /// What carries the messages of libraries that Tasuki has a plug-in for; `None`: Tasuki where it has its
    /// plug-in.
    pub transport: Option<Wanted>,
    /// The order in which hosts are filled.
    pub placement: Placement,
    /// Variables for the ranks: `NAME=VALUE`, or `NAME` with this process's value.
    pub exports: &'a [String],
    /// The port at which rank 0 is met; `None`: one that is free.
    pub port: Option<u16>,
    /// Working directory of the ranks.
    pub folder: PathBuf,
}

/// A job that is ready to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainJob {
    /// The program, by its absolute path, and its arguments.
    pub argv: Vec<OsString>,
    /// Working directory of the ranks.
    pub folder: PathBuf,
    /// Variables of all ranks, which go before those that a host has.
    pub env: Environment,
    /// Variables of all ranks that list folders, to which those of a host are added.
    pub folders: Environment,
    /// The port at which rank 0 is met; `None`: a free one of its host is to be taken.
    pub port: Option<u16>,
    /// The hosts that have ranks, in the order of their first ranks.
    pub parts: Vec<PlainPart>,
}

/// The ranks of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainPart {
    /// The host, by its number in the fleet.
    pub host: usize,
    /// Its ranks.
    pub ranks: Vec<u32>,
}

impl PlainRequest<'_> {
    /// Works out what ranks are told. Nothing is started.
    ///
    /// # Errors
    /// If hosts do not answer, are not set up or lack the program, or a variable has no value.
    pub fn prepare(&self, fleet: &Fleet) -> Result<PlainJob, RunError> {
        let alone = local_cluster();
        let cluster = fleet.cluster().unwrap_or(&alone);
        check_one_network(cluster)?;
        let argv = self.argv()?;
        let program = [PathBuf::from(&argv[0])];
        let is_over_ssh = matches!(fleet, Fleet::Ssh(_));
        // Hosts of a lab see this machine's files.
        let answers = match fleet {
            Fleet::Local => None,
            _ => Some(ask(fleet, if is_over_ssh { &program } else { &[] })),
        };
        if let Some(answers) = &answers {
            check_ready(fleet, answers, "")?;
        }
        // All hosts of a lab share this machine's cores, so that a number of each would say nothing.
        let known = answers.as_ref().filter(|_| is_over_ssh).map(|answers| with_cores(cluster, answers));
        let parts = self.parts(known.as_ref().unwrap_or(cluster))?;
        if let Some(answers) = &answers {
            let hosts: Vec<_> = parts.iter().map(|part| fleet.name(part.host)).collect();
            check_program(answers, &hosts, "")?;
        }
        let met = match fleet {
            Fleet::Local => Ipv4Addr::LOCALHOST,
            _ => AddressPlan::new(cluster)?.hosts[parts[0].host].identity,
        };
        let (env, folders) = self.environment(cluster, met.into(), matches!(fleet, Fleet::Local))?;
        if let Fleet::Lab(lab) = fleet {
            share(&Lab::named(&lab.lab)?, &argv, &folders)?;
        }
        Ok(PlainJob { argv, folder: self.folder.clone(), env, folders, port: self.port, parts })
    }

    /// The command with its program's absolute path.
    fn argv(&self) -> Result<Vec<OsString>, RunError> {
        let mut argv = self.program.to_vec();
        let first = argv.first_mut().ok_or(DetectError::NoProgram)?;
        match find_program(first, &own_environment()) {
            Some(path) => *first = path.into_os_string(),
            // It says where it has looked.
            None => drop(Finder::local()?.detect(self.program, None)?),
        }
        Ok(argv)
    }

    /// Which ranks each host has.
    fn parts(&self, cluster: &Cluster) -> Result<Vec<PlainPart>, RunError> {
        let slots: Vec<u32> = cluster.hosts.iter().map(|host| host.cores.unwrap_or(1)).collect();
        let mut parts: Vec<PlainPart> = Vec::new();
        let mut known = BTreeMap::new();
        for (rank, host) in hosts_of_ranks(self.placement, &slots, self.ranks).into_iter().enumerate() {
            let place = *known.entry(host).or_insert_with(|| {
                parts.push(PlainPart { host, ranks: Vec::new() });
                parts.len() - 1
            });
            parts[place].ranks.push(rank as u32);
        }
        if parts.is_empty() { Err(JobError::NoSlots.into()) } else { Ok(parts) }
    }

    /// Variables of all ranks, and those of them that list folders and that the user has not set.
    fn environment(
        &self,
        cluster: &Cluster,
        met: IpAddr,
        is_local: bool,
    ) -> Result<(Environment, Environment), RunError> {
        let mut env: Environment = passed_on();
        for (name, value) in exports(self.exports)? {
            env.retain(|(known, _)| *known != name);
            env.push((name, value));
        }
        if cluster.authenticate {
            if self.transport == Some(Wanted::Tcp) {
                return Err(RunError::Unauthenticated);
            }
            if !is_set(&env, JOB_KEY) {
                env.push((JOB_KEY.into(), random::digits()?.into()));
            }
        }
        let mut own = vec![(MASTER_ADDR, met.to_string())];
        own.extend(self.port.map(|port| (MASTER_PORT, port.to_string())));
        if !is_local {
            // These would else look for an address by the host's name, which many hosts know as 127.0.1.1.
            own.push(("GLOO_SOCKET_IFNAME", IDENTITY_INTERFACE.into()));
            own.push(("NCCL_SOCKET_IFNAME", format!("={IDENTITY_INTERFACE}")));
        }
        own.retain(|(name, _)| !is_set(&env, name));
        env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
        let mut folders = Environment::new();
        for setting in self.settings(is_local)? {
            match setting.scope {
                Scope::Folders if !is_set(&env, setting.name) => setting.add_to(&mut folders),
                _ => setting.add_to(&mut env),
            }
        }
        Ok((env, folders))
    }

    /// What NCCL and PyTorch need to find Tasuki's plug-ins. On one machine alone NCCL has better ways than a
    /// network.
    fn settings(&self, is_local: bool) -> Result<Vec<Setting>, RunError> {
        let provider = match self.transport {
            Some(Wanted::Shm) => return Err(RunError::PlainShm),
            Some(Wanted::Tcp) => return Ok(Vec::new()),
            Some(Wanted::Tasuki) => own_provider()?,
            None => match own_provider() {
                Ok(provider) => provider,
                Err(_) => return Ok(Vec::new()),
            },
        };
        let mut all = torch_settings(&provider).unwrap_or_default();
        all.retain(|setting| setting.scope == Scope::Folders);
        if !is_local {
            match (NcclPlugin::of(&provider), self.transport) {
                (Ok(plugin), _) => all.extend(plugin.settings()),
                (Err(_), None) => {}
                (Err(file), Some(_)) => {
                    return Err(RunError::NoPlugin { file, remedy: Origin::own().restore() });
                }
            }
        }
        Ok(all)
    }
}

impl PlainJob {
    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.parts.iter().map(|part| part.ranks.len()).sum()
    }

    /// Whether the user has named the port at which rank 0 is met.
    pub fn has_port(&self) -> bool {
        is_set(&self.env, MASTER_PORT)
    }

    /// The job with this port, at which rank 0 is met.
    pub fn met_at(mut self, port: u16) -> Self {
        self.env.push((MASTER_PORT.into(), port.to_string().into()));
        self
    }

    /// The variables of the rank at `place` of the host at `node`, both counted in the order of the job. They
    /// go before all others.
    pub fn of_rank(&self, node: usize, place: usize) -> Environment {
        let ranks = &self.parts[node].ranks;
        let own = [
            ("RANK", ranks[place] as usize),
            ("WORLD_SIZE", self.ranks()),
            ("LOCAL_RANK", place),
            ("LOCAL_WORLD_SIZE", ranks.len()),
            ("NODE_RANK", node),
            ("GROUP_RANK", node),
        ];
        own.into_iter().map(|(name, value)| (name.into(), value.to_string().into())).collect()
    }
}

fn is_set(env: &Environment, name: &str) -> bool {
    env.iter().any(|(known, _)| known == OsStr::new(name))
}

/// Lets all hosts of a lab see the program, what its arguments name, and the folders of plug-ins.
fn share(lab: &Lab, argv: &[OsString], folders: &Environment) -> Result<(), RunError> {
    let mut request = ExecRequest::new("", argv.to_vec(), LabJob::Root)?;
    let given = argv.iter().map(PathBuf::from).filter(|path| path.is_absolute() && path.exists());
    request.share = folders.iter().map(|(_, folder)| PathBuf::from(folder)).chain(given).collect();
    request.share.extend(std::env::var_os("TASUKI_RAILS").map(PathBuf::from));
    Ok(lab.share(&request)?)
}

#[cfg(test)]
mod tests;
