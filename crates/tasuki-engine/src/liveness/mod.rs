//! Liveness: which peers are gone.
//!
//! Silence proves nothing about a peer. What counts is what its host says, and that is weighed in [`trial`]:
//! from time to time peers on other hosts are *knocked at*, with a datagram that their host refuses if the
//! socket is gone. Peers on this host are looked after by [`crate::shm::Shm::look_after`].

mod trial;

use std::{net::SocketAddr, time::Duration};

use tasuki_link::{Refusal, RefusalKind};
use tasuki_proto::Time;
use tasuki_tuning::liveness;

use crate::api::Peer;
use crate::net::Net;
use crate::peers::{PeerRecord, Peers, Route};
use trial::{Finding, Meaning, Nonce, Suspicion};

/// Prints a message for the user who runs the program.
pub(crate) fn tell_user(text: &str) {
    eprintln!("tasuki: {text}");
}

/// What the engine has to do about a peer.
pub(crate) enum Verdict {
    /// Nothing was exchanged with the peer yet: greet it, or find it on this host.
    Greet(Peer),
    /// The peer is gone, for the reason given.
    Gone(Peer, String),
}

/// What decides whether peers are knocked at.
#[derive(Clone, Copy)]
pub(crate) struct Interest {
    /// The endpoint is closing.
    pub closing: bool,
    /// Operations are under way.
    pub operations: bool,
    /// The program is to hear of every death.
    pub reports: bool,
}

/// What is known about the deaths of peers.
pub(crate) struct Liveness {
    /// By peer; `None`: the peer was never knocked at.
    suspicions: Vec<Option<Box<Suspicion>>>,
    next_round: Time,
    rounds: u64,
    /// A peer that has not answered a first greeting for so many rounds has failed; `None`: never.
    greeting_rounds: Option<u64>,
}

impl Liveness {
    /// `greeting`: how long a peer may leave a first greeting unanswered; zero: for ever.
    pub fn new(greeting: Duration) -> Liveness {
        let rounds = (greeting.as_nanos() as u64).div_ceil(liveness::ROUND_NS);
        let greeting_rounds = (rounds > 0).then_some(rounds);
        Liveness { suspicions: Vec::new(), next_round: Time(0), rounds: 0, greeting_rounds }
    }

    fn suspicion(&mut self, peer: Peer) -> &mut Suspicion {
        let index = peer.0 as usize;
        if self.suspicions.len() <= index {
            self.suspicions.resize_with(index + 1, || None);
        }
        self.suspicions[index].get_or_insert_default()
    }

    fn existing(&mut self, peer: Peer) -> Option<&mut Suspicion> {
        self.suspicions.get_mut(peer.0 as usize)?.as_deref_mut()
    }

    fn is_on_trial(&self, peer: Peer) -> bool {
        let known = self.suspicions.get(peer.0 as usize).and_then(Option::as_deref);
        known.is_some_and(Suspicion::is_on_trial)
    }

    /// Whether nothing had been exchanged with the peer when its trial began. Forgets what is known about the
    /// peer.
    pub fn forget(&mut self, peer: Peer) -> bool {
        let known = self.suspicions.get_mut(peer.0 as usize).and_then(Option::take);
        known.is_some_and(|suspicion| suspicion.is_stranger)
    }
}

/// Rounds.
impl Liveness {
    /// When the next round is due.
    #[inline(always)]
    pub fn next_round(&self) -> Time {
        self.next_round
    }

    /// A round begins: do what else belongs to it, and call [`Liveness::knock_all`] and [`Liveness::judge`].
    pub fn begin_round(&mut self, now: Time) {
        self.next_round = Time(now.0.saturating_add(liveness::ROUND_NS));
        self.rounds += 1;
    }

    /// Whether this round is one in which all peers are looked after.
    pub fn is_round_for_all(&self) -> bool {
        self.rounds.is_multiple_of(liveness::ALL_EVERY)
    }

