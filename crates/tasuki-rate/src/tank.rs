//! A receiver with a buffer of exactly B bytes that empties at some rate, and that never asks its sender for
//! less: there are no credits.

use crate::Slow;

/// The receiver of the model, packet by packet. What arrives goes into the buffer whole or not at all; what
/// is in it leaves as [`Slow`] says, to the byte. Times are in ns, of any clock that does not go back.
#[derive(Clone, Debug)]
pub struct Tank {
    slow: Slow,
    link_bps: u64,
    capacity: u64,
    /// Bits in the buffer, times 10^9: a rate of 1 bit/s takes 1 of these away in a ns.
    level: u128,
    now: u64,
    taken: u64,
    dropped: u64,
    dropped_packets: u64,
    highest: u128,
    /// Work that dropped packets have made and that is not done yet, in the units of `level`.
    in_vain: u128,
    /// What a dropped packet costs, in thousandths of what taking it out of the buffer would.
    vain_permille: u32,
}

/// Units of the level in one byte.
const PER_BYTE: u128 = 8_000_000_000;

impl Tank {
    /// An empty tank. `link_bps` is the rate at which it empties where `slow` does not slow it.
    pub fn new(capacity_bytes: u64, slow: Slow, link_bps: u64) -> Self {
        let (level, now, taken, dropped, dropped_packets, highest) = (0, 0, 0, 0, 0, 0);
        Self {
            slow,
            link_bps,
            capacity: capacity_bytes,
            level,
            now,
            taken,
            dropped,
            dropped_packets,
            highest,
            in_vain: 0,
            vain_permille: 0,
        }
    }

    /// This tank, whose owner also handles what finds no room, at so many thousandths of the cost of what
    /// does, and before anything else, as interrupts are.
    #[must_use]
    pub fn charging(self, vain_permille: u32) -> Self {
        Self { vain_permille, ..self }
    }

    /// Puts in so many bytes that arrive at once; false, and all are dropped, if they find no room.
    pub fn arrive(&mut self, now_ns: u64, bytes: u64) -> bool {
        self.drain_until(now_ns);
        let level = self.level + u128::from(bytes) * PER_BYTE;
        if level > u128::from(self.capacity) * PER_BYTE {
            self.dropped += bytes;
            self.dropped_packets += 1;
            self.in_vain += u128::from(bytes) * PER_BYTE * u128::from(self.vain_permille) / 1000;
            return false;
        }
        self.level = level;
        self.highest = self.highest.max(level);
        self.taken += bytes;
        true
    }

    /// Lets time pass, and the buffer empty, until `now_ns`.
    pub fn drain_until(&mut self, now_ns: u64) {
        if now_ns > self.now {
            let drained = self.slow.drained(self.now, now_ns, self.link_bps);
            let first = drained.min(self.in_vain);
            self.in_vain -= first;
            self.level = self.level.saturating_sub(drained - first);
            self.now = now_ns;
        }
    }

    /// Bytes in the buffer, rounded up.
    pub fn held(&self) -> u64 {
        // What is held is at most the capacity, which has 64 bits.
        self.level.div_ceil(PER_BYTE) as u64
    }

    /// Bytes whose draining is as much work as all that is left to do, rounded up: what is held, and what was
    /// dropped and is not handled yet.
    pub fn work(&self) -> u64 {
        (self.level + self.in_vain).div_ceil(PER_BYTE) as u64
    }

    /// The most bytes that were ever in the buffer, rounded up.
    pub fn most_held(&self) -> u64 {
        self.highest.div_ceil(PER_BYTE) as u64
    }

    /// Bytes that have found room.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Bytes that have found no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Packets that have found no room.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tank_takes_what_fits_and_no_byte_more() {
        // At 8 bit/s a byte leaves in a second.
        let mut tank = Tank::new(10, Slow::Steady { bps: 8 }, 1000);
        assert!(tank.arrive(0, 10) && !tank.arrive(0, 1));
        assert!(!tank.arrive(999_999_999, 1), "not a whole byte has left");
        assert!(tank.arrive(1_000_000_000, 1));
        assert!(!tank.arrive(1_000_000_000, 1));
        tank.drain_until(4_500_000_000);
        assert_eq!((tank.held(), tank.most_held(), tank.taken()), (7, 10, 11));
        assert_eq!((tank.dropped(), tank.dropped_packets()), (3, 3));
        tank.drain_until(3_000_000_000);
        assert_eq!(tank.held(), 7, "time does not go back");
    }

    /// Of a buffer of 10 bytes that 4 leave in a second, 4 bytes come too much: at half the cost handling
    /// them takes half a second, in which nothing leaves.
    #[test]
    fn what_is_handled_in_vain_holds_up_the_rest() {
        let mut tank = Tank::new(10, Slow::Steady { bps: 32 }, 1000).charging(500);
        assert!(tank.arrive(0, 10) && !tank.arrive(0, 4));
        assert_eq!((tank.held(), tank.work()), (10, 12));
        tank.drain_until(500_000_000);
        assert_eq!((tank.held(), tank.work()), (10, 10));
        tank.drain_until(1_000_000_000);
        assert_eq!((tank.held(), tank.work()), (8, 8));
    }
}
