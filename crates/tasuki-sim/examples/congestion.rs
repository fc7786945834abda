//! Prints how sixteen senders share one switch, with each [`Pacing`]. Arguments are the parameters of
//! adaptive pacing as NAME=NUMBER, and: `seeds=N` runs N seeds (from `first=N`), `only=1` leaves the fixed
//! window out, `traffic=1` leaves the incast out, `short=1` sends short messages in raw frames, `short=2`
//! sends them in raw frames that ports transmit first, `host_ns=N` is the time that the
//! software of both hosts adds to every packet.

use tasuki_msg::AdaptiveConfig;
use tasuki_sim::transport::{ALL_SHORT_LANES, Congestion, Granting, HOST_NS, ShortLane, Traffic};

fn main() {
    let (mut knobs, mut first, mut seeds) = (AdaptiveConfig::default(), 1, 1);
    let (mut only, mut skipped, mut short, mut host_ns) = (false, 0, ShortLane::Udp, HOST_NS);
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
            "traffic" => skipped = value as usize,
            "only" => only = value > 0,
            _ => return eprintln!("{name}: no such knob"),
        }
    }
    let grantings = [("window", Granting::Window), ("adaptive", Granting::Adaptive(knobs))];
    for traffic in [Traffic::Incast, Traffic::AllToAll].into_iter().skip(skipped) {
        for (name, granting) in grantings.iter().skip(usize::from(only)) {
            for seed in first..first + seeds {
                match (Congestion { seed, short, host_ns, ..Congestion::new(traffic, *granting) }).measure() {
                    Ok(got) => println!("{traffic:?} {name} {seed}: {got:?}"),
                    Err(failure) => println!("{traffic:?} {name} {seed}: {}", failure.complaint),
                }
            }
        }
    }
}
