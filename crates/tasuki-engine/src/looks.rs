//! How many looks into memory alone there are between two at everything.
//!
//! A look into memory takes a few nanoseconds, a look at everything, with the clock, a hundred, during which a message that comes waits. A program that does nothing
//! but poll can have dozens of the former between two of the latter and is still never late for anything else; for one that does other things between
//! its looks that would be long. So their number follows the time that they take.

use tasuki_proto::Time;

/// Fewest between two looks at everything.
const FEWEST: u32 = 8;
/// Most.
const MOST: u32 = 64;
/// If they take less than this there may be more, ns: they will then take twice as long.
const QUICK: u64 = 4_000;
/// If they take more than this there are as few as may be, ns.
const SLOW: u64 = 10_000;

/// Counts looks.
pub(crate) struct Looks {
    left: u32,
    between: u32,
    /// When all was looked at last.
    last: Time,
}

impl Looks {
    pub fn new() -> Looks {
        Looks { left: FEWEST, between: FEWEST, last: Time(0) }
    }

    /// Not everything is due yet.
    #[inline(always)]
    pub fn remain(&self) -> bool {
        self.left > 0
    }

    /// So many more may be into memory alone.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// One is over.
    #[inline(always)]
    pub fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Everything is due at the next one.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// All is being looked at. There are as few as may be before the next time if others than those on this host may have something to say.
    pub fn begin(&mut self, now: Time, alone: bool) {
        let took = now.since_ns(self.last);
        self.between = match took {
            _ if !alone => FEWEST,
            ..QUICK => (2 * self.between).min(MOST),
            QUICK..=SLOW => self.between,
            _ => FEWEST,
        };
        (self.left, self.last) = (self.between, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks between two at everything, if each takes so long, ns, after many of them.
    fn looks(each: u64) -> u32 {
        let (mut looks, mut now, mut between) = (Looks::new(), 0, 0);
        for _ in 0..1000 {
            now += each;
            looks.count();
            between += 1;
            if !looks.remain() {
                looks.begin(Time(now), true);
                if now > 900 * each {
                    return between;
                }
                between = 0;
            }
        }
        panic!("there is an end");
    }

    #[test]
    fn nothing_is_late_by_more_than_ten_microseconds() {
        assert_eq!(looks(1), MOST);
        for each in [1, 10, 30, 100, 300, 1_000, 100_000] {
            let between = looks(each);
            let time = u64::from(between) * each;
            assert!(time <= SLOW || between == FEWEST, "{between} looks of {each} ns");
        }
    }

    #[test]
    fn who_was_away_looks_at_everything_soon() {
        let mut looks = Looks::new();
        (1..100).for_each(|now| looks.begin(Time(now), true));
        looks.begin(Time(1_000_000), true);
        (0..FEWEST).for_each(|_| looks.count());
        assert!(!looks.remain());
        looks.begin(Time(1_000_100), true);
        looks.end();
        assert!(!looks.remain());
    }
}
