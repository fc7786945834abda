//! A controller that grants at the rate at which granted bytes arrive: for many senders to one receiver, and
//! for slow receivers.
//!
//! It follows the ATM paper's rule `M = B + R*T`: B bytes of a message are sent unscheduled, the rest as the
//! receiver grants it. Granted bytes that have not arrived are on cables, in a switch's queue, or in this
//! host's socket. R is the rate at which they arrive, per second. The window, that is the bytes granted and
//! not arrived of all senders together, is what the shortest round trip needs at that rate, and a little
//! more. If bytes take longer than the shortest round trip, there is a queue before them; whether it is in a
//! switch or before a slow receiver makes no difference to this controller.

mod config;

use tasuki_tuning::grants;

use crate::control::{Controller, Demand, Measured, NewMessage};
use crate::ids::PeerId;

pub use config::AdaptiveConfig;

/// The controller of this module. Its owner tells it the time with [`Adaptive::set_now`] before it hands
/// frames to the endpoint.
#[derive(Clone, Debug)]
pub struct Adaptive {
    knobs: AdaptiveConfig,
    now: u64,
    window: u64,
    /// The window doubles with each sample until a queue is seen.
    starting: bool,
    measured: Measured,
    /// Bytes granted, and granted bytes that have arrived, since the beginning.
    granted: u64,
    arrived: u64,
    /// A grant was refused since the last sample because the window was full.
    limited: bool,
    sample: Option<Sample>,
    /// When `Measured::shortest_ns` was last seen or renewed, ns.
    shortest_at: u64,
    /// The highest rate R of the last seconds, which is what this host's cable or its program can take; and
    /// when it was measured, ns.
    best: u64,
    best_at: u64,
    /// A sender with nothing in flight has been refused a grant since bytes arrived last.
    waits: bool,
    /// When bytes arrived last, or that refusal happened, ns.
    heard_at: u64,
    /// Bytes in flight when a sender with nothing in flight was last refused.
    ahead: u64,
    /// Bytes in flight that no sender waits for any more, because their senders are busy with something else.
    written_off: u64,
    /// Number of senders that waited for a grant when `grant` was called last.
    senders: u32,
    /// For so many further samples, senders need not take turns, because taking turns has cost throughput.
    no_turns: u32,
}

/// A measurement: it ends when all bytes have arrived that had been granted when it began.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: u64,
    until: u64,
    /// `Adaptive::arrived` at the beginning.
    before: u64,
}

impl Adaptive {
    /// A controller that has measured nothing yet.
    pub fn new(knobs: AdaptiveConfig) -> Adaptive {
        Adaptive {
            window: knobs.window_min.max(1),
            knobs,
            now: 0,
            starting: true,
            measured: Measured::default(),
            granted: 0,
            arrived: 0,
            limited: false,
            sample: None,
            shortest_at: 0,
            best: 0,
            best_at: 0,
            waits: false,
            heard_at: 0,
            ahead: 0,
            written_off: 0,
            senders: 0,
            no_turns: 0,
        }
    }

    /// Tells the time, ns of any clock that does not run backwards.
    pub fn set_now(&mut self, now_ns: u64) {
        self.now = self.now.max(now_ns);
    }

    /// What it has measured.
    pub fn measured(&self) -> Measured {
        Measured { window: self.window, ..self.measured }
    }

    fn finish(&mut self, sample: Sample) {
        let took = self.now.saturating_sub(sample.at).max(1);
        let bytes = self.arrived - sample.before;
        let sample_rate = share(bytes, 1_000_000_000, took);
        let known = self.measured.rate;
        // If senders had enough to send, the rate of this time is that of the network or of the receiver.
        if self.limited || sample_rate > known {
            self.measured.rate = if self.senders > 1 && sample_rate / 2 > known {
                sample_rate
            } else {
                (3 * known + sample_rate) / 4
            };
        }
        let rate = self.measured.rate;
        let unknown = self.best == 0 || self.now.saturating_sub(self.best_at) > grants::BEST_AGE_NS;
        if rate > self.best || unknown {
            (self.best, self.best_at) = (rate, self.now);
        }
        self.choose_turns(unknown);
        let old = self.now.saturating_sub(self.shortest_at) > grants::SHORTEST_AGE_NS;
        if self.measured.shortest_ns == 0 || took < self.measured.shortest_ns || old {
            (self.measured.shortest_ns, self.shortest_at) = (took, self.now);
        }
        let over = took - self.measured.shortest_ns.min(took);
        let queue = share(self.measured.rate, over, 1_000_000_000);
        self.adjust(queue);
        self.limited = false;
    }

    /// Longest time without arrivals for which a sender waits for its turn, ns.
    fn turn_wait(&self) -> u64 {
        self.measured.shortest_ns.saturating_mul(4).clamp(grants::TURN_WAIT_MIN, grants::TURN_WAIT_MAX)
    }

