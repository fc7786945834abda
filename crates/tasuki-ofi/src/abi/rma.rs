//! One-sided access.
#![allow(missing_docs)] // Fields as in fi_rma(3).

use super::{FiAddr, FidEp, IoVec, Ptr};

/// `struct fi_rma_iov`.
#[repr(C)]
pub struct RmaIov {
    pub addr: u64,
    pub len: usize,
    pub key: u64,
}

/// `struct fi_msg_rma`.
#[repr(C)]
pub struct MsgRma {
    pub msg_iov: *const IoVec,
    pub desc: *mut Ptr,
    pub iov_count: usize,
    pub addr: FiAddr,
    pub rma_iov: *const RmaIov,
    pub rma_iov_count: usize,
    pub context: Ptr,
    pub data: u64,
}

type Ep = *mut FidEp;
type Iov = *const IoVec;
type Desc = *mut Ptr;
type Buf = *mut u8;

/// `struct fi_ops_rma`.
#[repr(C)]
pub struct OpsRma {
    pub size: usize,
    pub read: unsafe extern "C" fn(Ep, Buf, usize, Ptr, FiAddr, u64, u64, Ptr) -> isize,
    pub readv: unsafe extern "C" fn(Ep, Iov, Desc, usize, FiAddr, u64, u64, Ptr) -> isize,
    pub readmsg: unsafe extern "C" fn(Ep, *const MsgRma, u64) -> isize,
    pub write: unsafe extern "C" fn(Ep, Buf, usize, Ptr, FiAddr, u64, u64, Ptr) -> isize,
    pub writev: unsafe extern "C" fn(Ep, Iov, Desc, usize, FiAddr, u64, u64, Ptr) -> isize,
    pub writemsg: unsafe extern "C" fn(Ep, *const MsgRma, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Buf, usize, FiAddr, u64, u64) -> isize,
    pub writedata: unsafe extern "C" fn(Ep, Buf, usize, Ptr, u64, FiAddr, u64, u64, Ptr) -> isize,
    pub injectdata: unsafe extern "C" fn(Ep, Buf, usize, u64, FiAddr, u64, u64) -> isize,
}
