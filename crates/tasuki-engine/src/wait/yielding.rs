//! Yielding: how long a program that polls keeps the processor to itself, and how it offers it to others.
//!
//! With a processor for every rank, to poll without pause answers soonest. With more ranks than processors a
//! rank that polls keeps the one that it waits for from running. Which of the two it is shows by itself: a
//! yield that takes long has let somebody run.
//!
//! A yield that returns at once need not mean that nobody wants to run. Where ranks are scheduled in groups
//! (each in a session or a container of its own) a yield is for the own group alone: Linux 6.18 lets the
//! yielding thread go on, for hundreds of milliseconds, while the rank that it waits for has no processor. So
//! a rank that has been given nothing for some time, whose yields are not taken up, and that knows of an
//! oversubscription, takes naps. A nap gives the processor to any thread that wants it. Decision 10 of
//! `docs/adr` has the measurements.

use std::time::Duration;

use tasuki_proto::Time;
use tasuki_tuning::wait;

/// Decides after how many polls without anything new the processor is offered to others, and how.
pub(super) struct Yielding {
    /// Polls in a row that found nothing.
    idle: u32,
    /// After so many of them the processor is offered.
    limit: u32,
    /// When the processor was first offered since the program was given something.
    since: Option<Time>,
    /// Yields in a row that returned at once.
    refused: u32,
    /// Yields in a row that let somebody run.
    taken_up: u32,
    oversubscribed: bool,
    /// When [`Yielding::oversubscribed`] was learnt.
    learnt: Option<Time>,
    /// When a peer was last greeted, or has answered.
    met: Option<Time>,
}

/// How the processor is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// By a yield.
    Yield,
    /// By a sleep of this length, or until a packet arrives.
    Nap(Duration),
}

impl Yielding {
    pub fn new() -> Yielding {
        Yielding {
            idle: 0,
            limit: wait::YIELD_POLLS_UNWANTED,
            since: None,
            refused: 0,
            taken_up: 0,
            oversubscribed: false,
            learnt: None,
            met: None,
        }
    }

    /// Counts a poll that has found nothing. False, and the poll is not counted, if it is time to offer the
    /// processor.
    #[inline]
    pub fn keeps_processor(&mut self) -> bool {
        let on = self.idle < self.limit;
        self.idle += u32::from(on);
        on
    }

    /// Counts a poll in which something was done (`busy`), or the program was even given something (`given`).
    /// True if it is time to offer the processor.
    #[inline]
    pub fn count_poll(&mut self, busy: bool, given: bool) -> bool {
        if given {
            self.since = None;
        }
        self.idle = if busy || given { 0 } else { self.idle + 1 };
        let over = self.idle > self.limit;
        if over {
            // An offer takes as long as several polls, so it is not made after each; when others want the
            // processor it is.
            self.idle -= self.limit / wait::YIELD_AGAIN_SHARE;
        }
        over
    }

    /// Decides how to offer the processor, by a yield or by a nap, when it is time to offer it.
    pub fn rest(&mut self, now: Time) -> Rest {
        self.since.get_or_insert(now);
        if self.oversubscribed && self.has_waited(now) { Rest::Nap(wait::NAP) } else { Rest::Yield }
    }

    /// A peer is being met.
    pub fn meeting(&mut self, now: Time) {
        self.met = Some(now);
    }

    /// The program has waited for long, and its yields were not taken up.
    fn has_waited(&self, now: Time) -> bool {
        let meeting = self.met.is_some_and(|met| now.since_ns(met) < wait::MEETING_NS);
        let (refused, waited) = match meeting {
            true => (wait::NAP_REFUSED_MIN_MEETING, wait::NAP_WAITED_MIN_MEETING_NS),
            false => (wait::NAP_REFUSED_MIN, wait::NAP_WAITED_MIN_NS),
        };
        self.refused >= refused && self.since.is_some_and(|since| now.since_ns(since) >= waited)
    }

    /// Whether the last yields were taken up. One alone may have been for a thread that comes and goes.
    pub fn is_taken_up(&self) -> bool {
        self.taken_up > 1
    }

    /// Counts a yield that returned after `took`. Only after many yields that were not taken up does the rank
    /// believe that no other thread wants the processor any more.
    pub fn yielded(&mut self, took: Duration) {
        let taken_up = took > wait::YIELD_TAKEN_UP;
        self.taken_up = if taken_up { self.taken_up.saturating_add(1) } else { 0 };
        self.refused = if taken_up { 0 } else { self.refused.saturating_add(1) };
        self.limit = if taken_up {
            wait::YIELD_POLLS_WANTED
        } else {
            (self.limit + 1).min(wait::YIELD_POLLS_UNWANTED)
        };
    }

