//! Core dumps of the ranks of a job, brought to the host that has started it.
//!
//! A shell in front of every rank ([`front`]) lifts the limit of core files and notes the host in the
//! environment, then becomes the program. Beforehand each host says what its kernel does with core files
//! ([`Cores::before`]), and what of it will lose some. After the job each host looks for core files that hold
//! the job's name in the environment of the process that died, so that only the job's own are taken, and
//! sends them ([`Cores::collect`]); those that have come whole are removed there.
#![forbid(unsafe_code)]

mod agent;
mod catalog;
mod collect;
mod dump;
mod elf;
mod front;
mod kernel;
mod order;
mod receive;
mod say;
mod search;
#[cfg(test)]
mod tests;

pub use agent::{AGENT_COMMAND, main as agent_main};
pub use collect::{Collected, Cores};
pub use front::front;
