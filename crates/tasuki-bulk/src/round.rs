//! The arithmetic of a round: lengths, sequence numbers and offsets.

use std::ops::Range;

/// Most packets of one round, so that the checksums of all fit into one control message.
pub const PACKETS_MAX: u16 = 1000;

/// Difference between the lengths of consecutive packets, bytes: the least that tells them apart, so that
/// packets stay long.
const STEP: u64 = 1;

/// What both sides must agree upon: the length of the first packet, and the most packets of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    first: u16,
    packets: u16,
}

impl Sizes {
    /// `None` if some packet would be empty: `packets` must be from 1 to [`PACKETS_MAX`] and less than
    /// `first`.
    pub fn new(first: u16, packets: u16) -> Option<Sizes> {
        let valid = (1..=PACKETS_MAX).contains(&packets) && packets < first;
        valid.then_some(Sizes { first, packets })
    }

    /// For packets of at most `first` bytes and a receiver's buffer of `buffer` packets: as many packets as
    /// the buffer holds, but none shorter than three quarters of the first, because each costs the same.
    pub fn fitting(first: u16, buffer: usize) -> Option<Sizes> {
        let packets = usize::from(first / 4).min(buffer).min(usize::from(PACKETS_MAX));
        Sizes::new(first, packets as u16)
    }

    /// Length of the first packet, bytes.
    pub fn first(self) -> usize {
        self.first.into()
    }

    /// Most packets of a round.
    pub fn packets(self) -> u16 {
        self.packets
    }

    /// Most bytes of a round.
    pub fn capacity(self) -> u64 {
        self.before(self.packets)
    }

    /// Number of bytes before a packet.
    fn before(self, seq: u16) -> u64 {
        let n = u64::from(seq);
        n * u64::from(self.first) - STEP * n * n.saturating_sub(1) / 2
    }

    /// Length of a packet that is not the last of its round.
    fn full(self, seq: u16) -> u64 {
        u64::from(self.first) - STEP * u64::from(seq)
    }
}

/// The transfer of some bytes in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    sizes: Sizes,
    len: u64,
    packets: u16,
}

impl Round {
    /// `None` if the bytes do not fit into a round, or there are none.
    pub fn new(sizes: Sizes, len: u64) -> Option<Round> {
        if len == 0 || len > sizes.capacity() {
            return None;
        }
        let (mut low, mut high) = (1, sizes.packets);
        while low < high {
            let middle = low + (high - low) / 2;
            if sizes.before(middle) >= len { high = middle } else { low = middle + 1 }
        }
        Some(Round { sizes, len, packets: low })
    }

    /// The agreed lengths.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Always false, because a round has at least one packet.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of packets.
    pub fn packets(&self) -> u16 {
        self.packets
    }

    /// The bytes of a packet, as a range of the round's bytes.
    pub fn place(&self, seq: u16) -> Range<usize> {
        let begin = self.sizes.before(seq);
        let end = if seq + 1 == self.packets { self.len } else { begin + self.sizes.full(seq) };
        begin as usize..end as usize
    }

    /// Sequence number of the packet that has this length. The last packet has the bytes that are left, which
    /// are fewer than any other packet has.
    pub fn seq_of_len(&self, len: usize) -> Option<u16> {
        let last = self.packets - 1;
        if len == self.place(last).len() {
            return Some(last);
        }
        let seq = (self.sizes.first().checked_sub(len)? as u64) / STEP;
        (len > 0 && seq < u64::from(last)).then_some(seq as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 3 of the paper: 56000 bytes, and packets from 8000 bytes on (the paper does not state its
    /// step).
    #[test]
    fn figure_3() {
        let round = Round::new(Sizes::new(8000, 8).unwrap(), 56_000).unwrap();
        assert_eq!(round.packets(), 8);
        assert_eq!((round.place(0), round.place(1)), (0..8000, 8000..15_999));
        assert_eq!((round.seq_of_len(8000), round.seq_of_len(7999)), (Some(0), Some(1)));
        // 8000 + 7999 + ... + 7994 = 55979 are in the first seven.
        assert_eq!((round.place(7), round.seq_of_len(21)), (55_979..56_000, Some(7)));
    }

    #[test]
    fn every_length_names_one_packet_and_the_packets_are_all_bytes() {
        for (first, packets) in [(2, 1), (10, 9), (100, 40), (1472, 368), (8972, 1000)] {
            let sizes = Sizes::new(first, packets).unwrap();
            let most = sizes.capacity();
            for len in (1..most.min(300)).chain([most / 2, most - 1, most]).filter(|len| *len > 0) {
                let round = Round::new(sizes, len).unwrap();
                let mut end = 0;
                for seq in 0..round.packets() {
                    let place = round.place(seq);
                    assert_eq!(
                        (place.start, round.seq_of_len(place.len())),
                        (end, Some(seq)),
                        "{first} {len}"
                    );
                    end = place.end;
                }
                assert_eq!(end as u64, len);
                let named =
                    (0..=usize::from(first) + 1).filter(|len| round.seq_of_len(*len).is_some()).count();
                assert_eq!(named, usize::from(round.packets()), "no other length is a packet's");
            }
            assert_eq!((Round::new(sizes, most + 1), Round::new(sizes, 0)), (None, None));
        }
    }

    #[test]
    fn agreements_that_cannot_be() {
        for (first, packets) in [(0, 0), (1, 1), (10, 10), (10, 0), (60_000, 1001)] {
            assert_eq!(Sizes::new(first, packets), None, "{first} {packets}");
        }
        assert_eq!(Sizes::fitting(1472, 10_000).unwrap().packets(), 368);
        assert_eq!(Sizes::fitting(8972, 10_000).unwrap().packets(), 1000);
        assert_eq!(Sizes::fitting(8972, 20).unwrap().packets(), 20);
        assert_eq!(Sizes::fitting(1472, 0), None);
    }
}
