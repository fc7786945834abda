//! Leaving: everything that was sent gets there first, as long as there is hope.

use std::time::{Duration, Instant};

use tasuki_proto::Time;

use crate::endpoint::Inner;
use crate::peer::Way;
use crate::state::State;

/// When nothing moves for so long and all that was sent has been acknowledged, what is left depends on peers' programs that
/// will not act: messages that they never receive.
const QUIET: Duration = Duration::from_millis(300);

/// Parts from all peers, waiting at most `limit`.
pub(crate) fn linger(inner: &Inner, limit: Duration) {
    let start = Instant::now();
    inner.lock().say_goodbye();
    let mut moved = Instant::now();
    loop {
        let (busy, deadline) = {
            let mut state = inner.lock();
            let busy = state.progress();
            state.core.completions.clear();
            state.core.remote.clear();
            if state.has_parted() || (state.is_drained() && moved.elapsed() > QUIET) {
                return;
            }
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
    fn say_goodbye(&mut self) {
        self.closing = true;
        for index in 0..self.core.peers.len() {
            let state = &self.core.peers[index];
            if state.is_known() && !state.gone {
                let id = state.id;
                // The peer is known: `id` comes from its record.
                let _ = self.core.msg.close_peer(id);
            }
        }
    }

    /// Everybody has been said goodbye to, and knows it.
    fn has_parted(&self) -> bool {
        self.is_drained() && self.core.peers.iter().all(|state| state.gone || !state.is_known())
    }

    /// All that was handed to carriers has arrived.
    fn is_drained(&self) -> bool {
        self.core.peers.iter().all(|state| {
            let packets = state.conn.is_none_or(|conn| self.proto.is_drained(conn));
            let shared = match &state.way {
                Way::Shared(shared) => shared.waiting.is_none(),
                _ => true,
            };
            packets && shared
        })
    }

    /// How long nothing will happen if nothing arrives.
    pub fn next_deadline(&self) -> Duration {
        let now = self.now();
        let deadline = self.proto.deadline().unwrap_or(Time(u64::MAX)).0.min(self.next_watch.0);
        Duration::from_nanos(deadline.saturating_sub(now.0))
    }
}
