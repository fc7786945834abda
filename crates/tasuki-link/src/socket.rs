//! Opening a UDP socket and setting its options.

use std::io;
use std::mem::size_of_val;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use tasuki_sys::fork::Uninherited;

use crate::address::RawAddr;
use crate::{LinkError, UdpOptions};

/// An open socket and what the kernel granted.
pub(crate) struct Opened {
    pub(crate) fd: Uninherited<OwnedFd>,
    pub(crate) local: SocketAddr,
    pub(crate) device_bound: bool,
    pub(crate) segment: bool,
    pub(crate) coalesce: bool,
}

/// Opens a socket, sets its options and binds it.
pub(crate) fn open(options: &UdpOptions) -> Result<Opened, LinkError> {
    open_with(options, false)
}

/// Like [`open`], beside a socket that has the same address and at this moment permits it to be shared
/// ([`share`]).
pub(crate) fn open_beside(options: &UdpOptions) -> Result<Opened, LinkError> {
    open_with(options, true)
}

/// Permits other sockets of this user to be bound to the same address, if they permit it as well
/// (SO_REUSEPORT); or forbids it. SO_REUSEADDR would permit it to sockets of all users.
pub(crate) fn share(fd: &OwnedFd, may: bool) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, libc::c_int::from(may))
}

fn open_with(options: &UdpOptions, beside: bool) -> Result<Opened, LinkError> {
    let address = options.address;
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let raw = unsafe { libc::socket(family, kind, 0) };
    if raw < 0 {
        return Err(LinkError::Socket { address, source: io::Error::last_os_error() });
    }
    // SAFETY: `raw` was just opened, and nothing else owns it.
    let fd = Uninherited::new(unsafe { OwnedFd::from_raw_fd(raw) });

    path_options(&fd, options)?;
    buffer(&fd, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, options.receive_buffer);
    buffer(&fd, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, options.send_buffer);
    if beside {
        share(&fd, true).map_err(|source| LinkError::Option { address, option: "SO_REUSEPORT", source })?;
    } else {
        // This option only counts drops, so that a kernel without it costs nothing but the count.
        let _ = set(&fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
    }
    let device_bound = bind_device(&fd, options)?;
    let local = bind_address(&fd, SocketAddr::new(address, options.port))?;
    // Zero means "no segmentation by default". That it can be set shows that the kernel knows the option.
    let segment = set(&fd, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
    let coalesce = set(&fd, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
    Ok(Opened { fd, local, device_bound, segment, coalesce })
}

/// Sets options for the path: packets are never fragmented, the kernel's idea of the path's MTU is ignored
/// (it is probed per rail, and a forged ICMP must not shrink it), and what the network refuses is reported.
fn path_options(fd: &OwnedFd, options: &UdpOptions) -> Result<(), LinkError> {
    let wanted = if options.address.is_ipv4() {
        [
            ("IP_MTU_DISCOVER", libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
            ("IP_RECVERR", libc::IPPROTO_IP, libc::IP_RECVERR, 1),
        ]
        .to_vec()
    } else {
        [
            ("IPV6_V6ONLY", libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1),
            ("IPV6_MTU_DISCOVER", libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
            ("IPV6_RECVERR", libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
        ]
        .to_vec()
    };
    for (option, level, name, value) in wanted {
        set(fd, level, name, value).map_err(|source| LinkError::Option {
            address: options.address,
            option,
            source,
        })?;
    }
    Ok(())
}

/// Asks for a buffer of `bytes` bytes. Without privileges the kernel grants at most `net.core.rmem_max` or
/// `wmem_max`; a smaller buffer is slower and never wrong.
fn buffer(fd: &OwnedFd, force: libc::c_int, plain: libc::c_int, bytes: usize) {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    if set(fd, libc::SOL_SOCKET, force, bytes).is_err() {
        let _ = set(fd, libc::SOL_SOCKET, plain, bytes);
    }
}

/// Binds the socket to the NIC asked for. False if none was, or without the permission.
fn bind_device(fd: &OwnedFd, options: &UdpOptions) -> Result<bool, LinkError> {
    let Some(device) = &options.device else { return Ok(false) };
    // SAFETY: the pointer and length are those of a live string; the kernel copies it.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            device.as_ptr().cast(),
            device.len() as libc::socklen_t,
        )
    };
    if done == 0 {
        return Ok(true);
    }
    let source = io::Error::last_os_error();
    if source.kind() == io::ErrorKind::PermissionDenied {
        return Ok(false);
    }
    Err(LinkError::Device { address: options.address, device: device.clone(), source })
}

/// Binds the socket to an address, and returns the one that it has then.
fn bind_address(fd: &OwnedFd, address: SocketAddr) -> Result<SocketAddr, LinkError> {
    let failed = |source| LinkError::Bind { address, source };
    let (raw, len) = RawAddr::new(address);
    // SAFETY: `raw` lives through the call and is at least `len` bytes long.
    if unsafe { libc::bind(fd.as_raw_fd(), (&raw as *const RawAddr).cast(), len) } != 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    let (mut raw, mut len) = (RawAddr::empty(), RawAddr::ROOM);
    // SAFETY: `raw` has room for `len` bytes, and both live through the call.
    if unsafe { libc::getsockname(fd.as_raw_fd(), (&mut raw as *mut RawAddr).cast(), &mut len) } != 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    raw.get().ok_or_else(|| failed(io::ErrorKind::AddrNotAvailable.into()))
}

/// Sets an option that is a number.
pub(crate) fn set(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer and length are those of `value`, which lives through the call.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&value as *const libc::c_int).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many datagrams the kernel has dropped because the receive buffer was full, modulo 2^32; 0 if it does
/// not tell.
pub(crate) fn drops(fd: &OwnedFd) -> u32 {
    /// Index of that number among those that SO_MEMINFO tells.
    const DROPS: usize = 8;
    let mut values = [0u32; DROPS + 1];
    let mut len = size_of_val(&values) as libc::socklen_t;
    // SAFETY: `values` has room for `len` bytes, and both live through the call.
    let told = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &mut len,
        )
    };
    if told == 0 { values[DROPS] } else { 0 }
}
