//! Defects that a test can plant, to prove that it would notice them. Without the feature `defects`, `Plant`
//! has no size and `is` always returns false, so a shipped build contains none of this.

/// A defect in the packet layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Positions that were received before are delivered again.
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
    /// There is no probe time-out.
    NoPto,
    /// The rest of a Data frame that is cut anew when sent again has the position of the frame's beginning.
    RecutPosition,
    /// A greeting for another incarnation of this endpoint is accepted.
    AnyIncarnation,
    /// Rails are used at their full MTU without a probe.
    NoProbe,
    /// What was in flight on a rail that died is forgotten.
    DeathLoses,
    /// A rail that died is never probed.
    NeverBack,
    /// A lost welcome is not repeated.
    WelcomeOnce,
    /// A second hello makes a second connection.
    TwoConnections,
    /// Acknowledgements are never sent by themselves, only with other packets.
    NoPureAck,
    /// A closed connection is forgotten at once, without a closing state.
    NoClosingState,
    /// An acknowledgement counts for all lower packet numbers, so losses between acknowledged packets are
    /// never noticed.
    AckClearsBelow,
    /// The rest of a Data frame that did not fit into one packet is dropped.
    TailLost,
    /// Acknowledgements are sent only on the path on which the packets came.
    AckSameRail,
    /// A rail whose NIC is reported without carrier is neither used nor probed until the carrier is reported
    /// back.
    CarrierForbids,
    /// The round trip of a rail's only probe counts, however it came about, as long as the rail is idle.
    FirstTripStays,
    /// A peer that was given up is not told.
    GivesUpSilently,
}

#[cfg(feature = "defects")]
impl Defect {
    /// All defects.
    pub const ALL: [Defect; 23] = [
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
        Defect::NoClosingState,
        Defect::AckClearsBelow,
        Defect::TailLost,
        Defect::AckSameRail,
        Defect::CarrierForbids,
        Defect::FirstTripStays,
        Defect::GivesUpSilently,
    ];
}

/// A text in every program that has planted defects, by which `scripts/install` and `scripts/deb` tell such a
/// program from one that may be installed.
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
