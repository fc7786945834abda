//! Where bytes of a stream belong that are about to be read: memory of receives.

use std::ptr::NonNull;

use tasuki_msg::{Data, PeerId, Sink};
use tasuki_tuning::streams::{self, AHEAD_ROOM};

use super::record::HEAD;
use crate::messages::{Messages, PullJob};

/// Memory of the receive that an announced piece belongs into, if it is in one place: its beginning, so much
/// that it can be read ahead.
pub(super) fn place_untouched(messages: &Messages, from: PeerId, data: &Data) -> Option<NonNull<[u8]>> {
    let placement = messages.outlook().untouched(from, data)?;
    let Sink::Recv { user, offset, .. } = placement.sink else { return None };
    let len = placement.len.min((AHEAD_ROOM - HEAD) as u64);
    let first = NonNull::new(messages.recv_piece(user, offset, len)?)?;
    Some(NonNull::slice_from_raw_parts(first, len as usize))
}

/// Memory of the receive that the next bytes of a piece belong into, if it is in one place.
pub(super) fn place_ahead(messages: &Messages, from: PeerId, data: &Data) -> Option<NonNull<[u8]>> {
    let placement = messages.outlook().placement(from, data)?;
    let Sink::Recv { user, offset, .. } = placement.sink else { return None };
    let first = NonNull::new(messages.recv_piece(user, offset, placement.len)?)?;
    Some(NonNull::slice_from_raw_parts(first, placement.len as usize))
}

/// The next memory of a receive that has asked, of which `done` bytes are there, for at most `most` bytes.
pub(super) fn place_pulled(
    messages: &Messages,
    job: &PullJob,
    done: u64,
    most: u64,
) -> Option<NonNull<[u8]>> {
    let memory = messages.memory_for(job)?;
    let begin = job.at + done;
    let len = (job.len - done).min(most).min(streams::TURN_MAX as u64);
    let base = memory.contiguous().filter(|_| begin + len <= memory.len())?;
    let first = NonNull::new(base.wrapping_add(begin as usize))?;
    Some(NonNull::slice_from_raw_parts(first, len as usize))
}
