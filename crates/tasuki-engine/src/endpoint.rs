//! The endpoint as others see it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::address::Address;
use tasuki_ring::Peek;

use crate::api::{
    Buffer, Claim, Completion, Found, Names, Peer, PostError, Probe, RecvArgs, Report, SendArgs,
};
use crate::aside::Aside;
use crate::biased_lock::{BiasedLock, Guard};
use crate::bulk::BulkCounters;
use crate::clock::Clock;
use crate::dual_copy::DualCopyCounters;
use crate::held::Held;
use crate::helper::Helper;
use crate::line::{Expecting, Glance, Waiting};
use crate::memory::Memory;
use crate::open::{self, OpenError};
use crate::options::Options;
use crate::patience::Rest;
use crate::remote::{RegisterError, RemoteArgs, RemoteDone, Rights, UnregisterError};
use crate::sleep::Sleeper;
use crate::state::State;
use crate::stream::StreamCounters;

/// What the program's threads and the helper share.
pub(crate) struct Inner {
    pub lock: BiasedLock<State>,
    /// Grows whenever the program makes progress: a copy of what the state counts, written under its lock. (Posting takes nothing in, so it
    /// does not count.)
    pub entries: AtomicU64,
    /// The program was given nothing when it called last.
    pub waits: AtomicBool,
    pub stop: AtomicBool,
    pub sleeper: Sleeper,
    pub held: Arc<Held>,
    pub clock: Clock,
}

impl Inner {
    /// The state, for the program.
    #[inline]
    pub fn lock(&self) -> Guard<'_, State> {
        self.lock.lock()
    }

    /// The program makes progress, with the lock that it holds.
    fn enter(&self, state: &mut State) {
        state.polled += 1;
        self.entries.store(state.polled, Ordering::Relaxed);
    }

    /// Offers the processor to others.
    #[cold]
    fn rest(&self, mut state: Guard<'_, State>) {
        let rest = state.rest();
        drop(state);
        let start = Instant::now();
        match rest {
            Rest::Offer => std::thread::yield_now(),
            Rest::Nap(time) => self.sleeper.nap(time),
        }
        self.lock().rested(rest, start.elapsed());
    }
}

/// One end of conversations: opens sockets and shared memory, knows peers, sends and receives messages.
///
/// All methods may be called from any thread. None but [`Endpoint::wait`] and [`Endpoint::close`] sleeps, but for naps in [`Endpoint::progress`].
pub struct Endpoint {
    inner: Arc<Inner>,
    address: Address,
    linger: Duration,
    helper: Mutex<Option<Helper>>,
    /// The helper has been started, or it was tried.
    helping: AtomicBool,
    /// A child after fork shares sockets and memory with its parent and must leave them alone.
    owner: u32,
    /// Last of all: the sockets in it are closed when everybody else has left them.
    aside: Aside,
}

impl Endpoint {
    /// Opens an endpoint.
    pub fn open(options: &Options) -> Result<Endpoint, OpenError> {
        let mut state = open::open(options)?;
        if options.stats {
            state.open_page();
        }
        let address = state.core.address;
        let aside = Aside::new(&state);
        let inner = Arc::new(Inner {
            sleeper: Sleeper::new(&state).map_err(OpenError::Wait)?,
            held: Arc::clone(&state.held),
            clock: state.clock,
            lock: BiasedLock::new(state),
            entries: AtomicU64::new(0),
            waits: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        if options.dump {
            crate::dump::listen();
        }
        let (helper, helping) = (Mutex::new(None), AtomicBool::new(false));
        let (linger, owner) = (options.linger, std::process::id());
        Ok(Endpoint { inner, address, linger, helper, helping, owner, aside })
    }

    /// From now on calls take no lock, which is a good part of a short message's time.
    ///
    /// # Safety
    /// No two threads call the endpoint at the same time, and nobody calls it from within what it was given to call.
    pub unsafe fn assume_one_caller(&self) {
        // SAFETY: whatever locks it is a call of the endpoint, or its end, and those come one after the other, as the caller promises; the
        // helper only visits.
        unsafe { self.inner.lock.program_calls_alone() };
    }

    /// What others must know to send to this endpoint.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Makes a peer known, or finds it if it is. Nothing is sent before there is a message for it.
    pub fn add_peer(&self, address: &Address) -> Peer {
        self.start_helper();
        self.inner.lock().core.peer(address)
    }

    /// Without a thread (a limit of the host) the endpoint works as long as the program calls it.
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
        self.inner.lock().core.state(peer).map(|state| state.address)
    }

    /// Why a peer was declared failed, in words.
    pub fn failure_reason(&self, peer: Peer) -> Option<String> {
        self.inner.lock().core.state(peer).and_then(|state| state.reason.clone())
    }

    /// The program does not need the peer any more. It stays known, because it may still send.
    pub fn remove_peer(&self, peer: Peer) {
        let _ = peer;
    }

    /// Posts a send. Never waits, and never asks to try again.
    ///
    /// # Safety
    /// The buffers can be read, and do not change, until the send completes; until `send` returns if it is `inject`.
    #[inline(always)]
    pub unsafe fn send(&self, send: &SendArgs<'_>) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().send(send) }
    }

    /// Posts a receive.
    ///
    /// # Safety
    /// The buffers can be written, and nobody else uses them, until the receive has completed for the last time.
    #[inline(always)]
    pub unsafe fn recv(&self, recv: &RecvArgs<'_>) -> Result<(), PostError> {
        // Peers may come without having been added.
        self.start_helper();
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().recv(recv) }
    }

