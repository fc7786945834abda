//! Atomic operations.
#![allow(missing_docs)] // Fields as in fi_atomic(3).

use super::{FiAddr, Ptr};

/// `struct fi_ioc`.
#[repr(C)]
pub struct Ioc {
    pub addr: *mut u8,
    pub count: usize,
}

/// `struct fi_rma_ioc`.
#[repr(C)]
pub struct RmaIoc {
    pub addr: u64,
    pub count: usize,
    pub key: u64,
}

/// `struct fi_msg_atomic`.
#[repr(C)]
pub struct MsgAtomic {
    pub msg_iov: *const Ioc,
    pub desc: *mut Ptr,
    pub iov_count: usize,
    pub addr: FiAddr,
    pub rma_iov: *const RmaIoc,
    pub rma_iov_count: usize,
    pub datatype: i32,
    pub op: i32,
    pub context: Ptr,
    pub data: u64,
}
