//! "Building a large PC cluster" (Ishikawa, Sumimoto, Harada): the networks of SCore III, computed and
//! simulated, and what its message layer gave over Ethernet, in labs.

mod claims;

pub use claims::claims;

use crate::cell::Findings;
use crate::lab::{Stage, number, record, records};
use serde_json::Value;
use tasuki_sim::transport::{Exchange, Failure, Score3};
use tasuki_topo::NetworkError;
use tasuki_topo::measure::{Count, bisection};
use thiserror::Error;

/// Effort of the search for the worst halves of a network, which takes a moment.
const EFFORT: u64 = 10_000_000;
/// Length of the messages that endpoints exchange, bytes.
const MESSAGE: u64 = 64 << 10;

/// Why the networks cannot be computed or simulated.
#[derive(Debug, Error)]
pub enum ScoreError {
    /// A network cannot be built.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A simulation failed.
    #[error("{0}")]
    Simulation(String),
}

/// Number of times that [`run`] calls `progress`.
pub const STAGES: u64 = 6;

/// Computes the networks' bisections, and simulates endpoints on them. `progress` is called with the name of
/// each stage as it begins.
pub fn run(quick: bool, mut progress: impl FnMut(&str)) -> Result<Findings, ScoreError> {
    let mut found = Findings::default();
    inputs(&mut found);
    for (network, item, cell, unit) in [
        (Score3::Myrinet, "3.1", "Myrinet bisection, both directions", 1e12),
        (Score3::Ethernet { planes: 1 }, "3.2", "Ethernet bisection, both directions", 1e9),
    ] {
        progress("bisection");
        let cut = bisection(&network.network()?, Count::BitsPerSecond, EFFORT);
        let both = |one_way: u64| 2.0 * one_way as f64 / unit;
        let finding = found.put(item, cell, both(cut.upper));
        finding.range = Some([both(cut.lower), both(cut.upper)]);
        finding.note = "halves found by search; no half can have less than the range's lower end".into();
    }
    for exchange in exchanges(quick) {
        progress("endpoints on the network");
        found.notes.push(exchanged(exchange)?);
    }
    Ok(found)
}

/// What endpoints exchange. All of the machine's in the long run.
fn exchanges(quick: bool) -> Vec<Exchange> {
    let exchange =
        |network, endpoints, messages| Exchange { network, endpoints, len: MESSAGE, messages, seed: 1 };
    let (myrinet, one, two) =
        (Score3::Myrinet, Score3::Ethernet { planes: 1 }, Score3::Ethernet { planes: 2 });
    let mut all = vec![exchange(one, 64, 8), exchange(two, 512, 1), exchange(myrinet, 512, 2)];
    if !quick {
        all.push(exchange(one, 512, 8));
    }
    all
}

fn exchanged(exchange: Exchange) -> Result<String, ScoreError> {
    let failed = |failure: Failure| ScoreError::Simulation(failure.complaint);
    let carried = exchange.run().map_err(failed)?;
    let name = match exchange.network {
        Score3::Myrinet => "Myrinet".to_owned(),
        Score3::Ethernet { planes: 1 } => "Ethernet, one plane".to_owned(),
        Score3::Ethernet { planes } => format!("Ethernet, {planes} planes"),
    };
    Ok(format!(
        "Simulated: {} endpoints with the real message and packet layers on {name}, {} messages of 64 KiB \
         each with the one half the machine away: barrier {:.1} us, then {:.1} Gbit/s of payload, {:.0} % \
         of what there is, {} packets dropped, {} bytes sent again.",
        exchange.endpoints,
        exchange.messages,
        carried.barrier_us,
        carried.payload_bps / 1e9,
        100.0 * carried.share,
        carried.dropped,
        carried.resent_bytes
    ))
}

