//! What hosts tell each other about barriers.

use serde::{Deserialize, Serialize};

/// One host's part of a fence: all its ranks that take part have entered. It goes to the job's
/// [`Joint`](crate::Joint).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceIn {
    /// The host, by its index in [`JobShape::hosts_of_ranks`](crate::JobShape::hosts_of_ranks).
    pub host: u32,
    /// The ranks that take part and the tag of the barrier, as text; empty: all ranks, without a tag.
    pub group: String,
    /// Which fence of this group it is, counted from 1.
    pub number: u64,
    /// Keys with their values that ranks of this host have put since its last part of any fence.
    pub puts: Vec<(String, String)>,
}

/// The result of a fence. It goes to every host of the job, in the order in which the joint gave results,
/// because the ranks of a host that took no part may read the values too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceOut {
    /// As in the parts.
    pub group: String,
    /// As in the parts.
    pub number: u64,
    /// What was put, of all parts, in the order of hosts.
    pub puts: Vec<(String, String)>,
}
