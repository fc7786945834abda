//! Answers to synchronous sends that an MPI owes its peers and does not give.
//!
//! Open MPI 4 marks the message of a synchronous send in its tag, and waits for an empty message whose tag is
//! marked as the answer. Its receives send the answer, but its MPI_Mrecv forgets to, so that the sender waits
//! for ever over any provider (open-mpi/ompi#11327, mended in 5.0). MPI_Mrecv is a receive of a claimed
//! message: if the launcher asks for it, the provider sends the answer then.

use tasuki_engine::{Endpoint, Found, Report, SendArgs};

use crate::note;

/// The variable by which the launcher asks for answers: the bit of the tag that marks a synchronous send, a
/// colon, the bit that marks an answer; both in hexadecimal.
const VARIABLE: &str = "TASUKI_ANSWER_CLAIMED";

/// The bits of tags that mark synchronous sends and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    asks: u64,
    answers: u64,
}

impl Answers {
    /// What the environment asks for.
    pub fn from_env() -> Result<Option<Answers>, String> {
        match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => Self::read(&text).map(Some),
            _ => Ok(None),
        }
    }

    fn read(text: &str) -> Result<Answers, String> {
        let bit = |word: &str| {
            let number = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
            number.is_power_of_two().then_some(number)
        };
        let both = text.split_once(':').and_then(|(asks, answers)| Some((bit(asks)?, bit(answers)?)));
        match both {
            Some((asks, answers)) if asks != answers => Ok(Answers { asks, answers }),
            _ => Err(format!("{VARIABLE}={text}: must be two different bits, as 0x100000000:0x200000000")),
        }
    }

    /// The tag of the answer to a message with this tag; `None` if the message asks for none.
    fn to(self, tag: u64) -> Option<u64> {
        (tag & (self.asks | self.answers) == self.asks).then_some(tag ^ (self.asks | self.answers))
    }

    /// Answers a claimed message that is being received, if it asks for an answer.
    pub fn give(self, engine: &Endpoint, found: &Found) {
        let Some(tag) = self.to(found.tag) else { return };
        let answer = SendArgs {
            peer: found.source,
            tag: Some(tag),
            data: None,
            buffers: &[],
            inject: true,
            report: Report::Failure,
            delivery: false,
            more: false,
            context: 0,
        };
        // SAFETY: the message has no buffers.
        if let Err(error) = unsafe { engine.send(&answer) } {
            note!("a synchronous send stays unanswered: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The bits are those of Open MPI 4.1 with remote completion data (ompi/mca/mtl/ofi/mtl_ofi_types.h).
    #[test]
    fn tags_that_ask_are_answered_and_no_others() {
        let answers = Answers::read("0x100000000:0x200000000").expect("two bits");
        assert_eq!(answers.to(0x7000_0001_0000_0005), Some(0x7000_0002_0000_0005));
        assert_eq!(answers.to(0x7000_0000_0000_0005), None, "an ordinary message");
        assert_eq!(answers.to(0x7000_0002_0000_0005), None, "an answer");
        assert_eq!(answers.to(0x7000_0003_0000_0005), None, "neither");
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["1", "0x1", "0x1:0x1", "0x1:0x3", "0x1:0x0", "1:2", "0x1:0x2:0x4"] {
            let error = Answers::read(text).expect_err(text);
            assert!(error.contains(text), "{error}");
        }
    }
}
