//! Whether a peer's process is gone, judged by what its host says and by what arrives from the peer.
//!
//! A host that refuses a datagram says that no socket is at the port. Anybody can forge that, and a firewall
//! says it of processes that live. So peers are knocked at with datagrams that carry a random number, and
//! only a refusal that quotes such a number begins a *trial*: the peer is asked for a sign of life on all
//! paths, and it is gone if none arrives for some rounds while its host goes on refusing. Any packet from the
//! peer, all of which are authenticated, ends the trial, and the next one takes twice as many rounds: a host
//! that refuses datagrams for a process that lives is not to be believed so soon again, because that process
//! may be stopped for a while by then. (One packet may have been under way or unread when the process died,
//! so what is heard after a refusal makes the trial of a dead one longer, but not much.)
//!
//! A firewall may refuse datagrams to a host's identity address, where knocks go, and none to the addresses
//! of its NICs. A host without the process refuses both. So while the peer has been reached at an address of
//! a NIC, and nothing was refused there, the trial takes several times as many rounds: the host contradicts
//! itself, and the process may be stopped for a while.
//!
//! Hosts bound how many refusals they send (Linux: six at once to one host, then one each second), and all
//! ranks of this host share those. So a trial without further refusals takes more rounds, but it does end.
//!
//! Time is counted in rounds ([`super::Liveness::begin_round`], a fifth of a second apart), not by the clock:
//! if this process itself was stopped, signs of life may wait unread for as long as that was.

use tasuki_proto::Time;
use tasuki_tuning::liveness;

/// The random number in a knock.
pub(super) type Nonce = [u8; crate::net::rx::KNOCK_LEN];

/// A knock that was sent.
#[derive(Clone, Copy)]
struct Knock {
    nonce: Nonce,
    /// Packets that had arrived from the peer until then.
    heard: u64,
}

/// A knock was refused, and a sign of life is awaited.
#[derive(Clone, Copy)]
struct Trial {
    /// Packets that had arrived from the peer when the knock was sent.
    heard: u64,
    /// Rounds since then.
    rounds: u32,
    /// The host has refused something more since the first round.
    repeated: bool,
}

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The refusal quotes no knock, or the peer was heard after that knock. The peer may be gone all the
    /// same, so it should be knocked at.
    Hint,
    /// The refusal quotes a knock: a trial begins.
    TrialBegins,
    /// A trial is under way.
    Repeated,
}

/// What a round of a trial has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// There is no trial.
    NoTrial,
    /// The peer lives.
    Lives,
    /// The peer was not heard yet: ask it and its host again.
    Silent,
    /// The peer is gone.
    Gone,
}

/// What is known about the death of one peer.
pub(super) struct Suspicion {
    knocks: [Option<Knock>; liveness::KNOCKS],
    trial: Option<Trial>,
    /// Rounds that a trial takes.
    rounds: u32,
    /// Packets that had arrived from the peer when its host last refused one at an address of a NIC.
    refused_at_nic: Option<u64>,
    /// When the peer was last knocked at.
    pub knocked_at: Time,
    /// Nothing had been exchanged with the peer when the trial began. That such a peer is gone is no news for
    /// people: it has left before it had anything to say.
    pub is_stranger: bool,
}

impl Default for Suspicion {
    fn default() -> Suspicion {
        Suspicion {
            knocks: [None; liveness::KNOCKS],
            trial: None,
            rounds: liveness::ROUNDS,
            refused_at_nic: None,
            knocked_at: Time(0),
            is_stranger: false,
        }
    }
}

impl Suspicion {
    /// A knock is sent. `heard` packets have arrived from the peer until now.
    pub fn knocked(&mut self, nonce: Nonce, heard: u64, now: Time) {
        self.knocked_at = now;
        self.knocks.rotate_right(1);
        self.knocks[0] = Some(Knock { nonce, heard });
    }

