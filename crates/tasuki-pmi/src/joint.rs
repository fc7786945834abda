//! Where the parts of fences come together: one for each job.

use crate::{
    FenceIn, FenceOut, JobShape, Limits, ShapeError,
    group::{Group, Members},
    space,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why a job cannot go on. It is to be ended with this reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JoinError {
    /// A part came from a host that is not in the job or takes no part in the barrier.
    #[error("host {host} sent a part of a barrier of ranks {group:?}, in which it has none")]
    Host {
        /// The host.
        host: u32,
        /// The ranks and the tag.
        group: String,
    },
    /// A host sent another part although its first has no result yet.
    #[error("host {host} sent two parts of one barrier of ranks {group:?}")]
    Twice {
        /// The host.
        host: u32,
        /// The ranks and the tag.
        group: String,
    },
    /// A host passed on a key or a value that no rank may put, or too many of them.
    #[error("host {host} passed on what no rank may put: {why}")]
    Put {
        /// The host.
        host: u32,
        /// What is wrong.
        why: String,
    },
    /// All ranks together have put more than one message holds.
    #[error(
        "its ranks put {bytes} bytes of keys and values for each other, of which a job may have {limit}: \
         start it with fewer ranks, or have each put less"
    )]
    Space {
        /// Bytes that there would be.
        bytes: usize,
        /// Bytes that there may be.
        limit: usize,
    },
    /// Too many different groups have met.
    #[error(
        "its ranks have met in {limit} different groups across hosts, as many as a job may have: have them \
         use a tag of a barrier again"
    )]
    Groups {
        /// Groups that there may be.
        limit: usize,
    },
    /// A host is ahead of the others: what came of an earlier barrier was lost.
    #[error("host {host} has come to a barrier of ranks {group:?} whose predecessor has no result")]
    Ahead {
        /// The host.
        host: u32,
        /// The ranks and the tag.
        group: String,
    },
    /// Ranks wait for one that will never come.
    #[error(
        "rank {rank} ended while others wait for it: it never called MPI_Init, or had called MPI_Finalize"
    )]
    Stuck {
        /// The rank that is gone.
        rank: u32,
    },
}

/// A fence of which not all parts have come.
#[derive(Debug)]
struct Fence {
    group: Group,
    hosts: BTreeSet<u32>,
    parts: BTreeMap<u32, FenceIn>,
}

/// What has come of a job's fences. A joint that begins anew needs it: hosts that have a result go on, and
/// others may not have it yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Number of the last result of each group.
    numbers: BTreeMap<String, u64>,
    /// All that was put.
    space: BTreeMap<String, String>,
    /// The group of the last result; none before the first.
    last: Option<String>,
}

/// Joins the parts of fences of one job.
#[derive(Debug)]
pub struct Joint {
    shape: JobShape,
    limits: Limits,
    gone: BTreeSet<u32>,
    fences: BTreeMap<String, Fence>,
    results: Results,
}

impl Joint {
    /// The joint of a job, before any part has come.
    ///
    /// # Errors
    /// If the shape is none.
    pub fn new(shape: &JobShape, limits: Limits) -> Result<Self, ShapeError> {
        Self::anew(shape, limits, Results::default())
    }

    /// The joint of a job that goes on from what an earlier one has given.
    ///
    /// # Errors
    /// If the shape is none.
    pub fn anew(shape: &JobShape, limits: Limits, results: Results) -> Result<Self, ShapeError> {
        shape.check()?;
        let (gone, fences) = (BTreeSet::new(), BTreeMap::new());
        Ok(Self { shape: shape.clone(), limits, gone, fences, results })
    }

