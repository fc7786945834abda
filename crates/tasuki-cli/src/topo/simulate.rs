//! `tasuki topo simulate`

use super::{network::network, range::digits};
use crate::{
    args::{Barriers, SimulateArgs, Simulated},
    failure::Failure,
    terminal::{print_json, progress_bar, table},
};
use serde::Serialize;
use std::{fs, process::ExitCode};
use tasuki_bench::plot::{Panel, lines};
use tasuki_sim::{
    Rng,
    fabric::{
        Counts, Fabric, FlowControl, Room, Settings, US,
        loads::{Barrier, BarrierShape, HostTimes, Open, Pattern, Push, PushTimes, Targets},
    },
};
use tasuki_topo::{Limits, Network, Tables, bounds, route};

/// What was simulated.
#[derive(Serialize)]
struct Simulation {
    network: String,
    hosts: usize,
    engine: &'static str,
    /// Virtual channels in use.
    channels: u8,
    seed: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<Point>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    barriers: Vec<BarrierTimes>,
}

/// One run of a pattern.
#[derive(Serialize)]
pub struct Point {
    bytes: u32,
    load_percent: Option<u16>,
    senders: usize,
    offered_bits_per_second: Option<f64>,
    /// Per sender: what arrived, or was acknowledged.
    got_bits_per_second: f64,
    latency_mean_us: Option<f64>,
    latency_p99_us: Option<f64>,
    inside_mean_us: Option<f64>,
    delivered: u64,
    dropped: u64,
    /// Times that a packet found its next cable busy or the buffer behind it full.
    waits: u64,
}

impl Point {
    /// What arrived, over what was offered.
    pub fn accepted(&self) -> f64 {
        self.offered_bits_per_second.map_or(1.0, |offered| self.got_bits_per_second / offered)
    }
}

/// Barriers of one kind.
#[derive(Serialize)]
struct BarrierTimes {
    bytes: u32,
    lists: u32,
    mean_us: f64,
    least_us: f64,
    most_us: f64,
    /// Along the chain of messages that determines the time.
    host_us: f64,
    injection_us: f64,
    hops_us: f64,
    waiting_us: f64,
}

/// Simulates and prints.
pub fn run(arguments: &SimulateArgs) -> Result<ExitCode, Failure> {
    let net = network(&arguments.network)?;
    let drops = arguments.ethernet || arguments.ignore_deadlock;
    let limits = if drops { Limits::lossy() } else { Limits::lossless(arguments.channels) };
    let tables = route(&net, arguments.engine, limits)?;
    if arguments.speed {
        return super::speed::run(arguments, &net, &tables);
    }
    if let Some(file) = &arguments.trace {
        return super::replay::run(arguments, file, &net, &tables);
    }
    let mut simulation = Simulation {
        network: net.name().to_owned(),
        hosts: net.hosts().len(),
        engine: arguments.engine.name(),
        channels: tables.vcs(),
        seed: arguments.seed,
        points: Vec::new(),
        barriers: Vec::new(),
    };
    let loads =
        if arguments.window.is_some() || arguments.barrier.is_some() { 1 } else { arguments.load.len() };
    let bar = progress_bar((arguments.bytes.len() * loads) as u64).with_prefix("simulate");
    let result = simulate(arguments, &net, &tables, &mut simulation, || bar.inc(1));
    bar.finish_and_clear();
    result?;
    if let Some(file) = &arguments.plot {
        let fail = |error| Failure::new(format!("cannot write {}: {error}", file.display()));
        fs::write(file, lines(&panels(&simulation))?).map_err(fail)?;
    }
    if arguments.json {
        print_json(&simulation)?;
    } else {
        print(&simulation);
    }
    Ok(ExitCode::SUCCESS)
}

fn simulate(
    arguments: &SimulateArgs,
    net: &Network,
    tables: &Tables,
    simulation: &mut Simulation,
    step: impl Fn(),
) -> Result<(), Failure> {
    for &bytes in &arguments.bytes {
        if let Some(kind) = arguments.barrier {
            simulation.barriers.push(barriers(arguments, net, tables, kind, bytes)?);
            step();
        } else if let Some(window) = arguments.window {
            simulation.points.push(closed(arguments, net, tables, window, bytes)?);
            step();
        } else {
            for &load in &arguments.load {
                simulation.points.push(open(arguments, net, tables, load, bytes)?.0);
                step();
            }
        }
    }
    Ok(())
}

/// What the options say of switches and cables.
pub fn settings(arguments: &SimulateArgs) -> Settings {
    let base = if arguments.ethernet { Settings::ethernet() } else { Settings::lossless() };
    let flow = arguments.go.map_or(FlowControl::Credits, |go| FlowControl::GoAndStop { go });
    let room = match arguments.ethernet {
        true => Room::DropTail { queue: arguments.queue },
        false => Room::Lossless { buffer: arguments.buffer, flow },
    };
    let largest = arguments.bytes.iter().copied().max().unwrap_or(0).max(arguments.ack_bytes);
    let switch_ps = arguments.switch_ns.map_or(base.switch_ps, |ns| ns * 1000);
    Settings { room, largest, switch_ps, cable_ps: arguments.cable_ns * 1000, ..base }
}

