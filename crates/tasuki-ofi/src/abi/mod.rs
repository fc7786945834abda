//! The C interface of libfabric 1.17 to 2.5, written by hand. `tests/layout.rs` compares it with the
//! installed headers.
//!
//! The structures are those of 1.17. Later versions only append fields to attributes and calls to tables, and
//! callers look at a table's `size` before they use an appended call. A field that came later is neither read
//! from a caller nor written for one, except the sender of a failed completion (`CqErrEntry::src_addr`, since
//! 1.20).

mod atomic;
mod consts;
mod ep;
mod fid;
mod info;
mod queue;
mod rma;
mod space;

pub use atomic::*;
pub use consts::*;
pub use ep::*;
pub use fid::*;
pub use info::*;
pub use queue::*;
pub use rma::*;
pub use space::*;

use std::ffi::c_void;

/// A pointer of the caller's to anything.
pub type Ptr = *mut c_void;
/// `fi_addr_t`: the name that an address vector gives an address.
pub type FiAddr = u64;
/// The entry of a table for a call that this provider does not offer, whatever its arguments: `-FI_ENOSYS`.
pub type NoSys = unsafe extern "C" fn() -> isize;
/// `struct iovec`.
pub type IoVec = libc::iovec;

/// `fi_version()` of libfabric `major.minor`.
pub const fn fi_version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

/// A call that is not offered. It has no parameters: in the calling conventions of every Linux target the
/// caller removes the arguments, and a result of type `int` is the lower half of one of type `ssize_t`.
///
/// # Safety
/// Always safe; `unsafe` only to have the type of the tables' entries.
pub unsafe extern "C" fn nosys() -> isize {
    -(FI_ENOSYS as isize)
}
