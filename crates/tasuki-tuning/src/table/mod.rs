//! The table: one file for each part of the data path.

mod carriers;
mod ends;
mod interfaces;
mod message_layer;
mod packet_layer;
mod rail;
mod rendezvous;
mod sending;
mod shared_memory;
mod waiting;
mod window;

pub use carriers::{broker, datagrams, pages, segments};
pub use ends::{leaving, liveness};
pub use interfaces::{c_interface, provider, recorder};
pub use message_layer::{credit, fixed_rate, grants, matching};
pub use packet_layer::{ack, given_up, loss, packets};
pub use rail::rails;
pub use rendezvous::{bulk, rma, streams};
pub use sending::{coalesce, engine, inline, prefetch, raw_lanes, sends, sockets};
pub use shared_memory::{dual_copy, shm};
pub use waiting::{helper, oversubscription, sleep, wait, watchdog};
pub use window::pacing;

use crate::Group;

/// All groups, in the order of a message's way: shared memory, waiting, sending, long messages, the message
/// layer, the packet layer, ends;
/// then what carries messages, and what programs call.
pub fn groups() -> impl Iterator<Item = &'static Group> {
    let files = [
        shared_memory::GROUPS,
        waiting::GROUPS,
        sending::GROUPS,
        rendezvous::GROUPS,
        message_layer::GROUPS,
        packet_layer::GROUPS,
        window::GROUPS,
        rail::GROUPS,
        ends::GROUPS,
        carriers::GROUPS,
        interfaces::GROUPS,
    ];
    files.into_iter().flatten()
}
