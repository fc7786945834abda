//! Processor time to make and to prove tables as the number of hosts grows; one thread. It also measures the
//! search of a graph for 64 hosts.
//!
//! `cargo run --release -p tasuki-topo --example scale -- [MOST_HOSTS [SECONDS]]`: networks of 64, 256, ...
//! up to MOST_HOSTS hosts (65,536). Four times the hosts take at least ten times as long, so an engine that
//! took a tenth of SECONDS (60) is left out on the larger networks of that shape.

use std::error::Error;
use std::time::Instant;
use tasuki_topo::search::{DEFAULT_EFFORT, order_degree};
use tasuki_topo::shapes::{self, Fit, PairRing};
use tasuki_topo::{Claims, Engine, Limits, Network, PathRule, RouteError, prove, route};

const SPREAD: PathRule = PathRule::SpreadPerHost;
/// Virtual channels allowed, as in InfiniBand; an engine that asks for more is given what it asks for.
const VCS: u8 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let most: u32 = words.next().map_or(Ok(65_536), |word| word.parse())?;
    let limit: f64 = words.next().map_or(Ok(60.0), |word| word.parse())?;
    for degree in [3, 4, 8] {
        let begin = Clock::start();
        let found = order_degree(64, degree, 1, DEFAULT_EFFORT)?;
        println!(
            "search, 64 hosts with {degree} cables each: diameter {}, average {:.3}, {:.3} s",
            found.diameter,
            found.average,
            begin.seconds()
        );
    }
    println!(
        "{:<28} {:>7} {:>8}  {:<36} {:>9} {:>9} {:>8}",
        "network", "hosts", "switches", "engine", "make s", "prove s", "channels"
    );
    let shapes: [Shape; 3] = [torus, fat_tree, random];
    for shape in shapes {
        let engines = [
            Engine::Minimal(SPREAD),
            Engine::DimensionOrder,
            Engine::UpDown,
            Engine::Structured(SPREAD),
            Engine::DescendingLayers(SPREAD),
            Engine::Lash,
            Engine::Dfsssp,
            Engine::AnyChannels,
        ];
        let mut slow = Vec::new();
        for power in [6, 8, 10, 12, 14, 16].into_iter().filter(|power| 1 << power <= most) {
            let net = shape(power)?;
            for engine in engines {
                if slow.contains(&engine) || (engine == Engine::DimensionOrder && net.grid().is_none()) {
                    continue;
                }
                let seconds = measure(&net, engine)?;
                if seconds > limit / 10.0 {
                    slow.push(engine);
                }
            }
        }
    }
    Ok(())
}

type Shape = fn(u32) -> Result<Network, Box<dyn Error>>;

/// 16 hosts a switch; 64 hosts: 2x2, 65,536: 64x64.
fn torus(power: u32) -> Result<Network, Box<dyn Error>> {
    let side = 1 << ((power - 4) / 2);
    Ok(shapes::torus(&[side, side], PairRing::OneCable, &Fit::switches(16))?)
}

/// Non-blocking trees of two levels up to 1,024 hosts, of three beyond.
fn fat_tree(power: u32) -> Result<Network, Box<dyn Error>> {
    let (levels, width) = if power <= 10 { (1, 1 << (power / 2)) } else { (2, 1 << power.div_ceil(3)) };
    let hosts = (1u32 << power) / u32::pow(width, levels);
    Ok(shapes::fat_tree(width, width, levels, &Fit::switches(hosts))?)
}

/// 16 hosts and 8 cables to others at every switch.
fn random(power: u32) -> Result<Network, Box<dyn Error>> {
    let switches = 1u32 << (power - 4);
    Ok(shapes::random_regular(switches, 8.min(switches - 1), 1, &Fit::switches(16))?)
}

/// Makes tables and proves them; prints a line and returns the seconds taken.
fn measure(net: &Network, engine: Engine) -> Result<f64, Box<dyn Error>> {
    let begin = Clock::start();
    let (tables, vcs) = match route(net, engine, Limits::lossless(VCS)) {
        Err(RouteError::NeedsChannels { need, .. }) => {
            let vcs = u8::try_from(need)?;
            (route(net, engine, Limits::lossless(vcs))?, vcs)
        }
        tables => (tables?, VCS),
    };
    let made = begin.seconds();
    let claims = Claims::lossless(vcs);
    let report = prove(net, &tables, if engine.is_minimal() { claims.minimal() } else { claims })?;
    let all = begin.seconds();
    println!(
        "{:<28} {:>7} {:>8}  {:<36} {made:>9.3} {:>9.3} {:>8}",
        short(net),
        net.hosts().len(),
        net.switches(),
        engine.name(),
        all - made,
        report.vcs
    );
    Ok(all)
}

/// Processor time of this process, so that what else the machine does makes no difference; where the kernel
/// does not tell, wall-clock time.
struct Clock(Instant, Option<u64>);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), on_processor_ns())
    }
    fn seconds(&self) -> f64 {
        let spent = self.1.zip(on_processor_ns()).map(|(begin, now)| (now - begin) as f64 / 1e9);
        spent.unwrap_or_else(|| self.0.elapsed().as_secs_f64())
    }
}

/// Nanoseconds, as /proc/PID/schedstat begins with.
fn on_processor_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

fn short(net: &Network) -> String {
    net.name().chars().take(28).collect()
}
