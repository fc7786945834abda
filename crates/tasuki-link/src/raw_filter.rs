//! The filter of the raw lane: a classic BPF program that the kernel runs on every frame of our ethertype,
//! for every socket that receives it, before anything is copied. With many endpoints on a host the filters of
//! all but one drop a frame, so the endpoint is compared first. The filter compares the ethertype although
//! the socket is bound to it: a process that holds the socket may bind it to all ethertypes, without any
//! privilege, and the four bytes of the endpoint's id are the source address in an IPv4 packet.

use libc::sock_filter;
use tasuki_wire::{ENDPOINT_OFFSET, ETHERTYPE};

use crate::raw::ETHERNET;

/// Offset at which a filter reads what the kernel knows of a frame besides its bytes (SKF_AD_OFF,
/// include/uapi/linux/filter.h).
const AD_OFF: i32 = -0x1000;
/// What is added to that offset for the kind of addressee (SKF_AD_PKTTYPE).
const AD_PKTTYPE: i32 = 4;
/// What is added to that offset for whether there is a VLAN tag (SKF_AD_VLAN_TAG_PRESENT).
const AD_VLAN_TAG_PRESENT: i32 = 48;

/// A filter's result that keeps the whole frame: more bytes than any frame has.
const ALL: u32 = 0x4_0000;

/// The filter of an endpoint. It keeps frames of our ethertype to this NIC's own MAC address with a packet
/// for this endpoint. It drops frames to other addresses, to groups, and those that this host sent, and
/// frames with a VLAN tag (but for one of VLAN 0, which says a priority alone and is taken off before the
/// filter runs).
pub(crate) fn filter(endpoint: u32) -> [sock_filter; 10] {
    let (load, equal, give) = (libc::BPF_LD | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    let known = |what: i32| (AD_OFF + what).cast_unsigned();
    [
        // Loads are big-endian, and the id on the wire is little-endian. The load itself drops a frame that
        // ends before the id.
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
