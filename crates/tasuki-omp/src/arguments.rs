//! The program's arguments and its environment, which it may hand to its threads on other hosts.

use std::ffi::{CStr, CString, c_char};

use tasuki_shared::PAGE;

use crate::alloc::memalign;

unsafe extern "C" {
    /// The environment, for libc and for the program's `main`.
    pub static mut environ: *mut *mut c_char;
}

/// Children of the program are programs of their own: the variable that says what this one is goes, and this
/// library, which is the first one of those that the loader loads before a program. The user's stay.
///
/// # Safety
/// Nobody else uses the environment now.
pub unsafe fn for_children(variable: &CStr) {
    let list = c"LD_PRELOAD";
    // SAFETY: the names are strings, what is found is one, and it is copied before it is replaced.
    unsafe {
        libc::unsetenv(variable.as_ptr());
        let found = libc::getenv(list.as_ptr());
        let all = if found.is_null() { c"" } else { CStr::from_ptr(found) };
        // See ld.so(8): they are separated by colons or spaces.
        let mut parts = all.to_bytes().splitn(2, |byte| b" :".contains(byte)).skip(1);
        match parts.next().filter(|rest| !rest.is_empty()).and_then(|rest| CString::new(rest).ok()) {
            Some(rest) => libc::setenv(list.as_ptr(), rest.as_ptr(), 1),
            None => libc::unsetenv(list.as_ptr()),
        };
    }
}

/// Copies arguments and environment to shared memory, from where the kernel has put them: a stack of this
/// process alone. Other processes have their own there, and in other places. Returns the arguments.
///
/// They have pages of their own, which stay here though others read them: libc looks for variables in threads
/// that must not wait for a page, too.
///
/// # Safety
/// `argv` is the program's, and nobody else uses the environment now.
pub unsafe fn share(argv: *mut *mut c_char) -> *mut *mut c_char {
    // SAFETY: both are vectors of strings, and end with null.
    let (arguments, variables) = unsafe { (strings(argv), strings(environ)) };
    // What a program looks for behind its arguments is the environment. The vector of the kernel's values
    // follows there; no program looks for it by this way.
    let all: Vec<Option<&CStr>> =
        arguments.iter().copied().map(Some).chain([None]).chain(variables.into_iter().map(Some)).collect();
    let words = all.len() + 1;
    let bytes: usize = all.iter().flatten().map(|text| text.to_bytes_with_nul().len()).sum();
    // SAFETY: the function takes any numbers.
    let copy = unsafe { memalign(PAGE, (words * size_of::<usize>() + bytes).next_multiple_of(PAGE)) };
    let copy = copy.cast::<*mut c_char>();
    assert!(!copy.is_null(), "no memory for the program's arguments");
    // SAFETY: the memory has room for so many words, and for all strings behind them.
    unsafe {
        let mut place = copy.add(words).cast::<c_char>();
        for (at, text) in all.iter().enumerate() {
            let Some(text) = text else {
                copy.add(at).write(std::ptr::null_mut());
                continue;
            };
            let length = text.to_bytes_with_nul().len();
            place.copy_from_nonoverlapping(text.as_ptr(), length);
            copy.add(at).write(place);
            place = place.add(length);
        }
        copy.add(all.len()).write(std::ptr::null_mut());
        environ = copy.add(arguments.len() + 1);
    }
    copy
}

/// The strings of a vector that ends with null.
///
/// # Safety
/// It is one, or null, and stays.
unsafe fn strings(vector: *mut *mut c_char) -> Vec<&'static CStr> {
    let mut found = Vec::new();
    // SAFETY: as the caller promises.
    unsafe {
        while !vector.is_null() && !(*vector.add(found.len())).is_null() {
            found.push(CStr::from_ptr(*vector.add(found.len())));
        }
    }
    found
}
