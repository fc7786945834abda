//! Receives whose memory somebody else may still be writing to.
//!
//! In a dual copy ([`crate::shm::dual_copy`]) the sender of a message writes part of it into the receiver's
//! memory. Whatever becomes of the message meanwhile, the program must not get that memory back before the
//! sender has ended. So the end of such a receive is held back until [`Lent::take_back`].

use tasuki_msg::{Failure, RecvDone};

/// A receive, or one message of a multi-receive, has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecvFailed {
    /// Key of the receive.
    pub user: u64,
    pub failure: Failure,
    /// The buffer is the program's again.
    pub last: bool,
}

/// The end of a receive that is held back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecvEnd {
    Done(RecvDone),
    Failed(RecvFailed),
}

impl RecvEnd {
    fn user(&self) -> u64 {
        match self {
            RecvEnd::Done(done) => done.user,
            RecvEnd::Failed(failed) => failed.user,
        }
    }

    /// The buffer becomes the program's again.
    fn is_last(&self) -> bool {
        match self {
            RecvEnd::Done(done) => done.last,
            RecvEnd::Failed(failed) => failed.last,
        }
    }
}

/// Which receives are lent, and their ends that are held back.
#[derive(Default)]
pub(crate) struct Lent {
    /// Keys of the receives; one stands here as often as it was lent.
    users: Vec<u64>,
    kept: Vec<RecvEnd>,
}

impl Lent {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// From now on another process may write to the memory of this receive.
    pub fn lend(&mut self, user: u64) {
        self.users.push(user);
    }

    /// Holds an end back if the receive is lent and would be over; false: tell the program.
    pub fn hold(&mut self, end: RecvEnd) -> bool {
        let kept = end.is_last() && self.users.contains(&end.user());
        if kept {
            self.kept.push(end);
        }
        kept
    }

    /// One writer has ended. Gives the ends that can be told now.
    pub fn take_back(&mut self, user: u64) -> Vec<RecvEnd> {
        if let Some(at) = self.users.iter().position(|one| *one == user) {
            self.users.swap_remove(at);
        }
        if self.users.contains(&user) {
            return Vec::new();
        }
        self.kept.extract_if(.., |end| end.user() == user).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(user: u64, last: bool) -> RecvEnd {
        RecvEnd::Failed(RecvFailed { user, failure: Failure::Cancelled, last })
    }

    #[test]
    fn the_end_waits_for_the_last_writer_and_only_for_those_of_its_receive() {
        let mut lent = Lent::default();
        lent.lend(1);
        lent.lend(1);
        assert!(!lent.hold(failed(2, true)), "another receive");
        assert!(!lent.hold(failed(1, false)), "the buffer stays with the receive");
        assert!(lent.hold(failed(1, true)));
        assert!(lent.take_back(1).is_empty(), "the second writer is still at it");
        assert_eq!(lent.take_back(1).len(), 1);
        assert!(lent.is_empty());
    }
}
