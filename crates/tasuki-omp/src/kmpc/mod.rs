//! The functions of LLVM's OpenMP library that clang, and Intel's compilers after it, put calls of into
//! programs: `kmp.h` and `kmp_csupport.cpp` of LLVM 14. All take a place in the source and the number of the
//! calling thread first, which say nothing that is not known here.
//!
//! * [`fork`]: parallel regions.
//! * This file: barriers, `single`, `critical`, `ordered` and reductions.
//! * [`loops`], [`doacross`]: loops whose iterations are shared out, and those that wait for others.
//! * [`private`]: variables of threads that are no thread-local storage.
//! * [`tasks`], [`reductions`]: tasks, which run where they are made, and what they reduce.

mod doacross;
mod fork;
mod loops;
mod private;
mod reductions;
mod tasks;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{Ordering, fence};

use crate::gomp::told_from;
use crate::stack::on_private;
use crate::{loan, lock, thread, work};

/// A place in the source (`ident_t`), not looked at.
type Place = *const c_void;

/// Functions that return a number.
macro_rules! numbers {
    ($($name:ident $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            $value
        }
    )*};
}

numbers! {
    __kmpc_global_thread_num thread::member().id as c_int;
    __kmpc_bound_thread_num thread::member().id as c_int;
    __kmpc_global_num_threads thread::member().threads as c_int;
    __kmpc_bound_num_threads thread::member().threads as c_int;
    __kmpc_in_parallel c_int::from(thread::member().is_in_parallel());
    __kmpc_ok_to_fork 1;
    __kmpc_master c_int::from(thread::member().id == 0);
    __kmpc_single c_int::from(work::single());
    __kmpc_cancel 0;
    __kmpc_cancellationpoint 0;
    kmp_get_blocktime 0;
}

/// Functions that do nothing here.
macro_rules! ignored {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {}
    )*};
}

