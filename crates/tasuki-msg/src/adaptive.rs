//! Grants at the rate at which they are used: for many senders to one receiver, and for receivers that are slow.
//!
//! The ATM paper's rule `M = B + R*T` again: B bytes come unasked, the rest as this receiver grants it. What is granted and
//! has not arrived waits somewhere: on cables, in a switch's queue, in this host's socket. R is what arrives per second; what is granted
//! ahead is what the shortest round trip needs at that rate and a little more, all senders together. A sender whose bytes
//! take longer has a queue before it, wherever that is; it is not this layer's to know whether of a switch or of a slow receiver.

use crate::control::{Controller, Demand, NewMessage};
use crate::ids::PeerId;

/// Knobs of [`Adaptive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveConfig {
    /// Messages up to this length go out whole if credit allows, bytes.
    pub eager_max: u64,
    /// B: longer messages send this much at once, bytes. So much from every sender at the same time must fit the queue of a switch.
    pub unscheduled: u64,
    /// Smallest grant, bytes: each costs a frame.
    pub quantum_min: u64,
    /// Largest grant, bytes.
    pub quantum_max: u64,
    /// Granted and not arrived, all senders together, at the beginning and at least (half of it if they are several), bytes.
    pub window_min: u64,
    /// The same at most, bytes.
    pub window_max: u64,
    /// More is granted while less than this waits in queues, bytes ...
    pub queue_low: u64,
    /// ... and less while more than this does.
    pub queue_high: u64,
    /// The same two bounds as times at the measured rate, for fast networks; the larger counts. ns; the low bound is half of it. Five times as long for a sender
    /// that is alone.
    pub queue_ns: u64,
}

impl AdaptiveConfig {
    /// For networks of 100 Mbit/s to 25 Gbit/s with switches whose ports hold 256 KiB and more for 16 senders.
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
    /// What may be granted and not arrived, bytes.
    pub window: u64,
    /// Shortest time from a grant to its last byte, ns; 0 if unknown.
    pub shortest_ns: u64,
    /// Grants that were made.
    pub grants: u64,
    /// Times that the window was made smaller because bytes took long.
    pub slowed: u64,
}

/// Grants at the measured rate. Its owner tells it the time with [`Adaptive::set_now`] before it hands frames to the endpoint.
#[derive(Clone, Debug)]
pub struct Adaptive {
    knobs: AdaptiveConfig,
    now: u64,
    window: u64,
    /// Until the first queue is seen the window doubles.
    starting: bool,
    measured: Measured,
    /// Granted and arrived, bytes, since the beginning.
    granted: u64,
    arrived: u64,
    /// A sender was refused because the window was full.
    limited: bool,
    sample: Option<Sample>,
    /// When the shortest time was last seen or renewed, ns.
    shortest_at: u64,
    /// The highest R of late, and since when, ns: what this host's cable or its program can take.
    best: u64,
    best_at: u64,
    /// A sender with nothing under way has been refused since something arrived last.
    waits: bool,
    /// When something arrived last, or the wait began, ns.
    heard_at: u64,
    /// Granted and not arrived, when a sender was refused last, bytes.
    ahead: u64,
    /// So many of these are not waited for any more: their senders are busy with something else.
    written_off: u64,
    /// Senders that waited for a grant at the last one.
    senders: u32,
    /// So many samples long the senders do not take turns, as that has cost throughput.
    crowd: u32,
}

/// A grant that is being timed: over when as much has arrived as had been granted with it.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: u64,
    until: u64,
    /// `arrived` then.
    before: u64,
}

/// A lone sender may have so many times as long a queue in time, as the processors of fast hosts wait for each other by more than networks do, and nobody else
/// waits behind it.
const LONE: u64 = 5;
/// A sender's share is granted in so many parts: each arrives before the next is granted.
const GRANTS: u64 = 8;
/// The shortest time is forgotten after so long: ways change. ns.
const SHORTEST_HOLDS: u64 = 10_000_000_000;
/// So is the highest rate.
const BEST_HOLDS: u64 = 10_000_000_000;
/// If R is less than the highest by more than one in so many while senders take turns, they are busy with other receivers.
const NEARLY: u64 = 32;
/// Then they do not take turns for so many samples.
const CROWD: u32 = 128;
/// The same where the highest rate is not known: who takes turns from the beginning on would take what that gives for the highest.
const FIRST: u32 = 4;
/// Senders that wait for their turn get a grant anyway when nothing has arrived for four of the shortest times, within these bounds, ns.
const PATIENCE_MIN: u64 = 4_000_000;
const PATIENCE_MAX: u64 = 20_000_000;
/// What was written off may arrive after all: of so many bytes that arrive one counts as such.
const LATE: u64 = 8;

