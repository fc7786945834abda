//! `malloc` and its relatives: shared memory for the program's threads, libc's for everybody else.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};

use tasuki_shared::PAGE;

use crate::heap::Heap;
use crate::profile::noted;
use crate::thread;
use crate::world::World;

/// libc's own functions, under the names that it keeps for those who replace the others.
mod own {
    use std::ffi::c_void;

    unsafe extern "C" {
        pub fn __libc_malloc(bytes: usize) -> *mut c_void;
        pub fn __libc_free(memory: *mut c_void);
        pub fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
        pub fn __libc_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
        pub fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void;
    }
}

/// Memory for this library itself, which is never shared.
struct Private;

#[global_allocator]
static PRIVATE: Private = Private;

// SAFETY: libc's functions keep the contract: memory is aligned as asked for, and stays until it is freed.
unsafe impl GlobalAlloc for Private {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the function takes any numbers; alignments of layouts are powers of two.
        unsafe { own::__libc_memalign(layout.align().max(16), layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the memory came from `alloc`.
        unsafe { own::__libc_free(memory.cast()) }
    }
}

/// The shared heap, if the thread that asks is one of the program's.
fn heap() -> Option<&'static Heap> {
    if thread::is_of_program() { World::get().map(World::heap) } else { None }
}

/// The shared heap, if this memory is of it.
fn heap_of(memory: *mut c_void) -> Option<&'static Heap> {
    World::get().map(World::heap).filter(|heap| heap.has(memory as usize))
}

/// See malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    match heap() {
        Some(heap) => noted(heap.take(bytes, 16), bytes).cast(),
        // SAFETY: the function takes any number.
        None => unsafe { own::__libc_malloc(bytes) },
    }
}

/// See malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(memory: *mut c_void) {
    match heap_of(memory) {
        // SAFETY: the program promises that the memory came from one of these functions.
        Some(heap) => unsafe { heap.give(memory.cast()) },
        // SAFETY: as above; what is not of the shared heap is libc's.
        None => unsafe { own::__libc_free(memory) },
    }
}

/// See malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    match heap() {
        Some(heap) => match count.checked_mul(bytes) {
            Some(all) => noted(heap.take_zeroed(all), all).cast(),
            None => std::ptr::null_mut(),
        },
        // SAFETY: the function takes any numbers.
        None => unsafe { own::__libc_calloc(count, bytes) },
    }
}

/// See malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    if memory.is_null() {
        // SAFETY: as `malloc`.
        return unsafe { malloc(bytes) };
    }
    match heap_of(memory) {
        // SAFETY: the program promises that the memory came from one of these functions.
        Some(heap) => noted(unsafe { heap.resize(memory.cast(), bytes) }, bytes).cast(),
        // SAFETY: as above.
        None => unsafe { own::__libc_realloc(memory, bytes) },
    }
}

/// See posix_memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(align: usize, bytes: usize) -> *mut c_void {
    match heap() {
        Some(heap) => noted(heap.take(bytes, align.next_power_of_two()), bytes).cast(),
        // SAFETY: the function takes any numbers.
        None => unsafe { own::__libc_memalign(align, bytes) },
    }
}

/// See posix_memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(align: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as `memalign`.
    unsafe { memalign(align, bytes) }
}

/// See posix_memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(into: *mut *mut c_void, align: usize, bytes: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: as `memalign`.
    let memory = unsafe { memalign(align, bytes) };
    if memory.is_null() && bytes > 0 {
        return libc::ENOMEM;
    }
    // SAFETY: the program gives a place to write to.
    unsafe { *into = memory };
    0
}

/// See posix_memalign(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn valloc(bytes: usize) -> *mut c_void {
    // SAFETY: as `memalign`.
    unsafe { memalign(PAGE, bytes) }
}

/// See posix_memalign(3): whole pages.
#[unsafe(no_mangle)]
unsafe extern "C" fn pvalloc(bytes: usize) -> *mut c_void {
    // SAFETY: as `memalign`; what does not fit in a number does not fit in memory.
    unsafe { memalign(PAGE, bytes.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX)) }
}

/// See malloc_usable_size(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    match heap_of(memory) {
        // SAFETY: the program promises that the memory came from one of these functions.
        Some(heap) => unsafe { heap.room(memory.cast()) },
        None => {
            // SAFETY: libc has a function of this name and type.
            let own = unsafe {
                let found = libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr());
                std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(*mut c_void) -> usize>>(found)
            };
            // SAFETY: the memory is libc's.
            own.map_or(0, |own| unsafe { own(memory) })
        }
    }
}