    /// What is to be known if the job is to outlive this joint, before any host has the last result.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// All results, for a host that may have missed some. It passes over those that it has. What was put
    /// comes with the last one: a host that has missed any has missed that.
    pub fn missed(&self) -> impl Iterator<Item = FenceOut> + '_ {
        let Results { numbers, space, last } = &self.results;
        let out = |(group, number): (&String, &u64), puts| {
            let group = group.clone();
            FenceOut { group, number: *number, puts }
        };
        let first = last.iter().filter_map(move |last| {
            let puts = space.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            Some(out(numbers.get_key_value(last)?, puts))
        });
        let others = numbers.iter().filter(move |(group, _)| Some(*group) != last.as_ref());
        first.chain(others.map(move |result| out(result, Vec::new())))
    }

    /// Takes a part. `Some`: it was the last of its fence, and the result goes to every host of the job. A
    /// part that came before, word for word, changes nothing; nor does one whose result was given
    /// ([`Joint::missed`]).
    ///
    /// # Errors
    /// If the part is none, or its fence can never end.
    pub fn join(&mut self, part: FenceIn) -> Result<Option<FenceOut>, JoinError> {
        let host = part.host;
        let not_of = || JoinError::Host { host, group: part.group.clone() };
        self.check_puts(&part)?;
        let group = Some(part.group.as_str()).filter(|group| !group.is_empty());
        let group = Group::parse(group, &self.shape).map_err(|_| not_of())?;
        let hosts = self.hosts_of(&group);
        if !hosts.contains(&host) || group.members == Members::Node || group.key != part.group {
            return Err(not_of());
        }
        let (key, number) = (part.group.clone(), part.number);
        let last = self.results.numbers.get(&key).copied().unwrap_or(0);
        if number <= last {
            return Ok(None);
        }
        if number > last + 1 {
            return Err(JoinError::Ahead { host, group: key });
        }
        let fence =
            self.fences.entry(key.clone()).or_insert_with(|| Fence { group, hosts, parts: BTreeMap::new() });
        match fence.parts.get(&host) {
            Some(before) if *before != part => {
                return Err(JoinError::Twice { host, group: part.group });
            }
            _ => fence.parts.insert(host, part),
        };
        if fence.parts.len() < fence.hosts.len() {
            return self.check_gone().map(|()| None);
        }
        let parts = self.fences.remove(&key).map(|fence| fence.parts).unwrap_or_default();
        let puts: Vec<_> = parts.into_values().flat_map(|part| part.puts).collect();
        self.check_space(&key, &puts)?;
        self.results.space.extend(puts.iter().cloned());
        self.results.numbers.insert(key.clone(), number);
        self.results.last = Some(key.clone());
        Ok(Some(FenceOut { group: key, number, puts }))
    }

    /// A rank will never come to a barrier ([`Action::Gone`](crate::Action::Gone)).
    ///
    /// # Errors
    /// If others wait for it now.
    pub fn gone(&mut self, rank: u32) -> Result<(), JoinError> {
        self.gone.insert(rank);
        self.check_gone()
    }

    fn check_gone(&self) -> Result<(), JoinError> {
        for fence in self.fences.values() {
            let is_awaited = |rank: &&u32| {
                let host = self.shape.hosts_of_ranks.get(**rank as usize);
                fence.group.has(**rank) && host.is_some_and(|host| !fence.parts.contains_key(host))
            };
            if let Some(&rank) = self.gone.iter().find(is_awaited) {
                return Err(JoinError::Stuck { rank });
            }
        }
        Ok(())
    }

    fn hosts_of(&self, group: &Group) -> BTreeSet<u32> {
        let numbered = (0..).zip(&self.shape.hosts_of_ranks);
        numbered.filter(|(rank, _)| group.has(*rank)).map(|(_, host)| *host).collect()
    }

    /// Whether the result of a fence of a group, and all that was put so far, are short enough to be told at
    /// once.
    fn check_space(&self, group: &str, puts: &[(String, String)]) -> Result<(), JoinError> {
        let numbers = &self.results.numbers;
        let is_new = !numbers.contains_key(group);
        if is_new && numbers.len() >= self.limits.groups {
            return Err(JoinError::Groups { limit: self.limits.groups });
        }
        let names = numbers.keys().map(String::len).sum::<usize>() + if is_new { group.len() } else { 0 };
        let size = |(key, value): (&String, &String)| space::bytes(key, value);
        let fresh: BTreeMap<&String, &String> = puts.iter().map(|(key, value)| (key, value)).collect();
        let kept = self.results.space.iter().filter(|(key, _)| !fresh.contains_key(key));
        let all: usize =
            kept.map(size).sum::<usize>() + fresh.iter().map(|(k, v)| size((k, v))).sum::<usize>();
        let told: usize = puts.iter().map(|(key, value)| size((key, value))).sum();
        let (bytes, limit) = (all.max(told) + names, self.limits.space);
        if bytes > limit { Err(JoinError::Space { bytes, limit }) } else { Ok(()) }
    }

    fn check_puts(&self, part: &FenceIn) -> Result<(), JoinError> {
        let refuse = |why: String| Err(JoinError::Put { host: part.host, why });
        let ranks = self.shape.ranks_of(part.host).len();
        if part.puts.len() > ranks * self.limits.keys {
            return refuse(format!("{} keys of {ranks} ranks", part.puts.len()));
        }
        for (key, value) in &part.puts {
            if let Err(why) = space::check(key, value) {
                return refuse(why);
            }
        }
        let bytes: usize = part.puts.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > ranks * self.limits.bytes {
            return refuse(format!("{bytes} bytes of {ranks} ranks"));
        }
        Ok(())
    }
}
