//! The reasons for which packets are dropped.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// Why a receiver drops a packet and counts it, in the order of the table in
        /// `docs/reference/wire.md`. A packet is always dropped as a whole.
        //= docs/reference/wire.md#malformed-input
        //# A receiver never answers a packet that it drops, never acts on a part of it, and counts it by
        //# reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DropReason {
            $($(#[$doc])* $variant,)*
        }

        impl DropReason {
            /// All reasons, in order: `ALL[reason.index()] == reason`.
            pub const ALL: &'static [DropReason] = &[$(DropReason::$variant,)*];

            /// The name of its counter, as in `docs/reference/wire.md`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DropReason::$variant => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// The packet is shorter than a header.
    Short "short";
    /// The packet does not begin with the magic, so it is none of Tasuki's.
    Magic "magic";
    /// The packet has another version of the format.
    Version "version";
    /// The packet's length field contradicts its length: it was cut off, or damaged.
    Length "length";
    /// The packet was damaged on the way: by a cable, a NIC, or a host's memory.
    Checksum "checksum";
    /// The packet has a reserved flag.
    Flags "flags";
    /// The packet has a keyed tag and there is no key for it, or it has a wrong tag, or none where there is a
    /// key.
    Tag "tag";
    /// The packet's header names a reserved lane.
    Path "path";
    /// The packet has no frame.
    Empty "empty";
    /// The packet has a frame of unknown type.
    FrameType "frame-type";
    /// A frame goes on beyond the end of the packet.
    Truncated "truncated";
    /// An integer is not in its shortest form.
    Varint "varint";
    /// An acknowledgement names impossible packets.
    Ack "ack";
    /// A list of rails is impossible.
    Rails "rails";
    /// A greeting, refusal or probe reply is impossible.
    Greeting "greeting";
    /// The sizes of a message contradict each other.
    Start "start";
    /// A data frame has no byte, or goes beyond the end of all messages.
    Data "data";
    /// A frame covers positions beyond the last one.
    Position "position";
    /// The packet comes from an unknown peer without a greeting, or has a greeting in the wrong place.
    Handshake "handshake";
    /// The packet is for another endpoint.
    Endpoint "endpoint";
    /// The packet is forged, or for an earlier incarnation of the endpoint.
    Token "token";
    /// The packet has a greeting that is for another incarnation, or forged.
    Incarnation "incarnation";
    /// The packet comes from a peer that is unknown, or no longer known.
    Peer "peer";
    /// The packet's packet number has been received before.
    Duplicate "duplicate";
}

impl DropReason {
    /// Number of reasons, which is the size of an array of counters.
    pub const COUNT: usize = DropReason::ALL.len();

    /// Index of the reason in an array of counters.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for DropReason {}
