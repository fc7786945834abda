//! The endpoint as programs see it.

mod poll;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::address::Address;
use crate::api::{Buffer, Claim, Found, Peer, PostError, Probe, RecvArgs, Report, SendArgs, Standing};
use crate::deferred_close::DeferredClose;
use crate::helper::Helper;
use crate::inner::Inner;
use crate::open::{self, OpenError};
use crate::options::Options;
use crate::rendezvous::bulk::BulkCounters;
use crate::rendezvous::stream::StreamCounters;
use crate::rma::api::{
    AtomicArgs, RegisterError, RemoteArgs, RemoteCall, RemoteDone, Rights, UnregisterError,
};
use crate::shm::dual_copy::DualCopyCounters;
pub use poll::Sink;

/// One end of conversations: opens sockets and shared memory, knows peers, sends and receives messages.
///
/// All methods may be called from any thread. Only [`Endpoint::wait`] and [`Endpoint::close`] sleep; polls
/// may take naps of 50 us.
pub struct Endpoint {
    inner: Arc<Inner>,
    address: Address,
    linger: Duration,
    helper: Mutex<Option<Helper>>,
    /// The helper thread has been started, or it was tried.
    helping: AtomicBool,
    /// Process id of the process that opened the endpoint. A child after fork shares sockets and memory with
    /// its parent and must leave them alone.
    owner: u32,
    /// The last field: the sockets in it are closed when nothing else refers to them.
    deferred_close: DeferredClose,
}

impl Endpoint {
    /// Opens an endpoint.
    pub fn open(options: &Options) -> Result<Endpoint, OpenError> {
        let opened = open::open(options)?;
        let (address, deferred_close) = (opened.address, DeferredClose::new(opened.raw_sockets.clone()));
        let inner = Arc::new(Inner::new(opened));
        if options.dump {
            crate::dump::listen();
        }
        let (helper, helping) = (Mutex::new(None), AtomicBool::new(false));
        let (linger, owner) = (options.linger, std::process::id());
        Ok(Endpoint { inner, address, linger, helper, helping, owner, deferred_close })
    }

    /// From now on calls take no lock, which is a good part of a short message's time.
    ///
    /// # Safety
    /// No two threads call the endpoint at the same time, and it is not called from within the functions that
    /// it calls.
    pub unsafe fn assume_one_caller(&self) {
        // SAFETY: the lock is taken only by calls of the endpoint and by its end, which come one after the
        // other, as the caller promises; the helper thread only visits.
        unsafe { self.inner.lock.program_calls_alone() };
    }

    /// What others must know to send to this endpoint.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Makes a peer known, or finds it if it is. Nothing is sent before there is a message for it.
    pub fn add_peer(&self, address: &Address) -> Peer {
        self.start_helper();
        self.inner.lock().add_peer(address)
    }

    /// Starts the helper thread if there is none yet. Without it (a limit of the process) the endpoint works
    /// as long as the program calls it.
    #[inline]
    fn start_helper(&self) {
        if !self.helping.load(Ordering::Relaxed) {
            self.start_helper_now();
        }
    }

