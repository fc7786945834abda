//! Records of operations under way: what the endpoint must remember of a send or a receive until it
//! completes.

use tasuki_msg::{RecvId, SendId};

use crate::api::{Peer, Report};
use crate::memory::Memory;
use crate::rendezvous::keys::RendezvousKey;

/// The part of the engine that an operation belongs to, and that is told when it ends. (Operations of the
/// program have none.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Internal {
    /// A step of a one-sided transfer, by its number in [`crate::rma::Rma`].
    Rma(usize),
    /// A control message about length-coded bulk or streams, by its number in
    /// [`crate::messages::in_order::InOrder`].
    Control(u64),
    /// No part needs to know the end.
    Unattended,
}

/// A send under way.
pub(crate) struct SendOp {
    /// Known once the message layer has taken the send.
    pub id: Option<SendId>,
    /// Tells it from other sends that have had its place.
    pub generation: u32,
    pub memory: Memory,
    /// The program's name of the operation.
    pub context: u64,
    pub peer: Peer,
    pub tagged: bool,
    pub report: Report,
    /// The program has been told that the send is complete, because its bytes were copied.
    pub reported: bool,
    /// Its speed tells something of the cable.
    pub measured: bool,
    /// The key under which the receiver may fetch the bytes, if not from shared memory.
    pub key: Option<RendezvousKey>,
    pub internal: Option<Internal>,
}

impl SendOp {
    /// A send of the engine itself.
    pub fn internal(peer: Peer, memory: Memory, internal: Internal) -> SendOp {
        SendOp {
            id: None,
            generation: 0,
            memory,
            context: 0,
            peer,
            tagged: true,
            report: Report::Failure,
            reported: false,
            measured: false,
            key: None,
            internal: Some(internal),
        }
    }
}

/// A receive under way.
pub(crate) struct RecvOp {
    pub id: Option<RecvId>,
    pub memory: Memory,
    /// The program's name of the operation.
    pub context: u64,
    pub tagged: bool,
    pub report: Report,
    /// The receive takes several messages, one behind the other.
    pub multi: bool,
    pub internal: Option<Internal>,
}

impl RecvOp {
    /// A receive of the engine itself.
    pub fn internal(memory: Memory, internal: Internal) -> RecvOp {
        RecvOp {
            id: None,
            memory,
            context: 0,
            tagged: true,
            report: Report::Failure,
            multi: false,
            internal: Some(internal),
        }
    }
}
