//! Whether there is a processor for everybody, so that two may work where one could.

use crate::clock::Clock;
use crate::crowd::Crowd;
use tasuki_proto::Time;

/// That there is a processor is true for so long, ns: to ask the kernel takes two microseconds.
const FREE_FOR: u64 = 10_000_000;
/// And that there is none: whatever runs for a moment, on a small machine, makes a crowd.
const CROWDED_FOR: u64 = 1_000_000;

/// Knows by what this endpoint's own thread has seen (others have wanted its processor), and by asking the kernel.
pub(crate) struct Company {
    pub crowd: Crowd,
    clock: Clock,
    /// When a yield was last taken up as the one before.
    wanted: Option<Time>,
    crowded: bool,
    asked: Option<Time>,
    /// That is taken for granted.
    pub assumed: bool,
}

impl Default for Company {
    fn default() -> Company {
        Company {
            crowd: Crowd::default(),
            clock: Clock::new(),
            wanted: None,
            crowded: false,
            asked: None,
            assumed: false,
        }
    }
}

impl Company {
    /// The last offers of this thread's processor were taken up, or not.
    pub fn tell(&mut self, wanted: bool) {
        self.wanted = wanted.then(|| self.clock.now());
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// There is a processor for everybody.
    pub fn has_core(&mut self) -> bool {
        if self.assumed {
            return true;
        }
        let now = self.clock.now();
        let holds = |since: Option<Time>, time| since.is_some_and(|since| now.since_ns(since) < time);
        if holds(self.wanted, CROWDED_FOR) {
            return false;
        }
        if !holds(self.asked, if self.crowded { CROWDED_FOR } else { FREE_FOR }) {
            (self.asked, self.crowded) = (Some(now), self.crowd.is_there());
        }
        !self.crowded
    }
}
