//! The profile of a run, as its seed draws it: which kinds of event may happen at all (swarm testing: a run
//! with everything switched on hides what needs one thing switched off), how large everything is, and the
//! network.

use tasuki_msg::{Adaptive, AdaptiveConfig, Config, INITIAL_CREDIT, Pacer, Window};

use super::host::Habit;
use super::network::{End, Network};
use crate::Rng;
use crate::channel::{Channel, ETHERNET_OVERHEAD, Line};
use crate::faults::{Burst, Faults};
use tasuki_wire::{Lane, Lanes};

/// Kinds of event that may happen in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinds {
    // Programs.
    pub cancels: bool,
    pub probes: bool,
    pub multi: bool,
    pub odd_masks: bool,
    pub silence: bool,
    pub partings: bool,
    // Processes.
    pub deaths: bool,
    pub newcomers: bool,
    pub refusals: bool,
    pub stops: bool,
    pub lazy: bool,
    // Lines.
    pub loss: bool,
    pub bursts: bool,
    pub duplicates: bool,
    pub reordering: bool,
    pub damage: bool,
    pub one_way: bool,
    pub cuts: bool,
    pub blackouts: bool,
    pub carrier: bool,
    pub holes: bool,
    pub mtu_changes: bool,
}

/// Sizes and rates of a run.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub kinds: Kinds,
    pub nodes: usize,
    pub rails_most: u8,
    pub steps: u64,
    /// Longest pause between two steps of the programs, ns.
    pub pause_ns: u64,
    /// Longest pause between two mishaps, ns.
    pub mishap_ns: u64,
    /// Longest message, bytes; and the percentage of messages that may be this long.
    pub longest: u64,
    pub long_percent: u64,
    /// Highest rate of loss and of other faults, parts per million.
    pub ppm: u32,
    pub equal_rails: bool,
    /// Every rail has a raw lane beside UDP.
    pub two_lanes: bool,
    pub config: Config,
    pub pacer: Pacer,
    pub proto: tasuki_proto::Config,
    pub lazy_percent: u64,
    /// Packets are read for the report, which takes time.
    pub inspect: bool,
    /// Percentage of posted operations that are receives.
    pub receive_percent: u64,
}

impl Profile {
    pub fn draw(rng: &mut Rng) -> Profile {
        let longest = rng.pick(&[8, 200, 1500, 6000, 40_000, 200_000, 3_000_000]);
        let mut proto = tasuki_proto::Config::default();
        if rng.chance(25) {
            proto.max_gaps = rng.pick(&[1, 8, 64, 512]);
        }
        if rng.chance(20) {
            proto.chunk = rng.pick(&[100, 1500, 1 << 20]);
        }
        Profile {
            kinds: Kinds::draw(rng),
            nodes: rng.pick(&[2, 2, 2, 3, 3, 4, 5]),
            rails_most: rng.pick(&[1, 2, 2, 3, 4, 6]),
            steps: 40 + rng.below(if longest > 100_000 { 60 } else { 200 }),
            pause_ns: rng.pick(&[1_000, 20_000, 200_000, 2_000_000, 20_000_000]),
            mishap_ns: rng.pick(&[100_000, 1_000_000, 20_000_000]),
            longest,
            long_percent: rng.pick(&[2, 10, 40]),
            ppm: rng.pick(&[1_000, 10_000, 50_000, 150_000]),
            equal_rails: rng.chance(30),
            two_lanes: false,
            config: Config {
                pool_bytes: rng.pick(&[0, 3000, 40_000, 1 << 20, 16 << 20]),
                peer_bytes: rng.pick(&[1200, 8000, 65_536, 1 << 20]),
                expected_peers: rng.pick(&[1, 1, 4]),
                // Drawn from a copy of the generator, so that all other draws of a seed stay the same.
                initial_credit: rng.clone().pick(&[0, INITIAL_CREDIT]),
            },
            pacer: Window {
                eager_max: rng.pick(&[0, 200, 4000, 16 << 10]),
                unscheduled: rng.pick(&[0, 1000, 64 << 10]),
                window: rng.pick(&[0, 8000, 1 << 20, 4 << 20]),
                // A small quantum only for small messages, because one grant per round trip is slow.
                quantum: rng.pick(&[600, 32_000, 256 << 10]).max(longest / 30),
            }
            .into(),
            proto,
            lazy_percent: rng.pick(&[0, 0, 40]),
            inspect: rng.chance(25),
            receive_percent: rng.pick(&[20, 50, 80]),
        }
    }

