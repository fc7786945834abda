//! Packet sockets (`packet(7)`) and their TPACKET_V2 receive ring, the datapath of the raw lane.
//!
//! The kernel writes frames into slots of a ring that both sides map; a slot's status word says whose it is.
//! The layouts are those of include/uapi/linux/if_packet.h (unchanged since Linux 2.6.27, which brought
//! version 2). Version 3 is not used: its blocks are handed over by a timer, which adds 1 ms to latency.

mod layout;
mod list;
mod ring;

pub use self::layout::{RingLayout, RingSize};
pub use self::list::{SocketNumber, open_sockets};
pub use self::ring::{Frame, PacketKind, PacketRing};

use crate::fork::Uninherited;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{AddressFamily, SockFlag, SockType, socket},
};
use std::{
    ffi::c_int,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::Duration,
};
use thiserror::Error;

/// A request about a packet socket that the kernel refused.
#[derive(Debug, Error)]
#[error("packet socket on {interface}: {request}: {source}{}", hint(source))]
pub struct PacketError {
    /// Interface name.
    pub interface: String,
    /// The request in words.
    pub request: &'static str,
    /// The kernel's error.
    pub source: io::Error,
}

fn hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => " (raw frames need CAP_NET_RAW)",
        Some(libc::ENODEV) => " (no such interface in this network namespace)",
        _ => "",
    }
}

/// What an Ethernet interface is: enough to address frames to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Interface index in its network namespace.
    pub index: u32,
    /// MAC address.
    pub mac: [u8; 6],
    /// Largest payload of a frame in bytes, without the Ethernet header.
    pub mtu: u32,
}

/// Frames since the counters were last read (`PACKET_STATISTICS` resets them).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketStatistics {
    /// Frames that matched the socket, the dropped ones included.
    pub frames: u32,
    /// Frames dropped because the ring or the receive buffer was full.
    pub drops: u32,
}

/// A packet socket for one ethertype on one interface. It receives and sends nothing until
/// [`PacketSocket::bind`] or [`PacketSocket::into_ring`], so that it never receives a frame of another
/// interface or ethertype.
pub struct PacketSocket {
    socket: Uninherited<OwnedFd>,
    name: String,
    interface: Interface,
    ethertype: u16,
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl PacketSocket {
    /// Opens a socket in the calling thread's network namespace. Needs `CAP_NET_RAW`.
    pub fn open(interface: &str, ethertype: u16) -> Result<Self, PacketError> {
        let fail = |request| move |source| PacketError { interface: interface.into(), request, source };
        // With protocol 0 nothing is received before the socket is bound to the ethertype.
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)
            .map_err(|errno| fail("open")(errno.into()))?;
        let socket = Uninherited::new(socket);
        let facts = describe(&socket, interface).map_err(fail("read index, MAC address and MTU"))?;
        Ok(Self { socket, name: interface.into(), interface: facts, ethertype })
    }

    /// Takes over a socket that another process (a broker) has opened, filtered, given a ring and bound. It
    /// is checked to be what it should be: a raw packet socket of this interface, in the calling thread's
    /// network namespace, bound to the ethertype.
    pub fn adopt(socket: OwnedFd, interface: &str, ethertype: u16) -> Result<Self, PacketError> {
        let fail = |request| move |source| PacketError { interface: interface.into(), request, source };
        let other = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
        let socket = Uninherited::new(socket);
        let (index, bound) = bound_to(&socket).map_err(fail("ask what the socket is bound to"))?;
        // The interface is looked up by a socket made here: the socket that was passed would answer for the
        // namespace in which it was made.
        let own =
            nix::sys::socket::socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
                .map_err(|errno| fail("ask for the interface")(errno.into()))?;
        let here = describe(&own, interface).map_err(fail("read index, MAC address and MTU"))?;
        let there = describe(&socket, interface).map_err(fail("read index, MAC address and MTU"))?;
        if here != there || here.index != index {
            return Err(fail("compare the interface")(other("it is one of another network namespace")));
        }
        if bound != ethertype {
            return Err(fail("compare the ethertype")(other("it is bound to another")));
        }
        Ok(Self { socket, name: interface.into(), interface: here, ethertype })
    }

    /// The interface that the socket was opened for.
    pub fn interface(&self) -> Interface {
        self.interface
    }

    /// Whether the interface for which it was opened is still there. One of the same name that has come in
    /// its place is another one.
    pub fn is_bound(&self) -> bool {
        bound_to(&self.socket).is_ok_and(|(index, _)| index == self.interface.index)
    }