fn targets(arguments: &SimulateArgs, net: &Network) -> Result<Vec<Targets>, Failure> {
    let pattern = match arguments.pattern {
        Simulated::Uniform => Pattern::Uniform,
        Simulated::HotSpot => Pattern::HotSpot(arguments.hot),
        Simulated::AllToAll => Pattern::AllToAll,
        Simulated::Neighbour => Pattern::Neighbour,
        Simulated::BitReversal => Pattern::Switches(bounds::Pattern::BitReversal),
        Simulated::MatrixTranspose => Pattern::Switches(bounds::Pattern::MatrixTranspose),
        Simulated::Butterfly => Pattern::Switches(bounds::Pattern::Butterfly),
        Simulated::Complement => Pattern::Switches(bounds::Pattern::Complement),
    };
    Ok(pattern.targets(net)?)
}

/// What one packet takes on the first cable of the first host that sends, ps.
fn takes(fabric: &Fabric, targets: &[Targets], bytes: u32) -> u64 {
    let sender = targets.iter().position(|targets| *targets != Targets::None).unwrap_or(0) as u32;
    let to = targets.get(sender as usize).copied().and_then(|mut targets| targets.next(&mut Rng::new(0)));
    fabric.injection(sender, to.unwrap_or(0), bytes).max(1)
}

/// Open loop at one load; also the fabric's counts.
pub fn open(
    arguments: &SimulateArgs,
    net: &Network,
    tables: &Tables,
    load: u16,
    bytes: u32,
) -> Result<(Point, Counts), Failure> {
    let mut fabric = Fabric::new(net, tables, settings(arguments))?;
    let targets = targets(arguments, net)?;
    let takes = takes(&fabric, &targets, bytes);
    let (from, until) = (takes * arguments.packets / 10, takes * arguments.packets);
    let mean = takes * 100 / u64::from(load.max(1));
    let mut open = Open::new(targets, bytes, mean, from, arguments.seed);
    fabric.run(&mut open, until)?;
    let seconds = (until - from) as f64 * 1e-12;
    let senders = open.senders();
    let counts = fabric.counts();
    let us = |ps: f64| Some(ps / 1e6);
    let point = Point {
        bytes,
        load_percent: Some(load),
        senders,
        offered_bits_per_second: Some(f64::from(bytes) * 8e12 / mean as f64),
        got_bits_per_second: open.arrived_bytes as f64 * 8.0 / seconds / senders.max(1) as f64,
        latency_mean_us: us(open.latencies.mean()),
        latency_p99_us: us(open.latencies.quantile(0.99) as f64),
        inside_mean_us: us(open.transit.mean()),
        delivered: counts.delivered,
        dropped: counts.dropped,
        waits: counts.waits,
    };
    Ok((point, counts))
}

/// Closed loop.
fn closed(
    arguments: &SimulateArgs,
    net: &Network,
    tables: &Tables,
    window: u32,
    bytes: u32,
) -> Result<Point, Failure> {
    let mut fabric = Fabric::new(net, tables, settings(arguments))?;
    let targets = targets(arguments, net)?;
    let takes = takes(&fabric, &targets, bytes).max(US);
    let (from, until) = (takes * arguments.packets / 10, takes * arguments.packets);
    let host = arguments.host_ns * 1000;
    let times = PushTimes { send: host, turn: host, done: 0, jitter_percent: 0 };
    let lengths = (bytes, arguments.ack_bytes);
    let mut push = Push::new(targets, lengths, window, times, (from, until), arguments.seed);
    fabric.run(&mut push, until)?;
    let rates = push.rates();
    let counts = fabric.counts();
    Ok(Point {
        bytes,
        load_percent: None,
        senders: rates.len(),
        offered_bits_per_second: None,
        got_bits_per_second: rates.iter().sum::<f64>() / rates.len().max(1) as f64 * f64::from(bytes) * 8.0,
        latency_mean_us: None,
        latency_p99_us: None,
        inside_mean_us: None,
        delivered: counts.delivered,
        dropped: counts.dropped,
        waits: counts.waits,
    })
}

