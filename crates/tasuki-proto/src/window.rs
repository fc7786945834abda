//! The congestion window of a path: how many bytes may be in flight.
//!
//! Once per round trip the queue that the path's own packets make in the network is estimated, as in TCP
//! Vegas: by how much the smallest round trip of the round exceeds the smallest ever, times the rate. If the
//! queue is below the low bound the window grows; if it is above the high bound the window shrinks by the
//! excess. Loss matters only if it is more than a faulty cable's (2 % in a round) and either the queue is
//! long or the loss lasts; so neither a bad cable nor a short burst of loss costs throughput.

use tasuki_tuning::pacing;

use crate::config::Config;
use crate::rtt::ns;
use crate::time::Time;

pub(crate) struct Window {
    /// The window, bytes.
    pub size: u64,
    /// Rate, bytes per second: as configured, then as measured by deliveries.
    pub rate: u64,
    /// The window doubles each round until a queue is seen.
    starting: bool,
    /// Rounds in which a rate was measured while the window was full.
    measured: u32,
    /// Configured rate, bytes per second; 0 if unknown.
    nominal: u64,
    /// Delay alone does not bring the window below this, bytes, because a busy host delays, too. Loss lowers
    /// it.
    floor: u64,
    lossy_rounds: u32,
    round: Round,
}

#[derive(Default)]
struct Round {
    /// The round ends when this packet number is acknowledged.
    end: u64,
    since: Time,
    min_rtt: u64,
    /// The last sample of the round: the first packets of a burst find an empty queue, so their samples are
    /// small.
    last_rtt: u64,
    delivered: u64,
    packets: u64,
    lost: u64,
    /// The window was full at some time in the round.
    limited: bool,
}

impl Window {
    /// `rate_mbps` is the configured rate, Mbit/s; 0 if unknown.
    pub fn new(config: &Config, rate_mbps: u32) -> Window {
        let known = u64::from(rate_mbps) * 125_000;
        let floor = floor_of(known);
        let first = if known == 0 { floor.max(config.initial_window) } else { floor };
        Window {
            size: first.clamp(config.min_window, config.max_window),
            rate: if known == 0 { pacing::DEFAULT_RATE } else { known },
            starting: true,
            measured: 0,
            nominal: known,
            floor,
            lossy_rounds: 0,
            round: Round { min_rtt: u64::MAX, ..Round::default() },
        }
    }

    /// To be called when the window was full: then the rate of this round is that of the path.
    pub fn limited(&mut self) {
        self.round.limited = true;
    }

    /// Counts packets that were declared lost.
    pub fn lost(&mut self, packets: u64) {
        self.round.lost += packets;
    }

    /// To be called after a silence: what was known of the path may no longer be true.
    pub fn silence(&mut self, config: &Config) {
        self.size = (self.size / 2).max(self.floor).max(config.min_window);
        self.starting = true;
    }

    /// Takes what an acknowledgement has added, and ends the round if it is complete.
    pub fn acked(&mut self, now: Time, config: &Config, acked: Acked, min_rtt: u64) {
        let round = &mut self.round;
        round.delivered += acked.bytes;
        round.packets += acked.packets;
        if let Some(rtt) = acked.rtt {
            round.min_rtt = round.min_rtt.min(rtt);
            round.last_rtt = rtt;
        }
        if round.since == Time::default() {
            // The first acknowledgement tells nothing about a queue; the first round begins with it.
            *round = Round { end: acked.next, since: now, min_rtt: u64::MAX, ..Round::default() };
            return;
        }
        if !round.limited && round.lost == 0 && round.packets < pacing::ROUND_PACKETS {
            // The window did not limit this round: it consists of short messages, of which few tell little.
            round.end = acked.next;
            return;
        }
        let flood = is_flood(round.lost, round.lost + round.packets);
        let few = round.packets + round.lost < pacing::ROUND_PACKETS && !self.starting;
        if !flood && (acked.largest < round.end || round.min_rtt == u64::MAX) {
            return;
        }
        if round.delivered * 2 < self.size && round.limited && !flood {
            // The path was idle before, so the round begins only now.
            let lost = round.lost;
            *round = Round { end: acked.next, since: now, min_rtt: u64::MAX, lost, ..Round::default() };
            round.limited = true;
            return;
        }
        if few && round.limited && !flood {
            round.end = acked.next;
            return;
        }
        self.end_round(now, config, min_rtt);
        self.round = Round { end: acked.next, since: now, min_rtt: u64::MAX, ..Round::default() };
    }

