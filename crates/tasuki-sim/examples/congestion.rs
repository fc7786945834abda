//! Prints what sixteen senders make of one switch, with both ways to grant. Knobs of the adaptive one as NAME=NUMBER.

use tasuki_msg::Adapting;
use tasuki_sim::transport::{Congestion, Crowd, Granting};

fn main() {
    let mut knobs = Adapting::default();
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
            _ => return eprintln!("{name}: no such knob"),
        }
    }
    for crowd in [Crowd::Incast, Crowd::AllToAll] {
        for (name, granting) in [("window", Granting::Window), ("adaptive", Granting::Adaptive(knobs))] {
            match Congestion::new(crowd, granting).measure() {
                Ok(got) => println!("{crowd:?} {name}: {got:?}"),
                Err(failure) => println!("{crowd:?} {name}: {}", failure.complaint),
            }
        }
    }
}
