//! Waiting in the kernel for a word of memory, futex(2), which C++20's atomic variables, semaphores, latches
//! and barriers, and futures ask for by `syscall`. The kernel wakes threads of its own host alone: a thread
//! that waits for shared memory looks again and again.

use std::ffi::{c_int, c_long};
use std::mem::transmute;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::timespec;

use super::timed::Limit;
use super::{Own, failed, is_shared};
use crate::work::until;

/// The longest wait in one call. A wake-up that leaves the word as it was cannot be seen here, so the call
/// returns from time to time without a reason, which futex(2) allows and its callers expect.
const AT_MOST: Duration = Duration::from_millis(5);

/// The arguments of a system call after its number.
type Six = [c_long; 6];

/// See syscall(2). It takes as many arguments as the call has; what the caller did not give is not used.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    static OWN: Own = Own::of("syscall\0");
    type Real = unsafe extern "C" fn(c_long, ...) -> c_long;
    if number == libc::SYS_futex
        // SAFETY: the program gives what the call wants.
        && let Some(result) = unsafe { shared([a, b, c, d, e, f]) }
    {
        return result;
    }
    // SAFETY: libc has a function of this name and type, and the program gives what it wants.
    unsafe {
        transmute::<usize, Option<Real>>(OWN.address())
            .map_or_else(|| failed(libc::ENOSYS).into(), |own| own(number, a, b, c, d, e, f))
    }
}

/// Waits for shared memory, or tells those that wait for it; `None`: the call is the kernel's.
///
/// # Safety
/// The arguments are those of futex(2).
unsafe fn shared([word, operation, value, time, ..]: Six) -> Option<c_long> {
    let (word, time) = (word as *const AtomicU32, time as *const timespec);
    if !is_shared(word) {
        return None;
    }
    let operation = operation as c_int;
    let clock = match operation & libc::FUTEX_CLOCK_REALTIME {
        0 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    };
    match operation & libc::FUTEX_CMD_MASK {
        // A thread that waits looks by itself.
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => return Some(0),
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {}
        _ => return None,
    }
    let limit = (!time.is_null()).then(|| {
        let is_span = operation & libc::FUTEX_CMD_MASK == libc::FUTEX_WAIT;
        // SAFETY: the caller gives a time.
        unsafe { if is_span { Limit::after(time) } else { Limit::of(clock, time) } }
    });
    // SAFETY: the caller gives the place of a word, which threads use as an atomic variable.
    Some(wait(unsafe { &*word }, value as u32, limit.as_ref()))
}

/// Waits while the word is of this value, as futex(2) returns it.
fn wait(word: &AtomicU32, value: u32, limit: Option<&Limit>) -> c_long {
    let is_other = || word.load(Ordering::Acquire) != value;
    if is_other() {
        return failed(libc::EAGAIN).into();
    }
    let enough = Limit::span(AT_MOST);
    let mut changed = false;
    until(|| {
        changed = is_other();
        changed || enough.is_over() || limit.is_some_and(Limit::is_over)
    });
    if !changed && limit.is_some_and(Limit::is_over) { failed(libc::ETIMEDOUT).into() } else { 0 }
}