/// Barriers over random orders.
fn barriers(
    arguments: &SimulateArgs,
    net: &Network,
    tables: &Tables,
    kind: Barriers,
    bytes: u32,
) -> Result<BarrierTimes, Failure> {
    /// Rounds per order, and how many of them come before the time counts.
    const ROUNDS: [usize; 2] = [6, 2];
    let shape = match kind {
        Barriers::Multicast => BarrierShape::Multicast,
        Barriers::Dissemination => BarrierShape::Dissemination,
        Barriers::Tree => BarrierShape::Tree(2),
    };
    let host = arguments.host_ns * 1000;
    let (mut all, mut parts, mut rounds) = (Vec::new(), [0u64; 4], 0);
    for list in 0..u64::from(arguments.lists) {
        let mut rng = Rng::new(tasuki_sim::mix(arguments.seed) ^ list);
        let mut order: Vec<u32> = (0..net.hosts().len() as u32).collect();
        (1..order.len()).rev().for_each(|at| order.swap(at, rng.index(at + 1)));
        let mut fabric = Fabric::new(net, tables, settings(arguments))?;
        let times = HostTimes { send: host, receive: host };
        let mut barrier = Barrier::new(shape, order, bytes, times, ROUNDS[0]);
        fabric.run(&mut barrier, u64::MAX)?;
        if fabric.counts().dropped > 0 {
            return Err(Failure::new("a port dropped a message of the barrier; give it a larger --queue"));
        }
        all.push(barrier.mean(ROUNDS[1]) / 1e6);
        let (share, count) = barrier.shares(ROUNDS[1]);
        for (sum, part) in parts.iter_mut().zip([share.host, share.inject, share.hops, share.wait]) {
            *sum += part;
        }
        rounds += count;
    }
    let [host_us, injection_us, hops_us, waiting_us] =
        parts.map(|sum| sum as f64 / rounds.max(1) as f64 / 1e6);
    Ok(BarrierTimes {
        bytes,
        lists: arguments.lists,
        mean_us: all.iter().sum::<f64>() / all.len().max(1) as f64,
        least_us: all.iter().copied().fold(f64::INFINITY, f64::min),
        most_us: all.iter().copied().fold(0.0, f64::max),
        host_us,
        injection_us,
        hops_us,
        waiting_us,
    })
}

fn print(simulation: &Simulation) {
    println!(
        "{}: {} hosts; {}, {} virtual channel{} in use\n",
        simulation.network,
        simulation.hosts,
        simulation.engine,
        simulation.channels,
        if simulation.channels == 1 { "" } else { "s" }
    );
    if !simulation.barriers.is_empty() {
        let mut rows = table(["bytes", "us, mean", "least", "most", "host", "injection", "hops", "waiting"]);
        for row in &simulation.barriers {
            let figures = [row.mean_us, row.least_us, row.most_us, row.host_us, row.injection_us];
            let figures =
                figures.into_iter().chain([row.hops_us, row.waiting_us]).map(|us| format!("{us:.2}"));
            rows.add_row(std::iter::once(row.bytes.to_string()).chain(figures));
        }
        println!("{rows}");
        return;
    }
    let mut rows = table([
        "bytes",
        "load",
        "offered",
        "got",
        "us, mean",
        "p99",
        "inside",
        "dropped",
        "waits per packet",
    ]);
    for point in &simulation.points {
        let us = |value: Option<f64>| value.map_or_else(String::new, |us| format!("{us:.2}"));
        let mega = |rate: f64| digits(rate / 1e6);
        let sent = (point.delivered + point.dropped).max(1) as f64;
        rows.add_row([
            point.bytes.to_string(),
            point.load_percent.map_or_else(String::new, |load| format!("{load} %")),
            point.offered_bits_per_second.map_or_else(String::new, mega),
            mega(point.got_bits_per_second),
            us(point.latency_mean_us),
            us(point.latency_p99_us),
            us(point.inside_mean_us),
            format!("{} %", digits(point.dropped as f64 * 100.0 / sent)),
            format!("{:.2}", point.waits as f64 / sent),
        ]);
    }
    println!("{rows}");
}

/// Rate and latency over load; over the length of packets where there is no load.
fn panels(simulation: &Simulation) -> Vec<Panel> {
    let loads = simulation.points.iter().any(|point| point.load_percent.is_some());
    let mut lengths: Vec<u32> = simulation.points.iter().map(|point| point.bytes).collect();
    lengths.dedup();
    let panel = |title: &str, y: &str, figure: &dyn Fn(&Point) -> Option<f64>| {
        let x = |point: &Point| point.load_percent.map_or(f64::from(point.bytes), f64::from);
        let curve = |of: Option<u32>| {
            let points = simulation.points.iter().filter(|point| of.is_none_or(|bytes| point.bytes == bytes));
            points.filter_map(|point| Some((x(point), figure(point)?))).collect()
        };
        let curves = match loads {
            true => lengths.iter().map(|&bytes| (format!("{bytes} bytes"), curve(Some(bytes)))).collect(),
            false => vec![(simulation.engine.to_owned(), curve(None))],
        };
        let x = if loads { "offered, percent of the cable's rate" } else { "bytes" };
        Panel { title: format!("{}: {title}", simulation.network), x: x.into(), y: y.into(), curves }
    };
    let mut panels = vec![panel("rate", "Mbit/s per sender", &|point| Some(point.got_bits_per_second / 1e6))];
    if loads {
        panels.push(panel("latency inside", "us", &|point| point.inside_mean_us));
    }
    if !simulation.barriers.is_empty() {
        let points = simulation.barriers.iter().map(|row| (f64::from(row.bytes), row.mean_us)).collect();
        panels = vec![Panel {
            title: format!("{}: barrier", simulation.network),
            x: "bytes".into(),
            y: "us".into(),
            curves: vec![("barrier".into(), points)],
        }];
    }
    panels
}
