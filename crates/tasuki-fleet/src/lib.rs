//! Hosts, and how they are reached: this machine, the hosts of a lab, or machines over ssh.
//!
//! A [`Fleet`] runs a [`Task`] on one host ([`Fleet::run`]) or on all at once ([`Fleet::run_all`],
//! [`Fleet::run_each`]). Every task has a time limit, and its output comes back as an [`Answer`], in the
//! order of the hosts. An error names the host, what failed and what helps ([`HostError`]). A task ends with
//! this process, by Ctrl-C for instance, unless it is [`Task::lasting`]. Callers that talk with a command
//! while it runs get the command itself ([`Fleet::command`]) and connect its streams, or have [`Agents`] do
//! so on all hosts at once.

mod agents;
mod answer;
mod concurrent;
mod error;
mod fleet;
mod jump;
mod lab;
mod local;
mod ssh;
mod stream;
mod task;
mod way;

pub use agents::Agents;
pub use answer::{Answer, HostError};
pub use concurrent::for_each_host;
pub use error::FleetError;
pub use fleet::Fleet;
pub use lab::LabHosts;
pub use local::{host_name, this_program};
pub use ssh::SshHosts;
pub use stream::Tail;
pub use task::Task;
