//! Reports of the network about packets that it did not deliver (the socket's error queue).

use std::mem::size_of;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use crate::address::RawAddr;
use crate::control::{Control, each_message};

/// Bytes of the refused packet's payload that a [`Refusal`] quotes, at most.
pub const QUOTE_MAX: usize = 16;

/// A report that a packet to `to` was refused by that host, by a router, or by this host's own NIC. It is
/// evidence about an address and not about one packet, because the kernel joins and limits such reports.
/// Reports of the network are not authenticated: an attacker who guesses addresses and ports can forge one,
/// with any sender. Payload that the attacker has not seen cannot be guessed, so a report proves something
/// only if it quotes what no third party could know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Destination of the packet.
    pub to: SocketAddr,
    /// Why it did not arrive.
    pub kind: RefusalKind,
    /// Whether the report is of this host (no route, NIC down, MTU) and not of the network (ICMP).
    pub own: bool,
    /// Sender of a report of the network, if the kernel tells it: the host that the packet was for, a router,
    /// a firewall, or an attacker.
    pub by: Option<IpAddr>,
    /// The beginning of the refused packet's payload, as far as the report quotes it. [`Refusal::quoted`]
    /// cuts it to its length.
    pub quote: [u8; QUOTE_MAX],
    /// Bytes of `quote` that were quoted.
    pub quote_len: usize,
}

impl Refusal {
    /// A report of this host itself.
    pub(crate) fn own(to: SocketAddr, kind: RefusalKind) -> Refusal {
        Refusal { to, kind, own: true, by: None, quote: [0; QUOTE_MAX], quote_len: 0 }
    }

    /// The beginning of the refused packet's payload: at most [`QUOTE_MAX`] bytes. Linux quotes 500 bytes of
    /// a packet and more, other systems may quote no payload at all.
    pub fn quoted(&self) -> &[u8] {
        &self.quote[..self.quote_len.min(QUOTE_MAX)]
    }
}

/// Why a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The host lives and no socket has that port. If that is true, the process is gone.
    PortUnreachable,
    /// The host does not answer, or there is no path to it.
    HostUnreachable,
    /// There is no route.
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
    /// What an `errno` value says. `mtu` is used for EMSGSIZE alone.
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
    /// An entry that names no destination, or is of another kind.
    Useless,
    /// The queue is empty.
    None,
}

/// Takes one entry from the error queue of `fd` (IP_RECVERR, ip(7)).
pub(crate) fn read_error(fd: &OwnedFd) -> Entry {
    let mut name = RawAddr::empty();
    let mut control = Control([0; 256]);
    let mut quote = [0; QUOTE_MAX];
    let mut vector = libc::iovec { iov_base: quote.as_mut_ptr().cast(), iov_len: quote.len() };
    // SAFETY: a header of zero bytes is a header without pointers.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&mut name as *mut RawAddr).cast();
    header.msg_namelen = RawAddr::ROOM;
    header.msg_iov = &mut vector;
    header.msg_iovlen = 1;
    header.msg_control = (&mut control as *mut Control<256>).cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the header points to `name`, `control` and `vector`, and that to `quote`; all live through the
    // call and have the lengths given.
    let read = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
    let Ok(quote_len) = usize::try_from(read) else { return Entry::None };
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
        let by = if own { None } else { offender(data) };
        found = Entry::Refusal(Refusal { to, kind, own, by, quote, quote_len });
    });
    found
}

/// The report's sender, whose address stands behind the error (SO_EE_OFFENDER, ip(7)).
fn offender(data: &[u8]) -> Option<IpAddr> {
    let mut name = RawAddr::empty();
    let told = data.get(size_of::<libc::sock_extended_err>()..)?;
    let len = told.len().min(RawAddr::ROOM as usize);
    // SAFETY: `name` has room for `len` bytes, every pattern of which is a value of it, and `told` has as
    // many.
    unsafe { std::ptr::copy_nonoverlapping(told.as_ptr(), (&raw mut name).cast::<u8>(), len) };
    name.get().map(|address| address.ip())
}
