//! Packing frames into packets: first what was lost, then what is new.

use tasuki_tuning::packets;
use tasuki_wire::{Control, Data, Frame, PacketBuilder, Start};

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::sent::Entry;
use crate::upcalls::{Outgoing, Payload, Upcalls};

impl Conn {
    /// Whether there is anything to deliver, in the outbox or in the layer above.
    pub fn has_data(&mut self, cx: &Context<'_>, upcalls: &mut impl Upcalls) -> bool {
        let any = self.outbox.unsent > 0 || self.outbox.again().is_some() || self.fetch_frame(cx, upcalls);
        // When the outbox has run dry, a stream is over.
        self.streaming &= any;
        any
    }

    /// Fetches one frame from the layer above; returns whether there was one.
    fn fetch_frame(&mut self, cx: &Context<'_>, upcalls: &mut impl Upcalls) -> bool {
        while self.outbox.more && self.outbox.has_room() {
            match upcalls.next(self.id, cx.config.chunk) {
                Some(frame) if self.outbox.push(frame) => {
                    match frame {
                        Outgoing::Data { .. } => self.prove_rails(),
                        // This side may leave once the peer has it, and then answers no more.
                        Outgoing::Control(Control::Bye { .. }) => self.owe_all_acks(),
                        Outgoing::Control(_) | Outgoing::Start { .. } => {}
                    }
                    return true;
                }
                // A Data frame without bytes needs no sending and is released at once.
                Some(Outgoing::Data { payload, .. }) => upcalls.released(self.id, &payload),
                Some(_) => {}
                None => self.outbox.more = false,
            }
        }
        false
    }

    /// Adds as many frames to the packet as there are and fit.
    pub fn pack_frames(
        &mut self,
        at: usize,
        builder: &mut PacketBuilder<'_>,
        cx: &Context<'_>,
        upcalls: &mut impl Upcalls,
    ) {
        while builder.room() >= packets::ROOM_MIN {
            if let Some(entry) = self.outbox.again() {
                let Some(len) = self.emit(entry, true, builder, cx, upcalls) else { break };
                self.outbox.sent_again(len);
                let path = &mut self.paths[at];
                path.stats.resent_bytes += u64::from(len);
                path.sent.add(Entry { len, ..entry });
                continue;
            }
            if self.outbox.unsent == 0 && !self.fetch_frame(cx, upcalls) {
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

    /// Writes as much of an entry as fits; returns the number of positions written, or `None` if nothing
    /// fits.
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
                let piece = len < entry.len as usize && len < packets::PIECE_MIN;
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
    let Outgoing::Start { seq, tag, internal, data, remote_key, charged, ack, len, early, .. } = *what else {
        return None;
    };
    let start =
        Start { position, seq, tag, internal, data, remote_key, charged, ack, len, early, payload: &[] };
    Some(Frame::Start(start))
}