    /// The peer's host itself has refused a datagram that began with `quote`. `heard` packets have arrived
    /// from the peer.
    pub fn refused(&mut self, quote: &[u8], heard: u64) -> Meaning {
        if let Some(trial) = &mut self.trial {
            // Here any refused packet will do, not knocks alone: which of them a busy host refuses is chance.
            trial.repeated |= trial.rounds > 0;
            return Meaning::Repeated;
        }
        let quoted = |knock: &mut Knock| quote.get(..knock.nonce.len()) == Some(&knock.nonce[..]);
        let Some(knock) = self.knocks.iter_mut().find_map(|knock| knock.take_if(quoted)) else {
            return Meaning::Hint;
        };
        if knock.heard != heard {
            self.was_wrong();
            return Meaning::Hint;
        }
        self.trial = Some(Trial { heard, rounds: 0, repeated: false });
        Meaning::TrialBegins
    }

    /// The peer's host itself has refused a datagram at the address of a NIC. `heard` packets have arrived
    /// from the peer.
    pub fn refused_at_nic(&mut self, heard: u64) {
        self.refused_at_nic = Some(heard);
    }

    /// The peer's host has refused a knock, and then the peer was heard.
    fn was_wrong(&mut self) {
        self.rounds = (2 * self.rounds).min(liveness::ROUNDS_MAX);
    }

