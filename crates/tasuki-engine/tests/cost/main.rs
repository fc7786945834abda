//! What a message costs in counts that no clock changes: system calls to send and to receive, and
//! allocations. Packets need root, for the cable.

mod calls;
mod coalescing;
mod memory;
mod pair;

use pair::{Pair, Route};

/// What one message may take at most. Some room is for acknowledgements that go by themselves, and for looks
/// at sockets after a pause, which a busy machine makes; allocations there are none.
struct Limit {
    route: Route,
    bytes: usize,
    sends: f64,
    receives: f64,
}

const LIMITS: [Limit; 6] = [
    Limit { route: Route::Shared, bytes: 8, sends: 0.0, receives: 0.0 },
    Limit { route: Route::Udp, bytes: 8, sends: 1.05, receives: 1.05 },
    Limit { route: Route::Raw, bytes: 8, sends: 1.05, receives: 0.05 },
    Limit { route: Route::Shared, bytes: 4096, sends: 0.0, receives: 0.0 },
    // Three packets of MTU 1500 in one call, and one for their acknowledgement, which is due with the second.
    // They are taken in one by one.
    Limit { route: Route::Udp, bytes: 4096, sends: 2.05, receives: 4.05 },
    Limit { route: Route::Raw, bytes: 4096, sends: 2.05, receives: 0.05 },
];

/// Messages that are counted.
const MESSAGES: usize = 2 * ROUND_TRIPS;
const ROUND_TRIPS: usize = 500;

/// Tries, the best of which counts: on a crowded machine a lane may fall silent for so long that the other
/// takes over, as it should. Beside eight processes that use all they get, more than half of them were such.
const TRIES: usize = 12;

#[test]
fn messages_cost_no_more_calls_and_no_allocations() {
    for limit in &LIMITS {
        let name = format!("{:?}, {} bytes", limit.route, limit.bytes);
        let fits = (0..TRIES).any(|_| match measure(limit) {
            None => true,
            Some((sends, receives, allocations)) => {
                println!(
                    "{name}: {sends:.3} calls to send and {receives:.3} to receive for a message, \
                     {allocations} allocations for all"
                );
                sends <= limit.sends && receives <= limit.receives && allocations == 0
            }
        });
        assert!(
            fits,
            "{name}: more than {} to send, {} to receive, no allocation",
            limit.sends, limit.receives
        );
    }
}

/// Calls to send and to receive for a message, allocations for all; `None` without root.
fn measure(limit: &Limit) -> Option<(f64, f64, u64)> {
    let mut pair = Pair::new(limit.route)?;
    pair.warm_up(limit.bytes);
    let ((sends, receives), allocations) = (calls::counted(), memory::counted());
    pair.round_trips(limit.bytes, ROUND_TRIPS);
    let (now, allocations) = (calls::counted(), memory::counted() - allocations);
    let each = |count: u64| count as f64 / MESSAGES as f64;
    Some((each(now.0 - sends), each(now.1 - receives), allocations))
}
