//! Prints what sixteen senders make of one switch, with both ways to grant. Knobs of the adaptive one as NAME=NUMBER; `seeds=N` runs N (from `first=N`), `only=1`
//! leaves the window out, `crowd=1` the incast.

use tasuki_msg::Adapting;
use tasuki_sim::transport::{Congestion, Crowd, Granting};

fn main() {
    let (mut knobs, mut first, mut seeds) = (Adapting::default(), 1, 1);
    let (mut only, mut crowds) = (false, 0);
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
            "crowd" => crowds = value as usize,
            "only" => only = value > 0,
            _ => return eprintln!("{name}: no such knob"),
        }
    }
    let ways = [("window", Granting::Window), ("adaptive", Granting::Adaptive(knobs))];
    for crowd in [Crowd::Incast, Crowd::AllToAll].into_iter().skip(crowds) {
        for (name, granting) in ways.iter().skip(usize::from(only)) {
            for seed in first..first + seeds {
                match (Congestion { seed, ..Congestion::new(crowd, *granting) }).measure() {
                    Ok(got) => println!("{crowd:?} {name} {seed}: {got:?}"),
                    Err(failure) => println!("{crowd:?} {name} {seed}: {}", failure.complaint),
                }
            }
        }
    }
}
