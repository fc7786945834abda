//! A controller that grants at the rate at which granted bytes arrive: for many senders to one receiver, and
//! for slow receivers.
//!
//! It follows the ATM paper's rule `M = B + R*T`: B bytes of a message are sent unscheduled, the rest as the
//! receiver grants it. Granted bytes that have not arrived are on cables, in a switch's queue, or in this
//! host's socket. R is the rate at which they arrive, per second. The window, that is the bytes granted and
//! not arrived of all senders together, is what the shortest round trip needs at that rate, and a little
//! more. If bytes take longer than the shortest round trip, there is a queue before them; whether it is in a
//! switch or before a slow receiver makes no difference to this controller.

use crate::control::{Controller, Demand, NewMessage};
use crate::ids::PeerId;

/// Settings of [`Adaptive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveConfig {
    /// Messages up to this length are sent whole without a grant if credit allows, bytes.
    pub eager_max: u64,
    /// B of longer messages: this much is sent without a grant, bytes. A switch's queue must hold as much
    /// from every sender at the same time.
    pub unscheduled: u64,
    /// Smallest grant, bytes: each costs a frame.
    pub quantum_min: u64,
    /// Largest grant, bytes.
    pub quantum_max: u64,
    /// Smallest window, and the window at the beginning, bytes; half of it if there are several senders.
    pub window_min: u64,
    /// Largest window, bytes.
    pub window_max: u64,
    /// The window grows while less than this waits in queues, bytes.
    pub queue_low: u64,
    /// The window shrinks while more than this waits in queues, bytes.
    pub queue_high: u64,
    /// The bound `queue_high` as a time at the measured rate, for fast networks, ns; half of it for
    /// `queue_low`. The larger of the two bounds, bytes or time, counts. The time is five times as long for a
    /// single sender.
    pub queue_ns: u64,
}

impl AdaptiveConfig {
    /// For networks of 100 Mbit/s to 25 Gbit/s, and 16 senders at switches whose ports hold 256 KiB or more.
    pub const DEFAULT: AdaptiveConfig = AdaptiveConfig {
        eager_max: 16 << 10,
        unscheduled: 12 << 10,
        quantum_min: 8 << 10,
        quantum_max: 256 << 10,
        window_min: 32 << 10,
        window_max: 4 << 20,
        queue_low: 12 << 10,
        queue_high: 32 << 10,
        queue_ns: 200_000,
    };
}

impl Default for AdaptiveConfig {
    fn default() -> AdaptiveConfig {
        AdaptiveConfig::DEFAULT
    }
}

/// What a controller has measured, for statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// R: granted bytes that arrive per second; 0 if unknown.
    pub rate: u64,
    /// The window: bytes that may be granted and not arrived.
    pub window: u64,
    /// Shortest time from a grant to the arrival of its last byte, ns; 0 if unknown.
    pub shortest_ns: u64,
    /// Number of grants.
    pub grants: u64,
    /// How often the window was made smaller because bytes took long.
    pub slowed: u64,
}

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

