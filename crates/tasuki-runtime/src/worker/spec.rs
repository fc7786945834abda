//! What the shepherd of a host is told of a job.

use super::{name, openmpi, plain};
use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};
use tasuki_cluster::RailTable;
use tasuki_control::{Bytes, Kind, Start};
use tasuki_pmi::JobShape;
use tasuki_shepherd::{JobSpec, Limit, OwnerEnd, Pmi, Program, RankSpec, User};

/// Which host runs which process, with hosts by their place among the job's.
pub fn shape(start: &Start) -> JobShape {
    if let Kind::OpenMpi { .. } = start.work.kind {
        return openmpi::shape(start, name(start.job));
    }
    let mut hosts_of_ranks = vec![0; start.work.ranks as usize];
    for (host, part) in start.parts.iter().enumerate() {
        for rank in &part.ranks {
            if let Some(of_rank) = hosts_of_ranks.get_mut(*rank as usize) {
                *of_rank = host as u32;
            }
        }
    }
    JobShape { name: name(start.job), hosts_of_ranks, universe: start.work.ranks }
}

fn os(bytes: &Bytes) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// What a shepherd is told. `Err`: why it cannot be.
pub fn spec(start: &Start, host: &str) -> Result<JobSpec, String> {
    let work = &start.work;
    let own = start.parts.iter().position(|part| part.host == host).ok_or("it has no ranks here")?;
    if work.over_tasuki && !Path::new(RailTable::PATH).exists() {
        return Err("it is not set up: `tasuki apply FILE` (or --transport tcp)".into());
    }
    let limit = |limit: &tasuki_control::Limit| Limit {
        resource: limit.resource as i32,
        soft: limit.soft,
        hard: limit.hard,
    };
    let rank = |rank: &u32| RankSpec { rank: *rank, env: Vec::new(), cores: Vec::new() };
    let pmi = (work.kind != Kind::Plain).then(|| Pmi { shape: shape(start), host: own as u32 });
    let argv = work.argv.iter().map(os).collect();
    let (argv, ranks) = match work.kind {
        Kind::Pmi1 => (argv, start.parts[own].ranks.iter().map(rank).collect()),
        Kind::Plain => {
            let with = |(spec, env): (RankSpec, _)| RankSpec { env, ..spec };
            let ranks = start.parts[own].ranks.iter().map(rank);
            (argv, ranks.zip(plain::environment(start, own)).map(with).collect())
        }
        Kind::OpenMpi { .. } => (openmpi::argv(argv)?, vec![openmpi::process(start, own)]),
    };
    Ok(JobSpec {
        id: name(start.job),
        program: Program {
            argv,
            env: work.env.iter().map(|(name, value)| (os(name), os(value))).collect(),
            folder: PathBuf::from(os(&work.folder)),
            umask: Some(work.umask),
        },
        ranks,
        // The shepherd looks the user up, which may take its time.
        user: Some(User {
            name: start.user.clone(),
            ids: None,
            limits: work.limits.iter().map(limit).collect(),
        }),
        pmi,
        owner: OwnerEnd::Kill,
        cgroup: None,
    })
}
