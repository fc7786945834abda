//! Why records are no trace.

/// Why a file is no part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// It does not begin as parts do.
    #[error("no record of messages, or one of another version of Tasuki")]
    Foreign,
    /// A record of an unknown kind.
    #[error("a record of unknown kind {0}: the file is damaged")]
    Kind(u8),
}

/// Why parts do not make a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// There is nothing.
    #[error("no process has recorded messages: does the program call MPI_Init, and run over Tasuki?")]
    Nothing,
    /// A process did not know its rank.
    #[error("a process did not know its rank: start the program by tasuki run, or by its MPI's launcher")]
    NoRank,
    /// The ranks are not 0 to their number.
    #[error("rank {0} has recorded nothing, although rank {1} has")]
    Missing(u32, u32),
}
