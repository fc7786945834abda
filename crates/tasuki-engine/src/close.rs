//! Leaving: everything that was sent gets there first, as long as there is hope.

use std::time::{Duration, Instant};

use tasuki_proto::Time;

use crate::api::Peer;
use crate::endpoint::Inner;
use crate::peer::{PeerState, Way};
use crate::state::State;

/// When nothing moves for so long and all that was sent has been acknowledged, what is left depends on peers' programs that
/// will not act: messages that they never receive.
const QUIET: Duration = Duration::from_millis(300);

/// So long after the goodbyes the hosts of those who are silent are asked for the first time whether they are still there; then after twice as long, and so on. Who
/// has heard all that it waited for leaves at once: if its last word was lost, what is sent to it again goes nowhere, and a raw lane does not say so.
const FIRST_KNOCK: Duration = Duration::from_millis(4);

/// Parts from all peers, waiting at most `limit`.
pub(crate) fn linger(inner: &Inner, limit: Duration) {
    take_leave(inner, limit);
    // Without a bound: it is a matter of microseconds, unless somebody has stopped the process that writes, and then of the program's memory.
    while inner.lock().is_written_to() {
        std::thread::yield_now();
    }
}

fn take_leave(inner: &Inner, limit: Duration) {
    let start = Instant::now();
    inner.lock().say_goodbye();
    let mut moved = Instant::now();
    let mut knock = FIRST_KNOCK;
    loop {
        let (busy, deadline) = {
            let mut state = inner.lock();
            let busy = state.progress();
            state.core.completions.clear();
            if state.is_over() {
                return;
            }
            if !state.confirming && state.is_drained() && moved.elapsed() > QUIET {
                // Whatever waits for a peer's program, the peer must know that what it sent has come.
                state.confirm();
            }
            if start.elapsed() >= knock {
                knock = start.elapsed() * 2;
                state.knock_silent();
            }
            state.prepare_to_sleep();
            (busy, state.next_deadline())
        };
        if busy {
            moved = Instant::now();
        }
        if start.elapsed() >= limit {
            return;
        }
        inner.sleeper.sleep(deadline.min(PAUSE));
    }
}

/// Longest pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

impl State {
    /// Senders of long messages write into memory that the program will have back.
    fn is_written_to(&mut self) -> bool {
        self.core.end_pulls();
        // Those who have died without a word are found so.
        let now = self.now();
        if self.core.dual_copies.is_pending() && now >= self.next_watch {
            self.watch(now);
        }
        self.core.dual_copies.is_pending()
    }

    fn say_goodbye(&mut self) {
        self.closing = true;
        self.proto.keep_closed();
        for index in 0..self.core.peers.len() {
            let state = &self.core.peers[index];
            if state.is_known() && !state.gone {
                let id = state.id;
                // The peer is known: `id` comes from its record.
                let _ = self.core.msg.close_peer(id);
            }
        }
    }

    /// All connections have ended, and no ring has to be waited for. (A connection ends by itself when the goodbye is said and both
    /// sides know that everything has arrived, or when there is evidence that the peer is gone.)
    fn is_over(&self) -> bool {
        let parted = |state: &PeerState| state.gone || self.confirming || !state.is_known();
        let over = |state: &PeerState| state.conn.is_none_or(|conn| self.proto.is_closed(conn));
        self.core.peers.iter().all(|state| over(state) && !is_waiting(state) && parted(state))
    }

    /// Every connection makes sure that its peer has the acknowledgements of all that it sent: a peer that had lost the last of them
    /// would find nobody to ask, and take what has arrived for lost.
    fn confirm(&mut self) {
        self.confirming = true;
        for state in &self.core.peers {
            if let Some(conn) = state.conn {
                self.proto.close(conn);
            }
        }
    }

    /// Asks the hosts of those from whom an acknowledgement is overdue whether they are still there.
    fn knock_silent(&mut self) {
        let now = self.now();
        for index in 0..self.core.peers.len() {
            let conn = self.core.peers[index].conn;
            if conn.is_some_and(|conn| self.proto.pto_streak(conn) > 0) {
                self.knock(Peer(index as u32), now);
            }
        }
    }

    /// All that was handed to carriers has arrived.
    fn is_drained(&self) -> bool {
        self.core
            .peers
            .iter()
            .all(|state| state.conn.is_none_or(|conn| self.proto.is_drained(conn)) && !is_waiting(state))
    }

    /// How long nothing will happen if nothing arrives.
    pub fn next_deadline(&self) -> Duration {
        let now = self.now();
        let packets = self.proto.deadline().unwrap_or(Time(u64::MAX)).0;
        let pace = self.core.msg.time_due().unwrap_or(u64::MAX);
        let bulk = self.core.bulk.as_ref().and_then(|bulk| bulk.deadline()).unwrap_or(u64::MAX);
        let stream = self.stream_deadline().unwrap_or(u64::MAX);
        let deadline = packets.min(pace).min(bulk).min(stream).min(self.next_watch.0);
        Duration::from_nanos(deadline.saturating_sub(now.0))
    }
}

/// A frame has found no room in the peer's ring yet.
fn is_waiting(state: &PeerState) -> bool {
    matches!(&state.way, Way::Shared(shared) if shared.waiting.is_some())
}
