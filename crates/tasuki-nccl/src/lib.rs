//! Tasuki as a network of NCCL and RCCL: the plug-in `libnccl-net-tasuki.so`.
//!
//! NCCL looks in the library for a table named `ncclNetPlugin_vN` with the highest N that it knows, from 6 to
//! 12; [`plugin`] has those from 8 on. All of a host's NICs are one device, since the engine stripes over
//! them and relays where no cable leads: NCCL has no rails to choose. Data come from and go to host memory,
//! into which NCCL copies from GPUs.
//!
//! A connection of NCCL goes one way. The listener's handle holds its endpoint's address; whoever connects
//! sends it a hello with the connection's number, and from then on messages carry that number and NCCL's tag
//! in the engine's tag ([`listen`]). Messages of one connection and one tag keep their order.
//!
//! No call waits for a peer, except that ending operations that are under way may take [`net::SETTLE`]. No
//! call unwinds into C. What fails is told to NCCL's log and as an error, never by silence.

mod abi;
mod border;
mod calls;
mod comm;
mod context;
mod error;
mod listen;
mod log;
mod net;
mod plugin;
mod properties;
mod transfers;

pub use plugin::{
    ncclNetPlugin_v8, ncclNetPlugin_v9, ncclNetPlugin_v10, ncclNetPlugin_v11, ncclNetPlugin_v12,
};
