//! Errors of a caller that emits a packet.

use std::fmt;

/// The caller asked for bytes that the format cannot hold. Nothing of the frame was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// The frame does not fit into the rest of the packet; it must go into the next one.
    Full {
        /// Bytes that the frame needs.
        need: usize,
        /// Bytes that are left.
        room: usize,
    },
    /// The buffer has no room for a header.
    Buffer,
    /// The packet number is above [`crate::MAX_PACKET_NUMBER`]: no more packets can be sent on the path.
    PacketNumber,
    /// The path has a rail above 31, or a reserved lane.
    Path,
    /// The ack has no run, too many, or runs that are not in descending order with gaps between them.
    Ack,
    /// The list of rails is too long, not ascending, or has a rail that the format does not allow.
    Rails,
    /// The greeting gives 0 as a name to the addressee.
    Greeting,
    /// The sizes of the start contradict each other or its payload, or it is for the engines' queue and has
    /// no tag.
    Start,
    /// The data frame has no payload, or ends beyond the largest message.
    Data,
    /// The frame covers positions beyond the last one.
    Position,
    /// A packet must begin with a hello if the addressee's name for this side is unknown, and must not have
    /// one otherwise.
    Handshake,
    /// The packet has no frame.
    Empty,
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::Full { need, room } => {
                write!(
                    f,
                    "the frame needs {need} bytes and the packet has {room} left: send it in the next one"
                )
            }
            EmitError::Buffer => f.write_str("the buffer is too small for a packet: give at least one MTU"),
            EmitError::PacketNumber => f.write_str("the path has no packet numbers left: use another"),
            EmitError::Path => f.write_str("rails are numbered below 32 and lanes below 3"),
            EmitError::Ack => {
                f.write_str("acknowledged runs must descend, apart from each other, at most 64")
            }
            EmitError::Rails => {
                f.write_str("rails must ascend, at most 32, each with an MTU of at least 1280")
            }
            EmitError::Greeting => f.write_str("a greeting must give its addressee a name other than 0"),
            EmitError::Start => f.write_str(
                "a message needs inline <= early <= length and inline bytes of payload, \
                     one for the internal queue a tag",
            ),
            EmitError::Data => f.write_str("data needs at least one byte and must end within the message"),
            EmitError::Position => f.write_str("the frame goes beyond the last position"),
            EmitError::Handshake => {
                f.write_str("a hello is the first frame of a packet to peer 0, and only there")
            }
            EmitError::Empty => f.write_str("the packet has no frame"),
        }
    }
}

impl std::error::Error for EmitError {}
