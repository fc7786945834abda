//! How long a program that polls keeps the processor to itself.
//!
//! With a core for every rank, polling without pause answers soonest. With more ranks than cores the one that polls keeps away the
//! one it waits for. Which of the two it is nobody needs to tell: a yield that takes long has let somebody else run.
//!
//! One that returns at once need not mean that nobody wants to run. Where ranks are scheduled in groups (each in a session or a container of its own) a
//! yield is for the own group alone: Linux 6.18 lets whoever yields go on, for hundreds of milliseconds, while the one it waits for has no processor.
//! So whoever waits for a message and has been given nothing for some time, whose offers are refused, in a crowd, takes naps, which nobody can refuse.

use std::time::Duration;

use tasuki_proto::Time;

/// Decides after how many rounds without anything new the processor is offered to others, and how.
pub(crate) struct Patience {
    idle: u32,
    limit: u32,
    /// The first offer since the program was given something.
    since: Option<Time>,
    /// Offers in a row that nobody took up.
    refused: u32,
    /// Offers in a row that somebody did.
    taken_up: u32,
    /// How long the next nap lasts.
    nap: Duration,
    /// More want to run than there are processors.
    crowd: bool,
    /// When that was told last.
    told: Option<Time>,
    /// When a peer was last greeted, or has answered.
    met: Option<Time>,
}

/// How the processor is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// By a yield.
    Offer,
    /// By a sleep of so long, or until a packet comes.
    Nap(Duration),
}

/// Rounds when others want the processor: a microsecond.
const SHORT: u32 = 2;
/// Rounds when nobody does.
const LONG: u32 = 192;
/// A yield that nobody takes up returns sooner.
const TAKEN_UP: Duration = Duration::from_micros(5);

/// The first nap is so short that what the program looks after besides does not suffer: it polls other things, too, in the same loop.
pub(crate) const NAP: Duration = Duration::from_micros(50);
/// In a row, none of which has brought the program anything, each nap is twice as long as the one before, up to this: of many ranks on a processor the naps of those
/// who wait take the time from those who work.
const LONGEST_NAP: Duration = Duration::from_micros(800);
/// Offers in vain before there may be naps: a few microseconds with a crowd.
const REFUSED: u32 = 16;
/// Time without anything for the program after which there may be naps, ns: longer than the steps of programs whose ranks take turns on a processor.
const WAITED: u64 = 1_000_000;
/// The same while peers are being met, of which many have never had a processor since they were greeted.
const WAITED_MEETING: u64 = 10_000;
/// Offers in vain, likewise.
const REFUSED_MEETING: u32 = 2;
/// Peers are being met for so long after one was greeted or has answered, ns.
const MEETING: u64 = 50_000_000;
/// Whether there is a crowd is asked again after this time, ns.
const ASK_AGAIN: u64 = 1_000_000;

impl Patience {
    pub fn new() -> Patience {
        Patience {
            idle: 0,
            limit: LONG,
            since: None,
            refused: 0,
            taken_up: 0,
            nap: NAP,
            crowd: false,
            told: None,
            met: None,
        }
    }

    /// A round in which nothing was done is over; false, and it is not counted, if it is time to offer the processor to others.
    #[inline]
    pub fn goes_on(&mut self) -> bool {
        let on = self.idle < self.limit;
        self.idle += u32::from(on);
        on
    }

    /// A round is over, in which something was done, or even the program was given something; true if it is time to offer the processor to others.
    #[inline]
    pub fn is_over(&mut self, busy: bool, given: bool) -> bool {
        if given {
            (self.since, self.nap) = (None, NAP);
        }
        self.idle = if busy || given { 0 } else { self.idle + 1 };
        let over = self.idle > self.limit;
        if over {
            // An offer takes as long as several rounds, so it is not made in each; with a crowd it is.
            self.idle -= self.limit / 4;
        }
        over
    }

    /// It is time to offer the processor: how?
    pub fn rest(&mut self, now: Time) -> Rest {
        self.since.get_or_insert(now);
        if self.crowd && self.has_waited(now) { Rest::Nap(self.nap) } else { Rest::Offer }
    }

    /// A peer is being met.
    pub fn meets(&mut self, now: Time) {
        self.met = Some(now);
    }

    /// It has waited for long, and offered the processor in vain.
    fn has_waited(&self, now: Time) -> bool {
        let meeting = self.met.is_some_and(|met| now.since_ns(met) < MEETING);
        let (refused, long) = if meeting { (REFUSED_MEETING, WAITED_MEETING) } else { (REFUSED, WAITED) };
        self.refused >= refused && self.since.is_some_and(|since| now.since_ns(since) >= long)
    }

    /// Others have taken up the last offers. One alone may have been for a thread that comes and goes.
    pub fn is_wanted(&self) -> bool {
        self.taken_up > 1
    }

