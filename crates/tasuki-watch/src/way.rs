//! One way: an own NIC and a NIC at the other end of a cable or switch. Whether it lives.
//!
//! A way is dead when the carrier is gone, when nothing has come for [`SILENCE`], or when the other end says that it hears
//! nothing. It lives again once all is well for a while, longer after every death that follows soon: a loose contact does not
//! make routes flap.

use std::time::Duration;

/// So long nothing may be heard: six hellos.
pub const SILENCE: Duration = Duration::from_millis(300);
/// So many hellos in turn must leave us out: one may have been on its way when we spoke for the first time.
const DEAF: u32 = 2;
/// So long a way must be well before it is used again.
const PROOF: Duration = Duration::from_secs(1);
/// The longest that this grows to.
const PROOF_MAX: Duration = Duration::from_secs(30);
/// A way that has lived so long has earned the shortest proof again.
const TRUST: Duration = Duration::from_secs(60);
/// So long both ends must have watched before it means something that they never heard each other.
pub const START: Duration = Duration::from_secs(2);

/// What is known of a way. Times are since the watch began.
#[derive(Clone, Debug, Default)]
pub struct Way {
    heard_at: Option<Duration>,
    /// The other end says that it hears us; `None`: it has said nothing.
    is_heard: Option<bool>,
    /// Hellos in turn that say that the other end, which should, does not hear us.
    deaf: u32,
    carrier: bool,
    dead: bool,
    well_since: Option<Duration>,
    alive_since: Duration,
    proof: Duration,
}

impl Way {
    /// A way of which nothing is known yet; it counts as alive.
    pub fn new() -> Self {
        Self { carrier: true, proof: PROOF, ..Self::default() }
    }

    /// A hello came. `is_heard`: it names our NIC among those that it hears; `is_sure`: both ends have spoken long enough for that.
    pub fn hear(&mut self, now: Duration, is_heard: bool, is_sure: bool) {
        (self.heard_at, self.is_heard) = (Some(now), Some(is_heard));
        self.deaf = if is_heard || !is_sure { 0 } else { self.deaf.saturating_add(1) };
    }

    /// Frames came that are no hellos, on a cable that has no other end.
    pub fn is_busy(&mut self, now: Duration) {
        if self.heard_at.is_some() {
            self.heard_at = Some(now);
        }
    }

    /// The carrier is as it is.
    pub fn set_carrier(&mut self, carrier: bool) {
        self.carrier = carrier;
    }

    /// This process slept so long without meaning to: what it did not hear then says nothing.
    pub fn forgive(&mut self, gap: Duration) {
        self.heard_at = self.heard_at.map(|at| at + gap);
    }

    /// The other end has taken its leave, or nothing is to be concluded from its silence any more.
    pub fn forget(&mut self) {
        *self = Self { carrier: self.carrier, proof: self.proof, ..Self::new() };
    }

    /// When the other end was last heard.
    pub fn is_audible(&self, now: Duration) -> bool {
        self.heard_at.is_some_and(|at| now.saturating_sub(at) <= SILENCE)
    }

    /// Whether it is dead.
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Judges anew. `awaited`: both ends have watched for [`START`], so that something should have come. True if the judgement changed.
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
            // Silence of a peer that was never heard is no proof of life either.
            let is_proven = self.is_heard == Some(true);
            let since = *self.well_since.get_or_insert(now);
            if is_proven && now.saturating_sub(since) >= self.proof {
                (self.dead, self.alive_since) = (false, now);
            }
        }
        self.dead != before
    }
}

/// It has not come back yet, so its first death is no flapping.
fn before_first(alive_since: Duration) -> bool {
    alive_since.is_zero()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Heard every 50 ms from `from` to `to`; returns when the judgement changed.
    fn talk(way: &mut Way, from: u64, to: u64, is_heard: bool) -> Vec<u64> {
        let mut changes = Vec::new();
        for now in (from..to).step_by(50) {
            way.hear(ms(now), is_heard, true);
            if way.judge(ms(now), true) {
                changes.push(now);
            }
        }
        changes
    }

    fn wait(way: &mut Way, from: u64, to: u64) -> Vec<u64> {
        (from..to).step_by(50).filter(|&now| way.judge(ms(now), true)).collect()
    }

    #[test]
    fn silence_kills_after_six_hellos_and_a_second_of_speech_revives() {
        let mut way = Way::new();
        assert_eq!(talk(&mut way, 0, 1000, true), [0; 0]);
        // Heard last at 950.
        assert_eq!(wait(&mut way, 1000, 2000), [1300]);
        assert_eq!(talk(&mut way, 2000, 4000, true), [3000]);
    }

    #[test]
    fn one_way_death_is_known_by_the_others_word() {
        let mut way = Way::new();
        talk(&mut way, 0, 500, true);
        assert_eq!(talk(&mut way, 500, 600, false), [550]);
        // A peer that has just started has not had time to hear.
        let mut way = Way::new();
        way.hear(ms(10), false, false);
        assert!(!way.judge(ms(10), false) && !way.is_dead());
    }

    #[test]
    fn every_soon_death_doubles_the_proof() {
        let mut way = Way::new();
        talk(&mut way, 0, 500, true);
        wait(&mut way, 500, 1000);
        assert_eq!(talk(&mut way, 1000, 3000, true), [2000]);
        wait(&mut way, 3000, 4000);
        assert_eq!(talk(&mut way, 4000, 8000, true), [6000]);
    }

    #[test]
    fn carrier_and_own_sleep() {
        let mut way = Way::new();
        talk(&mut way, 0, 500, true);
        way.set_carrier(false);
        assert!(way.judge(ms(510), true));
        let mut way = Way::new();
        talk(&mut way, 0, 500, true);
        way.forgive(ms(2000));
        assert!(!way.judge(ms(2500), true), "we slept, nobody else did");
        // Data says as much as hellos.
        way.is_busy(ms(2700));
        assert!(!way.judge(ms(2900), true));
    }

    #[test]
    fn never_heard_is_dead_only_where_both_ends_should_speak() {
        let mut way = Way::new();
        assert!(!way.judge(ms(60_000), false));
        assert!(way.judge(ms(60_000), true));
    }
}
