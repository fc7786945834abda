//! Objects common to all, fabrics, domains and registered memory.
#![allow(missing_docs)] // Fields as in fi_fabric(3), fi_domain(3), fi_mr(3).

use std::ffi::c_char;

use super::queue::{CntrAttr, CqAttr, EqAttr, FidCntr, FidCq, FidEq};
use super::space::{AvAttr, FidAv};
use super::{FidEp, Info, IoVec, NoSys, Ptr, nosys};

/// `struct fid`: every object begins with it.
#[repr(C)]
pub struct Fid {
    pub fclass: usize,
    pub context: Ptr,
    pub ops: *const Ops,
}

/// `struct fi_ops`.
#[repr(C)]
pub struct Ops {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> i32,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> i32,
    pub control: unsafe extern "C" fn(*mut Fid, i32, Ptr) -> i32,
    pub ops_open: NoSys,
    pub tostr: NoSys,
    pub ops_set: NoSys,
}

impl Ops {
    /// A table of these calls; the others are not offered.
    pub const fn new(
        close: unsafe extern "C" fn(*mut Fid) -> i32,
        bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> i32,
        control: unsafe extern "C" fn(*mut Fid, i32, Ptr) -> i32,
    ) -> Ops {
        Ops { size: size_of::<Ops>(), close, bind, control, ops_open: nosys, tostr: nosys, ops_set: nosys }
    }
}

/// `struct fi_ops_fabric`.
#[repr(C)]
pub struct OpsFabric {
    pub size: usize,
    pub domain: unsafe extern "C" fn(*mut FidFabric, *mut Info, *mut *mut FidDomain, Ptr) -> i32,
    pub passive_ep: NoSys,
    pub eq_open: unsafe extern "C" fn(*mut FidFabric, *mut EqAttr, *mut *mut FidEq, Ptr) -> i32,
    pub wait_open: NoSys,
    pub trywait: unsafe extern "C" fn(*mut FidFabric, *mut *mut Fid, i32) -> i32,
    pub domain2: unsafe extern "C" fn(*mut FidFabric, *mut Info, *mut *mut FidDomain, u64, Ptr) -> i32,
}

/// `struct fid_fabric`.
#[repr(C)]
pub struct FidFabric {
    pub fid: Fid,
    pub ops: *const OpsFabric,
    pub api_version: u32,
}

/// `struct fi_ops_domain`.
#[repr(C)]
pub struct OpsDomain {
    pub size: usize,
    pub av_open: unsafe extern "C" fn(*mut FidDomain, *mut AvAttr, *mut *mut FidAv, Ptr) -> i32,
    pub cq_open: unsafe extern "C" fn(*mut FidDomain, *mut CqAttr, *mut *mut FidCq, Ptr) -> i32,
    pub endpoint: unsafe extern "C" fn(*mut FidDomain, *mut Info, *mut *mut FidEp, Ptr) -> i32,
    pub scalable_ep: NoSys,
    pub cntr_open: unsafe extern "C" fn(*mut FidDomain, *mut CntrAttr, *mut *mut FidCntr, Ptr) -> i32,
    pub poll_open: NoSys,
    pub stx_ctx: NoSys,
    pub srx_ctx: NoSys,
    pub query_atomic: unsafe extern "C" fn(*mut FidDomain, i32, i32, *mut AtomicAttr, u64) -> i32,
    pub query_collective: NoSys,
    pub endpoint2: unsafe extern "C" fn(*mut FidDomain, *mut Info, *mut *mut FidEp, u64, Ptr) -> i32,
}

/// `struct fi_atomic_attr`.
#[repr(C)]
pub struct AtomicAttr {
    pub count: usize,
    pub size: usize,
}

/// `struct fi_ops_mr`.
#[repr(C)]
pub struct OpsMr {
    pub size: usize,
    #[allow(clippy::type_complexity)]
    pub reg: unsafe extern "C" fn(
        *mut Fid,
        *const u8,
        usize,
        u64,
        u64,
        requested_key: u64,
        u64,
        *mut *mut FidMr,
        Ptr,
    ) -> i32,
    #[allow(clippy::type_complexity)]
    pub regv: unsafe extern "C" fn(
        *mut Fid,
        *const IoVec,
        usize,
        u64,
        u64,
        requested_key: u64,
        u64,
        *mut *mut FidMr,
        Ptr,
    ) -> i32,
    pub regattr: unsafe extern "C" fn(*mut Fid, *const MrAttr, u64, *mut *mut FidMr) -> i32,
}

/// `struct fid_domain`.
#[repr(C)]
pub struct FidDomain {
    pub fid: Fid,
    pub ops: *const OpsDomain,
    pub mr: *const OpsMr,
}

/// `struct fid_mr`.
#[repr(C)]
pub struct FidMr {
    pub fid: Fid,
    pub mem_desc: Ptr,
    pub key: u64,
}

/// `struct fi_mr_attr`, up to what 1.17 has.
#[repr(C)]
pub struct MrAttr {
    pub mr_iov: *const IoVec,
    pub iov_count: usize,
    pub access: u64,
    pub offset: u64,
    pub requested_key: u64,
    pub context: Ptr,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
    pub iface: i32,
    pub device: u64,
}

/// `struct fi_mr_raw_attr`.
#[repr(C)]
pub struct MrRawAttr {
    pub flags: u64,
    pub base_addr: *mut u64,
    pub raw_key: *mut u8,
    pub key_size: *mut usize,
}

/// `struct fi_mr_map_raw`.
#[repr(C)]
pub struct MrMapRaw {
    pub flags: u64,
    pub base_addr: u64,
    pub raw_key: *mut u8,
    pub key_size: usize,
    pub key: *mut u64,
}

/// A text for a caller: static, zero-terminated.
pub type Text = *const c_char;