    /// How long the offer took that is over now. It takes many that nobody takes up to believe that the crowd has gone.
    pub fn offered(&mut self, took: Duration) {
        let taken_up = took > TAKEN_UP;
        self.taken_up = if taken_up { self.taken_up.saturating_add(1) } else { 0 };
        self.refused = if taken_up { 0 } else { self.refused.saturating_add(1) };
        self.limit = if taken_up { SHORT } else { (self.limit + 1).min(LONG) };
    }

    /// A nap is over. The next one comes after a few rounds.
    pub fn napped(&mut self) {
        (self.idle, self.limit) = (0, SHORT);
        self.nap = (self.nap * 2).min(LONGEST_NAP);
    }

    /// It wants to be told whether there is a crowd.
    pub fn asks(&self, now: Time) -> bool {
        self.has_waited(now) && self.told.is_none_or(|told| now.since_ns(told) >= ASK_AGAIN)
    }

    /// Whether there is one.
    pub fn tell(&mut self, crowd: bool, now: Time) {
        (self.crowd, self.told) = (crowd, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_shortens_it_and_it_grows_again() {
        let mut patience = Patience::new();
        let rounds = |patience: &mut Patience| {
            patience.is_over(true, false);
            (1..).find(|_| patience.is_over(false, false)).expect("patience ends")
        };
        assert_eq!(rounds(&mut patience), LONG + 1);
        patience.offered(TAKEN_UP * 2);
        assert_eq!(rounds(&mut patience), SHORT + 1);
        patience.offered(TAKEN_UP / 2);
        assert_eq!(rounds(&mut patience), SHORT + 2);
    }

    #[test]
    fn offers_are_repeated() {
        let mut patience = Patience::new();
        let offers = |patience: &mut Patience| (0..1000).filter(|_| patience.is_over(false, false)).count();
        assert_eq!(offers(&mut patience), 1 + (1000 - LONG as usize - 1) / (LONG as usize / 4));
        patience.offered(TAKEN_UP * 2);
        assert_eq!(offers(&mut patience), 1000);
    }

    fn is_nap(rest: Rest) -> bool {
        matches!(rest, Rest::Nap(_))
    }

    /// Offers the processor every 10 us; gives the time of the first nap within 10 ms, if there is one.
    fn first_nap(patience: &mut Patience, start: u64, crowd: bool) -> Option<u64> {
        (start..start + 10_000_000).step_by(10_000).find_map(|ns| {
            let now = Time(ns);
            if is_nap(patience.rest(now)) {
                return Some(ns - start);
            }
            patience.offered(Duration::ZERO);
            if patience.asks(now) {
                patience.tell(crowd, now);
            }
            None
        })
    }

    #[test]
    fn who_waits_in_a_crowd_naps() {
        assert_eq!(first_nap(&mut Patience::new(), 0, false), None, "there is a processor for everybody");
        let mut patience = Patience::new();
        // It asks after an offer, and knows at the next one.
        assert_eq!(first_nap(&mut patience, 0, true), Some(WAITED + 10_000));
        patience.napped();
        let now = Time(1_000_000);
        assert_eq!(patience.rest(now), Rest::Nap(NAP * 2), "again, and longer");
        patience.tell(false, now);
        assert_eq!(patience.rest(now), Rest::Offer, "the crowd has gone");
        patience.tell(true, now);
        patience.offered(TAKEN_UP * 2);
        assert_eq!(patience.rest(now), Rest::Offer, "yields are taken up");
    }

    #[test]
    fn what_the_program_is_given_ends_the_wait_and_nothing_else() {
        let mut patience = Patience::new();
        first_nap(&mut patience, 0, true).expect("a nap");
        patience.is_over(true, false);
        assert_eq!(patience.rest(Time(1_000_000)), Rest::Nap(NAP), "packets of others are no message");
        patience.is_over(true, true);
        assert_eq!(first_nap(&mut patience, 2_000_000, true), Some(WAITED));
    }

    #[test]
    fn naps_grow_until_the_program_is_given_something() {
        let mut patience = Patience::new();
        first_nap(&mut patience, 0, true).expect("a nap");
        (0..10).for_each(|_| patience.napped());
        assert_eq!(patience.rest(Time(2_000_000)), Rest::Nap(LONGEST_NAP));
        patience.is_over(false, true);
        first_nap(&mut patience, 3_000_000, true).expect("a nap");
        assert_eq!(patience.rest(Time(5_000_000)), Rest::Nap(NAP));
    }

    #[test]
    fn who_meets_peers_naps_sooner() {
        let mut patience = Patience::new();
        patience.meets(Time(0));
        assert_eq!(first_nap(&mut patience, 0, true), Some(u64::from(REFUSED_MEETING) * 10_000));
        patience.is_over(false, true);
        assert_eq!(first_nap(&mut patience, MEETING, true), Some(WAITED), "long ago");
    }
}
