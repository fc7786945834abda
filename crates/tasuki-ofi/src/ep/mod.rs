//! Endpoints: the object, from opening to closing. One endpoint of libfabric is one endpoint of the engine.

mod answers;
mod atomic;
mod bind;
mod calls;
mod claims;
mod complete;
mod errno;
mod handle;
mod lost;
mod msg;
mod open_error;
mod options;
mod peers;
mod post;
mod probe;
mod rma;
mod state;
mod tagged;
mod wiring;

pub use self::atomic::Kind as AtomicKind;
pub use self::post::pieces;
pub use self::state::EpShared;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use tasuki_engine::{Address, Endpoint, OnFailure, Options};

use self::handle::{Ep, shared};
use crate::abi::*;
use crate::death::{self, PeerFailure};
use crate::guard::{self, Errno, Ret, lock};
use crate::limits::*;
use crate::names::{self, NameService};
use crate::note;
use crate::object::shared::DomainShared;
use crate::provider;
use crate::recorder::Recorder;

static OPS: Ops = Ops::new(close, bind::bind, bind::control);

static COLLECTIVE_OPS: OpsNone<11> = OpsNone { size: size_of::<OpsNone<11>>(), calls: [nosys; 11] };

/// `fi_endpoint`.
///
/// # Safety
/// The arguments are as fi_endpoint(3) demands.
pub unsafe fn open(domain: &Arc<DomainShared>, info: *mut Info, ep: *mut *mut FidEp, context: Ptr) -> Ret {
    // SAFETY: null or the caller's.
    let info = unsafe { info.as_ref() }.ok_or(Errno(FI_EINVAL))?;
    // SAFETY: null or valid, as the attributes of any info.
    let (ep_attr, tx, rx) = unsafe { (info.ep_attr.as_ref(), info.tx_attr.as_ref(), info.rx_attr.as_ref()) };
    if ep_attr.is_some_and(|attr| !matches!(attr.ep_type, FI_EP_UNSPEC | FI_EP_RDM)) {
        return Err(Errno(FI_EINVAL));
    }
    let answers = answers::Answers::from_env().map_err(|error| open_error::of_environment(&error))?;
    let peer_failure = PeerFailure::from_env().map_err(|error| open_error::of_environment(&error))?;
    let one_sided = info.caps & (FI_MSG | FI_TAGGED) == 0;
    let engine = engine(peer_failure, one_sided)?;
    let recorder =
        Recorder::from_env(&engine.address()).map_err(|error| open_error::of_environment(&error))?;
    let records = recorder.is_some();
    // SAFETY: null or as many bytes as said, as in any info.
    let names = unsafe { name_service(info, &engine.address()) }?;
    note!("endpoint {}", engine.address());
    if domain.one_caller {
        // SAFETY: the program has promised it for everything in the domain; nothing in this provider calls an
        // endpoint from within its own call.
        unsafe { engine.assume_one_caller() };
    }
    let rx_flags = rx.map_or(0, |attr| attr.op_flags);
    let shared = Arc::new(EpShared {
        engine,
        directed: info.caps & FI_DIRECTED_RECV != 0,
        tx_flags: tx.map_or(0, |attr| attr.op_flags),
        rx_flags,
        tagged_rx_flags: rx_flags & !FI_MULTI_RECV,
        wiring: OnceLock::new(),
        peers: peers::Peers::default(),
        claims: claims::Claims::default(),
        answers,
        lost: lost::Lost::default(),
        peer_failure,
        rma: rma::Rma::default(),
        recorder,
        min_multi_recv: AtomicUsize::new(MIN_MULTI_RECV),
    });
    domain.regions.join(&shared);
    let handle = FidEp {
        fid: Fid { fclass: FI_CLASS_EP, context, ops: &OPS },
        ops: &options::EP_OPS,
        cm: &options::CM_OPS,
        msg: if records { &msg::RECORDING_MSG_OPS } else { &msg::MSG_OPS },
        rma: &rma::RMA_OPS,
        tagged: if records { &tagged::RECORDING_TAGGED_OPS } else { &tagged::TAGGED_OPS },
        atomic: &atomic::ATOMIC_OPS,
        collective: &COLLECTIVE_OPS,
    };
    let object = Ep { handle, _names: names, shared, plan: Mutex::default(), _domain: domain.clone() };
    // SAFETY: the caller's place for the result; Ep is repr(C) and begins with the handle.
    unsafe { guard::expose(ep, object) }
}

fn engine(peer_failure: PeerFailure, one_sided: bool) -> Ret<Endpoint> {
    let from_env = Options::from_env().map_err(|error| open_error::of_environment(&error))?;
    let on_failure = (peer_failure == PeerFailure::Abort).then_some(death::end as OnFailure);
    let options = Options { on_failure, one_sided, siblings: provider::siblings(), ..from_env };
    Endpoint::open(&options).map_err(|error| open_error::of_engine(&error))
}

/// Begins to tell the address of an endpoint, if its source is a location with a port.
///
/// # Safety
/// `src_addr` is null or has `src_addrlen` bytes.
unsafe fn name_service(info: &Info, address: &Address) -> Ret<Option<NameService>> {
    if info.src_addr.is_null() {
        return Ok(None);
    }
    // SAFETY: by the contract.
    let bytes = unsafe { std::slice::from_raw_parts(info.src_addr.cast::<u8>(), info.src_addrlen) };
    let source = Address::from_bytes(bytes).map_err(|_| Errno(FI_EINVAL))?;
    match names::as_location(&source) {
        Some(at) if at.port() != 0 => match NameService::open(at, address) {
            Ok(names) => Ok(Some(names)),
            Err(error) => Err(open_error::of_names(at, &error)),
        },
        _ => Ok(None),
    }
}

/// `fi_close`. It waits, for a bounded time, until no other thread's call uses the endpoint any more: one
/// that waits at a queue holds it for some milliseconds. Then it waits, for a bounded time, until peers have
/// acknowledged what was sent to them, as the engine does when it closes.
unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    guard::int(|| {
        // SAFETY: only endpoints have this table; the caller gives it up.
        let ep = unsafe { guard::retake::<Ep, Fid>(fid) };
        lock(&ep.plan).leave(&ep.shared);
        let end = Instant::now() + tasuki_tuning::provider::CLOSE_MAX;
        while Arc::strong_count(&ep.shared) > 1 && Instant::now() < end {
            std::thread::sleep(tasuki_tuning::provider::CLOSE_POLL);
        }
        drop(ep);
        Ok(())
    })
}
