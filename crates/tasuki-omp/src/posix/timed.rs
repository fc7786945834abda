//! Locks that are waited for until a time of a clock: `..._timedlock` by the clock of the day,
//! `..._clocklock` by any.

use std::ffi::c_int;
use std::mem::transmute;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, sem_t, timespec};

use super::{Own, clock as clock_of, failed, is_shared, mutex, try_read, try_take, try_write, wait_told};
use crate::work::until;

/// A time at which a thread gives up.
pub struct Limit(Instant, Duration);

impl Limit {
    /// So much time from now.
    pub fn span(time: Duration) -> Limit {
        Limit(Instant::now(), time)
    }

    /// As much time from now as is written there.
    ///
    /// # Safety
    /// The time is there.
    pub unsafe fn after(time: *const timespec) -> Limit {
        // SAFETY: as the caller promises.
        let time = unsafe { &*time };
        let part = |part: i64| u64::try_from(part).unwrap_or(0);
        Limit::span(Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec)))
    }

    /// A time of a clock.
    ///
    /// # Safety
    /// The time is there.
    pub unsafe fn of(clock: clockid_t, end: *const timespec) -> Limit {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to the place that it is given; the time is there as the caller promises.
        let end = unsafe {
            libc::clock_gettime(clock, &mut now);
            &*end
        };
        let ns = |time: &timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        let left = u64::try_from((ns(end) - ns(&now)).max(0)).unwrap_or(u64::MAX);
        Limit::span(Duration::from_nanos(left))
    }

    /// Whether that time is up.
    pub fn is_over(&self) -> bool {
        self.0.elapsed() >= self.1
    }
}

/// Tries until it succeeds or the time is up: what such a function of pthreads returns.
fn tried(limit: &Limit, tries: impl Fn() -> c_int) -> c_int {
    let mut result = libc::ETIMEDOUT;
    until(|| {
        result = if tries() == 0 { 0 } else { libc::ETIMEDOUT };
        result == 0 || limit.is_over()
    });
    result
}

/// As [`tried`], as functions of semaphores return it.
fn tried_or_errno(limit: &Limit, tries: impl Fn() -> c_int) -> c_int {
    match tried(limit, tries) {
        0 => 0,
        error => failed(error),
    }
}

/// Pairs of functions, by the clock of the day and by any: what to do with shared memory, else libc's.
macro_rules! timed {
    ($($day:ident $clock:ident ($at:ident: *mut $type:ty, $limit:ident) $shared:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $day($at: *mut $type, end: *const timespec) -> c_int {
            static OWN: Own = Own::of(concat!(stringify!($day), "\0"));
            type Real = unsafe extern "C" fn(*mut $type, *const timespec) -> c_int;
            if is_shared($at) {
                // SAFETY: the program gives a time.
                let $limit = &unsafe { Limit::of(libc::CLOCK_REALTIME, end) };
                return $shared;
            }
            // SAFETY: libc has a function of this name and type, and the program gives what it wants.
            unsafe {
                transmute::<usize, Option<Real>>(OWN.address()).map_or(libc::ENOSYS, |own| own($at, end))
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $clock($at: *mut $type, clock: clockid_t, end: *const timespec) -> c_int {
            static OWN: Own = Own::of(concat!(stringify!($clock), "\0"));
            type Real = unsafe extern "C" fn(*mut $type, clockid_t, *const timespec) -> c_int;
            if is_shared($at) {
                // SAFETY: the program gives a time.
                let $limit = &unsafe { Limit::of(clock, end) };
                return $shared;
            }
            // SAFETY: as above.
            unsafe {
                transmute::<usize, Option<Real>>(OWN.address())
                    .map_or(libc::ENOSYS, |own| own($at, clock, end))
            }
        }
    )*};
}

timed! {
    pthread_mutex_timedlock pthread_mutex_clocklock (at: *mut pthread_mutex_t, limit)
        tried(limit, || mutex(at).try_lock());
    pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock (at: *mut pthread_rwlock_t, limit)
        tried(limit, || try_read(at));
    pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock (at: *mut pthread_rwlock_t, limit)
        tried(limit, || try_write(at));
    sem_timedwait sem_clockwait (at: *mut sem_t, limit) tried_or_errno(limit, || try_take(at));
}

/// See pthread_cond_timedwait(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_timedwait(
    at: *mut pthread_cond_t,
    with: *mut pthread_mutex_t,
    end: *const timespec,
) -> c_int {
    static OWN: Own = Own::of("pthread_cond_timedwait\0");
    type Real = unsafe extern "C" fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int;
    if is_shared(at) {
        // SAFETY: the program gives a time.
        let limit = unsafe { Limit::of(clock_of(at).load(Ordering::Acquire), end) };
        return wait_told(at, with, || limit.is_over());
    }
    // SAFETY: libc has a function of this name and type, and the program gives what it wants.
    unsafe { transmute::<usize, Option<Real>>(OWN.address()).map_or(libc::ENOSYS, |own| own(at, with, end)) }
}

/// See pthread_cond_clockwait(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    at: *mut pthread_cond_t,
    with: *mut pthread_mutex_t,
    clock: clockid_t,
    end: *const timespec,
) -> c_int {
    static OWN: Own = Own::of("pthread_cond_clockwait\0");
    type Real =
        unsafe extern "C" fn(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec) -> c_int;
    if is_shared(at) {
        // SAFETY: the program gives a time.
        let limit = unsafe { Limit::of(clock, end) };
        return wait_told(at, with, || limit.is_over());
    }
    // SAFETY: as above.
    unsafe {
        transmute::<usize, Option<Real>>(OWN.address()).map_or(libc::ENOSYS, |own| own(at, with, clock, end))
    }
}