    /// Knocks at the peers that are to be knocked at in this round. While no operation is under way it
    /// matters only to a program that is to hear of every death, and then only for peers with which something
    /// was exchanged.
    pub fn knock_all(&mut self, interest: Interest, net: &mut Net, peers: &Peers, now: Time) {
        let Interest { closing, operations, reports } = interest;
        let concerned = |record: &PeerRecord| match (closing, operations) {
            (true, _) => record.conn.is_some(),
            (false, false) => record.conn.is_some() && !record.gone,
            (false, true) => record.is_probed_by_packet() && !record.gone,
        };
        let count = peers.iter().filter(|(_, record)| concerned(record)).count();
        let wanted = operations || closing || reports;
        let all = wanted && (count <= liveness::FEW || self.is_round_for_all());
        for (peer, record) in peers.iter() {
            let silent = record.conn.is_some_and(|conn| net.proto().pto_streak(conn) >= liveness::TIMEOUTS);
            if (all && concerned(record)) || silent || self.is_on_trial(peer) {
                self.knock(peer, record, net, now);
            }
        }
    }

    /// Knocks at peers from which an acknowledgement is overdue.
    pub fn knock_silent(&mut self, net: &mut Net, peers: &Peers, now: Time) {
        for (peer, record) in peers.iter() {
            if record.conn.is_some_and(|conn| net.proto().pto_streak(conn) > 0) {
                self.knock(peer, record, net, now);
            }
        }
    }

    /// Asks the host of a peer whether the peer's socket is still there.
    fn knock(&mut self, peer: Peer, record: &PeerRecord, net: &mut Net, now: Time) {
        let mut nonce = Nonce::default();
        // Without a number that nobody can guess an answer would prove nothing.
        if getrandom::fill(&mut nonce).is_err() {
            return;
        }
        let heard = net.packets_from(record.conn);
        self.suspicion(peer).knocked(nonce, heard, now);
        net.send_alone(socket_of(record), &nonce);
    }

    /// Another round of all trials.
    pub fn judge(&mut self, net: &mut Net, peers: &Peers, now: Time) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (peer, record) in peers.iter() {
            if !self.is_on_trial(peer) {
                continue;
            }
            if !record.is_probed_by_packet() || record.failure.is_some() {
                self.forget(peer);
                continue;
            }
            let (heard, by_nic) = (net.packets_from(record.conn), net.reaches_nic(record.conn));
            let Some(suspicion) = self.existing(peer) else { continue };
            match suspicion.judge(heard, by_nic) {
                Finding::NoTrial => {}
                Finding::Lives => suspicion.is_stranger = false,
                Finding::Silent => {
                    if let Some(conn) = record.conn {
                        net.ask(conn, now);
                    }
                }
                Finding::Gone => verdicts.push(gone(peer, record)),
            }
        }
        verdicts
    }

    /// Peers that have never answered a greeting or a welcome, for as long as that may take. Silence of one
    /// that has answered before proves nothing; these were never met, and a program that waits for them would
    /// wait for ever. Counted in rounds, so that the time for which this process is stopped does not count.
    pub fn never_met(&self, net: &mut Net, peers: &Peers) -> Vec<Verdict> {
        let rounds = self.greeting_rounds.unwrap_or(u64::MAX);
        let mut silent = net.never_answered(rounds, peers);
        silent.retain(|peer| peers.get(*peer).is_some_and(|one| !one.gone));
        let gone = |peer| {
            let reason = format!(
                "it has not answered for {} s (TASUKI_GREETING): most likely a firewall drops UDP \
                 between the hosts. `tasuki doctor` finds out which, and says what opens it",
                seconds(rounds)
            );
            Verdict::Gone(peer, reason)
        };
        silent.into_iter().map(gone).collect()
    }

    /// Tells the user of peers that have not answered for long. Such a peer is not dead as far as is known,
    /// but a user who waits should know what for.
    pub fn tell_of_unanswered(&self, net: &mut Net, peers: &Peers, now: Time) {
        let Some(deadline) = now.0.checked_sub(liveness::UNANSWERED_NS) else { return };
        for peer in net.take_unanswered(Time(deadline)) {
            let Some(record) = peers.get(peer).filter(|record| !record.gone) else { continue };
            tell_user(&format!(
                "no answer from {} for {} s. Its host may be down or busy, a firewall may drop UDP \
                 (port {}), or routes may lead elsewhere: see `tasuki doctor`, `ip route get {}`. \
                 Still trying{}.",
                record.address,
                liveness::UNANSWERED_NS / 1_000_000_000,
                record.address.port,
                record.address.host(),
                self.greeting_rounds
                    .map_or(String::new(), |rounds| format!(", for {} s in all", seconds(rounds))),
            ));
        }
    }
}

