//! Small programs over the protocols.

pub(crate) mod biased_lock;
pub(crate) mod coalesce_watch;
pub(crate) mod dual_copy;
pub(crate) mod ring;
pub(crate) mod senders;
pub(crate) mod stats_page;
