//! The wait policy: how a program that polls and finds nothing spends its time.
//!
//! Four questions, each with an owner of its own: how many polls look at memory alone before one looks at
//! everything ([`poll_budget`]); whether a poll after a send stays for the reply ([`reply_spin`]); when the
//! processor is offered to others, and how ([`yielding`]); and whether anybody wants it
//! ([`oversubscription`]).

#[cfg(test)]
mod cgroup_tests;
pub(crate) mod oversubscription;
mod poll_budget;
mod processors;
mod reply_spin;
pub(crate) mod siblings;
pub(crate) mod yielding;

use std::time::Duration;

use tasuki_proto::Time;

use oversubscription::Oversubscription;
use poll_budget::PollBudget;
use reply_spin::ReplySpin;
use siblings::Siblings;
use yielding::{Rest, Yielding};

/// The wait policy of one endpoint.
pub(crate) struct WaitPolicy {
    budget: PollBudget,
    spin: ReplySpin,
    yielding: Yielding,
    processors: Oversubscription,
    siblings: Siblings,
    /// [`Siblings::served`] when the processor was last offered.
    served: u64,
}

impl WaitPolicy {
    pub fn new(processors: Oversubscription, siblings: Siblings) -> WaitPolicy {
        WaitPolicy {
            budget: PollBudget::new(),
            spin: ReplySpin::default(),
            yielding: Yielding::new(),
            processors,
            siblings,
            served: 0,
        }
    }

    /// Whether more threads than this one want the processors of this process.
    pub fn processors(&mut self) -> &mut Oversubscription {
        &mut self.processors
    }
}

/// Polls.
impl WaitPolicy {
    /// Whether the next poll may look at memory alone.
    #[inline(always)]
    pub fn may_poll_memory_alone(&self) -> bool {
        self.budget.remains()
    }

    /// A poll is over.
    #[inline(always)]
    pub fn count_poll(&mut self) {
        self.budget.spend();
    }

    /// Polls of memory alone that remain before one of everything.
    pub fn polls_left(&self) -> u32 {
        self.budget.left()
    }

    /// The next poll looks at everything.
    pub fn poll_everything_next(&mut self) {
        self.budget.exhaust();
    }

    /// A poll looks at everything now. `all_local`: no peer is on another host.
    pub fn polling_everything(&mut self, now: Time, all_local: bool) {
        self.budget.renew(now, all_local);
    }
}

/// The reply spin.
impl WaitPolicy {
    /// The program has sent a message within the call.
    #[inline(always)]
    pub fn message_sent(&mut self) {
        self.spin.message_sent();
    }

    /// What the program waited for has come.
    #[inline(always)]
    pub fn reply_came(&mut self) {
        self.spin.reply_came();
    }

    /// A poll has found nothing: whether it should stay for a reply.
    #[inline(always)]
    pub fn stays_for_reply(&mut self) -> bool {
        self.spin.stays()
    }

    /// A poll that stayed is over.
    pub fn stayed(&mut self, found: bool) {
        self.spin.stayed(found);
    }
}

/// Offering the processor.
impl WaitPolicy {
    /// Counts a poll of memory alone that has found nothing. False, and the poll is not counted, if it is
    /// time to offer the processor.
    #[inline(always)]
    pub fn keeps_processor(&mut self) -> bool {
        self.yielding.keeps_processor()
    }

    /// Counts a poll in which something was done (`busy`) or the program was given something (`given`).
    /// True if it is time to offer the processor.
    #[inline]
    pub fn is_time_to_rest(&mut self, busy: bool, given: bool) -> bool {
        self.yielding.count_poll(busy, given)
    }

    /// `any`: the program was told that a one-sided operation is over, or one of a peer's was served. More of
    /// them follow often, and must not find the program in a nap.
    pub fn note_served(&mut self, any: bool) {
        if any {
            self.yielding.count_poll(true, true);
            self.siblings.serve();
        }
    }

    /// How the processor is to be offered now.
    pub fn rest(&mut self, now: Time) -> Rest {
        let served = self.siblings.served();
        if std::mem::replace(&mut self.served, served) != served {
            self.yielding.count_poll(true, true);
        }
        self.yielding.rest(now)
    }

    /// The processor was offered, which took so long.
    pub fn rested(&mut self, rest: Rest, took: Duration, now: Time) {
        match rest {
            Rest::Yield => self.yielding.yielded(took),
            Rest::Nap(_) => self.yielding.napped(),
        }
        self.processors.note_yields(self.yielding.is_taken_up(), now);
        if self.yielding.asks(now) {
            let oversubscribed = self.processors.excess(now, 0) > 0;
            self.yielding.learn(oversubscribed, now);
        }
        self.budget.exhaust();
    }

    /// A peer is being met: it was greeted, or has answered.
    pub fn meeting(&mut self, now: Time) {
        self.yielding.meeting(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_tuning::wait;

    /// Waits in vain, with yields that nobody takes up while the processors are oversubscribed, until the
    /// policy takes a nap. Gives when that is.
    fn first_nap(policy: &mut WaitPolicy, start: u64) -> u64 {
        let naps = |ns: &u64| {
            let now = Time(*ns);
            policy.yielding.learn(true, now);
            let rest = policy.rest(now);
            if rest == Rest::Yield {
                policy.yielding.yielded(Duration::ZERO);
            }
            rest != Rest::Yield
        };
        (start..).step_by(10_000).find(naps).expect("a nap")
    }

    #[test]
    fn one_sided_operations_of_one_endpoint_keep_all_of_the_process_awake() {
        let siblings = Siblings::default();
        let policy = || WaitPolicy::new(Oversubscription::new(false), siblings.clone());
        let (mut messages, mut one_sided) = (policy(), policy());
        let nap = first_nap(&mut messages, 0);
        assert_eq!(messages.rest(Time(nap + 10_000)), Rest::Nap(wait::NAP), "again");
        one_sided.note_served(false);
        assert_eq!(messages.rest(Time(nap + 20_000)), Rest::Nap(wait::NAP), "nothing was served");
        one_sided.note_served(true);
        let served = nap + 30_000;
        assert_eq!(first_nap(&mut messages, served), served + wait::NAP_WAITED_MIN_NS);
        let mut stranger = WaitPolicy::new(Oversubscription::new(false), Siblings::default());
        first_nap(&mut stranger, 0);
        one_sided.note_served(true);
        assert_eq!(stranger.rest(Time(nap + 10_000)), Rest::Nap(wait::NAP), "an endpoint of another program");
    }
}
