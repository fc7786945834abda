//! Defects that a test can plant, to prove that it would notice them. Without the feature `defects`, `Plant`
//! has no size and `is` always returns false, so a shipped build contains none of this.

/// A defect in the protocol of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A writer gets its page although readers have not given up their copies.
    GrantBeforeGone,
    /// One reader is not told to give up its copy.
    ReaderForgotten,
    /// A reader is not noted down at the home.
    ReaderNotNoted,
    /// The owner goes on writing while another node reads.
    OwnerKeepsWriting,
    /// The owner keeps its copy although another node writes.
    OwnerKeepsCopy,
    /// The bytes go out before the owner's threads are stopped from writing.
    SendBeforeProtect,
    /// A node that wants to write is given leave without bytes although its copy was taken meanwhile.
    UpgradeWithoutCopy,
    /// The home takes the next request before the page has come to the node of the one before.
    NextBeforeDone,
    /// The home does not remember the new owner.
    OwnerNotNoted,
    /// A request that comes while another is under way is forgotten.
    QueueForgets,
    /// The first node to touch a page keeps its zeros from all others, who get zeros of their own.
    FreshTwice,
    /// A request that was put off because the page had just come is forgotten.
    DeferredForgotten,
    /// A lock is handed to the next node while a thread of this one has it.
    HandWhileHeld,
    /// A lock that waits unused is not handed over.
    IdleLockKept,
    /// A node that comes to a barrier does not wait for the last round.
    RoundSkipped,
    /// A message of the next barrier that comes before the end of this one is forgotten.
    EarlyArrivalLost,
}

impl Defect {
    /// All defects.
    pub const ALL: [Defect; 16] = [
        Defect::GrantBeforeGone,
        Defect::ReaderForgotten,
        Defect::ReaderNotNoted,
        Defect::OwnerKeepsWriting,
        Defect::OwnerKeepsCopy,
        Defect::SendBeforeProtect,
        Defect::UpgradeWithoutCopy,
        Defect::NextBeforeDone,
        Defect::OwnerNotNoted,
        Defect::QueueForgets,
        Defect::FreshTwice,
        Defect::DeferredForgotten,
        Defect::HandWhileHeld,
        Defect::IdleLockKept,
        Defect::RoundSkipped,
        Defect::EarlyArrivalLost,
    ];
}

/// A text in every program that has planted defects, by which `scripts/install` and `scripts/deb` tell such a
/// program from one that may be installed.
#[cfg(feature = "defects")]
static MARKER: &str = "TASUKI-TEST-BUILD: defects of tasuki-dsm";

#[cfg(feature = "defects")]
#[derive(Clone, Copy)]
pub(crate) struct Plant(pub Option<Defect>);

#[cfg(feature = "defects")]
impl Plant {
    pub const NONE: Plant = Plant(None);

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
    pub fn is(self, _: Defect) -> bool {
        false
    }
}
