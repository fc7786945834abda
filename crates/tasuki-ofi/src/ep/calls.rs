//! What the calls for tagged and for untagged messages have in common.

use tasuki_engine::Buffer;

use super::post::{Rx, Tx, pieces};
use super::{EpShared, shared};
use crate::abi::{FI_EBADFLAGS, FI_EINVAL, FI_REMOTE_CQ_DATA, FidEp, Msg, MsgTagged};
use crate::guard::{self, Errno, Ret};
use crate::limits::{RX_CALL_FLAGS, TX_FLAGS};

/// Posts a send with the endpoint's default flags, which `tx` gets and combines with what the call says.
/// (`tx` is a closure of the caller, so that all of this is compiled into the caller and the arguments stay
/// in registers.) `RECORDS`: the endpoint records its messages.
///
/// # Safety
/// `ep` is an endpoint, and the memory as for [`EpShared::send`].
#[inline(always)]
pub unsafe fn send<const RECORDS: bool>(
    ep: *mut FidEp,
    pieces: Ret<impl AsRef<[Buffer]>>,
    tx: impl FnOnce(u64) -> Tx,
) -> isize {
    guard::size(move || {
        // SAFETY: by the contract.
        let ep = unsafe { shared(ep) }?;
        // SAFETY: by the contract.
        unsafe { ep.send::<RECORDS>(Ok(pieces?.as_ref()), &tx(ep.tx_flags)) }
    })
}

/// Posts a receive; `rx` gets the endpoint and combines its default flags with what the call says, as `tx` of
/// [`send`].
///
/// # Safety
/// `ep` is an endpoint, and the memory as for [`EpShared::recv`].
#[inline(always)]
pub unsafe fn recv(
    ep: *mut FidEp,
    pieces: Ret<impl AsRef<[Buffer]>>,
    rx: impl FnOnce(&EpShared) -> Rx,
) -> isize {
    guard::size(move || {
        // SAFETY: by the contract.
        let ep = unsafe { shared(ep) }?;
        // SAFETY: by the contract.
        unsafe { ep.recv(Ok(pieces?.as_ref()), &rx(ep)) }
    })
}

/// `struct fi_msg` and `struct fi_msg_tagged`, which differ in the tag.
pub trait Message {
    /// As a send with these flags.
    fn tx(&self, flags: u64) -> Tx;
    /// As a receive with these flags.
    fn rx(&self, flags: u64) -> Rx;
    /// Its pieces of memory.
    ///
    /// # Safety
    /// As for [`pieces`].
    unsafe fn pieces(&self) -> Ret<&[Buffer]>;
}

impl Message for Msg {
    fn tx(&self, flags: u64) -> Tx {
        let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(self.data);
        Tx { to: self.addr, tag: None, data, flags, context: Some(self.context) }
    }

    fn rx(&self, flags: u64) -> Rx {
        Rx { from: self.addr, tag: None, ignore: 0, flags, context: self.context }
    }

    unsafe fn pieces(&self) -> Ret<&[Buffer]> {
        // SAFETY: by the contract.
        unsafe { pieces(self.msg_iov, self.iov_count) }
    }
}

impl Message for MsgTagged {
    fn tx(&self, flags: u64) -> Tx {
        let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(self.data);
        Tx { to: self.addr, tag: Some(self.tag), data, flags, context: Some(self.context) }
    }

    fn rx(&self, flags: u64) -> Rx {
        Rx { from: self.addr, tag: Some(self.tag), ignore: self.ignore, flags, context: self.context }
    }

    unsafe fn pieces(&self) -> Ret<&[Buffer]> {
        // SAFETY: by the contract.
        unsafe { pieces(self.msg_iov, self.iov_count) }
    }
}

/// `fi_sendmsg`, `fi_tsendmsg`: a send that brings its flags. The caller vouches for its pointers.
pub unsafe extern "C" fn sendmsg<M: Message, const RECORDS: bool>(
    ep: *mut FidEp,
    msg: *const M,
    flags: u64,
) -> isize {
    guard::size(move || {
        // SAFETY: null or the caller's.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        if flags & !TX_FLAGS != 0 {
            return Err(Errno(FI_EBADFLAGS));
        }
        // SAFETY: the caller's promise.
        unsafe { shared(ep)?.send::<RECORDS>(msg.pieces(), &msg.tx(flags)) }
    })
}

/// `fi_recvmsg`, `fi_trecvmsg`: a receive that brings its flags. The caller vouches for its pointers.
pub unsafe extern "C" fn recvmsg<M: Message>(ep: *mut FidEp, msg: *const M, flags: u64) -> isize {
    guard::size(move || {
        // SAFETY: null or the caller's.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        if flags & !RX_CALL_FLAGS != 0 {
            return Err(Errno(FI_EBADFLAGS));
        }
        // SAFETY: the caller's promise.
        unsafe { shared(ep)?.recv(msg.pieces(), &msg.rx(flags)) }
    })
}
