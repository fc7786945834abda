//! What can go wrong with packets on a line. Every rate is in parts per million; 0 switches a fault off.

use crate::Rng;
use crate::kernel::Time;

/// Losses in bursts: the model of Gilbert (1960) and Elliott (1963), a line with a good and a bad state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Chance per packet that the state turns bad.
    pub begin_ppm: u32,
    /// Chance per packet that the state turns good again.
    pub end_ppm: u32,
    /// Loss in the bad state.
    pub loss_ppm: u32,
}

/// What goes wrong on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Packets lost independently of each other.
    pub loss_ppm: u32,
    /// Bursts of loss.
    pub burst: Option<Burst>,
    /// Packets that arrive twice.
    pub duplicate_ppm: u32,
    /// Packets that are held up, so that others overtake them.
    pub reorder_ppm: u32,
    /// Longest time that they are held up, ns.
    pub reorder_ns: u64,
    /// Packets with one to three flipped bits.
    pub flip_ppm: u32,
    /// Packets that are cut off.
    pub truncate_ppm: u32,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Faults = Faults {
        loss_ppm: 0,
        burst: None,
        duplicate_ppm: 0,
        reorder_ppm: 0,
        reorder_ns: 0,
        flip_ppm: 0,
        truncate_ppm: 0,
    };

    /// Damages a packet, by chance; returns whether it differs from what it was.
    pub(crate) fn damage(&self, packet: &mut Vec<u8>, rng: &mut Rng) -> bool {
        let flip = rng.ppm(self.flip_ppm) && !packet.is_empty();
        let truncate = rng.ppm(self.truncate_ppm) && !packet.is_empty();
        if flip {
            let bits = packet.len() as u64 * 8;
            // The flipped bits are distinct, so that two flips never cancel out.
            let (first, step) = (rng.below(bits), 1 + rng.below(64).min(bits / 4));
            for n in 0..rng.between(1, 3).min(bits) {
                let bit = (first + n * step) % bits;
                packet[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
        }
        if truncate {
            packet.truncate(rng.index(packet.len()));
        }
        flip || truncate
    }
}

/// State of the bursts of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BurstState {
    bad: bool,
    since: Time,
}

/// Longest burst, ns. Gilbert's model counts packets: with one packet in 300 ms, as at the end of a
/// conversation, thirty of them would last longer than the closing state of a connection. (What may last as
/// long are cuts and blackouts, which are faults of their own.)
const BURST_MOST_NS: u64 = 200_000_000;

impl BurstState {
    /// Takes the next packet, sent at `now`; returns whether it is lost in a burst.
    pub(crate) fn loses(&mut self, now: Time, faults: &Faults, rng: &mut Rng) -> bool {
        let Some(burst) = faults.burst else { return false };
        self.bad &= now.since(self.since) <= BURST_MOST_NS;
        let turns = rng.ppm(if self.bad { burst.end_ppm } else { burst.begin_ppm });
        if turns && !self.bad {
            self.since = now;
        }
        self.bad ^= turns;
        self.bad && rng.ppm(burst.loss_ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_always_shows() {
        let mut rng = Rng::new(11);
        for len in [1, 2, 3, 100] {
            for faults in [
                Faults { flip_ppm: 1_000_000, ..Faults::NONE },
                Faults { truncate_ppm: 1_000_000, ..Faults::NONE },
            ] {
                for _ in 0..500 {
                    let mut packet = vec![0x55; len];
                    assert!(faults.damage(&mut packet, &mut rng));
                    assert_ne!(packet, vec![0x55; len]);
                }
            }
        }
    }

    /// The mean length of a burst is 1 / end, the mean length of a gap 1 / begin.
    #[test]
    fn bursts_have_their_length() {
        let faults = Faults {
            burst: Some(Burst { begin_ppm: 10_000, end_ppm: 100_000, loss_ppm: 1_000_000 }),
            ..Faults::NONE
        };
        let (mut bursts, mut rng) = (BurstState::default(), Rng::new(5));
        let lost: Vec<bool> = (0..200_000).map(|_| bursts.loses(Time::ZERO, &faults, &mut rng)).collect();
        let losses = lost.iter().filter(|lost| **lost).count() as f64;
        let begun = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((losses / begun - 10.0).abs() < 1.5, "{losses} in {begun}");
        assert!((losses / 200_000.0 - 1.0 / 11.0).abs() < 0.02);
    }

    #[test]
    fn bursts_end_on_a_line_that_is_nearly_idle() {
        let burst = Burst { begin_ppm: 1_000_000, end_ppm: 0, loss_ppm: 1_000_000 };
        let faults = Faults { burst: Some(burst), ..Faults::NONE };
        let (mut bursts, mut rng) = (BurstState::default(), Rng::new(5));
        assert!(
            bursts.loses(Time(1), &faults, &mut rng) && bursts.loses(Time(200_000_001), &faults, &mut rng)
        );
        let calm = Faults { burst: Some(Burst { begin_ppm: 0, ..burst }), ..faults };
        assert!(!bursts.loses(Time(200_000_002), &calm, &mut rng));
    }
}
