//! Why a packet is dropped.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// Why a receiver drops a packet and counts it; in the order of the table in `docs/wire.md`. A packet is
        /// dropped whole.
        //= docs/wire.md#malformed-input
        //# A receiver never answers a packet that it drops, never acts on a part of it, and counts it by reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DropReason {
            $($(#[$doc])* $variant,)*
        }

        impl DropReason {
            /// All reasons, in order: `ALL[reason.index()] == reason`.
            pub const ALL: &'static [DropReason] = &[$(DropReason::$variant,)*];

            /// The name of its counter, as in `docs/wire.md`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DropReason::$variant => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// Less than a header.
    Short "short";
    /// Not ours: does not begin with the magic.
    Magic "magic";
    /// Another version of the format.
    Version "version";
    /// The length field contradicts what arrived: cut off, or damaged.
    Length "length";
    /// Damaged on the way: a cable, a NIC, a host's memory.
    Checksum "checksum";
    /// A reserved flag.
    Flags "flags";
    /// A keyed tag, for which there is no key.
    Tag "tag";
    /// A reserved lane in the header.
    Path "path";
    /// No frame.
    Empty "empty";
    /// A frame of unknown type.
    FrameType "frame-type";
    /// A frame that goes on beyond the end of the packet.
    Truncated "truncated";
    /// An integer that is not in its shortest form.
    Varint "varint";
    /// An acknowledgement of impossible packets.
    Ack "ack";
    /// An impossible list of rails.
    Rails "rails";
    /// An impossible greeting, refusal or probe reply.
    Greeting "greeting";
    /// A message whose sizes contradict each other.
    Start "start";
    /// Data of no byte, or beyond the end of all messages.
    Data "data";
    /// Beyond the last position.
    Position "position";
    /// A stranger without a greeting, or a greeting in the wrong place.
    Handshake "handshake";
    /// For another endpoint.
    Endpoint "endpoint";
    /// Forged, or for an earlier incarnation of the endpoint.
    Token "token";
    /// A greeting for another incarnation, or forged.
    Incarnation "incarnation";
    /// From a peer that is not known, or no longer.
    Peer "peer";
    /// The packet number has been seen before.
    Duplicate "duplicate";
}

impl DropReason {
    /// Number of reasons: the size of an array of counters.
    pub const COUNT: usize = DropReason::ALL.len();

    /// Place in an array of counters.
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
