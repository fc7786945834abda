//! Everything behind an endpoint's lock: the owners of its state, joined, and one round of progress.
//!
//! | owner | holds |
//! |---|---|
//! | [`Peers`] | who is known, and the route to each |
//! | [`Messages`] | the message layer, the memory of operations, completions |
//! | [`Shm`] | the shared-memory carrier |
//! | [`Net`] | the packet carrier |
//! | [`Rendezvous`] | length-coded bulk and streams |
//! | [`Rma`] | one-sided transfers |
//! | [`WaitPolicy`] | how a program that polls in vain spends its time |
//! | [`Liveness`] | which peers are gone |
//!
//! No owner knows this module. What one cannot do alone it returns, or leaves as a [`Duty`].

mod activity;
mod describe;
mod ends;
mod given;
mod operations;
mod poll;
mod post;
mod routes;
mod stats;
mod streaming;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tasuki_proto::Time;
use tasuki_tuning::engine;

use crate::address::Address;
use crate::clock::Clock;
use crate::liveness::Liveness;
use crate::messages::ops::Internal;
use crate::messages::{Duty, Messages, PullJob};
use crate::net::Net;
use crate::options::OnFailure;
use crate::peers::Peers;
use crate::rendezvous::bulk::{Bulk, BulkCounters};
use crate::rendezvous::keys::RendezvousKey;
use crate::rendezvous::stream::{StreamCounters, Streams};
use crate::rendezvous::{Context, Rendezvous};
use crate::rma::Rma;
use crate::shm::Shm;
use crate::shm::dual_copy::{DualCopyCounters, Pulled};
use crate::wait::WaitPolicy;
use activity::Activity;
pub(crate) use describe::describe;
use given::Given;
use stats::Page;

/// What the endpoint is doing with its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The program may use it.
    Open,
    /// It has said goodbye to its peers.
    Parting,
    /// All connections are told to end, whatever their peers' programs still want.
    Confirming,
}

/// The owners of an endpoint's state.
pub(crate) struct Engine {
    address: Address,
    clock: Clock,
    peers: Peers,
    messages: Messages,
    shm: Shm,
    net: Net,
    rendezvous: Rendezvous,
    rma: Rma,
    wait: WaitPolicy,
    liveness: Liveness,
    page: Page,
    phase: Phase,
    activity: Activity,
    /// The last [`Engine::settle`] left nothing to do.
    settled: bool,
    /// Nothing but memory need be polled, if all agree: see [`Engine::update_quiet`].
    quiet: bool,
    given: Given,
    /// Is told of peers that have failed.
    on_failure: Option<OnFailure>,
}

impl Engine {
    /// Joins the owners of the state of a new endpoint.
    pub fn new(
        address: Address,
        clock: Clock,
        (messages, shm, net, rendezvous): (Messages, Shm, Net, Rendezvous),
        wait: WaitPolicy,
        (liveness, on_failure): (Liveness, Option<OnFailure>),
    ) -> Engine {
        let mut engine = Engine {
            address,
            clock,
            peers: Peers::default(),
            messages,
            shm,
            net,
            rendezvous,
            rma: Rma::default(),
            wait,
            liveness,
            page: Page::default(),
            phase: Phase::Open,
            activity: Activity::default(),
            settled: false,
            quiet: false,
            given: Given::default(),
            on_failure,
        };
        // A NIC that has no carrier now is not the one on which peers are greeted first.
        engine.net.hear_link_states(&engine.peers, Time(0));
        engine
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    /// The program may not post any more.
    fn is_closing(&self) -> bool {
        self.phase != Phase::Open
    }
}

/// Progress of the program.
impl Engine {
    /// The program makes progress.
    #[inline(always)]
    pub fn count_program_call(&mut self) {
        self.activity.enter();
    }

    /// How often the program has made progress, for threads that do not hold the lock.
    pub fn entries(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.activity.entries)
    }
}

/// Settling: doing what follows.
impl Engine {
    /// The next poll looks at everything and settles.
    fn unsettle(&mut self) {
        (self.settled, self.quiet) = (false, false);
    }

    /// Carries out what the message layer asks for and sends what it has, until nothing is left that can be
    /// done now. True if there was something.
    fn settle(&mut self, now: Time) -> bool {
        let mut busy = false;
        // Sending makes releases, releases make completions, and completions may let the next frame go: each
        // round has a cause in the one before.
        for _ in 0..engine::SETTLE_ROUNDS {
            self.settled = !(self.has_work() && self.settle_once(now));
            if self.settled {
                break;
            }
            busy = true;
        }
        self.update_quiet();
        busy
    }

    /// One round of settling. True if something was done.
    fn settle_once(&mut self, now: Time) -> bool {
        let acted = self.run_actions() | self.messages.receive_control();
        let served = !self.is_closing() && self.rma.receive_requests(&mut self.messages);
        self.wait.note_served(served);
        acted | served | self.send_active(now)
    }