    /// Sends frames past the interface's queueing discipline (`PACKET_QDISC_BYPASS`): with less delay, but
    /// frames do not queue behind a full transmit ring, and a local shaper does not see them.
    pub fn set_qdisc_bypass(&self, on: bool) -> Result<(), PacketError> {
        set_option(&self.socket, libc::PACKET_QDISC_BYPASS, &c_int::from(on))
            .map_err(|source| self.error("set qdisc bypass", source))
    }

    /// Has the kernel run this classic BPF program on every frame (from its Ethernet header on) and keep as
    /// many bytes as it returns; 0 means that the frame is not for this socket. The filter cannot be changed
    /// afterwards (`SO_LOCK_FILTER`). To be called before anything is received.
    pub fn lock_filter(&self, program: &[libc::sock_filter]) -> Result<(), PacketError> {
        let fail = |source| self.error("attach the filter", source);
        let len = program.len().try_into().map_err(|_| fail(io::ErrorKind::InvalidInput.into()))?;
        let program = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
        // The kernel copies the program, which it only reads.
        set_option_of(&self.socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program).map_err(fail)?;
        set_option_of(&self.socket, libc::SOL_SOCKET, libc::SO_LOCK_FILTER, &1)
            .map_err(|source| self.error("lock the filter", source))
    }

    /// Asks for a send buffer of this many bytes. The kernel grants less if `net.core.wmem_max` is lower and
    /// the process is not root's.
    pub fn set_send_buffer(&self, bytes: u32) {
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        if set_option_of(&self.socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes).is_err() {
            // If this fails the buffer is smaller, which costs speed only.
            let _ = set_option_of(&self.socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes);
        }
    }

    /// Has the interface receive frames to this group too, for as long as the socket is open
    /// (`PACKET_ADD_MEMBERSHIP`).
    pub fn join_group(&self, group: [u8; 6]) -> Result<(), PacketError> {
        let mut address = [0; 8];
        address[..group.len()].copy_from_slice(&group);
        let membership = libc::packet_mreq {
            mr_ifindex: self.interface.index.cast_signed(),
            mr_type: libc::PACKET_MR_MULTICAST as u16,
            mr_alen: group.len() as u16,
            mr_address: address,
        };
        set_option(&self.socket, libc::PACKET_ADD_MEMBERSHIP, &membership)
            .map_err(|source| self.error("join a group", source))
    }

    /// Starts to receive frames of the ethertype into the socket's buffer.
    pub fn bind(&self) -> Result<(), PacketError> {
        // SAFETY: sockaddr_ll is plain old data; all zeroes is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = self.ethertype.to_be();
        address.sll_ifindex = self.interface.index.cast_signed();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the descriptor is open, and address points to an initialised sockaddr_ll of that length.
        let result = unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) };
        check(result).map(drop).map_err(|source| self.error("bind", source))
    }

    /// Ties a bound socket to its interface and ethertype for good: no process that holds the descriptor can
    /// bind it again or have it join a group of other sockets. (The only member of a fan-out group cannot be
    /// bound and cannot change groups, since Linux 3.1; it receives what it would receive without the group.
    /// `fanout_add` and `packet_do_bind` in net/packet/af_packet.c.) The interface must be up.
    pub fn seal_binding(&self) -> Result<(), PacketError> {
        /// `PACKET_FANOUT_CPU` with `PACKET_FANOUT_FLAG_UNIQUEID`: the kernel finds a number for the group
        /// (Linux 4.12).
        const ALONE: u32 = libc::PACKET_FANOUT_CPU | 0x2000;
        set_option(&self.socket, libc::PACKET_FANOUT, &(ALONE << 16))
            .map_err(|source| self.error("seal the binding (is the interface up?)", source))
    }

    /// Binds the socket to send only: it never receives a frame.
    pub fn bind_to_send(&self) -> Result<(), PacketError> {
        // BPF_RET | BPF_K: keep no byte of any frame.
        self.lock_filter(&[libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }])?;
        self.bind()
    }

    /// Maps a receive ring, then starts to receive into it.
    pub fn into_ring(self, size: RingSize) -> Result<PacketRing, PacketError> {
        let layout = self.make_ring(size)?;
        let ring = self.map_ring(layout)?;
        ring.socket().bind()?;
        Ok(ring)
    }

    /// Makes the receive ring, unmapped. Its memory belongs to the socket.
    pub fn make_ring(&self, size: RingSize) -> Result<RingLayout, PacketError> {
        ring::make(self, size)
    }

    /// Maps the ring that the socket has. While any process has it mapped, it can be neither changed nor
    /// freed.
    pub fn map_ring(self, layout: RingLayout) -> Result<PacketRing, PacketError> {
        PacketRing::map(self, layout)
    }

    /// Frees the ring; fails with `EBUSY` if a process has it mapped.
    pub fn free_ring(&self) -> Result<(), PacketError> {
        ring::free(self)
    }

    /// Sends one whole frame, Ethernet header included. `WouldBlock`: the socket's buffer is full of frames
    /// that are still queued ([`PacketSocket::wait_writable`] waits). `ENOBUFS`: the transmit queue is full
    /// or, with qdisc bypass, the cable is down; then there is nothing to wait for.
    pub fn send(&self, frame: &[u8]) -> io::Result<usize> {
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: the descriptor is open, and the pointer and length are those of a live slice.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), flags) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent.unsigned_abs()) }
    }

    /// Waits until there is room in the socket's buffer or `limit` has passed; true if there may be room.
    pub fn wait_writable(&self, limit: Duration) -> io::Result<bool> {
        wait_for(self.as_fd(), PollFlags::POLLOUT, limit)
    }

    /// Reads and resets the socket's counters.
    pub fn statistics(&self) -> Result<PacketStatistics, PacketError> {
        // struct tpacket_stats: tp_packets, tp_drops.
        let mut counters = [0u32; 2];
        get_option(&self.socket, libc::PACKET_STATISTICS, &mut counters)
            .map_err(|source| self.error("read statistics", source))?;
        Ok(PacketStatistics { frames: counters[0], drops: counters[1] })
    }

    fn error(&self, request: &'static str, source: io::Error) -> PacketError {
        PacketError { interface: self.name.clone(), request, source }
    }
}

