//! Prints what the fabric does, as one number per network: a hash of every arrival (source, destination,
//! times of sending and arrival) and every count, over many combinations of settings and loads. A change that
//! is meant to change only the speed prints the same lines.
//!
//! `--speed LOAD` instead runs the case whose speed the documentation states (4x4 torus, 4 hosts per switch,
//! 17 flits of 8 bytes, uniform) at LOAD percent and prints the packets per second of real time; for
//! profilers.

use std::time::Instant;
use tasuki_sim::fabric::loads::{Barrier, BarrierShape, HostTimes, Open, Pattern, Push, PushTimes};
use tasuki_sim::fabric::{
    Arbiter, Crossbar, Fabric, FabricError, FlowControl, Load, Packet, Room, Settings, Switching,
};
use tasuki_sim::mix;
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Engine, Limits, Network, PathRule, Tables, route};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const G: u64 = 1_000_000_000;

/// A load, and the hash of all its upcalls.
struct Heard<L> {
    load: L,
    hash: u64,
}

impl<L> Heard<L> {
    fn add(&mut self, kind: u64, at: u64, packet: &Packet) {
        let parts = [
            kind,
            at,
            packet.from.into(),
            packet.to.into(),
            packet.bytes.into(),
            packet.tag,
            packet.born,
            packet.left,
        ];
        self.hash = parts.into_iter().fold(self.hash, |hash, part| mix(hash ^ part));
    }
}

impl<L: Load> Load for Heard<L> {
    fn begin(&mut self, fabric: &mut Fabric) {
        self.load.begin(fabric);
    }
    fn timer(&mut self, fabric: &mut Fabric, host: u32, what: u32) {
        self.load.timer(fabric, host, what);
    }
    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet) {
        self.add(1, fabric.now(), &packet);
        self.load.arrived(fabric, packet);
    }
    fn left(&mut self, fabric: &mut Fabric, packet: Packet, end: u64) {
        self.add(2, end, &packet);
        self.load.left(fabric, packet, end);
    }
    fn dropped(&mut self, fabric: &mut Fabric, packet: Packet) {
        self.add(3, fabric.now(), &packet);
        self.load.dropped(fabric, packet);
    }
    fn done(&self) -> bool {
        self.load.done()
    }
}

fn networks() -> Outcome<Vec<Network>> {
    let switches = |hosts| Fit::switches(hosts).rates(4 * G, 4 * G);
    Ok(vec![
        shapes::torus(&[4, 4], PairRing::OneCable, &switches(4))?,
        shapes::mesh(&[4, 4], &switches(2))?,
        shapes::ring(6, &switches(3).rates(4 * G, G))?,
        shapes::torus(&[3, 3], PairRing::OneCable, &Fit::relays())?,
        shapes::myrinet_clos(4, ClosHosts::Both, &switches(4))?,
        shapes::irregular(12, 20, 6, 5, &switches(2))?,
    ])
}

/// All combinations of flow control, crossbar, arbiter and switching, and Ethernet.
fn settings() -> Vec<Settings> {
    let base = Settings { largest: 1024, ..Settings::lossless() };
    let flows = [
        Room::Lossless { buffer: 4096, flow: FlowControl::Credits },
        Room::Lossless { buffer: 1024, flow: FlowControl::Credits },
        Room::Lossless { buffer: 4096, flow: FlowControl::GoAndStop { go: 1024 } },
    ];
    let mut all = vec![Settings { largest: 1024, ..Settings::ethernet() }];
    all.push(Settings { room: Room::DropTail { queue: 4096 }, ..base });
    for room in flows {
        for crossbar in [Crossbar::PerChannel, Crossbar::PerPort] {
            for arbiter in [Arbiter::Oldest, Arbiter::RoundRobin] {
                for switching in [Switching::CutThrough, Switching::StoreAndForward] {
                    all.push(Settings { room, crossbar, arbiter, switching, ..base });
                }
            }
        }
    }
    all
}

