//! Clusters on one machine: hosts as namespaces, cables and switches of a given rate, and faults.
//!
//! A lab is one process tree. Its root, `lab-init`, is process 1 of a PID namespace of its own and holds the
//! namespace in which all cables and switches live; every host is a nested PID namespace with network, UTS,
//! IPC and mount namespaces of its own. Nothing of a lab has a name in the machine's file system or network:
//! when `lab-init` ends, by whatever cause, the kernel ends and removes everything else.
//!
//! Clients ([`Lab`]) speak to `lab-init` over an abstract UNIX socket, whose name is the lab's name, or,
//! inside a host, over [`HOST_SOCKET`]. Both ends check who the other is: a lab serves root alone, and a
//! client sends nothing to a listener that is no lab.

mod agent;
mod ask;
mod channel;
mod client;
mod error;
mod exec;
mod foreground;
mod init;
mod listener;
mod options;
mod private;
mod protocol;
mod start;

pub use agent::main as agent_main;
pub use client::{Lab, need_root};
pub use error::LabError;
pub use exec::{ExecRequest, Exit, Job, Session};
pub use init::{INIT_COMMAND, main as init_main};
pub use listener::Stranger;
pub use options::LabOptions;
pub use protocol::{CableStatus, DirectionStatus, Fault, FaultKind, HostStatus, LabStatus};
pub use start::{StartingLab, up};

/// The socket of the lab as seen inside a host.
pub const HOST_SOCKET: &str = "/run/tasuki/lab.sock";
/// The ssh-like launcher agent as seen inside a host: `tasuki-agent [OPTIONS] HOST COMMAND...`.
pub const HOST_AGENT: &str = "/run/tasuki/bin/tasuki-agent";
/// The `tasuki` command as seen inside a host.
pub const HOST_PROGRAM: &str = "/run/tasuki/bin/tasuki";
/// The management interface of a lab host.
pub const MANAGEMENT_INTERFACE: &str = "mgmt0";
/// Environment variable that holds the job which a process belongs to, see [`Job`].
pub const JOB_VARIABLE: &str = "TASUKI_LAB_JOB";
