//! Frames that came in on one NIC, and what they say. It performs no IO.

use crate::{
    lldp::{LLDP_ETHERTYPE, Neighbour},
    model::{Heard, Mac, PortId},
};
use tasuki_wire::{CABLE_ETHERTYPE, CableNic, Discovery, DropReason};

/// Length of an Ethernet header, bytes.
const ETHERNET: usize = 14;
/// Most entries of each kind that a NIC keeps: what strangers send must not cost memory without bound.
const KEPT: usize = 1024;
/// Most hosts of a run, and most NICs of a host. A number beyond them is a stranger's.
const NUMBER_MAX: u16 = 4096;

/// Collects what the frames say that come in on one NIC.
#[derive(Clone, Debug)]
pub struct Book {
    run: u64,
    heard: Heard,
}

impl Book {
    /// An empty book, for hellos of this run.
    pub fn new(run: u64) -> Self {
        Self { run, heard: Heard::default() }
    }

    /// What was heard so far.
    pub fn heard(&self) -> &Heard {
        &self.heard
    }

    /// Takes a frame, from its Ethernet header on, that came without a VLAN tag and was not sent by this
    /// host.
    pub fn take(&mut self, frame: &[u8]) {
        let Some((head, payload)) = frame.split_at_checked(ETHERNET) else { return };
        let mut sender = Mac::default();
        sender.0.copy_from_slice(&head[6..12]);
        match u16::from_be_bytes([head[12], head[13]]) {
            LLDP_ETHERTYPE => match Neighbour::parse(payload) {
                Ok(neighbour) => keep(&mut self.heard.neighbours, neighbour),
                Err(_) => self.heard.dropped += 1,
            },
            CABLE_ETHERTYPE => self.take_probe(sender, payload),
            // Switches speak to each other in frames to groups that no switch passes on (IEEE 802.1Q, table
            // 8-1): their senders are ports of switches and not hosts.
            _ if head.starts_with(&[0x01, 0x80, 0xc2, 0, 0]) => {}
            _ => keep(&mut self.heard.senders, sender),
        }
    }

    fn take_probe(&mut self, sender: Mac, payload: &[u8]) {
        match Discovery::parse(payload) {
            Ok(hello) if hello.run == self.run => match place(hello.sender) {
                Some(port) => keep(&mut self.heard.ports, port),
                None => self.heard.dropped += 1,
            },
            Ok(hello) => keep(&mut self.heard.others, format!("{}:{}", hello.host_name, hello.nic_name)),
            // A probe of `tasuki watch` or `check`: it shows no more than that its sender is there.
            Err(DropReason::FrameType) => keep(&mut self.heard.senders, sender),
            Err(_) => self.heard.dropped += 1,
        }
    }
}

fn place(nic: CableNic) -> Option<PortId> {
    let index = |number: u16| (1..=NUMBER_MAX).contains(&number).then(|| usize::from(number) - 1);
    Some(PortId { host: index(nic.host)?, nic: index(nic.nic)? })
}

fn keep<T: Ord>(set: &mut std::collections::BTreeSet<T>, value: T) {
    if set.len() < KEPT {
        set.insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
        [&[0xff; 6], &[2, 0, 0, 0, 0, 9][..], &kind.to_be_bytes(), payload].concat()
    }

    fn hello(run: u64, host: u16) -> Vec<u8> {
        let mut bytes = Vec::new();
        let sender = CableNic { host, nic: 2 };
        let hello =
            Discovery { number: 0, run, sender, host_name: "a", nic_name: "b", mac: [2, 0, 0, 0, 0, 9] };
        hello.emit(&mut bytes).unwrap();
        frame(CABLE_ETHERTYPE, &bytes)
    }

    #[test]
    fn hellos_of_this_run_are_told_from_all_else() {
        let mut book = Book::new(7);
        [
            hello(7, 3),
            hello(7, 3),
            hello(8, 1),
            hello(7, u16::MAX),
            frame(0x0806, &[0; 46]),
            frame(0x0806, &[]),
        ]
        .iter()
        .for_each(|frame| book.take(frame));
        let heard = book.heard();
        assert!(heard.ports.iter().eq(&[PortId { host: 2, nic: 1 }]));
        assert!(heard.others.iter().eq(&["a:b"]));
        assert!(heard.senders.iter().eq(&[Mac([2, 0, 0, 0, 0, 9])]));
        assert_eq!(heard.dropped, 1, "the impossible number");
    }

    #[test]
    fn damaged_and_hostile_frames_are_counted_and_cost_no_memory_without_bound() {
        let mut book = Book::new(7);
        let mut damaged = hello(7, 1);
        damaged[30] ^= 1;
        book.take(&damaged);
        book.take(&frame(LLDP_ETHERTYPE, &[0; 20]));
        assert_eq!((book.heard().dropped, book.heard().ports.len()), (2, 0));
        for number in 0..100_000u32 {
            let mut one = frame(0x0800, &[]);
            one[8..12].copy_from_slice(&number.to_be_bytes());
            book.take(&one);
        }
        assert_eq!(book.heard().senders.len(), KEPT);
        (0..ETHERNET).for_each(|cut| book.take(&damaged[..cut]));
        assert_eq!(book.heard().dropped, 2);
    }
}