/// A single sender may have a queue so many times as long in time: on fast hosts, processors wait for each
/// other longer than networks do, and no other sender waits behind it.
const LONE_SENDER_FACTOR: u64 = 5;
/// A sender's share of the window is granted in so many parts, so that each arrives before the next is
/// granted.
const GRANTS_PER_SHARE: u64 = 8;
/// The shortest time is forgotten after this, because routes change, ns.
const SHORTEST_AGE_NS: u64 = 10_000_000_000;
/// The highest rate is forgotten after this, ns.
const BEST_AGE_NS: u64 = 10_000_000_000;
/// If senders take turns and R is below the highest rate by more than one part in this many, the senders are
/// taken to be busy with other receivers.
const BEST_SLACK: u64 = 32;
/// Number of samples for which senders then do not take turns.
const NO_TURNS_SAMPLES: u32 = 128;
/// Number of samples for which senders do not take turns while the highest rate is unknown: if they took
/// turns from the beginning, the rate that this gives would be taken for the highest.
const NO_TURNS_AT_START: u32 = 4;
/// A sender that waits for its turn gets a grant anyway when nothing has arrived for four times the shortest
/// time, but not before the first and not after the second of these bounds, ns.
const TURN_WAIT_MIN: u64 = 4_000_000;
const TURN_WAIT_MAX: u64 = 20_000_000;
/// Bytes that were written off may arrive after all: of this many arriving bytes, one counts as such.
const WRITE_OFF_SHARE: u64 = 8;

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
        let unknown = self.best == 0 || self.now.saturating_sub(self.best_at) > BEST_AGE_NS;
        if rate > self.best || unknown {
            (self.best, self.best_at) = (rate, self.now);
        }
        self.choose_turns(unknown);
        let old = self.now.saturating_sub(self.shortest_at) > SHORTEST_AGE_NS;
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
        self.measured.shortest_ns.saturating_mul(4).clamp(TURN_WAIT_MIN, TURN_WAIT_MAX)
    }

    /// Decides, once per sample, whether senders take turns.
    fn choose_turns(&mut self, unknown: bool) {
        let less = self.measured.rate < self.best - self.best / BEST_SLACK;
        if unknown {
            self.no_turns = NO_TURNS_AT_START;
        } else if self.no_turns > 0 {
            self.no_turns -= 1;
        } else if less && self.limited && self.senders > 1 {
            self.no_turns = NO_TURNS_SAMPLES;
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
        let allowed =
            if self.senders > 1 { self.knobs.queue_ns } else { LONE_SENDER_FACTOR * self.knobs.queue_ns };
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
            (fair / GRANTS_PER_SHARE).clamp(least, self.knobs.quantum_max.max(least)).min(demand.wanted);
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
        self.written_off = self.written_off.saturating_sub(bytes.div_ceil(WRITE_OFF_SHARE));
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

/// One of the two controllers of this crate, chosen when an endpoint is opened.
#[expect(clippy::large_enum_variant, reason = "an endpoint has one")]
#[derive(Clone, Debug)]
pub enum Pacer {
    /// Grants a fixed window.
    Fixed(crate::control::Window),
    /// Grants at the measured rate.
    Adaptive(Adaptive),
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer::Fixed(crate::control::Window::default())
    }
}

impl From<crate::control::Window> for Pacer {
    fn from(window: crate::control::Window) -> Pacer {
        Pacer::Fixed(window)
    }
}

impl Pacer {
    /// Tells the time, ns of any clock that does not run backwards.
    #[inline]
    pub fn set_now(&mut self, now_ns: u64) {
        if let Pacer::Adaptive(adaptive) = self {
            adaptive.set_now(now_ns);
        }
    }

    /// What it has measured; `None` for a controller that does not measure.
    pub fn measured(&self) -> Option<Measured> {
        match self {
            Pacer::Fixed(_) => None,
            Pacer::Adaptive(adaptive) => Some(adaptive.measured()),
        }
    }
}

impl Controller for Pacer {
    #[inline]
    fn unscheduled(&mut self, message: &NewMessage) -> u64 {
        match self {
            Pacer::Fixed(window) => window.unscheduled(message),
            Pacer::Adaptive(adaptive) => adaptive.unscheduled(message),
        }
    }

    fn grant(&mut self, demand: &Demand) -> u64 {
        match self {
            Pacer::Fixed(window) => window.grant(demand),
            Pacer::Adaptive(adaptive) => adaptive.grant(demand),
        }
    }

    fn arrived(&mut self, peer: PeerId, bytes: u64) {
        if let Pacer::Adaptive(adaptive) = self {
            adaptive.arrived(peer, bytes);
        }
    }

    fn forgotten(&mut self, bytes: u64) {
        if let Pacer::Adaptive(adaptive) = self {
            adaptive.forgotten(bytes);
        }
    }

    #[inline]
    fn due(&self) -> Option<u64> {
        match self {
            Pacer::Fixed(_) => None,
            Pacer::Adaptive(adaptive) => adaptive.due(),
        }
    }

    #[inline]
    fn time_passed(&mut self, now_ns: u64) -> bool {
        match self {
            Pacer::Fixed(_) => false,
            Pacer::Adaptive(adaptive) => adaptive.time_passed(now_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates one receiver: granted bytes arrive at `rate` bytes per second, and `way_ns` after their
    /// grant at the earliest. Returns the bytes per second that arrived in the second half of `time_ns`, the
    /// largest number of bytes in flight, and the controller.
    fn play(rate: u64, way_ns: u64, senders: u64, time_ns: u64) -> (u64, u64, Adaptive) {
        let mut controller = Adaptive::new(AdaptiveConfig::default());
        let peer = PeerId(0);
        let (mut now, mut free_at, mut in_flight, mut most, mut late) = (0u64, 0u64, 0u64, 0u64, 0u64);
        let mut of = vec![0u64; senders as usize];
        let mut coming = std::collections::VecDeque::new();
        while now < time_ns {
            controller.set_now(now);
            let mut refused = 0;
            for at in (0..senders as usize).cycle() {
                let demand = Demand {
                    peer,
                    wanted: 1 << 40,
                    peer_in_flight: of[at],
                    in_flight,
                    senders: senders as u32,
                };
                let granted = controller.grant(&demand);
                refused = if granted == 0 { refused + 1 } else { 0 };
                if granted > 0 {
                    of[at] += granted;
                    in_flight += granted;
                    for piece in (0..granted).step_by(1425) {
                        let bytes = (granted - piece).min(1425);
                        free_at = free_at.max(now + way_ns) + share(bytes, 1_000_000_000, rate);
                        coming.push_back((free_at, at, bytes));
                    }
                }
                if refused == senders {
                    break;
                }
            }
            most = most.max(if now > time_ns / 2 { in_flight } else { 0 });
            let Some((at, who, bytes)) = coming.pop_front() else { panic!("nothing comes any more") };
            now = at;
            controller.set_now(now);
            of[who] -= bytes;
            in_flight -= bytes;
            late += if now > time_ns / 2 { bytes } else { 0 };
            controller.arrived(peer, bytes);
        }
        (share(late, 1_000_000_000, time_ns / 2), most, controller)
    }

    #[test]
    fn any_rate_is_found_and_used_with_short_queues() {
        for (rate, way_ns) in [
            (1_000_000, 100_000),
            (6_500_000, 50_000),
            (125_000_000, 50_000),
            (125_000_000, 1_000_000),
            (500_000_000, 100_000),
        ] {
            for senders in [1, 2, 16] {
                let (got, most, controller) = play(rate, way_ns, senders, 4_000_000_000);
                assert!(got >= rate / 100 * 95, "{rate} B/s, {way_ns} ns, {senders}: {got} B/s");
                // Besides what the network needs, twice the queue at which the controller aims, or a smallest
                // grant for each sender.
                let aim = (64u64 << 10).max(share(rate, 400_000, 1_000_000_000)).max(senders * (8 << 10));
                let bound = 2 * share(rate, way_ns, 1_000_000_000) + 3 * aim;
                assert!(most <= bound, "{rate} B/s, {way_ns} ns, {senders}: {most} bytes ahead, {bound}");
                let measured = controller.measured().rate;
                assert!((rate / 10 * 8..=rate / 10 * 12).contains(&measured), "{rate}: measured {measured}");
            }
        }
    }

    /// However much other senders have in flight and never send, a sender with nothing in flight waits some
    /// milliseconds at most, and once.
    #[test]
    fn a_sender_with_nothing_under_way_gets_its_turn() {
        let mut controller = Adaptive::new(AdaptiveConfig::default());
        let demand = |in_flight| Demand {
            peer: PeerId(0),
            wanted: 1 << 30,
            peer_in_flight: 0,
            in_flight,
            senders: 1000,
        };
        let stuck = 1 << 40;
        assert_eq!(controller.grant(&demand(stuck)), 0);
        let due = controller.due().expect("a time at which it is asked again");
        assert!(due <= TURN_WAIT_MAX && !controller.time_passed(due - 1));
        assert!(controller.time_passed(due));
        let (mut bytes, mut waits) = (0, 0);
        for at in 1..1000 {
            controller.set_now(due + at * 100_000);
            let mut granted = controller.grant(&demand(stuck));
            if granted == 0 {
                let due = controller.due().expect("a time at which it is asked again");
                assert!(due <= controller.now + TURN_WAIT_MAX && controller.time_passed(due));
                granted = controller.grant(&demand(stuck));
                waits += 1;
            }
            assert!(granted > 0);
            bytes += granted;
            controller.arrived(PeerId(0), granted);
        }
        // Much more than a window passes between two waits.
        assert!(waits * 4 * AdaptiveConfig::DEFAULT.window_min <= bytes, "{waits} waits for {bytes} bytes");
    }

    #[test]
    fn bytes_that_never_come_stop_nothing() {
        let mut controller = Adaptive::new(AdaptiveConfig::default());
        let demand = |in_flight| Demand {
            peer: PeerId(0),
            wanted: 1 << 30,
            peer_in_flight: in_flight,
            in_flight,
            senders: 1,
        };
        let granted = controller.grant(&demand(0));
        assert!(granted > 0);
        // Its sender dies.
        controller.forgotten(granted);
        let again = controller.grant(&demand(0));
        controller.set_now(1_000_000);
        controller.arrived(PeerId(0), again);
        assert!(controller.measured().rate > 0, "{:?}", controller.measured());
    }

    /// At a high rate, a queue that is still short in time may be longer than the window. The window then
    /// shrinks by a part of itself, and never grows.
    #[test]
    fn a_queue_never_makes_the_window_larger() {
        for senders in [1, 2, 16] {
            for rate in [1_000_000, 125_000_000, 3_000_000_000, 40_000_000_000] {
                for queue in (0..28).map(|bit| 1u64 << bit) {
                    let mut controller = Adaptive::new(AdaptiveConfig::default());
                    (controller.senders, controller.measured.rate) = (senders, rate);
                    controller.window = controller.knobs.window_min;
                    controller.adjust(queue);
                    let least = controller.knobs.window_min / 2;
                    assert!(
                        (least..=controller.knobs.window_min).contains(&controller.window),
                        "{rate} {queue}"
                    );
                }
            }
        }
    }
}
