//! Locks of pthreads that lie in the program's shared memory. libc lets a thread that waits sleep in the
//! kernel, and a thread of another host cannot wake it: here such a thread looks again and again. Locks
//! elsewhere, as those of libraries, are libc's. Those with a limit on time are in [`timed`], barriers in
//! [`mod@barrier`], C11's in [`c11`], what C++20 asks of the kernel itself in [`futex`].

mod barrier;
mod c11;
mod futex;
mod timed;

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use barrier::barrier;

use crate::thread;
use crate::work::until;
use crate::world::World;

/// A function of a library behind this one, found at its first use.
pub struct Own {
    name: &'static CStr,
    found: AtomicUsize,
}

impl Own {
    /// The function of this name, which ends with a zero.
    pub const fn of(name: &'static str) -> Own {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Own { name, found: AtomicUsize::new(0) },
            Err(_) => panic!("no name"),
        }
    }

    /// Its address; 0 if there is none.
    pub fn address(&self) -> usize {
        match self.found.load(Ordering::Relaxed) {
            0 => {
                // SAFETY: the name is a string.
                let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
                self.found.store(found, Ordering::Relaxed);
                found
            }
            found => found,
        }
    }
}

/// Whether this is memory of the program that all hosts share.
pub fn is_shared<T>(memory: *const T) -> bool {
    World::get().is_some_and(|world| world.is_shared(memory as usize))
}

/// What a function returns that fails by `errno`.
fn failed(error: c_int) -> c_int {
    // SAFETY: every thread has such a place.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Functions of one argument: what to do with shared memory, else libc's.
macro_rules! functions {
    ($($name:ident ($memory:ident: *mut $type:ty) $shared:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($memory: *mut $type) -> c_int {
            static OWN: Own = Own::of(concat!(stringify!($name), "\0"));
            if is_shared($memory) {
                return $shared;
            }
            // SAFETY: libc has a function of this name and type, and the program gives what it wants.
            unsafe {
                let own: Option<unsafe extern "C" fn(*mut $type) -> c_int> = transmute(OWN.address());
                own.map_or(libc::ENOSYS, |own| own($memory))
            }
        }
    )*};
}

/// The beginning of libc's `pthread_mutex_t` on 64-bit machines. Who has it is a number that is the same for
/// no two threads of any process, where libc has that of the thread in the kernel.
#[repr(C)]
struct Mutex {
    /// The thread that has it, by [`thread::owner`]; 0: none.
    owner: AtomicU32,
    /// How often more than once.
    again: AtomicU32,
    _unused: [u32; 2],
    kind: AtomicI32,
}

/// Kinds of mutexes, in the bits that tell them apart.
const KINDS: c_int = 3;

impl Mutex {
    fn is(&self, kind: c_int) -> bool {
        self.kind.load(Ordering::Relaxed) & KINDS == kind
    }

    /// Takes it if nobody has it; what that function returns.
    fn try_lock(&self) -> c_int {
        let me = thread::owner();
        let owner = self.owner.load(Ordering::Relaxed);
        if owner == me && self.is(libc::PTHREAD_MUTEX_RECURSIVE) {
            self.again.fetch_add(1, Ordering::Relaxed);
            return 0;
        }
        let taken =
            owner == 0 && self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if taken { 0 } else { libc::EBUSY }
    }

    fn lock(&self) -> c_int {
        let is_mine = self.owner.load(Ordering::Relaxed) == thread::owner();
        if is_mine && self.is(libc::PTHREAD_MUTEX_ERRORCHECK) {
            return libc::EDEADLK;
        }
        until(|| self.try_lock() == 0);
        0
    }

    fn unlock(&self) -> c_int {
        let is_mine = self.owner.load(Ordering::Relaxed) == thread::owner();
        if !is_mine && !self.is(libc::PTHREAD_MUTEX_NORMAL) {
            return libc::EPERM;
        }
        if self.again.load(Ordering::Relaxed) > 0 {
            self.again.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.owner.store(0, Ordering::Release);
        }
        0
    }
}

/// A mutex of the program, by its place.
fn mutex<'a>(at: *mut libc::pthread_mutex_t) -> &'a Mutex {
    // SAFETY: the program gives the place of a mutex, which it uses by these functions alone.
    unsafe { &*at.cast() }
}

/// Takes a lock for reading if that is possible now: libc's functions that only try do not sleep.
fn try_read(at: *mut libc::pthread_rwlock_t) -> c_int {
    // SAFETY: the program gives the place of a lock.
    unsafe { libc::pthread_rwlock_tryrdlock(at) }
}

/// Takes a lock for writing if that is possible now.
fn try_write(at: *mut libc::pthread_rwlock_t) -> c_int {
    // SAFETY: as above.
    unsafe { libc::pthread_rwlock_trywrlock(at) }
}

/// Takes one of a semaphore if there is one now.
fn try_take(at: *mut libc::sem_t) -> c_int {
    // SAFETY: the program gives the place of a semaphore.
    unsafe { libc::sem_trywait(at) }
}

functions! {
    pthread_mutex_lock(at: *mut libc::pthread_mutex_t) mutex(at).lock();
    pthread_mutex_trylock(at: *mut libc::pthread_mutex_t) mutex(at).try_lock();
    pthread_mutex_unlock(at: *mut libc::pthread_mutex_t) mutex(at).unlock();
    pthread_rwlock_rdlock(at: *mut libc::pthread_rwlock_t) waited(|| try_read(at));
    pthread_rwlock_wrlock(at: *mut libc::pthread_rwlock_t) waited(|| try_write(at));
    sem_wait(at: *mut libc::sem_t) waited(|| try_take(at));
    pthread_cond_signal(at: *mut libc::pthread_cond_t) tell(at);
    pthread_cond_broadcast(at: *mut libc::pthread_cond_t) tell(at);
    pthread_barrier_wait(at: *mut libc::pthread_barrier_t) barrier(at).wait();
    pthread_barrier_destroy(at: *mut libc::pthread_barrier_t) barrier(at).destroy();
}

/// Tries until it succeeds.
fn waited(tries: impl Fn() -> c_int) -> c_int {
    until(|| tries() == 0);
    0
}

/// How often a condition was told of: the first word of its memory, which libc begins with 0.
fn told<'a>(at: *mut libc::pthread_cond_t) -> &'a AtomicU32 {
    // SAFETY: the program gives the place of a condition, which it uses by these functions alone.
    unsafe { &*at.cast() }
}

/// The clock of a condition's times: the second word of its memory, which libc begins with 0, as is the clock
/// of the day.
fn clock<'a>(at: *mut libc::pthread_cond_t) -> &'a AtomicI32 {
    // SAFETY: as above.
    unsafe { &*at.cast::<AtomicI32>().add(1) }
}

/// See pthread_cond_init(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_init(
    at: *mut libc::pthread_cond_t,
    with: *const libc::pthread_condattr_t,
) -> c_int {
    static OWN: Own = Own::of("pthread_cond_init\0");
    type Real = unsafe extern "C" fn(*mut libc::pthread_cond_t, *const libc::pthread_condattr_t) -> c_int;
    // SAFETY: libc has a function of this name and type, and the program gives what it wants.
    let result =
        unsafe { transmute::<usize, Option<Real>>(OWN.address()).map_or(libc::ENOSYS, |own| own(at, with)) };
    if result == 0 && is_shared(at) {
        let mut times = libc::CLOCK_REALTIME;
        if !with.is_null() {
            // SAFETY: the program gives attributes that have been made.
            unsafe { libc::pthread_condattr_getclock(with, &mut times) };
        }
        told(at).store(0, Ordering::Relaxed);
        clock(at).store(times, Ordering::Release);
    }
    result
}

