//! What the calls for tagged and for untagged messages have in common.

use tasuki_engine::Buffer;

use super::post::{Rx, Tx};
use super::shared;
use crate::abi::{FI_REMOTE_CQ_DATA, FidEp};
use crate::guard::{self, Ret};

/// A send whose flags are the endpoint's; `tx` says with them what else it has. (A function of the caller's own, so that this becomes part of the caller: what it was
/// given stays in registers.)
///
/// # Safety
/// `ep` is an endpoint, and the memory as for [`super::EpShared::send`].
#[inline(always)]
pub unsafe fn send(ep: *mut FidEp, pieces: Ret<impl AsRef<[Buffer]>>, tx: impl FnOnce(u64) -> Tx) -> isize {
    guard::size(move || {
        // SAFETY: by the contract.
        let ep = unsafe { shared(ep) }?;
        // SAFETY: by the contract.
        unsafe { ep.send(Ok(pieces?.as_ref()), &tx(ep.tx_flags)) }
    })
}

/// A send that brings its flags.
///
/// # Safety
/// As for [`send`].
pub unsafe fn send_message(ep: *mut FidEp, pieces: Ret<&[Buffer]>, tx: Tx) -> isize {
    guard::size(move || {
        let data = tx.data.filter(|_| tx.flags & FI_REMOTE_CQ_DATA != 0);
        let tx = Tx { data, ..tx };
        // SAFETY: by the contract.
        unsafe { shared(ep)?.send(pieces, &tx) }
    })
}

/// A receive whose flags are the endpoint's; `rx` as `tx` of [`send`].
///
/// # Safety
/// `ep` is an endpoint, and the memory as for [`super::EpShared::recv`].
#[inline(always)]
pub unsafe fn recv(ep: *mut FidEp, pieces: Ret<impl AsRef<[Buffer]>>, rx: impl FnOnce(u64) -> Rx) -> isize {
    guard::size(move || {
        // SAFETY: by the contract.
        let ep = unsafe { shared(ep) }?;
        // SAFETY: by the contract.
        unsafe { ep.recv(Ok(pieces?.as_ref()), &rx(ep.rx_flags)) }
    })
}

/// A receive that brings its flags.
///
/// # Safety
/// As for [`recv`].
pub unsafe fn recv_message(ep: *mut FidEp, pieces: Ret<&[Buffer]>, rx: Rx) -> isize {
    guard::size(move || {
        // SAFETY: by the contract.
        unsafe { shared(ep)?.recv(pieces, &rx) }
    })
}
