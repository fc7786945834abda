//! Locks of C11 (`<threads.h>`), which libc makes of those of pthreads, in the same words. It calls its own
//! functions of pthreads for that, which know nothing of shared memory: here they are those of this library.

use std::ffi::c_int;

use libc::{pthread_cond_t, pthread_mutex_t, pthread_once_t, timespec};

use super::timed::{pthread_cond_timedwait, pthread_mutex_timedlock};
use super::{
    pthread_cond_broadcast, pthread_cond_signal, pthread_cond_wait, pthread_mutex_lock,
    pthread_mutex_trylock, pthread_mutex_unlock, pthread_once,
};

/// What these functions return (`threads.h` of glibc).
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;

/// What they return for a result of pthreads.
fn told(result: c_int) -> c_int {
    match result {
        0 => 0,
        libc::EBUSY => BUSY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// Functions with the same arguments as those of pthreads.
macro_rules! as_pthreads {
    ($($name:ident ($($argument:ident: $type:ty),*) => $function:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the program gives what the function of pthreads wants, in the same words.
            told(unsafe { $function($($argument),*) })
        }
    )*};
}

as_pthreads! {
    mtx_lock(at: *mut pthread_mutex_t) => pthread_mutex_lock;
    mtx_trylock(at: *mut pthread_mutex_t) => pthread_mutex_trylock;
    mtx_timedlock(at: *mut pthread_mutex_t, end: *const timespec) => pthread_mutex_timedlock;
    mtx_unlock(at: *mut pthread_mutex_t) => pthread_mutex_unlock;
    cnd_signal(at: *mut pthread_cond_t) => pthread_cond_signal;
    cnd_broadcast(at: *mut pthread_cond_t) => pthread_cond_broadcast;
    cnd_wait(at: *mut pthread_cond_t, with: *mut pthread_mutex_t) => pthread_cond_wait;
    cnd_timedwait(at: *mut pthread_cond_t, with: *mut pthread_mutex_t, end: *const timespec)
        => pthread_cond_timedwait;
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn call_once(at: *mut pthread_once_t, function: extern "C-unwind" fn()) {
    // SAFETY: as above.
    unsafe { pthread_once(at, function) };
}
