//! The messages of clients and `lab-init`.

use crate::LabOptions;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// First message to a starting `lab-init`.
#[derive(Debug, Serialize, Deserialize)]
pub struct StartMessage {
    /// How to build.
    pub options: LabOptions,
    /// Text of the cluster file.
    pub cluster: String,
    /// Where that text came from, for messages.
    pub source: Option<PathBuf>,
}

/// What a starting `lab-init` reports to the process that starts it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Progress {
    /// `done` of `total` steps are done; the current one is named.
    Step {
        /// Steps done.
        done: usize,
        /// Steps in all.
        total: usize,
        /// What is being made.
        what: String,
    },
    /// The lab is complete.
    Ready,
    /// It cannot be built.
    Failed(String),
}

/// The starter's answer to [`Progress::Ready`]: from now on the lab lives without it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Commit;

/// A client's request.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Run a command in a host. The descriptors are its standard input, output and error.
    Exec(Box<ExecMessage>),
    /// Report the state of the lab.
    Status,
    /// Plant or remove a fault.
    Fault(Fault),
    /// End the lab.
    Down,
}

/// `lab-init`'s answer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// Done.
    Done,
    /// It was not done; the text says why.
    Failed(String),
    /// Answer to [`Request::Status`].
    Status(Box<LabStatus>),
    /// The command was started.
    Started,
    /// The command ended by itself, with this exit code.
    Exited(i32),
    /// This signal ended the command.
    Killed(i32),
}

/// What a client may send while its command runs.
#[derive(Debug, Serialize, Deserialize)]
pub enum SessionMessage {
    /// Send this signal to the command's process group.
    Signal(i32),
}

/// A command for a host.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExecMessage {
    /// Host name, or one of the host's addresses.
    pub host: String,
    /// Program and arguments; not empty.
    pub argv: Vec<Bytes>,
    /// The whole environment.
    pub env: Vec<(Bytes, Bytes)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Directories and files below a host's private folders (`/tmp`, `/run`, `/dev/shm`) that it shall share
    /// with the machine.
    pub share: Vec<PathBuf>,
    /// Membership in a job.
    pub job: JobRole,
    /// Standard input is a terminal that shall control the command.
    pub terminal: bool,
}

/// Bytes that need not be UTF-8, as arguments and environment are.
pub type Bytes = std::ffi::OsString;

/// See [`crate::Job`].
#[derive(Debug, Serialize, Deserialize)]
pub enum JobRole {
    /// In no job.
    None,
    /// The root of a new job.
    Root,
    /// A member of the job with this name.
    Member(String),
}

/// The state of a lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabStatus {
    /// Options that it was built with.
    pub options: LabOptions,
    /// Text of its cluster file.
    pub cluster: String,
    /// Where that text came from.
    pub source: Option<PathBuf>,
    /// Process number of `lab-init` on the machine (0 if asked from inside a host).
    pub pid: i32,
    /// Its hosts, in file order.
    pub hosts: Vec<HostStatus>,
    /// Its cables, in file order.
    pub cables: Vec<CableStatus>,
}

/// A host of a lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostStatus {
    /// Host name.
    pub name: String,
    /// Its address on the unshaped management network.
    pub management: String,
    /// Its identity address.
    pub identity: String,
    /// Commands running in it (processes besides the host's own process 1).
    pub processes: usize,
}

/// A cable of a lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CableStatus {
    /// Its ends, as the cluster file names them.
    pub ends: [String; 2],
    /// Rate in bit/s; `None` in an unshaped lab.
    pub rate: Option<u64>,
    /// Both ends have carrier.
    pub carrier: bool,
    /// The state of frames from the first and from the second end.
    pub directions: [DirectionStatus; 2],
}

/// The state of one direction of a cable: faults in force and frames counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionStatus {
    /// No frame passes.
    pub cut: bool,
    /// Likelihood of loss, 0..=1.
    pub loss: f64,
    /// Likelihood that a frame is delivered twice, 0..=1.
    pub duplicate: f64,
    /// Likelihood that a byte of a frame is changed, 0..=1.
    pub corrupt: f64,
    /// Frames sent into the cable.
    pub frames: u64,
    /// Bytes sent into the cable (without preamble, frame check sequence and gap).
    pub bytes: u64,
    /// Frames that a fault has dropped.
    pub dropped: u64,
    /// Frames that were delivered twice.
    pub duplicated: u64,
    /// Frames of which a byte was changed.
    pub corrupted: u64,
}

/// A change of faults on cables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// Which cables: `n1:eth1` (the cable of that NIC or switch port), `n1-n2` (all cables between two),
    /// `n1` (all cables of a host or switch) or `all`.
    pub cables: String,
    /// Only frames sent by this end (a host, switch or NIC); `None`: both directions.
    pub from: Option<String>,
    /// What to do.
    pub kind: FaultKind,
}

/// What to do to cables.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FaultKind {
    /// Let no frame pass. In both directions the NICs lose their carrier, as when a cable is pulled out,
    /// unless `keep_carrier`; a cut in one direction always keeps it.
    Cut {
        /// Leave the carrier on.
        keep_carrier: bool,
    },
    /// Remove every fault.
    Heal,
    /// Lose frames with this likelihood, 0..=1.
    Loss(f64),
    /// Deliver frames twice with this likelihood, 0..=1.
    Duplicate(f64),
    /// Change one byte of frames with this likelihood, 0..=1.
    Corrupt(f64),
    /// Set another rate, bit/s.
    Rate(u64),
}
