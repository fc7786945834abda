//! Small values that several frames share.

use std::fmt;

use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::limits::MAX_RAILS;

/// A lane: a datapath on a rail.
//= docs/reference/wire.md#carriage
//# 0 raw Ethernet, 1 UDP, 2 AF_XDP; 3 to 7 are reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Ethernet frames of Tasuki's own ethertype, through a packet socket.
    Raw,
    /// UDP datagrams.
    Udp,
    /// Ethernet frames through AF_XDP.
    Xdp,
}

/// A path, that is a lane of a rail. Each path has its own packet numbers.
//= docs/reference/wire.md#carriage
//# Rail and lane together are a *path*, one byte: the rail in bits 0 to 4, the lane in bits 5 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// Number of the rail, below [`MAX_RAILS`].
    pub rail: u8,
    /// The lane.
    pub lane: Lane,
}

impl Path {
    /// `None` if the lane is a reserved one.
    pub fn from_byte(byte: u8) -> Option<Path> {
        let lane = match byte >> 5 {
            0 => Lane::Raw,
            1 => Lane::Udp,
            2 => Lane::Xdp,
            _ => return None,
        };
        Some(Path { rail: byte & 0x1f, lane })
    }

    /// The byte on the wire; an error if the number of the rail is too large.
    pub fn to_byte(self) -> Result<u8, EmitError> {
        if usize::from(self.rail) >= MAX_RAILS {
            return Err(EmitError::Path);
        }
        Ok(self.rail | (self.lane as u8) << 5)
    }
}

/// The secret of an endpoint, part of its address, new in each incarnation. Not printed by `{:?}`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 16]);

impl Secret {
    /// The half of the secret that every packet to the endpoint carries.
    //= docs/reference/wire.md#who-may-speak
    //# Its first half is in every packet to it,
    //# its second half in every greeting to it.
    pub fn token(&self) -> u64 {
        self.half(0)
    }

    /// The half of the secret that every greeting to the endpoint carries.
    pub fn proof(&self) -> u64 {
        self.half(8)
    }

    fn half(&self, at: usize) -> u64 {
        let mut half = [0; 8];
        half.copy_from_slice(&self.0[at..at + 8]);
        u64::from_le_bytes(half)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why a hello was refused, or a connection given up.
//= docs/reference/wire.md#greeting
//# 1 no room for another peer, 2 leaving, 3 given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefuseReason {
    /// The addressee has as many peers as it can hold.
    NoRoom,
    /// The addressee is about to end.
    Leaving,
    /// The addressee has given the peer up: it took it for dead, or for broken.
    GivenUp,
}

impl RefuseReason {
    pub(crate) fn from_byte(byte: u8) -> Result<RefuseReason, DropReason> {
        match byte {
            1 => Ok(RefuseReason::NoRoom),
            2 => Ok(RefuseReason::Leaving),
            3 => Ok(RefuseReason::GivenUp),
            _ => Err(DropReason::Greeting),
        }
    }

    pub(crate) fn to_byte(self) -> u8 {
        match self {
            RefuseReason::NoRoom => 1,
            RefuseReason::Leaving => 2,
            RefuseReason::GivenUp => 3,
        }
    }
}
