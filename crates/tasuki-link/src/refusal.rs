//! What the network says about packets that it did not deliver (the socket's error queue).

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::address::RawAddr;
use crate::control::{Control, each_message};

/// A packet to `to` was refused by that host, by a router, or by this host's own NIC. It is evidence about an address, not about
/// one packet: the kernel joins and limits such reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where the packet was going.
    pub to: SocketAddr,
    /// Why it did not arrive.
    pub kind: RefusalKind,
    /// Whether this host said so (no route, NIC down, MTU) and not the network (ICMP).
    pub own: bool,
}

/// Why a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The host lives and no socket has that port: the process is gone.
    PortUnreachable,
    /// No answer from that host, or no way to it.
    HostUnreachable,
    /// No route.
    NetUnreachable,
    /// The NIC or its cable is down.
    NetDown,
    /// The packet exceeds the path's MTU.
    TooBig {
        /// The largest IP packet that passes, in bytes; 0 if unknown.
        mtu: u32,
    },
    /// Something else, as an `errno` value.
    Other(i32),
}

impl RefusalKind {
    /// What an `errno` value says; `mtu` belongs to EMSGSIZE.
    pub(crate) fn from_errno(errno: i32, mtu: u32) -> RefusalKind {
        match errno {
            libc::ECONNREFUSED => RefusalKind::PortUnreachable,
            libc::EHOSTUNREACH | libc::EHOSTDOWN => RefusalKind::HostUnreachable,
            libc::ENETUNREACH => RefusalKind::NetUnreachable,
            libc::ENETDOWN | libc::ENODEV | libc::ENXIO => RefusalKind::NetDown,
            libc::EMSGSIZE => RefusalKind::TooBig { mtu },
            other => RefusalKind::Other(other),
        }
    }
}

/// One entry of the error queue.
pub(crate) enum Entry {
    Refusal(Refusal),
    /// An entry that names no destination or is of another kind.
    Useless,
    /// The queue is empty.
    None,
}

/// Takes one entry from the error queue of `fd` (IP_RECVERR, ip(7)).
pub(crate) fn read_error(fd: &OwnedFd) -> Entry {
    let mut name = RawAddr::empty();
    let mut control = Control([0; 256]);
    // SAFETY: a header of zero bytes is a header without pointers.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&mut name as *mut RawAddr).cast();
    header.msg_namelen = RawAddr::ROOM;
    header.msg_control = (&mut control as *mut Control<256>).cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the header points to `name` and `control`, which live through the call, with their lengths; there is no data buffer.
    let read = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
    if read < 0 {
        return Entry::None;
    }
    let Some(to) = name.get() else { return Entry::Useless };
    let mut found = Entry::Useless;
    let len = header.msg_controllen.min(control.0.len());
    each_message(&control.0[..len], |level, kind, data| {
        let ours =
            matches!((level, kind), (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR));
        if !ours || data.len() < size_of::<libc::sock_extended_err>() {
            return;
        }
        // SAFETY: `data` is at least as long as the struct, whose members are integers.
        let error = unsafe { data.as_ptr().cast::<libc::sock_extended_err>().read_unaligned() };
        let own = error.ee_origin == libc::SO_EE_ORIGIN_LOCAL;
        if !own && error.ee_origin != libc::SO_EE_ORIGIN_ICMP && error.ee_origin != libc::SO_EE_ORIGIN_ICMP6 {
            return;
        }
        let kind = RefusalKind::from_errno(i32::try_from(error.ee_errno).unwrap_or(i32::MAX), error.ee_info);
        found = Entry::Refusal(Refusal { to, kind, own });
    });
    found
}
