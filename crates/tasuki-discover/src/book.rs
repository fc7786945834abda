//! Frames that came in on one NIC, and what they say. It performs no IO.

use crate::{
    lldp::{LLDP_ETHERTYPE, Neighbour},
    model::{Carried, Heard, Mac, PortId},
};
use std::time::Duration;
use tasuki_wire::{CABLE_ETHERTYPE, CableKind, CableNic, CableProbe, Discovery, DropReason};

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
        self.take_at(frame, Duration::ZERO);
    }

    /// [`Self::take`], of a frame that came at this time.
    pub fn take_at(&mut self, frame: &[u8], arrived: Duration) {
        let Some((head, payload)) = frame.split_at_checked(ETHERNET) else { return };
        let mut sender = Mac::default();
        sender.0.copy_from_slice(&head[6..12]);
        match u16::from_be_bytes([head[12], head[13]]) {
            LLDP_ETHERTYPE => match Neighbour::parse(payload) {
                Ok(neighbour) => keep(&mut self.heard.neighbours, neighbour),
                Err(_) => self.heard.dropped += 1,
            },
            CABLE_ETHERTYPE => self.take_probe(sender, payload, arrived),
            // Switches speak to each other in frames to groups that no switch passes on (IEEE 802.1Q, table
            // 8-1): their senders are ports of switches and not hosts.
            _ if head.starts_with(&[0x01, 0x80, 0xc2, 0, 0]) => {}
            _ => keep(&mut self.heard.senders, sender),
        }
    }

    fn take_probe(&mut self, sender: Mac, payload: &[u8], arrived: Duration) {
        match Discovery::parse(payload) {
            Ok(hello) if hello.run == self.run => match place(hello.sender) {
                Some(port) => keep(&mut self.heard.ports, port),
                None => self.heard.dropped += 1,
            },
            Ok(hello) => keep(&mut self.heard.others, format!("{}:{}", hello.host_name, hello.nic_name)),
            // A probe of `tasuki watch` or `check`: it shows no more than that its sender is there.
            Err(DropReason::FrameType) => match Measuring::parse(payload, self.run) {
                Some(measuring) => self.measure(measuring, payload.len() as u32, arrived),
                None => keep(&mut self.heard.senders, sender),
            },
            Err(_) => self.heard.dropped += 1,
        }
    }

    fn measure(&mut self, Measuring { trial, part }: Measuring, bytes: u32, arrived: Duration) {
        let carried = self.heard.carried.get_or_insert_default();
        if carried.trial != trial {
            *carried = Carried { trial, ..Carried::default() };
        }
        carried.largest = carried.largest.max(bytes);
        if part == Part::Count {
            let now = arrived.as_nanos() as u64;
            if carried.frames == 0 {
                carried.span_ns[0] = now;
            }
            carried.span_ns[1] = now;
            carried.frames += 1;
        }
    }
}

/// A frame that is sent to measure: a filler whose body is the number of its trial, and whether it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measuring {
    /// The trial.
    pub trial: u32,
    /// What the frame is.
    pub part: Part,
}

/// What a frame of a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It is there for its size.
    Size,
    /// It fills queues on the way.
    Fill,
    /// It is counted.
    Count,
}

impl Measuring {
    /// Length of the body, bytes.
    pub const LEN: usize = 5;

    /// The body of the filler.
    pub fn body(self) -> [u8; Self::LEN] {
        let [a, b, c, d] = self.trial.to_be_bytes();
        [a, b, c, d, self.part as u8]
    }

    fn parse(payload: &[u8], run: u64) -> Option<Self> {
        let probe = CableProbe::parse(payload).ok()?;
        if probe.kind != CableKind::Filler || probe.run != run || probe.cluster != 0 {
            return None;
        }
        let body: [u8; Self::LEN] = probe.body.get(..Self::LEN)?.try_into().ok()?;
        let [a, b, c, d, part] = body;
        let part = [Part::Size, Part::Fill, Part::Count].into_iter().find(|known| *known as u8 == part)?;
        Some(Self { trial: u32::from_be_bytes([a, b, c, d]), part })
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

    // 1,000 frames that come in 10 ms make 1.2 Gbit/s of 1,500 bytes; what was sent before them, and frames
    // of another run, do not count.
    #[test]
    fn frames_of_a_trial_are_counted_from_the_first_that_counts() {
        let mut book = Book::new(7);
        let send = |book: &mut Book, run: u64, trial: u32, part: Part, bytes: usize, at: u64| {
            let mut probe = Vec::new();
            let (kind, sender, body) =
                (CableKind::Filler, CableNic { host: 1, nic: 1 }, Measuring { trial, part }.body());
            let filler = CableProbe {
                kind,
                number: 0,
                run,
                cluster: 0,
                sender,
                host_name: "a",
                nic_name: "b",
                body: &body,
            };
            filler.emit(&mut probe).unwrap();
            probe.resize(bytes, 0);
            book.take_at(&frame(CABLE_ETHERTYPE, &probe), Duration::from_micros(at));
        };
        send(&mut book, 7, 1, Part::Size, 9000, 1);
        assert_eq!(book.heard().carried.unwrap().largest, 9000);
        send(&mut book, 7, 2, Part::Fill, 1500, 50);
        send(&mut book, 8, 9, Part::Count, 1500, 60);
        (0..1000).for_each(|number| send(&mut book, 7, 2, Part::Count, 1500, 100 + number * 10));
        let expected = Carried { trial: 2, largest: 1500, frames: 1000, span_ns: [100_000, 10_090_000] };
        assert_eq!(book.heard().carried, Some(expected));
        assert_eq!(book.heard().senders.len(), 1, "the other run's filler shows that its sender is there");
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
