//! The kernel's counters for TCP connections, and sockets of Multipath TCP.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

/// `IPPROTO_MPTCP` (include/uapi/linux/in.h).
const IPPROTO_MPTCP: libc::c_int = 262;

/// Offsets into `struct tcp_info` (include/uapi/linux/tcp.h), which only ever grows at its end.
const TOTAL_RETRANS: usize = 100;
const DATA_SEGS_IN: usize = 152;
const DATA_SEGS_OUT: usize = 156;
const RCV_OOOPACK: usize = 224;
/// Size of the buffer for `struct tcp_info`: more than any kernel fills.
const INFO_BYTES: usize = 512;

/// Counters of a connection since it was opened, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Segments with data that were sent, retransmissions included.
    pub data_out: u64,
    /// Segments that were retransmitted.
    pub resent: u64,
    /// Segments with data received.
    pub data_in: u64,
    /// Received segments that came out of order (Linux 5.4 or newer; 0 before).
    pub out_of_order: u64,
}

impl TcpCounts {
    /// Asks the kernel about a connected TCP socket (`TCP_INFO`).
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        let mut info = [0u8; INFO_BYTES];
        let mut length = INFO_BYTES as libc::socklen_t;
        // SAFETY: the descriptor is open; the buffer and its length live through the call, and the kernel
        // writes no more than `length` bytes.
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
            // Fields that an older kernel does not know stay zero.
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

/// Number of segments without new data that this thread's network namespace has sent: mostly
/// acknowledgements, which become fewer where the receiver merges more segments. Needs Linux 4.17 or newer.
pub fn bare_segments() -> io::Result<u64> {
    let snmp = fs::read_to_string("/proc/thread-self/net/snmp")?;
    let netstat = fs::read_to_string("/proc/thread-self/net/netstat")?;
    Ok(bare(&snmp, &netstat))
}

fn bare(snmp: &str, netstat: &str) -> u64 {
    let tcp = |name| counter(snmp, "Tcp", name).unwrap_or(0);
    // Without a count of segments with data it is not known how many are without.
    let new = counter(netstat, "TcpExt", "TCPOrigDataSent").unwrap_or(u64::MAX);
    tcp("OutSegs").saturating_sub(tcp("RetransSegs")).saturating_sub(new)
}

/// A counter of `/proc/net/snmp` or `/proc/net/netstat`, which have a line of names and below it a line of
/// numbers.
pub fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| {
        let (of, rest) = line.split_once(':')?;
        (of == group).then_some(rest)
    });
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|known| known == name)?;
    numbers.split_whitespace().nth(at)?.parse().ok()
}

/// A socket of Multipath TCP over IPv4 (RFC 8684), not connected. Fails with `EPROTONOSUPPORT` on kernels
/// without it, and with `ENOPROTOOPT` where `net.mptcp.enabled` is 0.
pub fn mptcp_socket() -> io::Result<OwnedFd> {
    // SAFETY: socket takes no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, IPPROTO_MPTCP) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened this descriptor for this process, and no other code has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
    };

    // Shortened from a running system.
    const NETSTAT: &str = "TcpExt: SyncookiesSent TCPOFOQueue TCPSACKReorder\nTcpExt: 0 512 3\nIpExt: \
                           InNoRoutes InOctets\nIpExt: 0 7744\nMPTcpExt: MPCapableSYNRX OFOQueueTail \
                           OFOQueue\nMPTcpExt: 1 2 77\n";

    #[test]
    fn counters_are_found_by_their_names() {
        assert_eq!(counter(NETSTAT, "TcpExt", "TCPOFOQueue"), Some(512));
        assert_eq!(counter(NETSTAT, "MPTcpExt", "OFOQueue"), Some(77));
        assert_eq!(counter(NETSTAT, "IpExt", "TCPOFOQueue"), None);
        assert_eq!(counter("TcpExt: A B\nTcpExt: 1\n", "TcpExt", "B"), None);
        assert!(
            fs::read_to_string("/proc/thread-self/net/snmp")
                .is_ok_and(|text| counter(&text, "Tcp", "OutSegs").is_some())
        );
    }

    #[test]
    fn what_brings_data_is_not_bare() {
        let snmp = "Tcp: ActiveOpens OutSegs RetransSegs\nTcp: 5 1000 30\n";
        assert_eq!(bare(snmp, "TcpExt: X TCPOrigDataSent\nTcpExt: 1 600\n"), 370);
        assert_eq!(bare(snmp, "TcpExt: X\nTcpExt: 1\n"), 0);
        assert_eq!(bare("", ""), 0);
    }

    #[test]
    fn counts_are_those_of_the_connection() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        let (mut server, _) = listener.accept()?;
        client.set_nodelay(true)?;
        let mut byte = [0];
        // Each byte is answered before the next one is sent, so no two can be merged.
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
