//! Tasuki as a provider of libfabric: the door by which unmodified MPI libraries come in.
//!
//! Exported are `fi_prov_ini`, for libfabric, and `tasuki_front_calls`, for what stands in front of one. Objects of libfabric are
//! boxes that begin with the structure that C sees; what they share is counted, so that nothing is closed that is in use. No call
//! unwinds into C, none blocks but those that wait by definition, and none says "try again" for want of room: an MPI would ask
//! again for ever without ever looking at its queue.
//!
//! See `docs/libfabric.md` for what is offered and what not.

pub mod abi;
mod death;
mod ep;
mod front;
mod getinfo;
mod guard;
mod hints;
mod host;
mod limits;
#[doc(hidden)]
pub mod log;
mod members;
mod names;
mod object;
mod provider;
mod queue;
mod regions;
mod space;

pub use front::tasuki_front_calls;
pub use provider::fi_prov_ini;