    /// Draws a controller that grants at the measured rate instead of a window; its settings may be bad.
    pub fn draw_adaptive(&mut self, rng: &mut Rng) {
        let least = (self.longest / 30).max(1);
        self.pacer = Pacer::Adaptive(Adaptive::new(AdaptiveConfig {
            eager_max: rng.pick(&[0, 200, 4000, 16 << 10]),
            unscheduled: rng.pick(&[0, 1000, 32 << 10]),
            quantum_min: rng.pick(&[600, 8 << 10, 32_000]).max(least),
            quantum_max: rng.pick(&[600, 32_000, 256 << 10]).max(least),
            window_min: rng.pick(&[0, 8000, 64 << 10]),
            window_max: rng.pick(&[0, 1 << 20, 4 << 20]),
            queue_low: rng.pick(&[0, 24 << 10]),
            queue_high: rng.pick(&[0, 64 << 10]),
            queue_ns: rng.pick(&[0, 400_000, 10_000_000]),
        }));
    }

    pub fn habit(&self, rng: &mut Rng) -> Habit {
        let poll_ns = if self.kinds.lazy { rng.pick(&[0, 2_000, 50_000, 1_000_000]) } else { 0 };
        Habit { poll_ns, socket_bytes: rng.pick(&[20_000, 200_000, 1 << 20, 1 << 20]), drain: None }
    }

    /// Makes the rails between two places.
    pub fn connect(&self, network: &mut Network, a: usize, b: usize, rng: &mut Rng) {
        let count =
            if rng.chance(60) { self.rails_most } else { rng.between(1, self.rails_most.into()) as u8 };
        let routed = rng.chance(15);
        // The first rail always works, except for random faults and mishaps.
        let mut numbers: Vec<u8> = (0..count).collect();
        if routed {
            numbers.push(31);
        }
        let shared = self.line(rng);
        for number in numbers {
            let mut line = if self.equal_rails { shared } else { self.line(rng) };
            let mtu = rng.pick(&[1280, 1500, 1500, 1500, 9000]);
            line.mtu = usize::from(mtu);
            if self.kinds.holes && number != 0 && rng.chance(15) {
                // A hole in the MTU that never closes: the ends believe in a larger MTU than the line has.
                line.mtu = rng.between(600, u64::from(mtu)) as usize;
            }
            let told = rng.pick(&[0, 1, 1, 1, 10]);
            let rate_mbps = (line.rate_bps / 1_000_000 * told).min(1 << 20) as u32;
            let lanes = Lanes::NONE.with(Lane::Udp);
            let raw = rng.chance(15) || self.two_lanes;
            let lanes = if number != 31 && raw { lanes.with(Lane::Raw) } else { lanes };
            for (from, to) in [(a, b), (b, a)] {
                let mut faults = self.faults(rng);
                if self.kinds.one_way && number != 0 && rng.chance(25) {
                    faults.loss_ppm = 1_000_000;
                }
                if self.two_lanes && rng.chance(15) {
                    network.set_deaf(from, to, number, true);
                }
                let end = End { mtu, rate_mbps, lanes, up: true };
                network.add(from, to, number, end, Channel::new(line, faults, rng.fork()));
            }
        }
    }

    fn line(&self, rng: &mut Rng) -> Line {
        let rate_mbps = rng.pick(&[10, 25, 50, 100, 100, 1000, 1000, 2500, 10_000]);
        let slow = rng.chance(10);
        Line {
            rate_bps: rate_mbps * 1_000_000,
            delay_ns: if slow { rng.below(20_000_000) } else { rng.magnitude(500_000) },
            queue_bytes: rng.pick(&[20_000, 65_536, 300_000, 1 << 20]),
            overhead_bytes: ETHERNET_OVERHEAD,
            mtu: 1500,
        }
    }

    fn faults(&self, rng: &mut Rng) -> Faults {
        let kinds = &self.kinds;
        let mut some =
            |on: bool| if on && rng.chance(80) { rng.magnitude(self.ppm.into()) as u32 } else { 0 };
        let (loss_ppm, duplicate_ppm) = (some(kinds.loss), some(kinds.duplicates));
        let (reorder_ppm, flip_ppm) = (some(kinds.reordering), some(kinds.damage));
        let truncate_ppm = some(kinds.damage);
        let burst = (kinds.bursts && rng.chance(70)).then(|| Burst {
            begin_ppm: rng.between(100, 10_000) as u32,
            end_ppm: rng.between(30_000, 300_000) as u32,
            loss_ppm: rng.between(300_000, 1_000_000) as u32,
        });
        let reorder_ns = rng.magnitude(5_000_000);
        Faults { loss_ppm, burst, duplicate_ppm, reorder_ppm, reorder_ns, flip_ppm, truncate_ppm }
    }
}

impl Kinds {
    fn draw(rng: &mut Rng) -> Kinds {
        let mut on = |percent| rng.chance(percent);
        Kinds {
            cancels: on(40),
            probes: on(40),
            multi: on(40),
            odd_masks: on(15),
            silence: on(30),
            partings: on(20),
            deaths: on(25),
            newcomers: on(25),
            refusals: on(10),
            stops: on(35),
            lazy: on(35),
            loss: on(50),
            bursts: on(25),
            duplicates: on(40),
            reordering: on(40),
            damage: on(30),
            one_way: on(15),
            cuts: on(35),
            blackouts: on(20),
            carrier: on(50),
            holes: on(20),
            mtu_changes: on(20),
        }
    }
}
