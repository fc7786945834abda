//! Whether a rail lives: an own NIC and a NIC at the other end of a cable or switch.
//!
//! A rail is dead when the carrier is gone, when nothing has come for [`SILENCE`], or when the other end says
//! that it hears nothing. It is alive again once all has been well for a while, which is longer after each
//! death that follows soon on the one before: a loose contact does not make routes flap.

use std::time::Duration;

/// How long a rail may be silent: the time of six hellos.
pub const SILENCE: Duration = Duration::from_millis(300);
/// Number of successive hellos in which the other end must leave out this host before it counts as not
/// hearing it. One is not enough: it may have been under way when this host sent its first hello.
const DEAF: u32 = 2;
/// How long all must be well before a dead rail is used again, at first.
const PROOF: Duration = Duration::from_secs(1);
/// The longest time to which [`PROOF`] grows.
const PROOF_MAX: Duration = Duration::from_secs(30);
/// After this long a life, the next death of a rail is judged like its first.
const TRUST: Duration = Duration::from_secs(60);
/// How long both ends must have run before it means something that they never heard each other.
pub const START: Duration = Duration::from_secs(2);

/// What is known of a rail. Times count from the beginning of the watch.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    heard_at: Option<Duration>,
    /// Whether the other end says that it hears this host; `None`: it has said nothing yet.
    is_heard: Option<bool>,
    /// Number of successive hellos in which the other end, which should hear this host, does not say so.
    deaf: u32,
    carrier: bool,
    dead: bool,
    well_since: Option<Duration>,
    alive_since: Duration,
    proof: Duration,
}

impl Liveness {
    /// A rail of which nothing is known yet. It counts as alive.
    pub fn new() -> Self {
        Self { carrier: true, proof: PROOF, ..Self::default() }
    }

    /// Records that a hello came. `is_heard`: it names the own NIC among those that it hears; `is_sure`: both
    /// ends have sent hellos for long enough that it should.
    pub fn hear(&mut self, now: Duration, is_heard: bool, is_sure: bool) {
        (self.heard_at, self.is_heard) = (Some(now), Some(is_heard));
        self.deaf = if is_heard || !is_sure { 0 } else { self.deaf.saturating_add(1) };
    }

    /// Records that frames other than hellos came, on a cable that has one other end.
    pub fn hear_data(&mut self, now: Duration) {
        if self.heard_at.is_some() {
            self.heard_at = Some(now);
        }
    }

    /// Records whether there is a carrier.
    pub fn set_carrier(&mut self, carrier: bool) {
        self.carrier = carrier;
    }

    /// Leaves out of account a time in which this process was not run: what it did not receive then proves
    /// nothing.
    pub fn forgive(&mut self, gap: Duration) {
        self.heard_at = self.heard_at.map(|at| at + gap);
    }

    /// Forgets what was received, because the other end has announced its end or its silence proves nothing
    /// any more.
    pub fn forget(&mut self) {
        *self = Self { carrier: self.carrier, proof: self.proof, ..Self::new() };
    }

    /// Whether something was received within the last [`SILENCE`].
    pub fn is_audible(&self, now: Duration) -> bool {
        self.heard_at.is_some_and(|at| now.saturating_sub(at) <= SILENCE)
    }

    /// Whether the rail is dead.
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Judges again. `awaited`: both ends have run for [`START`], so that something should have come. Returns
    /// whether the judgement changed.
    pub fn judge(&mut self, now: Duration, awaited: bool) -> bool {
        let silent = match self.heard_at {
            Some(_) => !self.is_audible(now),
            None => awaited,
        };
        let is_well = self.carrier && !silent && self.deaf < DEAF;
        let before = self.dead;
        if !is_well {
            self.well_since = None;
            if !self.dead {
                let lived = now.saturating_sub(self.alive_since);
                self.proof = if lived > TRUST || before_first(self.alive_since) {
                    PROOF
                } else {
                    (self.proof * 2).min(PROOF_MAX)
                };
                self.dead = true;
            }
        } else if self.dead {
            // A peer that was never heard is not silent by the rule above, but that does not prove that it
            // lives.
            let is_proven = self.is_heard == Some(true);
            let since = *self.well_since.get_or_insert(now);
            if is_proven && now.saturating_sub(since) >= self.proof {
                (self.dead, self.alive_since) = (false, now);
            }
        }
        self.dead != before
    }
}

/// Whether the rail has never come back to life: then its death is its first, and no flapping.
fn before_first(alive_since: Duration) -> bool {
    alive_since.is_zero()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Receives a hello every 50 ms from `from` to `to`. Returns the times at which the judgement changed.
    fn talk(rail: &mut Liveness, from: u64, to: u64, is_heard: bool) -> Vec<u64> {
        let mut changes = Vec::new();
        for now in (from..to).step_by(50) {
            rail.hear(ms(now), is_heard, true);
            if rail.judge(ms(now), true) {
                changes.push(now);
            }
        }
        changes
    }

    fn wait(rail: &mut Liveness, from: u64, to: u64) -> Vec<u64> {
        (from..to).step_by(50).filter(|&now| rail.judge(ms(now), true)).collect()
    }

    #[test]
    fn silence_kills_after_six_hellos_and_a_second_of_speech_revives() {
        let mut rail = Liveness::new();
        assert_eq!(talk(&mut rail, 0, 1000, true), [0; 0]);
        // The last hello came at 950 ms.
        assert_eq!(wait(&mut rail, 1000, 2000), [1300]);
        assert_eq!(talk(&mut rail, 2000, 4000, true), [3000]);
    }

    #[test]
    fn a_death_in_one_direction_is_known_by_what_the_other_end_says() {
        let mut rail = Liveness::new();
        talk(&mut rail, 0, 500, true);
        assert_eq!(talk(&mut rail, 500, 600, false), [550]);
        // A peer that has just started has had no time to hear this host.
        let mut rail = Liveness::new();
        rail.hear(ms(10), false, false);
        assert!(!rail.judge(ms(10), false) && !rail.is_dead());
    }

    #[test]
    fn every_death_that_follows_soon_doubles_the_proof() {
        let mut rail = Liveness::new();
        talk(&mut rail, 0, 500, true);
        wait(&mut rail, 500, 1000);
        assert_eq!(talk(&mut rail, 1000, 3000, true), [2000]);
        wait(&mut rail, 3000, 4000);
        assert_eq!(talk(&mut rail, 4000, 8000, true), [6000]);
    }

    #[test]
    fn a_lost_carrier_is_death_and_a_sleep_of_this_process_is_not() {
        let mut rail = Liveness::new();
        talk(&mut rail, 0, 500, true);
        rail.set_carrier(false);
        assert!(rail.judge(ms(510), true));
        let mut rail = Liveness::new();
        talk(&mut rail, 0, 500, true);
        rail.forgive(ms(2000));
        assert!(!rail.judge(ms(2500), true), "this process slept; the other end did not");
        // Data proves as much as hellos do.
        rail.hear_data(ms(2700));
        assert!(!rail.judge(ms(2900), true));
    }

    #[test]
    fn never_heard_is_dead_only_where_both_ends_should_speak() {
        let mut rail = Liveness::new();
        assert!(!rail.judge(ms(60_000), false));
        assert!(rail.judge(ms(60_000), true));
    }
}
