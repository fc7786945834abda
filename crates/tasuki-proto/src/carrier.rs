//! Loss and return of the carrier of a NIC, as the host reports it.
//!
//! Such a report is a hint that may be late or wrong, so it makes reactions faster and forbids nothing. A
//! path without carrier gives way at once to any other rail that answers; if there is none, it goes on like a
//! path that has fallen silent. A path that has given way is probed from time to time, and once more when its
//! carrier is back. An answer to a packet that was sent after the reported loss shows that the report is
//! wrong.

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::event::DownReason;
use crate::path::Path;
use crate::stats::RailState;

impl Conn {
    /// Takes the report that the NIC of this side's end of a rail has a carrier, or has none.
    pub fn set_carrier(&mut self, rail: u8, carrier: bool, cx: &mut Context<'_>) {
        let open = self.is_open();
        for path in self.paths.iter_mut().filter(|path| path.id.rail == rail) {
            if carrier {
                path.carrier_back(open);
            } else {
                path.carrier_lost_at = Some(cx.now);
            }
        }
        if !carrier {
            self.prove_rails();
            self.leave_paths_without_carrier(cx);
        }
    }

    /// Takes paths without carrier out of use if another rail answers.
    pub fn leave_paths_without_carrier(&mut self, cx: &mut Context<'_>) {
        for at in 0..self.paths.len() {
            let path = &self.paths[at];
            if path.carrier_lost_at.is_none() || !path.is_up() {
                continue;
            }
            let rail = path.id.rail;
            let better = |other: &Path| {
                other.id.rail != rail && other.is_responsive() && other.carrier_lost_at.is_none()
            };
            if self.paths.iter().any(better) || cx.plant.is(Defect::CarrierForbids) {
                self.mark_down(at, DownReason::Carrier, cx);
            }
        }
    }
}

impl Path {
    /// The carrier is back: the path is probed, or pinged if it is up and silent, and has to answer before it
    /// counts as working.
    fn carrier_back(&mut self, open: bool) {
        self.carrier_lost_at = None;
        match self.state {
            RailState::Off => {}
            RailState::Up => self.ping_due |= self.pto_streak > 0,
            RailState::Unproven | RailState::Down => {
                self.probe.attempts = 0;
                if open {
                    self.probe.comes_due();
                }
            }
        }
    }
}
