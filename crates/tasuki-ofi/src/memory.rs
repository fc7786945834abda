//! Memory of malloc, as libfabric allocates what an answer of `fi_getinfo` points to: libfabric frees it.

use std::ffi::{c_char, c_void};
use std::ptr;

/// A plain copy, of malloc, of what `from` points to, or zeroes if it is null. Null if memory is out.
///
/// # Safety
/// `from` is null or a `T`, for which zeroes are valid.
pub unsafe fn allocate<T>(from: *const T) -> *mut T {
    // SAFETY: calloc takes any size; `from` is null or a T, of which just as many bytes were allocated.
    unsafe {
        let copy = libc::calloc(1, size_of::<T>()).cast::<T>();
        if !copy.is_null() && !from.is_null() {
            ptr::copy_nonoverlapping(from, copy, 1);
        }
        copy
    }
}

/// `None` for null.
pub fn some<T>(pointer: *mut T) -> Option<*mut T> {
    (!pointer.is_null()).then_some(pointer)
}

/// A plain copy, or null for null; `None` if memory is out.
///
/// # Safety
/// `from` is null or a `T`.
pub unsafe fn copied<T>(from: *mut T) -> Option<*mut T> {
    // SAFETY: null or a T, as the caller says.
    if from.is_null() { Some(from) } else { some(unsafe { allocate(from) }) }
}

/// A copy of `len` bytes, or null if there are none; `None` if memory is out.
///
/// # Safety
/// `from` is null or has so many bytes.
pub unsafe fn bytes(from: *const c_void, len: usize) -> Option<*mut c_void> {
    if from.is_null() || len == 0 {
        return Some(ptr::null_mut());
    }
    // SAFETY: malloc takes any size; both places have `len` bytes.
    unsafe {
        let copy = some(libc::malloc(len))?;
        ptr::copy_nonoverlapping(from.cast::<u8>(), copy.cast(), len);
        Some(copy)
    }
}

/// A copy of a text, or null for null; `None` if memory is out.
///
/// # Safety
/// `from` is null or zero-terminated.
pub unsafe fn text(from: *const c_char) -> Option<*mut c_char> {
    // SAFETY: null or zero-terminated.
    if from.is_null() { Some(ptr::null_mut()) } else { some(unsafe { libc::strdup(from) }) }
}
