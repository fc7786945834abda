//! `tasuki topo simulate`

use std::{path::Path, process::ExitCode};
use tasuki_args::SimulateArgs;
use tasuki_bench::plot::{Panel, lines};
use tasuki_plan::{
    digits, network,
    simulate::{Options, Point, Replayed, Simulation, Traffic, replay, simulate, speed},
    write_file,
};
use tasuki_sim::fabric::{FlowControl, Room, Settings};
use tasuki_terminal::{Failure, print_json, progress_bar, table};
use tasuki_topo::{Limits, Network, Tables, route};

/// Simulates and prints.
pub fn run(arguments: &SimulateArgs) -> Result<ExitCode, Failure> {
    arguments.overwrite.check_file(arguments.plot.as_deref())?;
    arguments.check()?;
    let net = network(&arguments.network)?;
    let drops = arguments.ethernet || arguments.ignore_deadlock;
    let limits = if drops { Limits::lossy() } else { Limits::lossless(arguments.channels) };
    let tables = route(&net, arguments.engine, limits)?;
    let options = options(arguments);
    if arguments.speed {
        return run_speed(arguments, &options, &net, &tables);
    }
    if let Some(file) = &arguments.trace {
        return run_trace(arguments, &options, file, &net, &tables);
    }
    let bar = progress_bar(options.steps()).with_prefix("simulate");
    let simulation = simulate(&options, &net, &tables, || bar.inc(1));
    bar.finish_and_clear();
    let simulation = simulation?;
    if let Some(file) = &arguments.plot {
        write_file(file, &lines(&panels(&simulation))?)?;
    }
    if arguments.json {
        print_json(&simulation)?;
    } else {
        print(&simulation);
    }
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &SimulateArgs) -> Options {
    let traffic = match (arguments.barrier, arguments.window) {
        (Some(kind), _) => Traffic::Barriers { shape: kind.into(), lists: arguments.lists },
        (None, Some(window)) => Traffic::Closed { window, ack_bytes: arguments.ack_bytes },
        (None, None) => Traffic::Open(arguments.load.clone()),
    };
    Options {
        pattern: arguments.pattern(),
        traffic,
        bytes: arguments.bytes.clone(),
        engine: arguments.engine,
        settings: settings(arguments),
        host_ps: arguments.host_ns * 1000,
        packets: arguments.packets,
        seed: arguments.seed,
    }
}

/// The settings of switches and cables from the options.
fn settings(arguments: &SimulateArgs) -> Settings {
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

/// Measures the speed of the simulator and prints it.
fn run_speed(
    arguments: &SimulateArgs,
    options: &Options,
    net: &Network,
    tables: &Tables,
) -> Result<ExitCode, Failure> {
    let speeds = speed(options, net, tables)?;
    if arguments.json {
        print_json(&speeds)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = table(["load", "accepted", "packets", "million packets/s", "million packet-hops/s"]);
    for speed in &speeds {
        rows.add_row([
            format!("{} %", speed.load_percent),
            format!("{:.0} %", speed.accepted_share * 100.0),
            speed.packets.to_string(),
            digits(speed.packets_per_second / 1e6),
            digits(speed.packet_hops_per_second / 1e6),
        ]);
    }
    println!(
        "{}: the simulator on one core of this machine, per second of processor time\n\n{rows}",
        net.name()
    );
    Ok(ExitCode::SUCCESS)
}

/// Replays the messages of a program.
fn run_trace(
    arguments: &SimulateArgs,
    options: &Options,
    file: &Path,
    net: &Network,
    tables: &Tables,
) -> Result<ExitCode, Failure> {
    let replayed = replay(options, file, net, tables)?;
    if arguments.json {
        print_json(&replayed)?;
    } else {
        print_replayed(&replayed, arguments.bytes[0]);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a replay with packets of at most `bytes` bytes.
fn print_replayed(replayed: &Replayed, packet_bytes: u32) {
    println!(
        "{}: {} ranks on {} hosts, {} events; {}\n",
        replayed.network, replayed.ranks, replayed.hosts, replayed.events, replayed.engine
    );
    let mut rows = table(["", "mean", "most"]);
    let of_ranks = [
        ("computing, us", replayed.computing_mean_us, replayed.computing_most_us),
        ("waiting for messages, us", replayed.waiting_mean_us, replayed.waiting_most_us),
    ];
    for (what, mean, most) in of_ranks {
        rows.add_row([what.to_owned(), format!("{mean:.2}"), format!("{most:.2}")]);
    }
    println!("{rows}\n");
    println!(
        "{:.2} us in all; {} messages ({} of them inside a host) of {} MB, {} packets of at most {} bytes, \
         {} waits per packet",
        replayed.time_us,
        replayed.messages,
        replayed.local_messages,
        digits(replayed.message_bytes as f64 / 1e6),
        replayed.packets,
        packet_bytes,
        digits(replayed.packet_waits as f64 / replayed.packets.max(1) as f64)
    );
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

/// Plots rate and latency over the load, or over the length of packets if there is no load.
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
