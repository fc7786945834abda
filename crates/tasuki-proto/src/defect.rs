//! Defects that a test can plant, to prove that it would notice them. Without the feature `defects`, `Plant` has no
//! size and `is` is always false: a shipped build contains none of this.

/// One way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Positions that were seen are delivered again.
    NoDedupe,
    /// Payload is released when it was sent, not when it was acknowledged.
    ReleaseOnSend,
    /// Payload is released twice if it was sent twice.
    ReleaseTwice,
    /// Lost control frames are not sent again.
    ForgetControl,
    /// The gaps of an acknowledgement are read one too small.
    WrongGap,
    /// A packet is acknowledged though it was refused.
    AckDropped,
    /// All paths share one memory of received packet numbers.
    SharedNumbers,
    /// Silence is waited out without a probe time-out.
    NoPto,
    /// Data that is cut anew keeps the position of its beginning.
    RecutPosition,
    /// A greeting for another incarnation counts.
    AnyIncarnation,
    /// Rails are used at their full MTU without a probe.
    NoProbe,
    /// What was under way on a rail that died is forgotten.
    DeathLoses,
    /// A rail that died is never probed.
    NeverBack,
    /// A lost welcome is not repeated.
    WelcomeOnce,
    /// A second hello makes a second connection.
    TwoConnections,
    /// Packets that were received are never acknowledged when nothing else is to be sent.
    NoPureAck,
    /// A closed connection is forgotten at once.
    NoLinger,
    /// Loss by reordering is never noticed, only by time-out of the last packet, whose acknowledgement clears all.
    AckClearsBelow,
    /// The second part of a Data frame that did not fit one packet is dropped.
    TailLost,
    /// Acknowledgements go only where the packet came from.
    AckSameRail,
    /// A rail whose NIC seems to have no carrier is not used and not probed until it has.
    CarrierForbids,
}

#[cfg(feature = "defects")]
impl Defect {
    /// All of them.
    pub const ALL: [Defect; 21] = [
        Defect::NoDedupe,
        Defect::ReleaseOnSend,
        Defect::ReleaseTwice,
        Defect::ForgetControl,
        Defect::WrongGap,
        Defect::AckDropped,
        Defect::SharedNumbers,
        Defect::NoPto,
        Defect::RecutPosition,
        Defect::AnyIncarnation,
        Defect::NoProbe,
        Defect::DeathLoses,
        Defect::NeverBack,
        Defect::WelcomeOnce,
        Defect::TwoConnections,
        Defect::NoPureAck,
        Defect::NoLinger,
        Defect::AckClearsBelow,
        Defect::TailLost,
        Defect::AckSameRail,
        Defect::CarrierForbids,
    ];
}

/// A text in every program that has planted defects, by which `scripts/install` and `scripts/deb` tell such a program from
/// one that may be installed.
#[cfg(feature = "defects")]
static MARKER: &str = "TASUKI-TEST-BUILD: defects of tasuki-proto";

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

    pub fn is_none(self) -> bool {
        self.0.is_none()
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

    #[inline(always)]
    pub fn is_none(self) -> bool {
        true
    }
}
