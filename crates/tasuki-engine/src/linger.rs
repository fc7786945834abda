//! How long a look stays where the next message is expected.
//!
//! Who has just sent a message and looks for one often waits for an answer that is under way. Between two looks some programs do more than look: MPICH
//! yields after each, a third of a microsecond in which a message that comes waits as long as it takes to come. So the first look after a message was sent stays for a
//! while, in which what comes is seen at once. It costs those who look for something else besides: if it was in vain it is not done after the next message, if it was
//! again not after the next three, and so on. (Who receives a stream answers none of it, and does not stay.)

/// So long, ns: an answer of who yields once before it answers.
pub(crate) const LINGER: u64 = 2_000;

/// Decides it.
#[derive(Default)]
pub(crate) struct Linger {
    /// A message has been sent since it was last decided.
    due: bool,
    /// Not after so many messages.
    left_out: u8,
    /// Not after so many messages since the last was in vain; one more than twice as many if the next one is, too. At most 255.
    wary: u8,
}

impl Linger {
    /// The program has sent a message.
    #[inline(always)]
    pub fn sent(&mut self) {
        self.due = true;
    }

    /// A look has found nothing. Whether it stays.
    #[inline(always)]
    pub fn stays(&mut self) -> bool {
        std::mem::take(&mut self.due) && self.is_worth_it()
    }

    fn is_worth_it(&mut self) -> bool {
        let worth = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        worth
    }

    /// A look that stayed is over.
    pub fn is_over(&mut self, found: bool) {
        self.wary = if found { self.wary / 2 } else { self.wary.saturating_mul(2).saturating_add(1) };
        self.left_out = if found { 0 } else { self.wary };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand messages are followed by a look that stays, if `found` says which of those looks find something.
    fn stays(found: impl Fn(u32) -> bool) -> u32 {
        let (mut linger, mut stayed) = (Linger::default(), 0);
        for message in 0..1000 {
            assert!(!linger.stays(), "no message since");
            linger.sent();
            if linger.stays() {
                stayed += 1;
                linger.is_over(found(message));
            }
        }
        stayed
    }

    #[test]
    fn who_is_answered_stays_and_who_is_not_hardly_ever() {
        assert_eq!(stays(|_| true), 1000);
        // 1, 3, 7, ... 255 messages are left out: once in 256 in the end.
        assert!(stays(|_| false) <= 8 + 1000 / 256);
    }

    #[test]
    fn who_is_often_answered_often_stays() {
        assert!(stays(|message| message % 10 != 0) > 800);
    }

    #[test]
    fn who_is_answered_again_is_believed_again() {
        assert!(stays(|message| message >= 300) > 1000 - 300 - 256);
    }

    #[test]
    fn looks_that_find_at_once_need_not_stay() {
        let mut linger = Linger::default();
        linger.sent();
        linger.sent();
        assert!(linger.stays());
        assert!(!linger.stays());
    }
}
