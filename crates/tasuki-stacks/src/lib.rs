//! Where the ranks of a job are: the calls that each of their threads is in, on all hosts of a fleet.
//!
//! Every host asks gdb about its own processes ([`agent`]). [`Stacks::of`] gathers what all hosts say, and
//! [`Group`] brings together the ranks that are at one place of their program.
#![forbid(unsafe_code)]

pub mod agent;
mod calls;
mod doubts;
mod envelope;
mod frame;
mod gather;
pub mod gdb;
mod graph;
mod group;
pub mod halted;
mod init;
mod jobs;
pub mod mi;
mod modules;
mod place;
mod selection;
mod standstill;
mod verdict;
mod waits;

pub use agent::{AGENT_COMMAND, HostStacks};
pub use frame::{Frame, ProcessStacks, Thread};
pub use gather::Stacks;
pub use group::{Group, ranks_in_words, span, spans};
pub use init::not_come;
pub use jobs::{Claim, SharedNames, job_in_words, user_name};
pub use place::Place;
pub use selection::Selection;
pub use verdict::{State, Verdict, verdicts};
pub use waits::Wait;