    /// Whether a trial is under way.
    pub fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Another round. `heard` packets have arrived from the peer. `by_nic`: datagrams have reached it at an
    /// address of a NIC, not at its host's identity address alone.
    pub fn judge(&mut self, heard: u64, by_nic: bool) -> Finding {
        let contradicted = by_nic && self.refused_at_nic != Some(heard);
        let Some(trial) = &mut self.trial else { return Finding::NoTrial };
        if trial.heard != heard {
            self.trial = None;
            self.was_wrong();
            return Finding::Lives;
        }
        trial.rounds += 1;
        let rounds = self.rounds * if trial.repeated { 1 } else { liveness::UNREPEATED };
        let longer = (rounds * liveness::CONTRADICTED).min(liveness::ROUNDS_MAX);
        let rounds = if contradicted { rounds.max(longer) } else { rounds };
        if trial.rounds >= rounds { Finding::Gone } else { Finding::Silent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram's payload that begins with `nonce`, as an ICMP message quotes it.
    fn quote(nonce: Nonce) -> Vec<u8> {
        [&nonce[..], &[0; 3]].concat()
    }

    /// Counts the rounds until a peer is declared gone if nothing arrives from it and its host goes on
    /// refusing.
    fn rounds_until_gone(suspicion: &mut Suspicion, heard: u64) -> u32 {
        let rounds = (1..10_000).find(|_| {
            let finding = suspicion.judge(heard, false);
            assert_eq!(suspicion.refused(&[], heard), Meaning::Repeated);
            finding == Finding::Gone
        });
        rounds.expect("a bound")
    }

    /// A knock with this number is refused, and nothing has arrived since it was sent.
    fn tried(suspicion: &mut Suspicion, number: u8, heard: u64) {
        suspicion.knocked([number; 16], heard, Time(0));
        assert_eq!(suspicion.refused(&quote([number; 16]), heard), Meaning::TrialBegins);
    }

    #[test]
    fn a_peer_whose_host_refuses_and_that_is_silent_is_gone() {
        let mut suspicion = Suspicion::default();
        assert_eq!(suspicion.judge(7, false), Finding::NoTrial);
        tried(&mut suspicion, 1, 7);
        assert_eq!(rounds_until_gone(&mut suspicion, 7), liveness::ROUNDS);
    }

    #[test]
    fn one_refusal_is_enough_if_no_more_arrive_but_takes_more_rounds() {
        let mut suspicion = Suspicion::default();
        tried(&mut suspicion, 1, 0);
        // More refusals before the first round are of the same moment.
        assert_eq!(suspicion.refused(&quote([1; 16]), 0), Meaning::Repeated);
        for _ in 1..liveness::ROUNDS * liveness::UNREPEATED {
            assert_eq!(suspicion.judge(0, false), Finding::Silent);
        }
        assert_eq!(suspicion.judge(0, false), Finding::Gone);
    }

    #[test]
    fn refusals_that_quote_no_knock_begin_nothing() {
        let mut suspicion = Suspicion::default();
        assert_eq!(suspicion.refused(&[], 0), Meaning::Hint, "nothing was knocked at");
        suspicion.knocked([1; 16], 0, Time(0));
        for forged in [&[][..], &[1; 15], &[2; 16], &[0; 500]] {
            assert_eq!(suspicion.refused(forged, 0), Meaning::Hint, "{forged:?}");
        }
        assert!(!suspicion.is_on_trial());
        assert_eq!(suspicion.judge(0, false), Finding::NoTrial);
    }

    #[test]
    fn a_refusal_may_arrive_after_the_next_knock_but_not_after_many() {
        let mut suspicion = Suspicion::default();
        for number in 0..6 {
            suspicion.knocked([number; 16], 0, Time(0));
        }
        assert_eq!(suspicion.refused(&quote([1; 16]), 0), Meaning::Hint);
        assert_eq!(suspicion.refused(&quote([2; 16]), 0), Meaning::TrialBegins);
    }

    #[test]
    fn a_peer_that_was_heard_after_the_knock_lives() {
        let mut suspicion = Suspicion::default();
        suspicion.knocked([1; 16], 3, Time(0));
        assert_eq!(suspicion.refused(&quote([1; 16]), 4), Meaning::Hint);
        assert!(!suspicion.is_on_trial());
        assert_eq!(suspicion.rounds, 2 * liveness::ROUNDS, "its host was wrong");
        assert_eq!(suspicion.refused(&quote([1; 16]), 4), Meaning::Hint);
        assert_eq!(suspicion.rounds, 2 * liveness::ROUNDS, "the same knock once more");
        tried(&mut suspicion, 2, 4);
        assert_eq!(suspicion.judge(4, false), Finding::Silent);
        assert_eq!(suspicion.judge(5, false), Finding::Lives);
        assert!(!suspicion.is_on_trial());
    }

    #[test]
    fn a_host_that_was_wrong_is_believed_after_more_rounds_each_time_up_to_half_a_minute() {
        let (mut suspicion, mut heard, mut rounds) = (Suspicion::default(), 0, liveness::ROUNDS);
        for _ in 0..10 {
            tried(&mut suspicion, 1, heard);
            for _ in 1..rounds {
                assert_eq!(suspicion.judge(heard, false), Finding::Silent);
                assert_eq!(suspicion.refused(&[], heard), Meaning::Repeated);
            }
            heard += 1;
            assert_eq!(suspicion.judge(heard, false), Finding::Lives, "just in time");
            rounds = (2 * rounds).min(liveness::ROUNDS_MAX);
        }
        tried(&mut suspicion, 1, heard);
        assert_eq!(rounds_until_gone(&mut suspicion, heard), liveness::ROUNDS_MAX);
    }

    /// A firewall refuses datagrams to the identity address alone, and the process behind it is stopped.
    #[test]
    fn a_host_that_refuses_at_its_identity_address_alone_is_believed_late() {
        let mut suspicion = Suspicion::default();
        tried(&mut suspicion, 1, 7);
        for _ in 1..liveness::ROUNDS * liveness::CONTRADICTED {
            assert_eq!(suspicion.judge(7, true), Finding::Silent);
            assert_eq!(suspicion.refused(&[], 7), Meaning::Repeated);
        }
        assert_eq!(suspicion.judge(7, true), Finding::Gone, "at last");
    }

    #[test]
    fn a_host_that_refuses_at_a_nic_too_is_believed_soon_unless_the_peer_was_heard_since() {
        for (refused_at_nic, contradicted) in [(7, 1), (6, liveness::CONTRADICTED)] {
            let mut suspicion = Suspicion::default();
            suspicion.refused_at_nic(refused_at_nic);
            tried(&mut suspicion, 1, 7);
            let rounds = (1..10_000).find(|_| {
                let finding = suspicion.judge(7, true);
                suspicion.refused(&[], 7);
                finding == Finding::Gone
            });
            assert_eq!(rounds, Some(liveness::ROUNDS * contradicted));
        }
    }

    #[test]
    fn contradiction_makes_no_trial_longer_than_the_bound() {
        let mut suspicion = Suspicion::default();
        (0..10).for_each(|_| suspicion.was_wrong());
        tried(&mut suspicion, 1, 0);
        let rounds = (1..10_000).find(|_| suspicion.judge(0, true) == Finding::Gone);
        assert_eq!(rounds, Some(liveness::ROUNDS_MAX * liveness::UNREPEATED), "as without it");
    }
}
