//! The reply spin: a poll that follows a send stays for a moment, because the reply is often under way.
//!
//! Between two polls some programs do more than poll: MPICH yields after each, a third of a microsecond, in
//! which a message that arrives waits as long as it takes to arrive. So the first poll that finds nothing
//! after a message was sent stays, and sees at once what arrives. It costs programs that look for something
//! else as well: if it was in vain it is left out after the next message, if it was in vain again after the
//! next three, and so on. (A program that receives a stream replies to none of it, and does not stay.)

/// Decides whether a poll stays.
#[derive(Default)]
pub(super) struct ReplySpin {
    /// A message has been sent since this was last decided.
    due: bool,
    /// Messages after which the spin is still left out.
    left_out: u8,
    /// Messages after which it was left out since it was last in vain. One more than twice as many if the
    /// next one is in vain too, at most 255; half as many if it is not.
    wary: u8,
}

impl ReplySpin {
    /// The program has sent a message.
    #[inline(always)]
    pub fn message_sent(&mut self) {
        self.due = true;
    }

    /// What the program waited for has come: no poll stays for it.
    #[inline(always)]
    pub fn reply_came(&mut self) {
        self.due = false;
    }

    /// A poll has found nothing. Whether it stays.
    #[inline(always)]
    pub fn stays(&mut self) -> bool {
        std::mem::take(&mut self.due) && self.pays()
    }

    fn pays(&mut self) -> bool {
        let pays = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        pays
    }

    /// A poll that stayed is over.
    pub fn stayed(&mut self, found: bool) {
        self.wary = if found { self.wary / 2 } else { self.wary.saturating_mul(2).saturating_add(1) };
        self.left_out = if found { 0 } else { self.wary };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand messages are followed by a poll that stays, if `found` says which of those
    /// polls find something.
    fn stays(found: impl Fn(u32) -> bool) -> u32 {
        let (mut spin, mut stayed) = (ReplySpin::default(), 0);
        for message in 0..1000 {
            assert!(!spin.stays(), "no message since");
            spin.message_sent();
            if spin.stays() {
                stayed += 1;
                spin.stayed(found(message));
            }
        }
        stayed
    }

    #[test]
    fn a_program_that_gets_replies_stays_and_one_that_gets_none_hardly_ever_does() {
        assert_eq!(stays(|_| true), 1000);
        // 1, 3, 7, ... 255 messages are left out: once in 256 in the end.
        assert!(stays(|_| false) <= 8 + 1000 / 256);
    }

    #[test]
    fn a_program_that_often_gets_replies_often_stays() {
        assert!(stays(|message| message % 10 != 0) > 800);
    }

    #[test]
    fn a_program_that_gets_replies_again_stays_again() {
        assert!(stays(|message| message >= 300) > 1000 - 300 - 256);
    }

    #[test]
    fn no_poll_stays_for_a_reply_that_has_come() {
        let mut spin = ReplySpin::default();
        spin.message_sent();
        spin.reply_came();
        assert!(!spin.stays());
    }

    #[test]
    fn one_poll_stays_for_any_number_of_messages() {
        let mut spin = ReplySpin::default();
        spin.message_sent();
        spin.message_sent();
        assert!(spin.stays());
        assert!(!spin.stays());
    }
}
