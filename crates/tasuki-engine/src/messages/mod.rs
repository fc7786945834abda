//! The message layer joined with the memory of its operations.
//!
//! `tasuki-msg` decides which message is matched, sent, granted or completed, and never touches a byte. Here
//! are the bytes: the program's buffers, bounce buffers, and the completions that the program has not read
//! yet. Carriers ([`crate::shm`], [`crate::net`]) deliver frames to it and read payload from it. What it
//! cannot do itself, because it knows no carrier, it hands to the engine as a [`Duty`].

mod actions;
mod bounce;
mod completions;
mod control;
mod deliver;
pub(crate) mod in_order;
mod lent;
pub(crate) mod ops;
pub(crate) mod pushes;
mod speeds;

use std::collections::VecDeque;

use slab::Slab;
use tasuki_msg::{Config, Pacer, PeerId, PeerOptions, RecvId, RecvRequest, SendRequest, UnknownPeer};
use tasuki_tuning::sends;

use crate::api::{Buffer, Peer, Report, SendArgs};
use crate::clock::Clock;
use crate::memory::Memory;
use crate::peers::Route;
use crate::rendezvous::keys::{KeyTable, RendezvousKey};
use crate::table::Table;
pub(crate) use actions::{Duty, PullJob};
use bounce::BounceBuffers;
use completions::Completions;
pub(crate) use completions::translate;
use in_order::InOrder;
use lent::Lent;
use ops::{RecvOp, SendOp};
use pushes::Pushes;
use speeds::Speeds;

/// The message layer, the memory of operations, and their completions.
pub(crate) struct Messages {
    layer: tasuki_msg::Endpoint<Pacer>,
    sends: Slab<SendOp>,
    /// Of the last send that was posted.
    generation: u32,
    recvs: Table<RecvOp>,
    bounce: BounceBuffers,
    /// Receives whose memory another process may be writing to.
    lent: Lent,
    /// Sends that peers may fetch by number.
    keys: KeyTable,
    /// Bytes of sends that were copied and have not been sent completely.
    copied: u64,
    completions: Completions,
    control: InOrder,
    /// Pieces of messages that go by stream.
    pushes: Pushes,
    /// How fast messages have left in packets.
    speeds: Speeds,
    clock: Clock,
    /// What the engine has to do, in the order in which it was found out.
    duties: VecDeque<Duty>,
}

impl Messages {
    pub fn new(config: Config, pacer: Pacer, clock: Clock) -> Messages {
        Messages {
            layer: tasuki_msg::Endpoint::new(config, pacer),
            sends: Slab::new(),
            generation: 0,
            recvs: Table::new(),
            bounce: BounceBuffers::default(),
            lent: Lent::default(),
            keys: KeyTable::default(),
            copied: 0,
            completions: Completions::default(),
            control: InOrder::default(),
            pushes: Pushes::default(),
            speeds: Speeds::default(),
            clock,
            duties: VecDeque::new(),
        }
    }

    /// The message layer itself, for questions.
    #[inline(always)]
    pub fn layer(&self) -> &tasuki_msg::Endpoint<Pacer> {
        &self.layer
    }

    /// The message layer itself, for what concerns no memory: frames to send, options of peers, time.
    #[inline(always)]
    pub fn layer_mut(&mut self) -> &mut tasuki_msg::Endpoint<Pacer> {
        &mut self.layer
    }

    /// What the program will be told.
    #[inline(always)]
    pub fn completions(&self) -> &Completions {
        &self.completions
    }

    #[inline(always)]
    pub fn completions_mut(&mut self) -> &mut Completions {
        &mut self.completions
    }

    /// Makes a peer known to the message layer. Until a route is chosen, nothing is sent to it.
    pub fn add_peer(&mut self) -> PeerId {
        self.layer.add_peer(PeerOptions { inline_max: 0, pull: false })
    }

    /// Says how long a first frame to the peer may be, and whether the peer can fetch bytes itself.
    pub fn set_options(&mut self, id: PeerId, options: PeerOptions) {
        // An error means that the peer was forgotten: then nothing is sent to it.
        let _ = self.layer.set_peer_options(id, options);
    }

    /// There may be something to do: for the message layer, or as a duty of the engine.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.layer.has_work() || !self.duties.is_empty()
    }

    /// The message layer asks for something, or the engine has a duty.
    #[inline(always)]
    pub fn has_actions(&self) -> bool {
        self.layer.has_actions() || !self.duties.is_empty()
    }

    /// The program must be told of something before it is given what waits in shared memory.
    #[inline(always)]
    pub fn has_earlier(&self) -> bool {
        !self.completions.is_empty() || self.layer.has_actions()
    }

    /// The program has an operation under way that will end. (A multi-receive does not count: programs keep
    /// some posted.)
    pub fn is_awaited(&self) -> bool {
        !self.sends.is_empty() || self.recvs.iter().any(|recv| !recv.multi && recv.internal.is_none())
    }

    /// No operation is under way.
    pub fn is_idle(&self) -> bool {
        self.sends.is_empty() && self.recvs.is_empty()
    }

    /// Sends under way, receives under way, bytes that wait in copies.
    pub fn census(&self) -> (usize, usize, u64) {
        (self.sends.len(), self.recvs.len(), self.copied)
    }
}

