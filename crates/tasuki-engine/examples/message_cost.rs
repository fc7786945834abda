//! What a message costs, by nothing but itself: `message_cost ROUTE BYTES COUNT`, with ROUTE one of shared,
//! udp, raw (the last two need root). Prints nanoseconds for one message. Under `valgrind --tool=callgrind
//! --toggle-collect='*round_trips*'` it gives instructions by function; `make profile` does both.

#[path = "../tests/cost/pair.rs"]
mod pair;

use std::time::Instant;

use pair::{Pair, Route};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let word = |at: usize, default: &str| args.get(at).cloned().unwrap_or_else(|| default.to_owned());
    let number = |at, default| word(at, default).parse::<usize>().expect("a number");
    let route = match word(1, "raw").as_str() {
        "shared" => Route::Shared,
        "udp" => Route::Udp,
        "raw" => Route::Raw,
        other => panic!("{other}: there are shared, udp, raw"),
    };
    let (bytes, count) = (number(2, "8"), number(3, "100000"));
    let Some(mut pair) = Pair::new(route) else { return };
    pair.warm_up(bytes);
    let start = Instant::now();
    pair.round_trips(bytes, count);
    let each = start.elapsed().as_nanos() as f64 / count as f64 / 2.0;
    println!("{route:?} {bytes} bytes: {each:.0} ns for a message");
    let start = Instant::now();
    for _ in 0..10 * count {
        pair.ends[0].turn(8, drop);
    }
    let each = start.elapsed().as_nanos() as f64 / (10 * count) as f64;
    println!("{route:?}: {each:.0} ns for a look that finds nothing");
}
