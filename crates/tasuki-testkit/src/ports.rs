//! Ports that a test has to itself. One that the kernel gave and that was given back may be another's at
//! once: of a test beside it, or of a child that another thread starts.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Ports above those that Linux gives to sockets that ask for any (`net.ipv4.ip_local_port_range`).
const FIRST: u16 = 61_000;

/// A port at which nobody listens, by TCP or UDP, and that no other caller in this network namespace gets as
/// long as this process lives.
///
/// # Panics
/// If there is none.
pub fn own_port() -> u16 {
    let is_free = |port: &u16| {
        let at = (Ipv4Addr::UNSPECIFIED, *port);
        is_reserved(*port) && TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok()
    };
    (FIRST..=u16::MAX).find(is_free).expect("a port that no other test has")
}

/// Whether the port is now this caller's: it has a name, which the kernel keeps for one socket of a network
/// namespace and forgets with the process.
fn is_reserved(port: u16) -> bool {
    let name = SocketAddr::from_abstract_name(format!("tasuki-test-port-{port}"));
    let holder = name.and_then(|name| UnixListener::bind_addr(&name));
    holder.map(std::mem::forget).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_callers_get_one_port_and_nobody_listens_there() {
        let callers = |_| std::thread::spawn(|| (0..20).map(|_| own_port()).collect::<Vec<_>>());
        let callers: Vec<_> = (0..8).map(callers).collect();
        let ports: BTreeSet<u16> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
        assert_eq!(ports.len(), 160);
        assert!(ports.iter().all(|port| std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_err()));
    }
}