    /// There may be something to settle. Most rounds find nothing, and learn it here.
    fn has_work(&self) -> bool {
        let messages = self.messages.has_work() || self.messages.has_internal_messages();
        messages || self.net.has_work() || !self.shm.stalled().is_empty()
    }

    /// Hands what the message layer has for its peers to their carriers. True if there was something.
    fn send_active(&mut self, now: Time) -> bool {
        let mut any = self.shm.retry_stalled(&mut self.messages, &self.peers);
        while let Some(id) = self.messages.layer_mut().poll_active() {
            any = true;
            self.activate(id.into(), now);
        }
        any | self.transmit(now)
    }

    /// Sends the packets that the packet layer has. True if there was one.
    fn transmit(&mut self, now: Time) -> bool {
        let sent = self.net.transmit(&mut self.messages, &mut self.peers, now);
        streaming::push(self, now);
        // A connection may end when it is asked for its next packet.
        if self.net.has_events() {
            self.hear_net_events(now);
        }
        sent
    }

    /// Decides whether the next polls may look at memory alone. Everything that makes this false later calls
    /// [`Engine::unsettle`]. While both ends of a dual copy are at work, every poll looks at everything.
    fn update_quiet(&mut self) {
        self.quiet = self.settled && self.shm.stalled().is_empty() && !self.rendezvous.is_active();
        if self.shm.is_copying() {
            self.wait.poll_everything_next();
        }
    }

    /// Carries out what the message layer asks for, and the duties that follow from it. True if there was
    /// something.
    fn run_actions(&mut self) -> bool {
        let mut any = false;
        loop {
            any |= self.messages.run_actions();
            let Some(duty) = self.messages.next_duty() else { return any };
            any = true;
            self.perform(duty);
        }
    }

    #[inline(never)]
    fn perform(&mut self, duty: Duty) {
        match duty {
            Duty::Pull(job) => self.pull(job),
            Duty::SendEnded(Internal::Rma(step), result) => self.rma.send_ended(step, result),
            Duty::RecvEnded(Internal::Rma(step), result, memory) => {
                self.rma.recv_ended(step, result, &memory, &mut self.messages, &self.peers);
                self.messages.recycle_memory(memory);
            }
            Duty::RecvEnded(Internal::Control(number), Ok(done), memory) => {
                self.messages.control_mut().arrived(done.source.into(), number, memory);
                self.rendezvous.hear_next(done.source.into(), &mut self.messages);
            }
            Duty::SendEnded(..) | Duty::RecvEnded(..) => {}
            Duty::Parted(peer) => ends::part(self, peer),
            Duty::Resend(peer) => self.activate(peer, self.now()),
            Duty::Violation(peer, reason) => ends::fail_peer(self, peer, reason),
        }
    }

    fn pull(&mut self, job: PullJob) {
        match job.key {
            RendezvousKey::Memory(base) => {
                let processors = self.wait.processors();
                match self.shm.pull(&job, base, &mut self.messages, processors) {
                    Pulled::Now(copied) => self.messages.layer_mut().handle_pulled(job.pull, copied),
                    Pulled::Later => {}
                }
            }
            RendezvousKey::LengthCoded(_) | RendezvousKey::Stream(_) => {
                let now = self.now();
                let mut cx =
                    Context { messages: &mut self.messages, peers: &self.peers, net: &self.net, now };
                self.rendezvous.fetch(job, &mut cx);
            }
        }
    }

    /// Writes a part of a message for its receiver on this host, if one has asked and nothing else is to be
    /// done. True if so.
    #[inline]
    pub fn serve_copy(&mut self) -> bool {
        self.shm.has_copy_requests() && {
            let now = self.now();
            self.shm.serve_copy(&self.messages, self.wait.processors(), now)
        }
    }
}

/// Facts.
impl Engine {
    /// What streams have done; `None` if there are none.
    pub fn stream_counters(&self) -> Option<StreamCounters> {
        self.rendezvous.streams().map(Streams::counters)
    }

    /// What length-coded bulk has done; `None` if it was not asked for.
    pub fn bulk_counters(&self) -> Option<BulkCounters> {
        self.rendezvous.bulk().map(Bulk::counters)
    }

    pub fn dual_copy_counters(&self) -> DualCopyCounters {
        self.shm.dual_copy_counters()
    }

    /// Whether the endpoint keeps files in shared memory.
    pub fn has_files(&self) -> bool {
        self.shm.is_open() || self.page.is_open()
    }

    /// Begins to keep a statistics page.
    pub fn open_page(&mut self, one_sided: bool) {
        self.page.open(self.address.to_string(), one_sided, &self.shm, &self.net);
    }
}
