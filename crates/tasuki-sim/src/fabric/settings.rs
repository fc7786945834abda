//! Properties of the switches, cables and hosts of a fabric.

/// How a switch, or a host that relays, passes packets on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// Virtual cut-through (Kermani, Kleinrock 1979): a packet goes on as soon as its head is there and the
    /// next buffer has room for all of it.
    CutThrough,
    /// A packet goes on only once all of it is there.
    StoreAndForward,
}

/// How a buffer keeps its sender from overrunning it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// The sender knows how much room there is.
    Credits,
    /// The buffer says stop when a further packet of the largest size might not fit, and go when at most so
    /// many bytes are left in it.
    GoAndStop {
        /// Bytes that are left in the buffer when it says go.
        go: u32,
    },
}

/// The inputs of the crossbar of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossbar {
    /// Every virtual channel of every port has an input of its own.
    PerChannel,
    /// The virtual channels of a port share an input: one packet of a port moves at a time.
    PerPort,
}

/// Which packet is served first when several want the same cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// The one that asked first, among those with room ahead.
    Oldest,
    /// Ports are served in turn.
    RoundRobin,
}

/// What happens to a packet for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Packets wait: there is a buffer of so many bytes per virtual channel at the end of every cable into a
    /// switch.
    Lossless {
        /// Bytes per virtual channel.
        buffer: u32,
        /// How senders learn of room.
        flow: FlowControl,
    },
    /// Packets are dropped: there is a queue of so many bytes in front of every cable out of a switch
    /// (drop-tail Ethernet).
    DropTail {
        /// Bytes per port.
        queue: u32,
    },
    /// Like `DropTail`, with two queues per port, of which that of urgent packets is served first: strict
    /// priority, IEEE 802.1Q-2022, 8.6.8.1. A packet that is being sent is not interrupted.
    Priority {
        /// Bytes that may wait in each of the two queues.
        queue: u32,
    },
}

/// All settings that do not follow from the cabling. Times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How packets are passed on.
    pub switching: Switching,
    /// What happens to a packet for which there is no room.
    pub room: Room,
    /// The inputs of the crossbar.
    pub crossbar: Crossbar,
    /// Which packet is served first.
    pub arbiter: Arbiter,
    /// Time from the arrival of a packet's head at a switch until it can leave: table look-up, crossbar.
    pub switch_ps: u64,
    /// Propagation delay of every cable (5 ns per metre).
    pub cable_ps: u64,
    /// Like `switch_ps`, for a host that relays; it always stores and forwards.
    pub relay_ps: u64,
    /// Largest packet, bytes; Go & Stop leaves room for it.
    pub largest: u32,
}

impl Settings {
    /// Whether packets are dropped if there is no room.
    #[inline]
    pub fn drops(&self) -> bool {
        !matches!(self.room, Room::Lossless { .. })
    }

    /// Whether no packet is dropped, no buffer says stop, every virtual channel has an input of the crossbar,
    /// and the oldest request is served first.
    pub(super) fn plain(&self) -> bool {
        let credits = matches!(self.room, Room::Lossless { flow: FlowControl::Credits, .. });
        credits && self.crossbar == Crossbar::PerChannel && self.arbiter == Arbiter::Oldest
    }

    /// A lossless fabric of the kind of RHiNET-2, Myrinet and InfiniBand: 4 KiB per virtual channel, credits,
    /// 100 ns per switch, 5 m cables.
    pub fn lossless() -> Self {
        Self {
            switching: Switching::CutThrough,
            room: Room::Lossless { buffer: 4096, flow: FlowControl::Credits },
            crossbar: Crossbar::PerChannel,
            arbiter: Arbiter::Oldest,
            switch_ps: 100_000,
            cable_ps: 25_000,
            relay_ps: 5_000_000,
            largest: 2048,
        }
    }

    /// Ethernet of ordinary switches: store and forward, 128 KiB per port, 2 us per switch, 5 m cables.
    pub fn ethernet() -> Self {
        Self {
            switching: Switching::StoreAndForward,
            room: Room::DropTail { queue: 128 << 10 },
            switch_ps: 2_000_000,
            largest: 9038,
            ..Self::lossless()
        }
    }
}
