//! Variables of `threadprivate` that are no thread-local storage, in Fortran of LLVM and in C with
//! `-fnoopenmp-use-tls` (`kmp_threadprivate.cpp` of LLVM 14). Every use of one is a call, which returns the
//! place of the thread's copy. The first thread of the program has the variable itself; the other copies lie
//! in shared memory, too, so that their places mean the same on all hosts.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::Place;
use crate::missing::missing;
use crate::world::World;
use crate::{alloc, start, thread};

/// What makes a copy in memory that holds nothing.
type Make = unsafe extern "C" fn(*mut u8) -> *mut u8;

/// The largest alignment of a copy; it is that of the variable's place otherwise.
const ALIGN_MAX: usize = 4096;

/// The copies of a variable, which the compiler has a word in the program's data for.
#[repr(C)]
struct Copies {
    make: Option<Make>,
    /// What the variable began with, and other copies do without a function that makes them.
    began: *mut u8,
    /// Of each thread of the program, by its number; null: it has had no use for it yet.
    each: *const AtomicPtr<u8>,
}

/// A variable whose copies are made by a function, in a list that begins in shared memory.
struct Registered {
    next: usize,
    variable: *mut u8,
    make: Option<Make>,
}

/// Memory that hosts share.
fn memory<T>(align: usize, bytes: usize) -> *mut T {
    // SAFETY: the function takes any numbers.
    let memory = unsafe { alloc::memalign(align, bytes.max(1)) };
    if memory.is_null() {
        eprintln!("tasuki omp: no memory for {bytes} bytes of a threadprivate variable");
        std::process::abort();
    }
    memory.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_threadprivate_cached(
    _place: Place,
    _thread: c_int,
    variable: *mut u8,
    bytes: usize,
    cache: *const AtomicPtr<Copies>,
) -> *mut u8 {
    let Some(world) = World::get() else { return variable };
    // SAFETY: the compiler gives the place of a word in the program's data, which is 0 at first.
    let cache = unsafe { &*cache };
    let mut copies = cache.load(Ordering::Acquire);
    if copies.is_null() {
        // SAFETY: the variable has so many bytes, and nobody has changed it: the first thread comes by here
        // before it does.
        copies = unsafe { first(world, variable, bytes, cache) };
    }
    let number = thread::number();
    if number == 0 {
        return variable;
    }
    // SAFETY: who finds the copies finds all of them, one for each thread.
    let (copies, own) = unsafe { (&*copies, &*(*copies).each.add(number as usize)) };
    let found = own.load(Ordering::Acquire);
    if !found.is_null() {
        return found;
    }
    let copy = memory::<u8>(align_of_place(variable), bytes);
    // SAFETY: the memory is new and has so many bytes, as has what the variable began with.
    unsafe {
        match copies.make {
            Some(make) => _ = make(copy),
            None => copy.copy_from_nonoverlapping(copies.began, bytes),
        }
    }
    // A handler of a signal may have come here meanwhile; its copy stays then.
    match own.compare_exchange(null_mut(), copy, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => copy,
        Err(other) => other,
    }
}

/// A variable is used for the first time: what is known of it, by whoever is the first to say so.
///
/// # Safety
/// It has so many bytes, which nobody changes.
unsafe fn first(world: &World, variable: *mut u8, bytes: usize, cache: &AtomicPtr<Copies>) -> *mut Copies {
    let began = memory::<u8>(align_of_place(variable), bytes);
    let threads = world.threads() as usize;
    let each = memory::<AtomicPtr<u8>>(16, threads * size_of::<AtomicPtr<u8>>());
    let copies = memory::<Copies>(16, size_of::<Copies>());
    // SAFETY: all of this is new, and as large; the variable is as the caller promises.
    unsafe {
        began.copy_from_nonoverlapping(variable, bytes);
        (0..threads).for_each(|thread| each.add(thread).write(AtomicPtr::new(null_mut())));
        copies.write(Copies { make: made_by(world, variable), began, each });
    }
    match cache.compare_exchange(null_mut(), copies, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => copies,
        Err(other) => {
            for memory in [copies.cast(), each.cast(), began.cast()] {
                // SAFETY: nobody else has seen any of it.
                unsafe { alloc::free(memory) };
            }
            other
        }
    }
}

/// The largest power of two that divides an address.
fn align_of_place(variable: *mut u8) -> usize {
    (1_usize << (variable as usize).trailing_zeros().min(ALIGN_MAX.ilog2())).max(16)
}

/// What makes copies of a variable.
fn made_by(world: &World, variable: *mut u8) -> Option<Make> {
    let mut at = world.registered().load(Ordering::Acquire) as *const Registered;
    // SAFETY: the list is of what the function below has made, which stays.
    while let Some(one) = unsafe { at.as_ref() } {
        if one.variable == variable {
            return one.make;
        }
        at = one.next as *const Registered;
    }
    None
}

/// Copies of a variable are made by a function. Destructors of copies are not called: their threads last as
/// long as the program.
#[unsafe(no_mangle)]
extern "C" fn __kmpc_threadprivate_register(
    _place: Place,
    variable: *mut u8,
    make: Option<Make>,
    _copy: usize,
    _destroy: usize,
) {
    let Some(world) = World::get() else {
        if make.is_some() && start::is_wanted() {
            missing("__kmpc_threadprivate_register in a library");
        }
        return;
    };
    let registered: &AtomicUsize = world.registered();
    let one = memory::<Registered>(16, size_of::<Registered>());
    let next = registered.load(Ordering::Acquire);
    // SAFETY: the memory is new. Constructors of the program, which call this, run in one thread.
    unsafe { one.write(Registered { next, variable, make }) };
    registered.store(one as usize, Ordering::Release);
}
