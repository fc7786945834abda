//! What a host says of its NICs: that one has lost its carrier, or has it again.
//!
//! It is a hint, late and perhaps wrong, so it makes things faster and forbids nothing. A path without carrier gives way at once to any other
//! rail that lives; if there is none it goes on as a silent path does. Once it has given way it is probed, and so it is when the carrier is
//! back. An answer to what was sent after the carrier was lost shows that the hint is wrong.

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::event::DownReason;
use crate::path::Path;
use crate::stats::RailState;

impl Conn {
    /// The NIC of this side's end of a rail has a carrier, or none.
    pub fn set_carrier(&mut self, rail: u8, carrier: bool, cx: &mut Context<'_>) {
        let open = self.is_open();
        for path in self.paths.iter_mut().filter(|path| path.id.rail == rail) {
            if carrier {
                path.carrier_back(open);
            } else {
                path.cut = Some(cx.now);
            }
        }
        if !carrier {
            self.prove_rails();
            self.judge_carriers(cx);
        }
    }

    /// Paths without carrier give way to other rails, if one lives.
    pub fn judge_carriers(&mut self, cx: &mut Context<'_>) {
        for at in 0..self.paths.len() {
            let path = &self.paths[at];
            if path.cut.is_none() || !path.is_up() {
                continue;
            }
            let rail = path.id.rail;
            let better = |other: &Path| other.id.rail != rail && other.is_lively() && other.cut.is_none();
            if self.paths.iter().any(better) || cx.plant.is(Defect::CarrierForbids) {
                self.drop_path(at, DownReason::Carrier, cx);
            }
        }
    }
}

impl Path {
    /// It is asked at once, and has to answer before anything is believed.
    fn carrier_back(&mut self, open: bool) {
        self.cut = None;
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
