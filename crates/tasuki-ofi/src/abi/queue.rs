//! Completion queues, counters, event queues.
#![allow(missing_docs)] // Fields as in fi_cq(3), fi_cntr(3), fi_eq(3).

use super::{FiAddr, Fid, Ptr, Text};

/// `struct fi_cq_tagged_entry`. Entries of the other formats are its first fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CqTaggedEntry {
    pub op_context: Ptr,
    pub flags: u64,
    pub len: usize,
    pub buf: Ptr,
    pub data: u64,
    pub tag: u64,
}

/// `struct fi_cq_err_entry`.
#[repr(C)]
pub struct CqErrEntry {
    pub op_context: Ptr,
    pub flags: u64,
    pub len: usize,
    pub buf: Ptr,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: i32,
    pub prov_errno: i32,
    pub err_data: Ptr,
    pub err_data_size: usize,
    /// Since libfabric 1.20: written only for programs that ask for that version or a later one.
    pub src_addr: FiAddr,
}

/// `struct fi_cq_attr`.
#[repr(C)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: i32,
    pub wait_obj: i32,
    pub signaling_vector: i32,
    pub wait_cond: i32,
    pub wait_set: Ptr,
}

/// `struct fi_ops_cq`.
#[repr(C)]
pub struct OpsCq {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut FidCq, Ptr, usize) -> isize,
    pub readfrom: unsafe extern "C" fn(*mut FidCq, Ptr, usize, *mut FiAddr) -> isize,
    pub readerr: unsafe extern "C" fn(*mut FidCq, *mut CqErrEntry, u64) -> isize,
    pub sread: unsafe extern "C" fn(*mut FidCq, Ptr, usize, *const u8, i32) -> isize,
    pub sreadfrom: unsafe extern "C" fn(*mut FidCq, Ptr, usize, *mut FiAddr, *const u8, i32) -> isize,
    pub signal: unsafe extern "C" fn(*mut FidCq) -> i32,
    pub strerror: unsafe extern "C" fn(*mut FidCq, i32, *const u8, *mut u8, usize) -> Text,
}

/// `struct fid_cq`.
#[repr(C)]
pub struct FidCq {
    pub fid: Fid,
    pub ops: *const OpsCq,
}

/// `struct fi_cntr_attr`.
#[repr(C)]
pub struct CntrAttr {
    pub events: i32,
    pub wait_obj: i32,
    pub wait_set: Ptr,
    pub flags: u64,
}

/// `struct fi_ops_cntr`.
#[repr(C)]
pub struct OpsCntr {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut FidCntr) -> u64,
    pub readerr: unsafe extern "C" fn(*mut FidCntr) -> u64,
    pub add: unsafe extern "C" fn(*mut FidCntr, u64) -> i32,
    pub set: unsafe extern "C" fn(*mut FidCntr, u64) -> i32,
    pub wait: unsafe extern "C" fn(*mut FidCntr, u64, i32) -> i32,
    pub adderr: unsafe extern "C" fn(*mut FidCntr, u64) -> i32,
    pub seterr: unsafe extern "C" fn(*mut FidCntr, u64) -> i32,
}

/// `struct fid_cntr`.
#[repr(C)]
pub struct FidCntr {
    pub fid: Fid,
    pub ops: *const OpsCntr,
}

/// `struct fi_eq_attr`.
#[repr(C)]
pub struct EqAttr {
    pub size: usize,
    pub flags: u64,
    pub wait_obj: i32,
    pub signaling_vector: i32,
    pub wait_set: Ptr,
}

/// `struct fi_ops_eq`.
#[repr(C)]
pub struct OpsEq {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut FidEq, *mut u32, *mut u8, usize, u64) -> isize,
    pub readerr: unsafe extern "C" fn(*mut FidEq, Ptr, u64) -> isize,
    pub write: unsafe extern "C" fn(*mut FidEq, u32, *const u8, usize, u64) -> isize,
    pub sread: unsafe extern "C" fn(*mut FidEq, *mut u32, *mut u8, usize, i32, u64) -> isize,
    pub strerror: unsafe extern "C" fn(*mut FidEq, i32, *const u8, *mut u8, usize) -> Text,
}

/// `struct fid_eq`.
#[repr(C)]
pub struct FidEq {
    pub fid: Fid,
    pub ops: *const OpsEq,
}
