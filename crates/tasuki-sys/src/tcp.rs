//! What the kernel counts for a TCP connection, and sockets of Multipath TCP.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

/// `IPPROTO_MPTCP` (include/uapi/linux/in.h).
const IPPROTO_MPTCP: libc::c_int = 262;

/// Places in `struct tcp_info` (include/uapi/linux/tcp.h), which only ever grows at its end.
const TOTAL_RETRANS: usize = 100;
const DATA_SEGS_IN: usize = 152;
const DATA_SEGS_OUT: usize = 156;
const RCV_OOOPACK: usize = 224;
/// Room for more than any kernel knows.
const INFO_BYTES: usize = 512;

/// Counters of a connection since it was opened, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Segments with data sent, those sent again among them.
    pub data_out: u64,
    /// Segments sent again.
    pub resent: u64,
    /// Segments with data received.
    pub data_in: u64,
    /// Of those received, out of order (Linux 5.4 and newer; 0 before).
    pub out_of_order: u64,
}

impl TcpCounts {
    /// Asks the kernel about a connected TCP socket (`TCP_INFO`).
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        let mut info = [0u8; INFO_BYTES];
        let mut length = INFO_BYTES as libc::socklen_t;
        // SAFETY: the descriptor is open; the buffer and its length live through the call, and the kernel writes no more than
        // `length` bytes.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let word = |at: usize| {
            // What an older kernel does not know stays zero.
            let bytes = info.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, |bytes| u64::from(u32::from_ne_bytes(bytes)))
        };
        Ok(Self {
            data_out: word(DATA_SEGS_OUT),
            resent: word(TOTAL_RETRANS),
            data_in: word(DATA_SEGS_IN),
            out_of_order: word(RCV_OOOPACK),
        })
    }
}

/// A socket of Multipath TCP over IPv4 (RFC 8684), not connected. Fails with `EPROTONOSUPPORT` on kernels without it, and with
/// `ENOPROTOOPT` where `net.mptcp.enabled` is 0.
pub fn mptcp_socket() -> io::Result<OwnedFd> {
    // SAFETY: socket takes no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, IPPROTO_MPTCP) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
    };

    #[test]
    fn counts_are_those_of_the_connection() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        let (mut server, _) = listener.accept()?;
        client.set_nodelay(true)?;
        let mut byte = [0];
        // Each byte is answered before the next one goes: nothing can be merged.
        for _ in 0..10 {
            client.write_all(&[7])?;
            server.read_exact(&mut byte)?;
            server.write_all(&byte)?;
            client.read_exact(&mut byte)?;
        }
        let (near, far) = (TcpCounts::of(&client)?, TcpCounts::of(&server)?);
        assert_eq!((near.data_out - near.resent, near.data_in), (10, 10));
        assert_eq!(far.data_in, 10);
        assert_eq!((near.out_of_order, far.out_of_order), (0, 0));
        assert!(TcpCounts::of(&std::fs::File::open("/dev/null")?).is_err());
        Ok(())
    }
}
