//! Why a switch cannot be asked.

use std::path::PathBuf;
use thiserror::Error;

/// Why a switch cannot be asked. The text does not name the switch, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SwitchError {
    /// The file with the community cannot be used.
    #[error("the community cannot be read from {}: {why}", file.display())]
    Community {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The address is not known.
    #[error("{address} is no address that is known here: {why}; `management` in the cluster file names it")]
    Address {
        /// The address as the file has it.
        address: String,
        /// What the resolver says.
        why: String,
    },
    /// Nothing comes.
    #[error(
        "no answer by SNMP from {address}: is SNMP version 2c switched on there, may this machine ask, and \
         is the community right (`community_file`; a switch is silent about a wrong one)?"
    )]
    Silent {
        /// The address that was asked.
        address: String,
    },
    /// What comes is no answer to what was asked.
    #[error("what {address} answers is no SNMP: {why}")]
    Garbled {
        /// The address that was asked.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The agent says that it cannot answer.
    #[error("the agent at {address} reports the error {status} (RFC 3416, section 3)")]
    Refused {
        /// The address that was asked.
        address: String,
        /// The error-status.
        status: u32,
    },
    /// The answers do not end.
    #[error("the agent at {address} answers without end: {why}")]
    Endless {
        /// The address that was asked.
        address: String,
        /// What does not end.
        why: &'static str,
    },
    /// It did answer, but not to the end within the time limit.
    #[error("{address} takes longer than {seconds} s to answer all that is asked")]
    Slow {
        /// The address that was asked.
        address: String,
        /// The time limit, seconds.
        seconds: u64,
    },
}
