//! The program's tables as bytes, each field at its place. The layouts must be those of the structures in
//! `bpf/stripe.bpf.c`.

use std::net::Ipv4Addr;
use tasuki_cluster::{MacAddr, Rate, StripePolicy};

/// Rails to one host, at most.
pub const SLOTS: usize = tasuki_cluster::STRIPE_MAX;

/// Layout of `struct config`.
pub type Config = [u32; 4];
/// Layout of `struct nic`.
pub type Nic = [u8; 32];
/// Layout of `struct bundle`.
pub type Bundle = [Nic; tasuki_cluster::STRIPE_MAX];
/// Layout of `struct slot`.
pub type Slot = [u8; 40];
/// Layout of `struct peer`.
pub type Peer = [u8; 16 + SLOTS * 40];
/// Layout of `struct mac`.
pub type Mac = [u8; 8];
/// Layout of `struct count`.
pub type Count = [u64; 4];
/// Number of reasons for which a packet is not striped (`enum pass`).
pub const PASSES: usize = 3;

/// Flags `FIXED | KNOWN` of a slot: its MAC address is known for good.
const FIXED_AND_KNOWN: u8 = 3;

/// The configuration. `mark` is on packets whose NIC is chosen already; `asks` is the interface that
/// forwards.
pub fn config(policy: StripePolicy, mark: u16, asks: u32) -> Config {
    let policy = StripePolicy::ALL.iter().position(|known| *known == policy).unwrap_or(0);
    [policy as u32, u32::from(mark), asks, 0]
}

/// Time that a byte takes at a rate, picoseconds.
fn ps_per_byte(rate: Rate) -> u64 {
    8_000_000_000_000 / rate.bits_per_second.max(1)
}

/// A NIC of this host, by its interface index.
pub fn nic(index: u32, mac: [u8; 6], rate: Rate) -> Nic {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&index.to_ne_bytes());
    bytes[4..10].copy_from_slice(&mac);
    bytes[16..24].copy_from_slice(&ps_per_byte(rate).to_ne_bytes());
    bytes
}

/// A line of the destination table.
pub fn slot(nic: usize, remote: Ipv4Addr, mac: Option<MacAddr>, rate: Rate) -> Slot {
    let mut bytes = [0; 40];
    bytes[..4].copy_from_slice(&(nic as u32).to_ne_bytes());
    bytes[4..8].copy_from_slice(&remote.octets());
    if let Some(mac) = mac {
        bytes[8..14].copy_from_slice(&mac.0);
        bytes[14] = FIXED_AND_KNOWN;
    }
    bytes[16..24].copy_from_slice(&ps_per_byte(rate).to_ne_bytes());
    bytes
}

/// Another host with its slots, of which the first [`SLOTS`] count.
pub fn peer(slots: &[Slot]) -> Peer {
    let mut bytes = [0; 16 + SLOTS * 40];
    let slots = &slots[..slots.len().min(SLOTS)];
    bytes[..4].copy_from_slice(&(slots.len() as u32).to_ne_bytes());
    for (to, slot) in bytes[16..].chunks_exact_mut(40).zip(slots) {
        to.copy_from_slice(slot);
    }
    bytes
}

/// A key of the table of MAC addresses.
pub fn mac(mac: MacAddr) -> Mac {
    let mut bytes = [0; 8];
    bytes[..6].copy_from_slice(&mac.0);
    bytes
}
