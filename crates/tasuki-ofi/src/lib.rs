//! Tasuki as a provider of libfabric, by which unmodified MPI libraries use it.
//!
//! Two functions are exported: `fi_prov_ini` for libfabric, and `tasuki_front_calls` for the library in front
//! of the system's libfabric. An object of libfabric is a box that begins with the structure that C sees.
//! What objects share is reference-counted, so that an object in use is not closed. No call unwinds into C.
//! No call blocks, except those that wait by definition. No call returns `FI_EAGAIN` for want of room,
//! because an MPI would repeat it for ever without reading its queue.
//!
//! See `docs/reference/libfabric.md` for what is offered and what is not.

pub mod abi;
mod counter;
mod death;
mod entries;
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
mod recorder;
mod regions;
mod space;

pub use front::tasuki_front_calls;
pub use provider::fi_prov_ini;
