//! Datagrams as the NIC hears them, before any filter of the host sees them.

use crate::numbers::Numbers;
use std::{thread, time::Duration};
use tasuki_sys::packet::{PacketError, PacketKind, PacketSocket, RingSize};

/// Stands for frames of every ethertype (`ETH_P_ALL`, include/uapi/linux/if_ether.h). Such a socket hears a
/// frame before the ingress hook of nftables does.
const ALL_ETHERTYPES: u16 = 3;
/// Slots of a ring. Datagrams that find no room are lost; each comes several times.
const SLOTS: u32 = 256;
const WAIT: Duration = Duration::from_millis(500);
/// Bytes of an Ethernet header and of a UDP header.
const ETHERNET: usize = 14;
const UDP: usize = 8;

/// Listens on a NIC for datagrams to a port, as long as this process lives, and adds the numbers that they
/// carry to `heard`.
///
/// # Errors
/// If this user may not listen, or there is no such NIC.
pub fn listen(nic: &str, port: u16, heard: &Numbers) -> Result<(), PacketError> {
    let socket = PacketSocket::open(nic, ALL_ETHERTYPES)?;
    socket.lock_filter(&datagrams_to(port))?;
    let mut ring = socket.into_ring(RingSize { slots: SLOTS })?;
    let heard = heard.clone();
    thread::spawn(move || {
        loop {
            if ring.wait(WAIT).is_err() {
                // The interface is gone or down; it may come back.
                thread::sleep(WAIT);
            }
            while let Some(frame) = ring.next_frame() {
                if !matches!(frame.kind(), PacketKind::Other(_))
                    && let Some(number) = number_in(&frame)
                {
                    heard.add(number);
                }
            }
        }
    });
    Ok(())
}

/// The number in a frame with a datagram, which the filter has passed.
fn number_in(frame: &[u8]) -> Option<u64> {
    let header = usize::from(frame.get(ETHERNET)? & 0xf) * 4;
    let payload = frame.get(ETHERNET + header + UDP..)?;
    Some(u64::from_le_bytes(payload.get(..8)?.try_into().ok()?))
}

/// A classic BPF program that keeps IPv4 frames with UDP datagrams to this port. The kernel runs it from the
/// Ethernet header on (Documentation/networking/filter.rst).
fn datagrams_to(port: u16) -> [libc::sock_filter; 9] {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let (absolute, equal) = (libc::BPF_LD | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K);
    let header = ETHERNET as u32;
    [
        step(absolute | libc::BPF_H, 0, 0, header - 2),
        step(equal, 0, 6, libc::ETH_P_IP as u32),
        step(absolute | libc::BPF_B, 0, 0, header + 9),
        step(equal, 0, 4, libc::IPPROTO_UDP as u32),
        // The index register becomes the length of the IP header; the port follows the source port.
        step(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, header),
        step(libc::BPF_LD | libc::BPF_IND | libc::BPF_H, 0, 0, header + 2),
        step(equal, 0, 1, port.into()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ]
}
