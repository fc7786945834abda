//! All hosts at the same time.

use std::{panic::resume_unwind, thread};

/// Calls `ask` with the number of every host at the same time, and returns what it gives in the order of the
/// hosts.
///
/// # Panics
/// If `ask` panics.
pub fn for_each_host<T: Send>(hosts: usize, ask: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let ask = &ask;
    thread::scope(|scope| {
        let asked: Vec<_> = (0..hosts).map(|number| scope.spawn(move || ask(number))).collect();
        asked.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn hosts_are_asked_at_the_same_time_and_answer_in_their_order() {
        // Nobody passes the barrier before everybody has come to it.
        let barrier = Barrier::new(16);
        let answers = for_each_host(16, |number| {
            barrier.wait();
            number
        });
        assert_eq!(answers, (0..16).collect::<Vec<_>>());
    }
}
