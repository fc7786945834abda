//! Calls to send that a burst of short messages costs.

use std::time::{Duration, Instant};

use crate::calls;
use crate::pair::{Pair, Way};

/// Messages of a burst.
const BURST: usize = 64;
/// The first three go at once, the others in four packets; one call may be an acknowledgement's.
const SENDS: u64 = 8;
/// The program has to show first that it looks after its bursts, and must not be interrupted.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn messages_of_a_burst_share_packets() {
    for way in [Way::Udp, Way::Raw] {
        let Some(mut pair) = Pair::new(way) else { continue };
        pair.warm_up(8);
        let (start, mut best, mut crowd) = (Instant::now(), u64::MAX, false);
        while best > SENDS && start.elapsed() < PATIENCE {
            for _ in 0..100 {
                best = best.min(sends(&mut pair));
            }
            crowd |= is_crowded();
        }
        println!("{way:?}: {best} calls to send for {BURST} messages in a row");
        if crowd && best > SENDS {
            eprintln!("skipped: with more threads than processors messages go one by one");
            continue;
        }
        assert!(best <= SENDS, "{way:?}: {best} calls");
    }
}

/// Calls for one burst, and the look after it.
fn sends(pair: &mut Pair) -> u64 {
    let mut from: Vec<[u8; 8]> = (0..BURST as u64).map(u64::to_ne_bytes).collect();
    let mut into = vec![[0; 8]; BURST];
    pair.burst(&mut from, &mut into, || calls::counted().0)
}

/// More threads want to run than there are processors.
fn is_crowded() -> bool {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = loads.split_whitespace().nth(3).and_then(|word| word.split('/').next()?.parse().ok());
    running.unwrap_or(0) > std::thread::available_parallelism().map_or(1, usize::from)
}