ignored! {
    __kmpc_begin __kmpc_end __kmpc_push_proc_bind __kmpc_end_master __kmpc_end_masked __kmpc_end_single
    __kmpc_end_ordered __kmpc_scope __kmpc_end_scope kmp_set_blocktime
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_masked(_place: Place, _thread: c_int, which: c_int) -> c_int {
    c_int::from(thread::member().id as c_int == which)
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_flush() {
    fence(Ordering::SeqCst);
}

told_from! {
    __kmpc_barrier => barrier_at;
    __kmpc_cancel_barrier => barrier_at;
    __kmpc_end_reduce => end_reduce_at;
}

extern "C" fn barrier_at(place: usize) -> c_int {
    work::barrier(Some(place));
    0
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_ordered(_place: Place, _thread: c_int) {
    crate::loops::wait_for_turn();
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_critical(_place: Place, _thread: c_int, name: usize) {
    lock::acquire(lock::of_name(name));
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_critical_with_hint(_place: Place, _thread: c_int, name: usize, _hint: u32) {
    lock::acquire(lock::of_name(name));
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_end_critical(_place: Place, _thread: c_int, name: usize) {
    lock::release(lock::of_name(name));
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_atomic_start() {
    lock::acquire(lock::ATOMIC);
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_atomic_end() {
    lock::release(lock::ATOMIC);
}

/// The thread that had the `single` hands its variables to all, each of which copies them.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_copyprivate(
    _place: Place,
    _thread: c_int,
    size: usize,
    data: *mut c_void,
    copy: unsafe extern "C" fn(*mut c_void, *mut c_void),
    had_it: c_int,
) {
    let shares = had_it != 0 && thread::member().threads > 1;
    // SAFETY: the compiler gives a list of addresses of so many bytes, and goes on when this returns.
    let loan = shares.then(|| unsafe { loan::lend_list(data.cast(), size / size_of::<usize>()) }).flatten();
    let from = work::handed((had_it != 0).then_some(data as usize));
    if had_it == 0 {
        // SAFETY: the compiler made the function for this; the other thread waits below.
        unsafe { copy(data, from as *mut c_void) };
    }
    work::barrier(None);
    if let Some(loan) = loan {
        // SAFETY: all have what they need; the list is there still.
        unsafe { loan.take_back() };
    }
}

/// The bit in the second word of a place (`ident_t`) that says that the compiler has made atomic operations
/// for a reduction (`KMP_IDENT_ATOMIC_REDUCE`).
const HAS_ATOMICS: u32 = 0x10;

thread_local! {
    /// Whether this thread has the lock of a reduction.
    static REDUCES: Cell<bool> = const { Cell::new(false) };
}

/// A thread adds its part to the result: by atomic operations (2), which take the page and no message beside,
/// or in turn (1), and then says when it has.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_reduce_nowait(
    place: *const [u32; 2],
    _thread: c_int,
    _variables: c_int,
    _size: usize,
    _data: *mut c_void,
    _function: *const c_void,
    name: usize,
) -> c_int {
    if thread::member().threads == 1 {
        return 1;
    }
    // SAFETY: the compiler gives a place that is there, or none.
    if unsafe { place.as_ref() }.is_some_and(|words| words[1] & HAS_ATOMICS != 0) {
        return 2;
    }
    lock::acquire(lock::of_name(name));
    REDUCES.set(true);
    1
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_end_reduce_nowait(_place: Place, _thread: c_int, name: usize) {
    if REDUCES.take() {
        lock::release(lock::of_name(name));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_reduce(
    place: *const [u32; 2],
    number: c_int,
    variables: c_int,
    size: usize,
    data: *mut c_void,
    function: *const c_void,
    name: usize,
) -> c_int {
    // SAFETY: as above.
    unsafe { __kmpc_reduce_nowait(place, number, variables, size, data, function, name) }
}

extern "C" fn end_reduce_at(place: usize, number: c_int, name: usize) {
    __kmpc_end_reduce_nowait(std::ptr::null(), number, name);
    work::barrier(Some(place));
}

/// Memory of the allocators of OpenMP 5.0, all of which are the program's heap here.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_alloc(_thread: c_int, bytes: usize, _allocator: usize) -> *mut c_void {
    // SAFETY: the function takes any number.
    unsafe { crate::alloc::malloc(bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_free(_thread: c_int, memory: *mut c_void, _allocator: usize) {
    // SAFETY: the program promises that the memory came from the function above.
    unsafe { crate::alloc::free(memory) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_aligned_alloc(
    _thread: c_int,
    align: usize,
    bytes: usize,
    _allocator: usize,
) -> *mut c_void {
    // SAFETY: the function takes any numbers.
    unsafe { crate::alloc::memalign(align.max(16), bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_calloc(
    _thread: c_int,
    count: usize,
    bytes: usize,
    _allocator: usize,
) -> *mut c_void {
    // SAFETY: as above.
    unsafe { crate::alloc::calloc(count, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_realloc(
    _thread: c_int,
    memory: *mut c_void,
    bytes: usize,
    _allocator: usize,
    _before: usize,
) -> *mut c_void {
    // SAFETY: the program promises that the memory came from one of these functions.
    unsafe { crate::alloc::realloc(memory, bytes) }
}

/// The severity with which an `error` directive ends the program.
const FATAL: c_int = 2;

/// The program has come to an `error` directive.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_error(_place: Place, severity: c_int, message: *const c_char) {
    let kind = if severity == FATAL { "ends with an error" } else { "warns" };
    // SAFETY: the program gives a string, or none.
    let text = if message.is_null() { c"" } else { unsafe { CStr::from_ptr(message) } };
    on_private(|| eprintln!("tasuki omp: the program {kind}: {}", text.to_string_lossy()));
    if severity == FATAL {
        // SAFETY: the call takes a number and does not return.
        unsafe { libc::exit(1) };
    }
}
