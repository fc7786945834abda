//! A run: hosts, rails, programs, mishaps. The seed decides everything.

use super::carrier_reports::Reports;
use super::defect::Plant;
use super::doubts::Doubts;
use super::event::Event;
use super::laziness::Laziness;
use super::mishap::Mishap;
use super::profile::Profile;
use super::verdicts::Verdicts;
use super::world::{Carriage, World};
use crate::Rng;
use tasuki_testkit::Check;
use tasuki_testkit::Trace;
use tasuki_testkit::oracle::Oracle;

/// Bytes of all receive buffers of a run: bounded because several runs go on at the same time on a machine
/// with many cores.
const BUFFERS: u64 = 40_000_000;

pub(crate) struct Scenario {
    pub world: World,
    pub profile: Profile,
    pub steps_left: u64,
    /// Bytes that the programs may still send before they send only short messages.
    pub bytes_left: u64,
    /// Bytes of receive buffers that the programs may still post before they post only small ones.
    pub buffers_left: u64,
    next_place: usize,
    /// When the next mishap begins.
    mishap_due: u64,
    /// What hosts report of carriers, if they do.
    pub reports: Option<Reports>,
    /// Which endpoints doubt whether which peers live, if any do.
    pub doubts: Option<Doubts>,
    /// Which endpoints give up peers that live, if any do.
    pub verdicts: Option<Verdicts>,
}

impl Scenario {
    pub fn new(seed: u64, plant: Plant, carriage: Carriage, trace: Trace) -> Scenario {
        let mut rng = Rng::new(seed);
        let mut profile = Profile { two_lanes: carriage == Carriage::Lanes, ..Profile::draw(&mut rng) };
        // Drawn from a generator of its own, so that all other seeds remain the runs that they were.
        if seed % 4 == 3 {
            profile.draw_adaptive(&mut Rng::new(!seed));
        }
        let mut oracle = Oracle::new(profile.config, trace);
        let laziness = Laziness::new(profile.lazy_percent, rng.fork());
        oracle.note(|| format!("{profile:?}"));
        let mut world = World::new(oracle, profile.pacer.clone(), profile.proto.clone(), carriage, rng);
        (world.plant, world.laziness) = (plant, laziness);
        world.direct_ns = if carriage == Carriage::Perfect { 200_000 } else { 1_000 };
        world.seen.off = carriage == Carriage::Perfect || !profile.inspect;
        let steps_left = profile.steps;
        let bytes_left = if profile.longest > 1_000_000 { 5_000_000 } else { 600_000 };
        let (next_place, mishap_due, buffers_left) = (0, 0, BUFFERS);
        let reports = if carriage == Carriage::Perfect { None } else { Reports::of(seed) };
        let doubts = if carriage == Carriage::Perfect { None } else { Doubts::of(seed) };
        let verdicts = if carriage == Carriage::Perfect { None } else { Verdicts::of(seed) };
        let mut scenario = Scenario {
            world,
            profile,
            steps_left,
            bytes_left,
            buffers_left,
            next_place,
            mishap_due,
            reports,
            doubts,
            verdicts,
        };
        for _ in 0..scenario.profile.nodes {
            scenario.newcomer(None);
        }
        scenario.world.schedule_after(1, Event::Step);
        scenario
    }

    /// Adds an endpoint: at a place of its own, or in place of one that died.
    pub fn newcomer(&mut self, instead_of: Option<usize>) {
        let living = self.world.oracle.living();
        let habit = self.profile.habit(&mut self.world.rng);
        let node = match instead_of {
            Some(dead) => {
                let (place, endpoint) = (self.world.hosts[dead].place, self.world.hosts[dead].local.endpoint);
                self.world.oracle.cover("came back anew");
                let endpoint = if self.world.rng.chance(50) { endpoint } else { endpoint + 100 };
                self.world.add_host(place, endpoint, habit)
            }
            None => {
                let place = self.next_place;
                self.next_place += 1;
                for other in 0..place {
                    self.profile.connect(&mut self.world.network, place, other, &mut self.world.rng);
                }
                self.world.add_host(place, place as u32 % 2, habit)
            }
        };
        for other in living {
            for (node, there) in [(node, other), (other, node)] {
                let wait = self.world.rng.magnitude(1_000_000);
                self.world.schedule_after(wait, Event::Meet { node, there });
            }
        }
    }

