//! Collective operations among processes that can send bytes to each other: all-reduce, all-gather,
//! reduce-scatter, broadcast, reduce, gather, scatter, all-to-all and barrier.
//!
//! Every process calls the same operations in the same order, with the same lengths. Nothing here knows what
//! carries the bytes: a [`Mesh`] does, which the caller provides. Reductions give bit-equal results at all
//! processes, and the same bits whenever the same processes reduce the same data: the order of additions
//! depends on the number of processes and the length alone.
//!
//! What is short goes in few rounds, what is long in pieces around a ring, so that every process sends and
//! receives each byte about twice however many there are. Rabenseifner, "Optimization of collective reduction
//! operations" (2004), and Thakur et al., "Optimization of collective communication operations in MPICH"
//! (2005), describe both.
#![forbid(unsafe_code)]

mod all_gather;
mod all_reduce;
mod broadcast;
mod direct;
mod element;
mod mesh;
mod ring;

pub use all_gather::all_gather;
pub use all_reduce::{all_reduce, reduce, reduce_scatter};
pub use broadcast::broadcast;
pub use direct::{all_to_all, barrier, gather, scatter};
pub use element::{Element, Op};
pub use mesh::{Incoming, Mesh, Outgoing};
