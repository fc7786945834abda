//! Frames into packets: what was lost first, then what is new.

use tasuki_wire::{Data, Frame, PacketBuilder, Start};

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::sent::Entry;
use crate::upcalls::{Outgoing, Payload, Upcalls};

/// With less than this left a packet is full.
const LEAST_ROOM: usize = 24;
/// A smaller piece of data is not cut off for the sake of a packet's last bytes.
const LEAST_PIECE: usize = 128;

impl Conn {
    /// There is something to deliver, or the layer above has something.
    pub fn has_data(&mut self, cx: &Context<'_>, upcalls: &mut impl Upcalls) -> bool {
        let any = self.outbox.unsent > 0 || self.outbox.again().is_some() || self.stage(cx, upcalls);
        // What comes after a stream that has run dry is not part of it.
        self.streaming &= any;
        any
    }

    /// Asks the layer above for one frame.
    fn stage(&mut self, cx: &Context<'_>, upcalls: &mut impl Upcalls) -> bool {
        while self.outbox.more && self.outbox.has_room() {
            match upcalls.next(self.id, cx.config.chunk) {
                Some(frame) if self.outbox.push(frame) => {
                    if matches!(frame, Outgoing::Data { .. }) {
                        self.prove_rails();
                    }
                    return true;
                }
                // Data of no byte: nothing to send, and nothing to keep.
                Some(Outgoing::Data { payload, .. }) => upcalls.released(self.id, &payload),
                Some(_) => {}
                None => self.outbox.more = false,
            }
        }
        false
    }

    /// Fills the packet with as many frames as there are and fit.
    pub fn pack_frames(
        &mut self,
        at: usize,
        builder: &mut PacketBuilder<'_>,
        cx: &Context<'_>,
        upcalls: &mut impl Upcalls,
    ) {
        while builder.room() >= LEAST_ROOM {
            if let Some(entry) = self.outbox.again() {
                let Some(len) = self.emit(entry, true, builder, cx, upcalls) else { break };
                self.outbox.sent_again(len);
                let path = &mut self.paths[at];
                path.stats.resent_bytes += u64::from(len);
                path.sent.add(Entry { len, ..entry });
                continue;
            }
            if self.outbox.unsent == 0 && !self.stage(cx, upcalls) {
                break;
            }
            let Some(entry) = self.outbox.fresh() else { break };
            let Some(len) = self.emit(entry, false, builder, cx, upcalls) else { break };
            self.outbox.unsent -= u64::from(len);
            if cx.plant.is(Defect::TailLost) {
                self.outbox.unsent = 0;
            }
            self.paths[at].sent.add(Entry { len, ..entry });
            if cx.plant.is(Defect::ReleaseOnSend) && self.outbox.unsent == 0 {
                let payload = self.outbox.chunk(entry.chunk).and_then(|chunk| chunk.payload());
                payload.iter().for_each(|payload| upcalls.released(self.id, payload));
            }
        }
    }

    /// Writes as much of an entry as fits; how many positions, or `None` if nothing.
    fn emit(
        &self,
        entry: Entry,
        again: bool,
        builder: &mut PacketBuilder<'_>,
        cx: &Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<u32> {
        let chunk = self.outbox.chunk(entry.chunk)?;
        match &chunk.what {
            Outgoing::Control(control) => {
                let frame = Frame::Control { position: entry.pos, control: *control };
                builder.push(&frame).ok()?;
                Some(entry.len)
            }
            Outgoing::Start { payload, .. } => {
                let len = usize::try_from(payload.len).ok()?;
                let place = builder.reserve(&start_frame(&chunk.what, entry.pos)?, len).ok()?;
                if !self.outbox.copy_kept(chunk, place) {
                    self.read(payload, 0, place, upcalls);
                }
                Some(entry.len)
            }
            Outgoing::Data { seq, offset, early, payload } => {
                let skip = entry.pos - chunk.pos;
                let recut = again && skip > 0 && cx.plant.is(Defect::RecutPosition);
                let position = if recut { chunk.pos } else { entry.pos };
                let data = Data { position, seq: *seq, offset: offset + skip, early: *early, payload: &[] };
                let len = data.fit(builder.room()).min(entry.len as usize);
                let piece = len < entry.len as usize && len < LEAST_PIECE;
                if len == 0 || (piece && !builder.is_empty()) {
                    return None;
                }
                let place = builder.reserve(&Frame::Data(data), len).ok()?;
                self.read(payload, skip, place, upcalls);
                Some(len as u32)
            }
        }
    }

    fn read(&self, payload: &Payload, offset: u64, into: &mut [u8], upcalls: &mut impl Upcalls) {
        if !into.is_empty() {
            upcalls.read(self.id, payload, offset, into);
        }
    }
}

pub(crate) fn start_frame(what: &Outgoing, position: u64) -> Option<Frame<'static>> {
    let Outgoing::Start { seq, tag, service, data, remote_key, charged, ack, len, early, .. } = *what else {
        return None;
    };
    let start =
        Start { position, seq, tag, service, data, remote_key, charged, ack, len, early, payload: &[] };
    Some(Frame::Start(start))
}