    fn end_round(&mut self, now: Time, config: &Config, min_rtt: u64) {
        let elapsed = now.since_ns(self.round.since);
        self.measure(elapsed);
        let rtt = if self.starting { self.round.last_rtt } else { self.round.min_rtt };
        let over = if rtt == u64::MAX { 0 } else { rtt.saturating_sub(min_rtt) };
        let queue = bytes_in(self.rate, over);
        let in_time = bytes_in(self.rate, ns(config.queue_time));
        let low = config.queue_low.max(in_time / 2);
        let high = config.queue_high.max(in_time);
        let seen = self.round.lost + self.round.packets;
        let lossy = self.round.lost >= pacing::LOSSES_MIN && self.round.lost * pacing::LOSS_SHARE > seen;
        let flood = is_flood(self.round.lost, seen);
        self.lossy_rounds = if lossy { self.lossy_rounds + 1 } else { 0 };
        if lossy && (flood || queue > low || self.lossy_rounds >= pacing::LOSSY_ROUNDS) {
            self.starting = false;
            self.lossy_rounds = 0;
            // The window shrinks by a quarter, or by up to a half if that much was lost.
            let share = (self.round.lost * 8 / seen).clamp(2, 4);
            self.size -= self.size * share / 8;
            self.floor = self.floor.min(self.size);
        } else if queue > high {
            self.starting = false;
            let less = self.size - (queue - high).min(self.size / 4);
            self.size = less.max(self.floor.min(self.size));
        } else if queue > low {
            self.starting = false;
        } else if self.round.limited {
            self.size += if self.starting { self.size } else { (self.size / pacing::GROWTH).max(1500) };
        }
        if self.round.lost == 0 {
            self.floor = (self.floor + self.floor / pacing::FLOOR_GROWTH).min(floor_of(self.nominal));
        }
        self.size = self.size.max(self.floor).clamp(config.min_window, config.max_window);
    }

    fn measure(&mut self, elapsed_ns: u64) {
        if self.round.since == Time::default() || elapsed_ns == 0 {
            return;
        }
        let sample = share(self.round.delivered, 1_000_000_000, elapsed_ns).max(1);
        // Acknowledgements that arrive together after a pause would show a rate that no cable has.
        let sample = if self.nominal > 0 { sample.min(self.nominal) } else { sample };
        // The estimate rises quickly; it falls quickly only as long as little is known, because a host that
        // was busy for a moment does not make a slow path.
        let weight = if sample > self.rate || self.measured < pacing::TRUSTED_ROUNDS { 3 } else { 15 };
        if self.round.limited {
            let weight = if self.measured == 0 { 1 } else { weight };
            self.rate = (weight * self.rate + sample) / (weight + 1);
            self.measured = self.measured.saturating_add(1);
        } else if self.measured > 0 && sample > self.rate {
            self.rate = (3 * self.rate + sample) / 4;
        }
    }
}

/// Initial floor of the window: what passes within some time at the nominal rate, within what small switches
/// hold and fast hosts need, bytes.
fn floor_of(nominal: u64) -> u64 {
    match nominal {
        0 => pacing::FLOOR_UNKNOWN,
        nominal => bytes_in(nominal, pacing::FLOOR_NS).clamp(pacing::FLOOR_MIN, pacing::FLOOR_MAX),
    }
}

/// Whether so many packets lost of those that were seen, lost or not, mean that a queue has overflowed.
fn is_flood(lost: u64, seen: u64) -> bool {
    lost >= pacing::FLOOD_LOSSES && lost * pacing::FLOOD_SHARE > seen
}

/// What an acknowledgement has added: bytes and packets, the highest acknowledged number, and the next number
/// to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Acked {
    pub bytes: u64,
    pub packets: u64,
    pub largest: u64,
    pub next: u64,
    /// Sample of the round trip, ns.
    pub rtt: Option<u64>,
}

/// Bytes that pass in `time_ns` at `rate` bytes per second.
pub(crate) fn bytes_in(rate: u64, time_ns: u64) -> u64 {
    share(rate, time_ns, 1_000_000_000)
}

/// a * b / c without overflow of the product. A division of 128 bits takes as long as sending a short packet,
/// so it is used only if the product needs more than 64.
fn share(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => u64::try_from(u128::from(a) * u128::from(b) / u128::from(c)).unwrap_or(u64::MAX),
    }
}

/// Time that `bytes` take at `rate` bytes per second, ns.
pub(crate) fn time_of(bytes: u64, rate: u64) -> u64 {
    bytes.saturating_mul(1_000_000_000) / rate.max(1)
}

#[cfg(test)]
mod tests;