impl Adaptive {
    /// One that knows nothing yet.
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
            crowd: 0,
        }
    }

    /// The time, ns of any clock that does not go back.
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
        // The rate of a time in which the senders had enough is the network's, or the receiver's.
        if self.limited || sample_rate > known {
            self.measured.rate = if self.senders > 1 && sample_rate / 2 > known {
                sample_rate
            } else {
                (3 * known + sample_rate) / 4
            };
        }
        let rate = self.measured.rate;
        let unknown = self.best == 0 || self.now.saturating_sub(self.best_at) > BEST_HOLDS;
        if rate > self.best || unknown {
            (self.best, self.best_at) = (rate, self.now);
        }
        self.choose_turns(unknown);
        let old = self.now.saturating_sub(self.shortest_at) > SHORTEST_HOLDS;
        if self.measured.shortest_ns == 0 || took < self.measured.shortest_ns || old {
            (self.measured.shortest_ns, self.shortest_at) = (took, self.now);
        }
        let over = took - self.measured.shortest_ns.min(took);
        let queue = share(self.measured.rate, over, 1_000_000_000);
        self.adjust(queue);
        self.limited = false;
    }

    /// So long nothing may arrive while a sender waits for its turn, ns.
    fn patience(&self) -> u64 {
        self.measured.shortest_ns.saturating_mul(4).clamp(PATIENCE_MIN, PATIENCE_MAX)
    }

    /// Once per sample: shall senders take turns?
    fn choose_turns(&mut self, unknown: bool) {
        let less = self.measured.rate < self.best - self.best / NEARLY;
        if unknown {
            self.crowd = FIRST;
        } else if self.crowd > 0 {
            self.crowd -= 1;
        } else if less && self.limited && self.senders > 1 {
            self.crowd = CROWD;
        }
    }

    /// A sender has nothing under way. It waits for its turn, or each of many senders would have a grant in the queue. But if senders
    /// are busy with other receivers, the more of them are asked the better.
    fn waits_for_turn(&mut self, demand: &Demand, quantum: u64) -> bool {
        self.written_off = self.written_off.min(demand.in_flight);
        let ahead = demand.in_flight - self.written_off;
        let waits = self.crowd == 0 && ahead > 0 && ahead + quantum > self.window;
        if waits {
            self.heard_at = if self.waits { self.heard_at } else { self.now };
            (self.waits, self.ahead) = (true, demand.in_flight);
        }
        waits
    }

    /// A sender has something under way: it gets more as long as there is room in the window for all, and in its share of it. That
    /// holds also if it is busy with other receivers: more would wait in its queue, before what they have granted it.
    fn has_enough(&mut self, demand: &Demand, quantum: u64, share: u64) -> bool {
        let full = demand.in_flight + quantum > self.window;
        self.limited |= full;
        full || demand.peer_in_flight + quantum > share
    }

    /// Once per sample: so much waits somewhere.
    fn adjust(&mut self, queue: u64) {
        let patience = if self.senders > 1 { self.knobs.queue_ns } else { LONE * self.knobs.queue_ns };
        let in_time = share(self.measured.rate, patience, 1_000_000_000);
        let low = self.knobs.queue_low.max(in_time / 2);
        let high = self.knobs.queue_high.max(in_time);
        if queue > high {
            self.starting = false;
            self.measured.slowed += 1;
            self.window -= (queue - high).min(self.window / 4);
        } else if queue > low {
            self.starting = false;
            // The shortest time of a crowd was measured with a queue, too: down, until it is seen how short it can be.
            let down = ((queue - low) / 8).min(self.window / 4);
            self.window -= if self.senders > 1 { down } else { 0 };
        } else if self.limited {
            self.window += if self.starting { self.window } else { self.window / 8 };
        }
        // Several senders fill each other's gaps.
        let least = if self.senders > 1 { self.knobs.window_min / 2 } else { self.knobs.window_min }.max(1);
        self.window = self.window.clamp(least, self.knobs.window_max.max(least));
    }
}

