//! The receive-interrupt delay of the host that we are on, following its load: the daemon behind `tasuki tune
//! run`.
//!
//! [`Tuner`] looks at the host ([`Sampler`]), has the controller of `tasuki-tune` decide, which is pure, and
//! sets the delay of all its NICs by `tasuki-host`, which keeps the record of what they had before.
//! [`reload_check`] and what is beside it load drivers again that read their delay only when they are loaded.
#![forbid(unsafe_code)]

mod daemon;
mod error;
mod line;
mod nics;
mod reload;
mod sampler;

pub use daemon::{Tuner, TunerOptions, pause};
pub use error::TunerError;
pub use line::Line;
pub use nics::{cabled_nics, host_rails, present_nics};
pub use reload::{reload_check, reload_now_or_later};
pub use sampler::{Counts, Sampler};
