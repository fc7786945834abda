//! The receive-interrupt delay set by load: the future work of Fukunaga, Umeno, Ashihara ("Tuning of
//! Small-scale PC-cluster", section 7).
//!
//! A long delay saves the processor interrupts, a short one saves the program waiting. [`Controller`] chooses
//! the length from what a host shows of itself ([`Sample`]): processor use, packets, interrupts. [`Bundle`]
//! takes NICs out of a bundle while the processor and not the wire is the limit (section 6). [`Model`] is a
//! host to try them on, [`level`] what runs on it, [`Dim`] a rival; [`comparison`] holds the controller
//! against every fixed delay.
//!
//! Nothing here reads a clock or performs IO: what a host shows, and what is set on it, is the business of
//! `tasuki-tuned`.
#![forbid(unsafe_code)]

mod bundle;
pub mod comparison;
mod controller;
mod dim;
pub mod experiment;
mod lengths;
mod levels;
mod memory;
mod model;
mod sample;

pub use bundle::{Bundle, BundleSample, BundleStep};
pub use controller::{Controller, Decision, Reason};
pub use dim::Dim;
pub use lengths::{BadLengths, Lengths};
pub use levels::{LEVELS, Machine, level};
pub use model::{Costs, Counters, Load, Model};
pub use sample::Sample;
