//! Whether a peer's process is gone, judged by what its host says and by what comes from the peer.
//!
//! A host that refuses a datagram says that nobody listens at the port. Anybody can forge that, and a firewall says it of processes that live. So
//! peers are knocked at with datagrams that carry a random number, and only a refusal that quotes such a number begins a *trial*: the peer is asked
//! for a sign of life on all ways that there are, and it is gone if none comes for some looks while its host goes on refusing. Any packet from it,
//! all of which are authenticated, ends the trial, and the next one lasts twice as long: a host that refuses datagrams for a process that lives
//! is not to be believed so soon again, because that process may be stopped for a while by then. (One packet may have been under way or unread when
//! the process died, so what is heard after a refusal makes the trial of a dead one longer, but not much.)
//!
//! Hosts bound how many refusals they send (Linux: six at once to one host, then one each second), and all ranks of this host share those. So a trial
//! without further refusals lasts longer, but it does end.
//!
//! Time is counted in looks (of [`crate::watch`], a fifth of a second apart), not by the clock: when this process itself was stopped, signs of life may
//! wait unread for as long as that was.

use tasuki_proto::Time;

/// A number that nobody can guess, in every knock.
pub(crate) type Nonce = [u8; 16];

/// Knocks whose refusals are known: one may come after the next knock has been sent.
const KNOCKS: usize = 4;
/// Looks without a sign of life after which a peer is gone. The first is due at any time, so they take two fifths of a second at least.
const PATIENCE: u32 = 3;
/// However often a host was wrong, patience is no more looks than this, which take half a minute, or the death of the process would never be noticed.
const PATIENCE_MAX: u32 = 150;
/// So many times as long a trial lasts if its host, though knocked at with every look, has said nothing more.
const UNREPEATED: u32 = 2;

/// A knock that was sent.
#[derive(Clone, Copy)]
struct Knock {
    nonce: Nonce,
    /// Packets that had come from the peer until then.
    heard: u64,
}

/// A refused knock waits for a sign of life.
#[derive(Clone, Copy)]
struct Trial {
    /// Packets that had come from the peer when the knock was sent.
    heard: u64,
    /// Looks since then.
    looks: u32,
    /// The host has refused something more since the first look.
    repeated: bool,
}

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// It quotes no knock, or the peer has been heard since that knock. It may be true all the same: knock.
    Hint,
    /// A trial begins.
    Begins,
    /// A trial is under way.
    Repeated,
}

/// What a look at a trial has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// There is none.
    Nothing,
    /// The peer lives.
    Lives,
    /// It has not been heard yet: ask again, it and its host.
    Silent,
    /// It is gone.
    Gone,
}

/// What is known about the death of one peer.
pub(crate) struct Doubt {
    knocks: [Option<Knock>; KNOCKS],
    trial: Option<Trial>,
    /// Looks that a trial lasts.
    patience: u32,
    /// When it was last knocked at.
    pub knocked_at: Time,
    /// Nobody had said a word when the trial began. That such a peer is gone is no news for people: it has left before it had anything to say.
    pub is_stranger: bool,
}

impl Default for Doubt {
    fn default() -> Doubt {
        Doubt {
            knocks: [None; KNOCKS],
            trial: None,
            patience: PATIENCE,
            knocked_at: Time(0),
            is_stranger: false,
        }
    }
}

impl Doubt {
    /// A knock leaves. So many packets have come from the peer until now.
    pub fn knocked(&mut self, nonce: Nonce, heard: u64, now: Time) {
        self.knocked_at = now;
        self.knocks.rotate_right(1);
        self.knocks[0] = Some(Knock { nonce, heard });
    }

    /// The peer's host itself has refused a datagram that began with `quote`; `heard`: packets that have come from the peer.
    pub fn refused(&mut self, quote: &[u8], heard: u64) -> Word {
        if let Some(trial) = &mut self.trial {
            // Here any packet will do, not knocks alone: which of them a busy host refuses is chance.
            trial.repeated |= trial.looks > 0;
            return Word::Repeated;
        }
        let quoted = |knock: &mut Knock| quote.get(..knock.nonce.len()) == Some(&knock.nonce[..]);
        let Some(knock) = self.knocks.iter_mut().find_map(|knock| knock.take_if(quoted)) else {
            return Word::Hint;
        };
        if knock.heard != heard {
            self.was_wrong();
            return Word::Hint;
        }
        self.trial = Some(Trial { heard, looks: 0, repeated: false });
        Word::Begins
    }

    /// The peer's host has refused a knock, and then the peer was heard.
    fn was_wrong(&mut self) {
        self.patience = (2 * self.patience).min(PATIENCE_MAX);
    }

    /// A trial is under way.
    pub fn is_open(&self) -> bool {
        self.trial.is_some()
    }