    /// Decides, once per sample, whether senders take turns.
    fn choose_turns(&mut self, unknown: bool) {
        let less = self.measured.rate < self.best - self.best / grants::BEST_SLACK;
        if unknown {
            self.no_turns = grants::NO_TURNS_AT_START;
        } else if self.no_turns > 0 {
            self.no_turns -= 1;
        } else if less && self.limited && self.senders > 1 {
            self.no_turns = grants::NO_TURNS_SAMPLES;
        }
    }

    /// Whether a sender with nothing in flight must wait for its turn. If each of many senders had a grant,
    /// the queue would be long; but if senders are busy with other receivers, it is better to ask many of
    /// them.
    fn waits_for_turn(&mut self, demand: &Demand, quantum: u64) -> bool {
        self.written_off = self.written_off.min(demand.in_flight);
        let ahead = demand.in_flight - self.written_off;
        let waits = self.no_turns == 0 && ahead > 0 && ahead + quantum > self.window;
        if waits {
            self.heard_at = if self.waits { self.heard_at } else { self.now };
            (self.waits, self.ahead) = (true, demand.in_flight);
        }
        waits
    }

    /// Whether a sender with bytes in flight has enough: it gets more only while there is room in the window
    /// for all senders, and in its share of it. That also holds if it is busy with other receivers: more
    /// would only wait in its queue, before what those have granted it.
    fn has_enough(&mut self, demand: &Demand, quantum: u64, share: u64) -> bool {
        let full = demand.in_flight + quantum > self.window;
        self.limited |= full;
        full || demand.peer_in_flight + quantum > share
    }

    /// Adjusts the window, once per sample; `queue` bytes wait somewhere.
    fn adjust(&mut self, queue: u64) {
        let allowed = if self.senders > 1 {
            self.knobs.queue_ns
        } else {
            grants::LONE_SENDER_FACTOR * self.knobs.queue_ns
        };
        let in_time = share(self.measured.rate, allowed, 1_000_000_000);
        let low = self.knobs.queue_low.max(in_time / 2);
        let high = self.knobs.queue_high.max(in_time);
        if queue > high {
            self.starting = false;
            self.measured.slowed += 1;
            self.window -= (queue - high).min(self.window / 4);
        } else if queue > low {
            self.starting = false;
            // With several senders the shortest time, too, was measured with a queue: the window shrinks
            // until it shows how short the time can be.
            let down = ((queue - low) / 8).min(self.window / 4);
            self.window -= if self.senders > 1 { down } else { 0 };
        } else if self.limited {
            self.window += if self.starting { self.window } else { self.window / 8 };
        }
        // With several senders the window may be smaller, because they fill each other's gaps.
        let least = if self.senders > 1 { self.knobs.window_min / 2 } else { self.knobs.window_min }.max(1);
        self.window = self.window.clamp(least, self.knobs.window_max.max(least));
    }
}

impl Controller for Adaptive {
    fn unscheduled(&mut self, message: &NewMessage) -> u64 {
        if message.len <= self.knobs.eager_max {
            return message.len;
        }
        // The queues of the network must hold what all senders send without a grant, so each sends no more
        // than B, however many messages it has.
        if message.pull || message.unanswered > 0 { 0 } else { self.knobs.unscheduled }
    }

    fn grant(&mut self, demand: &Demand) -> u64 {
        let heads = u64::from(demand.senders.max(1));
        // Every sender has several grants under way, so that it does not run dry between them.
        let least = self.knobs.quantum_min.max(1);
        let fair = (self.window / heads).max(2 * least);
        let quantum =
            (fair / grants::PER_SHARE).clamp(least, self.knobs.quantum_max.max(least)).min(demand.wanted);
        self.senders = demand.senders;
        if demand.peer_in_flight == 0 {
            if self.waits_for_turn(demand, quantum) {
                self.limited = true;
                return 0;
            }
        } else if self.has_enough(demand, quantum, fair) {
            return 0;
        }
        self.granted += quantum;
        self.measured.grants += 1;
        if self.sample.is_none() {
            self.sample = Some(Sample { at: self.now, until: self.granted, before: self.arrived });
        }
        quantum
    }

    fn arrived(&mut self, _: PeerId, bytes: u64) {
        self.arrived += bytes;
        (self.waits, self.heard_at) = (false, self.now);
        self.written_off = self.written_off.saturating_sub(bytes.div_ceil(grants::WRITE_OFF_SHARE));
        if let Some(sample) = self.sample.filter(|sample| self.arrived >= sample.until) {
            self.sample = None;
            self.finish(sample);
        }
    }

    fn forgotten(&mut self, bytes: u64) {
        // They count as arrived, so that a sample that waits for them ends; but it must not measure a rate.
        self.arrived += bytes;
        self.sample = None;
    }

    fn due(&self) -> Option<u64> {
        self.waits.then(|| self.heard_at.saturating_add(self.turn_wait()))
    }

    fn time_passed(&mut self, now_ns: u64) -> bool {
        self.set_now(now_ns);
        let late = self.due().is_some_and(|due| due <= self.now);
        if late {
            (self.waits, self.written_off) = (false, self.ahead);
        }
        late
    }
}

/// a * b / c without overflow of the product; saturates.
fn share(a: u64, b: u64, c: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(c.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
