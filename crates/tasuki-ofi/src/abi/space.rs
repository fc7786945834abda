//! Address vectors.
#![allow(missing_docs)] // Fields as in fi_av(3).

use std::ffi::c_char;

use super::{FiAddr, Fid, NoSys, Ptr, Text};

/// `struct fi_av_attr`.
#[repr(C)]
pub struct AvAttr {
    pub av_type: i32,
    pub rx_ctx_bits: i32,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: Ptr,
    pub flags: u64,
}

/// `struct fi_ops_av`.
#[repr(C)]
pub struct OpsAv {
    pub size: usize,
    pub insert: unsafe extern "C" fn(*mut FidAv, *const u8, usize, *mut FiAddr, u64, Ptr) -> i32,
    #[allow(clippy::type_complexity)]
    pub insertsvc:
        unsafe extern "C" fn(*mut FidAv, *const c_char, *const c_char, *mut FiAddr, u64, Ptr) -> i32,
    pub insertsym: NoSys,
    pub remove: unsafe extern "C" fn(*mut FidAv, *mut FiAddr, usize, u64) -> i32,
    pub lookup: unsafe extern "C" fn(*mut FidAv, FiAddr, Ptr, *mut usize) -> i32,
    pub straddr: unsafe extern "C" fn(*mut FidAv, *const u8, *mut c_char, *mut usize) -> Text,
    pub av_set: NoSys,
}

/// `struct fid_av`.
#[repr(C)]
pub struct FidAv {
    pub fid: Fid,
    pub ops: *const OpsAv,
}