/// The figures that went into the networks.
fn inputs(found: &mut Findings) {
    for (item, cell, value) in [
        ("T1", "hosts", 512.0),
        ("3.1", "Myrinet link, one direction", 2.0),
        ("3.1", "ports of a crossbar", 16.0),
        ("3.2", "planes", 2.0),
        ("3.2", "hosts of a switch", 32.0),
        ("3.2", "switches with hosts", 16.0),
        ("3.2", "link of a host", 100.0),
        ("3.2", "link between switches", 1.0),
        ("3.2", "full bisection", 256.0 * 0.1 * 2.0),
        ("3.3", "racks with hosts", 512.0 / 32.0),
    ] {
        found.put(item, cell, value);
    }
    found.notes.push(
        "Both bisections count both directions: 256 links of 2 Gbit/s, and 8 of 1 Gbit/s, each twice. \
         The paper says so of Myrinet; its 16 Gbit/s of Ethernet may also be both planes in one direction."
            .into(),
    );
}

/// The measurements.
pub fn stages(quick: bool) -> Vec<Stage> {
    let repetitions = if quick { 1 } else { 6 };
    let messages = format!(
        "bench mpi --shape pair:1 --shape pair:2 --rate 100M --mpi openmpi-4.1 --pair pingpong:4 --pair \
         stream:4M --all barrier --repetitions {repetitions}"
    );
    let starts = format!(
        "bench startup --shape planes:64x1 --shape planes:64x2 -n 16,64 --mpi openmpi-4.1 --transport tasuki \
         --repetitions {}",
        if quick { 1 } else { 6 }
    );
    let mut stages = vec![
        Stage::new("messages", if quick { 20 } else { 60 }, &messages),
        Stage::new("starts", if quick { 30 } else { 150 }, &starts),
    ];
    if !quick {
        let linpack = "bench nas --shape star:4 --rate 1G --mpi openmpi-4.1 --kernel linpack --class W \
                       --transport tasuki --repetitions 3";
        stages.push(Stage::new("linpack", 300, linpack));
    }
    stages
}

/// What the result of a measurement says about the claims.
pub fn read(stage: &str, json: &Value) -> Findings {
    let mut found = Findings::default();
    match stage {
        "messages" => measured_messages(json, &mut found),
        "starts" => measured_starts(json, &mut found),
        "linpack" => {
            let of_four = record(records(json), &[("hosts", "4")]);
            if let Some(share) = of_four.and_then(|record| number(record, &["of_peak"])) {
                found.put("6.4", "Linpack, share of peak", 100.0 * share).note = SHARED.into();
            }
        }
        _ => {}
    }
    found
}

const SHARED: &str = "hosts of a lab share this machine's processors";

fn measured_messages(json: &Value, found: &mut Findings) {
    let of = |test: &str, network: &str, tasuki: bool| {
        let found = records(json).iter().find(|record| {
            record["test"] == test && record["network"] == network && (record["lane"] != "tcp") == tasuki
        });
        found.and_then(|record| number(record, &["median"]))
    };
    let [tcp, own, two] = [("pair:1", false), ("pair:1", true), ("pair:2", true)]
        .map(|(network, tasuki)| of("pingpong", network, tasuki));
    if let (Some(tcp), Some(own)) = (tcp, own) {
        let note = format!("{own:.1} and {tcp:.1} us in a lab, whose wires take no time for a lone frame");
        found.put("T2", "PM/Ethernet over TCP", own / tcp).note = note;
    }
    if let (Some(own), Some(two)) = (own, two) {
        found.put("T2", "PM/Ethernet, 2 NICs over 1", two / own).note = format!("{two:.1} and {own:.1} us");
    }
    for (cell, network, tasuki) in [
        ("own protocol, one Ethernet", "pair:1", true),
        ("TCP, one Ethernet", "pair:1", false),
        ("own protocol, two Ethernets", "pair:2", true),
    ] {
        if let Some(rate) = of("stream", network, tasuki) {
            found.put("F11", cell, rate);
        }
    }
}

fn measured_starts(json: &Value, found: &mut Findings) {
    for (cell, rails) in [("64 nodes over 16, Ethernet", "1"), ("64 nodes over 16, two Ethernets", "2")] {
        let of = |ranks| {
            let record = record(records(json), &[("ranks", ranks), ("rails", rails)])?;
            number(record, &["median"])
        };
        if let (Some(few), Some(many)) = (of("16"), of("64")) {
            found.put("T3", cell, many / few).note = format!("{many:.2} and {few:.2} s, all on one machine");
        }
    }
}
