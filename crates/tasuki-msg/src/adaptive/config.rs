//! Settings of the adaptive controller.

use tasuki_tuning::grants;

/// Settings of [`super::Adaptive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveConfig {
    /// Messages up to this length are sent whole without a grant if credit allows, bytes.
    pub eager_max: u64,
    /// B of longer messages: this much is sent without a grant, bytes. A switch's queue must hold as much
    /// from every sender at the same time.
    pub unscheduled: u64,
    /// Smallest grant, bytes: each costs a frame.
    pub quantum_min: u64,
    /// Largest grant, bytes.
    pub quantum_max: u64,
    /// Smallest window, and the window at the beginning, bytes; half of it if there are several senders.
    pub window_min: u64,
    /// Largest window, bytes.
    pub window_max: u64,
    /// The window grows while less than this waits in queues, bytes.
    pub queue_low: u64,
    /// The window shrinks while more than this waits in queues, bytes.
    pub queue_high: u64,
    /// The bound `queue_high` as a time at the measured rate, for fast networks, ns; half of it for
    /// `queue_low`. The larger of the two bounds, bytes or time, counts. The time is five times as long for a
    /// single sender.
    pub queue_ns: u64,
}

impl AdaptiveConfig {
    /// For networks of 100 Mbit/s to 25 Gbit/s, and 16 senders at switches whose ports hold 256 KiB or more.
    pub const DEFAULT: AdaptiveConfig = AdaptiveConfig {
        eager_max: grants::EAGER_MAX,
        unscheduled: grants::UNSCHEDULED,
        quantum_min: grants::QUANTUM_MIN,
        quantum_max: grants::QUANTUM_MAX,
        window_min: grants::WINDOW_MIN,
        window_max: grants::WINDOW_MAX,
        queue_low: grants::QUEUE_LOW,
        queue_high: grants::QUEUE_HIGH,
        queue_ns: grants::QUEUE_NS,
    };
}

impl Default for AdaptiveConfig {
    fn default() -> AdaptiveConfig {
        AdaptiveConfig::DEFAULT
    }
}
