//! The receiving side of a round.

use crate::control::{CONTROL_MESSAGE_MAX, Run};
use crate::round::Round;

/// One round at its receiver.
#[derive(Clone, Debug)]
pub struct RoundRx {
    round: Round,
    /// Which packets are here, by sequence number.
    here: Vec<bool>,
    left: u16,
    /// In this pass, all packets before this one were expected already, because packets come in order.
    next: u16,
    /// The last packet of this pass.
    last: u16,
    slots: Vec<u16>,
}

/// What a batch of datagrams has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Number of packets that were missing.
    pub new: usize,
    /// Number of datagrams that were here already, or are no packets of this round.
    pub useless: usize,
    /// Number of bytes that had to be copied because they came to the place of another packet.
    pub moved: usize,
}

impl RoundRx {
    /// A round of which nothing has been received.
    pub fn new(round: Round) -> RoundRx {
        let packets = round.packets();
        RoundRx {
            round,
            here: vec![false; packets.into()],
            left: packets,
            next: 0,
            last: packets - 1,
            slots: Vec::new(),
        }
    }

    /// The round.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// Whether all packets are here.
    pub fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// Whether the last packet of this pass has come: what is missing of the pass is lost, unless packets
    /// were reordered.
    pub fn pass_ended(&self) -> bool {
        self.next == self.last + 1
    }

    /// The missing packets to whose places the next datagrams should go, at most `most`: first those behind
    /// the packet that came last. Only places of missing packets are named, so whatever arrives there, no
    /// packet that is here is overwritten.
    pub fn slots(&mut self, most: usize) -> &[u16] {
        self.slots.clear();
        let all = 0..self.round.packets();
        let order = (self.next..all.end).chain(0..self.next);
        self.slots.extend(order.filter(|seq| !self.here[usize::from(*seq)]).take(most));
        &self.slots
    }

    /// Takes datagrams of these lengths, which have come in the order of [`RoundRx::slots`]; there may be
    /// fewer than slots. The first bytes of each datagram are at its slot's place in `into`, which is the
    /// round's memory. The bytes beyond that place are at the beginning of the datagram's part of `over`,
    /// which has parts as long as the first packet. A longer datagram was cut by the kernel.
    pub fn place(&mut self, lens: &[usize], into: &mut [u8], over: &mut [u8]) -> Placed {
        let mut placed = Placed::default();
        let slots = std::mem::take(&mut self.slots);
        let part = self.round.sizes().first();
        let misplaced = |(&slot, &len): (&u16, &usize)| self.round.seq_of_len(len) != Some(slot);
        let in_order = !slots.iter().zip(lens).any(misplaced);
        if !in_order {
            self.lift(&slots, lens, into, over);
        }
        for (at, (&slot, &len)) in slots.iter().zip(lens).enumerate() {
            let Some(seq) = self.round.seq_of_len(len).filter(|seq| !self.here[usize::from(*seq)]) else {
                placed.useless += 1;
                continue;
            };
            if seq != slot {
                into[self.round.place(seq)].copy_from_slice(&over[at * part..at * part + len]);
                placed.moved += len;
            }
            self.here[usize::from(seq)] = true;
            self.left -= 1;
            self.next = seq + 1;
            placed.new += 1;
        }
        self.slots = slots;
        placed
    }

    /// Moves datagrams out of places that are not theirs, each as a whole into its part of `over`.
    fn lift(&self, slots: &[u16], lens: &[usize], into: &[u8], over: &mut [u8]) {
        let part = self.round.sizes().first();
        for (at, (&slot, &len)) in slots.iter().zip(lens).enumerate() {
            if len > part || self.round.seq_of_len(len) == Some(slot) {
                continue;
            }
            let place = self.round.place(slot);
            let head = len.min(place.len());
            let over = &mut over[at * part..(at + 1) * part];
            over.copy_within(..len - head, head);
            over[..head].copy_from_slice(&into[place][..head]);
        }
    }

    /// The missing packets, as far as they fit into a control message. The next pass begins.
    pub fn missing(&mut self) -> Vec<Run> {
        self.next = 0;
        let mut runs: Vec<Run> = Vec::new();
        for seq in (0..self.round.packets()).filter(|seq| !self.here[usize::from(*seq)]) {
            if let Some(run) = runs.last_mut().filter(|run| run.first + run.count == seq) {
                run.count += 1;
            } else if runs.len() < Run::MOST {
                runs.push(Run { first: seq, count: 1 });
            } else {
                break;
            }
        }
        self.last = runs.last().map_or(0, |run| run.first + run.count - 1);
        debug_assert!(runs.len() * Run::BYTES < CONTROL_MESSAGE_MAX);
        runs
    }

    /// Compares the packets with the checksums of what was sent, one for each packet; a packet that differs
    /// counts as missing again. Returns the number of these.
    pub fn verify(&mut self, checks: &[u32], from: &[u8]) -> u16 {
        let before = self.left;
        for seq in 0..self.round.packets() {
            let good = checks.get(usize::from(seq)) == Some(&crc32c::crc32c(&from[self.round.place(seq)]));
            if !good && std::mem::replace(&mut self.here[usize::from(seq)], false) {
                self.left += 1;
            }
        }
        self.left - before
    }
}