    #[cold]
    fn start_helper_now(&self) {
        let mut helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner);
        if helper.is_none() {
            *helper = Helper::start(&self.inner).ok();
        }
        self.helping.store(true, Ordering::Relaxed);
    }

    /// The address of a peer.
    pub fn peer_address(&self, peer: Peer) -> Option<Address> {
        self.inner.lock().peer_address(peer)
    }

    /// Why a peer was declared failed, in words.
    pub fn failure_reason(&self, peer: Peer) -> Option<String> {
        self.inner.lock().names().failure(peer)
    }

    /// How a peer stands to this endpoint. Receives from any source are not told of ends of peers.
    pub fn standing(&self, peer: Peer) -> Standing {
        self.inner.lock().names().standing(peer)
    }

    /// The program does not need the peer any more. The peer stays known, because it may still send.
    pub fn remove_peer(&self, peer: Peer) {
        let _ = peer;
    }

    /// Posts a send. Never waits, and never asks to try again.
    ///
    /// # Safety
    /// The buffers can be read, and do not change, until the send completes; until `send` returns if it is
    /// `inject`.
    #[inline(always)]
    pub unsafe fn send(&self, send: &SendArgs<'_>) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().send(send) }
    }

    /// Posts a receive.
    ///
    /// # Safety
    /// The buffers can be written, and nobody else uses them, until the receive has completed for the last
    /// time.
    #[inline(always)]
    pub unsafe fn recv(&self, recv: &RecvArgs<'_>) -> Result<(), PostError> {
        // Peers may write to this endpoint without having been added.
        self.start_helper();
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().recv(recv) }
    }

    /// The first message that the probe accepts and that no receive has taken.
    pub fn peek(&self, probe: &Probe) -> Option<Found> {
        self.inner.lock().peek_message(probe)
    }

    /// As [`Endpoint::peek`], and reserves the message.
    pub fn claim(&self, probe: &Probe) -> Option<(Claim, Found)> {
        self.inner.lock().claim(probe)
    }

    /// As [`Endpoint::peek`], and drops the message.
    pub fn discard(&self, probe: &Probe) -> Option<Found> {
        self.inner.lock().discard(probe)
    }

    /// Receives a claimed message.
    ///
    /// # Safety
    /// As [`Endpoint::recv`].
    pub unsafe fn recv_claimed(
        &self,
        claim: Claim,
        buffers: &[Buffer],
        report: Report,
        context: u64,
    ) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().recv_claimed(claim, buffers, report, context) }
    }

    /// Drops a claimed message.
    pub fn discard_claimed(&self, claim: Claim) -> Result<(), PostError> {
        self.inner.lock().discard_claimed(claim)
    }

    /// Lets peers put into this memory and get from it, under the key that is returned. Every process that
    /// knows the key and the endpoint's address can do so.
    ///
    /// # Safety
    /// The memory can be read and written, by any thread at any time, until [`Endpoint::unregister`] succeeds
    /// or the endpoint is closed. What the program itself reads there meanwhile may be half written.
    pub unsafe fn register(&self, memory: Buffer) -> Result<u64, RegisterError> {
        loop {
            let key = getrandom::u64()?;
            // SAFETY: as the caller promises.
            if unsafe { self.register_as(key, &[memory], Rights::BOTH) }? {
                return Ok(key);
            }
        }
    }

    /// As [`Endpoint::register`], with a key of the program's choice: false if it is taken. A process that
    /// can guess the key can reach the memory, if it knows the endpoint's address. Several pieces are one
    /// region: offsets count through all of them, in order.
    ///
    /// # Safety
    /// As [`Endpoint::register`].
    pub unsafe fn register_as(&self, key: u64, pieces: &[Buffer], rights: Rights) -> Result<bool, PostError> {
        // Peers may write to this endpoint without having been added, and the program may never call again.
        self.start_helper();
        self.inner.lock().register(key, pieces, rights)
    }

    /// Ends what [`Endpoint::register`] began. After success no peer touches the memory any more.
    pub fn unregister(&self, key: u64) -> Result<(), UnregisterError> {
        self.inner.lock().unregister(key)
    }

    /// Writes into memory that a peer has registered; complete when it is there. The peer's program need not
    /// call anything.
    ///
    /// # Safety
    /// The buffer can be read, and does not change, until the completion.
    pub unsafe fn put(&self, put: &RemoteArgs) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().transfer(&RemoteCall::Put(put)) }
    }

    /// Reads from memory that a peer has registered. The peer's program need not call anything.
    ///
    /// # Safety
    /// The buffer can be written, and nobody else uses it, until the completion.
    pub unsafe fn get(&self, get: &RemoteArgs) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().transfer(&RemoteCall::Get(get)) }
    }

    /// Changes elements of memory that a peer has registered, each in one step; complete when that is done.
    /// The peer's program need not call anything.
    ///
    /// # Safety
    /// The place for former values can be written, and nobody else uses it, until the completion.
    pub unsafe fn atomic(&self, atomic: &AtomicArgs<'_>) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().transfer(&RemoteCall::Atomic(atomic)) }
    }

    /// Gives up to `max` one-sided transfers that are over to `each`, and returns how many. They are told
    /// here alone.
    pub fn poll_remote(&self, max: usize, each: impl FnMut(RemoteDone)) -> usize {
        self.inner.lock().take_transfers(max, each)
    }

    /// Takes back the operation with this context: true, and a completion with [`crate::Failure::Cancelled`]
    /// follows; false if it is too late, or there is none.
    pub fn cancel(&self, context: u64) -> bool {
        self.inner.lock().cancel(context)
    }

    /// What streams have done; `None` if there are none.
    pub fn streams(&self) -> Option<StreamCounters> {
        self.inner.lock().stream_counters()
    }

    /// What length-coded bulk has done; `None` if it was not asked for.
    pub fn bulk(&self) -> Option<BulkCounters> {
        self.inner.lock().bulk_counters()
    }

    /// What dual copies of messages inside this host have brought.
    pub fn dual_copies(&self) -> DualCopyCounters {
        self.inner.lock().dual_copy_counters()
    }

    /// What a watchdog prints when nothing moves: operations, peers, rails.
    pub fn describe(&self) -> String {
        self.inner.lock().describe()
    }

    /// Parts from all peers: waits, for a bounded time, until all that was sent has been acknowledged.
    pub fn close(self) {}
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if self.owner != std::process::id() {
            // The thread is not here, and sockets and shared memory are the parent's.
            std::mem::forget((helper, Arc::clone(&self.inner)));
            self.deferred_close.forget();
            return;
        }
        // While this thread takes leave the helper would only be in the way.
        drop(helper);
        // Lanes that are still being opened come too late.
        self.inner.lock().stop_opening_lanes();
        crate::close::take_leave(&self.inner, self.linger);
        if self.inner.lock().has_files() {
            // Ranks that were killed have left their files, and no other endpoint may come here for a long
            // time.
            tasuki_ring::tidy();
        }
    }
}
