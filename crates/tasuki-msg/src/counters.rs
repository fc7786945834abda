//! Counters and states, for statistics and for what a watchdog prints.

/// Totals for one peer since it was added. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounters {
    /// Messages whose `Start` was handed to the carrier.
    pub sent_messages: u64,
    /// Payload bytes handed to the carrier.
    pub sent_bytes: u64,
    /// Payload bytes that the peer has pulled out of the memory here, of messages that are over. Of one that
    /// it has cut short this side knows no more than its length.
    pub fetched_bytes: u64,
    /// Of the messages sent, those that were sent whole without a grant.
    pub sent_eager: u64,
    /// Of the messages sent, those of which more would have been sent without a grant if there had been more
    /// credit.
    pub sent_short_of_credit: u64,
    /// Messages whose turn in the sequence has come.
    pub received_messages: u64,
    /// Payload bytes that arrived in frames.
    pub received_bytes: u64,
    /// Payload bytes pulled out of the peer's memory.
    pub pulled_bytes: u64,
    /// Messages matched with a receive.
    pub matched_messages: u64,
    /// Messages that found no posted receive.
    pub unexpected_messages: u64,
    /// Messages discarded by a probe.
    pub discarded_messages: u64,
    /// Messages that arrived before their turn in the sequence.
    pub held_messages: u64,
    /// Frames of all kinds handed to the carrier.
    pub sent_frames: u64,
    /// Frames of all kinds that arrived, dropped ones included.
    pub received_frames: u64,
    /// Frames that were dropped because they broke the protocol.
    pub dropped_frames: u64,
    /// Frames that were dropped because the peer was gone.
    pub late_frames: u64,
}

/// What is under way with one peer now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerStatus {
    /// Sends that have not started.
    pub sends_queued: usize,
    /// Sends posted and not over, queued ones included.
    pub sends_open: usize,
    /// Started sends that wait for the receiver.
    pub sends_awaiting: usize,
    /// Started sends with bytes that may be sent now.
    pub sends_with_bulk: usize,
    /// Control frames that wait for the carrier.
    pub control_queued: usize,
    /// Credit at the peer that this side has not spent, bytes.
    pub credit: u64,
    /// Bytes of this side's pool that belong to the peer: its unspent credit and its messages.
    pub pool_held: u64,
    /// Of `pool_held`, the credit that the peer has not spent, as far as is known.
    pub pool_unspent: u64,
    /// Credit was given to the peer of which it has not been told.
    pub credit_untold: bool,
    /// Messages from the peer, in any state.
    pub messages: usize,
    /// Messages from the peer that are matched or discarded and not complete.
    pub messages_busy: usize,
    /// Matched messages that want grants.
    pub messages_waiting: usize,
    /// Bytes granted that have not arrived.
    pub granted_in_flight: u64,
    /// Sequence number of the next message to the peer.
    pub next_send: u64,
    /// Sequence number of the message from the peer whose turn is next.
    pub next_receive: u64,
    /// This side has asked for silence and the peer has not agreed yet.
    pub quiesce_pending: bool,
    /// The peer has asked for silence.
    pub paused: bool,
    /// The peer is gone.
    pub gone: bool,
}

/// What an endpoint holds now, and what it has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointStatus {
    /// Receives that wait for a message.
    pub posted: usize,
    /// Unexpected messages: no receive has matched them.
    pub unexpected: usize,
    /// Sends under way.
    pub sends: usize,
    /// Receives under way, posted ones included.
    pub receives: usize,
    /// Messages at this receiver, in any state.
    pub messages: usize,
    /// Early buffers that the caller keeps.
    pub early_buffers: usize,
    /// Size of the pool, bytes.
    pub pool_size: u64,
    /// Bytes of the pool given to peers as credit or filled with their messages.
    pub pool_held: u64,
    /// Largest value of `pool_held` so far.
    pub pool_held_max: u64,
    /// Bytes granted to all senders that have not arrived.
    pub granted_in_flight: u64,
    /// Number of list entries that matching has looked at since the beginning.
    pub match_steps: u64,
}
