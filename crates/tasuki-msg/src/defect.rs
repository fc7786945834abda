//! Defects that a test can plant, to prove that it would notice them. Without the feature `defects`, `Plant`
//! has no size and `is` always returns false, so a shipped build contains none of this.

/// A defect in the message layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Messages become visible in the order in which they arrive.
    NoResequencing,
    /// A receive without wildcard is preferred to one that was posted earlier.
    ExactReceivesFirst,
    /// Of several unexpected messages, the last to arrive is taken.
    NewestUnexpected,
    /// The first look-up of a class misses the messages that have already arrived.
    ClassNotLearnt,
    /// A claimed message can still be found by others.
    ClaimStaysVisible,
    /// A plain probe takes the message away.
    PeekConsumes,
    /// A cancel that comes too late reports success.
    CancelAlwaysWins,
    /// The charge of a discarded message is never given back.
    DiscardLeaksCredit,
    /// A discarded message is not acknowledged.
    DiscardWithoutDone,
    /// Every peer gets its credit, however little of the pool is left.
    PoolOvercommitted,
    /// A message without credit waits for some.
    WaitForCredit,
    /// Sends complete as soon as their last byte was handed to the carrier.
    CompleteBeforeReleased,
    /// Sends complete without waiting for the receiver.
    CompleteBeforeDone,
    /// A grant that arrives after a later one takes back what that one gave.
    StaleGrantCounts,
    /// If a message is matched while part of it is in an early buffer, the rest is placed directly.
    DirectBesideBuffer,
    /// Payload beyond the end of a receive buffer is placed all the same.
    NoTruncation,
    /// Messages of a multi-receive all begin at the start of the buffer.
    MultiOverlap,
    /// A multi-receive is retired only when it is full.
    MultiIgnoresMinimum,
    /// The last event of a multi-receive is not marked.
    MultiNeverLast,
    /// Early buffers are freed before they are copied.
    FreeBeforeCopy,
    /// A request for silence is answered without waiting for what is still under way.
    AnswerTooSoon,
    /// Control frames leave in spite of a request for silence.
    PauseLeaks,
    /// A goodbye takes effect at once, before all frames that were sent earlier have arrived.
    ByeTooSoon,
    /// Directed receives stay posted when their peer is gone.
    DeathForgetsReceives,
    /// Incomplete unexpected messages stay when their sender is gone.
    DeathKeepsFragments,
    /// Complete unexpected messages are dropped when their sender is gone.
    DeathDropsMessages,
    /// Remote completion data is lost if the message had to wait for its turn.
    HeldLosesData,
    /// A failed pull counts as done.
    PullFailureIgnored,
    /// A sender with nothing in flight gets no grant while others fill the window.
    SilentPeerHoldsWindow,
}

impl Defect {
    /// All defects.
    pub const ALL: [Defect; 29] = [
        Defect::NoResequencing,
        Defect::ExactReceivesFirst,
        Defect::NewestUnexpected,
        Defect::ClassNotLearnt,
        Defect::ClaimStaysVisible,
        Defect::PeekConsumes,
        Defect::CancelAlwaysWins,
        Defect::DiscardLeaksCredit,
        Defect::DiscardWithoutDone,
        Defect::PoolOvercommitted,
        Defect::WaitForCredit,
        Defect::CompleteBeforeReleased,
        Defect::CompleteBeforeDone,
        Defect::StaleGrantCounts,
        Defect::DirectBesideBuffer,
        Defect::NoTruncation,
        Defect::MultiOverlap,
        Defect::MultiIgnoresMinimum,
        Defect::MultiNeverLast,
        Defect::FreeBeforeCopy,
        Defect::AnswerTooSoon,
        Defect::PauseLeaks,
        Defect::ByeTooSoon,
        Defect::DeathForgetsReceives,
        Defect::DeathKeepsFragments,
        Defect::DeathDropsMessages,
        Defect::HeldLosesData,
        Defect::PullFailureIgnored,
        Defect::SilentPeerHoldsWindow,
    ];
}

/// A text in every program that has planted defects, by which `scripts/install` and `scripts/deb` tell such a
/// program from one that may be installed.
#[cfg(feature = "defects")]
static MARKER: &str = "TASUKI-TEST-BUILD: defects of tasuki-msg";

#[cfg(feature = "defects")]
#[derive(Clone, Copy)]
pub(crate) struct Plant(pub Option<Defect>);

#[cfg(feature = "defects")]
impl Plant {
    pub const NONE: Plant = Plant(None);

    pub fn is_none(self) -> bool {
        self.0.is_none()
    }

    pub fn is(self, defect: Defect) -> bool {
        // Reading the marker here keeps it in the program.
        self.0 == Some(defect) && !std::hint::black_box(MARKER).is_empty()
    }
}

#[cfg(not(feature = "defects"))]
#[derive(Clone, Copy)]
pub(crate) struct Plant;

#[cfg(not(feature = "defects"))]
impl Plant {
    pub const NONE: Plant = Plant;

    #[inline(always)]
    pub fn is_none(self) -> bool {
        true
    }

    #[inline(always)]
    pub fn is(self, _: Defect) -> bool {
        false
    }
}