/// Posting.
impl Messages {
    /// Hands a send to the message layer. Gives the number by which that and [`Messages::send_of`] know it:
    /// its index and its generation, since a send may be asked about that is over, when another has its
    /// place.
    pub fn post_send(&mut self, mut op: SendOp, request: SendRequest) -> Result<u64, UnknownPeer> {
        self.generation = self.generation.wrapping_add(1);
        op.generation = self.generation;
        let (index, key) = (self.sends.insert(op), request.remote_key.map(RendezvousKey::decode));
        let user = u64::from(self.generation) << 32 | index as u64;
        match self.layer.post_send(SendRequest { user, ..request }) {
            Ok(id) => {
                self.sends[index].id = Some(id);
                if let Some(key) = key {
                    self.keys.insert(key, index);
                }
                Ok(user)
            }
            Err(error) => {
                self.sends.remove(index);
                Err(error)
            }
        }
    }

    /// Hands a receive to the message layer by `post`, which is given the key under which the receive will be
    /// known.
    pub fn post_recv<E>(
        &mut self,
        op: RecvOp,
        post: impl FnOnce(&mut tasuki_msg::Endpoint<Pacer>, u64) -> Result<RecvId, E>,
    ) -> Result<(), E> {
        // Actions that this causes are carried out later, when the record is there.
        let id = post(&mut self.layer, self.recvs.next_key() as u64)?;
        self.recvs.insert(RecvOp { id: Some(id), ..op });
        Ok(())
    }

    /// Posts a receive of the program. On the hot path, so the record is written where it stays.
    #[inline(always)]
    pub fn recv(
        &mut self,
        request: RecvRequest,
        op: impl FnOnce(RecvId) -> RecvOp,
    ) -> Result<(), UnknownPeer> {
        let id = self.layer.post_recv(RecvRequest { user: self.recvs.next_key() as u64, ..request })?;
        self.recvs.insert(op(id));
        Ok(())
    }

    /// A number under which a peer may fetch a send that is about to be posted.
    pub fn next_key_number(&mut self) -> u64 {
        self.keys.next_number()
    }

    /// Lets a send that is still under way go on from a copy of its bytes, if the program must have them back
    /// now (`inject`) or is better off so (the message is short). The program is then told that the send is
    /// complete.
    ///
    /// # Safety
    /// The buffers of `args`, which are those of the send, can be read.
    pub unsafe fn keep_copy(&mut self, user: u64, args: &SendArgs<'_>, route: Route) {
        let Some(send) = self.send_of(user) else { return };
        let len = send.memory.len();
        let fits = len <= sends::COPY_MAX && self.copied + len <= sends::COPY_TOTAL;
        // A peer with no route yet is one that was found gone: its send is going to fail, and must not be
        // told to be complete before that.
        let by_packets = matches!(route, Route::Net(_) | Route::Loopback);
        let short = fits && !args.delivery && by_packets;
        if !args.inject && !short {
            return;
        }
        let room = self.bounce.take(len as usize);
        // SAFETY: as the caller promises.
        let copy = unsafe { Memory::copy_of(args.buffers, room) };
        self.copied += len;
        let Some(send) = self.sends.get_mut(user as u32 as usize) else { return };
        send.memory = copy;
        if args.delivery {
            return;
        }
        send.reported = true;
        let (context, peer, tagged) = (send.context, send.peer, send.tagged);
        self.completions.push_sent(args.report, context, peer, tagged);
    }

    /// Takes back the program's operations with this context, as far as they can still be taken back. True if
    /// one was.
    pub fn cancel(&mut self, context: u64) -> bool {
        let of_program = |recv: &&RecvOp| recv.context == context && recv.internal.is_none();
        let recvs: Vec<_> = self.recvs.iter().filter(of_program).filter_map(|recv| recv.id).collect();
        let pending = |send: &&SendOp| send.context == context && !send.reported && send.internal.is_none();
        let sends: Vec<_> =
            self.sends.iter().map(|(_, send)| send).filter(pending).filter_map(|send| send.id).collect();
        recvs.into_iter().any(|id| self.layer.cancel_recv(id))
            || sends.into_iter().any(|id| self.layer.cancel_send(id))
    }
}

/// What carriers and rendezvous transports ask about operations.
impl Messages {
    /// The send that a peer may fetch under this number, if it is under way and for that peer.
    pub fn exposed(&self, number: u64, peer: Peer) -> Option<&SendOp> {
        self.sends.get(self.keys.find(number)?).filter(|send| send.peer == peer)
    }

    /// Memory, context and queue of a receive that the fast path can end: the program's, of one piece, with a
    /// completion.
    #[inline(always)]
    pub fn plain_recv(&self, user: u64) -> Option<(Buffer, u64, bool)> {
        match self.recvs.get(user as usize)? {
            RecvOp {
                memory: Memory::One(piece),
                context,
                tagged,
                report: Report::Completion,
                internal: None,
                ..
            } => Some((*piece, *context, *tagged)),
            _ => None,
        }
    }

    /// Forgets a receive that [`Messages::plain_recv`] has given. One piece of the program's memory has
    /// nothing to be freed.
    #[inline(always)]
    pub fn forget_plain_recv(&mut self, user: u64) {
        self.recvs.forget(user as usize);
    }

    /// The memory of the receive that a pull is for, if that receive is still under way.
    pub fn memory_for(&self, job: &PullJob) -> Option<&Memory> {
        let recv = self.recvs.get(job.user as usize).filter(|recv| recv.id == Some(job.recv))?;
        Some(&recv.memory)
    }
}

#[cfg(test)]
mod tests;
