//! The part of an endpoint that queues, counters, address vectors and the domain hold, and the progress that
//! it makes for them.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tasuki_engine::{Buffer, Completion, Endpoint, Names, Received, Rights, Sink};

use super::answers::Answers;
use super::claims::Claims;
use super::lost::Lost;
use super::peers::Peers;
use super::rma::Rma;
use super::wiring::Wiring;
use crate::abi::{FI_ENOKEY, FI_EOPBADSTATE, FiAddr};
use crate::death::PeerFailure;
use crate::entries::Reader;
use crate::guard::{Errno, Ret};
use crate::members::Member;
use crate::recorder::Recorder;

/// The part of an endpoint that queues and counters hold.
pub struct EpShared {
    pub(super) engine: Endpoint,
    /// Receives may name a sender (`FI_DIRECTED_RECV`). Otherwise the sender that they name is passed over,
    /// because it may be anything.
    pub(super) directed: bool,
    /// Flags of sends whose call brings none.
    pub(super) tx_flags: u64,
    /// Flags of untagged receives whose call brings none.
    pub(super) rx_flags: u64,
    /// Flags of tagged receives whose call brings none: without `FI_MULTI_RECV`, which is for untagged ones.
    pub(super) tagged_rx_flags: u64,
    /// Set by `fi_enable`.
    pub(super) wiring: OnceLock<Wiring>,
    pub(super) peers: Peers,
    pub(super) claims: Claims,
    pub(super) answers: Option<Answers>,
    pub(super) lost: Lost,
    pub(super) peer_failure: PeerFailure,
    pub(super) rma: Rma,
    /// Writes down what messages there are, if the environment asks for it.
    pub(super) recorder: Option<Recorder>,
    pub(super) min_multi_recv: AtomicUsize,
}

impl EpShared {
    /// What the endpoint is bound to; an error before `fi_enable`.
    #[inline(always)]
    pub fn wiring(&self) -> Ret<&Wiring> {
        self.wiring.get().ok_or(Errno(FI_EOPBADSTATE))
    }

    /// Lets peers reach memory under this key; offsets count through all its pieces.
    pub fn expose(&self, key: u64, pieces: &[Buffer], rights: Rights) -> Ret {
        // SAFETY: fi_mr(3): the memory stays until the registration is closed, which waits for `conceal`.
        match unsafe { self.engine.register_as(key, pieces, rights) } {
            Ok(true) => Ok(()),
            Ok(false) => Err(Errno(FI_ENOKEY)),
            Err(_) => Err(Errno(FI_EOPBADSTATE)),
        }
    }

    /// Ends what [`EpShared::expose`] began; false if transfers are under way.
    pub fn conceal(&self, key: u64) -> bool {
        !matches!(self.engine.unregister(key), Err(tasuki_engine::UnregisterError::Busy(_)))
    }
}

impl Member for EpShared {
    #[inline(always)]
    fn poll<'a>(&'a self, reader: impl FnOnce() -> Reader<'a>) -> Option<Reader<'a>> {
        let Some(wiring) = self.wiring.get().filter(|_| !self.accesses()) else {
            let mut reader = reader();
            self.progress(Some(&mut reader));
            return Some(reader);
        };
        self.engine.poll_with(|| Delivery { ep: self, wiring, reader: reader() }).map(|sink| sink.reader)
    }

    fn progress(&self, mut reader: Option<&mut Reader<'_>>) {
        let Some(wiring) = self.wiring.get() else { return self.engine.progress() };
        // Completions are reported under the engine's lock, so that they keep their order. If another thread
        // has the lock, that thread reports them.
        self.engine.turn_with(usize::MAX, |completion, names| {
            self.complete(completion, &|peer| names.address(peer), wiring, reader.as_deref_mut());
        });
        self.rma.drain(&self.engine, wiring, |peer, failure| {
            self.lose(peer, failure, |peer| self.engine.peer_address(peer));
        });
    }

    fn wait(&self, limit: Duration) {
        self.engine.wait(Some(limit));
    }

    #[inline]
    fn accesses(&self) -> bool {
        self.rma.accesses()
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    fn forget(&self, name: FiAddr, last: bool) {
        if let Some(peer) = self.peers.forget(name)
            && last
        {
            self.engine.remove_peer(peer);
        }
    }
}

/// What an endpoint hands to the reader of a completion queue.
struct Delivery<'a> {
    ep: &'a EpShared,
    wiring: &'a Wiring,
    reader: Reader<'a>,
}

impl Sink for Delivery<'_> {
    #[inline(always)]
    fn take_message(&mut self, message: &Received, names: &Names<'_>) -> bool {
        self.ep.hand_over(message, names, self.wiring, &mut self.reader);
        self.reader.has_room()
    }

    fn take_completion(&mut self, completion: &Completion, names: &Names<'_>) {
        let reader = Some(&mut self.reader);
        self.ep.complete(completion, &|peer| names.address(peer), self.wiring, reader);
    }
}
