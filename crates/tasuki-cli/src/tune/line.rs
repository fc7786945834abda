//! A line of the controller's log.

use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};
use tasuki_tune::{BundleStep, Decision, Reason, Sample};

/// A period: what was seen in it, and what follows.
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
    busy: f64,
    user: f64,
    /// For the next period.
    next_us: u32,
    reason: &'a Reason,
    best_us: u32,
    /// What was done to the bundle, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BundleStep>,
    /// NICs that are out of the bundle.
    pub resting: &'a [String],
}

impl<'a> Line<'a> {
    /// Of a period that ends now, with this delay, without a bundle.
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