    /// A nap is over. The next one comes after a few polls.
    pub fn napped(&mut self) {
        (self.idle, self.limit) = (0, wait::YIELD_POLLS_WANTED);
    }

    /// Whether it wants to learn if the processors are oversubscribed.
    pub fn asks(&self, now: Time) -> bool {
        self.has_waited(now) && self.learnt.is_none_or(|learnt| now.since_ns(learnt) >= wait::ASK_AGAIN_NS)
    }

    /// Whether they are.
    pub fn learn(&mut self, oversubscribed: bool, now: Time) {
        (self.oversubscribed, self.learnt) = (oversubscribed, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yield_that_is_taken_up_makes_the_next_offer_come_sooner() {
        let mut yielding = Yielding::new();
        let rounds = |yielding: &mut Yielding| {
            yielding.count_poll(true, false);
            (1..).find(|_| yielding.count_poll(false, false)).expect("an offer")
        };
        assert_eq!(rounds(&mut yielding), wait::YIELD_POLLS_UNWANTED + 1);
        yielding.yielded(wait::YIELD_TAKEN_UP * 2);
        assert_eq!(rounds(&mut yielding), wait::YIELD_POLLS_WANTED + 1);
        yielding.yielded(wait::YIELD_TAKEN_UP / 2);
        assert_eq!(rounds(&mut yielding), wait::YIELD_POLLS_WANTED + 2);
    }

    #[test]
    fn offers_are_repeated() {
        let mut yielding = Yielding::new();
        let yields =
            |yielding: &mut Yielding| (0..1000).filter(|_| yielding.count_poll(false, false)).count();
        let again = wait::YIELD_POLLS_UNWANTED / wait::YIELD_AGAIN_SHARE;
        assert_eq!(
            yields(&mut yielding),
            1 + (1000 - wait::YIELD_POLLS_UNWANTED as usize - 1) / again as usize
        );
        yielding.yielded(wait::YIELD_TAKEN_UP * 2);
        assert_eq!(yields(&mut yielding), 1000);
    }

    fn is_nap(rest: Rest) -> bool {
        matches!(rest, Rest::Nap(_))
    }

    /// Yields every 10 us in vain. Gives the time of the first nap within 10 ms, if there is one.
    fn first_nap(yielding: &mut Yielding, start: u64, oversubscribed: bool) -> Option<u64> {
        (start..start + 10_000_000).step_by(10_000).find_map(|ns| {
            let now = Time(ns);
            if is_nap(yielding.rest(now)) {
                return Some(ns - start);
            }
            yielding.yielded(Duration::ZERO);
            if yielding.asks(now) {
                yielding.learn(oversubscribed, now);
            }
            None
        })
    }

    #[test]
    fn a_rank_that_waits_while_oversubscribed_naps() {
        assert_eq!(first_nap(&mut Yielding::new(), 0, false), None, "there is a processor for everybody");
        let mut yielding = Yielding::new();
        // The rank asks for oversubscription after an offer, and knows the answer at the next offer.
        assert_eq!(first_nap(&mut yielding, 0, true), Some(wait::NAP_WAITED_MIN_NS + 10_000));
        yielding.napped();
        let now = Time(1_000_000);
        assert_eq!(yielding.rest(now), Rest::Nap(wait::NAP), "again");
        yielding.learn(false, now);
        assert_eq!(yielding.rest(now), Rest::Yield, "not oversubscribed any more");
        yielding.learn(true, now);
        yielding.yielded(wait::YIELD_TAKEN_UP * 2);
        assert_eq!(yielding.rest(now), Rest::Yield, "yields are taken up");
    }

    #[test]
    fn only_what_the_program_is_given_ends_its_wait() {
        let mut yielding = Yielding::new();
        first_nap(&mut yielding, 0, true).expect("a nap");
        yielding.count_poll(true, false);
        assert_eq!(yielding.rest(Time(1_000_000)), Rest::Nap(wait::NAP), "packets of others are no message");
        yielding.count_poll(true, true);
        assert_eq!(first_nap(&mut yielding, 2_000_000, true), Some(wait::NAP_WAITED_MIN_NS));
    }

    #[test]
    fn a_rank_that_meets_its_peers_naps_sooner() {
        let mut yielding = Yielding::new();
        yielding.meeting(Time(0));
        assert_eq!(
            first_nap(&mut yielding, 0, true),
            Some(u64::from(wait::NAP_REFUSED_MIN_MEETING) * 10_000)
        );
        yielding.count_poll(false, true);
        assert_eq!(
            first_nap(&mut yielding, wait::MEETING_NS, true),
            Some(wait::NAP_WAITED_MIN_NS),
            "long ago"
        );
    }
}
