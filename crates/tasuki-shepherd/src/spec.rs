//! What a shepherd is to do.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, ffi::OsString, path::PathBuf};
use tasuki_pmi::JobShape;

/// What one host does for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job's name: 1 to 64 letters, digits, `-` and `_`. It names the cgroup, and every process of
    /// the job has it in the variable [`JOB_ID`](crate::JOB_ID).
    pub id: String,
    /// What every rank runs.
    pub program: Program,
    /// The ranks of this host.
    pub ranks: Vec<RankSpec>,
    /// With whose rights they run; `None`: with the shepherd's.
    pub user: Option<User>,
    /// PMI-1 for ranks of MPICH and Intel MPI; `None`: ranks get no descriptor.
    pub pmi: Option<Pmi>,
    /// What becomes of the job when its owner is gone.
    pub owner: OwnerEnd,
    /// The folder of a cgroup hierarchy to make the job's cgroup in; `None`: the shepherd's own cgroup.
    pub cgroup: Option<PathBuf>,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program and its arguments. A program without a `/` is looked for in the PATH of `env`.
    pub argv: Vec<OsString>,
    /// All variables of its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory, entered with the user's rights.
    pub folder: PathBuf,
    /// Its mask of permissions for new files (umask(2)); `None`: the shepherd's.
    pub umask: Option<u32>,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSpec {
    /// Its number within the job.
    pub rank: u32,
    /// Variables of its own, which go before those of the program.
    pub env: Vec<(OsString, OsString)>,
    /// Cores that it may run on; empty: those of the shepherd.
    pub cores: Vec<u32>,
}

/// What a PMI server needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pmi {
    /// The whole job.
    pub shape: JobShape,
    /// This host, by its index in the shape.
    pub host: u32,
}

/// The user that a job belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Numbers of the user and the groups; `None`: the shepherd looks them up by the name, for which it may
    /// have to wait for a server.
    pub ids: Option<Ids>,
    /// Limits on resources, set before rights are dropped; none is set above the shepherd's own.
    pub limits: Vec<Limit>,
}

/// Numbers of a user and of groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// All groups.
    pub groups: Vec<u32>,
}

/// A limit on a resource (setrlimit(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// `RLIMIT_*`.
    pub resource: i32,
    /// The soft limit, in the resource's unit.
    pub soft: u64,
    /// The hard limit.
    pub hard: u64,
}

/// What becomes of a job when its owner is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OwnerEnd {
    /// Everything of the job is killed when the owner's end of the socket closes.
    Kill,
    /// The job goes on, and the shepherd waits for another owner at this socket. Ranks that write more
    /// than the shepherd keeps wait too. The shepherd stays until its last event was
    /// [taken](crate::Command::Taken). Beside the socket, with the extension [`RESIDENCE`](crate::RESIDENCE),
    /// is what [`sweep`](crate::sweep) needs if the shepherd is killed.
    Survive {
        /// Path of the socket; its folder must be one that other users cannot write to.
        socket: PathBuf,
        /// Milliseconds without an owner after which the job is killed all the same.
        patience_ms: u64,
    },
}

impl JobSpec {
    /// Whether the job can be started at all.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.id.is_empty() || self.id.len() > 64 || !self.id.chars().all(is_plain) {
            return Err(format!("the job's name {:?} is not 1 to 64 letters, digits, '-' and '_'", self.id));
        }
        if self.program.argv.first().is_none_or(|program| program.is_empty()) {
            return Err("there is no program to run".into());
        }
        let numbers: BTreeSet<u32> = self.ranks.iter().map(|rank| rank.rank).collect();
        if numbers.is_empty() || numbers.len() != self.ranks.len() {
            return Err("the ranks of a host are at least one, and each comes once".into());
        }
        if let Some(pmi) = &self.pmi {
            let of_shape = pmi.shape.ranks_of(pmi.host);
            if !numbers.iter().eq(&of_shape) {
                return Err(format!("host {} has other ranks by the job's shape: {of_shape:?}", pmi.host));
            }
        }
        Ok(())
    }
}
