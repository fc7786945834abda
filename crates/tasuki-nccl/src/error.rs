//! What failed, and the code by which NCCL is told.

use std::fmt::Display;

/// Codes of `ncclResult_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    /// This host or its network cannot do it.
    System = 2,
    /// A defect, of this library or of its caller.
    Internal = 3,
    /// An argument is null or out of range.
    Argument = 4,
    /// What two hosts want does not fit together.
    Usage = 5,
    /// The peer has died or closed the connection.
    Remote = 6,
}

/// A failure of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    pub code: Code,
    pub text: String,
}

impl Error {
    pub fn new(code: Code, text: impl Display) -> Error {
        Error { code, text: text.to_string() }
    }

    /// A pointer that must not be null is.
    pub fn null(name: &str) -> Error {
        Error::new(Code::Argument, format!("{name} is a null pointer"))
    }
}