    /// Another look; `heard`: packets that have come from the peer.
    pub fn look(&mut self, heard: u64) -> Finding {
        let Some(trial) = &mut self.trial else { return Finding::Nothing };
        if trial.heard != heard {
            self.trial = None;
            self.was_wrong();
            return Finding::Lives;
        }
        trial.looks += 1;
        let patience = if trial.repeated { self.patience } else { self.patience * UNREPEATED };
        if trial.looks >= patience { Finding::Gone } else { Finding::Silent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram's payload that begins with `nonce`, as an ICMP message quotes it.
    fn quote(nonce: Nonce) -> Vec<u8> {
        [&nonce[..], &[0; 3]].concat()
    }

    /// Looks at a peer from which nothing comes, and whose host refuses on, until it is held to be gone.
    fn looks_until_gone(doubt: &mut Doubt, heard: u64) -> u32 {
        let looks = (1..10_000).find(|_| {
            let finding = doubt.look(heard);
            assert_eq!(doubt.refused(&[], heard), Word::Repeated);
            finding == Finding::Gone
        });
        looks.expect("a bound")
    }

    /// A knock with this number has been refused, and nothing has come since.
    fn tried(doubt: &mut Doubt, number: u8, heard: u64) {
        doubt.knocked([number; 16], heard, Time(0));
        assert_eq!(doubt.refused(&quote([number; 16]), heard), Word::Begins);
    }

    #[test]
    fn who_is_refused_and_silent_is_gone() {
        let mut doubt = Doubt::default();
        assert_eq!(doubt.look(7), Finding::Nothing);
        tried(&mut doubt, 1, 7);
        assert_eq!(looks_until_gone(&mut doubt, 7), PATIENCE);
    }

    #[test]
    fn one_refusal_is_enough_if_no_more_come_but_not_so_soon() {
        let mut doubt = Doubt::default();
        tried(&mut doubt, 1, 0);
        // More of them before the first look are of the same moment.
        assert_eq!(doubt.refused(&quote([1; 16]), 0), Word::Repeated);
        for _ in 1..PATIENCE * UNREPEATED {
            assert_eq!(doubt.look(0), Finding::Silent);
        }
        assert_eq!(doubt.look(0), Finding::Gone);
    }

    #[test]
    fn refusals_that_quote_no_knock_begin_nothing() {
        let mut doubt = Doubt::default();
        assert_eq!(doubt.refused(&[], 0), Word::Hint, "nothing was knocked at");
        doubt.knocked([1; 16], 0, Time(0));
        for forged in [&[][..], &[1; 15], &[2; 16], &[0; 500]] {
            assert_eq!(doubt.refused(forged, 0), Word::Hint, "{forged:?}");
        }
        assert!(!doubt.is_open());
        assert_eq!(doubt.look(0), Finding::Nothing);
    }

    #[test]
    fn refusals_may_come_after_the_next_knock_but_not_for_ever() {
        let mut doubt = Doubt::default();
        for number in 0..6 {
            doubt.knocked([number; 16], 0, Time(0));
        }
        assert_eq!(doubt.refused(&quote([1; 16]), 0), Word::Hint);
        assert_eq!(doubt.refused(&quote([2; 16]), 0), Word::Begins);
    }

    #[test]
    fn who_was_heard_after_the_knock_lives() {
        let mut doubt = Doubt::default();
        doubt.knocked([1; 16], 3, Time(0));
        assert_eq!(doubt.refused(&quote([1; 16]), 4), Word::Hint);
        assert!(!doubt.is_open());
        assert_eq!(doubt.patience, 2 * PATIENCE, "its host was wrong");
        assert_eq!(doubt.refused(&quote([1; 16]), 4), Word::Hint);
        assert_eq!(doubt.patience, 2 * PATIENCE, "the same knock once more");
        tried(&mut doubt, 2, 4);
        assert_eq!(doubt.look(4), Finding::Silent);
        assert_eq!(doubt.look(5), Finding::Lives);
        assert!(!doubt.is_open());
    }

    #[test]
    fn a_host_that_was_wrong_is_believed_later_each_time_up_to_half_a_minute() {
        let (mut doubt, mut heard, mut patience) = (Doubt::default(), 0, PATIENCE);
        for _ in 0..10 {
            tried(&mut doubt, 1, heard);
            for _ in 1..patience {
                assert_eq!(doubt.look(heard), Finding::Silent);
                assert_eq!(doubt.refused(&[], heard), Word::Repeated);
            }
            heard += 1;
            assert_eq!(doubt.look(heard), Finding::Lives, "just in time");
            patience = (2 * patience).min(PATIENCE_MAX);
        }
        tried(&mut doubt, 1, heard);
        assert_eq!(looks_until_gone(&mut doubt, heard), PATIENCE_MAX);
    }
}
