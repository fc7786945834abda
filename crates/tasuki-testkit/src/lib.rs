//! What test suites share, so that it is written and corrected once.
//!
//! * [`replay`]: the seed of a randomised test, and the command that runs it again.
//! * [`deaf`]: a file system that never answers.
//! * [`ports`]: ports that a test has to itself.
//! * [`scripts`]: programs that a test writes and runs.
//! * [`defects`]: the proof that a suite can fail, by planted defects.
//! * [`oracle`] (feature `oracle`): what message layers must do, checked call by call and frame by frame. It
//!   serves the suite of `tasuki-msg` and the fault simulation of `tasuki-sim`, which differ in what carries
//!   the frames.
//!
//! Nothing of this is part of the transport: normal dependencies on this crate are for test instruments only.
#![forbid(unsafe_code)]

#[cfg(feature = "oracle")]
pub mod content;
#[cfg(feature = "oracle")]
mod coverage;
pub mod deaf;
pub mod defects;
#[cfg(feature = "oracle")]
pub mod model;
#[cfg(feature = "oracle")]
pub mod oracle;
pub mod ports;
pub mod replay;
pub mod scripts;
#[cfg(feature = "oracle")]
mod trace;

#[cfg(feature = "oracle")]
pub use coverage::Coverage;
#[cfg(feature = "oracle")]
pub use trace::{Text, Trace};

/// The result of a check; an error says in words what went wrong.
pub type Check<T = ()> = Result<T, String>;

/// Fails with the complaint unless the condition holds.
pub fn demand(holds: bool, complaint: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(complaint()) }
}

/// Fails unless both values are equal.
pub fn same<T: PartialEq + std::fmt::Debug>(what: impl std::fmt::Display, got: T, expected: T) -> Check {
    demand(got == expected, || format!("{what}: got {got:?}, expected {expected:?}"))
}
