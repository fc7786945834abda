//! What a message costs in counts that no clock changes: system calls to send and to receive, and
//! allocations. Packets need root, for the cable.

mod calls;
mod coalescing;
mod memory;
mod own;
mod pair;

use pair::{Pair, Route};

/// What one message may take at most. Some room is for acknowledgements that go by themselves; allocations
/// there are none.
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

/// Messages that are counted at a time. They take less than the slice of a processor that a process gets, so
/// that most often nothing comes between them, on a crowded machine too: after a pause sockets are looked at.
const MESSAGES: usize = 2 * ROUND_TRIPS;
const ROUND_TRIPS: usize = 50;

/// How often a pair of endpoints counts; the best of these counts.
const COUNTS: usize = 40;

/// Pairs that are tried, the best of which counts: on a crowded machine a lane may fall silent for so long
/// that the other takes over for a while, as it should.
const TRIES: usize = 12;

#[test]
fn messages_cost_no_more_calls_and_no_allocations() {
    for limit in &LIMITS {
        let name = format!("{:?}, {} bytes", limit.route, limit.bytes);
        let fits = (0..TRIES).any(|_| match measure(limit) {
            None => true,
            Some(cost) => {
                println!(
                    "{name}: {:.3} calls to send and {:.3} to receive for a message, {} allocations for all",
                    cost.sends, cost.receives, cost.allocations
                );
                cost.fits(limit)
            }
        });
        assert!(
            fits,
            "{name}: more than {} to send, {} to receive, no allocation",
            limit.sends, limit.receives
        );
    }
}

/// What messages have cost.
struct Cost {
    /// Calls to send, for one message.
    sends: f64,
    /// Calls to receive, for one message.
    receives: f64,
    /// Allocations, for all messages.
    allocations: u64,
}

impl Cost {
    fn fits(&self, limit: &Limit) -> bool {
        self.sends <= limit.sends && self.receives <= limit.receives && self.allocations == 0
    }
}

/// What messages cost between two new endpoints: the first count that fits, or the last one; `None` without
/// root.
fn measure(limit: &Limit) -> Option<Cost> {
    let mut pair = Pair::new(limit.route)?;
    pair.warm_up(limit.bytes);
    let mut cost = count(&mut pair, limit.bytes);
    for _ in 1..COUNTS {
        if !cost.fits(limit) {
            cost = count(&mut pair, limit.bytes);
        }
    }
    Some(cost)
}

fn count(pair: &mut Pair, bytes: usize) -> Cost {
    let ((sends, receives), allocations) = (calls::counted(), memory::counted());
    pair.round_trips(bytes, ROUND_TRIPS);
    let (now, allocations) = (calls::counted(), memory::counted() - allocations);
    let each = |count: u64| count as f64 / MESSAGES as f64;
    Cost { sends: each(now.0 - sends), receives: each(now.1 - receives), allocations }
}
