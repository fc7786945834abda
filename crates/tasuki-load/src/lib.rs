//! What hosts do now: their processors, memory, NICs and the processes that use Tasuki.
//!
//! Every host has an agent ([`agent`]) that answers each order with a [`HostSample`], which are counters. A
//! [`Watcher`] asks all agents of a fleet again and again, and makes of two samples a [`Load`], which are
//! rates. Nothing runs on a host before and after, and no process is disturbed: counters are read from the
//! kernel and from the pages of shared memory in which processes keep them.
#![forbid(unsafe_code)]

pub mod agent;
mod host_agent;
mod hosts;
mod jobs;
mod load;
mod nics;
mod processes;
mod ranks;
mod sample;
mod sampler;
mod system;
mod unattached;
mod usage;
mod watcher;

pub use agent::AGENT_COMMAND;
pub use hosts::HostLoad;
pub use jobs::JobLoad;
pub use load::{Load, Lost, Watched};
pub use nics::NicLoad;
pub use processes::{RUN_ID, local as processes};
pub use ranks::RankLoad;
pub use sample::{HostSample, Memory, NicSample, ProcessSample, Processors, WatchSample};
pub use sampler::Sampler;
pub use tasuki_ring::stats_page::RANK_VARIABLES;
pub use unattached::unattached;
pub use usage::{Counters, NicUse};
pub use watcher::Watcher;

/// The growth of a counter per second; 0 where it is lower than before, because it began anew.
fn per_second(before: u64, now: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 }
}