    /// The first message that the probe accepts and that nobody has asked for.
    pub fn peek(&self, probe: &Probe) -> Option<Found> {
        self.inner.lock().peek(probe)
    }

    /// The same, and reserves it.
    pub fn claim(&self, probe: &Probe) -> Option<(Claim, Found)> {
        self.inner.lock().claim(probe)
    }

    /// The same as `peek`, and drops it.
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

    /// Lets peers put into this memory and get from it, with the key that it gives. Whoever knows the key and the endpoint's
    /// address can.
    ///
    /// # Safety
    /// The memory can be read and written, by any thread at any time, until [`Endpoint::unregister`] succeeds or the endpoint
    /// is closed. What the program itself reads there meanwhile may be half written.
    pub unsafe fn register(&self, memory: Buffer) -> Result<u64, RegisterError> {
        // Peers may come without having been added, and the program may never call again.
        self.start_helper();
        loop {
            let key = getrandom::u64()?;
            let mut state = self.inner.lock();
            if state.closing {
                return Err(PostError::Closed.into());
            }
            if state.core.service.register(key, Memory::One(memory), Rights::BOTH) {
                return Ok(key);
            }
        }
    }

    /// As [`Endpoint::register`], with a key of the program's choice: false if it is taken. A peer that guesses the key
    /// and knows the endpoint's address can reach the memory. Several pieces are one memory: offsets count through all
    /// of them, in order.
    ///
    /// # Safety
    /// As [`Endpoint::register`].
    pub unsafe fn register_as(&self, key: u64, pieces: &[Buffer], rights: Rights) -> Result<bool, PostError> {
        self.start_helper();
        let mut state = self.inner.lock();
        if state.closing {
            return Err(PostError::Closed);
        }
        Ok(state.core.service.register(key, Memory::of(pieces), rights))
    }

    /// Ends what [`Endpoint::register`] began. After success nobody touches the memory any more.
    pub fn unregister(&self, key: u64) -> Result<(), UnregisterError> {
        self.inner.lock().core.service.unregister(key)
    }

