//! How long tables take to make and to prove: `cargo run --release -p tasuki-topo --example proof_speed
//! [hosts]`.
//!
//! For every network and engine: milliseconds to route, milliseconds to prove (the fastest of five), virtual
//! channels, paths longer than necessary and destinations on the escape tree.

use std::time::Instant;
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Claims, Engine, Limits, Network, prove, route};

fn networks(hosts: u32) -> Result<Vec<Network>, tasuki_topo::NetworkError> {
    let four = Fit::switches(4);
    let switches = hosts / 4;
    let side = switches.isqrt().max(2);
    let leaves = (hosts / 16).max(2);
    Ok(vec![
        shapes::torus(&[side, switches / side], PairRing::OneCable, &four)?,
        shapes::mesh(&[side, switches / side], &four)?,
        shapes::random_regular(hosts / 8, 8, 1, &Fit::switches(8))?,
        shapes::irregular(switches, switches * 2, 8, 1, &four)?,
        shapes::leaf_spine(leaves, 16, 1, &Fit::switches(16))?,
        shapes::myrinet_clos(leaves / 2, ClosHosts::Both, &Fit::switches(16))?,
        shapes::random_regular(hosts, 4, 1, &Fit::relays())?,
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hosts = std::env::args().nth(1).map_or(Ok(1024), |n| n.parse())?;
    for net in networks(hosts)? {
        println!("{}: {} switches, {} hosts", net.name(), net.switches(), net.hosts().len());
        for engine in Engine::ALL {
            let mut times = Vec::new();
            let mut line = String::new();
            for _ in 0..5 {
                let begin = Instant::now();
                let vcs = if engine == Engine::AnyChannels { 1 } else { 255 };
                let tables = match route(&net, engine, Limits::lossless(vcs)) {
                    Ok(tables) => tables,
                    Err(error) => {
                        line = error.to_string();
                        break;
                    }
                };
                let routed = begin.elapsed();
                let report = prove(&net, &tables, Claims::lossless(tables.vcs()))?;
                times.push((begin.elapsed(), routed));
                let (vcs, longer, escaped) = (tables.vcs(), report.longer, tables.escaped());
                line = format!("{vcs:3} channels, {longer:7} longer paths, {escaped:5} escaped");
            }
            times.sort();
            let ms = |t: std::time::Duration| t.as_secs_f64() * 1e3;
            match times.first() {
                Some(&(all, routed)) => {
                    let (route_ms, prove_ms) = (ms(routed), ms(all - routed));
                    println!("  {:36} {route_ms:8.1} + {prove_ms:7.1} ms  {line}", engine.name());
                }
                None => println!("  {:36} {line}", engine.name()),
            }
        }
    }
    Ok(())
}
