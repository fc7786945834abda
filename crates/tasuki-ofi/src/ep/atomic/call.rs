//! What all calls for atomic operations have in common. The caller vouches for its pointers, as fi_atomic(3)
//! demands; every unsafe function here has that contract.

use tasuki_engine::{AtomicOp, Buffer};

use super::Kind;
use crate::abi::*;
use crate::ep::rma::{Access, Atomic, Place};
use crate::ep::shared;
use crate::guard::{self, Errno, Ret};
use crate::limits::{IOV_LIMIT, TX_FLAGS};

/// The elements that a call names, in pieces, or what is wrong with them.
pub type Elements<'a> = Ret<&'a [Ioc]>;

/// The memory of a call on this side.
pub struct Local<'a> {
    /// What elements are combined with.
    pub operand: Elements<'a>,
    /// What elements are compared with.
    pub comparand: Elements<'a>,
    /// Place for former values.
    pub result: Elements<'a>,
}

/// No elements.
pub const NONE: Elements<'static> = Ok(&[]);

/// The pieces of an array of the caller's.
pub unsafe fn elements<'a>(first: *const Ioc, pieces: usize) -> Elements<'a> {
    match pieces {
        0 => NONE,
        _ if pieces > IOV_LIMIT || first.is_null() => Err(Errno(FI_EINVAL)),
        // SAFETY: the caller's array has so many entries.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, pieces) }),
    }
}

/// One piece as all elements.
pub fn one(piece: &Ioc) -> Elements<'_> {
    Ok(std::slice::from_ref(piece))
}

/// Number of elements in the pieces of a call; the place of the peer has as many.
pub fn count(elements: Elements<'_>) -> usize {
    elements.unwrap_or_default().iter().fold(0, |sum, piece| sum.saturating_add(piece.count))
}

/// The pieces of elements of this size as the engine's buffers.
fn buffers(elements: Elements<'_>, size: usize) -> Ret<Vec<Buffer>> {
    let buffer = |&Ioc { addr, count }: &Ioc| {
        let len = count.checked_mul(size).ok_or(Errno(FI_EINVAL))?;
        if addr.is_null() && len > 0 { Err(Errno(FI_EINVAL)) } else { Ok(Buffer { ptr: addr, len }) }
    };
    elements?.iter().map(buffer).collect()
}

/// A copy of the bytes of elements of this size.
unsafe fn bytes(elements: Elements<'_>, size: usize) -> Ret<Vec<u8>> {
    let mut bytes = Vec::new();
    for Buffer { ptr, len } in buffers(elements, size)? {
        if len > 0 {
            // SAFETY: the caller's memory, which does not change during the call.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(ptr, len) });
        }
    }
    Ok(bytes)
}

/// Posts an operation. `flags`: those of the call; `None` takes the endpoint's.
pub unsafe fn post(
    ep: *mut FidEp,
    kind: Kind,
    (datatype, op): (i32, i32),
    local: &Local<'_>,
    places: &[RmaIoc],
    (peer, flags, context): (FiAddr, Option<u64>, Option<Ptr>),
) -> isize {
    guard::size(|| {
        // SAFETY: the caller's promise.
        let ep = unsafe { shared(ep) }?;
        let (op, datatype) = kind.operation(datatype, op)?;
        let size = datatype.size();
        let place = |ioc: &RmaIoc| {
            let len = (ioc.count as u64).checked_mul(size as u64).ok_or(Errno(FI_EINVAL))?;
            Ok(Place { addr: ioc.addr, len, key: ioc.key })
        };
        let places = places.iter().map(place).collect::<Ret<Vec<_>>>()?;
        // An operation that only reads has no operand, whatever the program passes.
        let operand = if op == AtomicOp::Read { NONE } else { local.operand };
        // SAFETY: the caller's promise.
        let (operand, comparand) = unsafe { (bytes(operand, size)?, bytes(local.comparand, size)?) };
        let result = buffers(local.result, size)?;
        let result = (kind != Kind::Base).then_some(&result[..]);
        let atomic = Atomic { op, datatype, operand, comparand, result, max: kind.max() };
        let flags = flags.unwrap_or(ep.tx_flags);
        let access = Access { peer, read: kind != Kind::Base, data: None, flags, context };
        // SAFETY: the caller's promise.
        unsafe { ep.atomic(&atomic, &places, &access) }
    })
}

/// `fi_atomicmsg` and its like.
pub unsafe fn post_message(
    ep: *mut FidEp,
    kind: Kind,
    msg: *const MsgAtomic,
    (comparand, result): (Elements<'_>, Elements<'_>),
    flags: u64,
) -> isize {
    // SAFETY: null or the caller's.
    let Some(msg) = (unsafe { msg.as_ref() }) else { return -(FI_EINVAL as isize) };
    // FI_REMOTE_CQ_DATA: the target of an atomic operation is told nothing.
    if flags & !(TX_FLAGS & !FI_REMOTE_CQ_DATA) != 0 {
        return -(FI_EBADFLAGS as isize);
    }
    if msg.rma_iov.is_null() || msg.rma_iov_count > IOV_LIMIT {
        return -(FI_EINVAL as isize);
    }
    // SAFETY: the caller's array has so many entries.
    let places = unsafe { std::slice::from_raw_parts(msg.rma_iov, msg.rma_iov_count) };
    // SAFETY: the caller's promise.
    let operand = unsafe { elements(msg.msg_iov, msg.iov_count) };
    let local = Local { operand, comparand, result };
    let call = (msg.addr, Some(flags), Some(msg.context));
    // SAFETY: the caller's promise.
    unsafe { post(ep, kind, (msg.datatype, msg.op), &local, places, call) }
}
