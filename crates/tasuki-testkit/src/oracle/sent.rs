//! The messages of programs, and what the oracle knows of each.

use tasuki_msg::{Failure, PeerId, Queue, SendId};

use super::SendSpec;
use crate::content::{self, Pieces, SCRIBBLE};

/// What has become of a message at its receiver, according to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Neither received nor discarded.
    Waiting,
    /// A receive has got it, and has room for `take` bytes of it.
    Matched {
        /// Bytes.
        take: u64,
    },
    /// Discarded by a probe.
    Discarded,
}

/// A message of a program, and its send operation.
pub struct Sent {
    /// The sending node.
    pub from: usize,
    /// The receiving node.
    pub to: usize,
    /// What `from` calls `to`.
    pub peer: PeerId,
    /// The operation; `None` if the message took the fast path, which ends a send within the call.
    pub send: Option<SendId>,
    /// Queue that it is for.
    pub queue: Queue,
    /// Tag as the receiver sees it: 0 on the untagged queue.
    pub tag: u64,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Length, bytes.
    pub len: u64,
    /// Key to the sender's memory.
    pub remote_key: Option<u64>,
    /// The send buffer; overwritten when the operation is over.
    pub bytes: Vec<u8>,
    /// The program wants to know of the delivery.
    pub delivery: bool,
    /// A frame of it has left.
    pub started: bool,
    /// The `Start` of the message has arrived.
    pub start_arrived: bool,
    /// The bytes of the message that have arrived.
    pub arrived: Pieces,
    /// A carrier has copied some of its payload and released it at once.
    pub copied: bool,
    /// Some of it came to a receiver for which the sender was gone.
    pub refused: bool,
    /// Frames with payload that carriers have not released.
    pub unreleased: u32,
    /// The program has cancelled it in time.
    pub cancelled: bool,
    /// How the operation has ended.
    pub result: Option<Result<(), Failure>>,
    /// What has become of it at the receiver.
    pub state: MessageState,
}

impl Sent {
    /// A message that has not been posted yet. `name` decides its bytes.
    pub(super) fn new((from, to, peer): (usize, usize, PeerId), spec: SendSpec, name: usize) -> Sent {
        let SendSpec { queue, tag, data, len, delivery, remote_key, .. } = spec;
        let mut bytes = vec![0; len as usize];
        content::fill(name, 0, &mut bytes);
        Sent {
            from,
            to,
            peer,
            send: None,
            queue,
            tag: if queue == Queue::Msg { 0 } else { tag },
            data,
            len,
            remote_key,
            bytes,
            delivery,
            started: false,
            start_arrived: false,
            arrived: Pieces::default(),
            copied: false,
            refused: false,
            unreleased: 0,
            cancelled: false,
            result: None,
            state: MessageState::Waiting,
        }
    }

    /// Whether these bytes have arrived, or came to a receiver that did not want them any more.
    pub(super) fn arrived_within(&self, offset: u64, len: u64) -> bool {
        self.refused || self.arrived.covers(offset, len) || (len == 0 && self.start_arrived)
    }

    /// The send is over and its buffer is the program's again: the program writes something else into it.
    pub(super) fn scribble(&mut self) {
        self.bytes.fill(SCRIBBLE);
    }

    /// Whether all its bytes have arrived.
    pub fn whole(&self) -> bool {
        self.arrived.total() == self.len
    }

    /// Whether all bytes that the receiver wants have arrived.
    pub(super) fn satisfied(&self) -> bool {
        match self.state {
            MessageState::Matched { take } => self.arrived.total() >= take,
            MessageState::Discarded => true,
            MessageState::Waiting => self.whole() && !self.delivery,
        }
    }
}
