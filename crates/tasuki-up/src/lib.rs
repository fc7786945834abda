//! From discovered cables to a running cluster: what would change is shown, a person is asked once, hosts are
//! set up, their cables checked, and what was done is taken back if any of it fails ([`Up`], [`restore`]).
//! Then a short [`Demonstration`] says what the cables carry.
#![forbid(unsafe_code)]

mod cabling;
mod demonstration;
mod restore;
mod up;

pub use cabling::same_cabling;
pub use demonstration::{Demonstration, Figure, Shown};
pub use restore::restore;
pub use up::{Ending, Up, Voice};
