//! The structures and numbers of `tasuki.h`, in the layout that C gives them.

use std::ffi::{c_char, c_int, c_void};

/// `tasuki_peer`.
pub type RawPeer = u32;

/// `TASUKI_ANY_SOURCE`.
pub const ANY_SOURCE: RawPeer = u32::MAX;

pub const INJECT: u32 = 1;
pub const QUIET: u32 = 2;
pub const DELIVERY: u32 = 4;
pub const TAGGED: u32 = 8;
pub const DATA: u32 = 16;
pub const MULTI: u32 = 32;
pub const LAST: u32 = 64;

pub const SEND: i32 = 1;
pub const RECV: i32 = 2;
pub const PUT: i32 = 3;
pub const GET: i32 = 4;

/// `tasuki_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawOptions {
    pub size: usize,
    pub identity: *const c_char,
    pub rails: *const c_char,
    pub pool_bytes: u64,
    pub peer_bytes: u64,
    pub expected_peers: u32,
    pub linger_ms: u32,
    pub shm: i32,
    pub stats: i32,
    pub dump: i32,
    pub reserved: i32,
}

/// `tasuki_message`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawMessage {
    pub peer: RawPeer,
    pub flags: u32,
    pub tag: u64,
    pub ignore: u64,
    pub data: u64,
    pub iov: *const libc::iovec,
    pub iov_count: usize,
    pub min_free: u64,
    pub context: u64,
}

/// `tasuki_found`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawFound {
    pub source: RawPeer,
    pub flags: u32,
    pub tag: u64,
    pub data: u64,
    pub len: u64,
    pub claim: u64,
}

/// `tasuki_completion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawCompletion {
    pub context: u64,
    pub kind: i32,
    pub status: i32,
    pub peer: RawPeer,
    pub flags: u32,
    pub tag: u64,
    pub data: u64,
    pub bytes: *mut c_void,
    pub len: u64,
    pub total: u64,
}

/// `tasuki_checkpoint_group`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawCheckpointGroup {
    pub rank: i32,
    pub size: i32,
    pub context: *mut c_void,
    pub gather: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, usize) -> c_int>,
    pub exchange: Option<Exchange>,
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// `exchange` of `tasuki_checkpoint_group`.
pub type Exchange =
    unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, *mut c_void, usize, c_int) -> c_int;

/// `tasuki_checkpoint_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawCheckpointOptions {
    pub size: usize,
    pub folder: *const c_char,
    pub host: *const c_char,
    pub every_seconds: u64,
    pub failures_seconds: u64,
    pub copies: i32,
    pub keep: i32,
}

/// `tasuki_checkpoint_counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RawCheckpointCounters {
    pub epoch: u64,
    pub saved: u64,
    pub failed: u64,
    pub bytes: u64,
    pub copied: u64,
    pub last_us: u64,
    pub all_us: u64,
    pub aim_us: u64,
}

#[cfg(test)]
mod tests;
