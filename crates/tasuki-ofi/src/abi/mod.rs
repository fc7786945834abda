//! The C interface of libfabric, as in 1.17 to 2.5, written by hand. `tests/layout.rs` compares it with installed headers.
//!
//! Later versions only append to attributes and tables of calls, and callers look at a table's `size` before they use what was
//! appended. So these are the structures of 1.17: what came later is neither read from a caller nor written for one, but for
//! the sender of a failed completion (`CqErrEntry::src_addr`, since 1.20).

mod consts;
mod ep;
mod fid;
mod info;
mod queue;
mod rma;
mod space;

pub use consts::*;
pub use ep::*;
pub use fid::*;
pub use info::*;
pub use queue::*;
pub use rma::*;
pub use space::*;

use std::ffi::c_void;

/// A caller's pointer to anything.
pub type Ptr = *mut c_void;
/// `fi_addr_t`: an address as an address vector gave it.
pub type FiAddr = u64;
/// Entry of a table for a call that this provider does not offer: whatever the arguments, `-FI_ENOSYS`.
pub type NoSys = unsafe extern "C" fn() -> isize;
/// `struct iovec`.
pub type IoVec = libc::iovec;

/// `fi_version()` of a libfabric that has `major.minor`.
pub const fn fi_version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

/// Offers nothing. It has no parameters: in the calling conventions of every Linux target the caller removes the arguments,
/// and a result of type `int` is the lower half of one of type `ssize_t`.
///
/// # Safety
/// Always safe; `unsafe` only to have the type of the tables' entries.
pub unsafe extern "C" fn nosys() -> isize {
    -(FI_ENOSYS as isize)
}
