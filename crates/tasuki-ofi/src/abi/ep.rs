//! Endpoints: objects, tables of calls, messages.
#![allow(missing_docs)] // Fields as in fi_endpoint(3), fi_msg(3), fi_tagged(3), fi_cm(3).

use super::{FiAddr, Fid, IoVec, Ioc, MsgAtomic, NoSys, OpsRma, Ptr};

/// `struct fid_ep`.
#[repr(C)]
pub struct FidEp {
    pub fid: Fid,
    pub ops: *const OpsEp,
    pub cm: *const OpsCm,
    pub msg: *const OpsMsg,
    pub rma: *const OpsRma,
    pub tagged: *const OpsTagged,
    pub atomic: *const OpsAtomic,
    pub collective: *const OpsNone<11>,
}

/// A table of calls of which none is offered: `struct fi_ops_collective`.
#[repr(C)]
pub struct OpsNone<const N: usize> {
    pub size: usize,
    pub calls: [NoSys; N],
}

/// `struct fi_ops_ep`.
#[repr(C)]
pub struct OpsEp {
    pub size: usize,
    pub cancel: unsafe extern "C" fn(*mut Fid, Ptr) -> isize,
    pub getopt: unsafe extern "C" fn(*mut Fid, i32, i32, Ptr, *mut usize) -> i32,
    pub setopt: unsafe extern "C" fn(*mut Fid, i32, i32, *const u8, usize) -> i32,
    pub tx_ctx: NoSys,
    pub rx_ctx: NoSys,
    pub rx_size_left: unsafe extern "C" fn(*mut FidEp) -> isize,
    pub tx_size_left: unsafe extern "C" fn(*mut FidEp) -> isize,
}

/// `struct fi_ops_cm`.
#[repr(C)]
pub struct OpsCm {
    pub size: usize,
    pub setname: NoSys,
    pub getname: unsafe extern "C" fn(*mut Fid, Ptr, *mut usize) -> i32,
    pub getpeer: NoSys,
    pub connect: NoSys,
    pub listen: NoSys,
    pub accept: NoSys,
    pub reject: NoSys,
    pub shutdown: NoSys,
    pub join: NoSys,
}

/// `struct fi_msg`.
#[repr(C)]
pub struct Msg {
    pub msg_iov: *const IoVec,
    pub desc: *mut Ptr,
    pub iov_count: usize,
    pub addr: FiAddr,
    pub context: Ptr,
    pub data: u64,
}

/// `struct fi_msg_tagged`.
#[repr(C)]
pub struct MsgTagged {
    pub msg_iov: *const IoVec,
    pub desc: *mut Ptr,
    pub iov_count: usize,
    pub addr: FiAddr,
    pub tag: u64,
    pub ignore: u64,
    pub context: Ptr,
    pub data: u64,
}

type Ep = *mut FidEp;
type Iov = *const IoVec;
type Desc = *mut Ptr;
type Buf = *mut u8;

/// `struct fi_ops_msg`.
#[repr(C)]
pub struct OpsMsg {
    pub size: usize,
    pub recv: unsafe extern "C" fn(Ep, Buf, usize, Ptr, FiAddr, Ptr) -> isize,
    pub recvv: unsafe extern "C" fn(Ep, Iov, Desc, usize, FiAddr, Ptr) -> isize,
    pub recvmsg: unsafe extern "C" fn(Ep, *const Msg, u64) -> isize,
    pub send: unsafe extern "C" fn(Ep, Buf, usize, Ptr, FiAddr, Ptr) -> isize,
    pub sendv: unsafe extern "C" fn(Ep, Iov, Desc, usize, FiAddr, Ptr) -> isize,
    pub sendmsg: unsafe extern "C" fn(Ep, *const Msg, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Buf, usize, FiAddr) -> isize,
    pub senddata: unsafe extern "C" fn(Ep, Buf, usize, Ptr, u64, FiAddr, Ptr) -> isize,
    pub injectdata: unsafe extern "C" fn(Ep, Buf, usize, u64, FiAddr) -> isize,
}

/// `struct fi_ops_tagged`.
#[repr(C)]
pub struct OpsTagged {
    pub size: usize,
    pub recv: unsafe extern "C" fn(Ep, Buf, usize, Ptr, FiAddr, u64, u64, Ptr) -> isize,
    pub recvv: unsafe extern "C" fn(Ep, Iov, Desc, usize, FiAddr, u64, u64, Ptr) -> isize,
    pub recvmsg: unsafe extern "C" fn(Ep, *const MsgTagged, u64) -> isize,
    pub send: unsafe extern "C" fn(Ep, Buf, usize, Ptr, FiAddr, u64, Ptr) -> isize,
    pub sendv: unsafe extern "C" fn(Ep, Iov, Desc, usize, FiAddr, u64, Ptr) -> isize,
    pub sendmsg: unsafe extern "C" fn(Ep, *const MsgTagged, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Buf, usize, FiAddr, u64) -> isize,
    pub senddata: unsafe extern "C" fn(Ep, Buf, usize, Ptr, u64, FiAddr, u64, Ptr) -> isize,
    pub injectdata: unsafe extern "C" fn(Ep, Buf, usize, u64, FiAddr, u64) -> isize,
}

type Iocs = *const Ioc;
type AtomicMsg = *const MsgAtomic;
type Valid = unsafe extern "C" fn(Ep, i32, i32, *mut usize) -> i32;

/// `struct fi_ops_atomic`.
#[repr(C)]
#[allow(clippy::type_complexity)] // C's interface
pub struct OpsAtomic {
    pub size: usize,
    pub write: unsafe extern "C" fn(Ep, Buf, usize, Ptr, FiAddr, u64, u64, i32, i32, Ptr) -> isize,
    pub writev: unsafe extern "C" fn(Ep, Iocs, Desc, usize, FiAddr, u64, u64, i32, i32, Ptr) -> isize,
    pub writemsg: unsafe extern "C" fn(Ep, AtomicMsg, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Buf, usize, FiAddr, u64, u64, i32, i32) -> isize,
    pub readwrite:
        unsafe extern "C" fn(Ep, Buf, usize, Ptr, Buf, Ptr, FiAddr, u64, u64, i32, i32, Ptr) -> isize,
    pub readwritev: unsafe extern "C" fn(
        Ep,
        Iocs,
        Desc,
        usize,
        Iocs,
        Desc,
        usize,
        FiAddr,
        u64,
        u64,
        i32,
        i32,
        Ptr,
    ) -> isize,
    pub readwritemsg: unsafe extern "C" fn(Ep, AtomicMsg, Iocs, Desc, usize, u64) -> isize,
    pub compwrite: unsafe extern "C" fn(
        Ep,
        Buf,
        usize,
        Ptr,
        Buf,
        Ptr,
        Buf,
        Ptr,
        FiAddr,
        u64,
        u64,
        i32,
        i32,
        Ptr,
    ) -> isize,
    pub compwritev: unsafe extern "C" fn(
        Ep,
        Iocs,
        Desc,
        usize,
        Iocs,
        Desc,
        usize,
        Iocs,
        Desc,
        usize,
        FiAddr,
        u64,
        u64,
        i32,
        i32,
        Ptr,
    ) -> isize,
    pub compwritemsg: unsafe extern "C" fn(Ep, AtomicMsg, Iocs, Desc, usize, Iocs, Desc, usize, u64) -> isize,
    pub writevalid: Valid,
    pub readwritevalid: Valid,
    pub compwritevalid: Valid,
}
