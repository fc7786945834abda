//! What is done from time to time: looking after peers from which nothing is heard, and the statistics page.
//!
//! Silence proves nothing about a peer: what counts is what its host says.

use tasuki_proto::Time;

use crate::api::Peer;
use crate::peer::PeerState;
use crate::state::State;

/// Time between two updates of the statistics page, ns.
const INTERVAL: u64 = 200_000_000;

/// Peers are looked after in every so-manieth interval.
const PEERS_EVERY: u64 = 4;

/// So many peers on other hosts, or fewer, are knocked at in every interval: that costs little.
const FEW: usize = 8;

/// Time-outs in a row after which a peer is knocked at out of turn: most likely it is dead. Together they take 60 ms at least, which is more than one who
/// waits for a processor most often takes.
const LOST: u32 = 5;

/// A first contact that takes longer than this is worth a word, ns.
const SILENT: u64 = 10_000_000_000;

/// A word to whoever runs the program.
pub(crate) fn tell(text: &str) {
    eprintln!("tasuki: {text}");
}

impl State {
    /// Does what is to be done from time to time.
    pub fn watch(&mut self, now: Time) {
        self.next_watch = Time(now.0.saturating_add(INTERVAL));
        self.watched += 1;
        self.write_page();
        self.invite_to_streams(now);
        self.watch_packets(now);
        self.judge_peers(now);
        if self.watched.is_multiple_of(PEERS_EVERY) {
            self.watch_shared();
            self.watch_first_contact(now);
        }
    }

    /// A peer that has never answered is not dead for all we know, but whoever waits should know what for.
    fn watch_first_contact(&mut self, now: Time) {
        for state in &mut self.core.peers {
            let Some(since) = state.unanswered else { continue };
            if state.gone || now.0.saturating_sub(since.0) < SILENT {
                continue;
            }
            state.unanswered = None;
            tell(&format!(
                "no answer from {} for {} s. Its host may be down or busy, a firewall may drop UDP (port {}), or routes may \
                 lead elsewhere: see `tasuki doctor`, `ip route get {}`. Still trying.",
                state.address,
                SILENT / 1_000_000_000,
                state.address.port,
                state.address.host(),
            ));
        }
    }

    /// Asks the hosts of peers whether the peers are still there. As long as nothing is under way it matters only to a program that is to hear
    /// of every death, and then only of peers with which something was exchanged.
    fn watch_packets(&mut self, now: Time) {
        let closing = self.closing;
        let idle = self.core.sends.is_empty() && self.core.recvs.is_empty() && !closing;
        let is_asked = |state: &PeerState| match (closing, idle) {
            (true, _) => state.conn.is_some(),
            (false, true) => state.conn.is_some() && !state.gone,
            (false, false) => state.is_asked() && !state.gone,
        };
        let asked = self.core.peers.iter().filter(|state| is_asked(state)).count();
        let wanted = !idle || self.on_failure.is_some();
        let all = wanted && (asked <= FEW || self.watched.is_multiple_of(PEERS_EVERY));
        for index in 0..self.core.peers.len() {
            let state = &self.core.peers[index];
            let lost = state.conn.is_some_and(|conn| self.proto.pto_streak(conn) >= LOST);
            if (all && is_asked(state)) || lost || state.is_on_trial() {
                self.knock(Peer(index as u32), now);
            }
        }
    }
}
