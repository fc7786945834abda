//! What a program can ask for: a message to send, a receive to post.

use tasuki_msg::{Pace, Queue};

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct SendSpec {
    /// Queue that it is for.
    pub queue: Queue,
    /// Tag; ignored on the untagged queue.
    pub tag: u64,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Length, bytes.
    pub len: u64,
    /// The program wants to know of the delivery.
    pub delivery: bool,
    /// Key to the sender's memory. Where nodes share memory, this is the message's name
    /// ([`super::Oracle::next_name`]).
    pub remote_key: Option<u64>,
    /// The rate at which it must be sent, if not as fast as the receiver grants.
    pub pace: Option<Pace>,
}

impl SendSpec {
    /// A plain tagged message.
    pub fn tagged(tag: u64, len: u64) -> SendSpec {
        let (data, delivery, remote_key, pace) = (None, false, None, None);
        SendSpec { queue: Queue::Tagged, tag, data, len, delivery, remote_key, pace }
    }
}

/// A receive to post, or a probe.
#[derive(Clone, Copy, Debug)]
pub struct RecvSpec {
    /// Queue.
    pub queue: Queue,
    /// Number of the node whose messages it accepts; `None`: any.
    pub source: Option<usize>,
    /// Tag.
    pub tag: u64,
    /// Bits of the tag that are ignored.
    pub ignore: u64,
    /// Size of the buffer, bytes.
    pub capacity: u64,
    /// See [`tasuki_msg::RecvRequest::multi`].
    pub multi: Option<u64>,
}

impl RecvSpec {
    /// Accepts everything on a queue.
    pub fn any(queue: Queue, capacity: u64) -> RecvSpec {
        RecvSpec { queue, source: None, tag: 0, ignore: u64::MAX, capacity, multi: None }
    }

    /// Accepts tagged messages; its buffer has 64 KiB.
    pub fn tagged(source: Option<usize>, tag: u64, ignore: u64) -> RecvSpec {
        RecvSpec { queue: Queue::Tagged, source, tag, ignore, capacity: 1 << 16, multi: None }
    }
}
