//! Prints what sixteen senders make of one switch, with both ways to grant. Knobs of the adaptive one as NAME=NUMBER; `seeds=N` runs N (from `first=N`), `only=1`
//! leaves the window out, `traffic=1` the incast. `short=1`: what is short goes in raw frames, `short=2`: in raw frames that ports send first; `host_ns=N`:
//! time that hosts take.

use tasuki_msg::AdaptiveConfig;
use tasuki_sim::transport::{ALL_SHORT_LANES, Congestion, Granting, HOST_NS, ShortLane, Traffic};

fn main() {
    let (mut knobs, mut first, mut seeds) = (AdaptiveConfig::default(), 1, 1);
    let (mut only, mut crowds, mut short, mut host_ns) = (false, 0, ShortLane::Udp, HOST_NS);
    for word in std::env::args().skip(1) {
        let Some((name, Ok(value))) = word.split_once('=').map(|(name, value)| (name, value.parse())) else {
            return eprintln!("{word}: not NAME=NUMBER");
        };
        match name {
            "unscheduled" => knobs.unscheduled = value,
            "quantum_min" => knobs.quantum_min = value,
            "window_min" => knobs.window_min = value,
            "queue_low" => knobs.queue_low = value,
            "queue_high" => knobs.queue_high = value,
            "queue_ns" => knobs.queue_ns = value,
            "first" => first = value,
            "seeds" => seeds = value,
            "short" => short = ALL_SHORT_LANES[value.min(2) as usize],
            "host_ns" => host_ns = value,
            "traffic" => crowds = value as usize,
            "only" => only = value > 0,
            _ => return eprintln!("{name}: no such knob"),
        }
    }
    let ways = [("window", Granting::Window), ("adaptive", Granting::Adaptive(knobs))];
    for traffic in [Traffic::Incast, Traffic::AllToAll].into_iter().skip(crowds) {
        for (name, granting) in ways.iter().skip(usize::from(only)) {
            for seed in first..first + seeds {
                match (Congestion { seed, short, host_ns, ..Congestion::new(traffic, *granting) }).measure() {
                    Ok(got) => println!("{traffic:?} {name} {seed}: {got:?}"),
                    Err(failure) => println!("{traffic:?} {name} {seed}: {}", failure.complaint),
                }
            }
        }
    }
}
