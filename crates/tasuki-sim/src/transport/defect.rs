//! Defects planted in the layers under test. Without the feature `defects` there are none to choose from.

use tasuki_msg::{Endpoint, Pacer};
use tasuki_proto::Proto;

/// A defect in one of the layers.
#[cfg(feature = "defects")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// In the message layer.
    Msg(tasuki_msg::Defect),
    /// In the packet layer.
    Proto(tasuki_proto::Defect),
}

/// The defect that is planted in a run, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plant {
    #[cfg(feature = "defects")]
    /// The defect.
    pub defect: Option<Defect>,
}

#[cfg(feature = "defects")]
impl Plant {
    pub(crate) fn plant_msg(self, ep: &mut Endpoint<Pacer>) {
        if let Some(Defect::Msg(defect)) = self.defect {
            ep.plant(Some(defect));
        }
    }

    pub(crate) fn plant_proto(self, proto: &mut Proto) {
        if let Some(Defect::Proto(defect)) = self.defect {
            proto.plant(Some(defect));
        }
    }
}

#[cfg(not(feature = "defects"))]
impl Plant {
    pub(crate) fn plant_msg(self, _: &mut Endpoint<Pacer>) {}

    pub(crate) fn plant_proto(self, _: &mut Proto) {}
}
