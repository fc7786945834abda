//! What a carrier asks that has a connection beside its packets: how much is still to come, and where bytes
//! belong that it is about to read.

use crate::action::{Placement, Sink};
use crate::control::Controller;
use crate::endpoint::Endpoint;
use crate::error::UnknownPeer;
use crate::frame::Data;
use crate::ids::{PeerId, RecvId};
use crate::ops::State;

impl<C: Controller> Endpoint<C> {
    /// From now on messages to this peer of up to `bytes` go whole without a grant, if credit allows,
    /// whatever the controller says: the carrier itself bounds what is under way in the network. 0: as the
    /// controller says.
    pub fn set_whole_max(&mut self, peer: PeerId, bytes: u64) -> Result<(), UnknownPeer> {
        self.peers.get_mut(peer).ok_or(UnknownPeer(peer))?.tx.whole_max = bytes;
        Ok(())
    }

    /// Bytes of `Data` that peers have announced or been granted, and that have not arrived. Cheap enough to
    /// be called all the time.
    #[inline(always)]
    pub fn awaited_bytes(&self) -> u64 {
        self.early_missing + self.in_flight
    }

    /// The same, of one peer.
    pub fn awaited_from(&self, peer: PeerId) -> u64 {
        self.peers.get(peer).map_or(0, |record| record.rx.early_missing + record.rx.in_flight)
    }

    /// Where the first bytes of a piece that is about to arrive belong, if that is a receive's memory: what
    /// `handle_frame` would say. The caller may write there at once, and then hands the frame over, cut to
    /// what it has written; nothing may come between.
    pub fn placement_ahead(&self, from: PeerId, data: &Data) -> Option<Placement> {
        let key = *self.peers.get(from)?.rx.inbox.get(&data.seq.0)?;
        let message = self.incoming.get(key).filter(|message| message.state == State::Receiving)?;
        let direct = data.early == 0 || message.buffer.is_none();
        let recv = message.recv.filter(|_| direct && !message.pulling)?;
        let len = data.len.min(message.take.saturating_sub(data.offset));
        let user = self.recvs.get(recv)?.user;
        let offset = message.base.checked_add(data.offset)?;
        (len > 0).then_some(Placement { sink: Sink::Recv { recv: RecvId(recv), user, offset }, len })
    }

    /// As [`Endpoint::placement_ahead`], of the whole rest of an early part, of which nothing has arrived but
    /// what its first frame had: until `handle_frame` is told of it, anything may be written there.
    pub fn placement_untouched(&self, from: PeerId, data: &Data) -> Option<Placement> {
        let key = *self.peers.get(from)?.rx.inbox.get(&data.seq.0)?;
        let message = self.incoming.get(key)?;
        let whole = message.early == data.early && data.offset + data.len == message.early;
        let untouched = message.early_arrived == data.offset;
        if whole && untouched { self.placement_ahead(from, data) } else { None }
    }
}