impl Controller for Adaptive {
    fn unscheduled(&mut self, offer: &NewMessage) -> u64 {
        if offer.len <= self.knobs.eager_max {
            return offer.len;
        }
        // The queues on the way must hold what comes unasked from everybody: no more than B from each, however many messages it has.
        if offer.pull || offer.unanswered > 0 { 0 } else { self.knobs.unscheduled }
    }

    fn grant(&mut self, demand: &Demand) -> u64 {
        let heads = u64::from(demand.senders.max(1));
        // Every sender has several grants under way, so that it does not run dry between them.
        let least = self.knobs.quantum_min.max(1);
        let fair = (self.window / heads).max(2 * least);
        let quantum = (fair / GRANTS).clamp(least, self.knobs.quantum_max.max(least)).min(demand.wanted);
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
        self.written_off = self.written_off.saturating_sub(bytes.div_ceil(LATE));
        if let Some(sample) = self.sample.filter(|sample| self.arrived >= sample.until) {
            self.sample = None;
            self.finish(sample);
        }
    }

    fn forgotten(&mut self, bytes: u64) {
        // They count as arrived, so that a sample that waits for them ends; it says nothing of a rate.
        self.arrived += bytes;
        self.sample = None;
    }

    fn due(&self) -> Option<u64> {
        self.waits.then(|| self.heard_at.saturating_add(self.patience()))
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

/// a * b / c, as much as fits.
fn share(a: u64, b: u64, c: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(c.max(1))).unwrap_or(u64::MAX)
}

/// Either controller, chosen when an endpoint is opened.
#[expect(clippy::large_enum_variant, reason = "an endpoint has one")]
#[derive(Clone, Debug)]
pub enum Pacer {
    /// A fixed window.
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
    /// The time, ns of any clock that does not go back.
    #[inline]
    pub fn set_now(&mut self, now_ns: u64) {
        if let Pacer::Adaptive(adaptive) = self {
            adaptive.set_now(now_ns);
        }
    }

    /// What it has measured, if it measures.
    pub fn measured(&self) -> Option<Measured> {
        match self {
            Pacer::Fixed(_) => None,
            Pacer::Adaptive(adaptive) => Some(adaptive.measured()),
        }
    }
}

impl Controller for Pacer {
    #[inline]
    fn unscheduled(&mut self, offer: &NewMessage) -> u64 {
        match self {
            Pacer::Fixed(window) => window.unscheduled(offer),
            Pacer::Adaptive(adaptive) => adaptive.unscheduled(offer),
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

    /// A network of one way: what is granted arrives `rate` bytes per second, `way_ns` after it was granted at the earliest. Returns
    /// the bytes per second that came in the second half of `time_ns`, and the most that was granted and not there.
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
                // Beyond what is on the way: the queue that it aims at, twice, or a smallest grant each.
                let aim = (64u64 << 10).max(share(rate, 400_000, 1_000_000_000)).max(senders * (8 << 10));
                let bound = 2 * share(rate, way_ns, 1_000_000_000) + 3 * aim;
                assert!(most <= bound, "{rate} B/s, {way_ns} ns, {senders}: {most} bytes ahead, {bound}");
                let measured = controller.measured().rate;
                assert!((rate / 10 * 8..=rate / 10 * 12).contains(&measured), "{rate}: measured {measured}");
            }
        }
    }

    /// Whatever others have under way and never send: whoever has nothing under way waits some milliseconds at most, once.
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
        assert!(due <= PATIENCE_MAX && !controller.time_passed(due - 1));
        assert!(controller.time_passed(due));
        let (mut bytes, mut waits) = (0, 0);
        for at in 1..1000 {
            controller.set_now(due + at * 100_000);
            let mut granted = controller.grant(&demand(stuck));
            if granted == 0 {
                let due = controller.due().expect("a time at which it is asked again");
                assert!(due <= controller.now + PATIENCE_MAX && controller.time_passed(due));
                granted = controller.grant(&demand(stuck));
                waits += 1;
            }
            assert!(granted > 0);
            bytes += granted;
            controller.arrived(PeerId(0), granted);
        }
        // Much more passes between two waits than a window.
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

    /// At a high rate a queue that is still short in time may be longer than the window: the window shrinks by a part of itself, and never grows for it.
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
