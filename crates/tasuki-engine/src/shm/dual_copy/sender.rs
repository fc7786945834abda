//! The sender's end of dual copies: it writes parts of a message into its receiver's memory, when it has
//! nothing else to do.

use tasuki_proto::Time;
use tasuki_tuning::dual_copy;

use super::Accepted;
use crate::messages::Messages;
use crate::shm::control::CopyRequest;
use crate::shm::{Shm, kernel_copy};
use crate::wait::oversubscription::Oversubscription;

impl Shm {
    /// Whether a receiver has asked for a part of a message from here.
    #[inline]
    pub fn has_copy_requests(&self) -> bool {
        !self.dual_copies.accepted.is_empty()
    }

    /// Writes one part of a message for a receiver that has asked, if nothing has arrived and there is a
    /// processor for both. True if it has.
    pub fn serve_copy(&mut self, messages: &Messages, processors: &mut Oversubscription, now: Time) -> bool {
        if messages.sends_under_way() > dual_copy::SENDS_MAX || !processors.has_spare_processor(now) {
            self.dual_copies.accepted.clear();
            return false;
        }
        // What has arrived may be what the program waits for.
        if !self.is_idle() {
            return false;
        }
        let accepted = self.dual_copies.accepted.remove(0);
        let Some(size) = self.write_part(&accepted, messages) else { return false };
        self.dual_copies.counters.written += size;
        // Other receivers get the next turn.
        self.dual_copies.accepted.push(accepted);
        true
    }

    /// Writes one part of a message into its receiver's memory, and gives its size in bytes. `None`: there is
    /// nothing more to write.
    fn write_part(&self, accepted: &Accepted, messages: &Messages) -> Option<u64> {
        let CopyRequest { base, offset, len, target, .. } = accepted.request;
        let end = offset.checked_add(len)?;
        // A receiver gets nothing but bytes of a message to itself that is under way.
        let under_way = messages.is_sending(accepted.peer, base, end);
        let outbound = self.outbound(accepted.peer)?;
        let cma = outbound.cma.filter(|_| under_way)?;
        let part = self.segment.as_ref()?.claim_part(&accepted.offer)?;
        let bytes = part.bytes();
        let (from, size) = (base.wrapping_add(offset).wrapping_add(bytes.start), bytes.end - bytes.start);
        let to = target.wrapping_add(bytes.start);
        // SAFETY: the part is inside of the request, which is inside of a send that has not completed and
        // does not complete while this runs: it can be read, and the program leaves it alone. The receiver
        // lives and waits for the part: its memory is lent until the part is ended below.
        let written = outbound.outbox.alive()
            && unsafe { kernel_copy::write(cma, to, from as *const u8, size as usize) }.is_ok();
        if !written {
            part.failed();
            return None;
        }
        part.done();
        Some(size)
    }
}
