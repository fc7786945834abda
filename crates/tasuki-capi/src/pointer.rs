//! Reading and writing through pointers from C.

use std::ffi::{CStr, c_char, c_int};

use tasuki_engine::Buffer;

use crate::code::Error;

/// The value that a pointer points to.
///
/// # Safety
/// `pointer` is null, or points to a `T` that lives and that nobody changes as long as the reference is used.
pub unsafe fn get<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Error> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// Stores a value at a pointer.
///
/// # Safety
/// `pointer` is null, or a `T` may be written there.
pub unsafe fn put<T>(pointer: *mut T, value: T, name: &str) -> Result<(), Error> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: the pointer is not null, so that the caller lets us write there.
    unsafe { pointer.write(value) };
    Ok(())
}

/// A string; `None` if the pointer is null.
///
/// # Safety
/// `text` is null, or points to a NUL-terminated string that nobody changes as long as the reference is used.
pub unsafe fn string<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Error::invalid(format!("{name} is not UTF-8")))
}

/// A piece of the program's memory, for an operation.
pub fn buffer(bytes: *mut u8, len: usize) -> Result<Buffer, Error> {
    if bytes.is_null() && len > 0 {
        return Err(null("bytes"));
    }
    if len > isize::MAX as usize {
        return Err(Error::invalid(format!("{len} bytes are more than any memory has")));
    }
    Ok(Buffer { ptr: bytes, len })
}

/// Writes text as `snprintf` does: cut so that it has at most `size` bytes with the NUL. Returns the length
/// of the whole text.
///
/// # Safety
/// `size` bytes may be written to `into`, which may be null if `size` is 0.
pub unsafe fn write_text(text: &str, into: *mut c_char, size: usize) -> Result<c_int, Error> {
    if let Some(room) = size.checked_sub(1) {
        if into.is_null() {
            return Err(null("buffer"));
        }
        let taken = text.len().min(room);
        // SAFETY: `taken` + 1 bytes are at most `size`, and the text is not in memory that C holds.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), into.cast::<u8>(), taken);
            into.add(taken).write(0);
        }
    }
    Ok(c_int::try_from(text.len()).unwrap_or(c_int::MAX))
}

pub fn null(name: &str) -> Error {
    Error::invalid(format!("{name} is NULL"))
}
