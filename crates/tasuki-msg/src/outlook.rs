//! What a carrier asks that has a connection beside its packets: how much is still to come, and where bytes
//! belong that it is about to read.

use crate::action::{Placement, Sink};
use crate::endpoint::Endpoint;
use crate::frame::Data;
use crate::ids::{PeerId, RecvId};
use crate::ops::{Incoming, State};

/// What is to come, as far as an endpoint knows.
pub struct Outlook<'a, C>(pub &'a Endpoint<C>);

impl<C> Outlook<'_, C> {
    /// Bytes of `Data` that peers have announced or been granted, and that have not arrived. Cheap enough to
    /// be called all the time.
    #[inline(always)]
    pub fn awaited(&self) -> u64 {
        self.0.early_missing + self.0.in_flight
    }

    /// Bytes of `Data` that this peer has announced or been granted, and that have not arrived.
    pub fn awaited_from(&self, peer: PeerId) -> u64 {
        self.0.peers.get(peer).map_or(0, |record| record.rx.early_missing + record.rx.in_flight)
    }

    /// Where the first bytes of a piece that is about to arrive belong, if that is a receive's memory: what
    /// `handle_frame` would say. The caller may write there at once, and then hands the frame over, cut to
    /// what it has written; nothing may come between.
    pub fn placement(&self, from: PeerId, data: &Data) -> Option<Placement> {
        let message = self.message(from, data).filter(|message| message.state == State::Receiving)?;
        let direct = data.early == 0 || message.buffer.is_none();
        let recv = message.recv.filter(|_| direct && !message.pulling)?;
        let len = data.len.min(message.take.saturating_sub(data.offset));
        let user = self.0.recvs.get(recv)?.user;
        let offset = message.base.checked_add(data.offset)?;
        (len > 0).then_some(Placement { sink: Sink::Recv { recv: RecvId(recv), user, offset }, len })
    }

    /// As [`Outlook::placement`], of the whole rest of an early part, of which nothing has arrived but what
    /// its first frame had: until `handle_frame` is told of it, anything may be written there.
    pub fn untouched(&self, from: PeerId, data: &Data) -> Option<Placement> {
        let message = self.message(from, data)?;
        let whole = message.early == data.early && data.offset.checked_add(data.len) == Some(message.early);
        let untouched = message.early_arrived == data.offset;
        if whole && untouched { self.placement(from, data) } else { None }
    }

    fn message(&self, from: PeerId, data: &Data) -> Option<&Incoming> {
        self.0.incoming.get(*self.0.peers.get(from)?.rx.inbox.get(&data.seq.0)?)
    }
}
