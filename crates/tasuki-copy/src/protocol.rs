//! What the copier orders, and what agents answer: one JSON value a line. The contents of all files follow
//! the line of [`Order::Pass`] for the first host of the chain, one file behind the other.

use crate::sum::{Key, Sum};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The hidden subcommand of `tasuki` that is an agent.
pub const AGENT_COMMAND: &str = "copy-agent";

/// An order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Say which of these files are there.
    Look {
        /// Key of the sums.
        key: Key,
        /// Files whose size and sum are told.
        compared: Vec<String>,
        /// Files of which it is enough to know that they are there.
        needed: Vec<String>,
    },
    /// Make the job's folder, and get ready to receive.
    Open {
        /// The job's number, in letters and digits, which no other job has.
        job: String,
        /// How many bytes will come.
        bytes: u64,
        /// The address at which the host before this one in the chain connects; `None`: contents come on
        /// standard input.
        listen: Option<Ipv4Addr>,
    },
    /// Receive these files, and pass them on.
    Pass {
        /// The files, in the order of their contents.
        items: Vec<Item>,
        /// What a connection begins with; also the key of the sums.
        key: Key,
        /// The next host of the chain.
        next: Option<Hop>,
    },
    /// The job has ended: remove its folder.
    End,
}

/// A host that receives from another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hop {
    /// Its name.
    pub host: String,
    /// Where it listens.
    pub address: SocketAddrV4,
}

/// A file of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its place below the job's folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its permissions, without those of other users.
    pub mode: u32,
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Order::Look`]: size and sum of the files to compare, where they are there; and the needed files
    /// that are not.
    Sight {
        /// In the order asked.
        compared: Vec<Option<(u64, Sum)>>,
        /// Numbers of those that are missing, from 0.
        missing: Vec<usize>,
    },
    /// To [`Order::Open`]: the port on which the host listens, if it was told to.
    Open {
        /// The port.
        port: Option<u16>,
    },
    /// To [`Order::Pass`]: the sums of what was written, in the order of the files.
    Passed(Vec<Sum>),
    /// To [`Order::End`]: the folder with what the program has written, if it has.
    Ended(Option<Kept>),
    /// What could not be done, and why.
    Failed {
        /// The cause.
        why: String,
        /// What helps.
        remedy: Option<String>,
        /// Whether another host has failed before, so that this one's part is only what followed.
        follows: bool,
    },
}

/// What a program has written into its working folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Where it is now.
    pub folder: String,
    /// The files, below that folder.
    pub files: Vec<String>,
}