/// All that wait look again, as they must be ready to at any time.
fn tell(at: *mut libc::pthread_cond_t) -> c_int {
    told(at).fetch_add(1, Ordering::AcqRel);
    0
}

type Wait = unsafe extern "C" fn(*mut libc::pthread_cond_t, *mut libc::pthread_mutex_t) -> c_int;

/// See pthread_cond_wait(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_wait(
    at: *mut libc::pthread_cond_t,
    with: *mut libc::pthread_mutex_t,
) -> c_int {
    static OWN: Own = Own::of("pthread_cond_wait\0");
    if is_shared(at) {
        return wait_told(at, with, || false);
    }
    // SAFETY: libc has a function of this name and type, and the program gives what it wants.
    unsafe { transmute::<usize, Option<Wait>>(OWN.address()).map_or(libc::ENOSYS, |own| own(at, with)) }
}

/// Waits without the mutex until the condition is told of, or the time is up.
fn wait_told(
    at: *mut libc::pthread_cond_t,
    with: *mut libc::pthread_mutex_t,
    is_late: impl Fn() -> bool,
) -> c_int {
    let (told, before) = (told(at), told(at).load(Ordering::Acquire));
    // SAFETY: the program gives a mutex that it has.
    unsafe { pthread_mutex_unlock(with) };
    let mut late = false;
    until(|| {
        late = is_late();
        late || told.load(Ordering::Acquire) != before
    });
    // SAFETY: as above.
    unsafe { pthread_mutex_lock(with) };
    if late { libc::ETIMEDOUT } else { 0 }
}

/// What a `pthread_once_t` is while its function runs, and when it has run, as in glibc.
const RUNS: i32 = 1;
const DONE: i32 = 2;

/// A function that runs once, unless it ends by an exception: then another thread may run it.
struct Once<'a>(&'a AtomicI32, i32);

impl Drop for Once<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Release);
    }
}

/// See pthread_once(3).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_once(
    at: *mut libc::pthread_once_t,
    function: extern "C-unwind" fn(),
) -> c_int {
    static OWN: Own = Own::of("pthread_once\0");
    type Real = unsafe extern "C-unwind" fn(*mut c_void, extern "C-unwind" fn()) -> c_int;
    if !is_shared(at) {
        // SAFETY: libc has a function of this name and type, and the program gives what it wants.
        return unsafe {
            transmute::<usize, Option<Real>>(OWN.address())
                .map_or(libc::ENOSYS, |own| own(at.cast(), function))
        };
    }
    // SAFETY: the program gives the place of a number, which it uses by this function alone.
    let state = unsafe { &*at.cast::<AtomicI32>() };
    let mut runs = false;
    until(|| {
        runs = state.compare_exchange(0, RUNS, Ordering::Acquire, Ordering::Relaxed).is_ok();
        runs || state.load(Ordering::Acquire) == DONE
    });
    if runs {
        let mut once = Once(state, 0);
        function();
        once.1 = DONE;
    }
    0
}
