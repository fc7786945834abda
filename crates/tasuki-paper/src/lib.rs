//! The papers that Tasuki implements, beside what runs here: every published figure as a [`Claim`] with the
//! [`Rule`] by which ours is judged, what was found, and the verdict.
//!
//! Claims come from files with the papers' figures ([`Data`]), whatever is found; so a figure that is changed
//! in a file changes verdicts. `docs/guide/papers.md` says how to read the cells.
#![forbid(unsafe_code)]

pub mod atm;
mod cell;
pub mod cross;
mod data;
mod html;
mod judge;
mod lab;
pub mod nic;
mod paper;
pub mod rhinet2;
mod rule;
pub mod score;

pub use cell::{Cell, Claim, Finding, Findings, Open, Role, Standing};
pub use data::{Atm, Cross, Data, DataError, FILES, Fukunaga, NicDistribution, Rhinet2, Score};
pub use html::{figure, page, summary, verdict};
pub use judge::{Tally, judge};
pub use lab::{ClusterFile, Stage};
pub use paper::{Paper, PaperError, UnknownPaper};
pub use rule::Rule;