    /// Writes into memory that a peer has registered; complete when it is there. The peer's program need not call anything.
    ///
    /// # Safety
    /// The buffer can be read, and does not change, until the completion.
    pub unsafe fn put(&self, put: &RemoteArgs) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().transfer(put, false) }
    }

    /// Reads from memory that a peer has registered. The peer's program need not call anything.
    ///
    /// # Safety
    /// The buffer can be written, and nobody else uses it, until the completion.
    pub unsafe fn get(&self, get: &RemoteArgs) -> Result<(), PostError> {
        // SAFETY: as the caller promises.
        unsafe { self.inner.lock().transfer(get, true) }
    }

    /// Up to `max` one-sided transfers that are over. They are told here alone.
    pub fn poll_remote(&self, max: usize, mut each: impl FnMut(RemoteDone)) -> usize {
        let mut state = self.inner.lock();
        let count = max.min(state.core.remote.len());
        state.core.remote.drain(..count).for_each(&mut each);
        count
    }

    /// Takes back the operation with this context: true, and a completion with [`crate::Failure::Cancelled`] follows; false if it
    /// is too late, or there is none.
    pub fn cancel(&self, context: u64) -> bool {
        self.inner.lock().cancel(context)
    }

    /// Takes in what has arrived and sends what may be sent. After rounds in which nothing has happened it offers the processor to others: by a yield, or,
    /// if that does not help a program that waits and more want to run than there are processors, by a nap of 50 us that a packet ends.
    pub fn progress(&self) {
        self.turn(0, |_| {});
    }

    /// What most of the calls of [`Endpoint::turn_with`] come to, for a program that polls and calls alone: a glance at memory that others write to. (A glance that finds
    /// nothing has few registers to save, so what is found is taken by another call.)
    #[inline(always)]
    pub fn glance(&self) -> Glance<'_> {
        let Some(mut state) = self.inner.lock.enter() else { return Glance::Unknown };
        match state.glance() {
            Peek::Nothing if state.linger.stays() => {
                Glance::Expected(Expecting { state, waits: &self.inner.waits })
            }
            Peek::Nothing => Glance::Nothing,
            Peek::Found(found) => Glance::Found(Waiting { state, found, waits: &self.inner.waits }),
            Peek::Other => Glance::Unknown,
        }
    }

    /// [`Endpoint::progress`] and [`Endpoint::poll_many`] under one lock. Returns how many completions it gave, at most `max`.
    pub fn turn(&self, max: usize, mut each: impl FnMut(Completion)) -> usize {
        self.turn_with(max, |completion, _| each(*completion))
    }

    /// The same; `each` is called under the lock, so it must not call the endpoint, and is told instead who is who.
    pub fn turn_with(&self, max: usize, mut each: impl FnMut(&Completion, &Names<'_>)) -> usize {
        let Some(mut state) = self.inner.lock.try_lock() else {
            // Another thread is at it, and may be waiting for a processor.
            std::thread::yield_now();
            return 0;
        };
        self.inner.enter(&mut state);
        // With `max` 0 nothing is given: what comes then waits.
        let (busy, first) = if max > 0 { state.look() } else { (state.look_for_later(), None) };
        if let Some(completion) = &first {
            each(completion, &Names(&state.core.peers));
        }
        let given = usize::from(first.is_some());
        let count = given + state.take(max - given, each);
        self.inner.waits.store(!busy && count == 0, Ordering::Relaxed);
        if state.patience.is_over(busy, count > 0) {
            self.inner.rest(state);
        }
        count
    }

    /// The next completion.
    pub fn poll(&self) -> Option<Completion> {
        self.inner.lock().core.completions.pop_front()
    }

    /// Up to `max` completions at once.
    pub fn poll_many(&self, max: usize, mut each: impl FnMut(Completion)) -> usize {
        self.inner.lock().take(max, |completion, _| each(*completion))
    }

    /// Sleeps until there is a completion, something else may have happened, or the time is over; makes progress meanwhile.
    pub fn wait(&self, timeout: Option<Duration>) {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let (done, deadline) = {
                let mut state = self.inner.lock();
                self.inner.enter(&mut state);
                let busy = state.progress() | state.help();
                // It sleeps until something comes, so that nobody need step in.
                self.inner.waits.store(true, Ordering::Relaxed);
                let done = busy || !state.core.completions.is_empty() || !state.core.remote.is_empty();
                if !done {
                    state.prepare_to_sleep();
                }
                (done, state.next_deadline())
            };
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if done || left.is_some_and(|left| left.is_zero()) {
                return;
            }
            self.inner.sleeper.sleep(deadline.min(left.unwrap_or(Duration::MAX)));
        }
    }

    /// What streams have done; `None` if there are none.
    pub fn streams(&self) -> Option<StreamCounters> {
        self.inner.lock().core.streams.as_ref().map(|streams| streams.counters)
    }

    /// What length-coded bulk has done; `None` if it was not asked for.
    pub fn bulk(&self) -> Option<BulkCounters> {
        self.inner.lock().core.bulk.as_ref().map(|bulk| bulk.counters)
    }

    /// What copies by both ends of messages inside this host have brought.
    pub fn dual_copies(&self) -> DualCopyCounters {
        self.inner.lock().core.dual_copies.counters
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
            self.aside.forget();
            return;
        }
        // While this thread lingers the helper would only be in the way.
        drop(helper);
        // Lanes that are still being opened come too late.
        self.inner.lock().opening = None;
        crate::close::linger(&self.inner, self.linger);
        if self.inner.lock().has_files() {
            // Ranks that were killed have left theirs, and nobody else may come here for a long time.
            tasuki_ring::tidy();
        }
    }
}
