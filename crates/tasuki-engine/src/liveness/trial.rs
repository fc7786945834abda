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
mod tests;
