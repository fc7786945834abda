//! What a controller sees of its host.

use serde::Serialize;

/// One period of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Length of the period, seconds.
    pub seconds: f64,
    /// Part of the processors' time that was not idle, 0 to 1.
    pub busy: f64,
    /// Part of the processors' time that programs had, outside of the kernel, 0 to 1.
    pub user: f64,
    /// Packets that the NICs received.
    pub packets: f64,
    /// Packets that the NICs sent, without bare acknowledgements: what programs had to say.
    pub sent: f64,
    /// Interrupts of the NICs.
    pub interrupts: f64,
}

impl Sample {
    /// Packets per second.
    pub fn packet_rate(&self) -> f64 {
        self.packets / self.seconds.max(1e-9)
    }

    /// Packets sent per second.
    pub fn sent_rate(&self) -> f64 {
        self.sent / self.seconds.max(1e-9)
    }

    /// Interrupts per second.
    pub fn interrupt_rate(&self) -> f64 {
        self.interrupts / self.seconds.max(1e-9)
    }

    /// Two periods taken together.
    pub fn with(&self, other: &Sample) -> Sample {
        let seconds = self.seconds + other.seconds;
        let mean = |a: f64, b: f64| (a * self.seconds + b * other.seconds) / seconds.max(1e-9);
        Sample {
            seconds,
            busy: mean(self.busy, other.busy),
            user: mean(self.user, other.user),
            packets: self.packets + other.packets,
            sent: self.sent + other.sent,
            interrupts: self.interrupts + other.interrupts,
        }
    }
}
