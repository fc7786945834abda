//! What is under way from one node to another.

use std::collections::VecDeque;

use tasuki_msg::Frame;

/// What one node has sent to another, and what of it has arrived.
#[derive(Default)]
pub struct Link {
    /// Messages in the order of their posts, without the cancelled ones: a message's index is its sequence
    /// number.
    pub order: Vec<usize>,
    /// Number of messages of `order` whose `Start` has left.
    pub started: usize,
    /// Number of messages of `order` that are visible at the receiver.
    pub visible: usize,
    /// Frames without payload that have left and not arrived.
    pub controls: VecDeque<Frame>,
    /// Number of `Start` frames that have left and not arrived.
    pub starts_out: u64,
    /// Payload bytes in `Data` frames that have left and not arrived.
    pub bytes_out: u64,
    /// Number of frames that have arrived.
    pub arrived_frames: u64,
}

impl Link {
    /// Number of frames under way that a promise of silence, or a goodbye, forbids; all `Data` together count
    /// as one.
    pub fn noise(&self) -> u64 {
        let controls = self.controls.iter().filter(|frame| frame.counted()).count() as u64;
        controls + self.starts_out + u64::from(self.bytes_out > 0)
    }

    /// Whether any frame is under way.
    pub fn under_way(&self) -> bool {
        !self.controls.is_empty() || self.starts_out > 0 || self.bytes_out > 0
    }
}
