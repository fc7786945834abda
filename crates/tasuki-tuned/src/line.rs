//! The daemon's log: one JSON object for every period.

use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};
use tasuki_tune::{BundleStep, Decision, Reason, Sample};

/// A period: what was seen in it, and what follows from that.
#[derive(Serialize)]
pub struct Line<'a> {
    /// Seconds since 1970.
    time: f64,
    /// The delay during the period, microseconds.
    us: u32,
    /// Packets per second.
    packets: f64,
    /// Packets sent per second, without bare acknowledgements.
    sent: f64,
    /// Interrupts per second.
    interrupts: f64,
    /// Part of the processors' time that was not idle, 0 to 1.
    busy: f64,
    /// Part of the processors' time that programs had, 0 to 1.
    user: f64,
    /// The delay for the next period, microseconds.
    next_us: u32,
    /// Why it is that.
    reason: &'a Reason,
    /// The delay that the controller holds for the best, microseconds.
    best_us: u32,
    /// What was done to the bundle of striped NICs, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BundleStep>,
    /// NICs that are out of the bundle.
    pub resting: &'a [String],
}

impl<'a> Line<'a> {
    /// The line of a period that ends now, in which the delay was `us` microseconds, without a bundle.
    pub fn new(us: u32, sample: &Sample, decision: &'a Decision, best_us: u32) -> Self {
        Self {
            time: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            us,
            packets: sample.packet_rate(),
            sent: sample.sent_rate(),
            interrupts: sample.interrupt_rate(),
            busy: sample.busy,
            user: sample.user,
            next_us: decision.us,
            reason: &decision.reason,
            best_us,
            bundle: None,
            resting: &[],
        }
    }
}