/// Waits for an event, once. False if `limit` passed or a signal came first.
fn wait_for(descriptor: BorrowedFd<'_>, event: PollFlags, limit: Duration) -> io::Result<bool> {
    let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(descriptor, event)], timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Index, MAC address and MTU of a named interface (`netdevice(7)`). sysfs is not used because it shows the
/// network namespace of the process that mounted it.
fn describe(socket: &OwnedFd, name: &str) -> io::Result<Interface> {
    // SAFETY: ifreq is plain old data; all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    let mut ask = |what: libc::c_ulong| {
        // SAFETY: the descriptor is open; request is an initialised ifreq with a nul-terminated name, which
        // is what each of the three requests below reads and fills in.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &raw mut request) }).map(|_| request)
    };
    let index = ask(libc::SIOCGIFINDEX)?;
    let address = ask(libc::SIOCGIFHWADDR)?;
    let mtu = ask(libc::SIOCGIFMTU)?;
    // SAFETY: SIOCGIFINDEX, SIOCGIFHWADDR and SIOCGIFMTU have filled in these members of the three copies.
    let (index, address, mtu) =
        unsafe { (index.ifr_ifru.ifru_ifindex, address.ifr_ifru.ifru_hwaddr, mtu.ifr_ifru.ifru_mtu) };
    // Loopback has the same frame layout, with a zero address.
    if address.sa_family != libc::ARPHRD_ETHER && address.sa_family != libc::ARPHRD_LOOPBACK {
        return Err(io::Error::other("not an Ethernet interface"));
    }
    let mut mac = [0; 6];
    for (to, from) in mac.iter_mut().zip(address.sa_data) {
        *to = from.cast_unsigned();
    }
    Ok(Interface { index: index.cast_unsigned(), mac, mtu: mtu.cast_unsigned() })
}

/// Interface index and ethertype that a raw packet socket is bound to.
fn bound_to(socket: &OwnedFd) -> io::Result<(u32, u16)> {
    // SAFETY: sockaddr_ll is plain old data; all zeroes is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the descriptor is open; the kernel writes at most `length` bytes into the address.
    check(unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) })?;
    let kind = nix::sys::socket::getsockopt(socket, nix::sys::socket::sockopt::SockType)?;
    if i32::from(address.sll_family) != libc::AF_PACKET || kind != SockType::Raw {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no raw packet socket"));
    }
    Ok((address.sll_ifindex.cast_unsigned(), u16::from_be(address.sll_protocol)))
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets an option of level `SOL_PACKET` whose value the kernel takes as plain bytes.
fn set_option<T: Copy>(socket: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    set_option_of(socket, libc::SOL_PACKET, option, value)
}

fn set_option_of<T: Copy>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the pointer and length describe a live value of plain data.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), length)
    };
    check(result).map(drop)
}

/// Reads an option of level `SOL_PACKET` made of 32-bit words.
fn get_option<const N: usize>(socket: &OwnedFd, option: c_int, value: &mut [u32; N]) -> io::Result<()> {
    let mut length = size_of::<[u32; N]>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes into the array.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check(result).map(drop)
}
