//! Variables of C++ functions that are made at the first call (`static` in a function), in the program's
//! shared memory: threads of other hosts wait until they are made. Those elsewhere are the C++ library's.

use std::ffi::c_int;
use std::mem::transmute;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::posix::{Own, is_shared};
use crate::work::until;

/// What the first four bytes of a guard are while its variable is made, and when it is; the first byte is
/// what programs look at by themselves (Itanium C++ ABI, section 3.3.3).
const MAKES: u32 = 0x100;
const MADE: u32 = 1;

/// Calls the function of the C++ library, of one argument.
fn own<R>(own: &Own, at: *mut u64, none: R) -> R {
    // SAFETY: the C++ library has a function of this name and type; the program gives the place of a guard.
    unsafe {
        let own: Option<unsafe extern "C" fn(*mut u64) -> R> = transmute(own.address());
        own.map_or(none, |own| own(at))
    }
}

/// A guard of the program, by its place.
fn guard<'a>(at: *mut u64) -> &'a AtomicU32 {
    // SAFETY: the program gives the place of a guard, which it changes by these functions alone.
    unsafe { &*at.cast() }
}

/// Whether this thread is to make the variable; else it is made.
#[unsafe(no_mangle)]
extern "C" fn __cxa_guard_acquire(at: *mut u64) -> c_int {
    if !is_shared(at) {
        static OWN: Own = Own::of("__cxa_guard_acquire\0");
        return own(&OWN, at, 0);
    }
    let mut makes = false;
    until(|| {
        makes = guard(at).compare_exchange(0, MAKES, Ordering::Acquire, Ordering::Relaxed).is_ok();
        makes || guard(at).load(Ordering::Acquire) & 0xff != 0
    });
    makes.into()
}

#[unsafe(no_mangle)]
extern "C" fn __cxa_guard_release(at: *mut u64) {
    if !is_shared(at) {
        static OWN: Own = Own::of("__cxa_guard_release\0");
        return own(&OWN, at, ());
    }
    guard(at).store(MADE, Ordering::Release);
}

/// The variable was not made, because of an exception.
#[unsafe(no_mangle)]
extern "C" fn __cxa_guard_abort(at: *mut u64) {
    if !is_shared(at) {
        static OWN: Own = Own::of("__cxa_guard_abort\0");
        return own(&OWN, at, ());
    }
    guard(at).store(0, Ordering::Release);
}