/// Runs one load and hashes all of it, deadlocks too.
fn play(net: &Network, tables: &Tables, settings: Settings, load: impl Load) -> Outcome<u64> {
    let mut fabric = Fabric::new(net, tables, settings)?;
    let mut heard = Heard { load, hash: 0 };
    match fabric.run(&mut heard, 100_000_000) {
        Ok(()) => {}
        Err(FabricError::Deadlock(deadlock)) => heard.hash = mix(heard.hash ^ deadlock.at_ps),
        Err(error) => return Err(error.into()),
    }
    let counts = fabric.counts();
    let parts = [counts.injected, counts.delivered, counts.dropped, counts.hops, counts.bytes, counts.waits];
    let passed = fabric.passed();
    Ok(parts.into_iter().chain([fabric.now()]).chain(passed).fold(heard.hash, |hash, part| mix(hash ^ part)))
}

fn hash(net: &Network) -> Outcome<(usize, u64)> {
    let engines = [
        Engine::Minimal(PathRule::SpreadPerHost),
        Engine::Minimal(PathRule::LowPortFirst),
        Engine::UpDown,
        Engine::Structured(PathRule::LowPortFirst),
    ];
    let (mut sum, mut cases) = (0, 0);
    for settings in settings() {
        for engine in engines {
            let limits = if settings.drops() { Limits::lossy() } else { Limits::lossless(16) };
            let tables = route(net, engine, limits)?;
            for pattern in [Pattern::Uniform, Pattern::HotSpot(20), Pattern::AllToAll] {
                for (bytes, mean) in [(136, 300_000), (136, 600_000), (1024, 5_000_000)] {
                    let open = Open::new(pattern.targets(net)?, bytes, mean, 0, cases);
                    sum = mix(sum ^ play(net, &tables, settings, open)?);
                    cases += 1;
                }
            }
            let times = PushTimes { send: 3_000_000, turn: 1_000_000, done: 2_000_000, jitter_percent: 10 };
            let push =
                Push::new(Pattern::Neighbour.targets(net)?, (512, 16), 2, times, (0, 90_000_000), cases);
            sum = mix(sum ^ play(net, &tables, settings, push)?);
            let shapes = [BarrierShape::Multicast, BarrierShape::Dissemination, BarrierShape::Tree(2)];
            for shape in shapes {
                let times = HostTimes { send: 1_000_000, receive: 1_500_000 };
                let barrier = Barrier::new(shape, (0..net.hosts().len() as u32).collect(), 136, times, 5);
                sum = mix(sum ^ play(net, &tables, settings, barrier)?);
                cases += 1;
            }
        }
    }
    Ok((cases as usize, sum))
}

/// Simulated packets per second of real time.
fn speed(load: u64) -> Outcome<()> {
    let bps = G;
    let net = shapes::torus(&[4, 4], PairRing::OneCable, &Fit::switches(4).rates(bps, bps))?;
    let tables = route(&net, Engine::Minimal(PathRule::SpreadPerHost), Limits::lossless(16))?;
    let settings = Settings { largest: 136, ..Settings::lossless() };
    let mut fabric = Fabric::new(&net, &tables, settings)?;
    let takes = fabric.injection(0, 1, 136);
    let mut open = Open::new(Pattern::Uniform.targets(&net)?, 136, takes * 100 / load.max(1), 0, 1);
    let begin = Instant::now();
    fabric.run(&mut open, takes * 20_000)?;
    let (counts, seconds) = (fabric.counts(), begin.elapsed().as_secs_f64());
    let million = |count: u64| count as f64 / seconds / 1e6;
    println!(
        "{load} %: {} packets, {} events, {:.2} million packets/s, {:.2} million packet-hops/s",
        counts.delivered,
        fabric.events(),
        million(counts.delivered),
        million(counts.hops)
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, load] = &arguments[..]
        && flag == "--speed"
    {
        return speed(load.parse()?);
    }
    for net in networks()? {
        let (cases, hash) = hash(&net)?;
        println!("{}: {cases} cases, {hash:016x}", net.name());
    }
    Ok(())
}
