//! A host as a processor, a NIC with an interrupt delay, a program that computes and waits for answers, and a
//! stream that arrives meanwhile. Deterministic: the same seed gives the same run.

use crate::Sample;
use std::collections::VecDeque;
use tasuki_random::Random;

/// What things cost on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Processor time of an interrupt, besides its packets, nanoseconds.
    pub interrupt_ns: f64,
    /// Processor time of a received packet, nanoseconds.
    pub packet_ns: f64,
}

/// What a host does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Processor time that the program computes between two exchanges, nanoseconds, on average (exponentially
    /// distributed).
    pub compute_ns: f64,
    /// Whether the program then waits for an answer; otherwise it goes on computing.
    pub waits: bool,
    /// Time from a question to the arrival of its answer, nanoseconds.
    pub round_trip_ns: f64,
    /// Packets per second that arrive besides, at random (Poisson).
    pub stream_rate: f64,
}

/// What has happened since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Time, nanoseconds.
    pub ns: f64,
    /// Time that the program had the processor, nanoseconds.
    pub user_ns: f64,
    /// Time that interrupts and packets had the processor, nanoseconds.
    pub kernel_ns: f64,
    /// Packets received.
    pub packets: u64,
    /// Packets sent: questions.
    pub sent: u64,
    /// Packets that found the NIC's ring full.
    pub dropped: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Turns of the program: computed, and answered.
    pub turns: f64,
}

impl Counters {
    /// What happened since earlier counters.
    pub fn since(&self, before: &Counters) -> Sample {
        let ns = self.ns - before.ns;
        let user = self.user_ns - before.user_ns;
        Sample {
            seconds: ns / 1e9,
            busy: (user + self.kernel_ns - before.kernel_ns) / ns,
            user: user / ns,
            packets: (self.packets - before.packets) as f64,
            sent: (self.sent - before.sent) as f64,
            interrupts: (self.interrupts - before.interrupts) as f64,
        }
    }
}

/// Descriptors of the NIC's ring, as e1000 has by default.
const RING: usize = 256;
/// Packets that one interrupt takes at most (`netdev_budget`).
const BUDGET: usize = 300;

/// A host.
#[derive(Clone, Debug)]
pub struct Model {
    costs: Costs,
    load: Load,
    delay_ns: f64,
    random: Random,
    counters: Counters,
    /// Packets in the ring; true: the answer that the program waits for.
    ring: VecDeque<bool>,
    /// When the next packet of the stream arrives, nanoseconds.
    next_stream: f64,
    /// When the answer arrives, nanoseconds; `None`: none is under way.
    answer: Option<f64>,
    /// Processor time until the program asks, nanoseconds; `None`: it waits.
    remaining: Option<f64>,
    /// When the last interrupt began, nanoseconds.
    last_interrupt: f64,
}

impl Model {
    /// A host that begins at time 0, without a delay.
    pub fn new(costs: Costs, load: Load, seed: u64) -> Self {
        let mut model = Self {
            costs,
            load,
            delay_ns: 0.0,
            random: Random::new(seed),
            counters: Counters::default(),
            ring: VecDeque::new(),
            next_stream: f64::INFINITY,
            answer: None,
            remaining: None,
            last_interrupt: f64::NEG_INFINITY,
        };
        model.set_load(load);
        model.remaining = Some(model.work());
        model
    }

    /// Sets the time from one interrupt to the next, microseconds; 0: off. A packet that comes later than
    /// that after an interrupt interrupts at once (Intel's ITR, and `gro_flush_timeout` with one deferral).
    pub fn set_delay_us(&mut self, us: u32) {
        self.delay_ns = f64::from(us) * 1000.0;
    }

    /// Sets what the host does from now on.
    pub fn set_load(&mut self, load: Load) {
        self.load = load;
        self.next_stream = self.counters.ns + self.gap();
    }

    /// What has happened since the beginning.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Time until the next packet of the stream, nanoseconds.
    fn gap(&mut self) -> f64 {
        match self.load.stream_rate {
            rate if rate > 0.0 => self.random.exponential(1e9 / rate),
            _ => f64::INFINITY,
        }
    }

    /// Processor time of a turn, nanoseconds. To send a question costs what a packet costs.
    fn work(&mut self) -> f64 {
        let compute =
            if self.load.compute_ns > 0.0 { self.random.exponential(self.load.compute_ns) } else { 0.0 };
        compute + if self.load.waits { self.costs.packet_ns } else { 0.0 }
    }

    /// Runs the host for so many seconds.
    pub fn run(&mut self, seconds: f64) {
        let end = self.counters.ns + seconds * 1e9;
        while self.counters.ns < end {
            let now = self.counters.ns;
            let arrival = self.next_stream.min(self.answer.unwrap_or(f64::INFINITY));
            let interrupt = match self.ring.is_empty() {
                true => f64::INFINITY,
                false => now.max(self.last_interrupt + self.delay_ns),
            };
            let ask = self.remaining.map_or(f64::INFINITY, |remaining| now + remaining);
            let next = arrival.min(interrupt).min(ask).min(end);
            self.spend(next);
            if next >= end {
                return;
            }
            if next == ask {
                self.ask();
            } else if next == arrival {
                self.arrive(next);
            } else {
                self.interrupt();
            }
        }
    }

    /// Lets time pass until `until`, nanoseconds, during which the program has the processor if it does not
    /// wait.
    fn spend(&mut self, until: f64) {
        if let Some(remaining) = &mut self.remaining {
            let took = until - self.counters.ns;
            *remaining = (*remaining - took).max(0.0);
            self.counters.user_ns += took;
        }
        self.counters.ns = until;
    }

    /// The program has computed: it asks, or begins its next turn.
    fn ask(&mut self) {
        if self.load.waits {
            self.remaining = None;
            self.counters.sent += 1;
            self.answer = Some(self.counters.ns + self.load.round_trip_ns);
        } else {
            self.counters.turns += 1.0;
            self.remaining = Some(self.work());
        }
    }

    /// Puts the packet that arrives at this time, nanoseconds, into the ring.
    fn arrive(&mut self, at: f64) {
        let is_answer = self.answer == Some(at);
        if is_answer {
            self.answer = None;
        } else {
            self.next_stream = at + self.gap();
        }
        // On a real host an answer that is dropped is sent again; here it always finds room.
        if self.ring.len() < RING || is_answer {
            self.ring.push_back(is_answer);
        } else {
            self.counters.dropped += 1;
        }
    }

    /// The processor takes what is in the ring, and what arrives meanwhile.
    fn interrupt(&mut self) {
        let begun = self.counters.ns;
        self.last_interrupt = begun;
        self.counters.interrupts += 1;
        let mut now = begun + self.costs.interrupt_ns;
        for _ in 0..BUDGET {
            while self.next_stream.min(self.answer.unwrap_or(f64::INFINITY)) <= now {
                self.arrive(self.next_stream.min(self.answer.unwrap_or(f64::INFINITY)));
            }
            let Some(is_answer) = self.ring.pop_front() else { break };
            now += self.costs.packet_ns;
            self.counters.packets += 1;
            if is_answer {
                self.counters.turns += 1.0;
                self.remaining = Some(self.work());
            }
        }
        self.counters.kernel_ns += now - begun;
        self.counters.ns = now;
    }
}
