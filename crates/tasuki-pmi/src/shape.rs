//! What all hosts know of a job from its beginning, and the bounds on what its ranks may do.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The most ranks that a job may have.
pub const SIZE_MAX: usize = 65_536;

/// What all hosts know of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShape {
    /// Name of its key space: 1 to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// The index of each rank's host. Its length is the number of ranks.
    pub hosts_of_ranks: Vec<u32>,
    /// What `MPI_UNIVERSE_SIZE` is: how many ranks could run, the job's own included.
    pub universe: u32,
}

/// Why a shape is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// The name would not be one word of the protocol.
    #[error("the job's name {0:?} is not 1 to 64 letters, digits, '-' and '_'")]
    Name(String),
    /// There is no rank, or there are more than a job may have.
    #[error("a job has 1 to {SIZE_MAX} ranks, not {0}")]
    Size(usize),
    /// No rank is on the host.
    #[error("host {0} has no rank of the job")]
    NoRanks(u32),
}

/// Bounds on what one rank may do, and on what all ranks of a job put. MPICH 5.0 on 64 hosts puts a few keys
/// of at most 1 KiB for each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a line, and of all lines of a request that has several.
    pub line: usize,
    /// Keys that a rank may put.
    pub keys: usize,
    /// Bytes of keys and values that a rank may put.
    pub bytes: usize,
    /// Barriers of different groups that a rank may be in at the same time.
    pub barriers: usize,
    /// Bytes of keys and values, with a few for each, that all ranks of a job may put: one message tells a
    /// host all of it. The names of groups that have met count as keys.
    pub space: usize,
    /// Different groups, with their tags, that may meet in a job on several hosts: all of them are kept,
    /// since a host may come back that has missed any.
    pub groups: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 16 << 10, keys: 16 << 10, bytes: 4 << 20, barriers: 64, space: 7 << 19, groups: 1024 }
    }
}

/// Longest name of a key space, key and value, as told to ranks, in bytes with the end of the C string.
/// They are Hydra's, because clients of all ages have buffers for these.
pub const NAME_MAX: usize = 256;
/// As [`NAME_MAX`], of a key.
pub const KEY_MAX: usize = 64;
/// As [`NAME_MAX`], of a value.
pub const VALUE_MAX: usize = 1024;

/// Longest mapping of ranks to hosts, in bytes. Clients of MPICH and Intel MPI read lines of 1023 bytes,
/// and take that many for a value less the longest name and key, and a request's other words.
const MAPPING_MAX: usize = 640;

impl JobShape {
    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.hosts_of_ranks.len() as u32
    }

    /// The ranks on a host, ascending.
    pub fn ranks_of(&self, host: u32) -> Vec<u32> {
        let numbered = (0..).zip(&self.hosts_of_ranks);
        numbered.filter(|(_, of)| **of == host).map(|(rank, _)| rank).collect()
    }

    pub(crate) fn check(&self) -> Result<(), ShapeError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(is_plain) {
            return Err(ShapeError::Name(self.name.clone()));
        }
        match self.hosts_of_ranks.len() {
            1..=SIZE_MAX => Ok(()),
            size => Err(ShapeError::Size(size)),
        }
    }

    /// The value of the key `PMI_process_mapping`: blocks of (first host, hosts, ranks on each), in the
    /// order of ranks, so that `(vector,(0,2,1),(0,2,1))` are four ranks dealt to two hosts in turn.
    /// `None` if it would not fit: then ranks find out by their hosts' names who shares a host.
    pub fn mapping(&self) -> Option<String> {
        let mut blocks: Vec<(u32, u32, u32)> = Vec::new();
        for run in self.hosts_of_ranks.chunk_by(|a, b| a == b) {
            let (host, ranks) = (run[0], run.len() as u32);
            match blocks.last_mut() {
                Some((first, hosts, each)) if *each == ranks && first.checked_add(*hosts) == Some(host) => {
                    *hosts += 1;
                }
                _ => blocks.push((host, 1, ranks)),
            }
        }
        let text: Vec<_> = blocks.iter().map(|(a, b, c)| format!("({a},{b},{c})")).collect();
        let text = format!("(vector,{})", text.join(","));
        (text.len() <= MAPPING_MAX).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(hosts: &[u32]) -> JobShape {
        JobShape { name: "j".into(), hosts_of_ranks: hosts.to_vec(), universe: 1 }
    }

    // The first four are the examples of Flux RFC 13, "Local Process Group Information".
    #[test]
    fn mapping_as_the_protocol_describes_it() {
        let mapping = |hosts: &[u32]| shape(hosts).mapping().unwrap();
        assert_eq!(mapping(&[0, 0, 1, 1]), "(vector,(0,2,2))");
        assert_eq!(mapping(&[0, 1, 0, 1]), "(vector,(0,2,1),(0,2,1))");
        assert_eq!(mapping(&[0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]), "(vector,(0,2,2),(2,2,4))");
        let turns = [0, 1, 2, 3, 0, 1, 2, 3, 2, 3, 2, 3];
        assert_eq!(mapping(&turns), "(vector,(0,4,1),(0,4,1),(2,2,1),(2,2,1))");
        assert_eq!(mapping(&[2, 0, 0]), "(vector,(2,1,1),(0,1,2))");
        let odd: Vec<u32> = (0..4000).map(|rank| rank * 7 % 13).collect();
        assert_eq!(shape(&odd).mapping(), None, "longer than a value may be");
    }

    #[test]
    fn names_that_are_no_word_and_jobs_without_ranks_are_refused() {
        assert_eq!(shape(&[]).check(), Err(ShapeError::Size(0)));
        for name in ["", "a b", "a=b", "a\n", &"x".repeat(65)] {
            let shape = JobShape { name: name.into(), ..shape(&[0]) };
            assert_eq!(shape.check(), Err(ShapeError::Name(name.into())));
        }
        assert_eq!(shape(&[3]).check(), Ok(()));
    }
}
