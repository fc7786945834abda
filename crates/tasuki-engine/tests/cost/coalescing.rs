//! System calls to send that a series of short messages costs.

use std::time::{Duration, Instant};

use crate::calls;
use crate::pair::{Pair, Route};

/// Messages of a series.
const SERIES: usize = 64;
/// Calls for a series of which the program says nothing: the first three messages leave at once, the others
/// in four packets; one call may be an acknowledgement's.
const CALLS: u64 = 8;
/// Calls for a series of which the program says of each message but the last that more follow: four packets,
/// the fewest that 64 messages fit into (16 each); one call may be an acknowledgement's.
const CALLS_ANNOUNCED: u64 = 5;
/// The series that counts must not be interrupted, and the helper thread must be awake.
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn messages_of_a_series_share_packets() {
    fewest_calls(false, CALLS);
}

#[test]
fn messages_that_the_program_announces_share_packets_from_the_first_one_on() {
    fewest_calls(true, CALLS_ANNOUNCED);
}

/// Sends series until one costs at most `most` calls.
fn fewest_calls(announce: bool, most: u64) {
    for route in [Route::Udp, Route::Raw] {
        let Some(mut pair) = Pair::new(route) else { continue };
        pair.warm_up(8);
        let (start, mut fewest, mut oversubscribed) = (Instant::now(), u64::MAX, false);
        while fewest > most && start.elapsed() < LIMIT {
            for _ in 0..100 {
                fewest = fewest.min(calls_for_series(&mut pair, announce));
            }
            oversubscribed |= is_oversubscribed();
        }
        println!("{route:?}: {fewest} calls to send for {SERIES} messages in a row");
        if oversubscribed && fewest > most {
            eprintln!("skipped: with more threads than processors messages go one by one");
            continue;
        }
        assert!(fewest <= most, "{route:?}: {fewest} calls");
    }
}

/// Calls for one series, and the poll after it.
fn calls_for_series(pair: &mut Pair, announce: bool) -> u64 {
    let mut from: Vec<[u8; 8]> = (0..SERIES as u64).map(u64::to_ne_bytes).collect();
    let mut into = vec![[0; 8]; SERIES];
    pair.send_series(&mut from, &mut into, announce, || calls::counted().0)
}

/// More threads want to run than there are processors.
fn is_oversubscribed() -> bool {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = loads.split_whitespace().nth(3).and_then(|word| word.split('/').next()?.parse().ok());
    running.unwrap_or(0) > std::thread::available_parallelism().map_or(1, usize::from)
}
