//! Plain TCP and UDP over all NICs: an eBPF program on the egress of every NIC of the bundle, and its tables.
//!
//! The program lives as long as its filters: no process and no file stands behind it. What it does is in
//! `bpf/stripe.bpf.c`; what a host is to stripe over is a [`StripePlan`] of `tasuki-cluster`. Everything acts
//! on the network namespace of the calling thread (or in which the given [`Netlink`] was opened).
#![forbid(unsafe_code)]

mod attached;
mod counts;
mod error;
mod layout;
mod load;
mod verdicts;

pub use attached::{Found, PRIORITY, find};
pub use counts::{NicCounts, StripeCounts};
pub use error::StripeError;
pub use load::{install, remove};
pub use verdicts::Verdicts;

#[cfg(doc)]
use {tasuki_cluster::StripePlan, tasuki_sys::netlink::Netlink};
