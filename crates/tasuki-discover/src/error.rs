//! Why nothing could be discovered.

use thiserror::Error;

/// Why nothing could be discovered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DiscoverError {
    /// No host answered.
    #[error("no host answered: {0}")]
    NoHost(String),
    /// Two entries of the list are one machine.
    #[error("{0} and {1} are the same machine; name it once")]
    SameMachine(String, String),
    /// A NIC that is to take part is on no host.
    #[error("there is no interface {0} to include on a host that answered; `ip link` shows its interfaces")]
    NoSuchNic(String),
    /// An argument is no host.
    #[error("{host:?} is no host: {why}")]
    BadHost {
        /// The argument.
        host: String,
        /// What is wrong with it.
        why: String,
    },
}