    /// Runs everything up to the end of the programs.
    pub fn play(&mut self) -> Check {
        self.next_mishap();
        while self.steps_left > 0 {
            match self.world.advance()? {
                Some(Event::Step) => {
                    self.steps_left -= 1;
                    self.step()?;
                    let pause = self.world.rng.magnitude(self.profile.pause_ns);
                    self.world.schedule_after(pause, Event::Step);
                }
                Some(_) => {}
                None => return Err("nothing happens any more, not even a step".into()),
            }
            if self.world.now().0 >= self.mishap_due {
                self.begin_mishap();
                self.next_mishap();
            }
        }
        Ok(())
    }

    fn next_mishap(&mut self) {
        let wait = self.world.rng.magnitude(self.profile.mishap_ns);
        self.mishap_due = self.world.now().after(wait).0;
    }

    /// Draws a mishap and plans its beginning and its end.
    fn begin_mishap(&mut self) {
        let kinds = self.profile.kinds;
        let living = self.world.oracle.living();
        let node = self.world.rng.pick(&living);
        let other = self.world.rng.pick(&living);
        let longest = if self.world.rng.chance(10) { 5_000_000_000 } else { 50_000_000 };
        let lasting = self.world.rng.magnitude(longest);
        let (a, b) = (self.world.hosts[node].place, self.world.hosts[other].place);
        let rails = self.world.network.numbers(a, b);
        if let Some(reports) = &mut self.reports {
            reports.falsely(&mut self.world, (a, b), &rails);
        }
        if let Some(doubts) = &mut self.doubts {
            doubts.begin(&mut self.world, a, b);
        }
        if let Some(verdicts) = &mut self.verdicts {
            verdicts.begin(&mut self.world, node, other);
        }
        match self.world.rng.below(if self.profile.two_lanes { 6 } else { 5 }) {
            0 if kinds.stops => {
                self.world.plan(0, Mishap::Stop { node, ns: lasting / 2 });
            }
            1 if kinds.cuts && !rails.is_empty() => {
                let rail = self.world.rng.pick(&rails);
                self.cut(a, b, rail, lasting);
            }
            2 if kinds.blackouts && self.world.rng.chance(30) => {
                self.world.oracle.cover("all rails of a pair cut");
                rails.into_iter().for_each(|rail| self.cut(a, b, rail, lasting));
            }
            3 if kinds.holes && !rails.is_empty() => {
                let rail = self.world.rng.pick(&rails);
                let mtu = self.world.rng.between(100, 1600) as usize;
                self.world.plan(0, Mishap::Hole { from: a, to: b, rail, mtu });
                self.world.plan(lasting, Mishap::Hole { from: a, to: b, rail, mtu: 9000 });
            }
            4 if kinds.mtu_changes && !rails.is_empty() => {
                let rail = self.world.rng.pick(&rails);
                let mtu = self.world.rng.pick(&[1280, 1400, 1500, 9000]);
                self.world.plan(0, Mishap::Mtu { place: a, other: b, rail, mtu });
            }
            5 if !rails.is_empty() => {
                let rail = self.world.rng.pick(&rails);
                let both = self.world.rng.chance(50);
                let directions = if both { vec![(a, b), (b, a)] } else { vec![(a, b)] };
                for (from, to) in directions {
                    self.world.plan(0, Mishap::Deaf { from, to, rail, deaf: true });
                    self.world.plan(lasting, Mishap::Deaf { from, to, rail, deaf: false });
                }
            }
            _ => {}
        }
    }

    fn cut(&mut self, a: usize, b: usize, rail: u8, lasting: u64) {
        let both = self.world.rng.chance(70);
        let directions = if both { vec![(a, b), (b, a)] } else { vec![(a, b)] };
        for (from, to) in directions {
            self.world.plan(0, Mishap::Cable { from, to, rail, up: false });
            self.world.plan(lasting, Mishap::Cable { from, to, rail, up: true });
            if let Some(reports) = &mut self.reports {
                reports.cut(&mut self.world, (from, to), rail, lasting);
            }
            if self.profile.kinds.carrier && self.world.rng.chance(50) {
                // Netlink reports it about a second later (measured); sooner and later are tried, too.
                let notice = self.world.rng.magnitude(1_000_000_000);
                let carrier = |up| Mishap::Carrier { place: from, other: to, rail, up };
                self.world.plan(notice.min(lasting), carrier(false));
                self.world.plan(lasting.saturating_add(notice), carrier(true));
            }
        }
    }
}
