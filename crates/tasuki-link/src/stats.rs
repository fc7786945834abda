//! Counters of a lane.

/// What a UDP lane has done since it was opened. All counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpStats {
    /// Packets handed to the kernel.
    pub sent_packets: u64,
    /// Bytes of UDP payload handed to the kernel.
    pub sent_bytes: u64,
    /// Batches that went out as one UDP_SEGMENT send.
    pub sent_batches: u64,
    /// System calls made for sending.
    pub send_calls: u64,
    /// Sends put off because the socket's buffer or the NIC's queue was full (EAGAIN, ENOBUFS).
    pub send_again: u64,
    /// Packets dropped because they are larger than the NIC's MTU (EMSGSIZE).
    pub send_too_big: u64,
    /// Packets dropped because there is no path to their address (unreachable, network down).
    pub send_unreachable: u64,
    /// Packets dropped because the kernel refused them for another reason (a firewall's EPERM, a wrong
    /// address family).
    pub send_other: u64,
    /// Times that the kernel refused UDP_SEGMENT and the packets were sent one by one.
    pub segment_refused: u64,
    /// Packets received, after coalesced ones have been split.
    pub received_packets: u64,
    /// Bytes of UDP payload received.
    pub received_bytes: u64,
    /// Datagrams that the kernel had coalesced (UDP_GRO).
    pub coalesced: u64,
    /// System calls made for receiving.
    pub receive_calls: u64,
    /// Packets that the kernel dropped because the socket's receive buffer was full (SO_RXQ_OVFL).
    pub kernel_drops: u64,
    /// Packets dropped because they were larger than the receive buffers, or came from no IP address.
    pub unusable: u64,
    /// Refusals read from the error queue.
    pub refusals: u64,
}

/// What a raw lane has done since it was opened. All counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawStats {
    /// Frames handed to the kernel.
    pub sent_frames: u64,
    /// Bytes of the packets in the frames sent.
    pub sent_bytes: u64,
    /// System calls made for sending.
    pub send_calls: u64,
    /// Sends put off because the NIC's queue or the socket's buffer was full (ENOBUFS, EAGAIN), or the cable
    /// down.
    pub send_again: u64,
    /// Frames dropped because the queue stayed full.
    pub send_stuck: u64,
    /// Frames dropped because the kernel refused them (NIC down, longer than its MTU).
    pub send_refused: u64,
    /// Frames received.
    pub received_frames: u64,
    /// Bytes of the packets in the frames received, with the padding that a NIC has added.
    pub received_bytes: u64,
    /// Frames dropped because they did not fit into the ring's slots: the NIC's MTU has grown since the lane
    /// was opened.
    pub truncated: u64,
    /// Frames that the kernel dropped because the ring was full, as of the last
    /// [`crate::RawLink::look_for_drops`].
    pub kernel_drops: u64,
}
