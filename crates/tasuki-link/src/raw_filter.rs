//! The filter of the raw lane: a classic BPF program that the kernel runs on every frame of our ethertype, for every socket that
//! hears it, before anything is copied. With many endpoints on a host all but one of them refuse a frame, so that is decided first.
//!
//! The filter asks for the ethertype although the socket is bound to it: whoever holds a socket may bind it to all ethertypes, without
//! any privilege, and those four bytes are the source address in an IPv4 packet.

use libc::sock_filter;
use tasuki_wire::{ENDPOINT_OFFSET, ETHERTYPE};

use crate::raw::ETHERNET;

/// Where the kernel gives what it knows of a frame besides its bytes (include/uapi/linux/filter.h: SKF_AD_OFF and what is added).
const AD_OFF: i32 = -0x1000;
const AD_PKTTYPE: i32 = 4;
const AD_VLAN_TAG_PRESENT: i32 = 48;

/// Keep the whole frame.
const ALL: u32 = 0x4_0000;

/// Keeps frames of our ethertype to this NIC's own MAC address, without VLAN tag (but one of VLAN 0, which says a priority alone and has
/// been taken off before), with a packet for this endpoint; no other's, no group's, none that
/// this host sent.
pub(crate) fn filter(endpoint: u32) -> [sock_filter; 10] {
    let (load, equal, give) = (libc::BPF_LD | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    let known = |what: i32| (AD_OFF + what).cast_unsigned();
    [
        // Loads are big-endian, the wire is little-endian. A frame that ends before that place is dropped by the load itself.
        step(load | libc::BPF_W, 0, 0, (ETHERNET + ENDPOINT_OFFSET) as u32),
        step(equal | libc::BPF_K, 0, 7, endpoint.swap_bytes()),
        step(load | libc::BPF_H, 0, 0, ETHERNET as u32 - 2),
        step(equal | libc::BPF_K, 0, 5, u32::from(ETHERTYPE)),
        step(load | libc::BPF_B, 0, 0, known(AD_PKTTYPE)),
        step(equal | libc::BPF_K, 0, 3, u32::from(libc::PACKET_HOST)),
        step(load | libc::BPF_B, 0, 0, known(AD_VLAN_TAG_PRESENT)),
        step(equal | libc::BPF_K, 0, 1, 0),
        step(give | libc::BPF_K, 0, 0, ALL),
        step(give | libc::BPF_K, 0, 0, 0),
    ]
}