/// Refusals.
impl Liveness {
    /// Reads what the network says about packets that it did not deliver.
    pub fn hear_refusals(&mut self, net: &mut Net, peers: &Peers, now: Time) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for index in 0..net.links().len() {
            for _ in 0..liveness::REFUSALS_MAX {
                let Some(refusal) = net.links_mut()[index].udp.poll_refusal() else { break };
                if refusal.kind == RefusalKind::PortUnreachable && !refusal.own {
                    self.hear_refusal(&refusal, net, peers, now, &mut verdicts);
                }
            }
        }
        verdicts
    }

    /// Judges a refusal: an ICMP message which says that no socket is at an address at which peers were.
    fn hear_refusal(
        &mut self,
        refusal: &Refusal,
        net: &mut Net,
        peers: &Peers,
        now: Time,
        verdicts: &mut Vec<Verdict>,
    ) {
        for peer in net.peers_at(refusal.to, peers) {
            let Some(record) = peers.get(peer) else { continue };
            // A router or a firewall on the way knows nothing of the peer's process.
            let by_its_host = refusal.by == Some(refusal.to.ip());
            let heard = net.packets_from(record.conn);
            let suspicion = self.suspicion(peer);
            if by_its_host && refusal.to != socket_of(record) {
                suspicion.refused_at_nic(heard);
            }
            let meaning =
                if by_its_host { suspicion.refused(refusal.quoted(), heard) } else { Meaning::Hint };
            let rested = now.0.saturating_sub(suspicion.knocked_at.0) >= liveness::HINT_PAUSE_NS;
            match meaning {
                Meaning::TrialBegins => verdicts.extend(self.begin_trial(peer, record, net)),
                Meaning::Hint if rested && !suspicion.is_on_trial() => self.knock(peer, record, net, now),
                Meaning::Hint | Meaning::Repeated => {}
            }
        }
    }

    /// The host of a peer has refused a knock. From the next round on the peer is asked for a sign of life.
    /// (Not sooner: what is sent where no socket is takes its part of the few refusals that the host has for
    /// this one, and the next knock is to be among them.)
    fn begin_trial(&mut self, peer: Peer, record: &PeerRecord, net: &Net) -> Option<Verdict> {
        if record.gone && !is_owed(record, net) {
            return Some(gone(peer, record));
        }
        if record.route == Route::Unknown && record.conn.is_none() {
            self.suspicion(peer).is_stranger = true;
            return Some(Verdict::Greet(peer));
        }
        None
    }
}

/// Whether a peer may still wait for what was sent to it: it has neither said goodbye nor acknowledged it.
fn is_owed(record: &PeerRecord, net: &Net) -> bool {
    !record.said_bye && record.conn.is_some_and(|conn| net.proto().has_unacknowledged(conn))
}

fn socket_of(record: &PeerRecord) -> SocketAddr {
    SocketAddr::new(record.address.host(), record.address.port)
}

fn gone(peer: Peer, record: &PeerRecord) -> Verdict {
    let to = socket_of(record);
    Verdict::Gone(
        peer,
        format!(
            "its host says that nobody listens at {to}, and nothing has come from it since: its process \
             has ended, or a firewall there refuses UDP"
        ),
    )
}

/// How long so many rounds take, in whole seconds.
fn seconds(rounds: u64) -> u64 {
    rounds * liveness::ROUND_NS / 1_000_000_000
}
