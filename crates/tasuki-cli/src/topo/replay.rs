//! `tasuki topo simulate --trace`: the messages of a program in a network.

use super::{range::digits, simulate::settings};
use crate::{
    args::SimulateArgs,
    failure::Failure,
    terminal::{print_json, table},
};
use serde::Serialize;
use std::{path::Path, process::ExitCode};
use tasuki_sim::fabric::{
    Fabric,
    trace::{Replay, Trace, TraceTimes},
};
use tasuki_topo::{Network, Tables};

/// What a replay took. Shares of ranks are means, but for those that say most.
#[derive(Serialize)]
struct Replayed {
    network: String,
    hosts: usize,
    engine: &'static str,
    ranks: usize,
    events: usize,
    /// Until the last rank was done.
    time_us: f64,
    computing_mean_us: f64,
    computing_most_us: f64,
    waiting_mean_us: f64,
    waiting_most_us: f64,
    /// Those of collective operations included.
    messages: u64,
    message_bytes: u64,
    /// Messages between ranks of one host.
    local_messages: u64,
    packets: u64,
    /// Times that a packet found its next cable busy or the buffer behind it full.
    packet_waits: u64,
}

/// Replays and prints.
pub fn run(
    arguments: &SimulateArgs,
    file: &Path,
    net: &Network,
    tables: &Tables,
) -> Result<ExitCode, Failure> {
    let name = file.display();
    let &[packet_bytes] = arguments.bytes.as_slice() else {
        return Err(Failure::new("--trace takes one length of packets; give --bytes one number"));
    };
    let text = tasuki_cluster::read_text(file)
        .map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    let trace = Trace::parse(&text).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    let host = arguments.host_ns * 1000;
    let times = TraceTimes { send: host, receive: host, packet_bytes };
    let mut fabric = Fabric::new(net, tables, settings(arguments))?;
    let mut replay = Replay::new(&trace, fabric.hosts(), times);
    fabric.run(&mut replay, u64::MAX)?;
    let counts = fabric.counts();
    let result = replay.finish().map_err(|error| Failure::new(format!("{name}: {error}")))?;
    let us = |ps: u64| ps as f64 / 1e6;
    let mean = |list: &[u64]| us(list.iter().sum()) / list.len().max(1) as f64;
    let most = |list: &[u64]| us(list.iter().copied().max().unwrap_or(0));
    let replayed = Replayed {
        network: net.name().to_owned(),
        hosts: net.hosts().len(),
        engine: arguments.engine.name(),
        ranks: trace.ranks(),
        events: trace.events(),
        time_us: us(result.end),
        computing_mean_us: mean(&result.computing),
        computing_most_us: most(&result.computing),
        waiting_mean_us: mean(&result.waiting),
        waiting_most_us: most(&result.waiting),
        messages: result.messages,
        message_bytes: result.bytes,
        local_messages: result.local,
        packets: counts.delivered,
        packet_waits: counts.waits,
    };
    if arguments.json {
        print_json(&replayed)?;
    } else {
        print(&replayed, arguments);
    }
    Ok(ExitCode::SUCCESS)
}

fn print(replayed: &Replayed, arguments: &SimulateArgs) {
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
        "{:.2} us in all; {} messages ({} of them inside a host) of {} MB, {} packets of at most {} bytes, {} waits per packet",
        replayed.time_us,
        replayed.messages,
        replayed.local_messages,
        digits(replayed.message_bytes as f64 / 1e6),
        replayed.packets,
        arguments.bytes[0],
        digits(replayed.packet_waits as f64 / replayed.packets.max(1) as f64)
    );
}
