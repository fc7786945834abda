//! When the kernel is asked to acknowledge what has come by a stream.
//!
//! A send is complete when the peer's kernel has acknowledged its bytes. A kernel that has seen an answer
//! follow what it received waits up to 40 ms for the next answer, to send the acknowledgement with it
//! (`tcp_send_delayed_ack`). If none follows, the sender waits as long: of two ranks that have exchanged
//! messages and received all, neither has anything to send.

use tasuki_proto::Time;
use tasuki_tuning::streams;

/// What has come and was perhaps not acknowledged.
#[derive(Default)]
pub(super) struct Acks {
    /// When something last came that nothing was sent after.
    arrived: Option<Time>,
    /// Polls since then.
    polls: u32,
    /// The kernel was asked since.
    asked: bool,
    /// Last time something was sent soon after something had come: an acknowledgement would most likely be a
    /// packet too many.
    answers: bool,
}

impl Acks {
    /// Something has come.
    pub fn arrived(&mut self, now: Time) {
        (self.arrived, self.polls, self.asked) = (Some(now), 0, false);
    }

    /// Something was sent, and an acknowledgement with it.
    pub fn sent(&mut self, now: Time) {
        if let Some(at) = self.arrived.take() {
            self.answers = self.polls <= streams::ACK_POLLS && now.since_ns(at) < streams::ACK_AFTER_NS;
        }
    }

    /// Something has come since the kernel was last asked, and nothing was sent after it.
    pub fn is_open(&self) -> bool {
        self.arrived.is_some() && !self.asked
    }

    /// Whether the kernel is to be asked now, in one more poll. `whole`: nothing more is known to come.
    pub fn is_due(&mut self, now: Time, whole: bool) -> bool {
        let Some(at) = self.arrived.filter(|_| !self.asked) else { return false };
        self.polls += 1;
        let late = match whole {
            true => self.polls > streams::ACK_POLLS,
            false => now.since_ns(at) >= streams::ACK_AFTER_NS,
        };
        self.answers &= !late;
        self.asked = late || (whole && !self.answers);
        self.asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: u64 = streams::ACK_AFTER_NS;

    #[test]
    fn what_is_answered_needs_no_acknowledgement_and_what_is_not_gets_one() {
        let mut acks = Acks::default();
        assert!(!acks.is_due(Time(0), true), "nothing has come");
        acks.arrived(Time(0));
        assert!(!acks.is_due(Time(0), false), "more is to come");
        assert!(acks.is_due(Time(0), true) && !acks.is_due(Time(9 * LATE), true), "once is enough");
        acks.sent(Time(1));
        acks.arrived(Time(100));
        assert!((0..streams::ACK_POLLS).all(|_| !acks.is_due(Time(101), true)), "an answer is likely");
        assert!(acks.is_due(Time(101), true), "there was none");
        acks.arrived(Time(200));
        assert!(acks.is_due(Time(200), true), "an answer is not likely any more");
        acks.sent(Time(200 + LATE));
        acks.arrived(Time(9 * LATE));
        assert!(acks.is_due(Time(9 * LATE), true), "that was no answer");
    }

    #[test]
    fn in_the_middle_of_a_message_time_counts() {
        let mut acks = Acks::default();
        acks.arrived(Time(0));
        assert!((0..9 * streams::ACK_POLLS).all(|_| !acks.is_due(Time(LATE - 1), false)));
        assert!(acks.is_due(Time(LATE), false));
    }
}
